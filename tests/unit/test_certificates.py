"""Names in certificates as Java 17 writes them: what is expected here was asked of `X500Principal.getName()`."""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID, ObjectIdentifier
from tests.certificates import Authority

from leaselog.broker.security.certificates import alternative_names, subject_name

BEGIN = datetime.datetime(2020, 1, 1)
Part = list[tuple[ObjectIdentifier, str]]


def owned_by(*parts: Part) -> bytes:
    name = x509.Name(
        [x509.RelativeDistinguishedName([x509.NameAttribute(*one) for one in part]) for part in parts]
    )
    key = ec.generate_private_key(ec.SECP256R1())
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(x509.Name([])).serial_number(5)
    builder = (
        builder.not_valid_before(BEGIN).not_valid_after(BEGIN.replace(year=2040)).public_key(key.public_key())
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (
            [
                [(NameOID.COUNTRY_NAME, "DE")],
                [(NameOID.STATE_OR_PROVINCE_NAME, "B")],
                [(NameOID.LOCALITY_NAME, "Ort, am=See")],
                [(NameOID.ORGANIZATION_NAME, 'Acme "x" + y<z>;')],
                [(NameOID.ORGANIZATIONAL_UNIT_NAME, " lead#ing ")],
                [(NameOID.DOMAIN_COMPONENT, "ex")],
                [(NameOID.USER_ID, "u1")],
                [(NameOID.STREET_ADDRESS, "#st\\r")],
                [(NameOID.COMMON_NAME, "Ünïço 名")],
            ],
            r"CN=Ünïço 名,STREET=\#st\\r,UID=u1,DC=ex,OU=\ lead\#ing\ "
            r",O=Acme \"x\" \+ y\<z\>\;,L=Ort\, am\=See,ST=B,C=DE",
        ),
        (
            [
                [
                    (NameOID.COMMON_NAME, "two"),
                    (NameOID.ORGANIZATIONAL_UNIT_NAME, "b"),
                    (NameOID.COMMON_NAME, "a"),
                ],
                [(NameOID.EMAIL_ADDRESS, "a@b.c")],
                [(NameOID.TITLE, "Dr")],
                [(NameOID.SERIAL_NUMBER, "123")],
            ],
            "2.5.4.5=#1303313233,2.5.4.12=#0c024472,1.2.840.113549.1.9.1=#16056140622e63,CN=a+OU=b+CN=two",
        ),
        (
            [[(NameOID.COMMON_NAME, "  two  spaces  ")], [(ObjectIdentifier("1.2.3.4.5"), "x")]],
            r"1.2.3.4.5=#0c0178,CN=\ \ two  spaces\ \ ",
        ),
        ([], ""),
    ],
)
def test_a_name_is_written_as_java_writes_it(parts: list[Part], written: str) -> None:
    assert subject_name(owned_by(*parts)) == written


def test_alternative_names_are_found_and_compared_as_they_are_encoded() -> None:
    authority = Authority()
    one, more = (
        alternative_names(authority.signs(("CN", "a"), names=names).der)
        for names in (("a.b",), ("a.b", "c.d"))
    )
    assert one < more
    assert len(more) == 3  # the address is one, too
    assert alternative_names(authority.der) == frozenset()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 40, 100])
def test_half_a_certificate_is_refused(size: int) -> None:
    with pytest.raises((ValueError, StopIteration)):
        subject_name(Authority().der[:size])
