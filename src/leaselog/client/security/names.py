"""Every name of a configuration that is about being let in: Kafka's, librdkafka's, and what is refused and why."""

from __future__ import annotations

__all__ = ["LOGIN_HANDLER", "OTHER_NAMES", "REFUSED", "SECURITY_CONFIGS"]

#: librdkafka's spelling of the same
OTHER_NAMES = {
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
}
_USED = (
    "security.protocol",
    "ssl.cipher.suites", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm", "ssl.key.password",
    "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.type",
    "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.type",
    "ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem",
    "enable.ssl.certificate.verification",
    "sasl.mechanism", "sasl.jaas.config", "sasl.username", "sasl.password",
    "oauth.cb", "enable.sasl.oauthbearer.unsecure.jwt", "https.ca.location",
    "sasl.oauthbearer.config", "sasl.oauthbearer.method", "sasl.oauthbearer.token",
    "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope", "sasl.oauthbearer.extensions", "sasl.oauthbearer.header.urlencode",
    "sasl.login.callback.handler.class",
    "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms", "sasl.login.refresh.window.factor",
)  # fmt: skip
#: of a JVM, of Kerberos, of who validates tokens, or another way of doing the same
_WITHOUT_EFFECT = (
    "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin", "sasl.kerberos.service.name",
    "sasl.kerberos.ticket.renew.jitter", "sasl.kerberos.ticket.renew.window.factor",
    "sasl.login.refresh.buffer.seconds", "sasl.login.refresh.min.period.seconds",
    "sasl.login.refresh.window.jitter", "sasl.login.retry.backoff.max.ms", "sasl.login.retry.backoff.ms",
    "sasl.oauthbearer.allow.unverified.audience", "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.clock.skew.seconds", "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer", "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url", "sasl.oauthbearer.jwt.retriever.class",
    "sasl.oauthbearer.jwt.validator.class", "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name", "ssl.keymanager.algorithm", "ssl.keystore.password", "ssl.protocol",
    "ssl.secure.random.implementation", "ssl.trustmanager.algorithm", "ssl.truststore.password",
)  # fmt: skip
_ASSERTIONS = "client assertions are not supported; use client credentials, or oauth_cb"
#: what would weaken or change how a client is let in: better refused than ignored
REFUSED = {
    "sasl.client.callback.handler.class": "it is a class of Java's; use sasl.username and sasl.password, or oauth_cb",
    "sasl.login.class": "it is a class of Java's",
    "ssl.engine.factory.class": "it is a class of Java's",
    "ssl.provider": "it is of a JVM",
    "ssl.crl.location": "lists of revoked certificates are not read",
    "ssl.ca.certificate.stores": "the system's authorities are trusted if ssl.truststore.location is left out",
    "sasl.oauthbearer.assertion.algorithm": _ASSERTIONS,
    "sasl.oauthbearer.assertion.claim.aud": _ASSERTIONS,
    "sasl.oauthbearer.assertion.claim.exp.seconds": _ASSERTIONS,
    "sasl.oauthbearer.assertion.claim.iss": _ASSERTIONS,
    "sasl.oauthbearer.assertion.claim.jti.include": _ASSERTIONS,
    "sasl.oauthbearer.assertion.claim.nbf.seconds": _ASSERTIONS,
    "sasl.oauthbearer.assertion.claim.sub": _ASSERTIONS,
    "sasl.oauthbearer.assertion.file": _ASSERTIONS,
    "sasl.oauthbearer.assertion.private.key.file": _ASSERTIONS,
    "sasl.oauthbearer.assertion.private.key.passphrase": _ASSERTIONS,
    "sasl.oauthbearer.assertion.template.file": _ASSERTIONS,
}  # fmt: skip
#: Kafka's, which asks a token endpoint, as is done here anyhow
LOGIN_HANDLER = "OAuthBearerLoginCallbackHandler"
#: every name that a client may be given for its security
SECURITY_CONFIGS = frozenset({*_USED, *_WITHOUT_EFFECT, *REFUSED, *OTHER_NAMES})
