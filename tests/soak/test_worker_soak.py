"""No job is lost, and none is rejected that did not say so, whatever handlers, signals and the broker do."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from soak.worker_life import EXIT, is_rejected
from soak.worker_soak import Report, soak


def check(report: Report) -> None:
    print(report)
    assert report.done.keys() == report.wanted, f"side effects are missing: {report}"
    assert report.letters == set(filter(is_rejected, range(report.jobs))), f"who said so: {report}"
    assert report.lag == 0, str(report)
    # A signal that comes before anybody listens to it ends a process that has nothing to finish.
    assert set(report.ends) <= {0, EXIT, -signal.SIGTERM}, (
        f"each life ended well, or as a handler asked: {report}"
    )


@pytest.mark.timeout(110)
def test_a_hundred_jobs_are_done_while_handlers_fail_workers_stop_and_the_broker_goes(tmp_path: Path) -> None:
    check(soak(tmp_path, jobs=100, stops=2, stop_every_s=2, away_at_s=1.5, away_s=0.5, patience_s=80))


@pytest.mark.deep
@pytest.mark.timeout(3_500)
def test_ten_thousand_jobs_are_done_with_the_broker_away_for_a_minute(tmp_path: Path) -> None:
    check(soak(tmp_path, jobs=10_000, stops=1_000, stop_every_s=5, away_at_s=60, away_s=60, patience_s=3_000))
