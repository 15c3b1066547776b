"""`top`: what two samples say together, and what a sample holds."""

from __future__ import annotations

import json
import time

import pytest
from admin_cluster import BoxCluster, box_cluster
from broker_in_a_box import run

from leaselog.admin import NewTopic, alter_share_group_offsets, create_topics, pause_share_groups, settle
from leaselog.cli.arguments import Parser
from leaselog.cli.group_rates import COLUMNS, GroupSample, Movement, cells, movement, movement_json
from leaselog.cli.top import Sampler, _display, _refresh, add_arguments
from leaselog.client import ConnectionLost
from leaselog.model import TopicPartition


def standing(end: int, lag: int | None, partitions: int = 2, group: str = "g") -> GroupSample:
    return GroupSample(group, "Stable", 1, partitions, end, lag)


def rates(before: GroupSample, now: GroupSample) -> tuple[float | None, float | None]:
    (moved,) = movement([before], [now], 2.0)
    return moved.produced_per_s, moved.done_per_s


def test_rates_are_what_came_and_what_was_done_between_two_samples() -> None:
    assert rates(standing(100, 40), standing(300, 200)) == (100, 20)


def test_a_reset_is_no_negative_rate() -> None:
    assert rates(standing(100, 0), standing(100, 100)) == (0, 0)


def test_what_cannot_be_compared_has_no_rate() -> None:
    assert rates(standing(100, 0), standing(300, 0, partitions=3)) == (None, None)
    assert rates(standing(100, None), standing(300, 0)) == (100, None)
    assert movement([], [standing(1, 1)], 2.0) == [Movement(standing(1, 1))]


def test_who_has_most_to_do_comes_first() -> None:
    now = [standing(9, 1, group="a"), standing(9, 5, group="b"), standing(9, None, group="c")]
    assert [m.now.group_id for m in movement([], now, 1.0)] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.04, "0.0s"), (59.94, "59.9s"), (61, "1m01s"), (3600 * 30 + 60, "30h01m")]
)
def test_ages_are_as_precise_as_they_are_young(seconds: float, shown: str) -> None:
    now = GroupSample("g", "Stable", 1, 1, 5, 5, 1, 4, 0.5, 2, int(seconds * 1000))
    assert dict(zip(COLUMNS, cells(Movement(now)), strict=True))["OLDEST"] == shown


def test_what_nobody_can_tell_is_a_dash_and_null_in_json() -> None:
    moved = Movement(standing(12_345, None), 1234.5, None)
    row = dict(zip(COLUMNS, cells(moved), strict=True))
    assert (row["LAG"], row["IN/S"], row["DONE/S"], row["WINDOW"]) == ("-", "1,234", "-", "-")
    assert movement_json(moved)["lag"] is None


async def a_lagging_group(cluster: BoxCluster) -> None:
    settle(await create_topics(cluster, [NewTopic("t", 2)]))
    await cluster.box.append("t", *([int(time.time() * 1000) - 9_000] * 3))
    settle(await alter_share_group_offsets(cluster, "g", {TopicPartition("t", 0): 1}))


def test_a_sample_holds_every_share_group_and_its_windows_where_they_are_told() -> None:
    async def main() -> None:
        async with box_cluster() as cluster:
            assert await Sampler(cluster, None).sample() == []
            await a_lagging_group(cluster)
            (seen,) = await Sampler(cluster, None).sample()
            assert (seen.group_id, seen.state, seen.partition_count) == ("g", "Empty", 1)
            assert (seen.end_offsets, seen.lag, seen.in_flight, seen.available) == (3, 2, 0, 2)
            assert seen.oldest_age_ms == pytest.approx(9_000, abs=2_000)
            assert await Sampler(cluster, ["other"]).sample() == []
            settle(await pause_share_groups(cluster, ["g"], reason="because"))
            (seen,) = await Sampler(cluster, None).sample()
            assert cells(Movement(seen))[1] == "Empty, paused"
            shown = movement_json(Movement(seen))["paused"]
            assert (shown["by"], shown["reason"]) == ("operator", "because")
            cluster.missing = {"DescribeSharePartitions"}
            elsewhere = Sampler(cluster, ["g"])
            for _ in range(2):
                (seen,) = await elsewhere.sample()
                assert (seen.lag, seen.in_flight, seen.window_use) == (2, None, None)
            assert cluster.asked.count("DescribeSharePartitions") == 3, "not asked again once it is known"

    run(main())


def refreshed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str, trouble: int = 0
) -> str:
    monkeypatch.setattr("leaselog.cli.top.check_reader", lambda: None)
    parser = Parser(prog="top")
    add_arguments(parser)
    args = parser.parse_args(["--bootstrap-server", "x:1", "--interval-ms", "1", *words])

    async def main() -> None:
        async with box_cluster() as cluster:
            await a_lagging_group(cluster)
            capsys.readouterr()
            sampler = Sampler(cluster, None)
            if trouble:
                cluster.api_timeout_ms = 1
                cluster.answers["ListGroups"] = [*[None] * (trouble - 1), ConnectionLost("away")]
            with _display(args) as show:
                await _refresh(sampler, args, show)

    run(main())
    return capsys.readouterr().out


def test_away_from_a_terminal_each_refresh_is_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = refreshed(capsys, monkeypatch, "--iterations", "2").splitlines()
    assert len(lines) == 8
    assert lines[1].split() == list(COLUMNS)
    assert lines[2].split()[:5] == ["g", "Empty", "0", "1", "2"]
    assert lines[6].split()[5:7] == ["0", "0"]


def test_json_is_a_line_a_refresh(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = refreshed(capsys, monkeypatch, "--iterations", "2", "--json").splitlines()
    first, second = map(json.loads, lines)
    assert first["groups"][0]["producedPerSecond"] is None
    assert second["groups"][0]["producedPerSecond"] == 0
    assert second["groups"][0]["lag"] == 2


def test_a_broker_that_goes_away_is_said_and_asked_again(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = refreshed(capsys, monkeypatch, "--iterations", "3", "--json", trouble=2).splitlines()
    assert ["error" in json.loads(line) for line in lines] == [False, True, False]


def test_a_broker_that_never_was_there_ends_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConnectionLost):
        refreshed(capsys, monkeypatch, "--iterations", "3", trouble=1)
