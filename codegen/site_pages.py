"""What the site has that docs/ has not: the pages of the repository's root, and links that leave docs/.

A hook of mkdocs, which calls `on_files` and `on_page_markdown` by name (mkdocs.yml). The README becomes the first page.
A link to a page that the site has is kept; one to a source file, which it has not, becomes the file's name.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
#: pages of the root, and where the site has them
MOVED = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CONTRIBUTING.md": "contributing.md"}
FOLDERS = {"docs/adr": "adr/index.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for name, page in MOVED.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text()))
    files.append(File.generated(config, "adr/index.md", content=decisions()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    return with_links(markdown, page.file.src_uri)


def decisions() -> str:
    """The list of all decisions, by their titles."""
    records = sorted((ROOT / "docs" / "adr").glob("*.md"))
    titles = [(record.name, record.read_text().partition("\n")[0].removeprefix("# ")) for record in records]
    return "# Decisions\n\n" + "".join(f"- [{title}]({name})\n" for name, title in titles)


def with_links(markdown: str, page: str) -> str:
    """The page, at this place of the site, with links that lead somewhere there. Code stays as it is."""
    parts = FENCE.split(markdown)
    parts[::2] = [LINK.sub(lambda link: _link(link, page), part) for part in parts[::2]]
    return "".join(parts)


def _link(link: re.Match[str], page: str) -> str:
    picture, text, path, anchor = link[1], link[2], link[3], link[4] or ""
    target = _place(posixpath.normpath(posixpath.join(_folder(page), path)))
    if target is None:
        return text if text.startswith("`") else f"{text} (`{Path(path).name}`)"
    return f"{picture}[{text}]({posixpath.relpath(target, posixpath.dirname(page) or '.')}{anchor})"


def _folder(page: str) -> str:
    """Of the repository, in which the page's links begin."""
    if page in MOVED.values():
        return "."
    return posixpath.join("docs", posixpath.dirname(page))


def _place(path: str) -> str | None:
    """Of a file of the repository, in the site; None: it is not there."""
    if path in MOVED or path in FOLDERS:
        return MOVED.get(path) or FOLDERS[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None
