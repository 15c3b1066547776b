"""Telling many numbers in small steps: the text of a scrape is made a line at a time, in turn with all else.

Families of many samples make them as they are asked for, and collectors that must add up over many things say in
between where they may be interrupted. What was added up before a pause and what is told behind it may differ by what
happened meanwhile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

__all__ = ["LongFamily", "SteppingCollector", "batched", "lines"]

T = TypeVar("T")

#: of what is added up, so much in one step
AT_ONCE = 200


class LongFamily(Metric):
    """A family whose samples are made when they are read, each time anew. Their names are given in full."""

    def __init__(self, name: str, text: str, kind: str, samples: Callable[[], Iterator[Sample]]) -> None:
        super().__init__(name, text, kind)
        self._make = samples
        del self.samples

    def __getattr__(self, name: str) -> Iterator[Sample]:
        if name != "samples":
            raise AttributeError(name)
        return self._make()


def batched(things: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many at a time as are worked through in one step."""
    return (things[at : at + AT_ONCE] for at in range(0, len(things), AT_ONCE))


class SteppingCollector(Collector):
    @abstractmethod
    def steps(self) -> Iterator[Metric | None]:
        """The families; None where it may be interrupted."""

    def collect(self) -> Iterable[Metric]:
        return (family for family in self.steps() if family is not None)


def lines(collectors: Iterable[Collector]) -> Iterator[str]:
    """The text of all of them, as Prometheus reads it, in pieces; an empty one is a step without text."""
    for collector in collectors:
        found = collector.steps() if isinstance(collector, SteppingCollector) else collector.collect()
        for family in found:
            if family is None:
                yield ""
                continue
            name = f"{family.name}_total" if family.type == "counter" else family.name
            text = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
            yield f"# HELP {name} {text}\n# TYPE {name} {family.type}\n"
            yield from map(_line, family.samples)


def _line(sample: Sample) -> str:
    if not sample.labels:
        return f"{sample.name} {float(sample.value)!r}\n"
    labels = ",".join([f'{name}="{_escaped(value)}"' for name, value in sorted(sample.labels.items())])
    return f"{sample.name}{{{labels}}} {float(sample.value)!r}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
