"""One target under atheris, in a process of its own: libFuzzer decides when it ends. `run.py` starts it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))  # the bench
sys.path.insert(0, str(Path(__file__).parents[1]))

with atheris.instrument_imports(include=["leaselog"]):
    from fuzz.cost import allocations_traced, spend
    from fuzz.targets import TARGETS, Target, Unwanted
    from leaselog.wire import codec


def main() -> None:
    """Arguments: the target's name, and libFuzzer's own."""
    target = TARGETS[sys.argv[1]]
    _instrument_compiled_codecs()
    with allocations_traced(target.budget):
        atheris.Setup([sys.argv[0], *sys.argv[2:]], _once(target))
        atheris.Fuzz()


def _once(target: Target) -> Callable[[bytes], int]:
    def once(data: bytes) -> int:
        try:
            spend(target.budget, target.run, data)
        except Unwanted:
            return -1  # not for the corpus
        return 0

    return once


def _instrument_compiled_codecs() -> None:
    """Decoders are written while they are needed, which the hook for imports never sees."""
    compile_one = codec._compile

    def compiled(name: str, *rest: Any) -> Any:
        made = compile_one(name, *rest)
        # A tenth of a second each, so not for encoders, whose input is what a decoder made.
        return atheris.instrument_func(made) if name == "decode" else made

    codec._compile = compiled


if __name__ == "__main__":
    main()
