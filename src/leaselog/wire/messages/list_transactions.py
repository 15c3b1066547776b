"""ListTransactions, key 66. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["ListTransactionsRequest", "ListTransactionsResponse", "TransactionState"]


class ListTransactionsRequest(Message):
    __slots__ = ('state_filters', 'producer_id_filters', 'duration_filter', 'transactional_id_pattern')
    NAME = "ListTransactionsRequest"
    API_KEY = 66
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('state_filters', "string", array=True, default=()),
        Field('producer_id_filters', "int64", array=True, default=()),
        Field('duration_filter', "int64", versions=Versions(1, 32767), default=-1),
        Field('transactional_id_pattern', "string", versions=Versions(2, 32767), nullable=Versions(2, 32767), default=None),
    )

    def __init__(
        self,
        *,
        state_filters: Sequence[str] = (),
        producer_id_filters: Sequence[int] = (),
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters: Sequence[str] = state_filters
        self.producer_id_filters: Sequence[int] = producer_id_filters
        self.duration_filter: int = duration_filter
        self.transactional_id_pattern: str | None = transactional_id_pattern


class TransactionState(Message):
    __slots__ = ('transactional_id', 'producer_id', 'transaction_state')
    NAME = "TransactionStates"
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('transactional_id', "string", default=""),
        Field('producer_id', "int64", default=0),
        Field('transaction_state', "string", default=""),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.transaction_state: str = transaction_state


class ListTransactionsResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'unknown_state_filters', 'transaction_states')
    NAME = "ListTransactionsResponse"
    API_KEY = 66
    VERSIONS = Versions(0, 2)
    FLEXIBLE = ALWAYS
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('unknown_state_filters', "string", array=True, default=()),
        Field('transaction_states', TransactionState, array=True, default=()),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: Sequence[str] = (),
        transaction_states: Sequence[TransactionState] = (),
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.unknown_state_filters: Sequence[str] = unknown_state_filters
        self.transaction_states: Sequence[TransactionState] = transaction_states
