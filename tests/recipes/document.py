"""The files that docs/guides/mail-recipes.md prints, as they stand there."""

import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "guides" / "mail-recipes.md"
FILES = dict(
    re.findall(r"^`([^`\n]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", DOCUMENT.read_text(), flags=re.MULTILINE | re.DOTALL)
)
"""Each block of the document that follows a line with the name of its file."""


def printed(name, changes=None):
    """The file of that name, with some changes: of paths, mostly. Each must have something to change."""
    text = FILES[name]
    for documented, ours in (changes or {}).items():
        assert documented in text, f"{name} says nothing of {documented!r}"
        text = text.replace(documented, str(ours))
    return text
