"""Check the built site: links lead somewhere, nothing is loaded from elsewhere, the reference is complete.

python docs/check_site.py build/docs         lists what is wrong; the exit code is 1 if anything is
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
"""Elements whose address is fetched when a page is shown, and the attribute that has it."""

LOADED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch"}
"""Relations of a `link` element that are fetched."""


class Page(HTMLParser):
    """The links of a page, the files that it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of an element's addresses and anchor."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(filter(None, (values.get("id"), values.get("name") if tag == "a" else None)))
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and LOADED_LINKS & set(values.get("rel", "").split()):
            self.loaded.append(values.get("href", ""))
        elif tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])


def read_pages(folder: Path) -> dict[Path, Page]:
    """Return the pages of a site by their paths."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    return {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in paths}


def find_broken_links(pages: dict[Path, Page]) -> Iterator[str]:
    """Yield each link within the site that leads to no file, or to no anchor of its page."""
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link.startswith("#/"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path.name}: {link} leads to no file"
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.name}: {link} leads to no anchor"


def find_external_assets(pages: dict[Path, Page]) -> Iterator[str]:
    """Yield what a page would load from another host; links that a reader may follow are allowed."""
    for path, page in pages.items():
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{path.name}: loads {address}"


def find_external_styles(folder: Path) -> Iterator[str]:
    """Yield style sheets that load something from another host."""
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for scheme in ("url(http", "url(//", 'url("http', "url('http", '@import "http', "@import 'http"):
            if scheme in text:
                yield f"{path.name}: loads {text[text.index(scheme) :][:80]!r}"


def find_missing_entries(folder: Path) -> Iterator[str]:
    """Yield each public class, function, method, command option that the index of the site lacks."""
    from sphinx.util.inventory import InventoryFile
    from sphinx_pages.commands import iterate_options
    from sphinx_pages.python_api import iterate_public

    with (folder / "objects.inv").open("rb") as file:
        inventory: Any = InventoryFile.load(file, "", lambda base, name: name)
    entries = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    yield from (f"the reference has no entry for {name}" for name in iterate_public() if name not in entries)
    options = set(inventory.get("std:cmdoption", ()))
    yield from (f"the reference has no entry for {name}" for name in iterate_options() if name not in options)


def main(folder: Path) -> int:
    """Print every problem of a site, and return the exit code."""
    sys.path.insert(0, str(Path(__file__).parent))
    pages = read_pages(folder)
    problems = [
        *find_broken_links(pages), *find_external_assets(pages), *find_external_styles(folder),
        *find_missing_entries(folder),
    ]  # fmt: skip
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    print(
        f"{folder}: {len(pages)} pages, {sum(len(p.links) for p in pages.values())} links, {len(problems)} problems"
    )
    return 1 if problems or not pages else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
