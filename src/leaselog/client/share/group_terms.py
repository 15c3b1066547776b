"""What a worker has to know of its group, and where a new group begins.

Both are configs of the group. A cluster may keep them to itself: then the worker says so once and goes without.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from leaselog.client.cluster import Cluster
from leaselog.client.errors import ClientError, raise_for
from leaselog.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from leaselog.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["GroupTerms", "begin_at", "learn_terms", "meet_group"]

LIMIT = "share.delivery.count.limit"
#: of a broker: what holds for groups that have none of their own
BROKER_LIMIT = "group.share.delivery.count.limit"
DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"
BACKOFF = "share.retry.backoff.ms"
RESET = "share.auto.offset.reset"

#: Kafka's numbers of kinds of resources, of where a value is from, and of what to do with it
_BROKER, _GROUP = 4, 32
_OF_THE_GROUP = 8
_SET = 0

_log = logging.getLogger("leaselog.client.share")

Configs = Mapping[str, DescribeConfigsResourceResult]


@dataclass(frozen=True, slots=True)
class GroupTerms:
    """None is what the cluster does not say, or does not know."""

    delivery_limit: int | None = None
    #: empty: there is none
    dead_letter_topic: str | None = None
    #: the group's own configuration says when a record comes again
    has_backoff: bool = False
    #: where it begins, if somebody has said so of this group
    reset: str | None = None


async def learn_terms(cluster: Cluster, group_id: str) -> GroupTerms:
    """Raises ``ClientError`` if the group's configs are not to be had."""

    async def attempt() -> GroupTerms:
        # A broker answers for itself alone; the limit is the same everywhere, or nobody could say what it is.
        node = await cluster.coordinator(group_id)
        answer = await cluster.request(
            DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=_GROUP,
                        resource_name=group_id,
                        configuration_keys=[LIMIT, DEAD_LETTER_TOPIC, BACKOFF, RESET],
                    ),
                    DescribeConfigsResource(
                        resource_type=_BROKER,
                        resource_name=str(node.node_id),
                        configuration_keys=[BROKER_LIMIT],
                    ),
                ]
            ),
            DescribeConfigsResponse,
            node=node,
        )
        of_group: Configs = {}
        of_broker: Configs = {}
        for result in answer.results:
            if result.resource_type == _GROUP:
                raise_for(result.error_code, result.error_message)
                of_group = {config.name: config for config in result.configs}
            elif not result.error_code:
                of_broker = {config.name: config for config in result.configs}
        return _terms(of_group, of_broker)

    return await cluster.retrying(attempt)


def _terms(group: Configs, broker: Configs) -> GroupTerms:
    limit = _number(group.get(LIMIT)) or _number(broker.get(BROKER_LIMIT))
    reset = group.get(RESET)
    topic = group.get(DEAD_LETTER_TOPIC)
    return GroupTerms(
        delivery_limit=limit,
        dead_letter_topic=None if topic is None else topic.value or "",
        has_backoff=bool(_number(group.get(BACKOFF))),
        reset=reset.value if reset is not None and reset.config_source == _OF_THE_GROUP else None,
    )


def _number(config: DescribeConfigsResourceResult | None) -> int | None:
    text = "" if config is None else config.value or ""
    return int(text) if text.isdecimal() else None


async def begin_at(cluster: Cluster, group_id: str, where: str) -> None:
    """From now on the group begins there, in partitions it has not begun with. Raises ``ClientError``."""

    async def attempt() -> None:
        answer = await cluster.request(
            IncrementalAlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=_GROUP,
                        resource_name=group_id,
                        configs=[AlterableConfig(name=RESET, config_operation=_SET, value=where)],
                    )
                ]
            ),
            IncrementalAlterConfigsResponse,
        )
        for result in answer.responses:
            raise_for(result.error_code, result.error_message)

    await cluster.retrying(attempt)


async def meet_group(cluster: Cluster, group_id: str, begins: str | None) -> GroupTerms:
    """Before a worker joins: what holds in its group, and that it ``begins`` there if nobody has said where."""
    try:
        terms = await learn_terms(cluster, group_id)
    except ClientError as refused:
        if refused.is_retriable:
            raise
        _log.warning(
            "group %s: its configs cannot be read (%s), so where it begins is not changed,"
            " and which delivery of a record is the last is not known",
            group_id,
            refused,
        )
        return GroupTerms()
    if begins is None or terms.reset is not None:
        return terms
    try:
        await begin_at(cluster, group_id, begins)
    except ClientError as refused:
        if refused.is_retriable:
            raise
        _log.warning(
            "group %s: %s=%s could not be set (%s): if the group is new it begins with what is produced from now on",
            group_id,
            RESET,
            begins,
            refused,
        )
    return terms
