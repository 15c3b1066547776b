"""Makes ``src/leaselog/wire/messages`` from Kafka's own message definitions, which travel inside Kafka's jars.

    python codegen/messages.py JARS_DIR [--check]     (`make messages` brings the jars)

Only names, types, versions and defaults are taken. The output is committed; nothing of this runs in the product.
``--check`` writes nothing, and fails if what is committed is not what would be written.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: which definitions these are: Apache Kafka's release, and the digest of each of its jars
KAFKA = "4.4.0"
JARS = {
    "clients": "1ab07317eb6633241392449d329dbdc5d9251e6ffc4926860f42dd966e88bdf9",
    "group-coordinator": "3fc830ace54f6a13f9f536bc0564bf39a68797365a4c4b194bd7db4fb893b2bc",
    "share-coordinator": "6969a7961ca98d37a039bbe0af0fe761d6b0dd07ca9666802f47821167afbb6e",
    "transaction-coordinator": "1d5324d59776d6b7f324cfdc87647b1e88f9823332201c0324e7ae9f210d915d",
    "metadata": "6c52de74ecd670332e1e1324f5d40311275ac49b22699b6722e5fb07dd266fcb",
}
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


def unpack(jars: Path, target: Path) -> None:
    """The definitions of each jar into a folder of its own. Exits if a jar is not the one that is meant."""
    for name, digest in JARS.items():
        jar = jars / f"kafka-{name}-{KAFKA}.jar"
        if not jar.is_file():
            sys.exit(f"{jar} is not there: make messages brings it")
        if hashlib.sha256(jar.read_bytes()).hexdigest() != digest:
            sys.exit(
                f"{jar} is another one than {KAFKA}'s: its digest differs from the one in {Path(__file__).name}"
            )
        with zipfile.ZipFile(jar) as packed:
            packed.extractall(target / name, [n for n in packed.namelist() if n.startswith("common/")])


def files(definitions: Path) -> dict[str, str]:
    """What is to be in the folder of messages, by file name."""
    clients = definitions / "clients" / "common" / "message"
    modules = dict(api_modules(clients))
    for name, (jar, inner) in RECORD_MODULES.items():
        module = modules[name] = Module(f"The records that Kafka's {jar} keeps.")
        for path in sorted((definitions / jar / "common" / inner).glob("*.json")):
            module.add(load(path))
    data = modules["client_data"] = Module("What clients put inside opaque fields, and control records.")
    for name in CLIENT_DATA:
        data.add(load(clients / f"{name}.json"))
    apis = "".join(
        f'    {load(p)["apiKey"]}: "{snake(p.name.removesuffix("Request.json"))}",\n'
        for p in sorted(clients.glob("*Request.json"), key=lambda p: int(load(p)["apiKey"]))
        if "broker" in load(p).get("listeners", ())
    )
    head = '"""Kafka\'s messages, one module an API. Made by codegen/messages.py; do not edit."""\n\n'
    table = f"#: API key to module name\nMODULES: dict[int, str] = {{\n{apis}}}\n"
    return {"__init__.py": head + table, **{f"{name}.py": module.text() for name, module in modules.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("jars", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        unpack(args.jars, Path(folder))
        wanted = files(Path(folder))
    there = {path.name: path.read_text() for path in TARGET.glob("*.py")}
    changed = sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))
    if args.check:
        sys.exit(f"not what Kafka {KAFKA}'s definitions say: {', '.join(changed)}" if changed else 0)
    for name in changed:
        if name in wanted:
            (TARGET / name).write_text(wanted[name])
        else:
            (TARGET / name).unlink()
    print(f"{len(changed)} of {len(wanted)} modules changed")


if __name__ == "__main__":
    main()
