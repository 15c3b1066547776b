"""The client's view of a cluster whose nodes come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from leaselog.client.cluster import Cluster
from leaselog.client.errors import Unreachable
from leaselog.client.topology import Node, Topology

NODE = Node(2, "host", 9092)


class Changing(Cluster):
    """Tells of other nodes each time it is asked; the last ones stay."""

    def __init__(self, *lives: dict[int, Node]) -> None:
        super().__init__("host:9092", api_timeout_ms=5_000)
        self._lives = list(lives)
        self.connected_to: tuple[str, int] | None = None

    async def fetch_topology(
        self, topics: Iterable[str] | None = None, *, auto_create: bool = False
    ) -> Topology:
        self._nodes = self._lives.pop(0) if len(self._lives) > 1 else self._lives[0]
        return Topology(self._nodes, None, 1, {}, {})

    async def _connect(self, address: tuple[str, int]) -> None:  # type: ignore[override]
        self.connected_to = address


def test_a_node_that_is_gone_is_unreachable_and_no_reason_to_give_up() -> None:
    async def ask() -> None:
        await Changing({}).connection(2)

    with pytest.raises(Unreachable, match="node 2 is not in the cluster") as gone:
        asyncio.run(ask())
    assert gone.value.is_retriable


def test_a_node_that_comes_back_is_found_by_who_tries_again() -> None:
    async def ask() -> Changing:
        cluster = Changing({}, {}, {2: NODE})
        await cluster.retrying(lambda: cluster.connection(2))
        return cluster

    assert asyncio.run(ask()).connected_to == ("host", 9092)
