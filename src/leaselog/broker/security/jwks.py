"""The keys that tokens are signed with: a JWKS document, from a file or over HTTP, read again now and then.

Reading happens on a thread, one at a time however many logins wait for it; the loop never does. A key that is not
known makes the document be read again, and no more often than `MIN_REFRESH_S`, whatever strangers write into their
tokens. A document that cannot be read leaves those keys in force that were there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

from leaselog.broker.runtime.structured_log import StructuredLog

__all__ = ["KeySet", "NoSuchKey", "read_document"]

MAX_DOCUMENT_BYTES = 1 << 20
TIMEOUT_S = 5.0
MIN_REFRESH_S = 10.0
#: how the names of algorithms begin, by the type of key
_FAMILIES = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("EdDSA",)}

log = StructuredLog("sasl")


class NoSuchKey(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Key:
    key: Any
    #: None: any of its family, as the document does not say
    algorithm: str | None
    family: tuple[str, ...]

    def fits(self, algorithm: str) -> bool:
        return algorithm.startswith(self.family) if self.algorithm is None else algorithm == self.algorithm


def read_document(url: str) -> bytes:
    """Blocks. Raises OSError and ValueError."""
    place = urlsplit(url)
    if place.scheme in ("", "file"):
        document = Path(url2pathname(place.path)).read_bytes()
    elif place.scheme in ("http", "https"):
        with urlopen(Request(url, headers={"Accept": "application/json"}), timeout=TIMEOUT_S) as answer:
            document = answer.read(MAX_DOCUMENT_BYTES + 1)
    else:
        raise ValueError(f"{place.scheme}: is no way to read keys: expected file, http or https")
    if len(document) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"the document is longer than {MAX_DOCUMENT_BYTES} bytes")
    return document


class KeySet:
    def __init__(
        self,
        url: str,
        refresh_s: float,
        *,
        monotonic_s: Callable[[], float],
        read: Callable[[str], bytes] = read_document,
    ) -> None:
        self._url = url
        self._refresh_s = refresh_s
        self._monotonic_s = monotonic_s
        self._read = read
        #: by key id; those without one are under None
        self._keys: dict[str | None, list[_Key]] = {}
        self._read_at_s: float | None = None
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key_id: object, algorithm: str) -> Any:
        """The key of this id, or the only one of its algorithm where the token names none. Raises NoSuchKey."""
        await self._refresh(self._refresh_s)
        found = self._look_up(key_id, algorithm)
        if found is None:
            await self._refresh(MIN_REFRESH_S)
            found = self._look_up(key_id, algorithm)
        if found is None:
            raise NoSuchKey("the token is signed with a key that is not known")
        return found

    def _look_up(self, key_id: object, algorithm: str) -> Any:
        if key_id is None:
            found = [key for keys in self._keys.values() for key in keys]
        else:
            found = self._keys.get(key_id, []) if isinstance(key_id, str) else []
        fitting = [key.key for key in found if key.fits(algorithm)]
        return fitting[0] if len(fitting) == 1 else None

    async def _refresh(self, older_than_s: float) -> None:
        """Reads the keys if the last time was longer ago than that. Who comes meanwhile waits for the same."""
        now_s = self._monotonic_s()
        if self._reading is None and (self._read_at_s is None or now_s - self._read_at_s >= older_than_s):
            self._read_at_s = now_s
            self._reading = asyncio.ensure_future(self._read_keys())
        # Where keys are only old, they serve until the new ones are there.
        if self._reading is not None and (not self._keys or older_than_s == MIN_REFRESH_S):
            await asyncio.shield(self._reading)

    async def _read_keys(self) -> None:
        try:
            document = json.loads(await asyncio.to_thread(self._read, self._url))
            keys: dict[str | None, list[_Key]] = {}
            for one in document["keys"]:
                if one.get("use", "sig") == "sig" and one.get("kty") in _FAMILIES:
                    self._add(keys, one)
            self._keys = keys
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as failure:
            log.error("the keys of tokens cannot be read", url=self._url, why=str(failure)[:200])
        finally:
            self._reading = None

    def _add(self, keys: dict[str | None, list[_Key]], told: dict[str, Any]) -> None:
        from jwt import PyJWK, PyJWTError

        try:
            read = PyJWK(told)
            exact = read.algorithm_name if "alg" in told or told["kty"] == "EC" else None
            keys.setdefault(told.get("kid"), []).append(_Key(read.key, exact, _FAMILIES[told["kty"]]))
        except (PyJWTError, ValueError, TypeError):
            log.warning("a key cannot be used", url=self._url, key=str(told.get("kid"))[:100])
