"""One member of a classic consumer group, without the network: what to ask the coordinator next, and what answers mean.

The driver calls ``step``, does what it says, and hands the answer back with ``answered`` (or ``unanswered``). The
owner of the partitions calls ``polled`` while it is alive, takes what it is assigned with ``take_assigned``, and
gives everything up (``given_up``) when ``must_give_up`` says so: only then does the member join again. Rebalances
are thus eager: nobody holds a partition while the group is being divided anew. A member that must give up goes on
sending heartbeats, so that its owner has until the rebalance time-out to finish what it has in hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import assert_never

from leaselog.client.errors import BrokerError, refusal
from leaselog.client.range_assignor import Subscriber, assign_ranges
from leaselog.model import ErrorCode, TopicPartition
from leaselog.wire.codec import decode_prefix, encode
from leaselog.wire.errors import Truncated
from leaselog.wire.messages.client_data import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)
from leaselog.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from leaselog.wire.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from leaselog.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from leaselog.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from leaselog.wire.primitives import Buffer
from leaselog.wire.schema import Message

__all__ = ["Ask", "CountPartitions", "GroupSettings", "Membership", "Step", "Wait"]

NO_GENERATION = -1
PROTOCOL_TYPE = "consumer"
RANGE = "range"
#: the newest layout of subscriptions and assignments, each behind its version in two bytes
_SUBSCRIPTION_VERSION = 3
_ASSIGNMENT_VERSION = 3
#: Java's retry.backoff.ms and retry.backoff.max.ms
_BACKOFF_MS = 100
_BACKOFF_MAX_MS = 1_000
#: how much longer than the rebalance a join is waited for (Java's JOIN_GROUP_TIMEOUT_LAPSE)
_JOIN_LAPSE_MS = 5_000

#: another try, soon, may succeed; of the first two the coordinator is another one by now
_PASSING = frozenset({
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REQUEST_TIMED_OUT,
})  # fmt: skip
#: the group went on without this member
_THROWN_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Java's group.id, group.instance.id, session.timeout.ms, heartbeat.interval.ms and max.poll.interval.ms."""

    group_id: str
    instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    #: the owner's time between two polls, and so the group's time for a rebalance
    max_poll_interval_ms: int = 300_000


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this to the coordinator; no answer within the time is as good as a lost connection."""

    message: Message
    kind: type[Message]
    #: None leaves it to the client's ordinary request time-out
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class CountPartitions:
    """This member divides the partitions: look up how many these topics have, and say so with ``counted``."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do before this time (None: before something else happens)."""

    until_ms: int | None


Step = Ask | CountPartitions | Wait


class _Phase(Enum):
    #: holds nothing, has to join
    OUTSIDE = auto()
    #: joined as the leader, has to learn partition counts
    COUNTING = auto()
    #: joined, has to ask for its assignment
    SYNCING = auto()
    #: assigned
    STABLE = auto()
    #: assigned, and asked to come back for another division once everything is given up
    GIVING_UP = auto()
    #: the group went on without us; joins again once everything is given up
    LOST = auto()
    #: left for good
    GONE = auto()


