"""The owner of one coordinator partition: a shard that is read from the partition's log, and read anew when it fails.

A shard decides and its facts are replayed at once, before they are safe. So when a write fails the shard is ahead of
the log: it is thrown away, whoever waits is refused, and a new one is read from what is safe. The same happens when a
shard finds its own state impossible, and at the start. How commands are decided, written and answered is each owner's
own.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

from leaselog.broker.partition import Partition
from leaselog.broker.structured_log import StructuredLog
from leaselog.log import AppendRefused
from leaselog.model import BrokenInvariant, ErrorCode, Refused

__all__ = ["CoordinatorOwner"]

Shard = TypeVar("Shard")
Step = TypeVar("Step")


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
        """`failed` is what cannot be loaded."""
        if self._is_stopped:
            return "failed"
        return "loading" if self._shard is None else "active"

    @property
    def is_loading(self) -> bool:
        return self._loading is not None

    # -- life -----------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Reads the shard from the log: at once if there is little to read, else in steps beside other work."""
        shard, steps = self._new_shard(), self._load_steps()
        try:
            for _ in range(2):
                step = next(steps, None)
                if step is None:
                    return self._loaded(shard)
                self._replay_step(shard, step)
        except BrokenInvariant as broken:
            return self._cannot_load(broken)
        self._loading = asyncio.get_running_loop().create_task(self._load_rest(shard, steps))
        return None

    async def loaded(self) -> None:
        """Returns when a load that is under way is done."""
        if self._loading is not None:
            await asyncio.wait([self._loading])

    def stop(self) -> None:
        """Refuses whoever waits, and everybody from now on."""
        self._is_stopped = True
        if self._loading is not None:
            self._loading.cancel()
        self._abandon(self.STOPPED)

    async def _load_rest(self, shard: Shard, steps: Iterator[Step]) -> None:
        try:
            for step in steps:
                self._replay_step(shard, step)
                await asyncio.sleep(0)
        except BrokenInvariant as broken:
            return self._cannot_load(broken)
        return self._loaded(shard)

    def _loaded(self, shard: Shard) -> None:
        self._loading = None
        if not self._is_stopped:
            self._shard = shard
            self._begin(shard)

    def _cannot_load(self, broken: BrokenInvariant) -> None:
        self._log.error(f"{self.SUBJECT} cannot be loaded", partition=self.partition.name, why=broken)
        self._loading = None
        self.stop()

    # -- when it fails --------------------------------------------------------------------------------------

    def _broken(self, during: str, broken: BrokenInvariant) -> None:
        self._log.error(
            f"{self.SUBJECT} is impossible, reading it anew",
            partition=self.partition.name,
            during=during,
            why=broken,
        )
        self._abandon(Refused(ErrorCode.UNKNOWN_SERVER_ERROR))
        self.load()

    def _write_failed(self, outcome: AppendRefused) -> None:
        self._log.error(
            f"a write of {self.SUBJECT} failed", partition=self.partition.name, error=outcome.code.name
        )
        self._abandon(Refused(_told(outcome.code)))
        if not self._is_stopped and not self.partition.is_deleted:
            self.load()


def _told(code: ErrorCode) -> ErrorCode:
    """What whoever asked is told of a failed write: something that makes them look for the coordinator again."""
    if code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return ErrorCode.NOT_COORDINATOR
    if code in (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return ErrorCode.COORDINATOR_NOT_AVAILABLE
