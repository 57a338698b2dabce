"""HTML tags, style sheets and colours: which text a tag hides, what it links to, and which marks it leaves."""

from __future__ import annotations

import re
from functools import lru_cache
from html import unescape
from typing import NamedTuple

MAX_LINK_CHARACTERS = 1000
MAX_TAG_CHARACTERS = 4000
MAX_CLASSES = 20
MAX_CACHED_CHARACTERS = 160
"""Characters of a tag that is cached; longer tags are hardly ever repeated."""

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
"""Tags that separate words; all others occur within words, known to browsers or not."""
EMPTY_NAMES = "br img input hr meta link base area col embed wbr param source"
EMPTY = frozenset(EMPTY_NAMES.split())
SILENT = frozenset(["script", "style"])
MARKED_NAMES = """
form input img iframe script style font center marquee blink base object embed map area applet link button
select video audio svg bgsound frameset table div span a b big h1 h2 h3 meta title pre blockquote
"""
MARKED = frozenset(MARKED_NAMES.split())
BACKGROUND_TAGS = frozenset(["body", "table", "tr", "td", "th", "div", "span", "p"])
LINK_ATTRIBUTES = ("href", "src", "action", "background")

COLOURS = {
    "white": 0xFFFFFF, "black": 0, "red": 0xFF0000, "blue": 0x0000FF, "green": 0x008000, "yellow": 0xFFFF00,
    "navy": 0x000080, "gray": 0x808080, "grey": 0x808080, "silver": 0xC0C0C0, "maroon": 0x800000, "purple": 0x800080,
    "lime": 0x00FF00, "aqua": 0x00FFFF, "fuchsia": 0xFF00FF, "olive": 0x808000, "teal": 0x008080, "orange": 0xFFA500,
}  # fmt: skip
HEX = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})\b")
RGB = re.compile(r"rgba?\(\s*+(\d{1,3})\s*+,\s*+(\d{1,3})\s*+,\s*+(\d{1,3})")
MAX_INVISIBLE_DIFFERENCE = 16
"""Difference of colours that readers do not see, in each of red, green and blue, of 255."""

MAX_SHEET_CHARACTERS = 1 << 16
"""Characters of a page's style sheets that are read."""

SHEET = re.compile(r"<style[^<>]*+>(.*?)(?:</style|\Z)", re.DOTALL | re.IGNORECASE)
CSS_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
CSS_CONDITION = re.compile(r"@[^{};@]*+\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}?")
"""Rules for some screens only, which are ignored: they hide on telephones what other screens show."""
SELECTOR = re.compile(r"\s*+\w*+([.#][\w-]{1,60})\s*+")


class Tag(NamedTuple):
    """A tag: the text in its place, and its effect on the text around it."""

    name: str
    is_closing: bool = False
    space: str = ""
    is_silent: bool = False
    is_hiding: bool = False
    colour: int | None = None
    background: int | None = None
    links: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    is_neutral: bool = False
    """Whether it changes nothing for the text after it, unless that is hidden."""
    selectors: tuple[str, ...] = ()
    """Its classes and its id, as style sheets write them."""


NO_TAG = Tag("", is_neutral=True)


def parse_tag(text: str) -> Tag:
    """Parse a tag from the text between its angle brackets."""
    text = text[:MAX_TAG_CHARACTERS]
    found = NAME.match(text)
    if not found:
        return NO_TAG
    name = found[1].lower()
    space = " " if name in BREAKING else ""
    if text[0] == "/":
        return Tag(name, True, space, is_neutral=name not in BACKGROUND_TAGS)
    if "=" in text:
        attributes = {key.lower(): a or b or c for key, a, b, c in reversed(ATTRIBUTE.findall(text))}
        return _parse_attributes(name, space, attributes)
    marks = (name,) if name in MARKED else ()
    return Tag(name, False, space, name in SILENT, marks=marks, is_neutral=name not in BACKGROUND_TAGS)


_parse_tag_cached = lru_cache(8192)(parse_tag)


def get_tag(text: str) -> Tag:
    """Return a tag, from the cache if it is short."""
    return _parse_tag_cached(text) if len(text) < MAX_CACHED_CHARACTERS else parse_tag(text)


