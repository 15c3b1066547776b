"""Being a member of a share group: what to tell the coordinator and when. Pure, time is an argument.

The member makes its own id, once. It joins with epoch 0, beats at the interval the coordinator names, and leaves
with epoch -1. There is nothing to negotiate: an assignment is taken as it comes, and says only where to fetch.
What the consumer holds does not hang on it; that is between the consumer and the brokers that leased the records.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from uuid import UUID

from leaselog.client.errors import AuthorizationFailed, BrokerError, ClientError, refusal
from leaselog.client.share.backoff import backoff_ms
from leaselog.model import ErrorCode, TopicId
from leaselog.wire.messages.share_group_heartbeat import (
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
)

__all__ = ["ShareMembership", "as_kafka_text"]

JOINING = 0
LEAVING = -1
#: until the coordinator has named one
FIRST_INTERVAL_MS = 5_000
#: A coordinator answers a join before the group's partitions are prepared, and gives them out with a later
#: heartbeat. Who has nothing yet asks again soon, then less and less often, instead of a whole interval later.
EAGER_INTERVAL_MS = 100
_COORDINATOR_MOVED = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
_FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)


class ShareMembership:
    """`heartbeat` says what to send now; `answered` or `unanswered` comes before it says anything else."""

    def __init__(
        self,
        group_id: str,
        member_id: str,
        *,
        rack_id: str | None = None,
        max_poll_interval_ms: int = 300_000,
        retry_backoff_ms: int = 100,
        retry_backoff_max_ms: int = 1_000,
        user: str | None = None,
    ) -> None:
        #: whom an error names
        self._user = user
        self.group_id = group_id
        self.member_id = member_id
        self.epoch = JOINING
        self.heartbeats = 0
        self.rebalances = 0
        #: by topic id; brokers that have not heard of us yet lease nothing
        self.assignment = frozenset[tuple[TopicId, int]]()
        self._rack_id = rack_id
        self._max_poll_interval_ms = max_poll_interval_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._retry_backoff_max_ms = retry_backoff_max_ms
        #: heartbeats in a row that came to nothing
        self._failures = 0
        self._interval_ms = FIRST_INTERVAL_MS
        self._eager_ms = EAGER_INTERVAL_MS
        self._topics: tuple[str, ...] = ()
        #: what the coordinator is known to have been told; None makes the next heartbeat a full one
        self._sent_topics: tuple[str, ...] | None = None
        self._is_member = False
        self._is_waiting = False
        self._must_leave = False
        self._next_ms = 0
        #: None before the first poll, and from a poll that came too late until the next
        self._polled_ms: int | None = None
        self._fatal: ClientError | None = None
        self._passing: ClientError | None = None

    @property
    def next_ms(self) -> int | None:
        """When `heartbeat` may have something to say next; None if only a call can change that."""
        if self._is_waiting or self._fatal is not None or not (self._wants_membership or self._is_member):
            return None
        if self._polled_ms is None:
            return self._next_ms
        return min(self._next_ms, self._polled_ms + self._max_poll_interval_ms)

    @property
    def _wants_membership(self) -> bool:
        return bool(self._topics) and self._polled_ms is not None and not self._must_leave

    def subscribe(self, topics: Iterable[str]) -> None:
        """The whole subscription; without topics the member leaves."""
        self._topics = tuple(sorted(set(topics)))
        self._next_ms = 0
        self._eager_ms = EAGER_INTERVAL_MS
        if not self._topics:
            self.assignment = frozenset()
            self._must_leave = self._is_member
        else:
            self._must_leave = False

    def polled(self, now_ms: int) -> None:
        """The application lives. It joins with the first poll, and again if it had been away for too long."""
        if self._polled_ms is None:
            self._next_ms = now_ms
        self._polled_ms = now_ms

    def take_error(self) -> ClientError | None:
        """Why the application cannot go on, or cannot at the moment: a passing error is told once."""
        return self._fatal or self.take_passing()

    def take_passing(self) -> ClientError | None:
        """What the last heartbeat met with, and the next one may not."""
        passing, self._passing = self._passing, None
        return passing

    def leave(self) -> None:
        """No more heartbeats but one, and that says goodbye."""
        self._topics = ()
        self.assignment = frozenset()
        self._must_leave = self._is_member
        self._next_ms = 0

    @property
    def has_left(self) -> bool:
        return not self._is_member or self._fatal is not None

    def heartbeat(self, now_ms: int) -> ShareGroupHeartbeatRequest | None:
        """What to send now. A member that has not polled for too long gives up its place."""
        if self._is_waiting or self._fatal is not None:
            return None
        if self._polled_ms is not None and now_ms >= self._polled_ms + self._max_poll_interval_ms:
            self._polled_ms = None
            self._must_leave = self._is_member
            self._next_ms = now_ms
        if now_ms < self._next_ms:
            return None
        if self._must_leave:
            return self._send(LEAVING, None)
        if not self._wants_membership:
            return None
        is_full = self.epoch == JOINING or self._sent_topics is None
        return self._send(self.epoch, self._topics if is_full or self._sent_topics != self._topics else None)

    def _send(self, epoch: int, topics: tuple[str, ...] | None) -> ShareGroupHeartbeatRequest:
        self._is_waiting = True
        self.heartbeats += 1
        is_full = topics is not None and (epoch == JOINING or self._sent_topics is None)
        return ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=epoch,
            rack_id=self._rack_id if is_full else None,
            subscribed_topic_names=topics,
        )

    def answered(
        self, request: ShareGroupHeartbeatRequest, answer: ShareGroupHeartbeatResponse, now_ms: int
    ) -> bool:
        """Whether the coordinator has to be looked for again."""
        self._is_waiting = False
        if request.member_epoch == LEAVING:
            self._left()
            return False
        if answer.error_code:
            return self._refused(self._error(answer), now_ms)
        self._failures = 0
        self._is_member = True
        self.epoch = answer.member_epoch
        if request.subscribed_topic_names is not None:
            self._sent_topics = tuple(request.subscribed_topic_names)
        self._interval_ms = max(1, answer.heartbeat_interval_ms)
        if not self._topics:  # left while this was under way
            self._must_leave = True
            self._next_ms = now_ms
            return False
        self._take_assignment(answer)
        if self._sent_topics == self._topics:
            self._next_ms = now_ms + self._pause_ms()
        return False

    def _pause_ms(self) -> int:
        if self.assignment:
            return self._interval_ms
        pause_ms = min(self._eager_ms, self._interval_ms)
        self._eager_ms = pause_ms * 2
        return pause_ms

    def _take_assignment(self, answer: ShareGroupHeartbeatResponse) -> None:
        if answer.assignment is not None:
            self.rebalances += 1
            self.assignment = frozenset(
                (TopicId(topic.topic_id), partition)
                for topic in answer.assignment.topic_partitions
                for partition in topic.partitions
            )
        if self.assignment:
            self._eager_ms = EAGER_INTERVAL_MS

    def unanswered(self, now_ms: int) -> None:
        """No answer: the next heartbeat says everything, for nobody knows what of this one arrived."""
        self._is_waiting = False
        self._sent_topics = None
        self._try_later(now_ms)

    def _try_later(self, now_ms: int) -> None:
        """The coordinator may be away for long: each look for it takes a connection."""
        self._failures += 1
        self._next_ms = now_ms + backoff_ms(
            self._failures, self._retry_backoff_ms, self._retry_backoff_max_ms
        )

    def _refused(self, error: BrokerError, now_ms: int) -> bool:
        self._sent_topics = None
        self._try_later(now_ms)
        if error.code in _COORDINATOR_MOVED:
            return True
        if error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            return False
        if error.code in _FENCED:
            self._left()
            self._next_ms = now_ms
        elif isinstance(error, AuthorizationFailed):
            # Somebody may grant it while we wait, so the member keeps trying; the core tells of it once.
            self._passing = error
            self._next_ms = now_ms + self._interval_ms
        else:
            self._fatal = error
            self._left()
        return False

    def _error(self, answer: ShareGroupHeartbeatResponse) -> BrokerError:
        if answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            right = "DESCRIBE every topic that it subscribes to" + f" ({', '.join(self._topics)})"
        else:
            right = f"READ group '{self.group_id}'"
        return refusal(answer.error_code, answer.error_message, right, self._user)

    def _left(self) -> None:
        self.epoch = JOINING
        self.assignment = frozenset()
        self._sent_topics = None
        self._is_member = self._must_leave = False


def as_kafka_text(member_id: UUID) -> str:
    """Kafka's spelling of a UUID, which is what other tools print: 22 characters of url-safe base64."""
    return urlsafe_b64encode(member_id.bytes).rstrip(b"=").decode()
