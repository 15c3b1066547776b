"""Drivers that die by SIGKILL at moments nobody chose, and what their successors make of checkpoint and sink.

The sink takes each batch id once, as Spark's own file sink does. What the broker has down as accepted is looked up
after every death, before anybody could mend it.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from interop.confluent_io import wait_until
from interop.share_state import ACKNOWLEDGED, ARCHIVED
from spark.begun import QUERY_S
from spark.driver import Plan
from spark.driver_process import DriverProcess, attempts, in_sink
from spark.queries import Queue
from spark.sessions import LOCAL

RECORDS_A_LIFE = 500


def test_a_driver_that_is_killed_again_and_again_loses_and_doubles_nothing(
    queue: Callable[..., Queue], tmp_path: Path
) -> None:
    lives(queue(0, partitions=2), Plan({}, str(tmp_path / "query"), LOCAL, row_s=0.01), kills=3)


def test_a_driver_that_was_killed_while_it_wrote_its_first_batch_down_is_begun_again(
    queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made = queue(0, partitions=1)
    made.produce(range(RECORDS_A_LIFE))
    plan = Plan(made.options(), str(tmp_path / "query"), LOCAL)
    half_written = Path(plan.home, "checkpoint", "offsets", ".0.5f8ebcc5-4b32-4b0c-9b6a-7a1a2f4a2c11.tmp")
    half_written.parent.mkdir(parents=True)
    half_written.write_text("v1\n")
    driver = DriverProcess(plan)
    with driver.running():
        driver.wait()
    assert Counter(in_sink(Path(plan.home))) == {(0, offset): 1 for offset in range(RECORDS_A_LIFE)}
    assert made.backlog() == 0


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_a_driver_that_is_killed_ten_times_loses_and_doubles_nothing(
    queue: Callable[..., Queue], tmp_path: Path
) -> None:
    lives(queue(0, partitions=2), Plan({}, str(tmp_path / "query"), LOCAL, row_s=0.01), kills=10)


def test_a_driver_that_is_killed_while_it_says_what_became_of_each_record_loses_and_doubles_nothing(
    queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made = queue(0, partitions=2)
    plan = Plan(
        {"acknowledge": "explicit"}, str(tmp_path / "query"), LOCAL, row_s=0.01, rejects=3, releases=5
    )
    lives(made, plan, kills=2)


def lives(made: Queue, plan: Plan, kills: int) -> None:
    """One driver after the other until so many have died at work; the last one is let finish."""
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    print(f"seed {seed}")
    home = Path(plan.home)
    plan.options.update(made.options(maxRecordsPerBatch=60, parallelism=3))
    driver = DriverProcess(plan)
    life = killed = 0
    while killed < kills:
        assert life < 3 * kills, f"{killed} of {life} drivers were still at work when they were to be killed"
        made.produce(range(life * RECORDS_A_LIFE, (life + 1) * RECORDS_A_LIFE))
        life += 1
        before = len(in_sink(home))
        with driver.running():
            # Else it would be killed while it joins, each time: what is of interest comes with the batches.
            if chance.random() < 0.8:
                wait_until(lambda: len(in_sink(home)) > before or not driver.is_running(), "a batch", QUERY_S)  # noqa: B023
            time.sleep(chance.uniform(0, 2))
            killed += driver.kill(whole=chance.random() < 0.5)
        assert made.accepted() | made.archived() <= set(in_sink(home)), "done, and not in the sink"
        assert_outcomes(made, plan)
    with driver.running():
        driver.wait()
    rows = Counter(in_sink(home))
    assert set(rows) == {place_of(number) for number in range(life * RECORDS_A_LIFE)}
    twice = {place for place, times in rows.items() if times > 1}
    assert not {place for place in twice if number_of(place) % 10 != plan.releases}
    assert max(rows.values()) <= 2, "released by each delivery but the first"
    by_batch: dict[int, list[tuple[int, int]]] = {}
    for number, read in attempts(home):
        assert by_batch.setdefault(number, read) == read, f"batch {number} was replayed with other rows"
    assert made.backlog() == 0


def assert_outcomes(made: Queue, plan: Plan) -> None:
    """What the group has stored of a record, as far as it still stands there, is what the query said of it."""
    for place, state in made.states().items():
        was_rejected = number_of(place) % 10 == plan.rejects
        assert state != (ACKNOWLEDGED if was_rejected else ARCHIVED), (place, state)


def place_of(number: int) -> tuple[int, int]:
    return number % 2, number // 2


def number_of(place: tuple[int, int]) -> int:
    partition, offset = place
    return offset * 2 + partition
