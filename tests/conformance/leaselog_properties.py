"""A suite's broker properties as leaselog understands them: key stores it can read, Java classes by their Python paths.

    leaselog_properties.py PROPERTIES_FILE OUT_FILE

Java's key stores (JKS) become PKCS12 by keytool, beside OUT_FILE. What the suites' own classes do is in `plugins.py`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

#: the suites' classes, by what stands in for them
PLUGINS = {
    "kafka.api.AbstractAuthorizerIntegrationTest$PrincipalBuilder": "plugins:principal_by_listener",
    "kafka.api.PlaintextEndToEndAuthorizationTest$TestClientPrincipalBuilder": "plugins:client_principal",
    "kafka.api.PlaintextEndToEndAuthorizationTest$TestServerPrincipalBuilder": "plugins:server_principal",
    "kafka.api.SslEndToEndAuthorizationTest$TestPrincipalBuilder": "plugins:principal_by_certificate",
    "kafka.api.SaslPlainSslEndToEndAuthorizationTest$TestPrincipalBuilder": "plugins:principal_by_login",
    "kafka.api.SaslPlainSslEndToEndAuthorizationTest$TestServerCallbackHandler": "plugins:is_right_password",
    "kafka.server.AlterCredentialsTest$TestPrincipalBuilderReturningAuthorized": "plugins:anonymous_principal",
    "kafka.server.AlterCredentialsTest$TestPrincipalBuilderReturningUnauthorized": (
        "plugins:unauthorized_principal"
    ),
    "kafka.server.AlterCredentialsTest$TestStandardAuthorizer": "plugins:authorizer",
}
STORE = re.compile(r"(?P<prefix>(?:.*\.)?ssl\.(?:key|trust)store\.)location")


def translate(text: str, folder: Path) -> str:
    """``folder`` gets the key stores that were made anew."""
    lines = [line.partition("=") for line in text.splitlines() if line and not line.startswith(("#", "!"))]
    values = {key.strip(): value.strip() for key, _, value in lines}
    for key, value in list(values.items()):
        unescaped = value.replace("\\$", "$").replace("\\:", ":")
        if unescaped in PLUGINS:
            values[key] = PLUGINS[unescaped]
        elif found := STORE.fullmatch(key):
            _convert(values, found["prefix"], unescaped, folder)
    return "".join(f"{key}={value}\n" for key, value in values.items())


def _convert(values: dict[str, str], prefix: str, store: str, folder: Path) -> None:
    if values.get(f"{prefix}type", "JKS").upper() != "JKS":
        return
    made = folder / f"{prefix}p12".replace(":", "_")
    made.unlink(missing_ok=True)
    password = values.get(f"{prefix}password", "")
    command = ["keytool", "-importkeystore", "-noprompt", "-srckeystore", store, "-srcstorepass", password]
    subprocess.run(
        [*command, "-destkeystore", str(made), "-deststoretype", "PKCS12", "-deststorepass", password],
        check=True,
        stdout=sys.stderr,
    )
    values[f"{prefix}location"], values[f"{prefix}type"] = str(made), "PKCS12"
    key_password = prefix.replace("keystore.", "key.password")
    if key_password in values:  # in a PKCS12 store keys have the store's
        values[key_password] = password


if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.write_text(translate(source.read_text(encoding="utf-8"), target.parent), encoding="utf-8")
