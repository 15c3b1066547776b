"""A client that was made before a fork: the child works anew or says why not, and waits for no thread of its parent."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from share_cluster_model import TOPIC, ModelCluster
from share_flavours import EXPLICIT, ModelDoor
from test_client_producer import ScriptedCluster

from leaselog.client import Consumer, Producer, ShareConsumer, blocking_producer, forks
from leaselog.client.loop_thread import LoopThread

WAIT_S = 30.0


def in_a_child(work: Callable[[], object]) -> str:
    """What ``work`` returns in a child of this process, as text."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forks and threads: that is what this is about
        child = os.fork()
    if not child:
        try:
            said = str(work())
        except BaseException as error:  # noqa: BLE001 - the parent is told, whatever it is
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


class Scripted(ScriptedCluster):
    async def close(self) -> None:
        pass


def test_a_producer_works_anew_in_the_child_and_goes_on_in_the_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocking_producer, "Cluster", lambda *_, **__: Scripted())
    with Producer("host:9092", linger_ms=0) as producer:
        assert producer.send("t", b"a").result(WAIT_S).offset == 0

        def child() -> object:
            offsets = [producer.send("t", b"%d" % i).result(WAIT_S).offset for i in range(2)]
            producer.close()
            return offsets

        assert in_a_child(child) == "[0, 1]"  # a cluster of its own, so a log of its own
        assert producer.send("t", b"b").result(WAIT_S).offset == 1


def test_a_client_that_cannot_begin_anew_leaves_the_others_to_do_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def begin_in_child(self) -> None:
            raise RuntimeError("broken")

    told = []

    class Whole:
        def begin_in_child(self) -> None:
            told.append(self)

    clients = [Broken(), Whole(), Broken(), Whole()]
    monkeypatch.setattr(forks, "_clients", clients)
    assert in_a_child(lambda: len(told)) == "2"


def test_what_the_parent_has_handed_over_is_the_parents_to_know(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking_producer, "Cluster", lambda *_, **__: Scripted())
    with Producer("host:9092", linger_ms=60_000) as producer:
        receipt = producer.send("t", b"a")
        assert "sent by the parent of this process" in in_a_child(lambda: receipt.result(WAIT_S))
        assert in_a_child(producer.flush) == "True"
        producer.flush()
        assert receipt.result(WAIT_S).offset == 0


def test_a_share_consumer_of_the_parent_refuses_every_call_in_the_child() -> None:
    model = ModelCluster()
    model.produce([b"a", b"b"])
    consumer: Any = ShareConsumer(EXPLICIT)
    consumer._consumer._carrier.cluster = ModelDoor(model)
    with consumer:
        consumer.subscribe([TOPIC])
        records = consumer.poll(WAIT_S)
        for call in (
            lambda: consumer.poll(1),
            lambda: consumer.acknowledge(records[0]),
            consumer.commit_sync,
        ):
            assert "IllegalState: This consumer was made before a fork" in in_a_child(call)
        assert in_a_child(consumer.close) == "None"  # it is the parent's to close
        for record in records:
            consumer.acknowledge(record)
        assert set(consumer.commit_sync(WAIT_S).values()) == {None}
    assert model.held() == []


def test_a_consumer_of_the_parent_refuses_calls_in_the_child_and_one_that_has_not_begun_is_anew() -> None:
    with Consumer("127.0.0.1:1", group_id="g") as begun, Consumer("127.0.0.1:1", group_id="g") as fresh:
        begun.subscribe([TOPIC])
        for call in (lambda: begun.poll(0), begun.commit, begun.committed):
            assert "IllegalState: This consumer was made before a fork" in in_a_child(call)
        assert in_a_child(begun.close) == "None"  # it is the parent's to close
        assert in_a_child(lambda: fresh.subscribe([TOPIC])) == "None"
        assert begun.poll(0) == []


def test_a_share_consumer_that_has_not_begun_is_another_member_in_each_child() -> None:
    consumer: Any = ShareConsumer(EXPLICIT)
    members = {consumer.member_id, *(in_a_child(lambda: consumer.member_id) for _ in range(2))}
    assert len(members) == 3


def test_whatever_else_has_a_loop_of_its_own_says_so_in_the_child() -> None:
    thread = LoopThread("test")

    async def nothing() -> None:
        pass

    try:
        assert "IllegalState: This client was made before a fork" in in_a_child(lambda: thread.run(nothing()))
        assert in_a_child(thread.close) == "None"
        thread.run(nothing())
    finally:
        thread.close()
