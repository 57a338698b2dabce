"""Pages of the documents that stand at the root of the repository."""

from __future__ import annotations

import re
from pathlib import Path

FILES = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog", "SECURITY.md": "security"}
"""The documents, and the names of their pages."""


def make_pages(root: Path) -> dict[str, str]:
    """Return the pages by file name: each is its document, with links as they have to be from its new place."""
    return {f"{page}.md": move_links((root / name).read_text()) for name, page in FILES.items()}


def move_links(text: str) -> str:
    """Return a document of the root with the links that lead to the same files from docs/project.

    >>> move_links("[design](docs/architecture.md), [rules](SECURITY.md), [here](#rules)")
    '[design](../architecture.md), [rules](../../SECURITY.md), [here](#rules)'
    """
    text = re.sub(r"\]\(docs/", "](../", text)
    return re.sub(r"\]\((?!\.\./|https?:|#)", "](../../", text)
