"""Whose data directory this is: `meta.properties`, in Apache Kafka's format (version 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from leaselog.broker.config import ConfigError, parse_properties
from leaselog.broker.records.data_dir import META_PROPERTIES
from leaselog.log import Files, read_whole
from leaselog.log.layout import topic_id_from_text, topic_id_to_text
from leaselog.model import NodeId

__all__ = ["Identity", "claim_directory", "new_id"]


@dataclass(frozen=True, slots=True)
class Identity:
    cluster_id: str
    node_id: NodeId
    directory_id: UUID


def new_id(draw: Callable[[], UUID] = uuid4) -> UUID:
    """A random id Kafka might have drawn: its text begins with no dash, which a shell would take for an option."""
    while True:
        drawn = draw()
        # The small ones are Kafka's, for its own purposes.
        if not topic_id_to_text(drawn).startswith("-") and drawn.int >= 100:
            return drawn


def claim_directory(
    files: Files, data_dir: str, node_id: NodeId, *, draw: Callable[[], UUID] = uuid4
) -> Identity:
    """Who the directory says we are; an empty one becomes ours. ``ConfigError`` if it is another node's."""
    path = f"{data_dir}/{META_PROPERTIES}"
    if not files.exists(path):
        identity = Identity(topic_id_to_text(new_id(draw)), node_id, new_id(draw))
        _write(files, data_dir, path, identity)
        return identity
    found = parse_properties(read_whole(files, path).decode("utf-8", "replace"))
    if found.get("version") != "1" or not {"cluster.id", "node.id"} <= found.keys():
        raise ConfigError(f"{path} holds {found}, expected version 1 with cluster.id and node.id")
    if found["node.id"] != str(node_id):
        raise ConfigError(f"node.id is {node_id}, but {path} says the directory is node {found['node.id']}'s")
    if "directory.id" in found:
        return Identity(found["cluster.id"], node_id, topic_id_from_text(found["directory.id"]))
    # Kafka leaves it out before 3.7 and adds it at the next start.
    identity = Identity(found["cluster.id"], node_id, new_id(draw))
    _write(files, data_dir, path, identity)
    return identity


def _write(files: Files, data_dir: str, path: str, identity: Identity) -> None:
    lines = (
        "#",
        f"cluster.id={identity.cluster_id}",
        f"directory.id={topic_id_to_text(identity.directory_id)}",
        f"node.id={identity.node_id}",
        "version=1",
        "",
    )
    temporary = path + ".tmp"
    file = files.open(temporary, writable=True, create=True)
    try:
        file.truncate(0)
        file.write_at(0, "\n".join(lines).encode())
        file.sync()
    finally:
        file.close()
    files.rename(temporary, path)
    files.sync_directory(data_dir)
