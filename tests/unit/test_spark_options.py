"""Options of kafka-share: what is taken, what is refused by name, and how the two ends of the box find each other."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from leaselog.client import AcknowledgeType, ConfigError
from leaselog.spark.options import Acknowledge, BoxOptions, SourceOptions, StartingOffsets
from leaselog.spark.outcome_box import BoxInUse, OutcomeBox, SpoiltReport, live_boxes
from leaselog.spark.outcomes import newest, report_of
from leaselog.spark.runs import Run

LEAST = {"kafka.bootstrap.servers": "host:9092", "kafka.share.group.id": "g", "subscribe": "b, a,a"}


def test_the_least_that_has_to_be_said() -> None:
    options = SourceOptions.of(LEAST)
    assert options.topics == ("a", "b")
    assert options.acknowledge is Acknowledge.ON_COMMIT
    assert options.unmentioned is AcknowledgeType.ACCEPT
    assert options.fail_on_data_loss
    assert options.parallelism >= 1


def test_names_of_options_may_have_any_case_as_spark_has_it() -> None:
    options = SourceOptions.of({
        **LEAST,
        "MAXRECORDSPERBATCH": "7",
        "startingoffsets": "Earliest",
        "Acknowledge": "on-plan",
        "unMentioned": "release",
        "includeHeaders": "TRUE",
    })  # fmt: skip
    assert options.max_records == 7
    assert options.starting_offsets is StartingOffsets.EARLIEST
    assert options.acknowledge is Acknowledge.ON_PLAN
    assert options.unmentioned is AcknowledgeType.RELEASE
    assert options.include_headers


def test_options_of_the_client_are_passed_on() -> None:
    config = SourceOptions.of({**LEAST, "kafka.request.timeout.ms": "1234"}).consumer_config()
    assert config["request.timeout.ms"] == "1234"
    assert config["group.id"] == "g"


@pytest.mark.parametrize("missing", sorted(LEAST))
def test_what_is_missing_is_named(missing: str) -> None:
    with pytest.raises(ConfigError, match=missing):
        SourceOptions.of({name: value for name, value in LEAST.items() if name != missing})


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("assign", "{}", "subscribe"),
        ("subscribePattern", "a.*", "subscribe"),
        ("endingOffsets", "latest", "availableNow"),
        ("maxOffsetsPerTrigger", "10", "maxRecordsPerBatch"),
        ("minPartitions", "10", "parallelism"),
        ("kafka.group.id", "x", r"kafka\.share\.group\.id"),
        ("kafka.share.acknowledgement.mode", "implicit", "acknowledge"),
        ("kafka.auto.offset.reset", "earliest", "share group"),
        ("kafka.no.such.thing", "1", r"no\.such\.thing"),
        ("maxRecordPerBatch", "10", "maxRecordsPerBatch"),
        ("startingOffsets", '{"a":{"0":1}}', "earliest, latest"),
        ("parallelism", "0", "1 to"),
        ("maxBytesPerBatch", "64m", "a number"),
        ("failOnDataLoss", "maybe", "true or false"),
        ("acknowledge", "never", "on-commit, on-plan, explicit"),
        ("outcomesLocation", "outcomes", "full path"),
        ("outcomesLocation", "hdfs://name/outcomes", "full path"),
    ],
)
def test_what_would_lie_or_is_mistyped_is_refused_by_name(name: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as refused:
        SourceOptions.of({**LEAST, name: value})
    assert name.removeprefix("kafka.").lower() in str(refused.value).lower()


def test_the_sink_takes_what_spark_adds_and_nothing_of_the_source() -> None:
    given = {name: value for name, value in LEAST.items() if name != "subscribe"}
    assert BoxOptions.of({**given, "checkpointLocation": "/c", "path": "x"}) == SourceOptions.of(LEAST).box
    with pytest.raises(ConfigError, match="subscribe"):
        BoxOptions.of(LEAST)


def test_a_report_names_the_record_whose_outcome_is_none() -> None:
    with pytest.raises(ValueError, match="t-3 offset 9: ack is 'maybe'"):
        report_of([("t", 3, 8, "accept"), ("t", 3, 9, "maybe")])


def test_the_most_careful_word_about_a_record_holds() -> None:
    said = [("t", 0, 1, "accept"), ("t", 0, 1, "reject"), ("t", 0, 2, "Release"), ("t", 0, 2, "reject")]
    assert report_of(said) == (Run("t", 0, 1, 2, 3), Run("t", 0, 2, 3, 2))


def test_of_two_attempts_at_a_batch_the_last_one_counts() -> None:
    first, again = report_of([("t", 0, 1, "reject")]), report_of([("t", 0, 2, "reject")])
    assert newest([(4, first), (4, again)]) == again
    assert newest([(4, first), (5, report_of([("t", 0, 1, "accept")]))]) == (Run("t", 0, 1, 2, 1),)


def box(folder: Path, channel: str = "") -> OutcomeBox:
    return OutcomeBox(BoxOptions("host:9092", "g", str(folder), channel))


def test_what_is_dropped_is_read_in_order_and_discarded_once(tmp_path: Path) -> None:
    dropped = [report_of([("t", 0, offset, "reject")]) for offset in range(3)]
    for number, outcomes in enumerate(dropped):
        box(tmp_path).drop(number, outcomes)
    found = box(tmp_path).read()
    assert [report.outcomes for report in found] == dropped
    assert [report.batch_id for report in found] == [0, 1, 2]
    box(tmp_path).discard(found[:2])
    box(tmp_path).discard(found[:2])
    assert box(tmp_path).read() == found[2:]


def test_a_report_is_of_the_batch_that_the_source_began_last(tmp_path: Path) -> None:
    with box(tmp_path).as_owner():
        box(tmp_path).drop(0, ())
        for number in (4, 5):
            box(tmp_path).begin(number)
            box(tmp_path).drop(number + 1, ())
    box(tmp_path).drop(7, ())
    assert [(report.batch_id, report.number) for report in box(tmp_path).read()] == [
        (0, 0),
        (5, 4),
        (6, 5),
        (7, 5),
    ]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"batch": 1}', '{"batch": 1, "outcomes": 7, "number": 1}']
)
def test_a_report_that_the_disk_spoilt_is_named_with_what_to_do(tmp_path: Path, content: str) -> None:
    made = box(tmp_path)
    made.drop(0, ())
    (report,) = made.folder.glob("report-*")
    report.write_text(content)
    with pytest.raises(SpoiltReport, match=rf"{report.name} .*Delete it"):
        made.read()


@dataclass(frozen=True)
class Synced:
    """What was there when the disk was waited for."""

    path: Path
    reports: int
    content: str


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Synced]:
    """Every sync of a file or folder below ``tmp_path``."""
    found: list[Synced] = []
    fsync = os.fsync

    def watched(handle: int) -> None:
        at = os.fstat(handle)
        places = (tmp_path.parent, tmp_path, *tmp_path.rglob("*"))
        (path,) = [place for place in places if os.path.samestat(place.stat(), at)]
        reports = len(list(tmp_path.rglob("report-*")))
        found.append(Synced(path, reports, path.read_text() if path.is_file() else ""))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    return found


def test_a_report_is_seen_when_it_is_whole_on_disk_and_safe_when_drop_returns(
    tmp_path: Path, synced: list[Synced]
) -> None:
    made = box(tmp_path / "outcomes")
    made.drop(0, report_of([("t", 0, 1, "reject")]))
    *folders, file, last = synced
    assert [of.path for of in folders] == [tmp_path / "outcomes", tmp_path]  # new ones are found again
    assert file.reports == 0
    assert json.loads(file.content)["batch"] == 0
    assert (last.path, last.reports) == (made.folder, 1)
    synced.clear()
    made.drop(1, report_of([("t", 0, 1, "reject")]))
    assert [of.reports for of in synced] == [1, 2]


def test_what_is_discarded_does_not_come_back_after_a_power_cut(tmp_path: Path, synced: list[Synced]) -> None:
    made = box(tmp_path)
    made.drop(0, report_of([("t", 0, 1, "reject")]))
    made.discard(made.read())
    assert (synced[-1].path, synced[-1].reports) == (made.folder, 0)


def test_half_a_report_of_who_was_killed_is_no_report_and_is_cleared_away(tmp_path: Path) -> None:
    made = box(tmp_path)
    made.drop(0, report_of([("t", 0, 1, "reject")]))
    half = made.folder / ".report-00000000000000000001-1-half.json.part"
    half.write_text('{"batch": 1, "outc')
    os.utime(half, times=(0, 0))
    young = half.with_name(".report-00000000000000000002-2-young.json.part")
    young.touch()
    assert [report.batch_id for report in made.read()] == [0]
    with box(tmp_path).as_owner():
        assert (half.exists(), young.exists()) == (False, True)
        assert [report.batch_id for report in made.read()] == [0]


def test_a_box_has_one_owner_and_is_alive_as_long_as_that(tmp_path: Path) -> None:
    with box(tmp_path).as_owner(), box(tmp_path, "other").as_owner():
        with pytest.raises(BoxInUse, match="outcomesChannel"), box(tmp_path).as_owner():
            pass
        assert {found.channel for found in live_boxes(str(tmp_path))} == {"", "other"}
    assert live_boxes(str(tmp_path)) == []
    with box(tmp_path).as_owner():
        assert live_boxes(str(tmp_path)) == [BoxOptions("host:9092", "g", str(tmp_path), "")]
