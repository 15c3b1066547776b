"""A connection without a socket: what is answered, in which order, and when reading stops or the connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Awaitable, Callable
from copy import copy
from types import SimpleNamespace
from typing import Any

import pytest

from leaselog.broker.config import BrokerConfig
from leaselog.broker.config.listeners import Listener
from leaselog.broker.net import connection as connection_module
from leaselog.broker.net import dispatch
from leaselog.broker.net import server as server_module
from leaselog.broker.net.api import Api
from leaselog.broker.net.connection import MAX_PENDING_ANSWERS, Connection
from leaselog.broker.net.server import Server
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.held_bytes import PETTY_BYTES, HeldBytes
from leaselog.broker.runtime.turns import BUDGET_S, Turns
from leaselog.model import ANONYMOUS
from leaselog.wire import codec
from leaselog.wire.frame_reader import LARGE_BYTES
from leaselog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from leaselog.wire.schema import Versions

HEARTBEAT = HeartbeatRequest.API_KEY
#: of what `Scene.ask` sends for each answer it wants, its length included
FRAME_BYTES = 24
HERE = Listener.plaintext("", 9092)


class Transport:
    """Keeps what is written; says what it was told."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.is_aborted = False
        self.is_reading = True
        self.unsent = 0

    def get_extra_info(self, name: str) -> Any:
        return ("10.0.0.1", 5555) if name == "peername" else None

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None:
        self.sent += data

    def writelines(self, chunks: list[bytes]) -> None:
        self.sent += b"".join(chunks)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.is_aborted

    def abort(self) -> None:
        self.is_aborted = True

    close = abort

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True

    def correlation_ids(self) -> list[int]:
        """Of the answers sent so far, in their order."""
        found, data = [], bytes(self.sent)
        while data:
            size = int.from_bytes(data[:4], "big")
            found.append(int.from_bytes(data[4:8], "big"))
            data = data[4 + size :]
        return found


class Metrics:
    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args: None


class Scene:
    """One connection whose handler is the test's."""

    def __init__(self, handler: Callable[..., Any], *, exclusive: bool, only_reads: bool) -> None:
        self.api = Api(
            HEARTBEAT,
            "Heartbeat",
            Versions(0, 4),
            HeartbeatRequest,
            handler,
            "",
            exclusive,
            0,
            False,
            only_reads,
        )
        self.now = 0.0
        #: what the broker's work has taken so far
        self.worked_s = 0.0
        turns = Turns(lambda: self.worked_s)
        self.server: Any = SimpleNamespace(
            broker=SimpleNamespace(
                turns=turns,
                answer_grew=lambda client, size: self.server.answers_held.change(client.host, size),
            ),
            turns=turns,
            receive_buffer=memoryview(bytearray(2 * LARGE_BYTES)),
            max_frame_bytes=10 * LARGE_BYTES,
            metrics=Metrics(),
            now=lambda: self.now,
            quotas=ClientQuotas(samples=11, sample_ms=1000),
            requests_held=HeldBytes(10**8),
            answers_held=HeldBytes(10**6),
            admit=lambda c: 1,
            identify=lambda c, host: ANONYMOUS,
            dismiss=lambda c: None,
            untold_refusals=lambda host: 0,
            leave_behind=lambda c: None,
        )
        self._connect()

    def _connect(self) -> None:
        self.transport = Transport()
        self.connection = Connection(self.server, HERE)
        self.connection.connection_made(self.transport)  # type: ignore[arg-type]

    def another(self) -> Scene:
        """One more connection to the same server."""
        made = copy(self)
        made._connect()
        return made

    def throttle_ms(self) -> list[int]:
        """Of the answers so far, which are of version 1."""
        found, data = [], bytes(self.transport.sent)
        while data:
            size = int.from_bytes(data[:4], "big")
            found.append(codec.decode(HeartbeatResponse, 1, data[8 : 4 + size]).throttle_time_ms)
            data = data[4 + size :]
        return found

    def receive(self, data: bytes) -> None:
        self.connection.get_buffer(-1)[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def ask(self, *correlation_ids: int, version: int = 0, key: int = HEARTBEAT) -> None:
        self.receive(self.bytes_of(*correlation_ids, version=version, key=key))

    def bytes_of(self, *correlation_ids: int, version: int = 0, key: int = HEARTBEAT) -> bytes:
        frames = b""
        for correlation_id in correlation_ids:
            head = (
                key.to_bytes(2, "big")
                + version.to_bytes(2, "big", signed=True)
                + correlation_id.to_bytes(4, "big")
                + b"\xff\xff"
            )
            body = codec.encode(HeartbeatRequest(group_id="g", member_id="m"), 0)
            frames += len(head + body).to_bytes(4, "big") + head + body
        return frames


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scene]:
    def make(handler: Callable[..., Any], *, exclusive: bool = False, only_reads: bool = False) -> Scene:
        made = Scene(handler, exclusive=exclusive, only_reads=only_reads)
        monkeypatch.setattr(dispatch, "api_of", lambda key: made.api if key == HEARTBEAT else None)
        return made

    return make


