"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) as Apache Kafka speaks them: both sides, and what is stored.

The client proves that it knows the password without saying it, and the server that it knows what it stored of it:

    client-first   n,,n=USER,r=NONCE[,tokenauth=true]
    server-first   r=NONCE+MORE,s=SALT,i=ITERATIONS
    client-final   c=biws,r=NONCE+MORE,p=PROOF
    server-final   v=SIGNATURE

What a server stores (`Credential`) is enough to check a client and not enough to be one. A password is taken as its
UTF-8 bytes, as Kafka takes it: SASLprep would make another password of some, and Kafka's own tools do without.

Nonces and salts are handed in by who has chance.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass, field

from leaselog.sasl.errors import MalformedMessage, SaslError, WrongCredentials
from leaselog.sasl.names import escaped, unescaped

__all__ = [
    "MAX_ITERATIONS",
    "MECHANISMS",
    "MIN_ITERATIONS",
    "SCRAM_SHA_256",
    "SCRAM_SHA_512",
    "ClientFirst",
    "Credential",
    "Mechanism",
    "ScramClient",
    "ScramServer",
    "credential",
    "credential_of_salted_password",
    "salted_password",
]

#: what Kafka stores. Fewer are too cheap to try out; more would cost each client that connects too much
MIN_ITERATIONS = 4096
MAX_ITERATIONS = 16384
#: what our client carries out for a server of another make: half a second of work, and no server may ask for an hour
MAX_ITERATIONS_OF_A_CLIENT = 1_000_000

_GS2_HEADER = re.compile(r"n,(?:a=(?P<authorization_id>[^,]*))?,", re.DOTALL)
_NONCE = re.compile(r"[\x21-\x2b\x2d-\x7e]+")
_EXTENSION = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A hash function, and the name and number that Kafka gives to SCRAM with it."""

    name: str
    hash_name: str
    #: in AlterUserScramCredentials, and in records
    code: int

    @property
    def digest_bytes(self) -> int:
        return hashlib.new(self.hash_name).digest_size


SCRAM_SHA_256 = Mechanism("SCRAM-SHA-256", "sha256", 1)
SCRAM_SHA_512 = Mechanism("SCRAM-SHA-512", "sha512", 2)
MECHANISMS = {mechanism.name: mechanism for mechanism in (SCRAM_SHA_256, SCRAM_SHA_512)}


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server keeps of a password."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def salted_password(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """The costly step: some milliseconds. Whoever has it can log in as if it were the password."""
    return hashlib.pbkdf2_hmac(mechanism.hash_name, password.encode(), salt, iterations)


def credential_of_salted_password(
    mechanism: Mechanism, salted: bytes, salt: bytes, iterations: int
) -> Credential:
    stored_key = hashlib.new(mechanism.hash_name, _hmac(mechanism, salted, b"Client Key")).digest()
    return Credential(salt, stored_key, _hmac(mechanism, salted, b"Server Key"), iterations)


def credential(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> Credential:
    salted = salted_password(mechanism, password, salt, iterations)
    return credential_of_salted_password(mechanism, salted, salt, iterations)


class ScramClient:
    """One exchange of a client: `first`, then `final` with the server's answer, then `check` with its last word."""

    def __init__(
        self,
        mechanism: Mechanism,
        user: str,
        password: str,
        nonce: str,
        *,
        is_delegation_token: bool = False,
    ) -> None:
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        self._first_bare = f"n={escaped(user)},r={nonce}" + (",tokenauth=true" if is_delegation_token else "")
        self._signature = b""

    def first(self) -> bytes:
        return f"n,,{self._first_bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """The proof. It takes as long as the iterations that the server asks for: off the loop, if there is one."""
        said = _text(server_first)
        _raise_the_servers_error(said)
        fields = _fields(said, "rsi")
        nonce, salt = fields["r"], _decoded(fields["s"], "salt")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise WrongCredentials(
                "the server's nonce does not go on from the client's: it answers somebody else"
            )
        iterations = _iterations(fields["i"])
        salted = salted_password(self._mechanism, self._password, salt, iterations)
        client_key = _hmac(self._mechanism, salted, b"Client Key")
        keys = credential_of_salted_password(self._mechanism, salted, salt, iterations)
        without_proof = f"c=biws,r={nonce}"
        whole = f"{self._first_bare},{said},{without_proof}".encode()
        self._signature = _hmac(self._mechanism, keys.server_key, whole)
        proof = _xor(client_key, _hmac(self._mechanism, keys.stored_key, whole))
        return f"{without_proof},p={_encoded(proof)}".encode()

    def check(self, server_final: bytes) -> None:
        """Refuses a server that does not know the password's keys either."""
        said = _text(server_final)
        _raise_the_servers_error(said)
        signature = _decoded(_fields(said, "v")["v"], "signature")
        if not self._signature or not hmac.compare_digest(signature, self._signature):
            raise WrongCredentials(
                "the server does not prove that it knows the user's keys: it may be another's"
            )


