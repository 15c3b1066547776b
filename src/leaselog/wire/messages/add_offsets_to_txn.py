"""AddOffsetsToTxn, key 25. Made by codegen/messages.py from Kafka's definitions; do not edit."""

from __future__ import annotations

from leaselog.wire.schema import Field, Message, Versions

__all__ = ["AddOffsetsToTxnRequest", "AddOffsetsToTxnResponse"]


class AddOffsetsToTxnRequest(Message):
    __slots__ = ('transactional_id', 'producer_id', 'producer_epoch', 'group_id')
    NAME = "AddOffsetsToTxnRequest"
    API_KEY = 25
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('transactional_id', "string", default=""),
        Field('producer_id', "int64", default=0),
        Field('producer_epoch', "int16", default=0),
        Field('group_id', "string", default=""),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
    ) -> None:
        self.transactional_id: str = transactional_id
        self.producer_id: int = producer_id
        self.producer_epoch: int = producer_epoch
        self.group_id: str = group_id


class AddOffsetsToTxnResponse(Message):
    __slots__ = ('throttle_time_ms', 'error_code')
    NAME = "AddOffsetsToTxnResponse"
    API_KEY = 25
    VERSIONS = Versions(0, 4)
    FLEXIBLE = Versions(3, 32767)
    FIELDS = (
        Field('throttle_time_ms', "int32", default=0),
        Field('error_code', "int16", default=0),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms: int = throttle_time_ms
        self.error_code: int = error_code