def now(request: object, context: object) -> HeartbeatResponse:
    return HeartbeatResponse()


def run(story: Callable[[], Awaitable[None]]) -> None:
    with asyncio.Runner() as runner:
        runner.run(story())  # type: ignore[arg-type]


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


class Later:
    """A handler whose answers come when the test says."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[HeartbeatResponse | None]] = []

    def __call__(self, request: object, context: object) -> asyncio.Future[HeartbeatResponse | None]:
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]


def test_pipelined_requests_are_answered_in_order_even_when_finished_out_of_order(
    scene: Callable[..., Scene],
) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(1, 2, 3)
        assert len(later.asked) == 3, "none waits for another"
        later.asked[2].set_result(HeartbeatResponse())
        later.asked[1].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == []
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [1, 2, 3]

    run(story)


def test_an_exclusive_request_keeps_the_next_one_waiting(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later, exclusive=True)
        s.ask(1, 2)
        assert len(later.asked) == 1
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert len(later.asked) == 2
        assert s.transport.correlation_ids() == [1]

    run(story)


def test_a_request_without_an_answer_leaves_no_gap(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(1, 2)
        later.asked[0].set_result(None)
        later.asked[1].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [2]

    run(story)


@pytest.mark.parametrize(
    "asked",
    [{"key": 999}, {"version": 77}, {"version": -1}],
    ids=["unknown API", "future version", "negative version"],
)
def test_a_request_that_makes_no_sense_closes_the_connection(
    scene: Callable[..., Scene], asked: dict[str, int]
) -> None:
    s = scene(now)
    s.ask(1, **asked)
    assert s.transport.is_aborted
    assert s.transport.correlation_ids() == []


@pytest.mark.parametrize(
    "data", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02\x00\x0c", b"\x7f\xff\xff\xff", b"GET / HTTP/1.1\r\n"]
)
def test_garbage_closes_the_connection(scene: Callable[..., Scene], data: bytes) -> None:
    s = scene(now)
    s.receive(data)
    assert s.transport.is_aborted


@pytest.mark.parametrize(
    ("data", "hint"),
    [(b"\x16\x03\x01\x02\x00", "looks like TLS"), (b"GET / HTTP/1.1\r\n", "looks like HTTP")],
)
def test_another_protocol_is_called_by_its_name(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch, data: bytes, hint: str
) -> None:
    said: list[str] = []
    monkeypatch.setattr(connection_module.log, "warning", lambda event, why, **facts: said.append(why))
    scene(now).receive(data)
    assert hint in said[0]


def test_refusals_of_one_host_are_told_once_in_ten_seconds_and_counted() -> None:
    server, clock = a_server(), [0.0]
    server.now = lambda: clock[0]  # type: ignore[method-assign]
    assert [server.untold_refusals(host) for host in ("a", "a", "a", "b")] == [0, None, None, 0]
    clock[0] = 10.0
    assert server.untold_refusals("a") == 2


def a_server(**settings: str) -> Server:
    originals = {key.replace("_", "."): value for key, value in settings.items()}
    broker: Any = SimpleNamespace(
        metrics=Metrics(),
        turns=Turns(lambda: 0.0),
        config=BrokerConfig.from_originals(originals),
        quotas=ClientQuotas(samples=11, sample_ms=1000),
        monotonic_ms=lambda: 0.0,
        runtime=SimpleNamespace(machine=SimpleNamespace(has_room_for=lambda sock: True)),
    )
    return Server(broker)


def test_a_connection_that_leaves_the_log_no_descriptors_is_closed() -> None:
    server = a_server()
    server.now = lambda: 0.0  # type: ignore[method-assign]
    server.broker.connection_closed = lambda client: None  # type: ignore[method-assign]
    first, second = Transport(), Transport()
    Connection(server, HERE).connection_made(first)  # type: ignore[arg-type]
    server.broker.runtime.machine.has_room_for = lambda sock: False  # type: ignore[method-assign]
    Connection(server, HERE).connection_made(second)  # type: ignore[arg-type]
    assert (first.is_aborted, second.is_aborted) == (False, True)


def idle(server: Server, monkeypatch: pytest.MonkeyPatch) -> tuple[Transport, list[float]]:
    """What becomes of a connection that has never moved, and the pauses between three looks at it."""
    transport, pauses = Transport(), list[float]()
    server.now = lambda: 1e9  # type: ignore[method-assign]
    still = Connection(server, HERE)
    still.connection_made(transport)  # type: ignore[arg-type]
    still._last_progress = 0.0

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise asyncio.CancelledError

    with monkeypatch.context() as patched, contextlib.suppress(asyncio.CancelledError):
        patched.setattr(asyncio, "sleep", sleep)
        run(server.close_idle)
    return transport, pauses


def test_without_a_bound_on_idleness_nobody_is_closed_and_nobody_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transport, pauses = idle(a_server(connections_max_idle_ms="-1"), monkeypatch)
    assert not transport.is_aborted
    assert pauses == []


@pytest.mark.parametrize("bound_ms", ["0", "60000"])
def test_an_idle_connection_is_closed_and_looking_for_it_never_spins(
    monkeypatch: pytest.MonkeyPatch, bound_ms: str
) -> None:
    transport, pauses = idle(a_server(connections_max_idle_ms=bound_ms), monkeypatch)
    assert transport.is_aborted
    assert min(pauses) >= 0.1


async def swept(server: Server, monkeypatch: pytest.MonkeyPatch, seconds: list[float]) -> None:
    """The server looks for who is in others' way, at these times."""
    left = iter(seconds)

    async def sleep(pause_s: float) -> None:
        moment = next(left, None)
        if moment is None:
            raise asyncio.CancelledError
        server.now = lambda: moment  # type: ignore[method-assign]

    with monkeypatch.context() as patched, contextlib.suppress(asyncio.CancelledError):
        patched.setattr(asyncio, "sleep", sleep)
        await server.keep_room()


