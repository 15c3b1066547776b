"""TLS between a socket and its connection: below it bytes of records come and go, above it is what they protect.

To the socket this is a protocol, to the connection a transport. It is ours, and not the loop's, for what strangers may
cost: who says nothing holds no TLS at all, who says something else than TLS is closed at its first byte, a handshake
has so many bytes and so long a time and waits for its turn of the loop, and whoever it fails for is told why by an
alert, which asyncio and uvloop keep to themselves. An open connection has no buffer of its own; what it has to send is
encrypted as fast as its client takes it, a piece at a time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol, cast

from leaselog.broker.config.listeners import Listener
from leaselog.broker.net.connection import Connection
from leaselog.broker.runtime.turns import Turns
from leaselog.wire.primitives import Buffer

__all__ = ["TlsLayer"]

#: what a client may say before it has shaken hands: a hello has one or two KB, and each of its certificates as much
MAX_HANDSHAKE_BYTES = 16 * 1024
MAX_CERTIFICATE_BYTES = 32 * 1024
#: the first byte of a record of a handshake, which is what a client of TLS begins with
HANDSHAKE_RECORD = 0x16
#: encrypted at once: four full records
PIECE_BYTES = 64 * 1024
WORDS = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client shows no certificate, and ssl.client.auth is required",
    "CERTIFICATE_VERIFY_FAILED": "the client's certificate is not trusted",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust the broker's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client does not trust the broker's certificate",
    "SSLV3_ALERT_BAD_CERTIFICATE": "the client does not take the broker's certificate",
}


class TlsHost(Protocol):
    """The server that the layer belongs to."""

    turns: Turns
    #: bytes of records come in here, of whichever connection has its turn
    tls_buffer: memoryview
    handshake_timeout_s: float

    def begin_handshake(self, layer: TlsLayer) -> ssl.SSLContext:
        """What to shake hands with."""

    def end_handshake(self, layer: TlsLayer) -> None:
        """It has a connection now, or none any more."""

    def lose_stranger(self, layer: TlsLayer) -> None: ...

    def turn_away(self, layer: TlsLayer, why: str) -> None:
        """Tells in the log, if it is to be told."""

    def admit_stranger(self, layer: TlsLayer) -> None: ...


class TlsLayer(asyncio.BufferedProtocol, asyncio.Transport):
    def __init__(self, server: TlsHost, listener: Listener, connection: Connection) -> None:
        super().__init__()
        self._server = server
        self.listener = listener
        self._connection = connection
        self._tls: ssl.SSLObject | None = None
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._is_open = False
        self._is_queued = False
        self._is_closing = False
        self._handshake_bytes, self._most_bytes = 0, MAX_HANDSHAKE_BYTES
        self._patience: asyncio.TimerHandle | None = None
        #: of the connection: plain bytes that wait for the socket, and whether it knows that they do
        self._unsent: deque[memoryview] = deque()
        self._unsent_bytes = 0
        self._told_to_pause = False
        self._socket_is_full = False
        self._reading = True

    # -- the socket's side --------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.host = (self.transport.get_extra_info("peername") or ("?",))[0]
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(self._server.handshake_timeout_s, self._lose_patience)
        self._server.admit_stranger(self)

    def pause(self, pause_ms: int) -> None:
        """Reads nothing for so long."""
        self.transport.pause_reading()
        asyncio.get_running_loop().call_later(pause_ms / 1000, self._go_on_reading)

    def _go_on_reading(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._server.tls_buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = self._server.tls_buffer[:nbytes]
        if self._is_closing:
            return
        if self._is_open:
            self._incoming.write(data)
            if self._reading:
                self._read()
            return
        if self._tls is None and not self._begin(data[0]):
            return
        self._incoming.write(data)
        self._handshake_bytes += nbytes
        if self._handshake_bytes > self._most_bytes:
            self._turn_away(f"says more than {self._most_bytes} bytes before it has shaken hands")
        elif not self._is_queued:
            self._is_queued = True
            self._server.turns.queue(self._shake, is_new=True)

    def _begin(self, first: int) -> bool:
        if first != HANDSHAKE_RECORD:
            self._turn_away(f"does not speak TLS, which is what listener {self.listener.name} is for")
            return False
        context = self._server.begin_handshake(self)
        if context.verify_mode != ssl.CERT_NONE:
            self._most_bytes += MAX_CERTIFICATE_BYTES
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        return True

    def _shake(self) -> None:
        """One step of the handshake, of which the public-key part takes a millisecond."""
        self._is_queued = False
        if self._tls is None or self._is_closing:
            return
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as failed:
            self._flush()  # the alert
            self._turn_away(_why(failed))
            return
        self._flush()
        self._is_open = True
        self._forget_patience()
        self._server.end_handshake(self)
        self._connection.connection_made(self)
        if self._reading:
            self._read()

    def _read(self) -> None:
        """Hands on what has come, as much at a time as the connection has room for."""
        assert self._tls is not None
        connection, tls, incoming = self._connection, self._tls, self._incoming
        is_over = False
        while (incoming.pending or tls.pending()) and self._reading and not self._is_closing:
            buffer = connection.get_buffer(-1)
            size = 0
            try:
                while size < len(buffer):
                    got = tls.read(len(buffer) - size, buffer[size:] if size else buffer)
                    if not got:
                        is_over = True  # the client says goodbye
                        break
                    size += cast(int, got)
                    if not (incoming.pending or tls.pending()):
                        break
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as failed:
                self._flush()
                self._turn_away(_why(failed))
                return
            if size:
                connection.buffer_updated(size)
            if is_over:
                self.close()
            if not size:
                break
        if self._outgoing.pending:
            self._flush()  # of TLS 1.3: an answer to a change of keys

    def pause_writing(self) -> None:
        self._socket_is_full = True

    def resume_writing(self) -> None:
        self._socket_is_full = False
        self._pump()

    def eof_received(self) -> bool:
        return False  # half a connection is of no use: the socket is closed

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_patience()
        self._unsent.clear()
        self._unsent_bytes = 0
        is_open, self._is_open, self._is_closing = self._is_open, False, True
        if is_open:
            self._connection.connection_lost(exc)
        else:
            self._server.lose_stranger(self)
        self._tls = None

    def _lose_patience(self) -> None:
        self._patience = None
        self._turn_away(
            f"has not shaken hands within {self._server.handshake_timeout_s:g} s"
            if self._tls is not None
            else f"has said nothing within {self._server.handshake_timeout_s:g} s"
        )

    def give_way(self) -> None:
        """Too many shake hands, and this one takes the longest."""
        self._turn_away("is the oldest of too many handshakes")

    def _forget_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _turn_away(self, why: str) -> None:
        """Closes on a stranger; an alert that is on its way still goes, as far as the socket takes it at once."""
        if not self._is_closing:
            self._is_closing = True
            self._forget_patience()
            self._server.turn_away(self, why)
            self.transport.close()

    def _flush(self) -> None:
        if self._outgoing.pending and not self.transport.is_closing():
            self.transport.write(self._outgoing.read())

    # -- the connection's side ----------------------------------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._tls if name == "ssl_object" else self.transport.get_extra_info(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.transport.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes + self.transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        return self._is_closing or self.transport.is_closing()

    def pause_reading(self) -> None:
        self._reading = False
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        self._reading = True
        self.transport.resume_reading()
        if self._tls is not None and (self._incoming.pending or self._tls.pending()):
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        if self._is_open and self._reading:
            self._read()

    def write(self, data: Buffer) -> None:
        self.writelines((data,))

    def writelines(self, chunks: Sequence[Buffer]) -> None:  # type: ignore[override]
        if self._is_closing:
            return
        size = sum(map(len, chunks))
        if size <= PIECE_BYTES and not self._unsent and not self._socket_is_full:
            self._encrypt(chunks[0] if len(chunks) == 1 else b"".join(chunks))
        else:
            self._unsent.extend(memoryview(chunk) for chunk in chunks if len(chunk))
            self._unsent_bytes += size
            self._pump()
        self._tell_pauses()

    def _encrypt(self, data: Buffer) -> None:
        assert self._tls is not None
        self._tls.write(data)
        self.transport.write(self._outgoing.read())

    def _pump(self) -> None:
        """Encrypts what the socket has room for."""
        while self._unsent and not self._socket_is_full and not self.transport.is_closing():
            first = self._unsent.popleft()
            piece = first[:PIECE_BYTES]
            if len(piece) < len(first):
                self._unsent.appendleft(first[PIECE_BYTES:])
            self._unsent_bytes -= len(piece)
            self._encrypt(piece)
        self._tell_pauses()
        if self._is_closing and not self._unsent:
            self._say_goodbye()

    def _tell_pauses(self) -> None:
        """The connection is to know while the socket does not keep up."""
        is_behind = self._socket_is_full or bool(self._unsent)
        if is_behind != self._told_to_pause and self._is_open:
            self._told_to_pause = is_behind
            if is_behind:
                self._connection.pause_writing()
            else:
                self._connection.resume_writing()

    def close(self) -> None:
        """When all is sent."""
        if not self._is_closing:
            self._is_closing = True
            if not self._unsent:
                self._say_goodbye()

    def _say_goodbye(self) -> None:
        if self._tls is not None:
            with suppress(ssl.SSLError):  # the other side need not say it, too
                self._tls.unwrap()
            self._flush()
        self.transport.close()

    def abort(self) -> None:
        self._is_closing = True
        self.transport.abort()


def _why(failed: ssl.SSLError) -> str:
    reason = failed.reason or "a failure without a reason"
    told = WORDS.get(reason) or f"TLS failed: {reason.lower().replace('_', ' ')}"
    more = getattr(failed, "verify_message", "")
    return f"{told} ({more})" if more else told
