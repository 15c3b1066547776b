"""A scrape in steps: the text is Prometheus' own, and no step of it grows with what there is to tell of."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from broker_in_a_box import in_a_box, run
from handlers.share_member import a_group
from handlers.share_member import run as run_skipping
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.turns import Turns
from leaselog.broker.telling import server as metrics_server
from leaselog.broker.telling import share_text as share_metrics_text
from leaselog.broker.telling.server import PIECE_CHARS, serve_metrics
from leaselog.broker.telling.steps import LongFamily, SteppingCollector, lines
from leaselog.broker.telling.text import collectors_of, registry_of


class Odd(Collector):
    """One family of each kind, with everything that has to be escaped."""

    def collect(self) -> Iterator[Metric]:
        gauge = GaugeMetricFamily("size", 'A "text"\nof \\ two lines', labels=["a", "b"])
        gauge.add_metric(['q"u\\o\nte', ""], 0.25)
        counter = CounterMetricFamily("things", "Things", labels=["kind"])
        counter.add_metric(["x"], 12)
        seconds = HistogramMetricFamily("wait_seconds", "Waits", [("0.5", 1), ("+Inf", 3)], 7.5)
        yield from (gauge, counter, seconds, GaugeMetricFamily("none", "None", 0))


class Stepping(SteppingCollector):
    def steps(self) -> Iterator[Metric | None]:
        yield None
        yield LongFamily(
            "many", "Many", "gauge", lambda: (Sample("many", {"n": str(n)}, n) for n in range(3))
        )


def test_the_text_is_what_prometheus_own_library_makes_of_it() -> None:
    registry = CollectorRegistry()
    for collector in (Odd(), Stepping()):
        registry.register(collector)
    assert "".join(lines((Odd(), Stepping()))) == generate_latest(registry).decode()


def test_a_brokers_text_is_what_prometheus_own_library_makes_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Runtime, "now_ms", lambda _: 1_700_000_000_000
    )  # ages are told, and there are two looks

    async def story() -> None:
        async with a_group(partitions=3) as group:
            await group.produce(2)
            await group.member().fetch(partitions=range(3), max_wait_ms=0)
            ours = "".join(lines(collectors_of(group.box.broker)))
            theirs = generate_latest(registry_of(group.box.broker)).decode()
            assert ours == theirs
            assert 'leaselog_share_partition_lag{group="g",partition="0",topic="t"} 2.0\n' in ours

    run_skipping(story())


def test_no_step_of_a_scrape_tells_more_than_one_sample_of_many() -> None:
    async def story() -> None:
        many = 300
        async with a_group(partitions=many) as group:
            await group.member().fetch(partitions=range(many), max_wait_ms=0)
            steps = list(lines(collectors_of(group.box.broker)))
            assert len(steps) > 9 * many
            assert max(step.count("\n") for step in steps) <= 2

    run_skipping(story())


def test_beyond_a_bound_share_partitions_are_told_of_in_sum_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        monkeypatch.setattr(share_metrics_text, "MOST_PARTITIONS", 2)
        async with a_group(partitions=5) as group:
            await group.member().fetch(partitions=range(5), max_wait_ms=0)
            told = registry_of(group.box.broker)
            labels = {"group": "g", "topic": "t"}
            name = "leaselog_share_partition_in_flight_records"
            found = [told.get_sample_value(name, {**labels, "partition": str(i)}) for i in range(5)]
            assert found == [0, 0, None, None, None]
            assert told.get_sample_value("leaselog_share_partitions_untold") == 3

    run_skipping(story())


def test_others_have_the_loop_while_a_long_text_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 20_000

    class Many(Collector):
        def collect(self) -> Iterator[Metric]:
            samples = (Sample("many", {"n": str(n)}, n) for n in range(count))
            yield LongFamily("many", "Many", "gauge", lambda: samples)

    async def story() -> None:
        monkeypatch.setattr(metrics_server, "collectors_of", lambda _: (Many(),))
        monkeypatch.setattr(Turns, "is_spent", lambda *_: True)  # by the clock of a machine that is very busy
        async with in_a_box() as box:
            server = await serve_metrics(box.broker, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            asked = asyncio.ensure_future(reader.read(-1))
            turns = 0
            while not asked.done():
                await asyncio.sleep(0)
                turns += 1
            head, _, body = (await asked).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK")
            assert body.count(b"\n") == count + 2
            assert turns > count
            assert len(body) > 2 * PIECE_CHARS
            writer.close()
            server.close()

    run(story())
