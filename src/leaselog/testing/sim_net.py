"""A network in memory: streams that are slow, stall, break on one side only, and meet hosts that are not there.

What TCP promises is kept: the bytes of one connection arrive in order, once, or not at all. Everything else is
chance's: how long each piece takes, where it is cut, and so which of two connections is first.

    a host that lost power      nothing comes back until it is up again; then the connection is refused (RST)
    a process that was killed   its peers are told at once, as its kernel closes its sockets
    a blocked pair of hosts     nothing arrives until they are healed, and then everything does, as if sent again
    a cut                       both ends learn of it, or only one: the other is half open until it sends something
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import Any, cast

from leaselog.testing.sim_loop import SimLoop, SimProcess, current_process

__all__ = ["Address", "SimNet", "SimTransport"]

Address = tuple[str, int]

#: how long a host tries to reach one that does not answer
CONNECT_PATIENCE_S = 60.0
#: how soon something is sent again once the way is free
RETRANSMIT_S = 0.3
#: no two pieces of one connection arrive at the same time, or chance would decide which is first
_TICK_S = 1e-6
FIRST_PORT = 40_000
HIGH_WATER_BYTES = 64 * 1024


class _Socket:
    """What a transport shows of its socket."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def getsockname(self) -> Address:
        return self._address

    def setsockopt(self, *what: int) -> None:
        """Buffers here are the network's to choose."""


