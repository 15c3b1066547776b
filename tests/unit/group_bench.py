"""A group shard on a bench: what it decides is carried out at once, its clock moves when told to.

Deciding changes nothing of it, which every decision here is held to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shard_watch import unchanged

from leaselog.coordination.group_commands import (
    Answer,
    CommitOffsets,
    GroupCommand,
    Heartbeat,
    JoinAnswer,
    JoinGroup,
    LeaveGroup,
    Leaver,
    OffsetToCommit,
    SyncGroup,
    Token,
)
from leaselog.coordination.group_facts import NO_TOPIC_ID, GroupFact, Protocol
from leaselog.coordination.group_shard import GroupShard
from leaselog.coordination.group_turn import GroupLimits, GroupOutcome
from leaselog.model import ErrorCode, GroupId, MemberId, Refused, TopicPartition

G = GroupId("g")
PARTITION = TopicPartition("t", 0)


class Bench:
    def __init__(self, limits: GroupLimits | None = None) -> None:
        self.limits = limits or GroupLimits(initial_rebalance_delay_ms=0)
        self.now_ms = 1_000_000
        self.facts: list[GroupFact] = []
        self.answers: dict[Token, Answer] = {}
        self._tokens = 0
        self.shard = GroupShard(self.limits)
        self._take(self.shard.start(self.now_ms))

    def send(self, make: Callable[[Token], GroupCommand]) -> Token:
        """The token under which the answer is or will be."""
        self._tokens += 1
        token = Token(self._tokens)
        with unchanged(self.shard):
            outcome = self.shard.handle(make(token), self.now_ms)
        self._take(outcome)
        self.run_due()
        return token

    def ask(self, make: Callable[[Token], GroupCommand]) -> Answer:
        """The answer, which must be there at once."""
        return self.answers[self.send(make)]

    def wait(self, ms: int) -> None:
        """Lets time pass, deadline by deadline."""
        end_ms = self.now_ms + ms
        while (due_ms := self.shard.next_deadline()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.run_due()
        self.now_ms = end_ms

    def run_due(self) -> None:
        while (outcome := self._expired()) is not None:
            self._take(outcome)

    def _expired(self) -> GroupOutcome | None:
        with unchanged(self.shard):
            return self.shard.expire(self.now_ms)

    def _take(self, outcome: GroupOutcome) -> None:
        self.shard.apply(outcome, self.now_ms)
        self.facts += outcome.facts
        for reply in outcome.replies:
            assert reply.token not in self.answers, "answered twice"
            self.answers[reply.token] = reply.answer
        self.shard.check()

    def restarted(self) -> Bench:
        """A new shard from what this one wrote."""
        other = Bench.__new__(Bench)
        other.__dict__ |= self.__dict__ | {"facts": list(self.facts), "answers": {}}
        other.shard = GroupShard(self.limits)
        for fact in self.facts:
            other.shard.replay(fact, self.now_ms)
        other._take(other.shard.start(self.now_ms))
        other.run_due()
        return other

    # -- what members do

    def send_join(
        self, member: str = "", *, fresh: str = "new", instance: str | None = None, **more: object
    ) -> Token:
        return self.send(lambda token: join(token, member, fresh=fresh, instance=instance, **more))

    def join(self, member: str = "", **more: object) -> JoinAnswer:
        answer = self.answers[self.send_join(member, **more)]  # type: ignore[arg-type]
        assert isinstance(answer, JoinAnswer)
        return answer

    def sync(self, member: str, generation: int, instance: str | None = None, **assignments: bytes) -> Token:
        given = {MemberId(name): assignment for name, assignment in assignments.items()}
        return self.send(
            lambda token: SyncGroup(token, G, MemberId(member), instance, generation, None, None, given)
        )

    def heartbeat(self, member: str, generation: int, instance: str | None = None) -> ErrorCode:
        return code_of(self.ask(lambda token: Heartbeat(token, G, MemberId(member), instance, generation)))

    def leave(self, *leavers: tuple[str, str | None]) -> Answer:
        members = tuple(Leaver(MemberId(member), instance) for member, instance in leavers)
        return self.ask(lambda token: LeaveGroup(token, G, members))

    def commit(self, offset: int, member: str = "", generation: int = -1, **more: object) -> Answer:
        return self.ask(lambda token: commit(token, offset, member, generation, **more))

    def stable(self, *members: str, **more: object) -> int:
        """All of them in one stable group, the first leading; its generation."""
        joins = {m: self.send_join(fresh=m, member_id_required=False, **more) for m in members}  # type: ignore[arg-type]
        for _ in members:
            self.run_due()
            for member, token in joins.items():
                if token in self.answers and len(members) > 1:
                    joins[member] = self.send_join(member, **more)  # type: ignore[arg-type]
        answers = {member: self.answers[token] for member, token in joins.items()}
        leader = answers[members[0]]
        assert isinstance(leader, JoinAnswer)
        for member in reversed(members):
            self.sync(member, leader.generation, **{m: m.encode() for m in members})
        return leader.generation


def join(
    token: Token,
    member: str = "",
    *,
    fresh: str = "new",
    instance: str | None = None,
    group: GroupId = G,
    protocols: Sequence[Protocol] = (Protocol("range", b"sub", frozenset({"t"})),),
    protocol_type: str = "consumer",
    session_timeout_ms: int = 10_000,
    rebalance_timeout_ms: int = 60_000,
    member_id_required: bool = True,
    may_skip_assignment: bool = True,
) -> JoinGroup:
    return JoinGroup(
        token=token,
        group_id=group,
        member_id=MemberId(member),
        fresh_member_id=MemberId(fresh),
        instance_id=instance,
        client_id="client",
        client_host="/127.0.0.1",
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        protocol_type=protocol_type,
        protocols=tuple(protocols),
        member_id_required=member_id_required,
        may_skip_assignment=may_skip_assignment,
    )


def commit(
    token: Token,
    offset: int,
    member: str = "",
    generation: int = -1,
    *,
    group: GroupId = G,
    partition: TopicPartition = PARTITION,
    metadata: str = "",
    retention_ms: int = -1,
    knows_group_id_not_found: bool = True,
) -> CommitOffsets:
    return CommitOffsets(
        token,
        group,
        MemberId(member),
        None,
        generation,
        (OffsetToCommit(partition, offset, -1, metadata, NO_TOPIC_ID),),
        retention_ms,
        knows_group_id_not_found,
    )


def code_of(answer: Answer) -> ErrorCode:
    return answer.code if isinstance(answer, (Refused, JoinAnswer)) else ErrorCode.NONE
