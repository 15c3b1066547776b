"""Where leaders of share partitions keep their state: the interface, and the persister that keeps it here.

A key is one partition as one group consumes it. Every call does what it can at once, in the order of the calls, and
answers when the outcome is safe; so writes of one turn of the loop share an append and a sync. Refusals are values.
Which persister is used is the config's to say (`group.share.persister.class.name`).
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from leaselog.coordination.share_state_commands import (
    DeleteState,
    InitializeState,
    KeyedCommand,
    ReadState,
    ShareStateAnswer,
    ShareSummary,
    StateRead,
    SummarizeState,
    WriteState,
    Written,
)
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, Refused

if TYPE_CHECKING:
    from leaselog.broker.share_state.coordinator import ShareCoordinator

__all__ = ["AskingPersister", "InProcessPersister", "NoOpPersister", "Persister"]

A = TypeVar("A")

#: how often a coordinator that is not ready is asked, and how long is waited in between at first; the wait doubles
MAX_ATTEMPTS = 5
BACKOFF_S = 0.1
NOT_READY = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


class Persister(Protocol):
    """What is refused, whoever keeps the state:

    - FENCED_LEADER_EPOCH to a leader when a newer one has read, FENCED_STATE_EPOCH to one whose group has been given
      new offsets since;
    - INVALID_REQUEST to whoever reads or writes what was never initialized;
    - UNKNOWN_TOPIC_OR_PARTITION where the cluster has no such partition;
    - anything else is trouble of the moment: the caller may try again.
    """

    def prepare(self) -> None:
        """State will be wanted in a moment: whatever takes long may begin. Nothing needs it to be called."""

    def initialize(self, ask: InitializeState) -> asyncio.Future[Written | Refused]:
        """The group begins, or begins anew, at the offset given."""

    def read(self, ask: ReadState) -> asyncio.Future[StateRead | Refused]:
        """The state, for its leader from now on."""

    def write(self, ask: WriteState) -> asyncio.Future[Written | Refused]:
        """Merges the batches into the state: of two that speak of one offset the higher (count, state) holds."""

    def delete(self, ask: DeleteState) -> asyncio.Future[Written | Refused]:
        """Also if there is nothing."""

    def read_summary(self, ask: SummarizeState) -> asyncio.Future[ShareSummary | Refused]:
        """For administrators; fences nobody. Of what was never initialized: the defaults."""

    def kept_keys(self) -> list[SharePartitionKey]:
        """All keys whose state is in memory here: what can be told of it costs no question."""

    def kept(self, key: SharePartitionKey) -> ShareSummary | None:
        """What is in memory of the key, as it was decided last."""


class AskingPersister(ABC):
    """The five calls as one question: whoever answers a command does it with the command's own kind of answer."""

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        pass

    def initialize(self, ask: InitializeState) -> asyncio.Future[Written | Refused]:
        return self._ask(ask)

    def read(self, ask: ReadState) -> asyncio.Future[StateRead | Refused]:
        return self._ask(ask)

    def write(self, ask: WriteState) -> asyncio.Future[Written | Refused]:
        return self._ask(ask)

    def delete(self, ask: DeleteState) -> asyncio.Future[Written | Refused]:
        return self._ask(ask)

    def read_summary(self, ask: SummarizeState) -> asyncio.Future[ShareSummary | Refused]:
        return self._ask(ask)

    def kept_keys(self) -> list[SharePartitionKey]:
        return []

    def kept(self, key: SharePartitionKey) -> ShareSummary | None:
        return None

    @abstractmethod
    def _ask(self, command: KeyedCommand) -> asyncio.Future[Any]:
        """``Any`` is the command's own kind of answer, or a refusal."""


class InProcessPersister(AskingPersister):
    """The share coordinator of this very process. Makes its topic when state is first kept or asked for."""

    def __init__(self, coordinator: ShareCoordinator) -> None:
        self._coordinator = coordinator

    def prepare(self) -> None:
        self._coordinator.prepare()

    def kept_keys(self) -> list[SharePartitionKey]:
        return self._coordinator.kept_keys()

    def kept(self, key: SharePartitionKey) -> ShareSummary | None:
        return self._coordinator.summary(key)

    def _ask(self, command: KeyedCommand) -> asyncio.Future[ShareStateAnswer]:
        answer = self._coordinator.ask(command)
        if answer.done() and _is_not_ready(answer.result()):
            return asyncio.ensure_future(self._ask_when_ready(command))
        return answer

    async def _ask_when_ready(self, command: KeyedCommand) -> ShareStateAnswer:
        delay_s = BACKOFF_S
        for _ in range(MAX_ATTEMPTS):
            refused = await self._coordinator.ready(command.key)
            answer = refused or await self._coordinator.ask(command)
            if not _is_not_ready(answer):
                break
            await asyncio.sleep(delay_s)
            delay_s *= 2
        return answer


def _is_not_ready(answer: ShareStateAnswer) -> bool:
    return isinstance(answer, Refused) and answer.code in NOT_READY


class NoOpPersister:
    """Keeps nothing and says yes: Kafka's for tests. A group begins anew whenever its leader does."""

    def prepare(self) -> None:
        pass

    def initialize(self, ask: InitializeState) -> asyncio.Future[Written | Refused]:
        return _now(Written())

    def read(self, ask: ReadState) -> asyncio.Future[StateRead | Refused]:
        return _now(StateRead(state_epoch=0, start_offset=0))

    def write(self, ask: WriteState) -> asyncio.Future[Written | Refused]:
        return _now(Written())

    def delete(self, ask: DeleteState) -> asyncio.Future[Written | Refused]:
        return _now(Written())

    def read_summary(self, ask: SummarizeState) -> asyncio.Future[ShareSummary | Refused]:
        return _now(ShareSummary(start_offset=0))

    def kept_keys(self) -> list[SharePartitionKey]:
        return []

    def kept(self, key: SharePartitionKey) -> ShareSummary | None:
        return None


def _now(answer: A) -> asyncio.Future[A | Refused]:
    future: asyncio.Future[A | Refused] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future
