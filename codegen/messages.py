"""Makes ``src/leaselog/wire/messages`` from Kafka's own message definitions.

    python codegen/messages.py DEFINITIONS_DIR

DEFINITIONS_DIR holds the JSON definitions that travel inside Kafka's jars, unpacked one folder a jar:
``clients``, ``group-coordinator``, ``share-coordinator``, ``transaction-coordinator``, ``metadata``. Only names,
types, versions and defaults are taken. The output is committed; nothing of this runs in the product.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "src" / "leaselog" / "wire" / "messages"
INTEGERS = {"int8", "int16", "uint16", "int32", "uint32", "int64"}
PYTHON_TYPES = {**dict.fromkeys(INTEGERS, "int"), "float64": "float", "bool": "bool", "string": "str",
                "bytes": "Buffer", "records": "Buffer", "uuid": "UUID"}  # fmt: skip
RECORD_MODULES = {
    "group_records": ("group-coordinator", "message"),
    "share_records": ("share-coordinator", "message"),
    "transaction_records": ("transaction-coordinator", "message"),
    "metadata_records": ("metadata", "metadata"),
}
#: definitions in the clients jar that are neither request nor response
CLIENT_DATA = (
    "ConsumerProtocolSubscription",
    "ConsumerProtocolAssignment",
    "LeaderChangeMessage",
    "EndTxnMarker",
    "SnapshotHeaderRecord",
    "SnapshotFooterRecord",
    "KRaftVersionRecord",
    "VotersRecord",
)


def load(path: Path) -> dict[str, Any]:
    text = "\n".join(line for line in path.read_text().split("\n") if not line.strip().startswith("//"))
    definition: dict[str, Any] = json.loads(text)
    return definition


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def versions(text: str | None) -> str:
    if text is None or text == "none":
        return "NEVER"
    if text == "0+":
        return "ALWAYS"
    first, _, last = text.partition("-")
    if text.endswith("+"):
        return f"Versions({text[:-1]}, 32767)"
    return f"Versions({first}, {last or first})"


def default_of(field: dict[str, Any], kind: str) -> str:
    given = field.get("default")
    if given == "null":
        return "None"
    if field["type"].startswith("[]"):
        return "()"
    if kind in INTEGERS:
        return str(int(str(given), 0)) if given not in (None, "") else "0"
    if kind == "float64":
        return repr(float(given or 0))
    simple = {
        "bool": str(str(given).lower() == "true"),
        "string": json.dumps(given or ""),
        "bytes": 'b""',
        "records": "None",
        "uuid": "ZERO_UUID",
    }
    return simple.get(kind, f"{kind}()")


class Module:
    """One output file: its structs in order of use, each written before what contains it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.classes: dict[str, str] = {}
        self.shapes: dict[str, str] = {}

    def add(self, definition: dict[str, Any]) -> str:
        common = {c["name"]: c for c in definition.get("commonStructs", ())}
        return self._struct(definition["name"], definition, definition, common)

    def _struct(self, name: str, struct: dict[str, Any], top: dict[str, Any], common: dict[str, Any]) -> str:
        shape = json.dumps(struct.get("fields", []), sort_keys=True)
        if self.shapes.get(name, shape) != shape:
            # Two messages of one module use a name for different structs: the later one is named in full.
            name = f"{top['name']}{name}"
        if name in self.classes:
            return name
        self.shapes[name] = shape
        fields = [self._field(field, top, common) for field in struct.get("fields", ())]
        self.classes[name] = self._render(name, struct, top, fields)
        return name

    def _field(self, field: dict[str, Any], top: dict[str, Any], common: dict[str, Any]) -> dict[str, str]:
        kind = field["type"].removeprefix("[]")
        array = field["type"].startswith("[]")
        if kind not in PYTHON_TYPES:
            kind = self._struct(kind, common.get(kind, field), top, common)
        is_struct = kind not in PYTHON_TYPES and not array
        # A tagged struct that is not sent is None here, rather than one full of defaults.
        default = "None" if is_struct and "tag" in field else default_of(field, kind)
        python = PYTHON_TYPES.get(kind, kind)
        if array:
            python = f"Sequence[{python}]"
        if default == "None" or "nullableVersions" in field or kind == "records":
            python += " | None"
        spec = [repr(snake(field["name"])), f'"{kind}"' if kind in PYTHON_TYPES else kind]
        extras = {
            "array": "True" if array else "",
            "versions": versions(field.get("versions", field.get("taggedVersions"))),
            "nullable": versions(field.get("nullableVersions")),
            "tag": str(field.get("tag", "")),
            "tagged": versions(field.get("taggedVersions")),
            "default": default,
        }
        unsaid = {"array": "", "versions": "ALWAYS", "nullable": "NEVER", "tag": "", "tagged": "NEVER"}
        spec += [f"{key}={value}" for key, value in extras.items() if value != unsaid.get(key)]
        return {"name": snake(field["name"]), "type": python, "default": default, "spec": ", ".join(spec)}

    @staticmethod
    def _render(name: str, struct: dict[str, Any], top: dict[str, Any], fields: list[dict[str, str]]) -> str:
        slots = ", ".join(repr(f["name"]) for f in fields) + ("," if len(fields) == 1 else "")
        lines = [f"class {name}(Message):", f"    __slots__ = ({slots})", f'    NAME = "{struct["name"]}"']
        if struct is top:
            lines.append(f"    API_KEY = {top.get('apiKey', -1)}")
        lines.append(f"    VERSIONS = {versions(top['validVersions'])}")
        lines.append(f"    FLEXIBLE = {versions(top.get('flexibleVersions', 'none'))}")
        lines.append("    FIELDS = (" + ("" if fields else ")"))
        if fields:
            lines += [f"        Field({f['spec']})," for f in fields] + ["    )"]
            made = {f["name"]: f["default"] for f in fields}
            lines += ["", "    def __init__(", "        self,", "        *,"]
            for f in fields:
                # A struct's default is made anew for each message: messages are mutable.
                shown, python = f["default"], f["type"]
                if shown.endswith("()") and shown != "()":
                    shown, python = "None", python if python.endswith("| None") else python + " | None"
                lines.append(f"        {f['name']}: {python} = {shown},")
            lines.append("    ) -> None:")
            for f in fields:
                value, n = made[f["name"]], f["name"]
                fresh = value.endswith("()") and value != "()"
                lines.append(
                    f"        self.{n}: {f['type']} = " + (f"{value} if {n} is None else {n}" if fresh else n)
                )
        return "\n".join(lines)

    def text(self) -> str:
        body = "\n\n\n".join(self.classes.values())
        names = ["Field", "Message"] + [
            n for n in ("ALWAYS", "NEVER", "Versions") if re.search(rf"\b{n}\b", body)
        ]
        head = [f'"""{self.title} Made by codegen/messages.py from Kafka\'s definitions; do not edit."""', "",
                "from __future__ import annotations", ""]  # fmt: skip
        if "Sequence[" in body:
            head.append("from collections.abc import Sequence")
        if ": UUID" in body or "[UUID]" in body:
            head.append("from uuid import UUID")
        if head[-1]:
            head.append("")
        if "ZERO_UUID" in body:
            head.append("from leaselog.model.ids import ZERO_UUID")
        if "Buffer" in body:
            head.append("from leaselog.wire.primitives import Buffer")
        head.append(f"from leaselog.wire.schema import {', '.join(sorted(names))}")
        everything = ", ".join(f'"{n}"' for n in sorted(self.classes))
        return "\n".join([*head, "", f"__all__ = [{everything}]", "", "", body, ""])


