"""EndTxn, key 26. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["EndTxnRequest", "EndTxnResponse"]


class EndTxnRequest(Message):
    __slots__ = ('transactional_id', 'producer_id', 'producer_epoch', 'committed')
    NAME = "EndTxnRequest"
    API_KEY = 26
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('transactional_id', "string", default=""),
        Field('producer_id', "int64", default=0),
        Field('producer_epoch', "int16", default=0),
        Field('committed', "bool", default=False),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.committed: bool = committed


class EndTxnResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code', 'producer_id', 'producer_epoch')
    NAME = "EndTxnResponse"
    API_KEY = 26
    VERSIONS = Versions(0, 5)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
        Field('producer_id', "int64", versions=Versions(5, 32767), default=-1),
        Field('producer_epoch', "int16", versions=Versions(5, 32767), default=-1),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
