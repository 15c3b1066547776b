"""A group shard with a cluster around it that tests change as they like. What it decides is carried out at once;
deciding changes nothing of it, which every decision here is held to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Self
from uuid import UUID

from shard_watch import unchanged

from leaselog.coordination.cluster_view import EmptyCluster, ShareSettings, TopicShape
from leaselog.coordination.group_commands import Answer, DropTopics, GroupCommand, Token
from leaselog.coordination.group_facts import GroupFact
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits, GroupOutcome
from leaselog.coordination.share_group_commands import (
    DescribedShareGroup,
    DescribeShareGroup,
    Places,
    SettleShareStates,
    ShareBeat,
    ShareHeartbeat,
)
from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicId

G = GroupId("g")


class World(EmptyCluster):
    """What the shard looks up."""

    def __init__(self, settings: ShareSettings | None = None) -> None:
        self.settings = settings or ShareSettings()
        self.topics: dict[str, TopicShape] = {}
        self.version = 0
        self._made = 0

    def topics_version(self) -> int:
        return self.version

    def topic(self, name: str) -> TopicShape | None:
        return self.topics.get(name)

    def share_settings(self, group_id: GroupId) -> ShareSettings:
        return self.settings

    def make(self, name: str, partition_count: int) -> TopicId:
        """Makes the topic, or gives it more partitions."""
        self.version += 1
        if name not in self.topics:
            self._made += 1
            self.topics[name] = TopicShape(TopicId(UUID(int=self._made)), partition_count)
        self.topics[name] = replace(self.topics[name], partition_count=partition_count)
        return self.topics[name].topic_id

    def delete(self, name: str) -> None:
        del self.topics[name]
        self.version += 1


class ShareBench:
    def __init__(self, world: World | None = None) -> None:
        self.world = world or World()
        self.now_ms = 1_000_000
        self.facts: list[GroupFact] = []
        self.answers: dict[Token, Answer] = {}
        self._tokens = 0
        self.shard = GroupShard(GroupLimits(initial_rebalance_delay_ms=0), self.world)
        self._take(self.shard.start(self.now_ms))

    def ask(self, make: Callable[[Token], GroupCommand]) -> Answer:
        self._tokens += 1
        token = Token(self._tokens)
        with unchanged(self.shard):
            outcome = self.shard.handle(make(token), self.now_ms)
        self._take(outcome)
        return self.answers[token]

    def wait(self, ms: int) -> None:
        end_ms = self.now_ms + ms
        while (due_ms := self.shard.next_deadline()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            while (outcome := self._expired()) is not None:
                self._take(outcome)
        self.now_ms = end_ms

    def _expired(self) -> GroupOutcome | None:
        with unchanged(self.shard):
            return self.shard.expire(self.now_ms)

    def _take(self, outcome: GroupOutcome) -> None:
        self.shard.apply(outcome, self.now_ms)
        self.facts += outcome.facts
        self.answers |= {reply.token: reply.answer for reply in outcome.replies}
        self.shard.check()

    def restarted(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__ |= self.__dict__ | {"facts": list(self.facts), "answers": {}}
        other.shard = GroupShard(self.shard.limits, self.world)
        for fact in self.facts:
            other.shard.replay(fact, self.now_ms)
        other._take(other.shard.start(self.now_ms))
        return other

    # -- what members do

    def try_beat(
        self,
        member: str,
        epoch: int,
        *topics: str,
        group: GroupId = G,
        rack: str | None = None,
        client: str = "client",
        continues_from: int | None = None,
        wants_assignment: bool = False,
        may_hold: bool = False,
        not_held: Places | None = None,
    ) -> ShareBeat | Refused:
        """One heartbeat, as the group alone answers it. No topics: the ones it had."""
        answer = self.ask(
            lambda token: ShareHeartbeat(
                token,
                group,
                MemberId(member),
                epoch,
                client,
                "/127.0.0.1",
                rack,
                topics or None,
                continues_from,
                wants_assignment,
                may_hold,
                not_held or {},
            )
        )
        assert isinstance(answer, (ShareBeat, Refused))
        return answer

    def beat(self, member: str, epoch: int, *topics: str) -> ShareBeat:
        """A heartbeat whose state begins at once, as the broker sees to it."""
        answer = self.try_beat(member, epoch, *topics)
        assert isinstance(answer, ShareBeat), answer
        if not answer.to_initialize:
            return answer
        self.settle(answer.to_initialize)
        again = self.try_beat(
            member, answer.epoch, continues_from=epoch, wants_assignment=answer.assignment is not None
        )
        assert isinstance(again, ShareBeat), again
        return again

    def settle(self, done: Places, failed: Places | None = None) -> None:
        self.ask(lambda token: SettleShareStates(token, G, done, failed or {}))

    def leave(self, member: str) -> None:
        answer = self.try_beat(member, -1)
        assert isinstance(answer, ShareBeat), answer

    def described(self) -> DescribedShareGroup:
        answer = self.ask(lambda token: DescribeShareGroup(token, G))
        assert isinstance(answer, DescribedShareGroup), answer
        return answer

    def delete_topic(self, name: str) -> None:
        self.world.delete(name)
        self.ask(lambda token: DropTopics(token, frozenset({name})))


def code_of(answer: Answer) -> ErrorCode:
    return answer.code if isinstance(answer, Refused) else ErrorCode.NONE


def partitions_of(beat: ShareBeat) -> list[int]:
    """The partitions of the one topic that is assigned."""
    assert beat.assignment is not None
    assert len(beat.assignment) <= 1
    return sorted(i for partitions in beat.assignment.values() for i in partitions)
