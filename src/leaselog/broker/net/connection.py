"""One client's connection: frames in, answers out in the same order, and bounds on both.

Requests are started one after the other. An API marked exclusive keeps the next request waiting until it has
answered (Kafka does so for every API); a produce lets the next one start, so that several share a sync.

Bounds: with `MAX_PENDING_ANSWERS` started and not answered, or `MAX_HELD_BYTES` answered and waiting for their turn,
or requests of `MAX_STARTED_BYTES` under way, or the socket's write buffer full, nothing more is started. Then, and
while a client over its quota is to pause (KIP-219), what arrives is as little as it takes to hear that the client has
gone: reading stops, the client's own socket fills up, and nobody else notices. A client that never reads its answers
makes no progress and is closed as idle. A request that is still arriving goes on doing so while there is room for it
(`held_bytes`).

What was received beyond a turn's budget is started in later turns, in turn with others who have more to do
(`broker.runtime.turns`).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Generator
from copy import copy
from dataclasses import replace
from types import CoroutineType
from typing import Any, Protocol, cast

from leaselog.broker.config.listeners import Listener
from leaselog.broker.net.dispatch import Call, Place, Unanswerable, receive
from leaselog.broker.net.house import House
from leaselog.broker.quotas.client_quotas import ClientQuotas
from leaselog.broker.quotas.held_bytes import PETTY_BYTES, HeldBytes
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.metrics import Metrics
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.runtime.turns import Measured, Turns, Walk
from leaselog.broker.security.sasl_session import SaslSession
from leaselog.model import ANONYMOUS, Principal
from leaselog.wire.codec_steps import is_long
from leaselog.wire.errors import DecodeError
from leaselog.wire.frame_reader import FrameReader
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Message

__all__ = ["Connection"]

MAX_PENDING_ANSWERS = 64
#: a fetch's answer behind a produce that waits for the disk, say; the one that reaches it may be any size
MAX_HELD_BYTES = 1 << 20
#: of produces that wait for the disk; the one that reaches it may be any size
MAX_STARTED_BYTES = 16 << 20
#: a request that comes in pieces smaller than this is read now and then: each reading costs as much as a whole one
SLIVER_BYTES = 512
SLIVER_PAUSE_MS = 50
WRITE_BUFFER_HIGH_BYTES = 1 << 16

log = StructuredLog("connection")


class ConnectionHost(Protocol):
    """The server that a connection belongs to: what all of its connections share, and who is told of each."""

    broker: House
    metrics: Metrics
    turns: Turns
    quotas: ClientQuotas
    #: bytes come in here, of whichever connection has its turn
    receive_buffer: memoryview
    max_frame_bytes: int
    requests_held: HeldBytes
    answers_held: HeldBytes

    def now(self) -> float:
        """Seconds, by the loop's clock."""

    def admit(self, connection: Connection) -> int: ...

    def identify(self, connection: Connection, host: str) -> Principal | None: ...

    def dismiss(self, connection: Connection) -> None: ...

    def leave_behind(self, lost: Connection) -> None: ...

    def untold_refusals(self, host: str) -> int | None: ...