class _Listener:
    def __init__(self, net: SimNet, address: Address, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        self._net = net
        self.address = address
        self.factory = factory
        self.context = copy_context()
        self.process = current_process()
        self.sockets = (_Socket(address),)

    def close(self) -> None:
        if self._net.listeners.get(self.address) is self:
            del self._net.listeners[self.address]

    def is_serving(self) -> bool:
        return self._net.listeners.get(self.address) is self

    async def wait_closed(self) -> None:
        """Its connections are not its own."""


class SimTransport(asyncio.Transport):
    """One end of a connection. ``peer`` is the other; what it writes waits here until the network takes it."""

    def __init__(
        self, net: SimNet, protocol: asyncio.BaseProtocol, near: Address, far: Address, context: Context
    ) -> None:
        super().__init__({"sockname": near, "peername": far, "socket": _Socket(near)})
        self.net = net
        self.protocol = protocol
        self.near, self.far = near, far
        self.context = context
        self.process = context.run(current_process)
        self.peer: SimTransport | None = None
        self._buffer = bytearray()
        self._high, self._low = HIGH_WATER_BYTES, HIGH_WATER_BYTES // 4
        self._write_paused = False
        #: sent and not read on the other side
        self.unread_bytes = 0
        self.inbox: deque[bytes] = deque()
        #: not before the protocol has been told of the connection
        self._reading = False
        self._delivering = False
        self._closing = False
        self._is_lost = False
        #: nothing comes after this
        self._eof = False
        #: what is on its way to the peer, in its order, and when the last of it arrives
        self.wire: deque[tuple[Callable[[Any], None], Any]] = deque()
        self.busy_until_s = 0.0
        #: of it what came to a blocked way
        self.stuck = 0

    # -- asyncio's side -------------------------------------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return self._reading

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self._deliver_soon()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = HIGH_WATER_BYTES if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return len(self._buffer)

    def write(self, data: Any) -> None:
        if self._closing:
            return
        self._buffer += data
        self._push()
        if len(self._buffer) > self._high and not self._write_paused:
            self._write_paused = True
            cast(asyncio.Protocol, self.protocol).pause_writing()

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        """What is written still arrives."""
        if not self._closing:
            self._closing = True
            if not self._buffer:
                self._say_goodbye(None)

    def abort(self) -> None:
        if not self._is_lost:
            self._closing = True
            self._buffer.clear()
            self._say_goodbye(ConnectionResetError("connection reset by peer"))

    # -- the network's side ---------------------------------------------------------------------------------

    def begin(self) -> None:
        self._reading = True
        self.protocol.connection_made(self)
        if self.inbox or self._eof:
            self._deliver_soon()

    def _push(self) -> None:
        """Gives the network as much as the other side has room for."""
        net, peer = self.net, self.peer
        if peer is None or self._is_lost:
            return
        while self._buffer and (room := net.window_bytes - self.unread_bytes) > 0:
            size = min(len(self._buffer), room, net.piece_bytes())
            piece = bytes(memoryview(self._buffer)[:size])
            del self._buffer[:size]
            self.unread_bytes += size
            net.carry(self, size, peer.arrived, piece)
        if self._write_paused and len(self._buffer) <= self._low:
            self._write_paused = False
            cast(asyncio.Protocol, self.protocol).resume_writing()
        if self._closing and not self._buffer:
            self._say_goodbye(None)

    def _say_goodbye(self, why: ConnectionResetError | None) -> None:
        """This end is over; the other one hears of it."""
        if self._is_lost:
            return
        if self.peer is not None:
            self.net.carry(self, 0, self.peer.heard_goodbye, why)
        self.lose(None)

    def lose(self, why: Exception | None) -> None:
        """Tells the protocol, once."""
        if self._is_lost:
            return
        self._is_lost = self._closing = True
        self._buffer.clear()
        self.inbox.clear()
        self.net.forget(self)
        self.net.on_lost(self)
        self.net.loop.call_soon(self.protocol.connection_lost, why, context=self.context)

    def arrived(self, piece: bytes) -> None:
        """In the network's time: a process that is gone cannot take it, and its host says so."""
        assert self.peer is not None
        if self._is_lost or not _is_running(self.process):
            self.net.refuse(self, self.peer)
            return
        self.inbox.append(piece)
        self._deliver_soon()

    def heard_goodbye(self, why: ConnectionResetError | None) -> None:
        if why is not None:
            self.lose(why)
        else:
            self._eof = True
            self._deliver_soon()

    def _deliver_soon(self) -> None:
        if not self._delivering and not self._is_lost:
            self._delivering = True
            self.net.loop.call_soon(self._deliver, context=self.context)

    def _deliver(self) -> None:
        self._delivering = False
        taken = 0
        while self.inbox and self._reading and not self._is_lost:
            taken += self._hand_over(self.inbox.popleft())
        if taken and self.peer is not None:
            self.net.loop.call_soon(self.peer.was_read, taken, context=self.peer.context)
        if self._eof and not self.inbox and not self._is_lost:
            protocol = cast(asyncio.Protocol, self.protocol)
            if not protocol.eof_received():
                self.close()

    def was_read(self, size: int) -> None:
        self.unread_bytes -= size
        self._push()

    def _hand_over(self, piece: bytes) -> int:
        """How many bytes the protocol took: one that stops reading gets no more."""
        protocol = self.protocol
        if not isinstance(protocol, asyncio.BufferedProtocol):
            cast(asyncio.Protocol, protocol).data_received(piece)
            return len(piece)
        at = 0
        while at < len(piece) and self._reading and not self._is_lost:
            buffer = memoryview(cast(Any, protocol.get_buffer(-1)))
            size = min(len(buffer), len(piece) - at)
            buffer[:size] = piece[at : at + size]
            at += size
            protocol.buffer_updated(size)
        if at < len(piece) and not self._is_lost:
            self.inbox.appendleft(piece[at:])
        return at


def _is_running(process: SimProcess | None) -> bool:
    return process is None or process.is_alive


class SimNet:
    """One for a loop. Turn its knobs at any time; they count for what is sent from then on."""

    def __init__(self, loop: SimLoop, chance: Random) -> None:
        self.loop = loop
        self._chance = chance
        self.listeners: dict[Address, _Listener] = {}
        self._open: dict[SimTransport, None] = {}
        self._blocked: set[frozenset[str]] = set()
        #: hosts without power: nobody there says no
        self.dark: set[str] = set()
        #: who has something on a way that is blocked
        self._stuck: dict[SimTransport, None] = {}
        self._ports = iter(range(FIRST_PORT, 2**31))
        self.latency_s = (0.0002, 0.002)
        #: how often a piece is lost on the way and comes later, with everything behind it
        self.loss = 0.0
        #: slow lines, by host: bytes a second, in either direction
        self.speed: dict[str, float] = {}
        self.window_bytes = 256 * 1024
        #: told of each end of a connection that is no more
        self.on_lost: Callable[[SimTransport], None] = lambda end: None
        #: how often a write is cut in pieces
        self.cuts_pieces = 0.1
        loop.net = self

    # -- what happens to it ---------------------------------------------------------------------------------

    def block(self, one: str, other: str) -> None:
        """Nothing gets from one host to the other, and nobody is told."""
        self._blocked.add(frozenset({one, other}))

    @property
    def is_blocked(self) -> bool:
        return bool(self._blocked)

    def heal(self) -> None:
        """Every way is free, and what was on a blocked one is sent again."""
        self._blocked.clear()
        self._send_again()

    def power_is_back(self, host: str) -> None:
        self.dark.discard(host)
        self._send_again()

    def _send_again(self) -> None:
        stuck, self._stuck = self._stuck, {}
        for sender in stuck:
            again, sender.stuck = sender.stuck, 0
            for _ in range(again):
                self._schedule(sender, RETRANSMIT_S)

    def connections(self) -> list[SimTransport]:
        """One end of each: the one that asked for it."""
        return [end for end in self._open if end.near[1] >= FIRST_PORT]

    def cut(self, end: SimTransport, *, half: bool = False) -> None:
        """The connection breaks. ``half``: the other end finds out when it next says something."""
        peer = end.peer
        end.lose(ConnectionResetError("connection reset by peer"))
        if peer is not None and not half:
            peer.lose(ConnectionResetError("connection reset by peer"))

    def process_killed(self, process: SimProcess) -> None:
        """Its kernel closes its sockets."""
        for address, listener in list(self.listeners.items()):
            if listener.process is process:
                del self.listeners[address]
        for end in list(self._open):
            if end.process is process and end.peer is not None:
                del self._open[end]
                self.carry(end, 0, end.peer.heard_goodbye, ConnectionResetError("connection reset by peer"))

    def host_lost_power(self, host: str) -> None:
        """Nobody says anything any more. What was on its way there is lost."""
        self.dark.add(host)
        for address in [address for address in self.listeners if address[0] == host]:
            del self.listeners[address]
        for end in [end for end in self._open if end.near[0] == host]:
            del self._open[end]

    # -- inside ---------------------------------------------------------------------------------------------

    def piece_bytes(self) -> int:
        if self._chance.random() < self.cuts_pieces:
            return self._chance.randrange(1, 2_000)
        return 64 * 1024

    def carry(self, sender: SimTransport, size: int, act: Callable[[Any], None], what: Any) -> None:
        """Has ``act(what)`` called on the other side, after everything that was sent there before."""
        sender.wire.append((act, what))
        low, high = self.latency_s
        takes = low + (high - low) * self._chance.random()
        if self.loss and self._chance.random() < self.loss:
            takes += RETRANSMIT_S * (1 + self._chance.random())
        if self.speed:
            speeds = [self.speed[host] for host in (sender.near[0], sender.far[0]) if host in self.speed]
            takes += size / min(speeds, default=1e12)
        self._schedule(sender, takes)

    def _schedule(self, sender: SimTransport, takes_s: float) -> None:
        at = max(self.loop.time() + takes_s, sender.busy_until_s + _TICK_S)
        sender.busy_until_s = at
        self.loop.call_at(at, self._arrive, sender, context=_NOBODY)

    def _arrive(self, sender: SimTransport) -> None:
        if self._is_held_up(sender.near[0], sender.far[0]):
            sender.stuck += 1
            self._stuck[sender] = None
            return
        act, what = sender.wire.popleft()
        act(what)

    def _is_held_up(self, one: str, other: str) -> bool:
        if self.dark and (one in self.dark or other in self.dark):
            return True
        return bool(self._blocked) and frozenset({one, other}) in self._blocked

    def refuse(self, gone: SimTransport, sender: SimTransport) -> None:
        """Something came for a connection that its host knows nothing of."""
        self.carry(gone, 0, sender.heard_goodbye, ConnectionResetError("connection reset by peer"))

    def forget(self, end: SimTransport) -> None:
        self._open.pop(end, None)

    # -- how connections come about -------------------------------------------------------------------------

    def listen(self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> _Listener:
        address = (host, port or next(self._ports))
        if address in self.listeners:
            raise OSError(98, f"address already in use: {address}")
        listener = self.listeners[address] = _Listener(self, address, factory)
        return listener

    async def connect(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        process = current_process()
        near, far = (process.host if process else "nowhere", next(self._ports)), (host, port)
        deadline = self.loop.time() + CONNECT_PATIENCE_S
        await self._travel()
        while self._is_held_up(near[0], host):
            if self.loop.time() >= deadline:
                raise TimeoutError(110, "connection timed out")
            await asyncio.sleep(RETRANSMIT_S)
        listener = self.listeners.get(far)
        if listener is None:
            await self._travel()
            raise ConnectionRefusedError(111, f"connection refused: {far}")
        client = SimTransport(self, factory(), near, far, copy_context())
        server = SimTransport(self, listener.context.run(listener.factory), far, near, listener.context)
        client.peer, server.peer = server, client
        self._open[client] = self._open[server] = None
        self.loop.call_soon(server.begin, context=server.context)
        try:
            await self._travel()
        except asyncio.CancelledError:
            client.abort()
            raise
        client.begin()
        return client, client.protocol

    async def _travel(self) -> None:
        low, high = self.latency_s
        await asyncio.sleep(low + (high - low) * self._chance.random())


#: the network is no process: what it does is done whoever is dead
_NOBODY = Context()
