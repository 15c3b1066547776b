"""The book of what was said to whoever keeps share state: it finds what does not fit, and excuses what may be."""

from __future__ import annotations

from uuid import UUID

from leaselog.coordination.share_state_batches import NO_OFFSET, StateBatch
from leaselog.coordination.share_state_commands import StateRead, WriteState
from leaselog.coordination.share_state_facts import SharePartitionKey
from leaselog.model import GroupId, TopicId
from leaselog.testing.sim_state_book import StateBook

KEY = SharePartitionKey(GroupId("g"), TopicId(UUID(int=1)), 0)
AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def write(book: StateBook, start: int, *batches: StateBatch, ok: bool | None = True) -> list[int]:
    """What the start passes without a reason. Not answered yet, if ``ok`` is None."""
    ask = WriteState(KEY, start_offset=start, batches=batches)
    asked, passed = book.write_asked(ask)
    if ok is not None:
        book.write_ended(asked, ask, ok=ok)
    return passed


def read(book: StateBook, start: int, *batches: StateBatch) -> list[str]:
    return book.read_answered(book.read_asked(), StateRead(0, start, batches))


def begun(start: int = 0) -> StateBook:
    book = StateBook()
    assert read(book, start) == []
    return book


def test_what_was_answered_is_read_back() -> None:
    book = begun()
    write(book, 0, StateBatch(1, 3, ACKNOWLEDGED, 1))
    assert read(book, 0, StateBatch(1, 3, ACKNOWLEDGED, 1)) == []
    assert "was answered" in read(book, 0, StateBatch(1, 2, ACKNOWLEDGED, 1))[0]


def test_a_write_without_an_answer_may_have_been_done_or_not() -> None:
    for done in ((), (StateBatch(1, 2, ACKNOWLEDGED, 1),)):
        book = begun()
        write(book, 0, StateBatch(1, 2, ACKNOWLEDGED, 1), ok=None)
        assert read(book, 0, *done) == []


def test_nothing_is_read_that_nobody_wrote() -> None:
    book = begun()
    write(book, 0, StateBatch(1, 2, AVAILABLE, 1))
    assert "nobody ever wrote" in read(book, 0, StateBatch(1, 2, ACKNOWLEDGED, 1))[0]


def test_a_count_that_was_answered_is_not_forgotten() -> None:
    book = begun()
    write(book, 0, StateBatch(1, 2, AVAILABLE, 1))
    write(book, 0, StateBatch(1, 2, AVAILABLE, 2))
    assert read(book, 0, StateBatch(1, 2, AVAILABLE, 1)) != []


def test_an_answer_that_came_after_the_question_is_not_asked_for() -> None:
    book = begun()
    asked = book.read_asked()
    write(book, 0, StateBatch(1, 2, ACKNOWLEDGED, 1))
    assert book.read_answered(asked, StateRead(0, 0)) == []
    assert read(book, 0) != [], "the next one is"


def test_a_start_is_where_somebody_moved_it() -> None:
    book = begun()
    write(book, 0, StateBatch(0, 2, ACKNOWLEDGED, 1))
    write(book, 2, StateBatch(2, 3, AVAILABLE, 1))
    assert read(book, 2, StateBatch(2, 3, AVAILABLE, 1)) == []
    assert "the start is 0" in read(book, 0, StateBatch(2, 3, AVAILABLE, 1))[-1]
    assert "the start is 3" in read(book, 3)[-1]


def test_a_start_passes_only_what_is_finished() -> None:
    book = begun()
    assert write(book, 0, StateBatch(0, 1, ACKNOWLEDGED, 1), StateBatch(1, 2, ARCHIVED, 5)) == []
    assert write(book, 2, StateBatch(2, 3, AVAILABLE, 1)) == []
    assert write(book, 4, StateBatch(3, 4, ACKNOWLEDGED, 1)) == [2, 3]


def test_a_write_that_failed_finishes_nothing_but_what_is_out_of_deliveries() -> None:
    book = begun()
    write(book, 0, StateBatch(0, 1, ARCHIVED, 5), StateBatch(1, 2, ACKNOWLEDGED, 1), ok=False)
    assert write(book, 2) == [1]


def test_a_new_beginning_knows_nothing_of_the_old_one() -> None:
    book = begun()
    asked = book.read_asked()
    write(book, 0, StateBatch(0, 5, ACKNOWLEDGED, 1))
    book.begins_anew()
    assert book.read_answered(asked, StateRead(0, 7)) == []
    assert read(book, NO_OFFSET) == []
    assert write(book, 3, StateBatch(3, 4, ACKNOWLEDGED, 1)) == []
    assert write(book, 5, StateBatch(5, 6, ACKNOWLEDGED, 1)) == [4]
