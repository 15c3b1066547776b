"""A certificate authority of one's own: a root that signs certificates for brokers and clients, as PEM.

Owns keys and certificates, not files. Keys are on the curve P-256, which everything that speaks TLS 1.2 knows; they are
PKCS#8 without a password, as OpenSSL, Java and librdkafka read them.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "expiry_of", "is_name", "names_of"]

#: a clock that is a little behind must not find the certificate too young
_BACKDATED = timedelta(hours=1)
_ROOT_LIFE = timedelta(days=3650)


@dataclass(frozen=True, slots=True)
class Authority:
    """Signs; made anew with `new`, or from what it kept with `load`."""

    _key: ec.EllipticCurvePrivateKey
    _certificate: x509.Certificate

    @classmethod
    def new(cls, name: str, *, now: datetime) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject(name)
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True,
            content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
            encipher_only=False, decipher_only=False,
        )  # fmt: skip
        certificate = (
            _begun(subject, key, now, now + _ROOT_LIFE)
            .issuer_name(subject)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, certificate)

    @classmethod
    def load(cls, key_pem: bytes, certificate_pem: bytes) -> Authority:
        """Raises ``ValueError``."""
        key = load_pem_private_key(key_pem, password=None)
        certificate = x509.load_pem_x509_certificate(certificate_pem)
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise ValueError("the key is not that of the certificate")
        return cls(key, certificate)

    @property
    def key_pem(self) -> bytes:
        return _key_pem(self._key)

    @property
    def certificate_pem(self) -> bytes:
        return self._certificate.public_bytes(Encoding.PEM)

    def broker(self, common_name: str, names: Iterable[str], *, now: datetime, days: int) -> bytes:
        """Key and certificate of a broker that clients reach under these names and addresses, in one PEM."""
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        return self._signed(
            common_name,
            (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH),
            now,
            days,
            alternatives,
        )

    def client(self, common_name: str, *, now: datetime, days: int) -> bytes:
        """Key and certificate of a client, in one PEM."""
        return self._signed(common_name, (ExtendedKeyUsageOID.CLIENT_AUTH,), now, days)

    def _signed(
        self,
        common_name: str,
        purposes: Iterable[x509.ObjectIdentifier],
        now: datetime,
        days: int,
        alternatives: x509.SubjectAlternativeName | None = None,
    ) -> bytes:
        key = ec.generate_private_key(ec.SECP256R1())
        end = min(now + timedelta(days=days), self._certificate.not_valid_after_utc)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            _begun(_subject(common_name), key, now, end)
            .issuer_name(self._certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
            .add_extension(issuer, critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        return _key_pem(key) + builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)


def expiry_of(pem: bytes) -> datetime:
    """When the first certificate ends. Raises ``ValueError``."""
    return x509.load_pem_x509_certificates(pem)[0].not_valid_after_utc


def names_of(pem: bytes) -> list[str]:
    """The names and addresses of a broker's certificate. Raises ``ValueError``."""
    certificate = x509.load_pem_x509_certificates(pem)[0]
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in found]


def is_name(text: str) -> bool:
    """Whether a certificate can have this name: an address, or ASCII without blanks."""
    return (
        bool(text) and text.isascii() and text.isprintable() and not set(text) & set(" /:,")
    ) or _is_address(text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _begun(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if _is_address(name) else x509.DNSName(name)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
