"""A broker on a thread of this process, for tests of whoever uses leaselog: no extra, no port of one's own, no JVM.

It is the broker that `leaselog serve` runs, on asyncio's own loop. Without a data directory it keeps everything in
memory.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker

__all__ = ["QUICK", "EmbeddedBroker"]

#: What makes a broker quick to test: nothing here changes what a client may rely on, but for a power cut.
QUICK: Mapping[str, str] = {
    "durability": "os",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "group.share.min.record.lock.duration.ms": "1000",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
_START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 30.0


class EmbeddedBroker:
    """Use as ``with``, or ``start`` and ``stop``. ``config`` goes over `QUICK`; its keys are those of Kafka's brokers.

    What is stopped may be started again, at the same address; what it held is there if it has a data directory.
    """

    def __init__(
        self, data_dir: str | os.PathLike[str] | None = None, config: Mapping[str, str] | None = None
    ) -> None:
        self._data_dir = None if data_dir is None else os.fspath(data_dir)
        self._config = {**QUICK, **(config or {})}
        self._port = 0
        self._thread: threading.Thread | None = None
        self._ending: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._failed: BaseException | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT, as clients take it."""
        if not self._port:
            raise RuntimeError("this broker has not been started")
        return f"127.0.0.1:{self._port}"

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """Returns when connections are accepted. Raises what kept the broker from starting."""
        if self._thread is not None:
            raise RuntimeError("this broker is running")
        started = Future[int]()
        thread = threading.Thread(target=self._run, args=(started,), name="leaselog-broker", daemon=True)
        thread.start()
        self._port = started.result(_START_TIMEOUT_S)
        self._thread = thread

    def stop(self) -> None:
        """Ends as SIGTERM ends a broker: what is under way is finished. Does nothing to one that is stopped."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        assert self._ending is not None
        loop, ending = self._ending
        loop.call_soon_threadsafe(ending.set)
        thread.join(_STOP_TIMEOUT_S)
        if thread.is_alive():
            raise RuntimeError(f"the broker is still running after {_STOP_TIMEOUT_S:.0f} s")
        if self._failed is not None:
            raise self._failed

    def _run(self, started: Future[int]) -> None:
        try:
            # Whatever loop the application prefers: this one is there on every system, with all a broker asks of it.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve(started))
        except BaseException as failed:  # noqa: BLE001 - whoever has started it gets it, or who stops it
            if started.done():
                self._failed = failed
            else:
                started.set_exception(failed)

    async def _serve(self, started: Future[int]) -> None:
        from leaselog.broker.config.listeners import Listener  # here, as in _make

        broker = self._make()
        ending = asyncio.Event()
        self._ending = asyncio.get_running_loop(), ending
        (place,) = await broker.start([Listener.plaintext("127.0.0.1", self._port)])
        started.set_result(place.port)
        await ending.wait()
        await broker.stop()

    def _make(self) -> Broker:
        # Here, so that whoever has the pytest plugin installed and no use for it does not pay for a broker's import.
        from leaselog.broker.broker import Broker
        from leaselog.broker.config import BrokerConfig

        return Broker(BrokerConfig.from_originals(self._config), data_dir=self._data_dir)
