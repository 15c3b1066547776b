"""Calls about several things, of which some may fail: each is tried again by itself, and each has its own outcome.

A call about one thing raises that thing's error. A call about several raises ``SomeFailed``, an exception group that
also holds what did succeed; so ``except GroupNotEmptyException`` serves the one and ``except*`` the other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from leaselog.client import BrokerError
from leaselog.client.cluster import Cluster
from leaselog.model import ErrorCode

__all__ = ["COORDINATOR_TROUBLE", "Outcomes", "SomeFailed", "outcome", "settle", "try_each"]

K = TypeVar("K")
V = TypeVar("V")
#: what became of each thing that was asked for: its result, or why not
Outcomes = dict[K, V | BrokerError]

#: passes by itself, and the answer may come from another node then
COORDINATOR_TROUBLE = frozenset({
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
})  # fmt: skip


class SomeFailed(ExceptionGroup[BrokerError]):
    """``errors`` by what was asked for, and ``results`` of the rest."""

    errors: Mapping[Any, BrokerError]
    results: Mapping[Any, Any]

    def __new__(cls, errors: Mapping[Any, BrokerError], results: Mapping[Any, Any]) -> SomeFailed:
        named = "; ".join(f"{key}: {error}" for key, error in errors.items())
        made = super().__new__(cls, f"{len(errors)} failed, {len(results)} done: {named}", [*errors.values()])
        made.errors, made.results = errors, results
        return made

    def derive(self, excs: Sequence[BrokerError]) -> SomeFailed:  # type: ignore[override]
        return SomeFailed({k: e for k, e in self.errors.items() if e in excs}, self.results)


def outcome(code: int, message: str | None, result: V) -> V | BrokerError:
    return BrokerError(code, message) if code else result


def settle(outcomes: Mapping[K, V | BrokerError]) -> dict[K, V]:
    """The results if there is nothing else. Raises the error of a single thing, ``SomeFailed`` for several."""
    errors = {key: error for key, error in outcomes.items() if isinstance(error, BrokerError)}
    results = {key: value for key, value in outcomes.items() if not isinstance(value, BrokerError)}
    if len(outcomes) == 1:
        for error in errors.values():
            raise error
    if errors:
        raise SomeFailed(errors, results)
    return results


async def try_each(
    cluster: Cluster,
    keys: Iterable[K],
    attempt: Callable[[Sequence[K]], Awaitable[Mapping[K, V | BrokerError]]],
    *,
    passing: Collection[ErrorCode],
) -> Outcomes[K, V]:
    """The outcome for each key; what failed with a code of ``passing`` is tried again until the deadline."""
    wanted = list(dict.fromkeys(keys))
    outcomes = Outcomes[K, V]()
    failing: BrokerError | None = None

    async def once() -> None:
        nonlocal failing
        left = [key for key in wanted if key not in outcomes or _is_passing(outcomes[key], passing)]
        outcomes.update(await attempt(left))
        for found in outcomes.values():
            if _is_passing(found, passing):
                assert isinstance(found, BrokerError)
                failing = found
                raise failing

    try:
        await cluster.retrying(once)
    except BrokerError as last:
        if last is not failing:  # the whole attempt failed, not one of its parts
            raise
    return outcomes


def _is_passing(found: object, passing: Collection[ErrorCode]) -> bool:
    return isinstance(found, BrokerError) and found.code in passing
