"""The reference page is what the program says."""

from __future__ import annotations

from pathlib import Path

from leaselog.cli.config_docs import config_docs


def test_the_configuration_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
    assert page.read_text(encoding="utf-8") == config_docs(), (
        "run: leaselog config-docs > docs/reference/configuration.md"
    )
