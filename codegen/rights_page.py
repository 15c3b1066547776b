"""The page on rights: what each API asks for, from the table that the handlers are held to."""

from __future__ import annotations

from leaselog.broker.net.api import apis
from leaselog.broker.security.rights import RIGHTS, Right

__all__ = ["rights_page"]


def rights_page() -> str:
    """Every API that is served, once its handlers are loaded."""
    lines = [
        "# Rights",
        "",
        "Generated; do not edit. What a broker with `authorizer.class.name` asks for, API by API, as Apache Kafka",
        "does. `leaselog acls` and `kafka-acls.sh` give rights; super users have them all. Leave to READ, WRITE,",
        "DELETE or ALTER is leave to DESCRIBE, and leave to ALTER_CONFIGS is leave to DESCRIBE_CONFIGS.",
        "",
        "| key | API | operation | resource | of which, or when |",
        "| ---: | --- | --- | --- | --- |",
    ]
    for api in apis():
        rights = RIGHTS[api.key]
        if not rights:
            lines.append(f"| {api.key} | {api.name} | none |  | whoever may speak may ask |")
        lines += [_row(api.key, api.name, right) for right in rights]
    return "\n".join(lines) + "\n"


def _row(key: int, name: str, right: Right) -> str:
    return f"| {key} | {name} | {right.operation.name} | {right.resource.name} | {right.of} |"
