"""What people write."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout, suppress

from fuzz.targets.target import Unwanted
from leaselog.broker.config import ConfigError, parse_properties
from leaselog.cli.arguments import CommandFailed, UsageError
from leaselog.cli.client_properties import ClientProperties
from leaselog.cli.main import COMMANDS, command_parser
from leaselog.client import ConfigError as ClientConfigError
from leaselog.client.share.config import ShareConsumerConfig
from leaselog.client.topology import parse_bootstrap
from leaselog.log.checkpoints import parse_epochs, parse_metadata, parse_offsets, parse_offsets_by_id

__all__ = ["texts"]


def texts(data: bytes) -> None:
    """What people write: properties, addresses, command lines; and the text files beside the log."""
    if not data:
        raise Unwanted
    for parse in (parse_epochs, parse_metadata, parse_offsets, parse_offsets_by_id):
        with suppress(ValueError):
            parse(data[1:])
    try:
        text = data[1:].decode()
    except UnicodeDecodeError:
        return
    with suppress(ConfigError):
        values = parse_properties(text)
        with suppress(ClientConfigError):
            ShareConsumerConfig.of({"bootstrap.servers": "a:1", "group.id": "g"}, values)
        with suppress(UsageError):
            given = ClientProperties(values)
            given.producer()
            given.group_reading("g", None)
            given.without_effect()
    with suppress(ValueError):
        parse_bootstrap(text)
    names = sorted(COMMANDS)
    name = names[data[0] % len(names)]
    words = [word for word in text.split("\n") if word not in ("-h", "--help", "--version")]
    with (
        redirect_stderr(io.StringIO()),
        redirect_stdout(io.StringIO()),
        suppress(UsageError, CommandFailed, SystemExit),
    ):
        command_parser(name).parse_args(words)
