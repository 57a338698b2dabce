"""Make the gallery: run the commands of docs/gallery.md and put their pictures into docs/gallery/.

    python docs/make_gallery.py

Every picture of `deciban.plots`, and every command of `deciban plot`, has a chapter of its name there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "guides"))

import make_guide

GALLERY = Path(__file__).parent / "gallery.md"
PICTURES = GALLERY.with_suffix("")
MAX_BYTES = 2_500_000
"""The greatest size of all pictures together."""


def split_chapters(text: str) -> dict[str, str]:
    """Return the chapters of the gallery by heading; the text before the first heading has the heading ''."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2]))


def list_pictures(text: str) -> list[str]:
    """Return the file names of the pictures in a text."""
    return [Path(name).name for name in make_guide.PICTURE.findall(text)]


def list_commands(text: str) -> list[str]:
    """Return the commands in a text, each on one line."""
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)", text, flags=re.MULTILINE)
    return [command.replace("\\\n", " ") for command in found]


def main() -> None:
    """Update the page and its pictures; delete the pictures that it no longer shows."""
    PICTURES.mkdir(exist_ok=True)
    text = make_guide.update_document(GALLERY.read_text(), GALLERY.parent)
    GALLERY.write_text(text)
    for path in PICTURES.iterdir():
        if path.name not in list_pictures(text):
            path.unlink()
    size = sum(path.stat().st_size for path in PICTURES.iterdir())
    print(f"{len(list_pictures(text))} pictures, {size / 1e6:.2f} MB")
    if size > MAX_BYTES:
        raise SystemExit(f"the pictures are larger than {MAX_BYTES / 1e6:g} MB together. Hint: fewer --dots")


if __name__ == "__main__":
    main()
