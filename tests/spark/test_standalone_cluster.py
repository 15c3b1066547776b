"""On a standalone Spark cluster with two workers: tasks, executors and drivers that die, and tasks that run twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interop.confluent_io import wait_until
from spark.begun import QUERY_S
from spark.driver import Plan
from spark.driver_process import DriverProcess, in_sink
from spark.queries import Queue
from spark.standalone import StandaloneCluster
from spark.test_driver_kills import lives

SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "100ms",
}


@pytest.fixture(scope="module")
def cluster(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_killed_workers_tasks_run_twice_and_killed_executors_lose_and_double_nothing(
    cluster: StandaloneCluster, queue: Callable[..., Queue], tmp_path: Path
) -> None:
    made, home, bomb, traces = (
        queue(400, partitions=2),
        *(tmp_path / name for name in ("q", "bomb", "traces")),
    )
    bomb.touch()
    traces.mkdir()
    plan = Plan(
        made.options(maxRecordsPerBatch=100, parallelism=4),
        str(home),
        cluster.master,
        SPECULATION,
        row_s=0.005,
        bomb=str(bomb),
        straggler_row_s=0.4,
        traces=str(traces),
    )

    def stages() -> list[dict[int, int]]:
        """Of each stage that has begun, by task its last attempt that began to work. Each batch is one stage."""
        found: dict[int, dict[int, int]] = {}
        for path in traces.iterdir():
            stage, task, attempt = map(int, path.name.split())
            tasks = found.setdefault(stage, {})
            tasks[task] = max(attempt, tasks.get(task, 0))
        return [found[stage] for stage in sorted(found)]

    driver = DriverProcess(plan)
    with driver.running():
        wait_until(lambda: len(stages()) >= 3, "the third batch to run", QUERY_S)
        killed = set(cluster.executors())
        cluster.kill_executors()
        wait_until(lambda: set(cluster.executors()) - killed, "executors in place of those killed", QUERY_S)
        driver.wait()
    assert not bomb.exists()
    assert killed
    first, second, third, *_ = stages()
    straggler = 3
    assert any(first[task] > 0 for task in set(first) - {straggler}), (
        "none again after its workers were killed"
    )
    assert second[straggler] > 0, "none again because it straggled"
    assert any(third.values()), "none again after its executor was killed"
    expected = sorted((number % 2, number // 2) for number in range(400))
    assert sorted(in_sink(home)) == expected
    assert made.accepted() == set(expected)


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_a_driver_of_a_cluster_that_is_killed_ten_times_loses_and_doubles_nothing(
    cluster: StandaloneCluster, queue: Callable[..., Queue], tmp_path: Path
) -> None:
    lives(queue(0, partitions=2), Plan({}, str(tmp_path / "query"), cluster.master, row_s=0.01), kills=10)