def api_modules(folder: Path) -> Iterator[tuple[str, Module]]:
    for path in sorted(folder.glob("*Request.json")):
        request = load(path)
        if "broker" not in request.get("listeners", ()):
            continue
        api = path.name.removesuffix("Request.json")
        module = Module(f"{api}, key {request['apiKey']}.")
        module.add(request)
        module.add(load(folder / f"{api}Response.json"))
        yield snake(api), module


def main(definitions: Path) -> None:
    TARGET.mkdir(exist_ok=True)
    clients = definitions / "clients" / "common" / "message"
    modules = dict(api_modules(clients))
    for name, (jar, inner) in RECORD_MODULES.items():
        module = modules[name] = Module(f"The records that Kafka's {jar} keeps.")
        for path in sorted((definitions / jar / "common" / inner).glob("*.json")):
            module.add(load(path))
    data = modules["client_data"] = Module("What clients put inside opaque fields, and control records.")
    for name in CLIENT_DATA:
        data.add(load(clients / f"{name}.json"))
    for old in TARGET.glob("*.py"):
        old.unlink()
    for name, module in modules.items():
        (TARGET / f"{name}.py").write_text(module.text())
    apis = "".join(
        f'    {load(p)["apiKey"]}: "{snake(p.name.removesuffix("Request.json"))}",\n'
        for p in sorted(clients.glob("*Request.json"), key=lambda p: int(load(p)["apiKey"]))
        if "broker" in load(p).get("listeners", ())
    )
    (TARGET / "__init__.py").write_text(
        '"""Kafka\'s messages, one module an API. Made by codegen/messages.py; do not edit."""\n\n'
        f"#: API key to module name\nMODULES: dict[int, str] = {{\n{apis}}}\n"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
