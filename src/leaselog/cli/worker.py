"""`leaselog worker`: calls a function for each record of a share group's topics, in as many processes as one likes.

The worker itself is `ShareConsumer.run`; what is here is what surrounds it. With one process it runs in this one, else
`worker_processes.py` starts this command again for each.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import leaselog
from leaselog import __version__
from leaselog.broker.runtime.structured_log import StructuredLog, configure_logging
from leaselog.cli.arguments import (
    CommandFailed,
    UsageError,
    add_connection,
    positive,
)
from leaselog.cli.extras import need, need_posix
from leaselog.cli.handler_name import find_handler
from leaselog.cli.refused import one_line
from leaselog.cli.source_changes import check_watching
from leaselog.cli.stop_signals import forget_signals, on_signals
from leaselog.cli.supervision import Supervision
from leaselog.cli.worker_endpoint import PROMETHEUS, TEXT, Answer, Endpoint, parse_listen
from leaselog.cli.worker_group import Prepared, prepare, told_dead_letters, told_retries
from leaselog.cli.worker_job import VALUES, Job, job_of
from leaselog.cli.worker_processes import ProcessRole, supervise
from leaselog.cli.worker_tally import OUTCOMES, Tally, counted, metrics_text, why_unwell
from leaselog.client import (
    AcknowledgeType,
    AsyncShareConsumer,
    ClientError,
    ConfigError,
    Reject,
    ShareConsumer,
    ShareRecord,
    Transient,
)
from leaselog.client.cluster import Cluster
from leaselog.client.share.calling import WrongHandler
from leaselog.client.share.extras import reason_of
from leaselog.client.share.metrics import MetricName
from leaselog.client.share.retrying import RetryDelays

__all__ = ["add_arguments", "arguments_of", "run"]

DRAIN_TIMEOUT_S = 30.0
#: beyond the drain, for the last words to brokers and for leaving the group
GOODBYE_S = 45.0
_BEGINS = re.compile(r"earliest|latest|by_duration:P.+")
#: of this process alone: those that are started for it are told otherwise, or not at all
_NOT_PASSED_ON = ("handler", "processes", "reload")

_OURS = str(Path(leaselog.__file__).parent)

log = StructuredLog("worker")
_plain_log = logging.getLogger("leaselog.worker")

Numbers = Mapping[MetricName, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "handler",
        metavar="MODULE:HANDLER",
        help="the function to call with each record, as tasks:pack, plain or async; or a Worker with its handlers",
    )
    add_connection(parser, is_needed=False, old_property="--consumer-property")
    parser.add_argument("--group", metavar="ID", help="the share group")
    parser.add_argument(
        "--topic",
        metavar="NAME",
        action="append",
        help="a topic to work on, as often as needed; a Worker has its own",
    )
    parser.add_argument(
        "--concurrency", type=positive, metavar="N", help="calls at a time in a process (1, or the Worker's)"
    )
    parser.add_argument("--processes", type=positive, default=1, metavar="N", help="worker processes (1)")
    parser.add_argument(
        "--retry-delays",
        type=_delays,
        metavar="S,S,…",
        help="seconds until a record that failed is delivered again, the last for all further times"
        " (the group's, or 1,10,60,600)",
    )
    parser.add_argument(
        "--dead-letter-topic",
        metavar="NAME",
        help="set the group's dead-letter topic, if it has none yet; the topic is created if it is missing",
    )
    parser.add_argument(
        "--begins",
        type=_begins,
        metavar="WHERE",
        help="where a group without share.auto.offset.reset begins: earliest, latest or by_duration:PT1H"
        " (earliest, or the Worker's)",
    )
    parser.add_argument(
        "--drain-timeout",
        type=_seconds,
        default=DRAIN_TIMEOUT_S,
        metavar="SECONDS",
        help="how long handlers may take to finish when the worker is told to stop (30)",
    )
    parser.add_argument("--value", choices=list(VALUES), help="what a record's value is for the handler")
    parser.add_argument(
        "--metrics",
        metavar="HOST:PORT",
        help="serve /healthz and Prometheus metrics at /metrics there; further processes take the ports that follow",
    )
    parser.add_argument(
        "--reload",
        action="store_true",
        help="start again when a .py file below the current directory changes",
    )
    parser.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    parser.add_argument("--log-format", default="text", choices=["text", "json"])


def _delays(text: str) -> tuple[float, ...]:
    try:
        return RetryDelays.checked(text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected seconds with commas, as 1,10,60") from None


def _begins(text: str) -> str:
    if not _BEGINS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text}: expected earliest, latest or by_duration:PT1H")
    return text


def _seconds(text: str) -> float:
    try:
        (seconds,) = RetryDelays.checked([text])
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: expected seconds") from None
    return seconds


def arguments_of(args: argparse.Namespace) -> list[str]:
    """The command line of one process that does what this one was asked for."""
    arguments = [args.handler]
    for name, value in vars(args).items():
        if name in _NOT_PASSED_ON or value is None:
            continue
        option = f"--{name.replace('_', '-')}"
        for one in value if isinstance(value, list) else [value]:
            text = ",".join(map(str, one)) if isinstance(one, tuple) else str(one)
            arguments.append(f"{option}={text}")
    return arguments


def run(args: argparse.Namespace) -> int:
    role = ProcessRole.take()
    listen = None if args.metrics is None else _listen(args, role)
    if args.reload:
        check_watching()
    configure_logging(level=args.log_level, form=args.log_format)
    if not role.is_supervised and (args.processes > 1 or args.reload):
        need_posix("a worker with --processes or --reload")
        rules = Supervision(
            args.processes, patience_ms=int((args.drain_timeout + GOODBYE_S) * 1000), reloads=args.reload
        )
        return supervise(arguments_of(args), rules, args.processes, is_watching=args.reload)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # what handlers print is read at once
    job = job_of(args, find_handler(args.handler))
    _share_log()
    return _Working(args, role, job).run(listen)


def _listen(args: argparse.Namespace, role: ProcessRole) -> tuple[str, int]:
    need("--metrics", "server", "prometheus_client")
    host, port = parse_listen(args.metrics)
    if port + (role.processes if role.is_supervised else args.processes) - 1 > 65535:
        raise UsageError(f"--metrics {args.metrics}: there are not as many ports as processes")
    return host, port + role.number - 1 if port else 0


def _share_log() -> None:
    """What handlers log is seen, too, unless their module has said where it goes."""
    root, ours = logging.getLogger(), logging.getLogger("leaselog")
    if not root.handlers:
        root.handlers[:] = ours.handlers
        root.setLevel(ours.level)


class _Blocking(ShareConsumer[Any, Any]):
    """Knows whether it was told to end, by a signal or otherwise."""

    is_ending = False

    def wakeup(self) -> None:
        self.is_ending = True
        super().wakeup()


class _Async(AsyncShareConsumer[Any, Any]):
    is_ending = False

    def wakeup(self) -> None:
        self.is_ending = True
        super().wakeup()


class _Working:
    """One worker process, from the first question to the cluster until the consumer is closed."""

    def __init__(self, args: argparse.Namespace, role: ProcessRole, job: Job) -> None:
        self._args = args
        self._role = role
        self._job = job
        self._tally = Tally()
        try:
            self._consumer: _Blocking | _Async = _Async(job.config) if job.is_async else _Blocking(job.config)
        except ConfigError as wrong:
            raise UsageError(str(wrong)) from None
        #: whether the cluster has answered, so that the consumer begins
        self._has_begun = False

    def run(self, listen: tuple[str, int] | None) -> int:
        endpoint = None
        if listen is not None:
            endpoint = Endpoint(listen, {"/healthz": self._health, "/metrics": self._metrics})
            log.info("metrics", address=endpoint.address, **self._which())
        try:
            prepared = asyncio.run(self._prepare())
            if prepared is None:
                return 0
            self._tell(prepared)
            self._work()
        except ClientError as failed:
            raise CommandFailed(one_line(failed, self._consumer.config.security)) from failed
        except WrongHandler as wrong:
            raise UsageError(str(wrong)) from wrong
        finally:
            if endpoint is not None:
                endpoint.close()
        return 0

    async def _prepare(self) -> Prepared | None:
        """None if it was told to stop before."""
        args, config = self._args, self._consumer.config

        async def ask() -> Prepared:
            async with Cluster(
                config.bootstrap_servers,
                client_id=config.client_id,
                request_timeout_ms=config.request_timeout_ms,
                api_timeout_ms=config.default_api_timeout_ms,
                security=config.security,
            ) as cluster:
                return await prepare(cluster, config.group_id, args.dead_letter_topic)

        asking = asyncio.create_task(ask())
        on_signals(asking.cancel, signal.SIGTERM, signal.SIGINT)
        self._role.watch()
        try:
            return await asking
        except asyncio.CancelledError:
            if not asking.cancelled():
                raise
            return None
        finally:
            forget_signals(signal.SIGTERM, signal.SIGINT)

    def _tell(self, prepared: Prepared) -> None:
        args, role, job = self._args, self._role, self._job
        if role.number > 1:
            log.info("working", **self._which())
            return
        log.info(
            "working",
            version=__version__,
            handler=args.handler,
            topics=",".join(job.topics),
            group=self._consumer.config.group_id,
            concurrency=job.concurrency,
            **self._which(),
            begins=job.begins or "as the group says",
            retries=told_retries(job.retry_delays, prepared),
            deliveries="unknown" if prepared.delivery_limit is None else prepared.delivery_limit,
            dead_letters=told_dead_letters(prepared),
        )

    def _which(self) -> dict[str, object]:
        role = self._role
        return {"process": f"{role.number}/{role.processes}"} if role.processes > 1 else {}

    def _work(self) -> None:
        consumer, args, job = self._consumer, self._args, self._job
        consumer.subscribe(job.topics)
        if self._role.is_supervised:
            # Whoever ends a group of processes signals each of them, and the supervisor passes it on once more: here
            # any number of signals is one, and the supervisor kills.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._stop)
        self._has_begun = True
        self._role.tell_ready()
        options: dict[str, Any] = {
            "concurrency": job.concurrency,
            "retry_delays": job.retry_delays,
            "begins": job.begins,
            "on_error": self._tell_failed,
            "drain_timeout": args.drain_timeout,
            "handle_signals": not self._role.is_supervised,
        }
        if isinstance(consumer, _Async):
            asyncio.run(self._work_async(consumer, options))
        else:
            with consumer:
                consumer.run(counted(job.handler, self._tally), **options)
        log.info("stopped", **self._which(), **self._tally.outcomes)

    async def _work_async(self, consumer: _Async, options: Mapping[str, Any]) -> None:
        work = self._job.work
        async with consumer:
            await work(consumer, lambda handler: counted(handler, self._tally), options)

    def _stop(self, *_: object) -> None:
        if not self._consumer.is_ending:
            self._consumer.wakeup()

    def _tell_failed(self, record: ShareRecord[Any, Any], error: Exception, kind: AcknowledgeType) -> None:
        self._tally.count(OUTCOMES[kind])
        facts = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "delivery": record.delivery_count,
            "outcome": OUTCOMES[kind],
            "reason": reason_of(error),
        }
        if record.is_last_attempt and kind is not AcknowledgeType.RENEW:
            facts["last"] = True
        is_expected = isinstance(error, (Transient, Reject, ClientError))
        trouble = None if is_expected else (type(error), error, _from_the_handler(error.__traceback__))
        _plain_log.warning("a record failed", exc_info=trouble, extra={"facts": facts})
        if self._job.on_error is not None:
            self._job.on_error(record, error, kind)

    def _numbers(self) -> Numbers | None:
        return self._consumer.metrics() if self._has_begun else None

    def _why_unwell(self, numbers: Numbers | None) -> str | None:
        return "it is stopping" if self._consumer.is_ending else why_unwell(numbers)

    def _health(self) -> Answer:
        why = self._why_unwell(self._numbers())
        return (200, TEXT, b"ok\n") if why is None else (503, TEXT, f"{why}\n".encode())

    def _metrics(self) -> Answer:
        numbers = self._numbers()
        is_well = self._why_unwell(numbers) is None
        return 200, PROMETHEUS, metrics_text(self._tally, numbers, is_well=is_well)


def _from_the_handler(trace: TracebackType | None) -> TracebackType | None:
    """Without the frames that led to it, which are ours."""
    inner = trace
    while inner is not None and inner.tb_frame.f_code.co_filename.startswith(_OURS):
        inner = inner.tb_next
    return inner or trace
