"""`share-groups --inspect` and `--redrive`: what is shown, what is refused, what the exit code says."""

from __future__ import annotations

import json

import pytest
from broker_in_a_box import run
from dead_letter_box import GROUP, NOW_MS, DeadLetterBox, Killed, a_letter, dead_letter_box
from test_cli_share_groups import command

from leaselog.admin.dead_letters import claim, report
from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.model import TopicPartition
from leaselog.wire.records import Record

DEAD = "dlq.packing"
ON = ("--group", GROUP, "--dead-letter-topic", DEAD)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "LOOK_AGAIN_MS", 5)
    monkeypatch.setattr("leaselog.admin.dead_letters.log_reader.MAX_WAIT_MS", 0)


async def letters(box: DeadLetterBox) -> None:
    await box.topic("orders", 1)
    await box.topic(DEAD, 1, max_message_bytes="1048588")
    order = Record(b"k0", b"\xff\x00" + b"x" * 200, [("trace", b"a1")])
    await box.append("orders", [order])
    late = "Offset delivery count exceeded the threshold."
    await box.append(
        DEAD,
        [
            a_letter("orders", 0, 0, None, count=1),
            a_letter("orders", 0, 7, Record(b"k7", "größer\n".encode()), cause=late),
            a_letter("orders", 0, 9, None, cause=late, time_ms=NOW_MS + 60_000),
            a_letter("orders", 0, 8, Record(b"k8", None), cause=late, time_ms=NOW_MS + 1_000),
        ],
    )


def test_letters_are_shown_by_cause_with_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            assert await command(box.cluster(), "--inspect", *ON) == 0  # type: ignore[misc]

    run(main())
    assert capsys.readouterr().out.split("\n") == [
        "",
        "Share group 'packing' has 4 letters in topic dlq.packing, 0 of them settled.",
        "",
        "LETTERS SETTLED FIRST                LAST                 CAUSE",
        "3       0       2023-11-14T22:13:20Z 2023-11-14T22:14:20Z Offset delivery count exceeded the threshold.",
        "1       0       2023-11-14T22:13:20Z 2023-11-14T22:13:20Z Offset rejected by client.",
        "",
        "Offset delivery count exceeded the threshold.",
        "  orders-0@7, delivered 5 times, 2023-11-14T22:13:20Z, letter dlq.packing-0@1",
        "  key      k7",
        "  headers  not in the letter, and the record is not in its log any more",
        "  value    größer\\n",
        "",
        "Offset rejected by client.",
        "  orders-0@0, delivered 1 time, 2023-11-14T22:13:20Z, letter dlq.packing-0@0",
        "  key      k0",
        "  headers  trace=a1",
        "  value    \\xff\\x00" + "x" * 92 + "…",
        "",
    ]


