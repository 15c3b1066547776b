from __future__ import annotations

import pytest

from leaselog.broker.group_coordinator import coordinator_partition


@pytest.mark.parametrize(
    ("group", "java_hash"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("my-consumer-group", 1513705513),
        ("größe", 98762257),
        ("𝄞", 1772394),
    ],
)
def test_a_group_is_found_where_java_puts_it(group: str, java_hash: int) -> None:
    assert coordinator_partition(group, 50) == (java_hash & 0x7FFFFFFF) % 50
    assert coordinator_partition(group, 7) == (java_hash & 0x7FFFFFFF) % 7
