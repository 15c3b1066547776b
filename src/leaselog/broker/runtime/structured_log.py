"""Log lines that people and programs can read: one event, then its facts as key=value (or as JSON).

Messages name the event ("connection closed"), facts go in as keywords. Text and JSON hold the same facts.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime

__all__ = ["StructuredLog", "configure_logging"]


class StructuredLog:
    """A named logger whose methods take the facts of an event as keywords."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"leaselog.{name}")

    def is_on_for_info(self) -> bool:
        return self._logger.isEnabledFor(logging.INFO)

    def is_on_for_debug(self) -> bool:
        return self._logger.isEnabledFor(logging.DEBUG)

    def debug(self, event: str, **facts: object) -> None:
        self._write(logging.DEBUG, event, facts)

    def info(self, event: str, **facts: object) -> None:
        self._write(logging.INFO, event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._write(logging.WARNING, event, facts)

    def error(self, event: str, **facts: object) -> None:
        self._write(logging.ERROR, event, facts)

    def exception(self, event: str, **facts: object) -> None:
        """An error with the traceback of the exception being handled."""
        self._write(logging.ERROR, event, facts, with_traceback=True)

    def _write(
        self, level: int, event: str, facts: Mapping[str, object], *, with_traceback: bool = False
    ) -> None:
        if self._logger.isEnabledFor(level):
            self._logger.log(level, event, exc_info=with_traceback, extra={"facts": facts})


class _TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        facts: Mapping[str, object] = getattr(record, "facts", {})
        said = "".join(f" {key}={_quoted(value)}" for key, value in facts.items())
        line = f"{self.formatTime(record)} {record.levelname:<7} {record.name} {record.getMessage()}{said}"
        return line + "".join(f"\n{text}" for text in _traceback(self, record))


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        for text in _traceback(self, record):
            line["exception"] = text
        return json.dumps(line, default=str)


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> list[str]:
    """The record's traceback as one text, if it has one."""
    return [formatter.formatException(record.exc_info)] if record.exc_info and record.exc_info[0] else []


def _quoted(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or any(c in text for c in ' "=\n\r\t') else text


def configure_logging(*, level: str = "INFO", form: str = "text") -> None:
    """Sends all log lines of the process to stderr, as ``text`` or ``json``; those of the audit log always as JSON."""
    root = logging.getLogger("leaselog")
    _send(root, _JsonFormatter() if form == "json" else _TextFormatter())
    root.setLevel(level)
    _send(logging.getLogger("leaselog.authorizer"), _JsonFormatter())


def _send(logger: logging.Logger, formatter: logging.Formatter) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logger.handlers[:] = [handler]
    logger.propagate = False