def test_causes_without_end_are_counted_together(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rejection may come with words of its own."""
    monkeypatch.setattr(report, "MAX_CAUSES", 30)

    async def main() -> None:
        async with dead_letter_box() as box:
            await box.topic(DEAD)
            record = Record(b"k", b"v")
            await box.append(
                DEAD, [a_letter("orders", 0, n, record, cause=f"no {n % 40}\n") for n in range(80)]
            )
            assert await command(box.cluster(), "--inspect", *ON) == 0  # type: ignore[misc]
            assert await command(box.cluster(), "--inspect", *ON, "--json") == 0  # type: ignore[misc]

    run(main())
    text, _, told = capsys.readouterr().out.partition("{")
    lines = text.splitlines()
    assert "LETTERS SETTLED" in lines[3]
    assert lines[4].endswith("Z (other causes)")
    assert lines[5].endswith("Z no 0\\n")
    assert "and 11 causes more, which --json has" in lines
    causes = json.loads("{" + told)["causes"]
    assert [cause["letters"] for cause in causes] == [20] + [2] * 30


def test_a_redrive_is_a_table_and_says_what_would_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            some = ("--redrive", *ON, "--where", "offset>=7", "--max-hops", "3")
            assert await command(box.cluster(), *some, "--dry-run") == 0  # type: ignore[misc]
            assert await command(box.cluster(), *some, "--execute", "--rate", "1000") == 0  # type: ignore[misc]
            assert await command(box.cluster(), "--redrive", *ON, "--execute", "--json") == 0  # type: ignore[misc]

    run(main())
    head = "GROUP   DEAD-LETTER-TOPIC LETTERS REDRIVEN BEFORE SKIPPED TOO-OFTEN REFUSED GONE REMAINING"
    row = "packing dlq.packing       4       2        0      1       0         0       1    0"
    lines = capsys.readouterr().out.split("\n")
    assert lines[:10] == [
        *("", head, row, "", "Would be put back: 2 to orders."),
        *("", "Nothing was written: this is what --execute would do.", "", head, row),
    ]
    assert lines[10:12] == ["", "Put back: 2 to orders."]
    assert json.loads("\n".join(lines[12:])) == {
        "group": "packing",
        "topic": "dlq.packing",
        "letters": 4,
        "redriven": 1,
        "before": 3,
        "skipped": 0,
        "tooOften": 0,
        "refused": 0,
        "gone": 0,
        "remaining": 0,
        "byTarget": {"orders": 1},
        "executed": True,
    }


def test_what_a_target_refuses_is_told_by_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            await box.topic("keyed", cleanup_policy="compact")
            await box.append(DEAD, [a_letter("orders", 0, 5, Record(None, b"no key"))])
            assert await command(box.cluster(), "--redrive", *ON, "--execute", "--to", "keyed") == 1  # type: ignore[misc]

    run(main())
    assert (
        "packing dlq.packing       5       3        0      0       0         1       1"
        in capsys.readouterr().out
    )


def test_whoever_is_stopped_hears_how_far_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            await letters(box)
            with pytest.raises(Killed):
                await command(box.cluster("ProduceRequest"), "--redrive", *ON, "--execute")  # type: ignore[misc]

    run(main())
    told = capsys.readouterr()
    assert "packing dlq.packing       4       0        0      0       0         0       0    4" in told.out
    assert "Not all of it: the next redrive goes on from here." in told.err


def test_a_group_without_a_dead_letter_topic_is_told_what_to_say() -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            for action in (["--inspect"], ["--redrive", "--execute"]):
                with pytest.raises(CommandFailed, match=r"is not set; --dead-letter-topic names one"):
                    await command(box.cluster(), *action, "--group", "none")  # type: ignore[misc]
            await letters(box)
            await box.admin.delete_records({TopicPartition(DEAD, 0): -1})
            assert await command(box.cluster(), "--inspect", *ON) == 0  # type: ignore[misc]

    run(main())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--redrive", *ON], "--redrive needs --dry-run to see what would be done, or --execute"),
        (["--redrive", *ON, "--dry-run", "--execute"], "--redrive needs --dry-run"),
        (["--redrive", "--execute"], "--redrive needs one --group ID"),
        (["--inspect", "--group", "a", "--group", "b"], "--inspect needs one --group ID"),
        (["--redrive", *ON, "--execute", "--rate", "0"], "--rate 0 would never put anything back"),
        (["--redrive", *ON, "--execute", "--rate", "nan"], "--rate nan would never put anything back"),
        (["--redrive", *ON, "--execute", "--to", DEAD], "--to dlq.packing is where the letters lie"),
        (
            ["--redrive", *ON, "--execute", "--where", "count>3"],
            "--where 'count>3': expected one of delivery.count",
        ),
        (["--inspect", *ON, "--where", "offset>3"], "--where goes with --redrive only"),
        (["--inspect", *ON, "--execute"], "--execute goes with --reset-offsets or --redrive only"),
        (["--list", "--dead-letter-topic", "t"], "--dead-letter-topic goes with --inspect or --redrive only"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_asked(words: list[str], said: str) -> None:
    async def main() -> None:
        async with dead_letter_box() as box:
            cluster = box.cluster()
            with pytest.raises(UsageError, match=said):
                await command(cluster, *words)  # type: ignore[misc]
            assert cluster.asked == []

    run(main())
