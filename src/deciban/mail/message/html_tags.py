"""Tags, each by itself: what it puts in its place, links to, paints and hides; what is telling about it."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from deciban.mail.message.colours import colour_of

LONGEST_LINK = 1000
LONGEST_TAG = 4000
MOST_CLASSES = 20
LONGEST_KEPT = 160
"""Longer tags are hardly ever seen again, so their reading is not kept."""

NAME = re.compile(r"/?([a-zA-Z][\w:-]{0,30})")
ATTRIBUTE = re.compile(r"(?<![\w-])([a-zA-Z-]++)\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s\"'>]++))")
STYLE_HIDES = re.compile(
    r"display\s*+:\s*+none|visibility\s*+:\s*+hidden|opacity\s*+:\s*+0+(?:\.0*+)?\s*+(?:[;!]|\Z)|"
    r"font-size\s*+:\s*+(?:0+(?:\.0*+)?(?:px|pt|em|rem|%)?|1(?:px|pt))\s*+(?:[;!]|\Z)|"
    r"mso-hide\s*+:\s*+all|max-height\s*+:\s*+0"
)
STYLE_COLOUR = re.compile(r"(?<![\w-])(background(?:-color)?|color)\s*+:\s*+([^;]{1,40})")

BREAKING_NAMES = """
p br div table tr td th li ul ol dl dt dd h1 h2 h3 h4 h5 h6 hr center blockquote pre option select form title
head body html img input textarea button address caption article section header footer nav main figure iframe
"""
BREAKING = frozenset(BREAKING_NAMES.split())
"""Tags that part words; all others stand within them, known to browsers or not."""
EMPTY_NAMES = "br img input hr meta link base area col embed wbr param source"
EMPTY = frozenset(EMPTY_NAMES.split())
SILENT = frozenset(["script", "style"])
TELLING_NAMES = """
form input img iframe script style font center marquee blink base object embed map area applet link button
select video audio svg bgsound frameset table div span a b big h1 h2 h3 meta title pre blockquote
"""
TELLING = frozenset(TELLING_NAMES.split())
GROUNDS = frozenset(["body", "table", "tr", "td", "th", "div", "span", "p"])
LINKED = ("href", "src", "action", "background")


class Tag(NamedTuple):
    """One tag, by itself: what stands in its place in the text, and what it does to the text around it."""

    name: str
    closes: bool = False
    space: str = ""
    silent: bool = False
    hides: bool = False
    colour: int | None = None
    ground: int | None = None
    links: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    quiet: bool = False
    """Whether it changes nothing for the text after it, unless that is hidden."""
    named: tuple[str, ...] = ()
    """Its classes and its id, as style sheets write them."""


NO_TAG = Tag("", quiet=True)


def read_tag(written: str) -> Tag:
    """A tag from what stands between its angles."""
    written = written[:LONGEST_TAG]
    found = NAME.match(written)
    if not found:
        return NO_TAG
    name = found[1].lower()
    space = " " if name in BREAKING else ""
    if written[0] == "/":
        return Tag(name, True, space, quiet=name not in GROUNDS)
    if "=" in written:
        given = {key.lower(): a or b or c for key, a, b, c in reversed(ATTRIBUTE.findall(written))}
        return _with_attributes(name, space, given)
    marks = (name,) if name in TELLING else ()
    return Tag(name, False, space, name in SILENT, marks=marks, quiet=name not in GROUNDS)


_kept_tag = lru_cache(8192)(read_tag)


def tag_of(written: str) -> Tag:
    """A tag, remembered if it is short."""
    return _kept_tag(written) if len(written) < LONGEST_KEPT else read_tag(written)


def _with_attributes(name: str, space: str, given: dict[str, str]) -> Tag:
    hides, colour, ground = _styled(given["style"]) if "style" in given else SEEN
    if name == "font":
        hides = hides or given.get("size") == "0"
    if colour is None and "color" in given:
        colour = colour_of(given["color"])
    if ground is None and "background" in given:
        ground = -1
    elif ground is None and "bgcolor" in given:
        ground = colour_of(given["bgcolor"])
    marks = [name] if name in TELLING else []
    if hides:
        marks.append("hidden:style")
    if colour is not None:
        marks.append(f"color:{colour:06x}")
    if ground is not None and ground >= 0:
        marks.append(f"ground:{ground:06x}")
    links = [unescape(given[key].strip()[:LONGEST_LINK]) for key in LINKED if key in given]
    marks += _small_marks(name, given, links)
    if "alt" in given:
        space = f" {unescape(given['alt'][:200])} "
    shown = tuple([link for link in links if link and link[0] != "#"])
    quiet = not hides and colour is None and ground is None and name not in GROUNDS
    named = _names(given) if "class" in given or "id" in given else ()
    return Tag(name, False, space, name in SILENT, hides, colour, ground, shown, tuple(marks), quiet, named)


def _names(given: dict[str, str]) -> tuple[str, ...]:
    classes = [f".{name}" for name in given.get("class", "").lower().split()[:MOST_CLASSES]]
    return (*classes, f"#{given['id'].strip().lower()}") if "id" in given else tuple(classes)


SEEN = (False, None, None)


@lru_cache(1 << 12)
def _styled(style: str) -> tuple[bool, int | None, int | None]:
    """Whether a style hides, and the colours of text and ground that it sets; -1 is a picture, of any colour."""
    style = style.lower()
    set_to = dict(STYLE_COLOUR.findall(style)) if "color" in style or "background" in style else {}
    behind = set_to.get("background", "")
    ground = colour_of(set_to.get("background-color") or behind)
    hides = STYLE_HIDES.search(style) is not None
    return hides, colour_of(set_to.get("color", "")), -1 if "url" in behind else ground


def _small_marks(name: str, given: dict[str, str], links: list[str]) -> list[str]:
    """Pixels that report a reading, shouting sizes, scripts that start by themselves."""
    marks = []
    if name == "img" and given.get("width") in ("0", "1") and given.get("height") in ("0", "1"):
        marks.append("pixel")
    if name == "font" and "size" in given:
        marks.append(f"size:{''.join(given['size'][:3].split())}")
    marks += [f"event:{key[:20]}" for key in given if key[:2] == "on"]
    if links and "href" in given and links[0][:7].lower() == "mailto:":
        marks.append("mailto")
    return marks
