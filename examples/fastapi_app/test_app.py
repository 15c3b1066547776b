"""The application and its worker, on the broker that leaselog's fixtures bring."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from app import create_app
from leaselog.client import Reject, ShareConsumer, as_json
from tasks import pack


def test_what_is_ordered_is_stored_and_packed(
    leaselog_bootstrap_servers, leaselog_topic, leaselog_group, capsys: pytest.CaptureFixture[str]
) -> None:
    with TestClient(create_app(leaselog_bootstrap_servers, leaselog_topic)) as client:
        answers = [client.post("/orders", json={"item": item}) for item in ("a lamp", "", "a chair")]
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    assert [answer.json()["offset"] for answer in answers] == [0, 1, 2]

    refused = []

    def work(record):
        try:
            pack(record)
        except Reject:
            refused.append(record.offset)
            raise
        finally:
            if record.offset == 2:
                worker.wakeup()

    with ShareConsumer(
        leaselog_bootstrap_servers, group_id=leaselog_group, value_deserializer=as_json
    ) as worker:
        worker.subscribe([leaselog_topic])
        worker.run(work)
    assert capsys.readouterr().out == "packed a lamp\npacked a chair\n"
    assert refused == [1]


def test_what_is_no_order_never_reaches_the_queue(
    leaselog_bootstrap_servers, leaselog_topic, leaselog_share_consumer
) -> None:
    with TestClient(create_app(leaselog_bootstrap_servers, leaselog_topic)) as client:
        assert client.post("/orders", json={"gift": True}).status_code == 422
    assert leaselog_share_consumer.poll(0.5) == []
