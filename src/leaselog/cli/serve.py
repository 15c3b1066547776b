"""`leaselog serve`: one broker in this process, until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leaselog import __version__
from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.config.listeners import EVERY_ADDRESS, Address, Listener, advertised_addresses
from leaselog.broker.net.serving import Serving, plan_serving
from leaselog.broker.runtime.structured_log import StructuredLog, configure_logging
from leaselog.broker.security.exchanges import SALT_LENGTH, SALT_LETTERS
from leaselog.broker.security.first_users import read_first_users
from leaselog.cli.arguments import UsageError
from leaselog.cli.extras import need_server

if TYPE_CHECKING:
    from leaselog.broker.broker import Broker
    from leaselog.coordination.cluster_records import ScramCredentialSet

__all__ = ["add_arguments", "run"]

#: macOS says that there is no limit, and refuses more than this, which is its OPEN_MAX
MACOS_OPEN_MAX = 10_240

#: users to be made, one a line: arguments are seen by everybody on the machine
FIRST_USERS = "LEASELOG_ADD_SCRAM"

log = StructuredLog("serve")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        metavar="[NAME://]HOST:PORT",
        action="append",
        default=[],
        help="where to listen, plaintext unless it is a listener with a name; port 0 is a free one; "
        "more than once for several (127.0.0.1:9092)",
    )
    parser.add_argument("--data-dir", metavar="DIR", help="where the log is kept (leaselog-data)")
    parser.add_argument(
        "--ephemeral", action="store_true", help="keep everything in memory, forget it at the end"
    )
    parser.add_argument("--config", metavar="FILE", help="a Kafka server.properties")
    parser.add_argument(
        "--add-scram",
        metavar="MECHANISM=[name=NAME,password=PASSWORD]",
        action="append",
        default=[],
        help="a user that is made if it is not there, as kafka-storage format takes it; @FILE has one a line, "
        f"and so has the environment's {FIRST_USERS}; more than once for several",
    )
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="one config, over the file's"
    )
    parser.add_argument(
        "--ready-file",
        metavar="PATH",
        help="gets the HOST:PORT of each listener, a line each, once connections are accepted",
    )
    parser.add_argument("--metrics", metavar="HOST:PORT", help="serve Prometheus metrics there, at /metrics")
    parser.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    parser.add_argument("--log-format", default="text", choices=["text", "json"])


def run(args: argparse.Namespace) -> int:
    if args.ephemeral and args.data_dir:
        raise UsageError("--ephemeral keeps nothing, --data-dir says where to keep it: expected one of them")
    need_server()
    configure_logging(level=args.log_level, form=args.log_format)
    try:
        serving = plan_serving(
            _config(args), listen=args.listen, data_dir=args.data_dir, ephemeral=args.ephemeral
        )
        first_users = read_first_users(_first_users(args.add_scram), _new_salt)
    except (ConfigError, OSError, ValueError) as wrong:
        print(f"leaselog: {wrong}", file=sys.stderr)
        return 1
    for warning in serving.warnings:
        log.warning(warning)
    raise_file_limit()
    quiet_collector()
    return _serve(serving, first_users, args)


def quiet_collector() -> None:
    """Requests make garbage without cycles; a full collection of a large heap only adds pauses.

    What one collection looks at is bounded, too: with five requests of 150,000 elements under way the longest took
    21 ms where it looked at a million objects (50,000 and 20), and takes 4 ms so.
    """
    gc.freeze()
    gc.set_threshold(20_000, 4, 1_000)


def _config(args: argparse.Namespace) -> BrokerConfig:
    overrides: dict[str, str] = {}
    for pair in args.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair}: expected KEY=VALUE")
        overrides[key.strip()] = value.strip()
    if args.metrics is not None:
        overrides["metrics.listener"] = args.metrics
    text = Path(args.config).read_text(encoding="utf-8") if args.config else ""
    return BrokerConfig.from_properties(text, overrides)


def _first_users(arguments: Sequence[str]) -> Iterator[str]:
    for argument in arguments:
        if argument.startswith("@"):
            yield from Path(argument[1:]).read_text(encoding="utf-8").splitlines()
        else:
            yield argument
    yield from os.environ.get(FIRST_USERS, "").splitlines()


def _new_salt() -> bytes:
    """As long, and of the same letters, as one of Apache Kafka's."""
    return "".join(secrets.choice(SALT_LETTERS) for _ in range(SALT_LENGTH)).encode()


