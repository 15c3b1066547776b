"""InitProducerId, key 22. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.schema import ALWAYS, Field, Message, Versions

__all__ = ["InitProducerIdRequest", "InitProducerIdResponse"]


class InitProducerIdRequest(Message):
    __slots__ = ('transactional_id', 'transaction_timeout_ms', 'producer_id', 'producer_epoch', 'enable2_pc', 'keep_prepared_txn')
    NAME = "InitProducerIdRequest"
    API_KEY = 22
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('transactional_id', "string", nullable=ALWAYS, default=""),
        Field('transaction_timeout_ms', "int32", default=0),
        Field('producer_id', "int64", versions=Versions(3, 32767), default=-1),
        Field('producer_epoch', "int16", versions=Versions(3, 32767), default=-1),
        Field('enable2_pc', "bool", versions=Versions(6, 32767), default=False),
        Field('keep_prepared_txn', "bool", versions=Versions(6, 32767), default=False),
    )

    def __init__(
        self,
        *,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
    ) -> None:
        self.transactional_id: str | None = transactional_id
        self.transaction_timeout_ms: int = transaction_timeout_ms
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.enable2_pc: bool = enable2_pc
        self.keep_prepared_txn: bool = keep_prepared_txn


class InitProducerIdResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'producer_id', 'producer_epoch', 'ongoing_txn_producer_id', 'ongoing_txn_producer_epoch')
    NAME = "InitProducerIdResponse"
    API_KEY = 22
    VERSIONS = Versions(0, 6)
    FLEXIBLE = Versions(2, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('producer_id', "int64", default=-1),
        Field('producer_epoch', "int16", default=0),
        Field('ongoing_txn_producer_id', "int64", versions=Versions(6, 32767), default=-1),
        Field('ongoing_txn_producer_epoch', "int16", versions=Versions(6, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.ongoing_txn_producer_id: int = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch: int = ongoing_txn_producer_epoch