@dataclass(frozen=True, slots=True)
class ClientFirst:
    """Who wants to log in."""

    user: str
    authorization_id: str
    nonce: str
    #: as Kafka's clients append them: `tokenauth=true` says that user and password are those of a delegation token
    extensions: dict[str, str]

    @property
    def is_delegation_token(self) -> bool:
        return self.extensions.get("tokenauth", "").lower() == "true"


class ScramServer:
    """One exchange of a server: `hear` who it is, `challenge` with what is stored of it, `prove` by its answer."""

    def __init__(self, mechanism: Mechanism, nonce: str) -> None:
        self._mechanism = mechanism
        self._own_nonce = nonce
        self._nonce = ""
        self._header = ""
        self._so_far = ""
        self._credential: Credential | None = None

    def hear(self, client_first: bytes) -> ClientFirst:
        said = _text(client_first)
        header = _GS2_HEADER.match(said)
        if header is None:
            raise MalformedMessage("the client's first message does not begin with n,, (no channel binding)")
        self._header, bare = header.group(), said[header.end() :]
        attributes = bare.split(",")
        if len(attributes) < 2 or not attributes[0].startswith("n=") or not attributes[1].startswith("r="):
            raise MalformedMessage("the client's first message has no user name and nonce")
        user, nonce = unescaped(attributes[0][2:]), attributes[1][2:]
        if not user or not _NONCE.fullmatch(nonce):
            raise MalformedMessage("the client's first message has an empty user name or an impossible nonce")
        self._so_far = bare
        self._nonce = nonce + self._own_nonce
        authorization_id = unescaped(header["authorization_id"] or "")
        return ClientFirst(user, authorization_id, nonce, _extensions(attributes[2:]))

    def challenge(self, stored: Credential) -> bytes:
        """What the client is asked to prove. For a user nobody knows, hand in a credential that nobody can meet."""
        self._credential = stored
        said = f"r={self._nonce},s={_encoded(stored.salt)},i={stored.iterations}"
        self._so_far += f",{said}"
        return said.encode()

    def prove(self, client_final: bytes) -> bytes:
        """The last word to a client that knows the password; `WrongCredentials` for any other."""
        stored = self._credential
        if stored is None:
            raise SaslError("the client proves something before it was asked to")
        without_proof, marker, proof_text = _text(client_final).rpartition(",p=")
        fields = _fields(without_proof, "cr")
        if not marker or _decoded(fields["c"], "channel binding") != self._header.encode():
            raise MalformedMessage("the client's final message does not bind to its first one")
        if not hmac.compare_digest(fields["r"].encode(), self._nonce.encode()):
            raise WrongCredentials("the client's final message has another nonce")
        whole = f"{self._so_far},{without_proof}".encode()
        proof = _decoded(proof_text, "proof")
        if len(proof) != self._mechanism.digest_bytes:
            raise MalformedMessage("the client's proof has another length than the hash")
        client_key = _xor(proof, _hmac(self._mechanism, stored.stored_key, whole))
        if not hmac.compare_digest(
            hashlib.new(self._mechanism.hash_name, client_key).digest(), stored.stored_key
        ):
            raise WrongCredentials("Invalid client credentials")
        return f"v={_encoded(_hmac(self._mechanism, stored.server_key, whole))}".encode()


def _raise_the_servers_error(said: str) -> None:
    if said.startswith("e="):
        raise WrongCredentials(f"the server refuses: {said[2:200]}")


def _iterations(text: str) -> int:
    iterations = int(text) if re.fullmatch("[0-9]{1,9}", text) else 0
    if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS_OF_A_CLIENT:
        bounds = f"{MIN_ITERATIONS} to {MAX_ITERATIONS_OF_A_CLIENT}"
        raise MalformedMessage(f"the server asks for {text[:20]} iterations, {bounds} are carried out")
    return iterations


def _extensions(attributes: list[str]) -> dict[str, str]:
    extensions = {}
    for attribute in attributes:
        name, equals, value = attribute.partition("=")
        if not equals or not _EXTENSION.fullmatch(name):
            raise MalformedMessage("an extension is no name=value")
        extensions[name] = value
    return extensions


def _fields(said: str, names: str) -> dict[str, str]:
    """The attributes of these names, which come first and in this order; later ones are extensions."""
    attributes = said.split(",")
    found = {}
    for name, attribute in zip(names, attributes, strict=False):
        if not attribute.startswith(f"{name}="):
            break
        found[name] = attribute[2:]
    if len(found) < len(names):
        raise MalformedMessage(f"a message without the attributes {', '.join(names)}, in this order")
    return found


def _text(said: bytes) -> str:
    try:
        text = said.decode()
    except UnicodeDecodeError:
        raise MalformedMessage("a message is not UTF-8") from None
    if "\0" in text:
        raise MalformedMessage("a message has a zero byte")
    return text


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MalformedMessage(f"the {what} is not base64") from None


def _hmac(mechanism: Mechanism, key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, mechanism.hash_name)


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
