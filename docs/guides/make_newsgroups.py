"""Renews docs/guides/text-newsgroups.md and its picture, from a corpus that is not shipped.

DECIBAN_DATA=FOLDER python docs/guides/make_newsgroups.py    FOLDER holds 20news-bydate.tar.gz

The archive is that of http://qwone.com/~jason/20Newsgroups/.
"""

from __future__ import annotations

import os
import sys
import tarfile
from pathlib import Path

from make_guide import update_document

ARCHIVE = "20news-bydate.tar.gz"
DOCUMENT = Path(__file__).parent / "text-newsgroups.md"


def archive() -> Path | None:
    """The corpus, if it is there."""
    found = Path(os.environ.get("DECIBAN_DATA", "")) / ARCHIVE
    return found if found.is_file() else None


def unpack(folder: Path) -> None:
    """The posts as the sessions expect them: 20news-bydate-train and 20news-bydate-test."""
    found = archive()
    assert found is not None
    with tarfile.open(found) as posts:
        posts.extractall(folder, filter="data")


if __name__ == "__main__":
    if archive() is None:
        sys.exit(f"there is no {ARCHIVE}. Hint: set DECIBAN_DATA to the folder that holds it")
    DOCUMENT.write_text(update_document(DOCUMENT.read_text(), DOCUMENT.parent, unpack))
