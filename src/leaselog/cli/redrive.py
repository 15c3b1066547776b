"""`share-groups --inspect` and `--redrive`: a group's dead letters looked at, and put back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from leaselog.admin import (
    MAX_HOPS,
    DeadLetterReport,
    DeadLetterSample,
    RedriveResult,
    inspect_dead_letters,
    redrive,
)
from leaselog.admin.dead_letters.selection import Selection
from leaselog.cli.arguments import CommandFailed, UsageError, positive
from leaselog.cli.output import Progress, print_json
from leaselog.client.cluster import Cluster

__all__ = ["GOES_WITH", "add_redrive_arguments", "inspection", "redrive_table", "redriving", "report_text"]

#: which of the options go with which actions
GOES_WITH = {
    "dead_letter_topic": ("inspect", "redrive"),
    "to": ("redrive",),
    "where": ("redrive",),
    "rate": ("redrive",),
    "max_hops": ("redrive",),
}
#: of keys, values and headers, what is shown
_SHOWN_CHARACTERS = 100
#: the most frequent ones
_SHOWN_CAUSES = 20
_COLUMNS = ("letters", "redriven", "before", "skipped", "too_often", "refused", "gone", "remaining")


def add_redrive_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dead-letter-topic",
        metavar="TOPIC",
        help="the topic with the letters, if not the one in the group's config",
    )
    parser.add_argument(
        "--to",
        metavar="TOPIC",
        help="with --redrive: put them into this topic instead of the one they came from",
    )
    parser.add_argument(
        "--where", action="append", metavar="CONDITION",
        help="with --redrive: only letters that fulfil this, such as delivery.count>3; if repeated, all of them",
    )  # fmt: skip
    parser.add_argument(
        "--rate", type=float, metavar="N", help="with --redrive: at most so many letters a second"
    )
    parser.add_argument(
        "--max-hops", type=positive, metavar="N",
        help=f"with --redrive: skip letters that were put back so often before ({MAX_HOPS})",
    )  # fmt: skip


def inspection(group: str, args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    async def inspect(cluster: Cluster) -> int:
        try:
            report = await inspect_dead_letters(cluster, group, topic=args.dead_letter_topic)
        except LookupError as missing:
            raise _without_topic(missing) from None
        if args.json:
            print_json(_report_json(report))
        else:
            print(report_text(report))
        return 0

    return inspect


def redriving(group: str, args: argparse.Namespace) -> Callable[[Cluster], Awaitable[int]]:
    """Raises ``UsageError``."""
    if args.dry_run == args.execute:
        raise UsageError("--redrive needs --dry-run to see what would be done, or --execute to have it done")
    if args.rate is not None and not args.rate > 0:
        raise UsageError(f"--rate {args.rate:g} would never put anything back")
    if args.to is not None and args.to == args.dead_letter_topic:
        raise UsageError(f"--to {args.to} is where the letters lie")
    try:
        Selection.of(args.where or ())
    except ValueError as wrong:
        raise UsageError(f"--where {wrong}") from None
    return lambda cluster: _Redrive(group, args).run(cluster)


class _Redrive:
    def __init__(self, group: str, args: argparse.Namespace) -> None:
        self._group, self._args = group, args
        #: as of the last time that anything was told
        self._result: RedriveResult | None = None
        self._progress: Progress | None = None

    async def run(self, cluster: Cluster) -> int:
        args = self._args
        try:
            self._result = await redrive(
                cluster,
                self._group,
                topic=args.dead_letter_topic,
                to=args.to,
                where=args.where or (),
                rate=args.rate,
                max_hops=args.max_hops or MAX_HOPS,
                dry_run=args.dry_run,
                on_progress=self._show,
            )
        except LookupError as missing:
            raise _without_topic(missing) from None
        except ValueError as wrong:  # the letters lie in --to
            raise UsageError(str(wrong)) from None
        finally:  # however it ends: what was done is done
            self._print()
        return 1 if self._result.refused else 0

    def _show(self, result: RedriveResult) -> None:
        wanted = result.letters - result.before - result.skipped
        if self._progress is None:
            self._progress = Progress("letters", wanted)
        self._result = result
        self._progress.at(wanted - result.remaining)

    def _print(self) -> None:
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
        if self._result is None:
            return
        if self._args.json:
            print_json(_result_json(self._result))
        else:
            print(redrive_table(self._result))
        if self._result.remaining:
            print("\nNot all of it: the next redrive goes on from here.", file=sys.stderr)


def _without_topic(missing: LookupError) -> CommandFailed:
    return CommandFailed(f"{missing}; --dead-letter-topic names one")


def redrive_table(result: RedriveResult) -> str:
    names = ("GROUP", "DEAD-LETTER-TOPIC", *(name.upper().replace("_", "-") for name in _COLUMNS))
    cells = (result.group_id, result.topic, *(str(getattr(result, name)) for name in _COLUMNS))
    widths = [max(len(name), len(cell)) for name, cell in zip(names, cells, strict=True)]
    lines = [""] + [
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (names, cells)
    ]
    where = ", ".join(f"{count} to {topic}" for topic, count in sorted(result.by_target.items()))
    if where:
        lines += ["", f"Would be put back: {where}." if result.is_dry_run else f"Put back: {where}."]
    if result.is_dry_run:
        lines += ["", "Nothing was written: this is what --execute would do."]
    return "\n".join(lines)


def _result_json(result: RedriveResult) -> dict[str, Any]:
    shown = {_camel(name): value for name, value in asdict(result).items() if name != "is_dry_run"}
    shown["group"] = shown.pop("groupId")
    return {"group": shown.pop("group"), **shown, "executed": not result.is_dry_run}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def report_text(report: DeadLetterReport) -> str:
    letters = f"{report.letters} letter{'' if report.letters == 1 else 's'}"
    head = f"\nShare group '{report.group_id}' has {letters} in topic {report.topic}"
    lines = [f"{head}, {report.settled} of them settled."]
    if not report.causes:
        return "\n".join(lines)
    causes = report.causes[:_SHOWN_CAUSES]
    rows = [("LETTERS", "SETTLED", "FIRST", "LAST", "CAUSE")]
    rows += [
        (str(one.letters), str(one.settled), _time(one.first_ms), _time(one.last_ms), _one_line(one.cause))
        for one in causes
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines.append("")
    lines += [
        " ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    if len(report.causes) > len(causes):
        lines += ["", f"and {len(report.causes) - len(causes)} causes more, which --json has"]
    for cause in causes:
        lines += ["", _one_line(cause.cause)]
        for sample in cause.samples:
            lines += _sample_lines(sample)
    return "\n".join(lines)


def _sample_lines(sample: DeadLetterSample) -> list[str]:
    times = f"delivered {sample.delivery_count} time{'' if sample.delivery_count == 1 else 's'}"
    lines = [
        f"  {sample.source}@{sample.source_offset}, {times}, {_time(sample.time_ms)},"
        f" letter {sample.place}@{sample.offset}"
    ]
    if not sample.has_content:
        return [*lines, "  not copied, and not in its log any more"]
    headers = "not in the letter, and the record is not in its log any more"
    if sample.headers is not None:
        headers = ", ".join(f"{name}={_shown(value)}" for name, value in sample.headers) or "none"
    return [
        *lines,
        f"  key      {_shown(sample.key)}",
        f"  headers  {headers}",
        f"  value    {_shown(sample.value)}",
    ]


def _shown(data: bytes | None) -> str:
    """The beginning, on one line: as text if it is some."""
    if data is None:
        return "null"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = repr(data[: _SHOWN_CHARACTERS + 1])[2:-1]
    return _one_line(text)


def _one_line(text: str) -> str:
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: _SHOWN_CHARACTERS + 1])
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _report_json(report: DeadLetterReport) -> dict[str, Any]:
    causes = [
        {
            "cause": one.cause,
            "letters": one.letters,
            "settled": one.settled,
            "firstTimestamp": one.first_ms,
            "lastTimestamp": one.last_ms,
            "sources": one.sources,
            "samples": [_sample_json(sample) for sample in one.samples],
        }
        for one in report.causes
    ]
    numbers = {"letters": report.letters, "settled": report.settled}
    return {"group": report.group_id, "topic": report.topic, **numbers, "causes": causes}


def _sample_json(sample: DeadLetterSample) -> dict[str, Any]:
    headers = None
    if sample.headers is not None:
        headers = [{"key": name, "value": _text(value)} for name, value in sample.headers]
    return {
        "topic": sample.source.topic,
        "partition": sample.source.partition,
        "offset": sample.source_offset,
        "deliveryCount": sample.delivery_count,
        "timestamp": sample.time_ms,
        "letter": {"topic": sample.place.topic, "partition": sample.place.partition, "offset": sample.offset},
        "hasContent": sample.has_content,
        "key": _text(sample.key),
        "value": _text(sample.value),
        "headers": headers,
    }


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
