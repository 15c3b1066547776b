"""Values that no log, repr or exception shows, and the names of the configurations that hold them."""

from __future__ import annotations

__all__ = ["HIDDEN", "NOTHING", "Secret", "hidden", "is_secret", "revealed"]

#: Kafka's own word for it
HIDDEN = "[hidden]"
#: Kafka's configurations of type PASSWORD, librdkafka's names of the same, and our own
_SECRET = frozenset({
    "sasl.jaas.config",
    "sasl.oauthbearer.assertion.private.key.passphrase",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.config",
    "sasl.oauthbearer.token",
    "sasl.password",
    "ssl.key.password",
    "ssl.key.pem",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.password",
})  # fmt: skip
#: what a name has in it that nobody here knows, and that had better be hidden all the same
_TELLTALE = ("password", "secret", "passphrase", "jaas", "token.value")


class Secret:
    """A text that is told to whoever calls `reveal`, and to nobody who prints it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __bool__(self) -> bool:
        return bool(self._text)


NOTHING = Secret("")


def is_secret(key: str) -> bool:
    """Whether the value of this configuration is to be shown to nobody; with or without a prefix before the name."""
    dotted = key.lower().replace("_", ".")
    return any(dotted == name or dotted.endswith(f".{name}") for name in _SECRET) or any(
        word in dotted for word in _TELLTALE
    )


def hidden(key: str, value: object) -> object:
    """The value of this configuration, as a secret if it is one."""
    return Secret(value) if isinstance(value, str) and is_secret(key) else value


def revealed(value: object) -> object:
    return value.reveal() if isinstance(value, Secret) else value
