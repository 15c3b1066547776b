"""The pages on Spark: their examples run as they stand, one page after the other, on one broker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from interop.broker_process import BrokerProcess, is_kafka
from leaselog.admin import Admin, Resource, ResourceType

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
#: in this order each finds what it reads
PAGES = (
    "kafka-topic-sink",
    "kafka-topic-source",
    "kafka-share-source",
    "kafka-share-sink",
    "kafka-share-state-source",
    "kafka-dead-letters-source",
)
GROUPS = ("routing", "billing", "invoices", "checks")


#: how to begin, without a broker
FIRST_PAGE = GUIDES / "spark.md"


def run_page(page: Path, address: str, home: Path) -> dict[str, Any]:
    """What the examples leave behind, by name."""
    snippets = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    assert snippets
    names: dict[str, Any] = {"__name__": "guide"}
    for snippet in snippets:
        code = snippet.replace("127.0.0.1:9092", address).replace("/tmp/", f"{home}/")
        exec(compile(code, str(page), "exec"), names)
    return names


def test_every_page_is_named_here_and_on_the_first_one() -> None:
    assert sorted(page.stem for page in (GUIDES / "spark").glob("*.md")) == sorted(PAGES)
    first = FIRST_PAGE.read_text()
    assert all(f"(spark/{page}.md)" in first for page in PAGES)


def test_the_examples_do_what_the_pages_say(
    spark: Any, broker: BrokerProcess, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Admin(broker.address) as admin:  # a slow machine may take longer for a batch than a lease has
        for group in GROUPS:
            renewing = {"share.renew.acknowledge.enable": "true"}
            admin.alter_configs(Resource(ResourceType.GROUP, group), put=renewing)
    # Apache Kafka has dead letters from 4.4 on
    pages = [page for page in PAGES if not (is_kafka() and page == "kafka-dead-letters-source")]
    assert run_page(FIRST_PAGE, broker.address, tmp_path)["spark"] is not None
    left = {page: run_page(GUIDES / "spark" / f"{page}.md", broker.address, tmp_path) for page in pages}
    topic = left["kafka-topic-source"]
    assert topic["orders"].count() == 1000
    assert topic["part"].count() == 900
    for name, keys in (("small", range(5)), ("large", range(5, 10))):
        table = spark.read.format("kafka-topic").option("kafka.bootstrap.servers", broker.address)
        rows = table.option("subscribe", name).load().groupBy("key").count().collect()
        assert {int(row.key): row["count"] for row in rows} == dict.fromkeys(keys, 100)
    assert spark.read.parquet(f"{tmp_path}/orders").count() == 1000
    assert spark.read.parquet(f"{tmp_path}/invoices").where("amount > 0").count() == 857
    records = left["kafka-share-state-source"]["records"]
    told = records.selectExpr("group_id", "state", "delivery_count", "last_offset - first_offset + 1 as n")
    counts = told.groupBy("group_id", "state", "delivery_count").sum("n").collect()
    ours = {tuple(row) for row in counts if row.group_id in GROUPS}
    assert ours == {
        *((group, "acknowledged", 1, 1000) for group in ("billing", "checks", "routing")),
        ("invoices", "acknowledged", 1, 857),
        ("invoices", "acknowledged", 2, 143),
    }
    log = left["kafka-share-state-source"]["log"].where("group_id = 'invoices' and state = 'available'")
    assert log.selectExpr("sum(last_offset - first_offset + 1)", "max(delivery_count)").collect() == [
        (143, 1)
    ]
    if "kafka-dead-letters-source" in left:
        names = left["kafka-dead-letters-source"]
        assert (names["result"].letters, names["result"].redriven) == (100, 100)
        letters = names["table"].load().withColumn("amount", names["amount"]("value"))
        found = letters.selectExpr(
            "count(amount)", "sum(amount)", "count_if(settled)", "count(distinct partition)"
        )
        assert [tuple(row) for row in found.collect()] == [(100, sum(range(0, 300, 3)) + 50.0, 100, 3)]
        assert {row.cause for row in letters.select("cause").distinct().collect()} == {
            "Offset rejected by client."
        }
    assert "|acknowledged|" in capsys.readouterr().out.replace(" ", "")