class Membership:
    def __init__(self, settings: GroupSettings, now_ms: int) -> None:
        self._settings = settings
        self._phase = _Phase.OUTSIDE
        self.member_id = ""
        self.generation = NO_GENERATION
        #: None until the owner knows what it wants to read
        self._topics: frozenset[str] | None = None
        #: what the last join asked for
        self._joined_topics = frozenset[str]()
        self._protocol: str | None = None
        self._members: Sequence[Subscriber] = ()
        self._division: Mapping[str, Sequence[TopicPartition]] = {}
        self._assigned: frozenset[TopicPartition] | None = None
        self._outdated = False
        self._tries = 0
        self._not_before_ms = now_ms
        self._heartbeat_at_ms = now_ms
        self._polled_ms = now_ms

    # the owner of the partitions

    @property
    def must_give_up(self) -> bool:
        """Whether everything held has to be given up, with ``given_up``, before anything else goes on."""
        return self._phase in (_Phase.GIVING_UP, _Phase.LOST)

    @property
    def may_commit(self) -> bool:
        """Whether what is held is still ours to speak for."""
        return self._phase in (_Phase.STABLE, _Phase.GIVING_UP)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics from now on. Another set than before takes a rebalance."""
        self._topics = frozenset(topics)
        self._come_back_if_outdated()

    def rejoin(self) -> None:
        """Partitions came or went: the group has to be divided anew."""
        self._outdated = True
        self._come_back_if_outdated()

    def take_assigned(self) -> frozenset[TopicPartition] | None:
        """What this member reads from now on, told once; None if there is no news."""
        if self._phase is not _Phase.STABLE:
            return None
        assigned, self._assigned = self._assigned, None
        return assigned

    def polled(self, now_ms: int) -> None:
        self._polled_ms = now_ms

    def given_up(self) -> None:
        """The owner holds nothing any more and has committed what it could."""
        assert self.must_give_up, f"nothing to give up while {self._phase.name}"
        self._phase, self._assigned = _Phase.OUTSIDE, None

    def thrown_out(self, code: int, generation: int) -> None:
        """A commit made in ``generation`` was answered with this error: the group may have gone on without us."""
        if generation != self.generation or not self.may_commit:
            return
        if code in _THROWN_OUT:
            self._lose(ErrorCode(code))
        elif code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._phase = _Phase.GIVING_UP

    def leave(self, reason: str) -> Ask | None:
        """The last thing to ask, if the coordinator knows this member. A static member stays, to come back."""
        known, self._phase = self.member_id, _Phase.GONE
        if not known or self._settings.instance_id is not None:
            return None
        return self._leave_request(known, reason)

    # the driver

    def step(self, now_ms: int) -> Step:
        if self._topics is None or self._phase in (_Phase.LOST, _Phase.GONE):
            return Wait(None)
        if self._not_before_ms > now_ms:
            return Wait(self._not_before_ms)
        match self._phase:
            case _Phase.OUTSIDE:
                return self._join(self._topics)
            case _Phase.COUNTING:
                return CountPartitions(tuple(sorted({t for m in self._members for t in m.topics})))
            case _Phase.SYNCING:
                return Ask(self._sync_request(), SyncGroupResponse)
            case _Phase.STABLE | _Phase.GIVING_UP:
                return self._stay(now_ms)
            case _:
                assert_never(self._phase)

    def counted(self, partition_counts: Mapping[str, int]) -> None:
        """The answer to ``CountPartitions``."""
        assert self._phase is _Phase.COUNTING, self._phase
        self._division = assign_ranges(self._members, partition_counts)
        self._phase = _Phase.SYNCING

    def answered(self, asked: Message, answer: Message, now_ms: int) -> None:
        """What an ``Ask`` brought. Raises ``BrokerError`` for what trying again would not mend."""
        match answer:
            case JoinGroupResponse():
                self._joined(answer, now_ms)
            case SyncGroupResponse():
                self._synced(answer, now_ms)
            case HeartbeatResponse():
                assert isinstance(asked, HeartbeatRequest)
                # The owner may have given up, and be joining anew, since this heartbeat left.
                if asked.generation_id == self.generation and self.may_commit:
                    self._beaten(answer.error_code, now_ms)
            case LeaveGroupResponse():
                pass  # whatever it says, this member is out
            case _:
                raise AssertionError(f"a group's coordinator does not answer with {answer.NAME}")

    def unanswered(self, now_ms: int) -> None:
        """The last step came to nothing, for a reason that may pass."""
        if self._phase in (_Phase.COUNTING, _Phase.SYNCING):
            self._phase = _Phase.OUTSIDE
        self._back_off(now_ms)
        self._heartbeat_at_ms = self._not_before_ms

    # joining

    def _join(self, topics: frozenset[str]) -> Ask:
        settings = self._settings
        self._joined_topics = topics
        metadata = encode(ConsumerProtocolSubscription(topics=sorted(topics)), _SUBSCRIPTION_VERSION)
        request = JoinGroupRequest(
            group_id=settings.group_id,
            session_timeout_ms=settings.session_timeout_ms,
            rebalance_timeout_ms=settings.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(name=RANGE, metadata=_versioned(_SUBSCRIPTION_VERSION, metadata))
            ],
        )
        return Ask(request, JoinGroupResponse, settings.max_poll_interval_ms + _JOIN_LAPSE_MS)

    def _joined(self, answer: JoinGroupResponse, now_ms: int) -> None:
        match answer.error_code:
            case ErrorCode.NONE:
                self._take_place(answer)
            case ErrorCode.MEMBER_ID_REQUIRED:  # KIP-394: come back with the id
                self.member_id = answer.member_id
            case code if code in _THROWN_OUT:
                self._forget(ErrorCode(code))
                self._back_off(now_ms)
            case code if code in _PASSING or code == ErrorCode.REBALANCE_IN_PROGRESS:
                self._back_off(now_ms)
            case code:
                raise self._refusal(code)

    def _take_place(self, answer: JoinGroupResponse) -> None:
        if answer.protocol_type not in (None, PROTOCOL_TYPE):  # None: a broker before JoinGroup v7
            raise BrokerError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
                f"Group '{self._settings.group_id}' has members of type {answer.protocol_type}",
            )
        self.member_id, self.generation = answer.member_id, answer.generation_id
        self._protocol, self._outdated, self._tries = answer.protocol_name, False, 0
        self._division = {}
        if answer.leader == answer.member_id and not answer.skip_assignment:
            self._members = [_subscriber(member) for member in answer.members]
            self._phase = _Phase.COUNTING
        else:
            self._phase = _Phase.SYNCING

    def _sync_request(self) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self._settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self._settings.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=self._protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=_assignment(partitions))
                for member, partitions in self._division.items()
            ],
        )

    def _synced(self, answer: SyncGroupResponse, now_ms: int) -> None:
        code = answer.error_code
        self._phase = _Phase.OUTSIDE
        if code == ErrorCode.NONE:
            self._assigned = _partitions(answer.assignment)
            self._phase, self._tries = _Phase.STABLE, 0
            self._heartbeat_at_ms = now_ms + self._settings.heartbeat_interval_ms
            self._come_back_if_outdated()
        elif code in _THROWN_OUT:
            self._forget(ErrorCode(code))
        elif code in _PASSING:
            self._back_off(now_ms)
        elif code != ErrorCode.REBALANCE_IN_PROGRESS:
            raise self._refusal(code)

    def _refusal(self, code: int) -> BrokerError:
        group_id = self._settings.group_id
        return refusal(code, f"Group '{group_id}'", f"READ group '{group_id}'")

    # staying

    def _stay(self, now_ms: int) -> Step:
        settings = self._settings
        overdue_ms = self._polled_ms + settings.max_poll_interval_ms
        if now_ms >= overdue_ms:
            # Somebody else should read these partitions. The owner hears of it when it polls again.
            member = self.member_id
            self._lose(ErrorCode.UNKNOWN_MEMBER_ID)
            if (
                settings.instance_id is not None
            ):  # a static member is left to its session time-out, as in Java
                return Wait(None)
            return self._leave_request(member, "consumer poll timeout has expired.")
        if now_ms < self._heartbeat_at_ms:
            return Wait(min(self._heartbeat_at_ms, overdue_ms))
        request = HeartbeatRequest(
            group_id=settings.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=settings.instance_id,
        )
        self._heartbeat_at_ms = now_ms + settings.heartbeat_interval_ms
        return Ask(request, HeartbeatResponse, settings.session_timeout_ms)

    def _beaten(self, code: int, now_ms: int) -> None:
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._phase = _Phase.GIVING_UP
        elif code in _THROWN_OUT:
            self._lose(ErrorCode(code))
        elif code in _PASSING:
            self._back_off(now_ms)
            self._heartbeat_at_ms = self._not_before_ms
        else:
            if code:
                raise self._refusal(code)
            self._tries = 0

    def _come_back_if_outdated(self) -> None:
        if self._phase is _Phase.STABLE and (self._outdated or self._topics != self._joined_topics):
            self._phase = _Phase.GIVING_UP

    def _lose(self, code: ErrorCode) -> None:
        self._phase = _Phase.LOST
        self._forget(code)

    def _forget(self, code: ErrorCode) -> None:
        self.generation = NO_GENERATION
        if code is not ErrorCode.ILLEGAL_GENERATION:  # which says that the group still knows the id
            self.member_id = ""

    def _leave_request(self, member_id: str, reason: str) -> Ask:
        group_id = self._settings.group_id
        identity = MemberIdentity(member_id=member_id, reason=reason)
        # The id stands twice because brokers before LeaveGroup v3 expect it outside the list.
        return Ask(
            LeaveGroupRequest(group_id=group_id, member_id=member_id, members=[identity]), LeaveGroupResponse
        )

    def _back_off(self, now_ms: int) -> None:
        self._not_before_ms = now_ms + min(_BACKOFF_MS << min(self._tries, 10), _BACKOFF_MAX_MS)
        self._tries += 1


def _subscriber(member: JoinGroupResponseMember) -> Subscriber:
    version, body = _unversioned(member.metadata, _SUBSCRIPTION_VERSION)
    subscription, _ = decode_prefix(ConsumerProtocolSubscription, version, body)
    return Subscriber(member.member_id, member.group_instance_id, frozenset(subscription.topics))


def _assignment(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic = dict[str, list[int]]()
    for where in partitions:
        by_topic.setdefault(where.topic, []).append(where.partition)
    parts = [
        ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in by_topic.items()
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=parts)
    return _versioned(_ASSIGNMENT_VERSION, encode(message, _ASSIGNMENT_VERSION))


def _partitions(data: Buffer) -> frozenset[TopicPartition]:
    if not data:  # a leader that did not know of us
        return frozenset()
    version, body = _unversioned(data, _ASSIGNMENT_VERSION)
    found, _ = decode_prefix(ConsumerProtocolAssignment, version, body)
    return frozenset(TopicPartition(p.topic, n) for p in found.assigned_partitions for n in p.partitions)


def _versioned(version: int, body: bytes) -> bytes:
    return version.to_bytes(2, "big") + body


def _unversioned(data: Buffer, newest: int) -> tuple[int, Buffer]:
    """A newer layout only adds at the end, so that it reads as the newest one known here."""
    if len(data) < 2:
        raise Truncated(f"{len(data)} bytes hold no version")
    return max(0, min(int.from_bytes(data[:2], "big", signed=True), newest)), data[2:]
