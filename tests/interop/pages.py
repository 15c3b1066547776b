"""What has to be there before a page is followed, what its blocks have to show, and which of them nobody can run here.

Owns the tables, and going through one page; `page_blocks.py` runs blocks, `test_pages.py` goes through all pages, and
`tests/arch/test_blocks.py` sees to it that no block is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from interop.broker_process import CHECKOUT
from interop.page_blocks import ADDRESS, Reader, blocks_of

#: pages whose every block is tried, with those of the folders
FIRST, FOLDERS = "README.md", ("docs/guides", "docs/coming-from")


@dataclass(frozen=True, slots=True)
class Page:
    """One that is followed from its first block to its last."""

    #: values of records in the topic `orders`, which the page says is there
    orders: tuple[bytes, ...] = ()
    #: of share groups that are to begin with these records, as their pages say
    groups: tuple[str, ...] = ()
    #: has to be in what the blocks print, beside their `text` blocks, in this order
    shows: tuple[str, ...] = ()
    #: what a command that goes on has come to when the reader ends it
    until: dict[str, str] = field(default_factory=dict)
    #: why this is not a page for Apache Kafka
    only_leaselog: str = ""


PAGES = {
    "docs/coming-from/celery.md": Page(until={"leaselog worker": "packing a lamp"}),
    "docs/coming-from/confluent-kafka.md": Page(),
    "docs/coming-from/parallel-consumer.md": Page(),
    "docs/coming-from/rabbitmq.md": Page(),
    "docs/coming-from/sqs.md": Page(),
    "README.md": Page(
        shows=("checked", "audited", "b'hello'", "one parcel"),
        until={
            "leaselog serve": "leaselog ready on",
            "leaselog worker": "packed a chair",
        },
        only_leaselog="it begins with the broker",
    ),
    "docs/guides/administration.md": Page(
        shows=(
            "billing GroupState.EMPTY",
            "orders-0 0 0",
            "orders-2 0\nGroupState.EMPTY\n",
            "{'client-id': 'loader'} {'producer_byte_rate': 1048576.0}\n",
            "alice SCRAM-SHA-512 8192\n",
            "0 put back, 0 skipped, 0 gone\n",
            "Quota configs for client-id 'loader' are producer_byte_rate=1048576.0\n",
            "nobody of that name\nalready there: ['orders']\n",
            "['dlq.packing', 'invoices', 'orders']\n",
        ),
    ),
    "docs/guides/consumer.md": Page(
        orders=(b'{"id": 1}', b'{"last": true}'),
        shows=(
            "{'last': True}\n",
            "CommittedOffset(offset=1, metadata='by hand')",
            "shipping b'{\"last\": true}'\n",
        ),
    ),
    "docs/guides/dead-letters.md": Page(
        shows=("__dlq.errors.message:Offset rejected by client.", "\t1\n"),
        only_leaselog="dead letters came with Apache Kafka 4.4",
    ),
    "docs/guides/operating-share-groups.md": Page(
        shows=(
            "".join(f"{n}\n" for n in range(1, 11)),
            "Deletion of requested share groups ('packing') was successful.",
            "Delivery:1\t1\nDelivery:1\t2\nDelivery:1\t3\n",
            ", 100, ",
        ),
    ),
    "docs/guides/pausing.md": Page(shows=("packing",), only_leaselog="Apache Kafka cannot pause a group"),
    "docs/guides/producer.md": Page(
        orders=(b"the first one",),
        shows=("RecordMetadata(topic='orders', partition=0, offset=1)", str(list(range(1_002, 1_012)))),
    ),
    "docs/guides/transactions.md": Page(orders=(b"1", b"2"), shows=("no record of it counts\n", "fenced\n")),
    "docs/guides/retries.md": Page(
        shows=("1\n2\n", "NEXT-DUE", "3\n"), only_leaselog="Apache Kafka has no delays"
    ),
    "docs/guides/share-consumer.md": Page(
        orders=(b"1", b"the last one"),
        groups=("audit", "looking", "billing", "returns", "invoices", "reports"),
        shows=(
            "packing b'the last one'\n",
            "orders 0 1 1 b'the last one'\n",
            "looking at b'1'\nlooking at b'the last one'\n",
            "orders-0 committed\n",
            "refunding 1\n",
            "not JSON: b'the last one'\n",
        ),
    ),
    "docs/guides/testing.md": Page(shows=("[100%]", "[100%]", "[100%]", "offset 0\n")),
    "docs/guides/worker.md": Page(
        shows=("packing a lamp\n", "packing a chair\n", "nothing ordered"),
        until={"leaselog worker": "packing a chair"},
        only_leaselog="dead letters came with Apache Kafka 4.4",
    ),
}

#: pages that other tests run, and which
ELSEWHERE = {
    "docs/guides/locked-broker.md": "tests/interop/test_locked_guide.py: it makes its broker's address itself",
    "docs/guides/pipeline.md": "tests/unit/test_orders.py: the block is a part of the job, which tests/spark runs",
    "docs/guides/secured-clusters.md": "tests/interop/test_secured.py: on a broker with such listeners",
    **{
        f"docs/guides/{page.relative_to(CHECKOUT / 'docs' / 'guides')}": "tests/spark/test_guides.py"
        for page in [
            *(CHECKOUT / "docs" / "guides" / "spark").glob("*.md"),
            CHECKOUT / "docs" / "guides" / "spark.md",
        ]
    },
}

#: blocks that are not run, by their page and how they begin, and why
NOT_RUN = {
    (
        "README.md",
        "python3 -m venv",
    ): "installs from the package index, and so does tests/interop/test_installed.py, which goes on from there",
    ("README.md", "make demo"): "takes minutes; tests/spark runs the same with fewer orders",
    (
        "README.md",
        "Orders  ",
    ): "what `make demo` prints: how often records come depends on the machine's speed",
    ("README.md", "make test"): "is what runs this",
    ("docs/guides/worker.md", "pip install"): "installs from the package index",
    ("docs/guides/testing.md", "pip install"): "installs from the package index",
}


def pages() -> list[str]:
    below = (page for folder in FOLDERS for page in (CHECKOUT / folder).rglob("*.md"))
    return [FIRST, *sorted(str(page.relative_to(CHECKOUT)) for page in below)]


def why_not_run(page: str, text: str) -> str | None:
    """Of a block; None: it is run."""
    whys = [why for (of, begins), why in NOT_RUN.items() if of == page and text.startswith(begins)]
    return whys[0] if whys else None


def follow(reader: Reader, name: str) -> None:
    """Pastes every block of the page, and insists on what it has to show."""
    page = PAGES[name]
    for block in blocks_of(name):
        if block.title or why_not_run(name, block.text) is not None:
            continue
        until = [words for command, words in page.until.items() if command in block.text]
        reader.paste(block, until[0] if until else "")
    rest = reader.shown.replace(reader.address, ADDRESS)
    for words in page.shows:
        assert words in rest, f"{name} does not show {words!r} in its turn, but\n{reader.shown}"
        rest = rest.partition(words)[2]
