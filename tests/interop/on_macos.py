"""Broker and client as on macOS: a data directory whose every answered write went past the drive's cache."""

from __future__ import annotations

import sys
from pathlib import Path

from interop.other_systems import import_all, pretend_macos

syncs: list[int] = []
pretend_macos(syncs)

from leaselog.cli.main import main as leaselog  # noqa: E402
from leaselog.client import Producer, ShareConsumer  # noqa: E402
from leaselog.testing.embedded_broker import EmbeddedBroker  # noqa: E402

ROOMS = (
    "leaselog.model", "leaselog.wire", "leaselog.share", "leaselog.log", "leaselog.coordination", "leaselog.broker",
    "leaselog.client", "leaselog.admin", "leaselog.cli", "leaselog.testing",
)  # fmt: skip
WAIT_S = 60.0


def main(data: Path) -> None:
    assert sys.platform == "darwin"
    print("modules", import_all(*ROOMS))
    broker = EmbeddedBroker(data, {"durability": "fsync"})
    with broker, Producer(broker.bootstrap_servers) as producer:
        before = len(syncs)
        producer.send("orders", b"one").result(WAIT_S)
        assert len(syncs) > before, "an answer that no sync stands behind"
    with broker:
        command = ["share-groups", "--bootstrap-server", broker.bootstrap_servers, "--reset-offsets"]
        assert leaselog([*command, "--group", "g", "--topic", "orders", "--to-earliest", "--execute"]) == 0
        with ShareConsumer(broker.bootstrap_servers, group_id="g") as consumer:
            consumer.subscribe(["orders"])
            assert [record.value for record in consumer.poll(WAIT_S)] == [b"one"]
    print("works")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
