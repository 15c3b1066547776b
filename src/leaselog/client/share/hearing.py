"""What answers mean, or that there are none. Pure."""

from __future__ import annotations

from leaselog.client.errors import BrokerError, ClientError, refusal
from leaselog.client.share.acknowledgements import Lease, TopicIdPartition
from leaselog.client.share.acquired import Acquired, leased_ranges
from leaselog.client.share.core_state import CoreState
from leaselog.client.share.fetch_buffer import FetchBuffer
from leaselog.client.share.node_session import NodeAsk, NodeSession
from leaselog.client.share.settling import FINAL_FOR_ACKNOWLEDGEMENTS, Settling
from leaselog.client.share.steps import CoordinatorAsk, MetadataAsk, Step
from leaselog.client.topology import Topology
from leaselog.model import ErrorCode
from leaselog.wire.errors import DecodeError
from leaselog.wire.messages.share_acknowledge import ShareAcknowledgeResponse
from leaselog.wire.messages.share_fetch import PartitionData, ShareFetchResponse
from leaselog.wire.messages.share_group_heartbeat import ShareGroupHeartbeatResponse
from leaselog.wire.schema import Message
from leaselog.wire.share_fetch_ranges import RangesPartitionData

__all__ = ["Hearing"]

#: the application should know; everything else about a fetch passes or is looked up again
#: of what there may be no right: the group, and topics by their names, which have no blanks
_GROUP, _SUBSCRIPTION = "the group", "all topics at once"
_TOLD_BY_POLL = frozenset({ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CORRUPT_MESSAGE})
_TOLD_AT_TOP = frozenset({ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION})