def connected(server: Server) -> tuple[Connection, Transport]:
    connection, transport = Connection(server, HERE), Transport()
    connection.connection_made(transport)  # type: ignore[arg-type]
    return connection, transport


def test_who_takes_no_answers_while_there_is_no_room_for_others_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        server = a_server(queued_max_response_bytes="1000")
        server.now = lambda: 0.0  # type: ignore[method-assign]
        (deaf, closed), (slow, open_), (_, idle) = (connected(server) for _ in range(3))
        for connection, transport in ((deaf, closed), (slow, open_)):
            transport.unsent = 400
            connection.pause_writing()
        await swept(server, monkeypatch, [20.0])
        assert not closed.is_aborted, "there is room"
        closed.unsent = 900
        deaf._count_unsent(900)
        open_.unsent = 300
        await swept(server, monkeypatch, [21.0])
        assert [transport.is_aborted for transport in (closed, open_, idle)] == [True, False, False]

    run(story)


def test_who_does_not_finish_a_request_while_others_wait_for_room_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        server = a_server(
            queued_max_request_bytes=str(2 * LARGE_BYTES), socket_request_max_bytes=str(2 * LARGE_BYTES)
        )
        server.now = lambda: 0.0  # type: ignore[method-assign]
        made = [connected(server) for _ in range(3)]
        half = (2 * LARGE_BYTES).to_bytes(4, "big") + bytes(LARGE_BYTES + 2 * PETTY_BYTES)
        for connection, _ in made[:2]:
            connection.get_buffer(-1)[: len(half)] = half
            connection.buffer_updated(len(half))
        server.now = lambda: 8.0  # type: ignore[method-assign]
        await swept(server, monkeypatch, [8.0])
        assert [transport.is_aborted for _, transport in made] == [True, True, False]

    run(story)


