"""Cipher suites by Java's names, which are those of the standards, as OpenSSL has them."""

from __future__ import annotations

import re
import ssl
from collections.abc import Sequence

from leaselog.broker.config import ConfigError

__all__ = ["set_ciphers"]

_OF_TLS_1_3 = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")


def set_ciphers(context: ssl.SSLContext, names: Sequence[str]) -> None:
    """Offers these and no others. ConfigError if that cannot be."""
    newest = [name for name in names if name in _OF_TLS_1_3]
    others = [name for name in names if name not in _OF_TLS_1_3]
    speaks_1_3 = context.maximum_version >= ssl.TLSVersion.TLSv1_3
    if newest and speaks_1_3 and len(newest) < len(_OF_TLS_1_3):
        raise ConfigError(
            f"ssl.cipher.suites has {', '.join(newest)}, and Python's ssl offers all of TLS 1.3 or none: expected "
            f"{', '.join(_OF_TLS_1_3)}, or none of them"
        )
    if others:
        # one by one: OpenSSL leaves out without a word whatever it does not know beside what it does
        for name in others:
            if not _has_suite(context, _openssl_name(name)):
                raise ConfigError(f"ssl.cipher.suites: OpenSSL has no suite {name}")
        context.set_ciphers(":".join(map(_openssl_name, others)))
    if not newest:
        context.maximum_version = min(context.maximum_version, ssl.TLSVersion.TLSv1_2)
    if not others:
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if context.minimum_version > context.maximum_version:
        raise ConfigError("ssl.cipher.suites: none of them is of a version in ssl.enabled.protocols")


def _has_suite(context: ssl.SSLContext, name: str) -> bool:
    try:
        context.set_ciphers(name)
    except ssl.SSLError:
        return False
    return any(suite["name"] == name for suite in context.get_ciphers())


def _openssl_name(name: str) -> str:
    """``TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`` is ``ECDHE-RSA-AES128-GCM-SHA256``; OpenSSL's own names stay."""
    exchange, has_with, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not has_with:
        return name
    cipher = (
        re.sub(r"(AES|CAMELLIA|ARIA)_(\d+)", r"\1\2", cipher).replace("_CBC", "").replace("CCM_8", "CCM8")
    )
    cipher = cipher.removesuffix("_SHA256") if "CHACHA20" in cipher else cipher
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher]).replace("_", "-")
