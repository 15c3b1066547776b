"""What a key does here, or why it is accepted and does nothing. For the reference page: nobody should have to guess.

A key acts if a typed view has an attribute for it, or if it is the broker's default of such a topic or group key.
"""

from __future__ import annotations

import re

from leaselog.broker.config.definitions import BROKER
from leaselog.broker.config.group_config import GroupConfig, limit_document
from leaselog.broker.config.topic_config import TopicConfig
from leaselog.broker.config.views import View

__all__ = ["effect_of", "why_without_effect"]

#: the first pattern that fits a name speaks for the key

_REASONS = (
    (
        r"(group\.)?streams\..*|group\.coordinator\..*",
        "how Kafka's group coordinator is built, or Streams groups",
    ),
    (r"group\.consumer\.migration\.policy", "classic and consumer members do not share a group yet"),
    (r"group\.consumer\.regex\..*", "patterns are matched anew when topics have changed"),
    (r"(group\.)?consumer\.assignor\..*", "assignments are computed where the group is"),
    (r"(group\.)?share\.(assignors|assignor\..*)", "there is one assignor"),
    (r"sasl\.kerberos\..*", "there is no GSSAPI here"),
    (
        r"sasl\.(client|login|mechanism|oauthbearer\.(assertion|client|token|scope$|jwt\.retriever))\..*",
        "connections to other brokers",
    ),
    (r"sasl\..*", "set for a listener and its mechanism, not for all of the broker"),
    (r"delegation\.token\..*", "there are no delegation tokens here"),
    (r".*\.policy\.class\..*", "policies are Java classes, which a broker in Python cannot load"),
    (r"ssl\.endpoint\.identification\..*", "there is no other broker whose certificate would be looked at"),
    (r"ssl\..*|security\..*", "TLS is OpenSSL's here, not Java's"),
    (r"transaction\.two\.phase\..*", "two-phase commit is not stable in Kafka 4.4"),
    (r"transaction\.state\.log\.load\..*", "the log is read in steps of a fixed size"),
    (r"transaction\.state\.log\..*", "replication between brokers"),
    (r"add\.partitions\.to\.txn\..*", "who waits is told, and asks nobody again"),
    (
        r"remote\..*|log\.remote\..*|local\..*|log\.local\..*|follower\.fetch\.last\.tiered\..*",
        "tiered storage",
    ),
    (
        r"quota\..*|.*\.quota\..*|client\.quota\..*|controller\.quota\..*|.*\.throttled\..*",
        "there is nothing yet that this quota would limit",
    ),
    (r".*purgatory\.purge\..*", "waiting requests are counted and bounded another way"),
    (
        r"replica\..*|num\.replica\..*|.*leader\..*|replication\..*|min\.insync\..*|broker\.session.*|broker\.heartbeat.*",
        "replication between brokers",
    ),
    (
        r"controller\..*|metadata\..*|internal\.metadata\..*|process\.roles|initial\.broker\..*|.*controlled\.shutdown.*",
        "KRaft: one process is its own controller",
    ),
    (
        r"broker\.id|inter\.broker\..*|early\.start\..*|server\.max\.startup\..*|cordoned\..*|unstable\..*",
        "KRaft: one process is its own controller",
    ),
    (
        r"num\..*threads.*|background\.threads|.*\.threads|log\.cleaner\..*|.*dedupe.*",
        "threads and buffers of the JVM broker",
    ),
    (
        r"metrics?\..*|kafka\.metrics\..*|telemetry\..*|auto\.include\.jmx.*",
        "metrics of the JVM; see metrics.listener",
    ),
    (r"config\.providers|.*\.class(\.name)?|.*\.class\.path", "plugins are Java classes"),
    (r"log\.flush\..*|flush\.ms", "the durability key decides when bytes are synced"),
    (r"queued\..*", "requests are bounded by their bytes"),
    (
        r"log\.dir\.failure.*|log\.initial\..*|(log\.)?preallocate",
        "there is one data directory, opened at once",
    ),
    (r"socket\.connection\.setup\..*|request\.timeout\.ms", "connections to other brokers"),
    (r".*", "nothing here depends on it yet"),
)
_COMPILED = tuple((re.compile(pattern), reason) for pattern, reason in _REASONS)


_DEFAULT_OF = {
    broker_key: f"The default of the {kind} key {name}."
    for kind, view in (("group", GroupConfig), ("topic", TopicConfig))
    for name in view.documents.keys() - view.planned
    for broker_key in view.table[name].broker_keys
}


def effect_of(view: type[View], name: str) -> str | None:
    """What the key does, in a sentence; None if it does nothing."""
    if name in view.documents and name not in view.planned:
        return view.documents[name]
    return _DEFAULT_OF.get(name) or limit_document(name) if view.table is BROKER else None


def why_without_effect(view: type[View], name: str) -> str:
    """One line on why a key has no effect here."""
    if name in view.planned:
        return "to come"
    return next(reason for pattern, reason in _COMPILED if pattern.fullmatch(name))