def _parse_attributes(name: str, space: str, attributes: dict[str, str]) -> Tag:
    is_hiding, colour, background = _parse_style(attributes["style"]) if "style" in attributes else PLAIN_STYLE
    if name == "font":
        is_hiding = is_hiding or attributes.get("size") == "0"
    if colour is None and "color" in attributes:
        colour = parse_colour(attributes["color"])
    if background is None and "background" in attributes:
        background = -1
    elif background is None and "bgcolor" in attributes:
        background = parse_colour(attributes["bgcolor"])
    marks = [name] if name in MARKED else []
    if is_hiding:
        marks.append("hidden:style")
    if colour is not None:
        marks.append(f"color:{colour:06x}")
    if background is not None and background >= 0:
        marks.append(f"ground:{background:06x}")
    links = [unescape(attributes[key].strip()[:MAX_LINK_CHARACTERS]) for key in LINK_ATTRIBUTES if key in attributes]
    marks += _small_marks(name, attributes, links)
    if "alt" in attributes:
        space = f" {unescape(attributes['alt'][:200])} "
    shown = tuple([link for link in links if link and link[0] != "#"])
    is_neutral = not is_hiding and colour is None and background is None and name not in BACKGROUND_TAGS
    selectors = _selectors(attributes) if "class" in attributes or "id" in attributes else ()
    return Tag(
        name, False, space, name in SILENT, is_hiding, colour, background, shown, tuple(marks), is_neutral, selectors
    )


def _selectors(attributes: dict[str, str]) -> tuple[str, ...]:
    classes = [f".{name}" for name in attributes.get("class", "").lower().split()[:MAX_CLASSES]]
    return (*classes, f"#{attributes['id'].strip().lower()}") if "id" in attributes else tuple(classes)


PLAIN_STYLE = (False, None, None)


@lru_cache(1 << 12)
def _parse_style(style: str) -> tuple[bool, int | None, int | None]:
    """Return whether a style hides, and the colours of text and background; -1 is a picture, of any colour."""
    style = style.lower()
    colours = dict(STYLE_COLOUR.findall(style)) if "color" in style or "background" in style else {}
    picture = colours.get("background", "")
    background = parse_colour(colours.get("background-color") or picture)
    is_hiding = STYLE_HIDES.search(style) is not None
    return is_hiding, parse_colour(colours.get("color", "")), -1 if "url" in picture else background


def _small_marks(name: str, attributes: dict[str, str], links: list[str]) -> list[str]:
    """Return marks of tracking pixels, font sizes, event handlers and mail links."""
    marks = []
    if name == "img" and attributes.get("width") in ("0", "1") and attributes.get("height") in ("0", "1"):
        marks.append("pixel")
    if name == "font" and "size" in attributes:
        marks.append(f"size:{''.join(attributes['size'][:3].split())}")
    marks += [f"event:{key[:20]}" for key in attributes if key[:2] == "on"]
    if links and "href" in attributes and links[0][:7].lower() == "mailto:":
        marks.append("mailto")
    return marks


def find_hiding_names(source: str) -> frozenset[str]:
    """Return the classes (.name) and ids (#name) that a page's own style sheets hide.

    >>> sheet = ".a, p#b {display: none} @media x {.c {opacity: 0}} .d em {opacity: 0}"
    >>> sorted(find_hiding_names(f"<style>{sheet}</style>"))
    ['#b', '.a']
    """
    sheets = "".join(SHEET.findall(source))[:MAX_SHEET_CHARACTERS].lower()
    if not STYLE_HIDES.search(sheets.replace("}", ";")):
        return frozenset()
    found: set[str] = set()
    for each in CSS_CONDITION.sub("", CSS_COMMENT.sub("", sheets)).split("}"):
        selectors, _, rule = each.rpartition("{")
        if STYLE_HIDES.search(rule):
            found.update(name[1] for one in selectors.split(",") if (name := SELECTOR.fullmatch(one)))
    return frozenset(found)


@lru_cache(1 << 12)
def parse_colour(text: str) -> int | None:
    """Return a colour as 0xRRGGBB, or None for one that is not a plain value.

    >>> hex(parse_colour("#F00")), hex(parse_colour("white")), hex(parse_colour("rgb(0, 255, 0)")), parse_colour("x")
    ('0xff0000', '0xffffff', '0xff00', None)
    """
    if not text:
        return None
    text = text.strip().lower()[:40]
    if text in COLOURS:
        return COLOURS[text]
    if found := HEX.match(text):
        digits = found[1]
        return int(digits if len(digits) == 6 else "".join(2 * d for d in digits), 16)
    if found := RGB.match(text):
        r, g, b = (min(int(x), 255) for x in found.groups())
        return r << 16 | g << 8 | b
    return None


@lru_cache(4096)
def look_equal(one: int, other: int | None) -> bool:
    """Return whether two colours look equal; an unknown background (below 0) equals none."""
    if other is None or other < 0:
        return False
    return all(abs((one >> shift & 255) - (other >> shift & 255)) <= MAX_INVISIBLE_DIFFERENCE for shift in (0, 8, 16))
