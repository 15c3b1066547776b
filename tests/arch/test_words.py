"""One word for one thing: what the glossary retires is in no page, no help and no log line.

The words are read from the glossary's own last table, so it cannot promise what nobody checks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from leaselog.cli.main import COMMANDS, command_parser

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
#: what it retires, as it is written in pages: inflected, and with or without a hyphen
RETIRED = {
    "lock (of a record)": r"(?<!un)\b[Ll]ock(s|ed)?\b",
    "acquisition lock": r"\bacquisition lock",
    "visibility timeout": r"\bvisibility time",
    "lend": r"\b[Ll]end(s|ing)?\b",
    "lent": r"\b[Ll]ent\b",
    "on loan": r"\bloan(s|ed)?\b",
    "nack": r"\bnack",
    "requeue": r"\b[Rr]e-?queue",
    "DLQ": r"\bDLQ",
    "dead-letter queue": r"\b[Dd]ead[- ]letter queue",
    "letter queue": r"\bletter queue",
    "poison message": r"\b[Pp]oison",
    "unacked": r"\b[Uu]nacked\b",
    "unacknowledged message": r"\b[Uu]nacknowledged message",
    "attempt (of a record)": r"\b(delivery attempts?|last attempt|attempts? (of|at) a record)\b",
}
#: sentences that need the word, by page, and why
ALLOWED = {
    ("docs/coming-from/parallel-consumer.md", "or lock by key in the handler"): "a lock of the application",
    (
        "docs/reference/metrics.md",
        "left out: a share partition has one owner, and needs no such lock",
    ): "Kafka's locks in its broker",
    ("docs/guides/locked-broker.md", "# A locked broker"): "a lock that keeps people out",
    ("docs/reference/configuration.md", "How long a lease lasts (Kafka's acquisition lock)."): "Kafka's name",
}
#: errors in Kafka's own words, which its clients show, too
KAFKAS = ("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'",)
#: a lock of the file system
FILES = (" is in use by another broker (it holds the lock on ",)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
#: names of settings that the reference spells without quotes
KEY = re.compile(r"\b\w+(\.\w+)+\b")
#: pages about others, whose words they have to use; past decisions; what was measured and found; names of the code
ELSEWHERE = (
    "docs/coming-from/",
    "docs/adr/",
    "docs/glossary.md",
    "docs/benchmarks.md",
    "docs/reliability.md",
    "docs/reference/files.md",
    "docs/reference/rooms.md",
)


def pages() -> list[str]:
    every = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    names = sorted(str(page.relative_to(ROOT)) for page in every)
    return [name for name in names if not name.startswith(ELSEWHERE)]


def retired(text: str) -> list[str]:
    """Lines with a word that is not used here."""
    prose = KEY.sub("", CODE.sub(lambda code: "\n" * code[0].count("\n"), text))
    return [line for line in prose.splitlines() if any(re.search(word, line) for word in RETIRED.values())]


def test_what_is_checked_is_what_the_glossary_retires() -> None:
    table = GLOSSARY.read_text().partition("| not | but |")[2]
    words = [word for row in re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE) for word in row.split(", ")]
    assert [word for word in words if word != "---"] == list(RETIRED)


@pytest.mark.parametrize("page", pages())
def test_a_page_has_no_word_that_is_retired(page: str) -> None:
    text = (ROOT / page).read_text()
    for of, words in ALLOWED:
        if of == page:
            assert words in text, f"{page} needs no exception for {words!r} any more"
            text = text.replace(words, "")
    assert retired(text) == []


def test_no_help_of_a_command_has_a_word_that_is_retired() -> None:
    for name in COMMANDS:
        assert retired(command_parser(name).format_help()) == [], name


def test_no_log_line_and_no_error_has_a_word_that_is_retired() -> None:
    for path in sorted((ROOT / "src" / "leaselog").rglob("*.py")):
        if "messages" not in path.parts:
            found = [
                words for words in told_to_users(path) if retired(words) and words not in (*KAFKAS, *FILES)
            ]
            assert found == [], path


def told_to_users(path: Path) -> Iterator[str]:
    """The texts of log lines and of errors that are raised."""
    for node in ast.walk(ast.parse(path.read_text())):
        told = node.exc if isinstance(node, ast.Raise) else node if is_log_line(node) else None
        for part in ast.walk(told) if told is not None else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def is_log_line(node: ast.AST) -> bool:
    levels = ("debug", "info", "warning", "error", "exception")
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in levels
