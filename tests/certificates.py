"""Certificates for tests: an authority, and what it signs."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import NameOID

__all__ = ["Authority", "Owned"]

_KINDS = {
    "CN": NameOID.COMMON_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "C": NameOID.COUNTRY_NAME,
}
BEGIN, END = datetime.datetime(2020, 1, 1), datetime.datetime(2049, 1, 1)


def _hidden(password: str) -> KeySerializationEncryption:
    return BestAvailableEncryption(password.encode()) if password else NoEncryption()


@dataclass(frozen=True)
class Owned:
    """A certificate with its key."""

    certificate: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey
    #: that of the authority; None for an authority's own
    signer: x509.Certificate | None = None

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def key(self, password: str = "") -> str:
        return self.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, _hidden(password)).decode()

    def pkcs12(self, password: str) -> bytes:
        others = [self.signer] if self.signer else None
        return pkcs12.serialize_key_and_certificates(
            b"mine", self.private_key, self.certificate, others, _hidden(password)
        )


class Authority(Owned):
    def __init__(self, name: str = "test authority") -> None:
        private_key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        super().__init__(
            _signed(subject, private_key, subject, private_key, names=(), is_authority=True), private_key
        )

    def signs(self, *name: tuple[str, str], names: tuple[str, ...] = ("localhost",)) -> Owned:
        """A certificate of the owner with this name, as pairs of ``CN`` and the like, the most general first."""
        subject = x509.Name([x509.NameAttribute(_KINDS[kind], text) for kind, text in name])
        private_key = ec.generate_private_key(ec.SECP256R1())
        made = _signed(subject, private_key, self.certificate.subject, self.private_key, names=names)
        return Owned(made, private_key, self.certificate)

    def trust_pkcs12(self, password: str) -> bytes:
        return pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(self.certificate, b"authority")], _hidden(password)
        )


def _signed(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    names: tuple[str, ...],
    is_authority: bool = False,
) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(END)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if names:
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives.append(x509.IPAddress(IPv4Address("127.0.0.1")))
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())
