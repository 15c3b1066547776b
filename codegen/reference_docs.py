"""Writes the reference pages that say what the code says, as on APIs, metrics and files. `make docs` runs it.

python codegen/reference_docs.py [DIRECTORY]     (docs/reference by default)
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from leaselog.broker.dead_letters.office import DeadLetterCounts
from leaselog.broker.groups.owner import GroupCounts
from leaselog.broker.lending.metrics import ShareMetrics
from leaselog.broker.net.api import apis, load_handlers
from leaselog.broker.records.revival import Revival
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.turns import Turns
from leaselog.broker.share_state.owner import ShareStateCounts
from leaselog.broker.share_state.persister import NoOpPersister
from leaselog.broker.telling.text import registry_of
from leaselog.cli.main import COMMANDS, command_parser
from leaselog.share import ShareSessions
from rights_page import rights_page
from rooms_page import files_page, rooms_page

KAFKA_METRICS = (
    ("`group-count{protocol=share}`", '`leaselog_groups{type="share"}`, summed over its states'),
    (
        "`share-group-count{state}`",
        '`leaselog_groups{type="share"}`, by state; a group is Empty or Stable, a dead one is gone',
    ),
    ("`share-group-rebalance-rate`, `-count`", "`leaselog_share_group_rebalances_total`"),
    ("`num-partitions{protocol=share}`", "`leaselog_share_group_partitions`"),
    (
        "`num-partitions{state}` of the group and share coordinators",
        "`leaselog_coordinator_partitions`",
    ),
    ("`share-acknowledgement-rate`, `-count`", "`leaselog_share_acknowledged_records_total`, all types"),
    ("`record-acknowledgement-rate`, `-count`", "`leaselog_share_acknowledged_records_total`"),
    ("`RecordAcknowledgementsPerSec{ackType}`", "`leaselog_share_acknowledged_records_total`"),
    ("`PartitionLoadTimeMs`, `partition-load-time-avg`, `-max`", "`leaselog_share_partition_load_seconds`"),
    ("`RequestTopicPartitionsFetchRatio{group}`", "`leaselog_share_fetch_ratio`, from 0 to 1"),
    ("`TopicPartitionsAcquireTimeMs{group}`", "`leaselog_share_acquire_seconds`"),
    ("`DeadLetterQueueRecordCount{group}`", "`leaselog_share_dead_letters_written_total`"),
    (
        "`DeadLetterQueueFailedProduceRequestsPerSec{group}`",
        "`leaselog_share_dead_letters_failed_total`, in records",
    ),
    (
        "`DeadLetterQueueTotalProduceRequestsPerSec{group}`",
        "left out: there are no requests. `leaselog_share_dead_letters_pending` says how many are on their way",
    ),
    ("`AcquisitionLockTimeoutPerSec`", "`leaselog_share_partition_lock_timeouts_total`, in records"),
    ("`InFlightMessageCount`", "`leaselog_share_partition_in_flight_records`"),
    ("`InFlightBatchCount`", "`leaselog_share_partition_in_flight_runs`: records alike are one"),
    (
        "`InFlightBatchMessageCount`",
        "left out: runs join and split as records change. `leaselog_share_partition_in_flight_records` by "
        "`leaselog_share_partition_in_flight_runs` is the mean",
    ),
    (
        "`FetchLockTimeMs`, `FetchLockRatio`",
        "left out: a share partition has one owner, and needs no such lock",
    ),
    ("`ShareSessionsCount`", "`leaselog_share_sessions`"),
    ("`SharePartitionsCount`", "`leaselog_share_session_partitions`"),
    ("`ShareSessionEvictionsPerSec`", "`leaselog_share_session_evictions_total`"),
    ("`DelayedShareFetchMetrics.ExpiresPerSec`", "`leaselog_share_fetch_expired_total`"),
    (
        "`NumDelayedOperations`, `PurgatorySize` of `ShareFetch`",
        "`leaselog_waiting_requests`, all that wait; nothing is left behind that would have to be purged",
    ),
    (
        "`TotalShareFetchRequestsPerSec`, `TotalShareAcknowledgementRequestsPerSec`",
        '`leaselog_requests_total{api="ShareFetch"}`, `{api="ShareAcknowledge"}`; by topic they are left out',
    ),
    (
        "`FailedShareFetchRequestsPerSec`, `FailedShareAcknowledgementRequestsPerSec`",
        "`leaselog_request_errors_total`, by API and error, top-level or of a partition",
    ),
    ("`RequestMetrics` of every share API", "`leaselog_request_seconds`, `leaselog_requests_total`"),
    ("`write-rate`, `write-total`", "`leaselog_share_state_written_records_total`"),
    (
        "`write-latency-avg`, `-max`",
        "`leaselog_share_state_write_seconds`; the maximum, since the start, is "
        "`leaselog_share_state_longest_write_seconds`",
    ),
    (
        "`last-pruned-offset{topic,partition}`",
        '`leaselog_log_start_offset{topic="__share_group_state"}`',
    ),
    (
        "`event-queue-size`, `event-queue-time-ms`, `event-processing-time-ms`, `thread-idle-ratio`",
        "left out: coordinators have no threads and no queues of their own",
    ),
    (
        "`batch-linger-time-ms`, `batch-flush-time-ms`",
        "left out: nothing lingers; see `leaselog_sync_seconds`",
    ),
    ("lag of a share partition (KIP-1226, through the admin API)", "`leaselog_share_partition_lag` too"),
)

EXTENSIONS = (
    "",
    "## Beside Kafka's protocol",
    "",
    "Unmodified clients see none of this.",
    "",
    "- APIs from key 10000 on are leaselog's own. ApiVersions names them to clients whose software name is `leaselog`.",
    "- ShareFetch: a request with tag 10000 (a boolean, true) acquires as ever, and the answer has empty records; tag",
    "  10000 of a partition (an int64) is the size of the log batches that were left out: what a planner of work wants",
    "  whose workers read the records themselves. Others skip tags they do not know.",
    "- ShareFetch and ShareAcknowledge, tags of a batch of acknowledgements: 10000 (an int64, ms) is how long its",
    "  released records wait, 10001 (a string) why its rejected ones are, 10002 (a boolean) that nobody has begun.",
    "- Read- and WriteShareGroupState, and the records of `__share_group_state`: tag 10000 of a stretch (an int64, ms",
    "  since 1970) is the time before which its records are not delivered again.",
    "- The record of a share group's partitions in `__consumer_offsets`: tag 10000 of a topic (an int32) is how many",
    "  partitions it had when the group came to know of it, where those that are listed do not tell (ADR 0021).",
)

PAGES = Path(__file__).parents[1] / "docs" / "reference"


def api_page() -> str:
    """Every API, from the same registration that ApiVersions is answered from."""
    load_handlers()
    lines = [
        "# Protocol support",
        "",
        "Generated from the handlers' registration; ApiVersions answers from the same. Each handler module says how it",
        "behaves in its first lines.",
        "",
        "| key | API | versions | KIPs | handler |",
        "| ---: | --- | --- | --- | --- |",
    ]
    for api in apis():
        module = api.handler.__module__.replace(".", "/")
        shown = f"{api.versions.first} to {api.versions.last}"
        if api.advertised_from != api.versions.first:
            shown += f" (advertised from {api.advertised_from})"
        lines.append(f"| {api.key} | {api.name} | {shown} | {api.kips} | `src/{module}.py` |")
    return "\n".join([*lines, *EXTENSIONS]) + "\n"


def metrics_page() -> str:
    """Every metric of an idle broker, which has them all."""
    nothing: Any = SimpleNamespace(
        metrics=Metrics(),
        turns=Turns(lambda: 0.0),
        connection_count=lambda: 0,
        unsent_bytes=lambda: 0,
        waiting_room=(),
        fetch_sessions=(),
        logs=SimpleNamespace(partitions=list, revival=Revival()),
        shares=SimpleNamespace(every_owner=list, sessions=ShareSessions(0)),
        groups=SimpleNamespace(by_owner=list, owner_states=list, counts=GroupCounts()),
        share_coordinator=SimpleNamespace(key_count=lambda: 0, owner_states=list, counts=ShareStateCounts()),
        share_metrics=ShareMetrics(),
        persister=NoOpPersister(),
        dead_letters=SimpleNamespace(counts=DeadLetterCounts()),
        share_delivery=SimpleNamespace(paused=list, trips={}, given_up={}),
    )
    lines = [
        "# Metrics",
        "",
        "Served as Prometheus text at `/metrics` by `leaselog serve --metrics HOST:PORT`. Generated; do not edit.",
        "",
        "| metric | type | meaning |",
        "| --- | --- | --- |",
    ]
    names: set[str] = set()
    for family in sorted(registry_of(nothing).collect(), key=lambda f: f.name):
        name = family.name + ("_total" if family.type == "counter" else "")
        lines.append(f"| `{name}` | {family.type} | {family.documentation} |")
        names.add(name)
    lines += ["", *kafka_metrics(names)]
    return "\n".join(lines) + "\n"


def kafka_metrics(names: set[str]) -> list[str]:
    """Apache Kafka's metrics of share groups, each with what tells the same here, or with why nothing does."""
    lines = [
        "## Apache Kafka's metrics of share groups",
        "",
        "Those of KIP-932 as released, and of KIP-1226. A rate is `rate()` of a counter, an average a histogram's",
        "or summary's `_sum` by its `_count`.",
        "",
        "| Kafka's | here |",
        "| --- | --- |",
    ]
    for theirs, ours in KAFKA_METRICS:
        for named in re.findall(r"leaselog_\w+", ours):
            assert named in names, f"{theirs} is told by {named}, which is not there"
        lines.append(f"| {theirs} | {ours} |")
    return lines