class Connection(asyncio.BufferedProtocol):
    def __init__(self, server: ConnectionHost, listener: Listener) -> None:
        self._server = server
        self.listener = listener
        self._broker = server.broker
        self._metrics = server.metrics
        self._frames = FrameReader(server.receive_buffer, server.max_frame_bytes)
        self._answers: deque[Place] = deque()
        self._exclusive = False
        self._turns = server.turns
        self._quotas = server.quotas
        #: has had its turn, and goes on when the others had theirs
        self._is_queued = False
        #: requests that may be given up when the client goes
        self._reads: dict[asyncio.Future[Any], None] = {}
        #: long answers that are being written
        self._writing = 0
        self._is_lost = False
        self._is_refused = False
        self._write_paused = False
        self._reading = True
        self._draining = False
        #: until the client may go on; None: it need not pause
        self._throttle: asyncio.TimerHandle | None = None
        #: of answers that are complete and not yet first in line
        self._held_bytes = 0
        #: of requests that were started and have their answer to come
        self._started_bytes = 0
        #: of requests, beyond what is petty; and of answers that the transport could not pass on. In the server's sums
        self._counted_bytes = 0
        self._unsent_bytes = 0
        #: of the request that is arriving, one after the other
        self._slivers = 0
        #: when what is arriving became more than petty
        self._arriving_since_s = math.inf
        self._unsent_at_sweep = 0
        self._last_progress = server.now()
        #: of a client that has to say who it is; None: it need not
        self._login: SaslSession | None = None
        self._login_timeout: asyncio.TimerHandle | None = None

    # -- asyncio's side -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_BUFFER_HIGH_BYTES)
        host, port = (self.transport.get_extra_info("peername") or ("?", 0))[:2]
        self.client = Client(self._server.admit(self), host, port, self.listener.name)
        if self.listener.protocol.needs_sasl:
            self._ask_for_a_login()
            return
        principal = self._server.identify(self, host)
        if principal is None:
            self._give_up()
        elif principal != ANONYMOUS:
            self.client = replace(self.client, principal=principal)

    def get_buffer(self, sizehint: int) -> memoryview:
        buffer = self._frames.buffer()
        if self._login is not None and not self._login.is_open:
            return buffer[: max(self._frames.max_frame_bytes + 4 - self._frames.held_bytes, 1)]
        requests = self._server.requests_held
        if requests.is_full and not requests.room_bytes(self.client.host):
            return buffer[: max(PETTY_BYTES - self._frames.held_bytes, 1)]
        return buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._last_progress = self._server.now()
        self._metrics.bytes_received(nbytes)
        frames, held_bytes = self._frames, self._frames.held_bytes
        frames.received(nbytes)
        self._start_queued()
        if frames.held_bytes:
            frames.keep()
        if nbytes >= SLIVER_BYTES or frames.held_bytes != held_bytes + nbytes:
            self._slivers = 0
        elif not self._is_queued and not self._is_held():
            self._slivers += 1
            if self._slivers > 1:
                self.pause(SLIVER_PAUSE_MS)

    def pause_writing(self) -> None:
        self._write_paused = True
        self._count_unsent(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._write_paused = False
        self._count_unsent(0)
        self._last_progress = self._server.now()
        self._start_queued()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is left to be answered. What was asked is done all the same: a client that leaves its group, or
        produces without acks, says so and hangs up. Only reading for nobody is given up."""
        self._is_lost = True
        self._write_paused = False
        if self._throttle is not None:
            self._throttle.cancel()
        if self._login_timeout is not None:
            self._login_timeout.cancel()
        self._count_unsent(0)
        for place in self._answers:
            if isinstance(place, Call):
                self._let_go(place)
        for task in tuple(self._reads):
            task.cancel()
        self._server.dismiss(self)
        self._server.requests_held.forget(self._read_or_not)
        self._start_queued()
        if self._frames.held_bytes:
            self._server.leave_behind(self)

    def forget_requests(self) -> None:
        """Starts nothing more of what came."""
        self._frames.clear()
        self._count_held()

    def _count_unsent(self, size_bytes: int) -> None:
        if size_bytes != self._unsent_bytes:
            self._server.answers_held.change(self.client.host, size_bytes - self._unsent_bytes)
            self._unsent_bytes = size_bytes

    def _count_held(self) -> None:
        """Tells the server what this client's requests hold: called whenever some came or are done with."""
        arriving = self._frames.held_bytes > PETTY_BYTES
        if arriving != (self._arriving_since_s < math.inf):
            self._arriving_since_s = self._server.now() if arriving else math.inf
        beyond_bytes = max(self._frames.held_bytes + self._started_bytes - PETTY_BYTES, 0)
        if beyond_bytes != self._counted_bytes:
            self._server.requests_held.change(self.client.host, beyond_bytes - self._counted_bytes)
            self._counted_bytes = beyond_bytes

    def has_moved_since(self, moment: float) -> bool:
        """Whether bytes came in or went out. For the sweep: what the last one saw is what this one compares with."""
        unsent, self._unsent_at_sweep = self._unsent_at_sweep, self.transport.get_write_buffer_size()
        if self._unsent_at_sweep < unsent:
            self._last_progress = self._server.now()  # a large answer on a slow line
        return self._last_progress >= moment

    def has_unread_answers_since(self, moment_s: float) -> bool:
        """Whether the client has taken nothing of its answers since then."""
        return self._write_paused and not self.has_moved_since(moment_s)

    def has_half_a_request_since(self, moment_s: float) -> bool:
        """Whether a request that takes room began to arrive before then, and is still not all here."""
        return self._arriving_since_s <= moment_s and not self._is_queued and not self._is_held()

    # -- requests -------------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Stops taking requests and closes when what has started is answered."""
        self._draining = True
        self._start_queued()  # which stops reading
        if not self._answers:
            self.transport.close()

    def _start_queued(self, *, has_turn: bool = False) -> None:
        """Starts what has arrived, as far as the bounds and the turn's budget go, and reads on if there is room.

        Who has the turn that it was queued for starts one request whatever the budget.
        """
        turns, frames = self._turns, self._frames
        is_new = not has_turn
        try:
            while frames.held_bytes and not self._is_queued and not self._is_held():
                now_s = turns.begin()
                if not has_turn and now_s >= turns.spent_s:
                    self._is_queued = True
                    turns.queue(self._have_a_turn, is_new=is_new)
                    break
                frame = frames.take()
                if frame is None:
                    if self._is_lost:
                        frames.clear()  # the rest of it will not come
                    break
                turns.end(self._start(frame, now_s), now_s)
                is_new = has_turn = False
        except DecodeError as bad:
            self._refuse(str(bad))
        if self._counted_bytes or frames.held_bytes + self._started_bytes > PETTY_BYTES:
            self._count_held()
        if (
            frames.held_bytes
            or not self._reading
            or self._write_paused
            or self._throttle is not None
            or self._draining
        ):
            self._read_or_not()

    def _read_or_not(self) -> None:
        if self._is_lost:
            return
        wanted = self._may_read()
        if wanted != self._reading and not self.transport.is_closing():
            self._reading = wanted
            if wanted:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    def _may_read(self) -> bool:
        if self._write_paused or self._draining or self._throttle is not None:
            return False
        if self._frames.held_bytes < PETTY_BYTES:
            return True
        if self._is_queued or self._is_held():
            return False
        requests = self._server.requests_held  # all else is started: a large one is on its way
        if requests.room_bytes(self.client.host):
            return True
        requests.wait(self._read_or_not)
        return False

    def _have_a_turn(self) -> None:
        self._is_queued = False
        self._start_queued(has_turn=True)

    def _is_held(self) -> bool:
        if self._exclusive or self._writing or self._draining or self._is_refused:
            return True
        return not self._is_lost and (
            self._write_paused
            or self._throttle is not None
            or len(self._answers) >= MAX_PENDING_ANSWERS
            or self._held_bytes >= MAX_HELD_BYTES
            or self._started_bytes >= MAX_STARTED_BYTES
        )

    def _start(self, frame: bytearray, now_s: float) -> str:
        """What it was that was started, for the measuring of turns."""
        work = "a request nobody knows"
        try:
            call = receive(frame, self._broker, self.client, now_s, self._login)
            if isinstance(call, list):
                self._answers.append(place := Place())
                self._finish(place, call)
                if self._login is not None and self._login.has_failed:
                    self.drain()
                return work
            work = call.api.name
            if self._is_lost and call.api.only_reads:
                return work  # a share session opened for nobody would never end
            self._answers.append(call)
            self._metrics.request_started(call.api.name)
            reply = call.start()
            if reply is None or isinstance(reply, Message):
                self._answer(call, reply)
            else:
                self._await(call, reply)
        except Unanswerable as wrong:
            self._refuse(str(wrong))
        except Exception:  # noqa: BLE001 - a supervisor: whatever a handler lets escape ends here
            self._fail(head=frame[:32].hex())
        return work

    def _await(self, call: Call, reply: Awaitable[Message | None]) -> None:
        """Lets the answer come later."""
        if call.context.throttle_ms:
            self.pause(call.context.throttle_ms)
        steps: Measured[Message | None] | None = None
        if isinstance(reply, (CoroutineType, Walk)):
            reply = steps = self._turns.measured(call.api.name, reply)
        task = asyncio.ensure_future(reply)
        self._started_bytes += call.size_bytes
        is_exclusive = call.is_exclusive or call.context.is_exclusive
        if is_exclusive:
            self._exclusive = True
        if call.api.only_reads:
            self._reads[task] = None

        def done(finished: asyncio.Future[Message | None]) -> None:
            self._reads.pop(finished, None)
            self._started_bytes -= call.size_bytes
            if is_exclusive:
                self._exclusive = False
            if finished.cancelled():
                self._let_go(call)
                self._start_queued()
                return
            failure = finished.exception()
            if failure is not None:
                self._let_go(call)
                # Not raised here: the task, its failure and this frame would hold each other, and all that was decoded.
                if isinstance(failure, Unanswerable):
                    self._refuse(str(failure))
                    return
            try:
                self._answer(call, finished.result(), started_s + (0.0 if steps is None else steps.seconds))
            except Exception:  # noqa: BLE001 - the same supervisor, a turn of the loop later
                self._fail(api=call.api.name, version=call.context.version)
            else:
                self._start_queued()

        task.add_done_callback(done)
        started_s = self._turns.clock() - call.started_s

    def _answer(self, call: Call, response: Message | None, worked_s: float | None = None) -> None:
        """``worked_s`` is how long the loop had to do with it, if it was not all the time since its start."""
        if self._quotas.limits_requests:
            response = self._charge(call, response, worked_s)
        if call.context.throttle_ms:
            self.pause(call.context.throttle_ms)
        self._metrics.request_answered(call.api.name, self._turns.clock() - call.started_s)
        if response is None:
            self._finish(call, [])
        elif is_long(response):
            self._write_in_steps(call, response)
        else:
            self._metrics.count_errors(call.api, response)
            self._finish(call, call.encode(response))
            if call.context.held_bytes:
                self._let_go(call)

    @staticmethod
    def _let_go(call: Call) -> None:
        """The answer is the socket's, or nobody's."""
        if call.context.held_bytes:
            call.context.hold(-call.context.held_bytes)

    def _write_in_steps(self, call: Call, response: Message) -> None:
        """Nothing else is started until a long answer is written: it has its connection to itself."""
        written = self._turns.start(self._written(call, response))
        if isinstance(written, list):
            self._finish(call, written)
            self._let_go(call)
            return
        self._writing += 1
        task = asyncio.ensure_future(self._turns.measured(call.api.name, written))
        self._reads[task] = None

        def done(finished: asyncio.Future[list[Buffer]]) -> None:
            del self._reads[finished]
            self._writing -= 1
            self._let_go(call)
            if not finished.cancelled():
                try:
                    self._finish(call, finished.result())
                except Exception:  # noqa: BLE001 - the same supervisor
                    self._fail(api=call.api.name, version=call.context.version)
            self._start_queued()

        task.add_done_callback(done)

    def _written(self, call: Call, response: Message) -> Generator[object, None, list[Buffer]]:
        yield from self._metrics.count_errors_in_steps(call.api, response)
        return (yield from call.encode_in_steps(response))

    def _charge(self, call: Call, response: Message | None, worked_s: float | None) -> Message | None:
        """Counts the time that the request took. The answer, which says so if its client is to pause for it."""
        if worked_s is None:
            worked_s = self._turns.clock() - call.started_s
        pause_ms = self._quotas.worked_for(
            call.context.client_id, worked_s, 1000 * self._server.now(), user=call.context.user
        )
        if pause_ms <= call.context.throttle_ms:
            return response
        call.context.throttle_ms = pause_ms
        if not hasattr(response, "throttle_time_ms"):
            return response
        told: Any = copy(response)  # some are the same for all who ask
        told.throttle_time_ms = pause_ms
        return cast(Message, told)

    def pause(self, pause_ms: int) -> None:
        """Starts and reads nothing for so long; what has started is answered. An earlier pause may end later."""
        if self._is_lost:
            return
        loop = asyncio.get_running_loop()
        end_s = loop.time() + pause_ms / 1000
        if self._throttle is not None:
            end_s = max(end_s, self._throttle.when())
            self._throttle.cancel()
        self._throttle = loop.call_at(end_s, self._go_on)
        self._read_or_not()

    def _go_on(self) -> None:
        """The pause is over. Many may end at once, so each waits for its turn."""
        self._throttle = None
        if not self._is_queued:
            self._is_queued = True
            self._turns.queue(self._have_a_turn)

    def _finish(self, place: Place, chunks: list[Buffer]) -> None:
        """Fills the place in and sends every answer that is now first in line."""
        if self._is_lost:
            return
        answers = self._answers
        if place is not answers[0]:
            place.chunks = chunks
            self._held_bytes += sum(map(len, chunks))
            return
        answers.popleft()
        ready = chunks
        if answers and answers[0].chunks is not None:
            ready = ready + self._take_held()
        if ready and not self.transport.is_closing():
            if len(ready) == 1:
                self._metrics.bytes_sent(len(ready[0]))
                self.transport.write(ready[0])
            else:
                self._metrics.bytes_sent(sum(map(len, ready)))
                self.transport.writelines(ready)
            if self._write_paused:  # it has more to pass on than when it asked to pause
                self._count_unsent(self.transport.get_write_buffer_size())
        if self._draining and not self._answers:
            self.transport.close()

    def _take_held(self) -> list[Buffer]:
        """The answers whose turn has come."""
        taken: list[Buffer] = []
        while self._answers and (chunks := self._answers[0].chunks) is not None:
            self._answers.popleft()
            taken += chunks
        self._held_bytes -= sum(map(len, taken))
        return taken

    # -- logins ---------------------------------------------------------------------------------------------

    def _ask_for_a_login(self) -> None:
        logins = self._broker.logins
        self._login = logins.session(self, self.listener.name)
        loop = asyncio.get_running_loop()
        self._login_timeout = loop.call_later(logins.timeout_s(self.listener.name), self._end_strangers)

    def _end_strangers(self) -> None:
        self._refuse("not logged in after connection.authentication.timeout.ms")

    def limit_frames(self, max_bytes: int) -> None:
        self._frames.max_frame_bytes = max_bytes

    def has_logged_in(self, principal: Principal) -> None:
        """Is somebody from now on, and may send frames of any size."""
        self.client = replace(self.client, principal=principal)
        self.limit_frames(self._server.max_frame_bytes)
        if self._login_timeout is not None:
            self._login_timeout.cancel()
            self._login_timeout = None

    def end_when_answered(self) -> None:
        """Takes nothing more, and ends when what was asked is answered."""
        self._draining = True
        self._frames.clear()
        self._read_or_not()

    def untold_refusals(self) -> int | None:
        return self._server.untold_refusals(self.client.host)

    # -- ends -----------------------------------------------------------------------------------------------

    def _refuse(self, why: str) -> None:
        """Closes on a peer that cannot be understood: no answer, and a line unless its host just had one."""
        untold = self._server.untold_refusals(self.client.host)
        if untold is not None:
            more = {"untold_before": untold} if untold else {}
            log.warning(
                "closing connection", client=f"{self.client.host}:{self.client.port}", why=why, **more
            )
        self._metrics.connection_refused()
        self._give_up()

    def _fail(self, **facts: object) -> None:
        """Closes on a bug of ours, with the story in the log. Call where the exception is being handled."""
        log.exception("request failed", client=f"{self.client.host}:{self.client.port}", **facts)
        self._give_up()

    def _give_up(self) -> None:
        """Starts nothing more that this client asked for, and closes."""
        self._is_refused = True
        self._frames.clear()
        self.transport.abort()