class Hearing:
    def __init__(self, state: CoreState, buffer: FetchBuffer, settling: Settling) -> None:
        self._state = state
        self._buffer = buffer
        self._settling = settling

    def heard(self, ask: Step, answer: Message | Topology, now_ms: int) -> None:
        """The answer to a request that `step` has named."""
        state = self._state
        match ask:
            case CoordinatorAsk():
                assert isinstance(answer, ShareGroupHeartbeatResponse)
                state.metrics.heartbeat(now_ms, now_ms - state.heartbeat_sent_ms)
                state.must_find_coordinator = state.membership.answered(ask.request, answer, now_ms)
                state.metrics.rebalances = state.membership.rebalances
                self._tell_of_heartbeat(answer)
            case MetadataAsk():
                assert isinstance(answer, Topology)
                for topic, refused in state.routes.learned(ask.topics, answer, now_ms).items():
                    state.tell(refused, topic)
            case NodeAsk():
                if isinstance(answer, ShareFetchResponse):
                    self._fetched(ask, answer, now_ms)
                else:
                    assert isinstance(answer, ShareAcknowledgeResponse)
                    self._acknowledged(ask, answer, now_ms)

    def _tell_of_heartbeat(self, answer: ShareGroupHeartbeatResponse) -> None:
        state = self._state
        if not answer.error_code:
            state.allowed(_GROUP)
            state.allowed(_SUBSCRIPTION)
        elif (denied := state.membership.take_passing()) is not None:
            is_group = answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
            state.tell(denied, _GROUP if is_group else _SUBSCRIPTION)

    def unheard(self, ask: Step, error: ClientError, now_ms: int) -> None:
        """There is no answer and will be none."""
        state = self._state
        if not error.is_retriable:
            state.tell(error, _GROUP)
        match ask:
            case CoordinatorAsk():
                state.must_find_coordinator = True
                state.membership.unanswered(now_ms)
            case MetadataAsk():
                state.routes.learned_nothing(now_ms)
            case NodeAsk():
                node = state.nodes[ask.node_id]
                node.lost()
                self._hold_back(node, now_ms)
                state.routes.doubt(now_ms)
                for some in ask.bundles.values():
                    for bundle in some:
                        self._settling.settle(bundle, error, now_ms)
                self._settling.drop_hopeless(node, now_ms)

    def _top_level(self, node: NodeSession, ask: NodeAsk, code: int, text: str | None, now_ms: int) -> bool:
        """Takes the answer into the session; whether there is anything in it."""
        error = self._refusal(code, text) if code else None
        node.answered(error)
        if error is None:
            if self._state.denied:
                self._state.allowed(_GROUP)
            return True
        if error.code in _TOLD_AT_TOP:
            self._state.tell(error, _GROUP)
        self._hold_back(node, now_ms)
        for some in ask.bundles.values():
            self._settling.decided(node, some, error, now_ms)
        self._settling.drop_hopeless(node, now_ms)
        return False

    def _refusal(self, code: int, text: str | None) -> BrokerError:
        state = self._state
        return refusal(code, text, f"READ group '{state.config.group_id}'", state.config.security.user)

    def _fetched(self, ask: NodeAsk, answer: ShareFetchResponse, now_ms: int) -> None:
        state = self._state
        node = state.nodes[ask.node_id]
        life, sent_ms = node.life, state.sent_ms[ask.node_id]
        state.metrics.fetch_latency.record(now_ms - sent_ms, now_ms)
        state.metrics.throttled.record(answer.throttle_time_ms, now_ms)
        if not self._top_level(node, ask, answer.error_code, answer.error_message, now_ms):
            return
        if answer.throttle_time_ms:
            node.not_before_ms = now_ms + answer.throttle_time_ms
        if answer.acquisition_lock_timeout_ms > 0:
            state.lock_timeout_ms = answer.acquisition_lock_timeout_ms
        decided = set[TopicIdPartition]()
        records = failed = 0
        for topic in answer.responses:
            for data in topic.partitions:
                where = state.routes.where(topic.topic_id, data.partition_index)
                if where in ask.bundles:
                    decided.add(where)
                    error = _error(data.acknowledge_error_code, data.acknowledge_error_message)
                    self._settling.decided(node, ask.bundles[where], error, now_ms)
                if data.error_code or state.denied:
                    failed += self._has_failed(where, data, now_ms)
                if data.acquired_records:
                    records += self._buffer_up(node, where, data, now_ms)
        self._settling.undecided(node, ask, decided, now_ms)
        if failed < node.partition_count:  # the others are not to wait long for those
            node.failures = 0
        if failed:
            self._hold_back(node, now_ms)
        if records:
            state.metrics.records.record(records, now_ms)
        assert node.life is life, "an answer without an error keeps the session"

    def _buffer_up(self, node: NodeSession, where: TopicIdPartition, data: PartitionData, now_ms: int) -> int:
        state = self._state
        lease = Lease(
            where,
            node.node_id,
            node.life,
            now_ms + state.lock_ms,
            now_ms,
            delivery_limit=state.delivery_limit,
        )
        told = [(r.first_offset, r.last_offset, r.delivery_count) for r in data.acquired_records]
        try:
            ranges = list(leased_ranges(told))
        except DecodeError as bad:
            # Whatever was leased comes back to the broker by itself when its lease runs out.
            state.errors.append(BrokerError(ErrorCode.CORRUPT_MESSAGE, f"{where}: {bad}"))
            return 0
        left_out_bytes = data.left_out_bytes if isinstance(data, RangesPartitionData) else 0
        acquired = Acquired(lease, data.records or b"", ranges, left_out_bytes)
        state.metrics.bytes.record(acquired.bytes - left_out_bytes, now_ms)
        if state.is_closing or where.topic in state.subscription:
            self._buffer.queue.append(acquired)  # ending the session gives it back
            return sum(end - start for start, end, _ in ranges)
        self._buffer.give_back(acquired, now_ms)
        return 0

    def _hold_back(self, node: NodeSession, now_ms: int) -> None:
        """Something there needs a moment, a longer one each time that there was nothing else."""
        node.failures += 1
        node.not_before_ms = max(node.not_before_ms, now_ms + self._state.backoff_ms(node.failures))

    def _has_failed(self, where: TopicIdPartition, data: PartitionData, now_ms: int) -> bool:
        state = self._state
        if not data.error_code:
            state.allowed(where.topic)
            return False
        right, user = f"READ topic '{where.topic}'", state.config.security.user
        error = refusal(data.error_code, data.error_message or str(where), right, user)
        if error.code in _TOLD_BY_POLL:
            state.tell(error, where.topic)
        elif error.code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH):
            state.routes.led_by(where, data.current_leader.leader_id, now_ms)
        elif error.is_retriable:
            state.routes.doubt(now_ms)
        return True

    def _acknowledged(self, ask: NodeAsk, answer: ShareAcknowledgeResponse, now_ms: int) -> None:
        state = self._state
        node = state.nodes[ask.node_id]
        if answer.throttle_time_ms:
            node.not_before_ms = now_ms + answer.throttle_time_ms
        if not self._top_level(node, ask, answer.error_code, answer.error_message, now_ms):
            return
        if answer.acquisition_lock_timeout_ms > 0:
            state.lock_timeout_ms = answer.acquisition_lock_timeout_ms
        decided = set[TopicIdPartition]()
        for topic in answer.responses:
            for data in topic.partitions:
                where = state.routes.where(topic.topic_id, data.partition_index)
                if where in ask.bundles:
                    decided.add(where)
                    error = _error(data.error_code, data.error_message)
                    if error is not None and error.code in FINAL_FOR_ACKNOWLEDGEMENTS:
                        state.routes.led_by(where, data.current_leader.leader_id, now_ms)
                    self._settling.decided(node, ask.bundles[where], error, now_ms)
        self._settling.undecided(node, ask, decided, now_ms)


def _error(code: int, text: str | None) -> BrokerError | None:
    return BrokerError(code, text) if code else None
