"""`leaselog serve`: one broker in this process, until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import resource
import signal
import sys
from pathlib import Path

from leaselog.broker.config import BrokerConfig, ConfigError
from leaselog.broker.structured_log import StructuredLog, configure_logging

__all__ = ["add_arguments", "run"]

DEFAULT_LISTEN = "127.0.0.1:9092"
DEFAULT_DATA_DIR = "leaselog-data"

log = StructuredLog("serve")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help=f"where to listen; port 0 is a free one ({DEFAULT_LISTEN})"
    )
    parser.add_argument("--data-dir", metavar="DIR", help=f"where the log is kept ({DEFAULT_DATA_DIR})")
    parser.add_argument(
        "--ephemeral", action="store_true", help="keep everything in memory, forget it at the end"
    )
    parser.add_argument("--config", metavar="FILE", help="a Kafka server.properties")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="one config, over the file's"
    )
    parser.add_argument("--ready-file", metavar="PATH", help="gets HOST:PORT once connections are accepted")
    parser.add_argument("--metrics", metavar="HOST:PORT", help="serve Prometheus metrics there, at /metrics")
    parser.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    parser.add_argument("--log-format", default="text", choices=["text", "json"])


def run(args: argparse.Namespace) -> int:
    configure_logging(level=args.log_level, form=args.log_format)
    try:
        config = _config(args)
        host, port = _address(_listen(args, config))
    except (ConfigError, OSError, ValueError) as wrong:
        print(f"leaselog: {wrong}", file=sys.stderr)
        return 1
    if config.unknown:
        log.warning("unknown config keys are ignored", keys=",".join(config.unknown))
    _raise_file_limit()
    # Requests make garbage without cycles; a full collection of a large heap only adds pauses.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    return _serve(config, host, port, args)


def _config(args: argparse.Namespace) -> BrokerConfig:
    overrides: dict[str, str] = {}
    for pair in args.set:
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set {pair}: expected KEY=VALUE")
        overrides[key.strip()] = value.strip()
    if args.metrics:
        overrides["metrics.listener"] = args.metrics
    text = Path(args.config).read_text(encoding="utf-8") if args.config else ""
    return BrokerConfig.from_properties(text, overrides)


def _listen(args: argparse.Namespace, config: BrokerConfig) -> str:
    """The command line, or the first plain listener of the config, or our default."""
    if args.listen:
        return str(args.listen)
    if "listeners" in config.originals:
        for listener in config.listeners:
            name, _, address = listener.partition("://")
            if name.upper() != "CONTROLLER":
                return address
    return DEFAULT_LISTEN


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"listen address {text!r}: expected HOST:PORT, with a port from 0 to 65535")
    return host.strip("[]"), int(port)


def _data_dir(args: argparse.Namespace, config: BrokerConfig) -> str | None:
    if args.ephemeral:
        return None
    if args.data_dir:
        return str(args.data_dir)
    if {"log.dirs", "log.dir"} & set(config.originals):
        return config.data_dirs[0]
    return DEFAULT_DATA_DIR


def _serve(config: BrokerConfig, host: str, port: int, args: argparse.Namespace) -> int:
    from leaselog.broker.broker import Broker
    from leaselog.broker.data_dir import LockedByAnother
    from leaselog.log import UnusableLog

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        broker = Broker(config, data_dir=_data_dir(args, config))
        shown_host, bound_port = await broker.start(host, port)
        address = f"[{shown_host}]:{bound_port}" if ":" in shown_host else f"{shown_host}:{bound_port}"
        if args.ready_file:
            _write_ready_file(Path(args.ready_file), address)
        print(f"leaselog ready on {address}", flush=True)
        await stop.wait()
        log.info("stopping")
        await broker.stop()
        log.info("stopped")

    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(main())
    except (LockedByAnother, UnusableLog, OSError) as wrong:
        print(f"leaselog: {wrong}", file=sys.stderr)
        return 1
    return 0


def _loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


def _write_ready_file(path: Path, address: str) -> None:
    """All at once: a watcher never reads half an address."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(address + "\n")
    os.replace(temporary, path)


def _raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
