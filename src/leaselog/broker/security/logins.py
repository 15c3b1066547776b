"""The logins of one broker: what each listener with SASL needs to check who its clients are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import iscoroutinefunction
from typing import Any

from leaselog.broker.cluster.cluster import Cluster
from leaselog.broker.config.listeners import Listener, settings_of
from leaselog.broker.runtime.client import Client
from leaselog.broker.runtime.runtime import Runtime
from leaselog.broker.runtime.structured_log import StructuredLog
from leaselog.broker.security.exchanges import (
    SALT_LENGTH,
    SALT_LETTERS,
    BearerExchange,
    Exchange,
    LoginFailed,
    PlainExchange,
    ScramExchange,
    nobodys_credential,
)
from leaselog.broker.security.plugins import load_plugin
from leaselog.broker.security.principals import PrincipalBuilder, PrincipalContext, make_principal_builder
from leaselog.broker.security.sasl_config import MechanismConfig, read_sasl
from leaselog.broker.security.sasl_session import SaslListener, SaslSession, SessionHost
from leaselog.broker.security.token_config import make_token_check
from leaselog.model import Principal
from leaselog.sasl import plain
from leaselog.sasl.oauthbearer import OAUTHBEARER
from leaselog.sasl.plain import PLAIN
from leaselog.sasl.scram import MECHANISMS, Credential, Mechanism

__all__ = ["Logins"]

#: password checks of a plug-in at once: it may ask a directory, and strangers choose how often it is asked
CHECKING_THREADS = 4

log = StructuredLog("sasl")


class Logins:
    def __init__(self, runtime: Runtime, cluster: Cluster) -> None:
        self._runtime = runtime
        self._cluster = cluster
        self._listeners: dict[str, SaslListener] = {}
        self._threads: ThreadPoolExecutor | None = None
        #: nobody outside knows the directory's id, and it stays: challenges to users who are not there stay the same
        self._secret = cluster.directory_id.bytes + cluster.cluster_id.encode()

    def open(self, listeners: Sequence[Listener]) -> None:
        """Makes ready what these listeners need. ConfigError if one cannot be served."""
        for listener in listeners:
            if listener.protocol.needs_sasl:
                self._listeners[listener.name] = self._make_ready(listener)

    def session(self, host: SessionHost, listener: str) -> SaslSession:
        return SaslSession(self._listeners[listener], host)

    def timeout_s(self, listener: str) -> float:
        """How long a connection may take to log in."""
        return self._listeners[listener].config.timeout_ms / 1000

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _make_ready(self, listener: Listener) -> SaslListener:
        config, settings = (
            read_sasl(self._runtime.config, listener.name),
            settings_of(self._runtime.config, listener),
        )
        begins = {one.name: self._exchanges_of(one) for one in config.mechanisms.values()}
        return SaslListener(
            config,
            begin=lambda mechanism: begins[mechanism](),
            principal_of=partial(_principal_of, listener, make_principal_builder(settings)),
            wall_ms=self._runtime.now_ms,
            monotonic_ms=self._runtime.monotonic_ms,
            metrics=self._runtime.metrics,
        )

    def _exchanges_of(self, config: MechanismConfig) -> Callable[[], Exchange]:
        if config.name == PLAIN:
            return partial(PlainExchange, self._password_check(config))
        if config.name == OAUTHBEARER:
            check = make_token_check(
                config, self._runtime.now_ms, lambda: self._runtime.monotonic_ms() / 1000, self._ask_plugin
            )
            return partial(BearerExchange, check)
        return partial(self._scram_exchange, MECHANISMS[config.name])

    def _scram_exchange(self, mechanism: Mechanism) -> ScramExchange:
        return ScramExchange(
            mechanism,
            self._draw_nonce(),
            partial(self._credential_of, mechanism),
            partial(nobodys_credential, self._secret, mechanism),
        )

    def _credential_of(self, mechanism: Mechanism, user: str) -> Credential | None:
        return self._cluster.scram_users().get(user, {}).get(mechanism.code)

    def _draw_nonce(self) -> str:
        below = self._runtime.machine.random_below
        return "".join(SALT_LETTERS[below(len(SALT_LETTERS))] for _ in range(SALT_LENGTH))

    def _password_check(self, config: MechanismConfig) -> Callable[[str, str], Awaitable[bool]]:
        if config.handler is None:
            assert config.jaas is not None, "read_sasl refuses PLAIN without users"
            users = config.jaas.users()

            async def is_right(user: str, password: str) -> bool:
                return plain.are_same(users.get(user), password)

            return is_right
        plugin = load_plugin(f"{config.prefix}sasl.server.callback.handler.class", config.handler)

        async def plugin_says_so(user: str, password: str) -> bool:
            return (await self._ask_plugin(plugin, user, password)) is True

        return plugin_says_so

    async def _ask_plugin(self, plugin: Callable[..., Any], *told: str) -> object:
        """A coroutine function is awaited, any other function is called on a thread. What it raises is a None."""
        try:
            if iscoroutinefunction(plugin):
                return await plugin(*told)
            if self._threads is None:
                self._threads = ThreadPoolExecutor(CHECKING_THREADS, thread_name_prefix="leaselog-login")
            return await asyncio.get_running_loop().run_in_executor(self._threads, plugin, *told)
        except Exception as failure:  # noqa: BLE001 - somebody else's code
            # Without its text: it may have quoted the password.
            log.error("a plug-in of logins failed", plugin=plugin, failure=type(failure).__name__)
            return None


def _principal_of(
    listener: Listener, build: PrincipalBuilder, mechanism: str, user: str, client: Client
) -> Principal:
    known = PrincipalContext(
        listener.name, listener.protocol, client.host, sasl_name=user, mechanism=mechanism
    )
    try:
        return build(known)
    except Exception as failure:
        raise LoginFailed(f"the principal builder failed: {failure}", user=user) from failure
