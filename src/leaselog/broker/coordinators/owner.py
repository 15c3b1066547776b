"""The owner of one coordinator partition: a shard that is read from the partition's log, and read anew when it fails.

A shard decides, which changes nothing of it; what it decided is encoded, appended and carried out at once, before it
is safe. What cannot be encoded is refused alone. From the append on a failure of whatever kind leaves a shard that is
ahead of the log, or half changed: it is thrown away, whoever waits is refused, and a new one is read from what is safe.
How commands are decided, written and answered is each owner's own.

A shard that fails is read anew at once, then, unless it lasts, after pauses that grow: a log that takes no writes is
not read over and over. While the log itself has failed there is no shard, and whoever asks looks for the coordinator
again: a log that is back has another partition, and with it another owner.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from leaselog.broker.records.partition import Partition
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.log import AppendRefused
from leaselog.model import BrokenInvariant, ErrorCode, Refused

__all__ = ["CoordinatorOwner"]

Shard = TypeVar("Shard")
Step = TypeVar("Step")

#: between loads, twice as long each time
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 30.0
#: a shard that has lasted so long is not what failed before
LASTED_S = 60.0


class CoordinatorOwner(ABC, Generic[Shard, Step]):
    #: told in the lines of the log
    SUBJECT: str
    #: what whoever asks is told before the shard has been read, and after the owner has ended
    NOT_LOADED: Refused
    STOPPED: Refused

    def __init__(self, partition: Partition, log: StructuredLog) -> None:
        self.partition = partition
        self._log = log
        #: None until it has been read
        self._shard: Shard | None = None
        self._loading: asyncio.Task[None] | None = None
        self._is_stopped = False
        #: the next load, when it has to wait
        self._retry: asyncio.TimerHandle | None = None
        #: one after another, and when the last was
        self._failures = 0
        self._failed_s = 0.0

    # -- each owner's own -----------------------------------------------------------------------------------

    @abstractmethod
    def _new_shard(self) -> Shard:
        """One that nothing has been replayed into."""

    @abstractmethod
    def _load_steps(self) -> Iterator[Step]:
        """All there is to replay, a step at a time. Raises ``BrokenInvariant`` if the log cannot be read."""

    @abstractmethod
    def _replay_step(self, shard: Shard, step: Step) -> None: ...

    @abstractmethod
    def _abandon(self, refusal: Refused) -> None:
        """The shard is no more: refuses all that wait, lets go of all that was begun, and sets ``_shard`` to None."""

    def _begin(self, shard: Shard) -> None:
        """The shard has just been read, and takes commands from now on."""

    # -- what is told of it ---------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """`failed` is what could not be loaded, now or for good."""
        if self._is_stopped or self._retry is not None:
            return "failed"
        if self._shard is not None:
            return "active"
        return "loading" if self.partition.log.failure is None else "failed"

    @property
    def _refusal(self) -> Refused:
        """What whoever asks is told while there is no shard."""
        return self.NOT_LOADED if self.state == "loading" else self.STOPPED

    @property
    def is_loading(self) -> bool:
        return self._loading is not None

    # -- life -----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Reads the shard from the log: at once if there is little to read, else in steps beside other work."""
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._is_stopped or self.partition.is_gone or self.partition.log.failure is not None:
            return
        try:
            shard, steps = self._new_shard(), self._load_steps()
            is_read = self._replay(shard, islice(steps, 2)) < 2
        except Exception as failure:  # noqa: BLE001 - a supervisor: whatever is wrong may be right the next time
            self._cannot_load(failure)
        else:
            if is_read:
                self._loaded(shard)
            else:
                self._loading = asyncio.get_running_loop().create_task(self._load_rest(shard, steps))

    def _replay(self, shard: Shard, steps: Iterable[Step]) -> int:
        """How many there were."""
        count = 0
        for step in steps:
            self._replay_step(shard, step)
            count += 1
        return count

    async def loaded(self) -> None:
        """Returns when a load that is under way is done."""
        if self._loading is not None:
            await asyncio.wait([self._loading])

    def stop(self) -> None:
        """Refuses whoever waits, and everybody from now on."""
        self._is_stopped = True
        if self._loading is not None:
            self._loading.cancel()
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._abandon(self.STOPPED)

    async def _load_rest(self, shard: Shard, steps: Iterator[Step]) -> None:
        try:
            for step in steps:
                self._replay_step(shard, step)
                await asyncio.sleep(0)
        except Exception as failure:  # noqa: BLE001 - the same supervisor, some turns of the loop later
            return self._cannot_load(failure)
        return self._loaded(shard)

    def _loaded(self, shard: Shard) -> None:
        self._loading = None
        if self._is_stopped:
            return
        self._shard = shard
        try:
            self._begin(shard)
        except Exception as failure:  # noqa: BLE001 - a supervisor: what has begun half is none
            self._broken("its beginning", failure)

    def _cannot_load(self, failure: Exception) -> None:
        self._log.error(f"{self.SUBJECT} cannot be loaded", partition=self.partition.name, why=failure)
        self._loading = None
        self._abandon(self.STOPPED)
        self._note_failure()
        self._load_later()

    # -- when it fails --------------------------------------------------------------------------------------

    def _broken(self, during: str, failure: Exception) -> None:
        """Nobody knows what of the shard has been changed, or its state is impossible."""
        self._log.error(
            f"{self.SUBJECT} is impossible, reading it anew",
            partition=self.partition.name,
            during=during,
            why=failure if isinstance(failure, BrokenInvariant) else repr(failure),
        )
        self._abandon(Refused(ErrorCode.UNKNOWN_SERVER_ERROR))
        self._load_again()

    def _write_failed(self, outcome: AppendRefused) -> None:
        self._log.error(
            f"a write of {self.SUBJECT} failed", partition=self.partition.name, error=outcome.code.name
        )
        self._abandon(Refused(_as_askers_are_told(outcome.code)))
        self._load_again()

    def _load_again(self) -> None:
        """At once, unless what was loaded before this did not last either."""
        if self._is_stopped or self.partition.is_gone:
            return
        self._note_failure()
        if self._failures == 1:
            self.load()
        else:
            self._load_later()

    def _note_failure(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._failed_s > LASTED_S:
            self._failures = 0
        self._failures += 1
        self._failed_s = now_s

    def _load_later(self) -> None:
        if self._is_stopped:
            return
        pause_s = min(FIRST_PAUSE_S * 2 ** min(self._failures, 16), LONGEST_PAUSE_S)
        self._retry = asyncio.get_running_loop().call_later(pause_s, self.load)


def _as_askers_are_told(code: ErrorCode) -> ErrorCode:
    """What whoever asked is told of a failed write: something that makes them look for the coordinator again."""
    if code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return ErrorCode.NOT_COORDINATOR
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE
