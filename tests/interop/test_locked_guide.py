"""The guide to a secured broker, followed from its first block to its last, on ports of the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from interop.broker_process import free_port
from interop.page_blocks import Reader, blocks_of

PAGE = "docs/guides/locked-broker.md"
READY = "leaselog ready on SASL_SSL://"


@pytest.mark.only_leaselog("it begins with the broker")
def test_the_guide_works_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.chdir(tmp_path)
    with Reader("", tmp_path) as reader:
        # the reader of other pages gives a broker its address; this one has it from its properties
        reader._here = lambda text: (  # type: ignore[method-assign]
            text.replace("secure secrets\n", f"secure secrets --port {port}\n").replace(
                "localhost:9092", f"localhost:{port}"
            )
        )
        for block in blocks_of(PAGE):
            reader.paste(block, READY if block.is_endless else "")
        shown = reader.shown
        reader.end()
    for words in (
        "Wrote ca.key, ca.pem, broker.pem",
        f"leaselog ready on SASL_SSL://127.0.0.1:{port}",
        "Created topic orders.",
        "(principal=User:client, host=*, operation=WRITE, permissionType=ALLOW)",
        "(principal=User:client, host=*, operation=ALTER_CONFIGS, permissionType=ALLOW)",
        '{"item": "a lamp"}',
        "\n1\n",
        "Wrote broker.pem, client.pem into secrets.",
        "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-512=iterations=8192",
        "ACLs for principal `User:client`",
        "Would remove ACLs for resource",
        "True\n",
        "already exists.",
    ):
        assert words in shown, f"{PAGE} does not show {words!r} in its turn, but\n{shown}"
        shown = shown.partition(words)[2]
