"""Writes the reference pages that say what the code says: APIs and metrics. `make docs` runs it.

python codegen/reference_docs.py [DIRECTORY]     (docs/reference by default)
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from leaselog.broker.api import apis, load_handlers
from leaselog.broker.metrics import Metrics
from leaselog.broker.share_metrics import ShareMetrics
from leaselog.share import ShareSessions

PAGES = Path(__file__).parents[1] / "docs" / "reference"


def api_page() -> str:
    """Every API, from the same registration that ApiVersions is answered from."""
    load_handlers()
    lines = [
        "# Protocol support",
        "",
        "Generated from the handlers' registration; ApiVersions answers from the same. Each handler module says how it",
        "behaves in its first lines.",
        "",
        "| key | API | versions | KIPs | handler |",
        "| ---: | --- | --- | --- | --- |",
    ]
    for api in apis():
        module = api.handler.__module__.replace(".", "/")
        shown = f"{api.versions.first} to {api.versions.last}"
        if api.advertised_from != api.versions.first:
            shown += f" (advertised from {api.advertised_from})"
        lines.append(f"| {api.key} | {api.name} | {shown} | {api.kips} | `src/{module}.py` |")
    return "\n".join(lines) + "\n"


def metrics_page() -> str:
    """Every metric of an idle broker, which has them all."""
    metrics = Metrics()
    nothing: Any = SimpleNamespace(
        connection_count=lambda: 0,
        unsent_bytes=lambda: 0,
        waiting_room=(),
        fetch_sessions=(),
        logs=SimpleNamespace(partitions=list),
        shares=SimpleNamespace(owners=list, sessions=ShareSessions(0)),
        share_metrics=ShareMetrics(metrics.registry),
    )
    metrics.watch(nothing)
    nothing.share_metrics.watch(nothing)
    lines = [
        "# Metrics",
        "",
        "Served as Prometheus text at `/metrics` by `leaselog serve --metrics HOST:PORT`. Generated; do not edit.",
        "",
        "| metric | type | meaning |",
        "| --- | --- | --- |",
    ]
    for family in sorted(metrics.registry.collect(), key=lambda f: f.name):
        name = family.name + ("_total" if family.type == "counter" else "")
        lines.append(f"| `{name}` | {family.type} | {family.documentation} |")
    return "\n".join(lines) + "\n"


def main(directory: Path) -> None:
    (directory / "protocol.md").write_text(api_page())
    (directory / "metrics.md").write_text(metrics_page())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PAGES)
