"""Per-record outcomes for people who live in ``foreachBatch``. Needs no pyspark: it only calls what it is given."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from leaselog.client import ConfigError
from leaselog.spark.extras import Extras, extra_columns, extras_of
from leaselog.spark.options import BoxOptions
from leaselog.spark.outcome_box import OutcomeBox, live_boxes
from leaselog.spark.outcomes import OUTCOME_COLUMNS, report_of

__all__ = ["foreach_batch"]

#: a DataFrame of the query's columns in, and Spark's number of the batch for those who want it; a DataFrame with topic,
#: partition, offset and ack out, or None
Process = Callable[[Any], Any] | Callable[[Any, int], Any]


def foreach_batch(
    process: Process, *, group: str | None = None, channel: str | None = None, location: str | None = None
) -> Callable[[Any, int], None]:
    """For ``writeStream.foreachBatch``: what ``process(df)`` returns tells what becomes of the batch's records.

    It returns a DataFrame with the columns ``topic, partition, offset, ack``, and ``delay_ms`` and ``reason`` if it has
    more to say, or None to say nothing: what it does not mention is treated as the source's option ``unmentioned`` has
    it. A ``process`` of two arguments gets the number of
    the batch as well, by which a sink can tell that it has seen a batch before. If it raises, the query fails, and the
    records go back to the group. With several queries on one driver, say which ``group`` and ``channel`` (the source's
    ``outcomesChannel``) it is for; ``location`` is the source's ``outcomesLocation``.
    """

    wants_number = _takes_two(process)

    def run(batch: Any, batch_id: int) -> None:
        answer = process(*((batch, batch_id) if wants_number else (batch,)))
        rows: list[Any] = []
        extras: Extras = {}
        if answer is not None:
            columns = extra_columns(answer.columns)
            rows = answer.select(*(columns or OUTCOME_COLUMNS)).collect()
            extras = extras_of(columns, rows) if columns else {}
        outcomes = report_of(tuple(row)[: len(OUTCOME_COLUMNS)] for row in rows)
        OutcomeBox(_box(group, channel, location)).drop(batch_id, outcomes, extras)

    return run


def _takes_two(process: Process) -> bool:
    """Whether it needs a second argument; one with a default is its own affair."""
    needed = [one for one in signature(process).parameters.values() if one.default is Parameter.empty]
    return (
        len(
            [
                one
                for one in needed
                if one.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
            ]
        )
        > 1
    )


def _box(group: str | None, channel: str | None, location: str | None) -> BoxOptions:
    """The one box that a source on this machine has open. Raises ``ConfigError`` if there is none, or a choice."""
    boxes = [
        box
        for box in live_boxes(location)
        if (group is None or box.group_id == group) and (channel is None or box.channel == channel)
    ]
    if not boxes:
        raise ConfigError(
            "no query on this machine reads kafka-share with acknowledge=explicit"
            + (f" from group {group}" if group else "")
            + (f" below {location}" if location else "")
        )
    if len(boxes) > 1:
        found = ", ".join(f"{box.group_id}/{box.channel or '-'} at {box.bootstrap_servers}" for box in boxes)
        raise ConfigError(f"several queries read kafka-share here: {found}. Name group and channel")
    return boxes[0]
