"""Patterns as RE2 has them, matched against whole texts in a time that grows with text times pattern, whatever it is.

Python's own patterns can be made to take for ever by whoever writes them, and a stranger does. These know literals,
``.``, classes with ranges and negation, ``\\d \\w \\s`` and their opposites, groups, ``|`` and ``* + ?``; what else RE2
knows (counted repetitions, anchors, flags, Unicode classes, word boundaries) is refused as unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

__all__ = ["BadPattern", "Pattern"]

#: in characters; what is made of it has three states for each at most
PATTERN_LENGTH_MAX = 1_000

_Test = Callable[[str], bool]
#: a state: what its character has to be (None: it takes none) and where it leads
_State = tuple[_Test | None, list[int]]

_DIGITS = frozenset("0123456789")
_SPACES = frozenset("\t\n\f\r ")
_ESCAPES: dict[str, _Test] = {
    "d": lambda c: c in _DIGITS,
    "D": lambda c: c not in _DIGITS,
    "s": lambda c: c in _SPACES,
    "S": lambda c: c not in _SPACES,
    "w": lambda c: c.isascii() and (c.isalnum() or c == "_"),
    "W": lambda c: not (c.isascii() and (c.isalnum() or c == "_")),
}
_CONTROLS = {"t": "\t", "n": "\n", "f": "\f", "r": "\r", "v": "\v", "a": "\a"}


class BadPattern(ValueError):
    """What is no pattern, or one of those that are not known here."""


class Pattern:
    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_LENGTH_MAX:
            raise BadPattern(f"{len(text)} characters, at most {PATTERN_LENGTH_MAX}")
        self._text = text
        self._at = 0
        self._states: list[_State] = []
        start, ends = self._alternatives(0)
        if self._at < len(text):
            raise BadPattern(f"unexpected {text[self._at]!r} at {self._at}")
        self._end = self._state(None)
        self._join(ends, self._end)
        self._start = start

    def matches(self, text: str) -> bool:
        """Whether all of it is what the pattern says."""
        now = self._reach([self._start])
        for character in text:
            if not now:
                return False
            now = self._reach(self._led(now, character))
        return self._end in now

    def _led(self, states: Iterable[int], character: str) -> Iterator[int]:
        for at in states:
            test, to = self._states[at]
            if test is not None and test(character):
                yield from to

    def _reach(self, states: Iterable[int]) -> set[int]:
        """These, and where one gets from them without a character."""
        left, found = list(states), set[int]()
        while left:
            at = left.pop()
            if at not in found:
                found.add(at)
                test, to = self._states[at]
                if test is None:
                    left += to
        return found

    # What is read becomes states: each part is its first state and the states that are still to be led on.

    def _state(self, test: _Test | None, *to: int) -> int:
        self._states.append((test, list(to)))
        return len(self._states) - 1

    def _join(self, ends: Iterable[int], to: int) -> None:
        for end in ends:
            self._states[end][1].append(to)

    def _alternatives(self, depth: int) -> tuple[int, list[int]]:
        if depth > 50:
            raise BadPattern("groups are nested too deeply")
        fork = self._state(None)
        ends: list[int] = []
        while True:
            start, more = self._sequence(depth)
            self._states[fork][1].append(start)
            ends += more
            if not self._takes("|"):
                return fork, ends

    def _sequence(self, depth: int) -> tuple[int, list[int]]:
        start = last = self._state(None)
        ends = [last]
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            first, more = self._repeated(depth)
            self._join(ends, first)
            ends = more
        return start, ends

    def _repeated(self, depth: int) -> tuple[int, list[int]]:
        start, ends = self._one(depth)
        if self._takes("*"):
            start = loop = self._state(None, start)
            self._join(ends, loop)
            ends = [loop]
        elif self._takes("+"):
            loop = self._state(None, start)
            self._join(ends, loop)
            ends = [loop]
        elif self._takes("?"):
            start = self._state(None, start)
            return start, [start, *ends]
        else:
            return start, ends
        self._takes("?")  # lazy: the same texts match
        return start, ends

    def _one(self, depth: int) -> tuple[int, list[int]]:
        character = self._next()
        if character == "(":
            if self._takes("?") and not self._takes(":"):
                raise BadPattern("flags and named groups are not known")
            part = self._alternatives(depth + 1)
            if not self._takes(")"):
                raise BadPattern("a group has no end")
            return part
        if character in "*+?":
            raise BadPattern(f"{character!r} repeats nothing")
        at = self._state(self._test_of(character))
        return at, [at]

    def _test_of(self, character: str) -> _Test | None:
        if character == ".":
            return lambda c: c != "\n"
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character in "^${}":
            raise BadPattern(f"{character!r} is not known here")
        return lambda c: c == character

    def _escape(self) -> _Test:
        escaped = self._next()
        if escaped in _ESCAPES:
            return _ESCAPES[escaped]
        literal = _CONTROLS.get(escaped, escaped)
        if literal == escaped and escaped.isalnum():
            raise BadPattern(f"\\{escaped} is not known")
        return lambda c: c == literal

    def _class(self) -> _Test:
        is_negated = self._takes("^")
        tests: list[_Test] = []
        while not (tests and self._takes("]")):
            tests.append(self._member())
        return lambda c: any(test(c) for test in tests) != is_negated

    def _member(self) -> _Test:
        first = self._next()
        if first == "\\":
            return self._escape()
        if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in (
            "]",
            "",
        ):
            self._at += 1
            last = self._next()
            if last == "\\" or last < first:
                raise BadPattern(f"no range: {first}-{last}")
            return lambda c: first <= c <= last
        return lambda c: c == first

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise BadPattern("the pattern ends too soon")
        self._at += 1
        return self._text[self._at - 1]

    def _takes(self, character: str) -> bool:
        is_next = self._text[self._at : self._at + 1] == character
        self._at += is_next
        return is_next
