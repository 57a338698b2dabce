"""Tags, each by itself: what it puts in its place, links to, paints and hides; what is telling about it."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from deciban.mail.colours import colour_of

LONGEST_LINK = 1000
LONGEST_TAG = 4000
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


NO_TAG = Tag("")


def read_tag(written: str) -> Tag:
    """A tag from what stands between its angles."""
    written = written[:LONGEST_TAG]
    found = NAME.match(written)
    if not found:
        return NO_TAG
    name = found[1].lower()
    space = " " if name in BREAKING else ""
    if written[0] == "/":
        return Tag(name, True, space)
    if "=" in written:
        given = {key.lower(): a or b or c for key, a, b, c in reversed(ATTRIBUTE.findall(written))}
        return _with_attributes(name, space, given)
    return Tag(name, False, space, name in SILENT, marks=(name,) if name in TELLING else ())


_kept_tag = lru_cache(8192)(read_tag)


def tag_of(written: str) -> Tag:
    """A tag, remembered if it is short."""
    return _kept_tag(written) if len(written) < LONGEST_KEPT else read_tag(written)


def _with_attributes(name: str, space: str, given: dict[str, str]) -> Tag:
    marks = [name] if name in TELLING else []
    style = given["style"].lower() if "style" in given else ""
    hides = bool(style and STYLE_HIDES.search(style)) or (name == "font" and given.get("size") == "0")
    if hides:
        marks.append("hidden:style")
    colour, ground = _colours(given, style)
    if colour is not None:
        marks.append(f"color:{colour:06x}")
    if ground is not None and ground >= 0:
        marks.append(f"ground:{ground:06x}")
    marks.extend(_small_marks(name, given))
    links = [unescape(given[key].strip()[:LONGEST_LINK]) for key in LINKED if key in given]
    if "alt" in given:
        space = f" {unescape(given['alt'][:200])} "
    shown = [link for link in links if link and link[0] != "#"]
    return Tag(name, False, space, name in SILENT, hides, colour, ground, tuple(shown), tuple(marks))


def _colours(given: dict[str, str], style: str) -> tuple[int | None, int | None]:
    """The colours of text and ground that a tag sets; a ground that is a picture is not known, below 0."""
    styled = dict(STYLE_COLOUR.findall(style)) if "color" in style or "background" in style else {}
    colour = colour_of(given.get("color") or styled.get("color", ""))
    ground = colour_of(given.get("bgcolor") or styled.get("background-color") or styled.get("background", ""))
    return colour, -1 if "background" in given or "url" in styled.get("background", "") else ground


def _small_marks(name: str, given: dict[str, str]) -> list[str]:
    """Pixels that report a reading, shouting sizes, scripts that start by themselves."""
    marks = []
    if name == "img" and given.get("width") in ("0", "1") and given.get("height") in ("0", "1"):
        marks.append("pixel")
    if name == "font" and "size" in given:
        marks.append(f"size:{given['size'][:3].strip()}")
    marks.extend(f"event:{key[:20]}" for key in given if key.startswith("on"))
    if given.get("href", "")[:7].lower() == "mailto:":
        marks.append("mailto")
    return marks
