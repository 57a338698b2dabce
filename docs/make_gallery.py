"""Makes the gallery: runs what docs/gallery.md shows, and puts the pictures into docs/gallery/.

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
LARGEST = 2_500_000
"""Bytes of all pictures together."""


def chapters(text: str) -> dict[str, str]:
    """The parts of the gallery by their headings; what stands before the first has none."""
    parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(["", *parts[1::2]], parts[::2]))


def shown(text: str) -> list[str]:
    """The files of the pictures that a text shows."""
    return [Path(name).name for name in make_guide.PICTURE.findall(text)]


def commands(text: str) -> list[str]:
    """The commands that a text shows, each on one line."""
    found = re.findall(r"^\$ ((?:.*\\\n)*.*)", text, flags=re.MULTILINE)
    return [command.replace("\\\n", " ") for command in found]


def main() -> None:
    """Renew the page and its pictures; a picture that the page does not show any more goes."""
    PICTURES.mkdir(exist_ok=True)
    text = make_guide.renewed(GALLERY.read_text(), GALLERY.parent)
    GALLERY.write_text(text)
    for path in PICTURES.iterdir():
        if path.name not in shown(text):
            path.unlink()
    size = sum(path.stat().st_size for path in PICTURES.iterdir())
    print(f"{len(shown(text))} pictures, {size / 1e6:.2f} MB")
    if size > LARGEST:
        raise SystemExit(f"the pictures are larger than {LARGEST / 1e6:g} MB together. Hint: fewer --dots")


if __name__ == "__main__":
    main()
