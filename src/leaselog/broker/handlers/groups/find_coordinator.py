"""FindCoordinator (key 10), versions 0 to 6: which node looks after a group, a transactional id, a share partition.

- Needs leave to DESCRIBE the group or the transactional id, and for share keys to act for the cluster.
- This node does, for all of them. The internal topic behind the answer is made when it is first asked for, and the
  answer waits until it is there; Kafka would have the client come back.
- One key up to v3, several from v4 (KIP-699); key types from v1. Share keys, `group:topic id:partition`, are known
  from v6 on (KIP-932): INVALID_REQUEST before that, or if malformed.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode

from leaselog.broker.cluster.cluster import (
    CONSUMER_OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from leaselog.broker.net.api import RequestContext, serves
from leaselog.model import AclOperation, AclResourceType, ErrorCode, Refused
from leaselog.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

BATCHES_SINCE = 4
SHARE_SINCE = 6
GROUP, TRANSACTION, SHARE = 0, 1, 2
TOPICS = {GROUP: CONSUMER_OFFSETS_TOPIC, TRANSACTION: TRANSACTION_STATE_TOPIC, SHARE: SHARE_STATE_TOPIC}
UUID_BYTES = 16
NO_NODE = -1


@serves(FindCoordinatorRequest, versions=(0, 6), kips="KIP-98, 699, 932")
async def find_coordinator(
    request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if context.version >= BATCHES_SINCE:
        return FindCoordinatorResponse(
            coordinators=[
                await _find(request.key_type, key, context)
                async for key in context.broker.turns.each(request.coordinator_keys)
            ]
        )
    found = await _find(request.key_type, request.key, context)
    code = ErrorCode(found.error_code)
    return FindCoordinatorResponse(
        error_code=code,
        error_message=found.error_message or code.name,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


async def _find(key_type: int, key: str, context: RequestContext) -> Coordinator:
    refused = (
        _deny(key_type, key, context)
        or _refusal(key_type, key, context.version)
        or await _make_topic(key_type, context)
    )
    if refused is not None:
        return Coordinator(
            key=key,
            error_code=refused.code,
            error_message=refused.message or "",
            node_id=NO_NODE,
            port=NO_NODE,
        )
    here = context.address
    return Coordinator(key=key, node_id=context.broker.cluster.node_id, host=here.host, port=here.port)


def _deny(key_type: int, key: str, context: RequestContext) -> Refused | None:
    if key_type == GROUP:
        return context.refuse_group(AclOperation.DESCRIBE, key)
    if key_type == SHARE and context.version >= SHARE_SINCE:
        return context.refuse_cluster(AclOperation.CLUSTER_ACTION)
    if key_type == TRANSACTION and not context.may(
        AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, key
    ):
        return Refused(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional Id authorization failed."
        )
    return None


def _refusal(key_type: int, key: str, version: int) -> Refused | None:
    if key_type not in (GROUP, TRANSACTION, SHARE):
        return Refused(ErrorCode.INVALID_REQUEST, f"Unknown coordinator type {key_type}")
    if key_type == SHARE and not (version >= SHARE_SINCE and _is_share_key(key)):
        return Refused(ErrorCode.INVALID_REQUEST)
    return None


def _is_share_key(key: str) -> bool:
    # From the right: a group's name may have colons in it.
    group, topic_id, partition = ["", "", "", *key.rsplit(":", 2)][-3:]
    try:
        is_id = len(urlsafe_b64decode(topic_id + "==")) == UUID_BYTES
        int(partition)
    except ValueError:
        return False
    return bool(group) and is_id


async def _make_topic(key_type: int, context: RequestContext) -> Refused | None:
    """The topic that keeps what the coordinator knows; a failure is one to try again after."""
    made = await context.broker.cluster.ensure_topic(TOPICS[key_type])
    return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE) if isinstance(made, Refused) else None
