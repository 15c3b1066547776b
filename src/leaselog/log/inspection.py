"""Looking into batches before they enter a log: what only the records tell, and batches made anew in another codec.

Needed for few topics and few batches (see ``ingest``), and the one part of an append whose cost is not that of its
bytes: some kilobytes may unpack to 64 MiB. So it is done at once where it is little, and else offered in steps.
"""

from __future__ import annotations

from leaselog.log._intake import AppendRefused, RecordError, Unfit
from leaselog.log._steps import RECORDS_PER_STEP, Steps
from leaselog.log._unpacking import Repacking, Unpacking
from leaselog.log.ingest_rules import FOREVER_MS, IngestRules
from leaselog.model import ErrorCode
from leaselog.wire.errors import DecodeError
from leaselog.wire.primitives import Buffer
from leaselog.wire.record_batch import (
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    BatchHeader,
    TimestampType,
    rewrite_header,
)
from leaselog.wire.records import scan_times

__all__ = ["Inspection", "check_size", "needs_a_look"]

#: Every record of a refused batch fails, so naming more of them helps nobody and could fill a response.
MAX_RECORD_ERRORS = 1000

_DONE = object()


class Inspection:
    """The batches of one append. Once its ``steps`` are done either ``refusal`` says why they may not enter the log,
    or ``pieces`` has, for each batch, what takes its place."""

    def __init__(
        self,
        records: bytearray | memoryview,
        batches: list[tuple[int, BatchHeader]],
        rules: IngestRules,
        now_ms: int,
    ) -> None:
        self.records = records
        self.batches = batches
        self.rules = rules
        self.now_ms = now_ms
        self.refusal: AppendRefused | None = None
        #: the batch made anew where its codec must change; None where the buffer's own will do
        self.pieces: list[bytearray | None] = [None] * len(batches)

    def try_now(self) -> bool:
        """Do it here if it is soon done. False: it is not, and the records have been copied, as ``steps`` take longer
        than the buffer is theirs."""
        if next(self.steps(), _DONE) is _DONE:
            return True
        self.records = bytearray(self.records)
        return False

    def steps(self) -> Steps[None]:
        """What is soon done is done before the first pause, and may be begun again after it. Raises nothing."""
        try:
            for at, (position, header) in enumerate(self.batches):
                if needs_a_look(header, self.rules, self.now_ms):
                    self.pieces[at] = yield from self._look_into(position, header)
        except Unfit as unfit:
            self.refusal = unfit.refusal

    def _look_into(self, position: int, header: BatchHeader) -> Steps[bytearray | None]:
        rules, recompresses = self.rules, _recompresses(header, self.rules)
        unpacking = Unpacking(self.records, header, position)
        if not unpacking.try_now():
            yield unpacking
        try:
            records = unpacking.records()
            latest_ms = yield from _check_records(records, header, rules, self.now_ms)
            if rules.timestamp_type is TimestampType.CREATE_TIME:
                _settle_create_time(self.records, position, header, latest_ms)
        except DecodeError as error:
            raise Unfit(ErrorCode.INVALID_RECORD, str(error)) from None
        if not recompresses or rules.codec is None:
            return None
        repacking = Repacking(records, header, rules.codec, rules.level)
        if repacking.is_light:
            repacking.run()
        else:
            yield repacking
        check_size(header.size_bytes, rules)
        return repacking.batch


def needs_a_look(header: BatchHeader, rules: IngestRules, now_ms: int) -> bool:
    return _recompresses(header, rules) or _must_look_inside(header, rules, now_ms)


def check_size(size_bytes: int, rules: IngestRules) -> None:
    if size_bytes > rules.max_message_bytes:
        message = f"batch of {size_bytes} bytes, max.message.bytes is {rules.max_message_bytes}"
        raise Unfit(ErrorCode.MESSAGE_TOO_LARGE, message)


def _recompresses(header: BatchHeader, rules: IngestRules) -> bool:
    # Kafka leaves an uncompressed control batch alone.
    if rules.codec is None or header.is_control:
        return False
    return header.compression is not rules.codec


def _must_look_inside(header: BatchHeader, rules: IngestRules, now_ms: int) -> bool:
    if rules.is_compacted or header.attributes & LOG_APPEND_TIME_BIT:
        return True
    if rules.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return False
    # The upper limit has a default, an hour, so it must not cost a look inside: the header names the largest
    # timestamp, and the base is the first record's. The lower limit has none; a topic that sets it pays.
    latest_ms = max(header.max_timestamp, header.base_timestamp)
    return latest_ms - now_ms > rules.timestamp_after_max_ms or rules.timestamp_before_max_ms != FOREVER_MS


def _check_records(records: Buffer, header: BatchHeader, rules: IngestRules, now_ms: int) -> Steps[int]:
    """The largest timestamp there really is; every record is decoded and judged."""
    errors: list[RecordError] = []
    has_bad_timestamp = False
    latest_ms, total = NO_TIMESTAMP, 0
    for index, (_, timestamp_ms, has_key) in enumerate(scan_times(records, header)):
        latest_ms = max(latest_ms, timestamp_ms)
        lacks_key = rules.is_compacted and not has_key
        if lacks_key or _is_bad_time(timestamp_ms, header, rules, now_ms):
            total += 1
            has_bad_timestamp = has_bad_timestamp or not lacks_key
            if len(errors) < MAX_RECORD_ERRORS:
                fault = (
                    "no key, and the topic is compacted"
                    if lacks_key
                    else _timestamp_error(timestamp_ms, rules, now_ms)
                )
                errors.append(RecordError(index, fault))
        if index % RECORDS_PER_STEP == RECORDS_PER_STEP - 1:
            yield None
    if errors:
        code = ErrorCode.INVALID_TIMESTAMP if has_bad_timestamp else ErrorCode.INVALID_RECORD
        message = f"{total} of {header.record_count} records refused; the first, {errors[0].index}: "
        raise Unfit(code, message + errors[0].message, tuple(errors))
    return latest_ms


def _is_bad_time(timestamp_ms: int, header: BatchHeader, rules: IngestRules, now_ms: int) -> bool:
    if _is_bounded(timestamp_ms, rules):
        return not -rules.timestamp_after_max_ms <= now_ms - timestamp_ms <= rules.timestamp_before_max_ms
    return bool(header.attributes & LOG_APPEND_TIME_BIT)


def _is_bounded(timestamp_ms: int, rules: IngestRules) -> bool:
    return rules.timestamp_type is TimestampType.CREATE_TIME and timestamp_ms != NO_TIMESTAMP


def _timestamp_error(timestamp_ms: int, rules: IngestRules, now_ms: int) -> str:
    if not _is_bounded(timestamp_ms, rules):
        return "a producer may not claim log append time"
    earliest, latest = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
    return f"timestamp {timestamp_ms}, expected one in [{earliest}, {latest}]"


def _settle_create_time(
    records: bytearray | memoryview, position: int, header: BatchHeader, latest_ms: int
) -> None:
    """Correct a header that claims another largest timestamp, or the log's time, as Kafka does silently."""
    if header.max_timestamp == latest_ms and not header.attributes & LOG_APPEND_TIME_BIT:
        return
    header.max_timestamp = latest_ms
    header.attributes &= ~LOG_APPEND_TIME_BIT
    rewrite_header(records, position, header)
