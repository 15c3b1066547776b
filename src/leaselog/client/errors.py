"""What can go wrong between a client and its brokers, each with a class a caller can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from leaselog.model import ErrorCode

__all__ = [
    "AuthenticationFailed",
    "AuthorizationFailed",
    "BrokerError",
    "ClientError",
    "ConfigError",
    "ConnectionLost",
    "DeliveryFailed",
    "IllegalState",
    "RequestTimedOut",
    "Unreachable",
    "UnsupportedVersion",
    "Unwritable",
    "is_retriable",
    "known_code",
    "raise_for",
    "refusal",
]

#: what Java's clients retry: the answer may be another one in a moment, or on another node
_RETRIABLE = frozenset({
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
})  # fmt: skip


_WRONG_ADDRESS = "Is the broker running, and is this its host and port (bootstrap.servers)?"


class ClientError(Exception):
    """Base of everything the client raises for reasons outside this process."""

    is_retriable = False


class ConfigError(ValueError):
    """A configuration that cannot be: the message names the key."""


class IllegalState(RuntimeError):
    """The call does not fit what the client is doing: Java's IllegalStateException."""


class Unreachable(ClientError):
    """No connection could be made."""

    is_retriable = True

    def __init__(self, words: str, advice: str = "") -> None:
        #: what to look at, for a log
        self.advice = advice or _WRONG_ADDRESS
        super().__init__(words)


class AuthenticationFailed(ClientError):
    """The broker does not let this client in, or the client does not believe the broker. Trying again does not help."""


class ConnectionLost(ClientError):
    """The connection ended with the request unanswered: it may have been carried out or not."""

    is_retriable = True


class RequestTimedOut(ClientError):
    """No answer in time. The connection is closed with it, since answers come in order."""

    is_retriable = True


class UnsupportedVersion(ClientError):
    """The broker does not serve this API, or in no version that we speak."""


class Unwritable(ClientError):
    """A record that cannot be put into a batch; the ``__cause__`` says what is wrong with it."""


class DeliveryFailed(ClientError):
    """Records were given up, and nobody has asked their receipts why. The first error is the ``__cause__``."""

    def __init__(self, counts: Mapping[BaseException, int]) -> None:
        #: how many records
        self.count = sum(counts.values())
        #: the first of each kind
        self.errors = tuple(counts)
        causes = "; ".join(
            f"{f'{count} x ' if len(counts) > 1 else ''}{type(error).__name__}: {error}"
            for error, count in counts.items()
        )
        super().__init__(
            f"{self.count} record{'s were' if self.count > 1 else ' was'} not delivered: {causes}"
        )


class BrokerError(ClientError):
    """The broker's answer is an error: Kafka's code, and its words if it has any.

    Made as the class of its code in ``kafka_errors`` where there is one, under the name that Kafka gives it.
    """

    _named: ClassVar[dict[int, type[BrokerError]]] = {}
    code: ErrorCode
    message: str | None

    def __init_subclass__(cls, *, code: ErrorCode | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            BrokerError._named[code] = cls

    def __new__(cls, code: int, message: str | None = None) -> BrokerError:
        made = BrokerError._named.get(code, cls) if cls is BrokerError else cls
        return super().__new__(made, code, message)

    def __init__(self, code: int, message: str | None = None) -> None:
        self.code = known_code(code)
        self.message = message
        self.is_retriable = is_retriable(self.code)
        name = self.code.name
        super().__init__(f"{name}: {message}" if message else name)

    def __reduce__(self) -> tuple[type[BrokerError], tuple[int, str | None]]:
        return BrokerError, (self.code, self.message)  # an exception copies itself from its text else


class AuthorizationFailed(BrokerError):
    """Who is logged in may not do this: an ACL is missing. Base of Kafka's ``…AuthorizationException``."""


#: what is answered to whoever lacks a right
_NOT_ALLOWED = frozenset({
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
})  # fmt: skip


def refusal(code: int, message: str | None, right: str, user: str | None = None) -> BrokerError:
    """The error of this code. Where a right is missing it names it: ``WRITE topic 'orders'``, and who lacks it."""
    if code in _NOT_ALLOWED:
        who = f"User:{user}" if user else "this client"
        message = f"{who} may not {right}: there is no ACL that allows it"
    return BrokerError(code, message)


def is_retriable(code: int) -> bool:
    return code in _RETRIABLE


def raise_for(code: int, message: str | None = None) -> None:
    """Raise ``BrokerError`` unless ``code`` is NONE."""
    if code:
        raise BrokerError(code, message)


def known_code(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError:  # a newer broker knows errors that we do not
        return ErrorCode.UNKNOWN_SERVER_ERROR