def _serve(serving: Serving, first_users: Sequence[ScramCredentialSet], args: argparse.Namespace) -> int:
    import uvloop

    from leaselog.broker.broker import Broker
    from leaselog.broker.runtime.directory_lock import LockedByAnother
    from leaselog.log import UnusableLog

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        # A terminal that closes sends it, and so do tools that mean "read your files again".
        loop.add_signal_handler(
            signal.SIGHUP, lambda: log.info("a hang-up signal is ignored", signal="SIGHUP")
        )
        started_s = loop.time()
        broker = Broker(serving.config, data_dir=serving.data_dir, first_users=first_users)
        places = await broker.start(serving.listeners)
        log.info("started", **_facts(serving, broker, args), seconds=round(loop.time() - started_s, 3))
        if args.ready_file:
            _write_ready_file(Path(args.ready_file), places)
        for listener in guesses(serving.listeners, serving.config):
            log.warning(
                "clients are told to connect to this machine's name, which they may not know",
                told=str(broker.cluster.advertised.of(listener.name)),
                to_change_it=f"--set advertised.listeners={listener.name}://HOST:PORT",
            )
        told = [broker.cluster.advertised.of(listener.name) for listener in serving.listeners]
        print(ready_line(serving.listeners, places, told), flush=True)
        await stop.wait()
        log.info("stopping")
        await broker.stop()
        log.info("stopped")

    try:
        with asyncio.Runner(loop_factory=uvloop.Loop) as runner:
            runner.run(main())
    except (ConfigError, LockedByAnother, UnusableLog, OSError) as wrong:
        print(f"leaselog: {wrong}", file=sys.stderr)
        return 1
    return 0


def guesses(listeners: Sequence[Listener], config: BrokerConfig) -> list[Listener]:
    """Those of which nobody has said what clients are to connect to: they cannot connect to "every address"."""
    said = advertised_addresses(config)
    return [one for one in listeners if one.address.host in EVERY_ADDRESS and one.name not in said]


def ready_line(listeners: Sequence[Listener], places: Sequence[Address], told: Sequence[Address]) -> str:
    """Where the broker listens, and what it tells clients where that is something else."""
    if len(listeners) == 1:
        more = "" if told == places else f", and tells clients to connect to {told[0]} (advertised.listeners)"
        return f"leaselog ready on {places[0]}{more}"
    shown = [
        f"{listener.name}://{place}" + ("" if tells == place else f" (advertised as {tells})")
        for listener, place, tells in zip(listeners, places, told, strict=True)
    ]
    return f"leaselog ready on {', '.join(shown)}"


def _facts(serving: Serving, broker: Broker, args: argparse.Namespace) -> dict[str, object]:
    """What one wants to know of a broker that has just started."""
    metrics = {} if broker.metrics_address is None else {"metrics": str(Address(*broker.metrics_address))}
    return {
        "version": __version__,
        "data_dir": "none, in memory" if serving.data_dir is None else os.path.abspath(serving.data_dir),
        "durability": serving.config.durability,
        "node": serving.config.node_id,
        "config": args.config or "none",
        "partitions": sum(1 for _ in broker.logs.partitions()),
        **metrics,
    }


def _write_ready_file(path: Path, places: Sequence[Address]) -> None:
    """All at once: a watcher never reads half an address."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text("".join(f"{place}\n" for place in places))
    os.replace(temporary, path)


def raise_file_limit() -> None:
    import resource  # which Windows has not

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (hard, MACOS_OPEN_MAX):
        if soft >= wanted:
            return
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):
            continue
        return
