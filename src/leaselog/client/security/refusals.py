"""Why TLS was not agreed on, in a line that says what to change. Pure: from what OpenSSL and the broker said."""

from __future__ import annotations

import ssl

from leaselog.client.errors import AuthenticationFailed

__all__ = ["CERTIFICATE_WANTED", "explained"]

#: OpenSSL's verification results
_EXPIRED, _NOT_YET = 10, 9
_HOST_MISMATCH, _ADDRESS_MISMATCH = 62, 64
_UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})

CERTIFICATE_WANTED = (
    "the broker asks for the client's certificate, and there is none: give it with ssl.keystore.location"
)
_NOT_BELIEVED = "the broker does not accept the client's certificate (ssl.keystore.location)"
_NO_COMMON = "no TLS version or cipher in common: ssl.enabled.protocols, ssl.cipher.suites"
#: alerts of the broker's, by a part of OpenSSL's name for them
_ALERTS = {
    "CERTIFICATE_REQUIRED": CERTIFICATE_WANTED,
    "UNKNOWN_CA": f"{_NOT_BELIEVED}: it does not trust the authority that signed it",
    "CERTIFICATE_EXPIRED": f"{_NOT_BELIEVED}: it has expired",
    "CERTIFICATE_REVOKED": f"{_NOT_BELIEVED}: it is revoked",
    "PROTOCOL_VERSION": _NO_COMMON,
    "UNSUPPORTED_PROTOCOL": _NO_COMMON,
    "NO_PROTOCOLS_AVAILABLE": _NO_COMMON,
    "INSUFFICIENT_SECURITY": _NO_COMMON,
}
#: what a broker may say that was shown no certificate, or one that it does not believe
_ABOUT_CERTIFICATES = ("BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN", "UNSUPPORTED_CERTIFICATE")
_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "RECORD_LAYER_FAILURE")


def explained(failed: ssl.SSLError, address: str, *, has_certificate: bool) -> AuthenticationFailed:
    return AuthenticationFailed(f"{address}: {_words(failed, address, has_certificate)}")


def _words(failed: ssl.SSLError, address: str, has_certificate: bool) -> str:
    if isinstance(failed, ssl.SSLCertVerificationError):
        return _not_trusted(failed, address)
    reason = (failed.reason or str(failed)).upper()
    for alert, words in _ALERTS.items():
        if alert in reason:
            return words
    if any(name in reason for name in _ABOUT_CERTIFICATES) or "HANDSHAKE_FAILURE" in reason:
        if not has_certificate:
            return f"{CERTIFICATE_WANTED} ({_said(reason)})"
        if "HANDSHAKE_FAILURE" in reason:
            return f"{_NO_COMMON} ({_said(reason)})"
        return f"{_NOT_BELIEVED} ({_said(reason)})"
    if any(name in reason for name in _NOT_TLS):
        return (
            "what answers does not speak TLS: security.protocol is PLAINTEXT or SASL_PLAINTEXT for this port"
        )
    return f"TLS failed: {_said(reason)}"


def _not_trusted(failed: ssl.SSLCertVerificationError, address: str) -> str:
    host = address.rpartition(":")[0]
    match failed.verify_code:
        case code if code in _UNKNOWN_AUTHORITY:
            return (
                f"the broker's certificate is signed by nobody who is trusted here ({failed.verify_message}):"
                " give its authority with ssl.truststore.location"
            )
        case code if code in (_HOST_MISMATCH, _ADDRESS_MISMATCH):
            return (
                f"the broker's certificate is not for the name {host}: connect by a name that is in it"
                " (or switch that check off, with an empty ssl.endpoint.identification.algorithm)"
            )
        case code if code == _EXPIRED:
            return "the broker's certificate, or one that it depends on, has expired"
        case code if code == _NOT_YET:
            return "the broker's certificate is not valid yet: is this machine's clock right?"
    return f"the broker's certificate is not believed: {failed.verify_message}"


def _said(reason: str) -> str:
    return reason.replace("_", " ").lower()
