"""Before a worker begins: its group has the dead-letter topic that was asked for, and one knows what holds in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from leaselog.admin import (
    ConfigSource,
    NewTopic,
    Resource,
    ResourceType,
    alter_configs,
    create_topics,
    describe_configs,
    list_topics,
)
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.cli.arguments import CommandFailed
from leaselog.client import BrokerError, ClientError
from leaselog.client.cluster import Cluster
from leaselog.client.machine import monotonic_ms
from leaselog.client.share.group_terms import learn_terms
from leaselog.client.share.retrying import DEFAULT_DELAYS_S
from leaselog.client.trouble import Trouble
from leaselog.model import ErrorCode

__all__ = ["Prepared", "prepare", "told_dead_letters", "told_retries"]

T = TypeVar("T")

TOPIC_KEY = "errors.deadletterqueue.topic.name"
COPY_KEY = "errors.deadletterqueue.copy.record.enable"
ALLOW_KEY = "errors.deadletterqueue.group.enable"
PREFIX_KEY = "errors.deadletterqueue.topic.name.prefix"
_ASK_AGAIN_S = 1.0

log = StructuredLog("worker")


@dataclass(frozen=True, slots=True)
class Prepared:
    """What holds in the group; nothing is known if the cluster does not tell us."""

    is_known: bool = False
    delivery_limit: int | None = None
    #: empty: there is none; None: the cluster has no such thing
    dead_letter_topic: str | None = None
    has_backoff: bool = False


async def prepare(cluster: Cluster, group_id: str, dead_letter_topic: str | None) -> Prepared:
    """Waits for the cluster as long as it takes. Raises ``CommandFailed`` if there would be no dead letters."""
    if dead_letter_topic is not None:
        wanted = dead_letter_topic
        try:
            await _patiently(lambda: _arrange(cluster, group_id, wanted))
        except ClientError as refused:
            raise CommandFailed(f"--dead-letter-topic {wanted}: {refused}") from refused
    try:
        terms = await _patiently(lambda: learn_terms(cluster, group_id))
    except ClientError:
        return Prepared()  # the worker will say so, and what it means
    return Prepared(True, terms.delivery_limit, terms.dead_letter_topic, terms.has_backoff)


async def _patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    trouble = Trouble()
    while True:
        try:
            return await attempt()
        except ClientError as failed:
            if not failed.is_retriable:
                raise
            if trouble.ails("the cluster", monotonic_ms()) is not None:
                log.warning("waiting for the cluster", reason=failed)
        await asyncio.sleep(_ASK_AGAIN_S)


async def _arrange(cluster: Cluster, group_id: str, wanted: str) -> None:
    group = Resource(ResourceType.GROUP, group_id)
    found = await describe_configs(cluster, [group], keys=[TOPIC_KEY, COPY_KEY])
    entries = {entry.name: entry for entry in found[group]}
    if TOPIC_KEY not in entries:
        raise CommandFailed(f"--dead-letter-topic {wanted}: the cluster knows of no dead letters")
    current = entries[TOPIC_KEY].value or ""
    if current and current != wanted:
        log.warning("the group has another dead-letter topic, which stays", group=group_id, topic=current)
        return
    await _check_prefix(cluster, group_id, wanted)
    await _check_topic(cluster, wanted)
    if current:
        return
    put = {TOPIC_KEY: wanted}
    copies = entries.get(COPY_KEY)
    if copies is not None and copies.source is not ConfigSource.DYNAMIC_GROUP_CONFIG:
        put[COPY_KEY] = "true"  # a letter that only says where its record lies lasts no longer than that
    await alter_configs(cluster, group, put=put)
    log.info("dead letters are kept from now on", group=group_id, topic=wanted)


async def _check_prefix(cluster: Cluster, group_id: str, wanted: str) -> None:
    """The broker would archive every record without a letter, and say so in its own log only."""
    node = await cluster.coordinator(group_id)
    broker = Resource(ResourceType.BROKER, str(node.node_id))
    try:
        found = await describe_configs(cluster, [broker], keys=[PREFIX_KEY])
    except BrokerError:
        return  # this is nobody's who may not see it: the broker says the rest
    prefix = next((entry.value or "" for entry in found[broker] if entry.name == PREFIX_KEY), "")
    if not wanted.startswith(prefix):
        raise CommandFailed(
            f"--dead-letter-topic {wanted}: the broker wants a name that begins with {prefix} ({PREFIX_KEY})"
        )


async def _check_topic(cluster: Cluster, wanted: str) -> None:
    if wanted not in {listed.name for listed in await list_topics(cluster)}:
        outcomes = await create_topics(cluster, [NewTopic(wanted, configs={ALLOW_KEY: "true"})])
        refused = outcomes[wanted]
        if refused is None:
            log.info("made the dead-letter topic", topic=wanted)
            return
        if not (isinstance(refused, BrokerError) and refused.code is ErrorCode.TOPIC_ALREADY_EXISTS):
            raise refused
    topic = Resource(ResourceType.TOPIC, wanted)
    found = await describe_configs(cluster, [topic], keys=[ALLOW_KEY])
    if not any(entry.name == ALLOW_KEY and entry.value == "true" for entry in found[topic]):
        raise CommandFailed(
            f"--dead-letter-topic {wanted}: the topic takes no dead letters, it has not {ALLOW_KEY}=true"
        )


def told_retries(delays_s: tuple[float, ...] | None, prepared: Prepared) -> str:
    """When a record that failed comes again, for the first line."""
    if delays_s is None and prepared.has_backoff:
        return "as the group's share.retry.backoff.ms says"
    delays = DEFAULT_DELAYS_S if delays_s is None else delays_s
    if not any(delays):
        return "at once"
    return "after about " + ", ".join(f"{delay:g}" for delay in delays) + " s"


def told_dead_letters(prepared: Prepared) -> str:
    if prepared.dead_letter_topic:
        return prepared.dead_letter_topic
    if not prepared.is_known:
        return "unknown: the cluster does not say"
    limit = (
        "as often as the group allows"
        if prepared.delivery_limit is None
        else f"{prepared.delivery_limit} times"
    )
    remedy = (
        "the cluster knows none" if prepared.dead_letter_topic is None else "--dead-letter-topic keeps it"
    )
    return f"none, so a record that has failed {limit} is gone ({remedy})"
