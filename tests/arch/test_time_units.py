"""One unit for each kind of time: calls take seconds, configs and what is kept take milliseconds and say so."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import leaselog.admin
import leaselog.client

#: what a call may be asked to wait for, by the end of the parameter's name
SECONDS = ("timeout", "delay", "delays")
#: asked by the worker, by blocking consumers and by other rooms, and named as everything inside
INNER = ("AsyncShareConsumer.changed", "AsyncShareConsumer.end_work")


def public_calls() -> Iterator[tuple[str, inspect.Signature]]:
    for room in (leaselog.client, leaselog.admin):
        for name in room.__all__:
            found = getattr(room, name)
            if inspect.isclass(found) and not issubclass(found, BaseException):
                for method, function in inspect.getmembers(found, inspect.isfunction):
                    if not method.startswith("_") or method == "__init__":
                        yield f"{name}.{method}", inspect.signature(function)


def test_a_time_that_a_call_may_take_is_in_seconds_and_has_no_unit_in_its_name() -> None:
    asked = 0
    for call, signature in public_calls():
        for parameter in signature.parameters.values():
            words = parameter.name.split("_")
            if call in INNER or not set(SECONDS) & set(words):
                continue
            asked += 1
            assert words[-1] in SECONDS, f"{call}({parameter.name}): a call takes seconds, without a unit"
            assert "float" in str(parameter.annotation), f"{call}({parameter.name}: {parameter.annotation})"
    assert asked > 10
