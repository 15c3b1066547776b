"""Options of kafka-share-state."""

from __future__ import annotations

import pytest

from leaselog.client import ConfigError
from leaselog.spark.state_options import StateOptions, View

SERVERS = {"kafka.bootstrap.servers": "host:9092"}


def test_every_group_is_shown_as_it_was_told_unless_asked_otherwise() -> None:
    options = StateOptions.of(SERVERS)
    assert (options.view, options.group_id) == (View.LOG, None)
    options = StateOptions.of({**SERVERS, "VIEW": "records", "kafka.share.group.id": "g", "parallelism": "3"})
    assert (options.view, options.group_id, options.parallelism) == (View.RECORDS, "g", 3)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("view", "table", "log, records"),
        ("subscribe", "t", "filter by topic"),
        ("startingOffsets", "earliest", "whole state topic"),
        ("kafka.group.id", "g", "kafka.share.group.id"),
        ("failOnDataLoss", "false", "told again"),
        ("kafka.security.protocol", "SASL_SSL", "sasl.mechanism is missing"),
        ("parallelizm", "3", "parallelism?"),
    ],
)
def test_options_that_would_lie_are_refused_by_name(name: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        StateOptions.of({**SERVERS, name: value})