def test_a_handler_that_breaks_closes_its_connection_and_is_logged(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(connection_module.log, "exception", lambda event, **facts: logged.append(event))

    def broken(request: object, context: object) -> HeartbeatResponse:
        raise ZeroDivisionError

    s = scene(broken)
    s.ask(1)
    assert s.transport.is_aborted
    assert logged == ["request failed"]


def test_what_a_refused_request_was_decoded_to_is_let_go_of_at_once(scene: Callable[..., Scene]) -> None:
    class Decoded:
        """Something that can be watched."""

    decoded: list[weakref.ref[Decoded]] = []

    async def refused(request: object, context: object) -> HeartbeatResponse:
        held = Decoded()
        decoded.append(weakref.ref(held))
        await asyncio.sleep(0)
        raise dispatch.Unanswerable("more than there may be")

    async def story() -> None:
        made = scene(refused)
        made.ask(1)
        await turns()
        assert made.transport.is_aborted
        assert decoded[0]() is None

    gc.disable()  # nothing that only a collection would find
    try:
        run(story)
    finally:
        gc.enable()


def test_a_client_that_does_not_read_its_answers_is_not_read_from(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        s = scene(now)
        s.connection.pause_writing()
        s.ask(1)
        assert s.transport.correlation_ids() == []
        assert not s.transport.is_reading
        s.connection.resume_writing()
        assert s.transport.correlation_ids() == [1]
        assert s.transport.is_reading

    run(story)


def test_no_more_than_the_bound_is_started_or_read(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(*range(MAX_PENDING_ANSWERS + 3))
        assert len(later.asked) == MAX_PENDING_ANSWERS
        assert s.transport.is_reading, "or nobody would hear it hang up"
        s.ask(*range(PETTY_BYTES // FRAME_BYTES))
        assert not s.transport.is_reading
        for answered in range(10):
            later.asked[answered].set_result(HeartbeatResponse())
        await turns()
        assert len(later.asked) == MAX_PENDING_ANSWERS + 10
        assert s.transport.is_reading

    run(story)


def test_behind_a_request_that_waits_little_is_received(scene: Callable[..., Scene]) -> None:
    """A parked fetch, and a large request behind it: it would lie there for as long as the fetch likes."""

    async def story() -> None:
        later = Later()
        s = scene(later, exclusive=True)
        s.ask(1)
        size = 10 * LARGE_BYTES
        s.receive(size.to_bytes(4, "big") + b"\0\x0c\0\0" + bytes(PETTY_BYTES))
        assert not s.transport.is_reading
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.is_reading, "it is next"
        assert 0 < s.server.requests_held.total_bytes < 10
        left = size - 4 - PETTY_BYTES
        while left:
            came = min(left, len(s.connection.get_buffer(-1)))
            s.receive(bytes(came))
            left -= came
        assert len(later.asked) == 2
        assert s.server.requests_held.total_bytes == size - PETTY_BYTES, "until it is answered"
        later.asked[1].set_result(HeartbeatResponse())
        await turns()
        assert s.server.requests_held.total_bytes == 0

    run(story)


def test_large_requests_wait_for_room_and_little_ones_do_not(scene: Callable[..., Scene]) -> None:
    s = scene(now)
    limit_bytes = 4 * LARGE_BYTES
    s.server.requests_held = HeldBytes(limit_bytes)
    first, second, third = s.another(), s.another(), s.another()
    for large in (first, second):
        large.receive((8 * LARGE_BYTES).to_bytes(4, "big") + bytes(LARGE_BYTES))
        large.receive(bytes(LARGE_BYTES))
    first.receive(bytes(LARGE_BYTES))
    assert limit_bytes <= s.server.requests_held.total_bytes < limit_bytes + LARGE_BYTES
    assert not first.transport.is_reading
    assert len(third.connection.get_buffer(-1)) <= PETTY_BYTES, "a large one would not fit"
    third.ask(1)
    assert third.transport.correlation_ids() == [1]
    second.connection.connection_lost(None)
    assert first.transport.is_reading
    first.connection.connection_lost(None)
    assert s.server.requests_held.total_bytes == 0


def test_many_bytes_of_started_requests_keep_the_next_one_waiting(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "MAX_STARTED_BYTES", 2 * FRAME_BYTES - 10)

    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(1, 2, 3)
        assert len(later.asked) == 2
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert len(later.asked) == 3

    run(story)


def test_pipelined_requests_beyond_a_turns_budget_are_started_in_later_turns(
    scene: Callable[..., Scene],
) -> None:
    async def story() -> None:
        def slow(request: object, context: object) -> HeartbeatResponse:
            s.worked_s += 0.4 * BUDGET_S
            return HeartbeatResponse()

        s = scene(slow)
        s.ask(*range(1, 11))
        assert s.transport.correlation_ids() == [1, 2, 3]
        await turns(1)
        assert s.transport.correlation_ids() == [1, 2, 3, 4, 5, 6]
        await turns(2)
        assert s.transport.correlation_ids() == list(range(1, 11))

    run(story)


def test_a_crowd_with_much_to_do_does_not_keep_a_newcomer_waiting(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        def slow(request: object, context: object) -> HeartbeatResponse:
            first.worked_s += 0.4 * BUDGET_S
            return HeartbeatResponse()

        first = scene(slow)
        crowd = [first, *(first.another() for _ in range(19))]
        for s in crowd:
            s.connection._turns = first.connection._turns
            s.ask(*range(20))
        await turns(30)
        newcomer = first.another()
        newcomer.ask(1)
        await turns(2)
        assert newcomer.transport.correlation_ids() == [1]
        answered = [len(s.transport.correlation_ids()) for s in crowd]
        assert max(answered) - min(answered) <= 6, "and each of the crowd has its turns"
        await turns(200)
        assert {len(s.transport.correlation_ids()) for s in crowd} == {20}

    run(story)


def test_of_clients_that_have_gone_the_oldest_requests_are_forgotten_at_the_bound(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "MAX_LEFT_BEHIND", 2)
    server = a_server()
    s = scene(Later(), exclusive=True)
    s.server.leave_behind = server.leave_behind

    async def story() -> None:
        gone = [s.another() for _ in range(3)]
        for one in gone:
            one.ask(1, 2, 3)
            one.connection.connection_lost(None)
        held = [one.connection._frames.held_bytes for one in gone]
        assert held == [0, 2 * FRAME_BYTES, 2 * FRAME_BYTES]

    run(story)


def test_a_request_that_comes_byte_by_byte_is_read_now_and_then(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "SLIVER_PAUSE_MS", 0)

    async def story() -> None:
        s = scene(now)
        request = s.bytes_of(1)
        for at in range(len(request) - 1):
            assert s.transport.is_reading
            s.receive(request[at : at + 1])
            assert s.transport.is_reading == (at == 0), "the first piece may be half of an honest one"
            await turns()
        s.receive(request[-1:])
        assert s.transport.correlation_ids() == [1]
        assert s.transport.is_reading

    run(story)


def test_what_is_read_for_an_answer_counts_until_it_is_handed_over_or_nobody_wants_it(
    scene: Callable[..., Scene],
) -> None:
    async def story() -> None:
        later = Later()

        def reads(request: object, context: Any) -> object:
            context.hold(100)
            return later(request, context)

        s = scene(reads)
        held = s.server.answers_held
        s.ask(1, 2, 3, 4)
        assert held.total_bytes == 400
        later.asked[0].set_result(HeartbeatResponse())
        later.asked[1].cancel()
        await turns()
        assert held.total_bytes == 200
        later.asked[2].set_result(HeartbeatResponse(error_code=1 << 20))
        await turns()
        assert s.transport.is_aborted, "it cannot be encoded"
        s.connection.connection_lost(None)
        assert held.total_bytes == 0
        later.asked[3].set_result(HeartbeatResponse())
        await turns()
        assert held.total_bytes == 0

    run(story)


def test_draining_answers_what_was_started_and_then_closes(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(1)
        s.connection.drain()
        assert not s.transport.is_aborted
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [1]
        assert s.transport.is_aborted

    run(story)


def test_a_lost_connection_gives_up_reading_for_nobody(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later, exclusive=True, only_reads=True)
        s.ask(1)
        s.connection.connection_lost(None)
        await turns()
        assert later.asked[0].cancelled()

    run(story)


def test_a_lost_connection_does_not_begin_to_read_for_nobody(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later, exclusive=True, only_reads=True)
        s.ask(1, 2, 3)
        s.connection.connection_lost(None)
        await turns()
        assert len(later.asked) == 1

    run(story)


def test_what_was_asked_before_hanging_up_is_done(scene: Callable[..., Scene]) -> None:
    """A consumer that closes sends LeaveGroup behind a commit and does not wait: the group would wait for it."""

    async def story() -> None:
        later = Later()
        s = scene(later, exclusive=True)
        s.ask(1, 2, 3)
        s.connection.connection_lost(None)
        assert len(later.asked) == 1
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert len(later.asked) == 2
        later.asked[1].set_exception(ZeroDivisionError())
        await turns()
        assert len(later.asked) == 2, "after a bug of ours nothing more is tried"
        assert s.transport.correlation_ids() == []

    run(story)


def test_bytes_behind_a_requests_body_are_ignored(scene: Callable[..., Scene]) -> None:
    """librdkafka 2.16 sends three stray bytes in a Metadata request for all topics; Apache Kafka does not mind."""
    s = scene(now)
    body = codec.encode(HeartbeatRequest(group_id="g", member_id="m"), 0) + b"\x00\x00\x00"
    frame = b"\x00\x0c\x00\x00\x00\x00\x00\x01\xff\xff" + body
    s.receive(len(frame).to_bytes(4, "big") + frame)
    assert not s.transport.is_aborted
    assert s.transport.correlation_ids() == [1]


def test_an_answer_that_cannot_be_encoded_closes_its_connection(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(connection_module.log, "exception", lambda event, **facts: logged.append(event))

    async def story() -> None:
        at_once = scene(lambda request, context: HeartbeatResponse(error_code=1 << 20))
        at_once.ask(1)
        assert at_once.transport.is_aborted
        later = Later()
        s = scene(later)
        s.ask(2)
        later.asked[0].set_result(HeartbeatResponse(error_code=1 << 20))
        await turns()
        assert s.transport.is_aborted, "and does not wait for what will never come"
        assert logged == ["request failed"] * 2

    run(story)


def test_a_handler_may_refuse_an_answer_at_once_or_later(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        def refuse(request: object, context: object) -> HeartbeatResponse:
            raise dispatch.Unanswerable("acks=0")

        at_once = scene(refuse)
        at_once.ask(1)
        assert at_once.transport.is_aborted
        later = Later()
        s = scene(later)
        s.ask(2)
        later.asked[0].set_exception(dispatch.Unanswerable("acks=0"))
        await turns()
        assert s.transport.is_aborted

    run(story)


def test_large_answers_held_behind_a_slow_one_stop_the_next(
    scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "MAX_HELD_BYTES", 1)

    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(1, 2)
        later.asked[1].set_result(HeartbeatResponse())
        await turns()
        s.ask(3)
        assert len(later.asked) == 2, "the third waits until the second is out"
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [1, 2]
        assert len(later.asked) == 3
        later.asked[2].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [1, 2, 3]

    run(story)


def test_what_a_client_does_not_take_is_counted_until_it_does_or_goes(scene: Callable[..., Scene]) -> None:
    first, second = scene(now), scene(now)
    second.connection._server = first.server
    for s, unsent in ((first, 10), (second, 5)):
        s.transport.unsent = unsent
        s.connection.pause_writing()
    held = first.server.answers_held
    assert held.total_bytes == 15
    first.connection.resume_writing()
    assert held.total_bytes == 5
    second.connection.connection_lost(None)
    assert held.total_bytes == 0


def test_a_slow_reader_is_not_idle_but_one_that_stands_still_is(scene: Callable[..., Scene]) -> None:
    s = scene(now)
    s.transport.unsent = 100
    s.server.now = lambda: 10.0
    assert not s.connection.has_moved_since(5.0), "connected at 0, and nothing since"
    s.transport.unsent = 60
    assert s.connection.has_moved_since(5.0), "40 bytes went out between two looks"
    s.server.now = lambda: 20.0
    assert not s.connection.has_moved_since(15.0)


def test_a_draining_connection_takes_nothing_more(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        later = Later()
        s = scene(later)
        s.ask(1)
        s.connection.drain()
        assert not s.transport.is_reading
        s.ask(2)
        assert len(later.asked) == 1
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [1]
        assert s.transport.is_aborted

    run(story)


def test_a_client_over_its_quota_is_not_read_until_its_pause_is_over(scene: Callable[..., Scene]) -> None:
    async def story() -> None:
        pauses = iter([50, 0, 0])
        asked = []

        def over_quota(request: object, context: Any) -> HeartbeatResponse:
            asked.append(loop.time())
            context.throttle_ms = next(pauses)
            return HeartbeatResponse()

        loop = asyncio.get_running_loop()
        s = scene(over_quota)
        s.ask(1, 2)
        assert s.transport.correlation_ids() == [1], "its answer, which tells of the pause, goes out at once"
        assert not s.transport.is_reading
        s.ask(3)
        assert len(asked) == 1
        over = asyncio.Event()
        s.transport.resume_reading = over.set  # type: ignore[method-assign]
        await over.wait()
        assert s.transport.correlation_ids() == [1, 2, 3]
        assert asked[1] - asked[0] >= 0.049

    run(story)


def test_a_pause_begins_before_the_answer_that_tells_of_it(scene: Callable[..., Scene]) -> None:
    """A produce's answer waits for the disk; what the client sends meanwhile does not slip through."""

    async def story() -> None:
        later = Later()

        def over_quota(request: object, context: Any) -> object:
            context.throttle_ms = 60_000
            return later(request, context)

        s = scene(over_quota)
        s.ask(1, 2)
        assert len(later.asked) == 1
        later.asked[0].set_result(HeartbeatResponse())
        await turns()
        assert s.transport.correlation_ids() == [1]
        s.connection.connection_lost(None)
        assert len(later.asked) == 2, "asked before the client hung up"

    run(story)


def test_a_client_is_to_pause_for_the_time_its_requests_took(scene: Callable[..., Scene]) -> None:
    """At once or later, and what others worked meanwhile is not its."""

    async def story() -> None:
        def slow(request: object, context: object) -> HeartbeatResponse:
            s.worked_s += 0.5
            return HeartbeatResponse()

        s = scene(slow)
        s.server.quotas.changed({(("client-id", None),): {"request_percentage": 5.0}})
        s.ask(1, version=1)
        assert s.throttle_ms() == [0], "half a second is what five percent of ten are"
        s.worked_s += 1.0
        s.ask(2, 3, version=1)
        assert s.throttle_ms() == [0, 1000], "a sample at most, and nothing is started before its time"

        async def later(request: object, context: object) -> HeartbeatResponse:
            t.worked_s += 0.4
            await others
            t.worked_s += 0.4
            return HeartbeatResponse()

        t = scene(later, exclusive=True)
        t.server.quotas.changed({(("user", "ANONYMOUS"),): {"request_percentage": 7.9}})
        others = asyncio.get_running_loop().create_future()
        t.ask(1, version=1)
        await turns()
        t.worked_s += 10.0
        others.set_result(None)
        await turns()
        assert t.throttle_ms() == [127], "0.8 s are 80 percent: 127 ms too many for ten seconds of 7.9"

    run(story)


def test_who_connects_too_often_is_not_read_and_closed_when_the_pause_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def story() -> None:
        closings: list[tuple[float, Callable[[], None]]] = []
        monkeypatch.setattr(
            asyncio.get_running_loop(), "call_later", lambda delay, work: closings.append((delay, work))
        )
        server = a_server()
        server.quotas.changed({(("ip", None),): {"connection_creation_rate": 1.0}})
        made = [connected(server)[1] for _ in range(11)]
        assert [transport.is_reading for transport in made] == [True] * 10 + [False]
        assert not made[-1].is_aborted
        ((delay_s, close),) = closings
        assert delay_s == 1.0
        close()
        assert made[-1].is_aborted

    run(story)
