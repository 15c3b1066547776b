"""An authority, and certificates of it, made with OpenSSL's command: what both sides of TLS are given in tests.

Keys are on an elliptic curve, which takes no time to make.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """One that signs what it is asked to; its own certificate is `certificate`."""

    def __init__(self, home: Path, name: str = "test authority") -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not on this machine: no certificates can be made")
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.certificate, self._key = home / "ca.pem", home / "ca.key"
        _openssl(
            *("req", "-x509", *_KEY, "-keyout", self._key, "-out", self.certificate),
            *("-subj", f"/CN={name}", "-days", "10"),
        )

    def issue(self, name: str, *, hosts: str = "", days: int = 10, password: str = "") -> Path:
        """A file with a key and its certificate, for these ``DNS:…,IP:…``; ``days`` below zero: it has expired."""
        stem = self.home / name
        key, request, signed = stem.with_suffix(".key"), stem.with_suffix(".csr"), stem.with_suffix(".crt")
        _openssl("req", *_KEY, "-keyout", key, "-out", request, "-subj", f"/O=leaselog tests/CN={name}")
        extensions = stem.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={hosts}\n" if hosts else "basicConstraints=CA:FALSE\n")
        by = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial")
        _openssl("x509", "-req", "-in", request, *by, "-days", days, "-out", signed, "-extfile", extensions)
        if password:
            _openssl(
                "pkcs8",
                "-topk8",
                "-in",
                key,
                "-out",
                f"{key}.8",
                "-passout",
                f"pass:{password}",
                "-v2",
                "aes256",
            )
            key = Path(f"{key}.8")
        whole = stem.with_suffix(".pem")
        whole.write_text(key.read_text() + signed.read_text())
        return whole


def _openssl(*arguments: object) -> None:
    ended = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
