"""A simulated world: one broker machine, any number of clients, and everything that can happen to them.

The broker and the clients are the real ones, unmodified. What they take from outside (time, chance, sockets, files,
threads) comes from here, and all of it from one seed: the same seed and scenario are the same history.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import warnings
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from random import Random
from typing import Any, TypeVar
from uuid import UUID

from leaselog.broker.broker import Broker
from leaselog.broker.config import BrokerConfig
from leaselog.broker.config.listeners import Listener
from leaselog.broker.runtime.sync_threads import Outcomes, run_jobs
from leaselog.client.machine import Machine, on_machine
from leaselog.log import SyncJob, UnusableLog
from leaselog.testing.disk import PowerCut, SimDisk
from leaselog.testing.sim_loop import SimLoop, SimProcess, current_process
from leaselog.testing.sim_net import SimNet

__all__ = ["ADDRESS", "HOST", "Impossible", "SimMachine", "World"]

T = TypeVar("T")

HOST, PORT = "broker", 9092
ADDRESS = f"{HOST}:{PORT}"
#: when a simulated world begins: the first of January 2026
EPOCH_MS = 1_767_225_600_000
#: log lines kept for the story of a failure
KEPT_LINES = 300
#: from the order to start to the first answer; virtual
START_S = 60.0
#: what a broker's work takes at most from one look at its stopwatch to the next
WORK_S = 0.0004
#: so often somebody looks into the broker
LOOK_S = 0.05


class Impossible(AssertionError):
    """Something happened that must never happen."""


class SimMachine:
    """The machine under one life of the broker."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.files = world.disk
        self.data_dir = "data"
        self._worked_s = 0.0

    def wall_ms(self) -> int:
        return self._world.wall_ms()

    def new_uuid(self) -> UUID:
        return self._world.new_uuid()

    def random_below(self, bound: int) -> int:
        return self._world.process_chance.randrange(bound)

    def stopwatch(self) -> float:
        """Every look finds that some time has passed: work steps back anywhere, in the same places for a seed."""
        self._worked_s += WORK_S * self._world.work_chance.random() ** 3
        return self._worked_s

    def syncs(self) -> SimMachine:
        return self

    @property
    def few_syncs(self) -> int:
        """None at all, some, or more than there are logs: another one with each life."""
        return self._world.few_syncs_chance.choice((0, 0, 2, 100))

    def run(self, jobs: Sequence[SyncJob], done: Callable[[Outcomes], None]) -> None:
        """A sync takes its time, and what is written meanwhile is not in it."""
        for file in (file for job in jobs for file in job.files):
            file.begin_sync()  # type: ignore[attr-defined]
        self._world.syncing.set()
        self._world.loop.call_later(self._world.sync_s(), self._run, jobs, done)

    def _run(self, jobs: Sequence[SyncJob], done: Callable[[Outcomes], None]) -> None:
        self._world.syncing.clear()
        done(run_jobs(jobs))

    def close(self) -> None:
        """A broker that stops has waited for its syncs."""

    def has_room_for(self, sock: Any) -> bool:
        """Connections take nothing from the log here."""
        return True

    def release(self) -> None:
        """Nobody else wants the directory."""


