"""A group shard and members of a consumer group that do as a client does: let go of what is taken, then take more."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from share_group_bench import G, ShareBench, World

from leaselog.coordination.consumer_group_commands import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_FOR_A_WHILE_EPOCH,
    ConsumerBeat,
    ConsumerHeartbeat,
    DescribeConsumerGroup,
    DescribedConsumerGroup,
)
from leaselog.coordination.group_commands import Answer, GroupCommand, Token
from leaselog.coordination.share_group_facts import PartitionKey
from leaselog.model import MemberId, Refused

__all__ = ["ConsumerBench", "Member", "World"]

REBALANCE_MS = 30_000

_names = count(1)


class ConsumerBench(ShareBench):
    def ask_and_wait(self, make: Callable[[Token], GroupCommand]) -> Answer:
        """Of what is answered with the next deadline."""
        self._tokens += 1
        token = Token(self._tokens)
        self._take(self.shard.handle(make(token), self.now_ms))
        self.wait(0)
        return self.answers[token]

    def describe(self) -> DescribedConsumerGroup:  # type: ignore[override]
        answer = self.ask(lambda token: DescribeConsumerGroup(token, G))
        assert isinstance(answer, DescribedConsumerGroup), answer
        return answer


class Member:
    """A consumer, as far as its heartbeats go."""

    def __init__(
        self,
        bench: ConsumerBench,
        topics: tuple[str, ...] | None = ("t",),
        *,
        pattern: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.bench = bench
        self.member_id = MemberId(f"m{next(_names):03}")
        self.topics, self.pattern = topics, pattern
        self.instance_id, self.assignor = instance_id, assignor
        self.epoch = JOIN_EPOCH
        self.owned: frozenset[PartitionKey] = frozenset()
        #: what the last answer gave it, once it has let go of the rest
        self.wanted: frozenset[PartitionKey] = frozenset()

    def beat(
        self, *, is_answered: bool = True, lets_go: bool = True, says_all: bool = False
    ) -> ConsumerBeat | Refused:
        """A heartbeat, and what a client makes of its answer."""
        if lets_go:
            self.owned = self.owned & self.wanted
        is_full = self.epoch == JOIN_EPOCH or says_all
        answer = self.bench.ask(
            lambda token: ConsumerHeartbeat(
                token,
                G,
                self.member_id,
                self.epoch,
                "client",
                "/host",
                instance_id=self.instance_id,
                rebalance_timeout_ms=REBALANCE_MS if is_full else -1,
                topics=self.topics if is_full else None,
                pattern=self.pattern if is_full else None,
                assignor=self.assignor if is_full else None,
                owned=self.owned,
            )
        )
        assert isinstance(answer, ConsumerBeat | Refused), answer
        if isinstance(answer, Refused):
            self.epoch, self.owned, self.wanted = JOIN_EPOCH, frozenset(), frozenset()
        elif is_answered:
            self._take(answer)
        return answer

    def _take(self, answer: ConsumerBeat) -> None:
        self.epoch = answer.epoch
        if answer.assignment is not None:
            given = frozenset(
                (topic, i) for topic, partitions in answer.assignment.items() for i in partitions
            )
            self.wanted = given
            if self.owned <= given:
                self.owned = given
        elif self.owned <= self.wanted:
            self.owned = self.wanted

    def leave(self, *, for_a_while: bool = False) -> ConsumerBeat | Refused:
        epoch = LEAVE_FOR_A_WHILE_EPOCH if for_a_while else LEAVE_EPOCH
        answer = self.bench.ask(
            lambda token: ConsumerHeartbeat(
                token, G, self.member_id, epoch, "client", "/host", instance_id=self.instance_id
            )
        )
        assert isinstance(answer, ConsumerBeat | Refused), answer
        self.epoch, self.owned, self.wanted = JOIN_EPOCH, frozenset(), frozenset()
        return answer


def settle(*members: Member) -> None:
    """Everybody beats until nothing changes any more."""
    for _ in range(12):
        members[0].bench.wait(1_000)
        for member in members:
            member.beat()
