"""The persister whose share coordinator is another node's: found, asked, and asked again.

Requests of one kind to one node go one at a time; what comes up meanwhile goes together in the next, a group at a
time. So a busy leader sends few and large requests, and never waits for a timer to make them large.

Trouble of the moment is tried again, at most `MAX_ATTEMPTS` times, with growing and scattered waits; that the
coordinator has moved makes us look for it again. A write that is tried again may have been carried out before: merged
twice is merged once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, TypeVar
from uuid import UUID

from persister_requests import answers_of, known_code, request_for

from leaselog.broker.share_state.persister import AskingPersister
from leaselog.coordination.share_state_commands import KeyedCommand, ShareStateAnswer
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import ErrorCode, Refused
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from leaselog.wire.schema import Message

__all__ = ["Address", "StateTransport", "WirePersister"]

M = TypeVar("M", bound=Message)

#: Kafka's
MAX_ATTEMPTS = 5
FIRST_BACKOFF_S, MAX_BACKOFF_S = 1.0, 30.0
#: keys that one request asks about
MAX_KEYS = 1_000
#: commands that wait for one kind of request to one node; past it they are refused as if it were not there
MAX_PENDING = 100_000
#: coordinators remembered; past it all are forgotten and looked for again
MAX_KNOWN = 10_000

SHARE_KEY_TYPE, FIND_VERSION = 2, 6

RETRIED = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NETWORK_EXCEPTION,
    }
)
#: the coordinator may be somewhere else by now
MOVED = frozenset(
    {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.NETWORK_EXCEPTION}
)

Address: TypeAlias = tuple[str, int]


class StateTransport(Protocol):
    async def ask(self, node: Address | None, request: Message, version: int, response: type[M]) -> M:
        """What the node answers; None is any node. Raises ``OSError``, and ``DecodeError`` for nonsense."""


class WirePersister(AskingPersister):
    """``jitter`` gives a factor around 1 for each wait: chance is the caller's."""

    def __init__(
        self,
        transport: StateTransport,
        *,
        jitter: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._jitter = jitter
        self._sleep = sleep
        self._known: dict[SharePartitionKey, asyncio.Future[Address | Refused]] = {}
        self._lanes: dict[tuple[Address, type[KeyedCommand]], _Lane] = {}

    def _ask(self, command: KeyedCommand) -> asyncio.Future[ShareStateAnswer]:
        return asyncio.ensure_future(self._see_through(command))

    async def _see_through(self, command: KeyedCommand) -> ShareStateAnswer:
        backoff_s = FIRST_BACKOFF_S
        for attempt in range(1, MAX_ATTEMPTS + 1):
            answer = await self._attempt(command)
            if not isinstance(answer, Refused) or answer.code not in RETRIED or attempt == MAX_ATTEMPTS:
                break
            if answer.code in MOVED:
                self._known.pop(command.key, None)
            await self._sleep(backoff_s * self._jitter())
            backoff_s = min(2 * backoff_s, MAX_BACKOFF_S)
        return answer

    async def _attempt(self, command: KeyedCommand) -> ShareStateAnswer:
        # Others may wait for the same look-up: who gives up must not end it.
        node = await asyncio.shield(self._coordinator_of(command.key))
        if isinstance(node, Refused):
            return node
        lane = self._lanes.get((node, type(command)))
        if lane is None:
            lane = self._lanes[node, type(command)] = _Lane(self._transport, node)
        return await lane.ask(command)

    def _coordinator_of(self, key: SharePartitionKey) -> asyncio.Future[Address | Refused]:
        """Whoever asks about a key that is being looked for shares the look-up."""
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            known = self._known[key] = asyncio.ensure_future(self._find(key))
        return known

    async def _find(self, key: SharePartitionKey) -> Address | Refused:
        request = FindCoordinatorRequest(key_type=SHARE_KEY_TYPE, coordinator_keys=[str(key)])
        try:
            response = await self._transport.ask(None, request, FIND_VERSION, FindCoordinatorResponse)
        except (OSError, DecodeError) as error:
            return Refused(ErrorCode.NETWORK_EXCEPTION, str(error))
        found = response.coordinators[0] if response.coordinators else None
        if found is None or found.error_code:
            # To be looked for anew by whoever asks next.
            self._known.pop(key, None)
            if found is None:
                return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return Refused(known_code(found.error_code), found.error_message)
        return found.host, found.port


@dataclass(slots=True)
class _Lane:
    """One kind of request to one node: one under way, and what goes with the next."""

    transport: StateTransport
    node: Address
    pending: deque[tuple[KeyedCommand, asyncio.Future[ShareStateAnswer]]] = field(default_factory=deque)
    running: asyncio.Task[None] | None = None

    def ask(self, command: KeyedCommand) -> asyncio.Future[ShareStateAnswer]:
        answer: asyncio.Future[ShareStateAnswer] = asyncio.get_running_loop().create_future()
        if len(self.pending) >= MAX_PENDING:
            answer.set_result(Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too many requests wait for it"))
            return answer
        self.pending.append((command, answer))
        if self.running is None:
            self.running = asyncio.get_running_loop().create_task(self._run())
        return answer

    async def _run(self) -> None:
        try:
            while self.pending:
                await self._exchange(self._take())
        finally:
            self.running = None

    def _take(self) -> list[tuple[KeyedCommand, asyncio.Future[ShareStateAnswer]]]:
        """What may go together: of the group that has waited longest, each key once. The rest keep their order."""
        taken: dict[SharePartitionKey, tuple[KeyedCommand, asyncio.Future[ShareStateAnswer]]] = {}
        left: deque[tuple[KeyedCommand, asyncio.Future[ShareStateAnswer]]] = deque()
        group_id = self.pending[0][0].key.group_id
        for waiting in self.pending:
            key = waiting[0].key
            if key.group_id != group_id or key in taken or len(taken) >= MAX_KEYS:
                left.append(waiting)
            else:
                taken[key] = waiting
        self.pending = left
        return list(taken.values())

    async def _exchange(self, taken: list[tuple[KeyedCommand, asyncio.Future[ShareStateAnswer]]]) -> None:
        request, version, kind = request_for([command for command, _ in taken])
        lost = Refused(
            ErrorCode.NETWORK_EXCEPTION, f"{self.node[0]}:{self.node[1]} left it out of its answer"
        )
        answers: dict[tuple[UUID, int], ShareStateAnswer] = {}
        try:
            answers = answers_of(await self.transport.ask(self.node, request, version, kind))
        except (OSError, DecodeError) as error:
            lost = Refused(ErrorCode.NETWORK_EXCEPTION, str(error))
        finally:
            # Whatever went wrong, nobody is left waiting.
            for command, answer in taken:
                if not answer.done():
                    answer.set_result(answers.get((command.key.topic_id, command.key.partition), lost))
