"""What a query says of the records of a batch: accept, release or reject, and what holds for those it says nothing of.

Pure. A report is the runs of one batch, valued with `AcknowledgeType`. If a query names a record more than once, as
after a join, the most careful word holds: release before reject before accept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from leaselog.client import AcknowledgeType
from leaselog.spark.runs import Run, Runs, overlaps, runs_of, subtract

__all__ = ["OUTCOME_COLUMNS", "Decision", "Named", "decide", "merged", "named_outcome", "newest", "report_of"]

ACCEPT, RELEASE, REJECT = AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT
_WORDS = {"accept": ACCEPT, "release": RELEASE, "reject": REJECT}
#: runs_of lets the highest value win
_RANKS = {ACCEPT: 0, REJECT: 1, RELEASE: 2}
_BY_RANK = {rank: outcome for outcome, rank in _RANKS.items()}

#: of a query's answer; others are ignored
OUTCOME_COLUMNS = ("topic", "partition", "offset", "ack")

#: topic, partition, offset, and the word in the ``ack`` column
Named = tuple[str, int, int, str]


def named_outcome(word: object) -> AcknowledgeType:
    """Raises ``ValueError`` for what is not an outcome."""
    outcome = _WORDS.get(word.lower()) if isinstance(word, str) else None
    if outcome is None:
        raise ValueError(f"ack is {word!r}: expected {', '.join(_WORDS)}")
    return outcome


def report_of(named: Iterable[Named]) -> Runs:
    """A report of single records. Raises ``ValueError`` naming the record whose ``ack`` is none."""
    some: list[Run] = []
    for topic, partition, offset, word in named:
        if topic is None or partition is None or offset is None:
            raise ValueError(
                f"a record without its place: topic={topic} partition={partition} offset={offset}"
            )
        try:
            outcome = named_outcome(word)
        except ValueError as bad:
            raise ValueError(f"{topic}-{partition} offset {offset}: {bad}") from None
        some.append(Run(topic, partition, offset, offset + 1, outcome))
    return merged([some])


def merged(reports: Iterable[Iterable[Run]]) -> Runs:
    """Several reports of one batch as one: the most careful word about each record."""
    ranked = (run._replace(value=_RANKS[AcknowledgeType(run.value)]) for report in reports for run in report)
    return tuple(run._replace(value=int(_BY_RANK[run.value])) for run in runs_of(ranked))


def newest(reports: Iterable[tuple[int, Runs]]) -> Runs:
    """Reports with the numbers of their batches, the oldest first, as one: of each batch the last, and later ones win.

    A batch that was carried out twice has said everything twice. One record may be in several batches, if it was
    released.
    """
    last = dict[int, Runs]()
    for number, report in reports:
        last.pop(number, None)
        last[number] = report
    result: Runs = ()
    for report in last.values():
        result = tuple(sorted([*report, *subtract(result, report)]))
    return result


@dataclass(frozen=True, slots=True)
class Decision:
    """Every record of a batch with its outcome. The runs keep the delivery counts of the batch."""

    accepted: Runs = ()
    released: Runs = ()
    rejected: Runs = ()


def decide(ranges: Runs, report: Runs, unmentioned: AcknowledgeType) -> Decision:
    """What becomes of the records in ``ranges``. What a report says of other records says nothing here."""
    by_outcome: dict[AcknowledgeType, list[Run]] = {ACCEPT: [], RELEASE: [], REJECT: []}
    for run, outcome in overlaps(ranges, report):
        by_outcome[AcknowledgeType(outcome)].append(run)
    by_outcome[unmentioned] += subtract(ranges, report)
    return Decision(runs_of(by_outcome[ACCEPT]), runs_of(by_outcome[RELEASE]), runs_of(by_outcome[REJECT]))
