"""Which published test classes speak to a broker from outside, and how each of them gets its broker.

    published.py LIBS

Reads the class files inside the `*-test.jar`s of a folder and prints a line a class: class, module, how. The answer
comes from the bytecode (annotations, base classes, what a class mentions), so that a suite that a new version of Apache
Kafka brings is found without anybody having read about it. `published.tsv` is what it says of the jars of
`published.pom.xml`.
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

#: what is asked of `ClusterInstance`, which our `OutsideBroker` stands in for
CLUSTER_TEST = tuple(
    f"Lorg/apache/kafka/common/test/api/Cluster{kind};" for kind in ("Test", "Tests", "Template")
)
#: the base of all suites in Scala, which our `OutsideQuorum` stands in for
HARNESS = "kafka/server/QuorumTestHarness"
#: what starts brokers inside the test's own process, where nothing of ours can stand in
OWN_CLUSTER = re.compile(
    r"^org/apache/kafka/.*/(KafkaClusterTestKit|EmbeddedKafkaCluster|EmbeddedConnect\w*)$"
)
TEST = re.compile(r"^Lorg/junit/jupiter/(api/(Test|RepeatedTest|TestFactory)|params/ParameterizedTest);$")
ABSTRACT = 0x0400
#: how many bytes follow the tag of a constant; of a text (1) its length says it
SIZES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}


class ClassFile(NamedTuple):
    """Of a compiled class what says where it gets its broker from."""

    name: str
    base: str
    is_abstract: bool
    texts: frozenset[str]


class Published(NamedTuple):
    name: str
    module: str
    #: cluster, harness, or own
    how: str


def parse(code: bytes) -> ClassFile:
    """The constants and the header of a class file (Java Virtual Machine Specification, 4.1 and 4.4)."""
    texts: dict[int, str] = {}
    classes: dict[int, int] = {}
    (count,) = struct.unpack_from(">H", code, 8)
    at, index = 10, 1
    while index < count:
        tag = code[at]
        if tag == 1:
            (size,) = struct.unpack_from(">H", code, at + 1)
            texts[index] = code[at + 3 : at + 3 + size].decode("utf-8", "replace")
            at += 3 + size
        else:
            if tag == 7:
                (classes[index],) = struct.unpack_from(">H", code, at + 1)
            at += 1 + SIZES[tag]
        index += 2 if tag in (5, 6) else 1
    access, this, base = struct.unpack_from(">HHH", code, at)
    return ClassFile(
        texts[classes[this]],
        texts[classes[base]] if base else "",
        bool(access & ABSTRACT),
        frozenset(texts.values()),
    )


def class_files(jar: Path) -> Iterator[ClassFile]:
    with zipfile.ZipFile(jar) as entries:
        for name in entries.namelist():
            if name.endswith(".class") and not name.endswith(("module-info.class", "package-info.class")):
                yield parse(entries.read(name))


def _how(line: list[ClassFile]) -> str | None:
    """Of a class and its bases: how they come to a broker; None for those that do without."""
    texts = frozenset().union(*(one.texts for one in line))
    if any(annotation in texts for annotation in CLUSTER_TEST):
        return "cluster"
    if not any(TEST.match(text) for text in texts):
        return None
    if line[-1].base == HARNESS or line[-1].name == HARNESS:
        return "harness"
    return "own" if any(OWN_CLUSTER.match(text) for text in texts) else None


def suites(jars: Mapping[str, list[ClassFile]]) -> list[Published]:
    """All concrete test classes that need a broker, by name."""
    known = {one.name: one for found in jars.values() for one in found}
    rows = []
    for jar, found in jars.items():
        for one in found:
            line = [one]
            while (base := known.get(line[-1].base)) is not None:
                line.append(base)
            if not one.is_abstract and "$" not in one.name and (how := _how(line)) is not None:
                rows.append(Published(one.name.replace("/", "."), jar, how))
    return sorted(rows)


def read_jars(folder: Path) -> dict[str, list[ClassFile]]:
    """By module."""
    jars = sorted(folder.glob("*-test.jar"))
    return {re.sub(r"-[\d.]+-test\.jar$", "", jar.name): list(class_files(jar)) for jar in jars}


def main(libs: str) -> int:
    print("# class\tmodule\thow it gets its broker: published.py, of the jars of published.pom.xml")
    for row in suites(read_jars(Path(libs))):
        print(*row, sep="\t")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
