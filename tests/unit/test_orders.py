"""The pipeline's made-up orders, and the small decisions around its query that need no Spark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from leaselog.cli.pipeline_report import PipelineOutcome, broken_promises
from leaselog.spark.foreach import _takes_two
from leaselog.spark.orders import VAT_PERCENT, catalogue, is_malformed, order
from leaselog.spark.session import java_version
from leaselog.spark.verdicts import Audit, Suspect

CHECKOUT = Path(__file__).parents[2]
ITEMS = {item.item for item in catalogue()}


def test_an_order_is_well_formed_unless_it_is_said_to_be_malformed() -> None:
    for number in range(2_000):
        assert is_good(order(number)[1]) is not is_malformed(number)


def is_good(value: bytes) -> bool:
    try:
        content = json.loads(value)
    except ValueError:
        return False
    return content["item"] in ITEMS and content["quantity"] > 0 and content["country"] in VAT_PERCENT


def test_the_same_number_is_the_same_order() -> None:
    assert order(4711) == order(4711)
    assert order(4711) != order(4712)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_292"', 8),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ("bash: java: command not found", None),
    ],
)
def test_the_version_of_java_is_read_as_java_writes_it(text: str, version: int | None) -> None:
    assert java_version(text) == version


def test_a_process_of_two_arguments_gets_the_number_of_the_batch() -> None:
    def with_default(batch: Any, limit: int = 5) -> None: ...
    def with_number(batch: Any, batch_id: int) -> None: ...

    assert _takes_two(with_number)
    assert not _takes_two(with_default)
    assert not _takes_two(lambda batch: None)


def test_a_record_that_is_not_accounted_for_breaks_a_promise_and_is_named() -> None:
    counts = {("accepted", 1): 7, ("archived", 1): 1, ("not done yet", None): 2}
    verdict = Audit(counts, {}, [Suspect("not done yet", 1, 30)])
    assert broken_promises(verdict) == ["2 records not done yet (partition:offset 1:30, …)"]
    assert len(PipelineOutcome(10, verdict, 7, 1.0, None).broken) == 1


def test_a_record_that_nobody_found_breaks_a_promise_though_all_that_were_found_are_well() -> None:
    verdict = Audit({("accepted", 1): 7}, {})
    assert PipelineOutcome(8, verdict, 7, 1.0, None).broken == [
        "8 orders were produced, 7 records were found"
    ]
    assert PipelineOutcome(7, verdict, 8, 1.0, None).broken == ["8 rows in Parquet for 7 accepted records"]


def test_the_guide_shows_the_job_as_it_is() -> None:
    page = (CHECKOUT / "docs" / "guides" / "pipeline.md").read_text()
    (shown,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    job = (CHECKOUT / "src" / "leaselog" / "spark" / "orders_job.py").read_text()
    assert lines(indent(shown, "    ")) in lines(job)


def lines(code: str) -> str:
    """Without blank ones, which the formatter sets as it likes."""
    return "\n".join(line for line in code.splitlines() if line.strip())
