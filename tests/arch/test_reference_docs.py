"""The reference pages are what the code would write today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_on_apis_metrics_commands_rights_rooms_and_files_are_current(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "codegen" / "reference_docs.py"), str(tmp_path)], check=True)
    for page in ("protocol.md", "metrics.md", "commands.md", "rights.md", "rooms.md", "files.md"):
        current = (ROOT / "docs" / "reference" / page).read_text()
        assert current == (tmp_path / page).read_text(), f"{page} is stale: make docs"
