"""Several listeners of one broker: whoever asks is told the address of the listener that was asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from interop.broker_process import BrokerProcess, free_port

pytestmark = pytest.mark.only_leaselog("the ports are read from the ready file")


def test_each_listener_tells_its_own_address(tmp_path: Path) -> None:
    told = free_port()
    config = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT,OUT:PLAINTEXT",
        "listeners": "PLAINTEXT://127.0.0.1:0,IN://127.0.0.1:0,OUT://127.0.0.1:0",
        "advertised.listeners": f"IN://127.0.0.1:0,OUT://localhost:{told}",
    }
    broker = BrokerProcess(tmp_path, config)
    broker.start()
    try:
        assert len(set(broker.addresses)) == 3
        answers = []
        for address in broker.addresses:
            metadata = AdminClient({"bootstrap.servers": address}).list_topics(timeout=10)
            (node,) = metadata.brokers.values()
            answers.append(f"{node.host}:{node.port}")
        assert answers == [*broker.addresses[:2], f"localhost:{told}"]
    finally:
        broker.stop()
