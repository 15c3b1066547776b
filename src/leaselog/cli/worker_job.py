"""What `leaselog worker` works on: a function with what the command line says, or a Worker that says most of it itself.

What is said on the command line goes before what the Worker says.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leaselog.cli.arguments import UsageError, key_values, properties_file
from leaselog.client import AsyncShareConsumer, Worker
from leaselog.client.share.calling import is_async
from leaselog.client.share.worker import EARLIEST, OnError

__all__ = ["VALUES", "Job", "job_of"]

#: what `--value` is in the consumer's configuration
VALUES = {"bytes": "bytes", "text": "string", "json": "json"}

_Handler = Callable[[Any], object]
_Consumer = AsyncShareConsumer[Any, Any]
_Wrap = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Job:
    topics: tuple[str, ...]
    config: dict[str, object]
    concurrency: int
    retry_delays: tuple[float, ...] | None
    #: None leaves it to the group
    begins: str | None
    is_async: bool
    handler: _Handler
    #: with an asyncio consumer, what is put around the handler, and options of `run`
    work: Callable[[_Consumer, _Wrap, Mapping[str, Any]], Awaitable[None]]
    on_error: OnError | None = None


def job_of(args: argparse.Namespace, found: Worker | _Handler) -> Job:
    """Raises ``UsageError`` for what is missing, and for what is said twice."""
    return _job_of_worker(args, found) if isinstance(found, Worker) else _job_of_function(args, found)


def _job_of_function(args: argparse.Namespace, handler: _Handler) -> Job:
    needed = {"--bootstrap-server": args.bootstrap_server, "--group": args.group, "--topic": args.topic}
    if missing := [option for option, value in needed.items() if not value]:
        raise UsageError(f"{args.handler} is a function, so it needs {', '.join(missing)}")

    async def work(consumer: _Consumer, around: _Wrap, options: Mapping[str, Any]) -> None:
        await consumer.run(around(handler), **options)

    config = _config(args, {})
    if args.value is not None:
        config["value.deserializer"] = VALUES[args.value]
    return Job(
        topics=tuple(args.topic),
        config=config,
        concurrency=args.concurrency or 1,
        retry_delays=args.retry_delays,
        begins=args.begins or EARLIEST,
        is_async=is_async(handler),
        handler=handler,
        work=work,
    )


def _job_of_worker(args: argparse.Namespace, worker: Worker) -> Job:
    for option, value in (("--topic", args.topic), ("--value", args.value)):
        if value:
            raise UsageError(f"{option}: the handlers of {args.handler} say so themselves")
    if not worker.topics:
        raise UsageError(f'{args.handler} has no handler: @worker.handler("orders") declares one')
    config = _config(args, worker.config())
    for option, key in (("--bootstrap-server", "bootstrap.servers"), ("--group", "group.id")):
        if not config.get(key):
            raise UsageError(f"{args.handler} does not say {key}, and neither does {option}")

    async def work(consumer: _Consumer, around: _Wrap, options: Mapping[str, Any]) -> None:
        await worker.work(consumer, around=around, **options)

    own = worker.options
    return Job(
        topics=tuple(sorted(worker.topics)),
        config=config,
        concurrency=args.concurrency or worker.concurrency,
        retry_delays=own["retry_delays"] if args.retry_delays is None else args.retry_delays,
        begins=args.begins or own["begins"],
        is_async=True,
        handler=_never,
        work=work,
        on_error=worker.on_error,
    )


def _config(args: argparse.Namespace, own: Mapping[str, object]) -> dict[str, object]:
    values: dict[str, object] = {}
    values |= properties_file(args.command_config) if args.command_config else {}
    values |= key_values("--consumer-property", args.command_property)
    configured = str(values.get("group.id", "")).strip()
    if args.group and configured and configured != args.group:
        raise UsageError(f"--group {args.group} and group.id={configured} do not match")
    said = {"bootstrap.servers": args.bootstrap_server, "group.id": args.group}
    given = {key: value for key, value in said.items() if value is not None}
    return {"client.id": "leaselog-worker", **own, **values, **given}


def _never(record: object) -> None:
    raise AssertionError("a Worker is worked with as a whole")