def commands_page() -> str:
    """Every command with every option, from the parsers themselves."""
    lines = [
        "# Commands",
        "",
        "Generated from the parsers; `leaselog COMMAND --help` says the same. Every command also takes `--help` and",
        "`--version`. Exit codes: 0 done, 1 failed, 2 not understood; what went wrong is one line on stderr.",
    ]
    for name, (_, summary) in COMMANDS.items():
        lines += ["", f"## {name}", "", f"{summary[0].upper()}{summary[1:]}.", ""]
        options = [
            a for a in command_parser(name)._actions if not {"--help", "--version"} & {*a.option_strings}
        ]
        if options:
            lines += ["| option | meaning |", "| --- | --- |", *map(_option_row, options)]
    return "\n".join(lines) + "\n"


def _option_row(option: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in option.option_strings or [str(option.metavar or option.dest)])
    choices = "" if option.choices is None else "one of " + ", ".join(map(str, option.choices))
    value = "" if option.nargs == 0 or not option.option_strings else option.metavar or option.dest.upper()
    shown = f" `{value}`" if value and not option.choices else ""
    meaning = "; ".join(part for part in (option.help, choices) if part)
    return f"| {names}{shown}{' (required)' if option.required else ''} | {meaning} |"


def main(directory: Path) -> None:
    (directory / "protocol.md").write_text(api_page())
    (directory / "metrics.md").write_text(metrics_page())
    (directory / "commands.md").write_text(commands_page())
    (directory / "rights.md").write_text(rights_page())
    (directory / "rooms.md").write_text(rooms_page())
    (directory / "files.md").write_text(files_page())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
