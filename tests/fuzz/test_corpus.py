"""Everything that fuzzing has ever reached, once more: no exception, no contradiction, no cost out of proportion."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fuzz.corpus import load
from fuzz.cost import allocations_traced, spend
from fuzz.seeds import SEEDS
from fuzz.targets import TARGETS, Unwanted


@pytest.mark.parametrize("name", TARGETS)
def test_what_was_kept_of_fuzzing_is_still_harmless(name: str) -> None:
    target, seeds, kept = TARGETS[name], list(SEEDS[name]()), load(name)
    assert len(set(seeds)) > 3
    for data in seeds:
        target.run(data)  # raises Unwanted for a seed that does not have its target's shape
    assert kept, f"make fuzz TARGET={name}, and then tests/fuzz/run.py {name} --keep"
    with allocations_traced(target.budget):  # by now all that is made once has been made
        for digest, data in kept.items():
            _run(name, digest, lambda data: spend(target.budget, target.run, data), data)


def _run(name: str, digest: str, run: Callable[[bytes], object], data: bytes) -> None:
    try:
        run(data)
    except Unwanted:
        pass  # a message that there is no more
    except Exception as finding:
        finding.add_note(f"input {digest} of {name}")
        raise
