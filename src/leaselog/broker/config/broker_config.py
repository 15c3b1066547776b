"""What one broker runs with: the values of ``server.properties`` over Kafka's defaults, typed.

A broker is born with the static values. Dynamic ones laid over them make a new BrokerConfig; nothing here changes
in place, so a reader that holds one holds one consistent set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from leaselog.broker.config.broker_rules import check_broker
from leaselog.broker.config.definitions import BROKER
from leaselog.broker.config.errors import ConfigError
from leaselog.broker.config.properties import parse_properties
from leaselog.broker.config.security_config import SecurityConfig
from leaselog.broker.config.synonyms import broker_synonyms, first_synonym
from leaselog.broker.config.values import Value
from leaselog.broker.config.views import Flag, Int, OptionalText, OptionalTexts, Text, Texts

__all__ = ["AUTHORIZER_KEYS", "BrokerConfig"]

#: the authorizer's own settings, which Apache Kafka's broker does not define either
AUTHORIZER_KEYS = ("super.users", "allow.everyone.if.no.acl.found")

_MECHANISM_PREFIX = re.compile(r"(plain|scram-sha-256|scram-sha-512|oauthbearer)\.")
_DEFAULTS: Mapping[str, Value] = MappingProxyType({name: key.default for name, key in BROKER.items()})


class BrokerConfig(SecurityConfig):
    """Every broker key with a value, and attributes for those the broker acts on."""

    __slots__ = ("originals",)

    # Who and where.
    node_id = Int("The broker's id in the cluster.")
    broker_id = Int("An older name of node.id.")
    process_roles = Texts(
        "One process is a broker and its own controller; without broker the start is refused."
    )
    controller_listener_names = Texts(
        "Listeners of these names are left out, because a single process has no use for them."
    )
    broker_rack = OptionalText("The rack the broker names in its metadata.")
    listeners = Texts(
        "Where the broker accepts connections, as NAME://host:port, each with a name and a port of its own."
    )
    advertised_listeners = OptionalTexts(
        "The addresses that clients are told to connect to, as NAME://host:port: whoever asks hears that of the "
        "listener that it asked. Default, and for a listener that is left out: where it listens."
    )
    listener_security_protocol_map = Text("The security protocol of each listener name.")
    inter_broker_listener_name = OptionalText(
        "Has to be the name of a listener; there is no other broker, so nothing else comes of it."
    )
    authorizer_class_name = Text(
        "Who may do what: org.apache.kafka.metadata.authorizer.StandardAuthorizer goes by access control lists, with "
        "super.users and allow.everyone.if.no.acl.found; a Python path, module:callable, is a plug-in. Empty: "
        "everybody may do everything. Any other name refuses the start."
    )
    log_dir = Texts("The data directory, if log.dirs is not set.")
    log_dirs = OptionalTexts("The data directory.")
    metrics_listener = OptionalText(
        "host:port that serves metrics in the Prometheus text format. Default: none."
    )

    # What is promised.
    durability = Text(
        "When a write counts as done: fsync (its bytes are synced to the disk), interval (synced every "
        "durability.interval.ms) or os (handed to the page cache, as Apache Kafka does)."
    )
    durability_interval_ms = Int("The time between two syncs under durability=interval.")
    recovery_point_interval_bytes = Int(
        "Bytes of a log between two recovery points, written behind a sync: what a start after a crash reads of it, "
        "beside what was not synced. With durability=os there are none."
    )

    # Logins. Each may be set for one listener, and for one mechanism of it (ADR 0037).
    sasl_enabled_mechanisms = Texts(
        "The SASL mechanisms of SASL_PLAINTEXT and SASL_SSL listeners: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and "
        "OAUTHBEARER. Any other refuses the start."
    )
    sasl_server_max_receive_size = Int(
        "The longest message of a login; before a mechanism is agreed on, and with any but OAUTHBEARER, 8 KiB at most."
    )
    connections_max_reauth_ms = Int(
        "A client has to log in again within this long, or is disconnected by its next request; 0 or less: a login "
        "lasts as long as its connection, but a token's no longer than the token."
    )
    connection_failed_authentication_delay_ms = Int(
        "How long until a client hears that its login has failed."
    )
    connection_authentication_timeout_ms = Int(
        "A connection that has not shaken hands by then, or has not logged in where that is asked for, is closed."
    )

    # Tokens, of OAUTHBEARER.
    sasl_oauthbearer_jwks_endpoint_url = OptionalText(
        "Where the keys are that tokens are signed with, as a JWKS document: file://, http:// or https://."
    )
    sasl_oauthbearer_jwks_endpoint_refresh_ms = Int("How long until that document is read again.")
    sasl_oauthbearer_expected_issuer = OptionalText("Who has to have issued a token (its claim iss).")
    sasl_oauthbearer_expected_audience = Texts("For whom a token has to be: one of these (its claim aud).")
    sasl_oauthbearer_allow_unverified_issuer = Flag("Without an expected issuer anybody's tokens count.")
    sasl_oauthbearer_allow_unverified_audience = Flag("Without an expected audience tokens for others count.")
    sasl_oauthbearer_clock_skew_seconds = Int("How far the clock of who issues tokens may be off.")
    sasl_oauthbearer_scope_claim_name = Text("The claim of a token with its scopes.")
    sasl_oauthbearer_sub_claim_name = Text("The claim of a token with the name of its user.")

    # Connections and requests.
    max_connections = Int("Connections at once, of all or of a listener by its name; one more is closed.")
    max_connections_per_ip = Int("Connections at once from one address; one more is closed.")
    max_connections_per_ip_overrides = Text(
        "Other bounds for some addresses, as ADDRESS:COUNT,ADDRESS:COUNT; names are not looked up."
    )
    max_connection_creation_rate = Int(
        "New connections a second, of all or of a listener by its name; one that comes too early waits up to a "
        "second, or is closed."
    )
    connections_max_idle_ms = Int("An idle connection is closed after this long; negative: never.")
    queued_max_request_bytes = Int(
        "Bytes of requests that are arriving or under way, over all connections, before only little ones are read; "
        "never less than socket.request.max.bytes, and 0 or less sets no bound."
    )
    queued_max_response_bytes = Int(
        "Bytes of answers that slow clients have yet to take, over all connections, before a fetch brings little or "
        "nothing; less than 0 sets no bound."
    )
    quota_window_num = Int("The samples that a client's rates are measured over.")
    quota_window_size_seconds = Int("The length of such a sample.")
    controller_quota_window_num = Int(
        "The samples whose worth of partitions a client may make or take away at once."
    )
    controller_quota_window_size_seconds = Int("The length of such a sample.")
    socket_request_max_bytes = Int("A larger request closes its connection.")
    socket_listen_backlog_size = Int(
        "Connections that the system keeps until they are accepted; at least 1024 here."
    )
    socket_send_buffer_bytes = Int("SO_SNDBUF of a connection; -1 leaves it to the system.")
    socket_receive_buffer_bytes = Int("SO_RCVBUF of a connection; -1 leaves it to the system.")
    fetch_max_bytes = Int("The most bytes one fetch answers with, whatever it asks for.")
    max_incremental_fetch_session_cache_slots = Int(
        "Fetch sessions kept; at the bound fetches go without one."
    )
    max_request_partition_size_limit = Int("The most partitions one DescribeTopicPartitions answers with.")

    # Topics.
    auto_create_topics_enable = Flag("A topic is created when a client first asks for it by name.")
    delete_topic_enable = Flag("Topics may be deleted.")
    max_partitions = Int(
        "Partitions of all topics; what would make more is refused with POLICY_VIOLATION, but for internal topics."
    )
    num_partitions = Int("Partitions of a new topic, if nothing else is asked for.")
    default_replication_factor = Int(
        "Replication factor of a new topic, if nothing else is asked for; more than 1 is taken as 1, with a warning."
    )

    # The log. What topic keys take their defaults from is read by TopicConfig.
    log_retention_check_interval_ms = Int("How often old segments are looked for.")
    log_cleaner_enable = Flag("Compacted topics are compacted.")
    log_cleaner_backoff_ms = Int("How long the cleaner rests when there is nothing to clean.")

    # Groups.
    offset_metadata_max_bytes = Int("The longest metadata string of a committed offset.")
    offsets_topic_num_partitions = Int("Partitions of __consumer_offsets, fixed when it is created.")
    offsets_topic_segment_bytes = Int("Segment size of __consumer_offsets.")
    offsets_retention_minutes = Int("Offsets of a group without members are forgotten after this long.")
    offsets_retention_check_interval_ms = Int("How often expired offsets are looked for.")
    group_initial_rebalance_delay_ms = Int("How long a new classic group waits for more members.")
    group_min_session_timeout_ms = Int("The shortest session timeout of a classic group's member.")
    group_max_session_timeout_ms = Int("The longest session timeout of a classic group's member.")
    group_max_size = Int("The most members of a classic group.")
    group_coordinator_rebalance_protocols = Texts(
        "Without consumer in it, groups of KIP-848 are refused; classic and share groups are served whatever it says."
    )
    group_consumer_max_size = Int("The most members of a consumer group (KIP-848).")
    group_consumer_assignors = Texts(
        "The assignors that members of such a group may choose, uniform and range; the first is the default."
    )
    group_share_max_size = Int("The most members of a share group.")
    group_share_record_lock_duration_ms = Int(
        "How long a lease lasts (Kafka's acquisition lock).", planned=True
    )
    group_share_delivery_count_limit = Int("Deliveries of a record before it is archived.", planned=True)
    group_share_partition_max_record_locks = Int(
        "The most records in flight in one share partition: the size of its window.", planned=True
    )
    group_share_max_share_sessions = Int("Share sessions of the broker at once.")
    errors_deadletterqueue_auto_create_topics_enable = Flag(
        "A group's dead-letter topic is created by its first dead letter, if it is missing."
    )
    errors_deadletterqueue_topic_name_prefix = Text(
        "Names of dead-letter topics have to begin with this; empty allows any name."
    )
    group_share_initialize_retry_interval_ms = Int(
        "How long until the state of a share partition is initialised again, if that failed."
    )
    share_coordinator_state_topic_num_partitions = Int(
        "Partitions of __share_group_state, fixed when it is created."
    )
    share_coordinator_state_topic_segment_bytes = Int("Segment size of __share_group_state.")
    share_coordinator_state_topic_prune_interval_ms = Int(
        "How often superseded share state is cut off its log."
    )
    share_coordinator_snapshot_update_records_per_snapshot = Int(
        "Updates of a share partition between snapshots."
    )
    share_coordinator_cold_partition_snapshot_interval_ms = Int(
        "How often the state of an idle share partition is written as a snapshot."
    )
    share_coordinator_write_timeout_ms = Int(
        "A request that waits longer for a write of share state is answered with an error that the client may retry."
    )
    transaction_state_log_num_partitions = Int("Partitions of __transaction_state, fixed when it is created.")
    transaction_state_log_segment_bytes = Int("Segment size of __transaction_state.")
    transaction_max_timeout_ms = Int("The longest time-out that a transactional producer may ask for.")
    transactional_id_expiration_ms = Int("A transactional id that nobody has used for so long is forgotten.")
    transaction_abort_timed_out_transaction_cleanup_interval_ms = Int(
        "How often transactions that are open for longer than their time-out are looked for, and aborted."
    )
    transaction_remove_expired_transaction_cleanup_interval_ms = Int(
        "How often expired transactional ids are looked for."
    )
    transaction_partition_verification_enable = Flag(
        "A batch of a transaction is written only into a partition that is part of the transaction."
    )
    add_partitions_to_txn_retry_backoff_max_ms = Int(
        "How long a produce or an offset commit waits for the end of the transaction before it."
    )
    group_share_persister_class_name = Text(
        "Who keeps share state: org.apache.kafka.server.share.persister.DefaultStatePersister (the share coordinator "
        "of this process), NoOpStatePersister of the same package, or an empty name (nobody), or "
        "leaselog.ColocatedPersister (the partition's own log). Any other refuses the start."
    )

    # Producers.
    producer_id_expiration_check_interval_ms = Int("How often producer ids to forget are looked for.")
    producer_id_expiration_ms = Int("A producer id unused for this long is forgotten.")

    def __init__(self, values: Mapping[str, Value], originals: Mapping[str, str]) -> None:
        super().__init__(values)
        #: what was set, as text and by the names used, unknown keys too
        self.originals = originals

    @classmethod
    def from_originals(cls, originals: Mapping[str, str]) -> Self:
        """The config of these texts over the defaults; ConfigError if a value or a set of values is wrong."""
        values = dict(_DEFAULTS)
        for name, text in originals.items():
            if name in BROKER:
                values[name] = BROKER[name].parse(text)
        if "broker.id" in originals and "node.id" not in originals:
            values["node.id"] = values["broker.id"]
        if "broker.id" in originals and values["broker.id"] not in (-1, values["node.id"]):
            raise ConfigError("You must set `node.id` to the same value as `broker.id`.")
        values["broker.id"] = values["node.id"]
        check_broker(values)
        return cls(values, MappingProxyType(dict(originals)))

    @classmethod
    def from_properties(cls, text: str, overrides: Mapping[str, str] | None = None) -> Self:
        """The config of a ``server.properties`` text, with ``--set`` overrides taking the place of its keys.

        An override also drops the synonyms of its key from the file: ``--set log.retention.hours=1`` means one
        hour even if the file says ``log.retention.ms``.
        """
        return cls.from_originals(lay_over(parse_properties(text), overrides or {}))

    def overridden(self, *layers: Mapping[str, str]) -> Self:
        """This config with dynamic values laid over it, later layers over earlier ones."""
        originals = dict(self.originals)
        for layer in layers:
            originals = lay_over(originals, layer)
        return type(self).from_originals(originals)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys that were set and mean nothing here, for the one warning that names them all."""
        return tuple(
            name for name in self.originals if _base_name(name) not in BROKER and name not in AUTHORIZER_KEYS
        )

    @property
    def super_users(self) -> str:
        """Who may do everything, as ``User:NAME;User:NAME``."""
        return self.originals.get("super.users", "")

    @property
    def allows_everyone_without_acls(self) -> bool:
        """Everybody may do everything to what no access control list is about."""
        return self.originals.get("allow.everyone.if.no.acl.found", "").strip().lower() == "true"

    @property
    def log_retention_ms(self) -> int:
        """How long records are kept, from the ms, minutes or hours key; -1 is for ever."""
        retention = first_synonym(broker_synonyms("log.retention.ms"), self.values)
        assert isinstance(retention, int), "log.retention.hours has a default"
        return max(retention, -1)

    @property
    def data_dirs(self) -> tuple[str, ...]:
        """``log.dirs``, or ``log.dir`` where it is not set."""
        return self.log_dirs or self.log_dir


def _base_name(name: str) -> str:
    """The key without a listener's and a mechanism's prefix."""
    return _MECHANISM_PREFIX.sub("", broker_synonyms(name)[-1], count=1)


def lay_over(originals: Mapping[str, str], layer: Mapping[str, str]) -> dict[str, str]:
    """``originals`` with the keys of ``layer`` in the place of their synonyms."""
    laid = dict(originals)
    for name, text in layer.items():
        for synonym in broker_synonyms(name) if not name.startswith("listener.name.") else (name,):
            laid.pop(synonym, None)
        laid[name] = text
    return laid
