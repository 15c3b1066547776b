"""`leaselog config-docs`: the reference page of every configuration key, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leaselog.broker.config import BrokerConfig, GroupConfig, TopicConfig
from leaselog.broker.config.definitions import CLIENT_METRICS, Definition
from leaselog.broker.config.effect import effect_of, why_without_effect
from leaselog.broker.config.values import format_value
from leaselog.broker.config.views import View

__all__ = ["config_docs"]

_HEAD = """# Configuration

Every key of Apache Kafka 4.4's broker, topics and groups is known here, with Kafka's name, type, default and bounds.
Keys that **work** are listed with what they do. The others are **accepted**: a value is checked, kept and shown, and
changes nothing; the reason stands beside each. An unknown key draws one warning.

- Broker keys come from `--config server.properties` and `--set key=value`; the mode says whether one may also change
  while the broker runs (`leaselog configs --alter`): *read-only*, *per-broker* (one broker only), or *cluster-wide*
  (one broker or the default of all).
- A topic or group key that nobody sets has the value of the broker key named with it.
- *(internal)* keys are not listed by `leaselog configs --describe --all` unless they are set.

This page is the output of `leaselog config-docs`; a test keeps it so.
"""


def config_docs() -> str:
    """The page."""
    lines = [_HEAD, "## Keys of leaselog's own\n", *_working(BrokerConfig, _added(BrokerConfig))]
    lines += ["\nOf groups; *read-only* ones are written by the broker itself:\n"]
    lines += _working(GroupConfig, _added(GroupConfig))
    for title, view in (("Broker", BrokerConfig), ("Topic", TopicConfig), ("Group", GroupConfig)):
        keys = [key for key in view.table.values() if not key.added]
        lines += [f"\n## {title} keys that work\n", *_working(view, keys)]
        lines += [f"\n## {title} keys that are accepted\n", *_accepted(view, keys)]
    lines += [
        "\n## Keys of a client metrics subscription\n",
        "Accepted and kept; leaselog does not collect clients' metrics.\n",
        *_table(
            "key | type | default",
            ([f"`{k.name}`", k.type.name, _default(k)] for k in CLIENT_METRICS.values()),
        ),
    ]
    return "\n".join(lines) + "\n"


def _added(view: type[View]) -> list[Definition]:
    return [key for key in view.table.values() if key.added]


def _working(view: type[View], keys: Iterable[Definition]) -> Iterator[str]:
    rows = (
        [_name(key), key.type.name, _default(key), _bounds(key), _mode(key), effect]
        for key in _sorted(keys)
        if (effect := effect_of(view, key.name)) is not None
    )
    yield from _table("key | type | default | values | mode | what it does", rows)


def _accepted(view: type[View], keys: Iterable[Definition]) -> Iterator[str]:
    rows = (
        [
            _name(key),
            key.type.name,
            _default(key),
            _bounds(key),
            _mode(key),
            why_without_effect(view, key.name),
        ]
        for key in _sorted(keys)
        if effect_of(view, key.name) is None
    )
    yield from _table("key | type | default | values | mode | why it does nothing", rows)


def _sorted(keys: Iterable[Definition]) -> list[Definition]:
    return sorted(keys, key=lambda key: key.name)


def _table(head: str, rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {head} |"
    yield "|" + " --- |" * (head.count("|") + 1)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def _name(key: Definition) -> str:
    return f"`{key.name}` (internal)" if key.internal else f"`{key.name}`"


def _default(key: Definition) -> str:
    text = format_value(key.default)
    if text is None:
        return "none"
    return f"`{text}`" if text else "empty"


def _bounds(key: Definition) -> str:
    return f"`{key.bounds}`" if key.bounds else ""


def _mode(key: Definition) -> str:
    return f"{key.mode}, else `{key.broker_keys[0]}`" if key.broker_keys else key.mode