class World:
    """``settings`` are the broker's. Chance has a source for each purpose, so that one does not disturb another."""

    def __init__(self, seed: int | str, settings: Mapping[str, str], *, shuffles: bool | None = None) -> None:
        self.seed = seed
        self.chance = Random(f"{seed}-scenario")
        self.process_chance = Random(f"{seed}-processes")
        self.work_chance = Random(f"{seed}-work")
        self._disk_chance = Random(f"{seed}-disk")
        self.few_syncs_chance = Random(f"{seed}-few-syncs")
        if shuffles is None:  # what asyncio does is possible, too
            shuffles = self.chance.random() < 0.8
        self.loop = SimLoop(Random(f"{seed}-order"), shuffles=shuffles)
        self.net = SimNet(self.loop, Random(f"{seed}-net"))
        self.loop.work_s = lambda: 0.0001 + 0.01 * self._disk_chance.random()
        self.loop.on_exit = self._exited
        self.disk = SimDisk()
        self.disk.on_cut = self._disk_was_cut
        self.settings = dict(settings)
        #: seconds a sync takes at most
        self.slowest_sync_s = 0.01
        #: a sync is under way, and perhaps others
        self.syncing = asyncio.Event()
        #: how far the broker's wall clock is off
        self.clock_is_off_ms = 0
        self.broker: Broker | None = None
        self.process: SimProcess | None = None
        self.lives = 0
        self._started = asyncio.Event()
        #: told of each broker that is about to start, and when it has died (ns)
        self.on_broker: Callable[[Broker], None] = lambda broker: None
        self.on_death: Callable[[int], None] = lambda at_ns: None
        #: called now and then, to look for what must not be
        self.on_look: Callable[[Broker], None] = lambda broker: None
        #: the broker may end by itself: its disk is not what it should be
        self.may_exit = False
        self.lines: deque[str] = deque(maxlen=KEPT_LINES)
        self.impossible: list[str] = []

    # -- time and chance ------------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        return self.loop.time()

    def now_ns(self) -> int:
        return round(self.loop.time() * 1e9)

    def wall_ms(self) -> int:
        return EPOCH_MS + int(self.loop.time() * 1000) + self.clock_is_off_ms

    def new_uuid(self) -> UUID:
        return UUID(int=self.process_chance.getrandbits(128), version=4)

    def sync_s(self) -> float:
        return 0.0002 + self.slowest_sync_s * self._disk_chance.random() ** 2

    # -- a run ----------------------------------------------------------------------------------------------

    def run(self, story: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Plays the story to its end. Whatever was noticed on the way is raised as ``Impossible``."""
        around = Machine(
            monotonic_ns=self.now_ns,
            wall_ns=lambda: self.wall_ms() * 1_000_000,
            new_uuid=self.new_uuid,
            new_chance=lambda: Random(self.process_chance.random()),
        )
        with _no_collector(), self._listening(), on_machine(around), _never_awaited() as forgotten:
            try:
                self.disk.make_directory("data")
                self.disk.sync_directory("")
                told = self.loop.run_until_complete(story())
                self._look()
            finally:
                self.loop.end()
        if forgotten:
            raise Impossible("; ".join(forgotten[:5]))
        return told

    def _look(self) -> None:
        self.impossible += [f"{who}: {what}" for who, what in self.loop.complaints]
        self.loop.complaints.clear()
        if self.impossible:
            raise Impossible("; ".join(self.impossible[:5]))

    def spawn(self, process: SimProcess, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self.loop.spawn(process, work)

    async def sleep(self, least_s: float, most_s: float | None = None) -> None:
        self._look()
        await asyncio.sleep(least_s if most_s is None else self.chance.uniform(least_s, most_s))
        self._look()

    async def until(self, is_so: Callable[[], bool], what: str, patience_s: float) -> None:
        """Raises ``Impossible`` if it does not come to that."""
        deadline = self.now_s + patience_s
        while not is_so():
            if self.now_s > deadline:
                raise Impossible(f"not in {patience_s} s: {what}")
            await self.sleep(0.05)

    # -- the broker's life ------------------------------------------------------------------------------------

    async def start(self) -> Broker:
        """A broker that accepts connections."""
        self.begin_start()
        await self.until(lambda: self.is_up, "the broker starts", START_S)
        assert self.broker is not None
        return self.broker

    def begin_start(self) -> None:
        assert self.process is None or not self.process.is_alive, "one broker at a time"
        self.net.power_is_back(HOST)
        self.lives += 1
        self.process = SimProcess(f"broker.{self.lives}", HOST)
        self._started = asyncio.Event()
        self.spawn(self.process, self._serve(self.process, self._started))

    async def _serve(self, process: SimProcess, started: asyncio.Event) -> None:
        try:
            config = BrokerConfig.from_originals(self.settings)
            broker = self.broker = Broker(config, data_dir=None, machine=SimMachine(self))
            self.on_broker(broker)
            await broker.start([Listener.plaintext(HOST, PORT)])
        except (OSError, UnusableLog) as failed:
            raise SystemExit(f"cannot start: {failed!r}") from failed
        except PowerCut:
            return
        except Exception as bug:  # noqa: BLE001 - whatever it is, a broker must not end with it
            self.impossible.append(f"{process.name} does not start: {bug!r}")
            return
        started.set()
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                self.on_look(broker)
            except Impossible as seen:
                self.impossible.append(str(seen))
                return

    @property
    def is_up(self) -> bool:
        return self._started.is_set() and self.process is not None and self.process.is_alive

    def kill(self) -> None:
        """``SIGKILL``: the process is gone, what it wrote is in the page cache."""
        process = self._bury()
        if process is not None:
            self.net.process_killed(process)

    def cut_power(self) -> None:
        """The machine is gone, and what was not synced with it, or not."""
        if self._bury() is not None:
            self.net.host_lost_power(HOST)
        self.disk.crash(self._disk_chance.getrandbits(32))

    async def in_broker(self, act: Callable[[Broker], T]) -> T:
        """Something that happens inside the broker, by its own doing."""
        broker, process = self.broker, self.process
        assert broker is not None
        assert process is not None

        async def do() -> T:
            return act(broker)

        return await self.spawn(process, do())

    async def restart(self, *, gently: float = 0.0) -> None:
        """Down in one way or another, and up again after a while; a start may be cut short by the next death.

        Most often in the middle of a sync: what is promised too early shows there.
        """
        chance = self.chance
        if chance.random() < 0.6:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.syncing.wait(), 2.0)
            await self.sleep(0.0, self.slowest_sync_s / 2)
        how = chance.random()
        if how < gently:
            # What a stop in good order has promised holds without power, too.
            if await self.stop() and self.few_syncs_chance.random() < 0.5:
                self.cut_power()
        elif how < (1 + gently) / 2:
            self.kill()
        else:
            self.cut_power()
        await self.sleep(0.0, chance.choice((0.05, 1.0, 8.0)))
        while chance.random() < 0.25:
            self.begin_start()
            await self.sleep(0.0, 0.02)
            if chance.random() < 0.5:
                self.kill()
            else:
                self.cut_power()
        await self.start()

    async def stop(self) -> bool:
        """A stop in good order; False if it died of it."""
        assert self.process is not None
        assert self.broker is not None
        process, stopping = self.process, self.spawn(self.process, self.broker.stop())
        await self.until(lambda: stopping.done() or not process.is_alive, "the broker stops", START_S)
        if not process.is_alive:
            return False
        stopping.result()
        self.kill()
        return True

    def _bury(self) -> SimProcess | None:
        process = self.process
        if process is None or not process.is_alive:
            return None
        process.is_alive = False
        self._started.clear()
        self.on_death(self.now_ns())
        return process

    def _disk_was_cut(self) -> None:
        """In the middle of an operation of the broker's."""
        if self._bury() is not None:
            self.net.host_lost_power(HOST)

    def _exited(self, process: SimProcess) -> None:
        if process is self.process and process.is_alive:
            if not self.may_exit:
                self.impossible.append(f"{process.name} ended by itself: {process.exit!r}")
            self.kill()
        process.is_alive = False

    # -- what is said ---------------------------------------------------------------------------------------

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Log lines are part of the story; one with a traceback is a bug that somebody caught."""
        logger, handler = logging.getLogger("leaselog"), _Listener(self)
        was = (logger.handlers[:], logger.level, logger.propagate)
        logger.handlers[:], logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
        quiet = logging.getLogger("asyncio")
        quiet_was, quiet.disabled = quiet.disabled, True
        try:
            yield
        finally:
            logger.handlers[:], logger.propagate = was[0], was[2]
            logger.setLevel(was[1])
            quiet.disabled = quiet_was

    def note(self, line: str) -> None:
        """One more line of the story."""
        self.lines.append(f"{self.now_s:12.6f} {line}")


class _Listener(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world
        self._formatter = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        world, process = self._world, current_process()
        facts = getattr(record, "facts", {})
        said = "".join(f" {key}={value}" for key, value in facts.items())
        who = "" if process is None else process.name
        world.note(f"{who} {record.levelname} {record.getMessage()}{said}")
        if process is not None and not process.is_alive:
            return
        if (
            record.exc_info
            and record.exc_info[0] is not None
            and not issubclass(record.exc_info[0], PowerCut)
        ):
            world.note(self._formatter.formatException(record.exc_info))
            world.impossible.append(f"{who}: {record.getMessage()}: {record.exc_info[1]!r}")
        elif "impossible" in record.getMessage():
            world.impossible.append(f"{who}: {record.getMessage()}{said}")


@contextmanager
def _never_awaited() -> Iterator[list[str]]:
    """What Python says of coroutines that were made and dropped: work that somebody thinks is done. Also of those that
    a killed process had not begun: a connection that is lost drops them in the same places."""
    told: list[str] = []
    with warnings.catch_warnings():
        warnings.filterwarnings("always", r"coroutine .* was never awaited", RuntimeWarning)
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if category is RuntimeWarning and "was never awaited" in str(message):
                told.append(str(message).splitlines()[0])
            else:
                others(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        yield told


@contextmanager
def _no_collector() -> Iterator[None]:
    """Collections come when they come, and run what they find; there are none during a run."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
