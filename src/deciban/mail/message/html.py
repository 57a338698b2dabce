"""HTML as its reader sees it: visible text, hidden text, links and marks; in one pass, never executed.

A tag ends at the next '>' or '<', so that no text, however broken, is scanned twice. Tags, style sheets and colours
decide which text is hidden.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from deciban.mail.message.decoding import REPLACED

MAX_LINKS = 300
MAX_MARKS = 200
MAX_BACKGROUND_DEPTH = 100
"""Depth of nested backgrounds."""

TAG = re.compile(r"<([a-zA-Z/!?][^<>]*+)>?")
COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
STYLED_BACKGROUND = re.compile(r"<style[^<]*?background", re.IGNORECASE)
ENTITY_SPACE = re.compile(r"&nbsp;?|&#160;?", re.IGNORECASE)
LONG_ENTITY = re.compile(r"&#([0-9]{8,}+);?")
"""A numeric entity with more digits than any character has, which Python may refuse to convert."""

WHITE = 0xFFFFFF

MAX_LINK_CHARACTERS = 1000
MAX_TAG_CHARACTERS = 4000
MAX_CSS_CLASSES = 20
MAX_CACHED_TAG_CHARACTERS = 160
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
BREAKING_TAGS = frozenset(BREAKING_NAMES.split())
"""Tags that separate words; all others occur within words, known to browsers or not."""
VOID_TAGS = frozenset(
    ["br", "img", "input", "hr", "meta", "link", "base", "area", "col", "embed", "wbr", "param", "source"]
)
HIDDEN_TEXT_TAGS = frozenset(["script", "style"])
MARKED_NAMES = """
form input img iframe script style font center marquee blink base object embed map area applet link button
select video audio svg bgsound frameset table div span a b big h1 h2 h3 meta title pre blockquote
"""
MARKED_TAGS = frozenset(MARKED_NAMES.split())
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
    """A tag: `space`, the text in its place, and its effect on the text around it.

    A silent tag (script, style) has no text in it; a background of -1 is a picture, of any colour.
    """

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
    space = " " if name in BREAKING_TAGS else ""
    if text[0] == "/":
        return Tag(name, True, space, is_neutral=name not in BACKGROUND_TAGS)
    attributes = ATTRIBUTE.findall(text) if "=" in text else []
    return _parse_attributes(name, space, {key.lower(): a or b or c for key, a, b, c in reversed(attributes)})


_parse_tag_cached = lru_cache(8192)(parse_tag)


def _parse_attributes(name: str, space: str, attributes: dict[str, str]) -> Tag:
    """Make an opening tag; `space` is the text in its place, unless the attributes have an alternative text."""
    is_hiding, colour, background = _parse_style(attributes.get("style", ""))
    if name == "font":
        is_hiding = is_hiding or attributes.get("size") == "0"
    if colour is None and "color" in attributes:
        colour = parse_colour(attributes["color"])
    if background is None and "background" in attributes:
        background = -1
    elif background is None and "bgcolor" in attributes:
        background = parse_colour(attributes["bgcolor"])
    marks = [name] if name in MARKED_TAGS else []
    if is_hiding:
        marks.append("hidden:style")
    if colour is not None:
        marks.append(f"color:{colour:06x}")
    if background is not None and background >= 0:
        marks.append(f"ground:{background:06x}")
    links = [unescape(attributes[key].strip()[:MAX_LINK_CHARACTERS]) for key in LINK_ATTRIBUTES if key in attributes]
    marks += _mark_details(name, attributes, links)
    if "alt" in attributes:
        space = f" {unescape(attributes['alt'][:200])} "
    shown = tuple([link for link in links if link and link[0] != "#"])
    is_neutral = not is_hiding and colour is None and background is None and name not in BACKGROUND_TAGS
    selectors = [f".{each}" for each in attributes.get("class", "").lower().split()[:MAX_CSS_CLASSES]]
    if "id" in attributes:
        selectors.append(f"#{attributes['id'].strip().lower()}")
    return Tag(
        name, False, space, name in HIDDEN_TEXT_TAGS, is_hiding, colour, background, shown, tuple(marks), is_neutral,
        tuple(selectors),
    )  # fmt: skip


@lru_cache(1 << 12)
def _parse_style(style: str) -> tuple[bool, int | None, int | None]:
    """Return whether a style hides, and the colours of text and background; -1 is a picture, of any colour."""
    style = style.lower()
    colours = dict(STYLE_COLOUR.findall(style)) if "color" in style or "background" in style else {}
    picture = colours.get("background", "")
    background = parse_colour(colours.get("background-color") or picture)
    is_hiding = STYLE_HIDES.search(style) is not None
    return is_hiding, parse_colour(colours.get("color", "")), -1 if "url" in picture else background


def _mark_details(name: str, attributes: dict[str, str], links: list[str]) -> list[str]:
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
    """Return the classes (.name) and ids (#name), in lower case, that a page's own style sheets hide.

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
    """Return whether two colours look equal; an unknown one (None, or below 0) equals none."""
    if other is None or other < 0:
        return False
    return all(abs((one >> shift & 255) - (other >> shift & 255)) <= MAX_INVISIBLE_DIFFERENCE for shift in (0, 8, 16))


@dataclass(frozen=True, slots=True)
class Page:
    """A page: visible text, hidden text, links, and marks (names of tags and attributes)."""

    text: str
    hidden: str
    links: tuple[str, ...]
    tags: tuple[str, ...]


def parse_page(source: str) -> Page:
    """Separate the text that a reader sees from the text that is hidden.

    >>> parse_page('Buy <b>n</b>ow<br><a href="http://x.example/">here</a> <p style="display:none">poem</p>')
    Page(text='Buy now here  ', hidden='poem', links=('http://x.example/',), tags=('b', 'a', 'hidden:style'))
    """
    marks: list[str] = []
    with_comments = source  # old programs put style sheets into comments
    if "<!--" in source:
        marks.append("comment")
        source = COMMENT.sub("", source)
    pieces = TAG.split(source)
    tag_texts = pieces[1::2]
    tags = {
        each: _parse_tag_cached(each) if len(each) < MAX_CACHED_TAG_CHARACTERS else parse_tag(each)
        for each in dict.fromkeys(tag_texts)
    }
    marks += [mark for tag in tags.values() for mark in tag.marks]
    links = [link for tag in tags.values() for link in tag.links]
    if any(tag.is_silent for tag in tags.values()):
        _remove_silent(pieces, tag_texts, tags)
    hidden: list[str] = []
    hiding = find_hiding_names(with_comments) if "style" in marks else frozenset()
    if hiding or not all(tag.is_neutral for tag in tags.values()):
        view = _View(source, pieces[::2], hiding)
        for at, each in enumerate(tag_texts, start=1):
            tag = tags[each]
            if view.hiding_tag or not tag.is_neutral or (hiding and tag.selectors):
                view.apply(tag, at)
        pieces[::2], hidden = view.texts, view.hidden
        marks += view.marks
    pieces[1::2] = [tags[each].space for each in tag_texts]
    visible, hidden_text = _decode_entities("".join(pieces)), _decode_entities(" ".join(hidden)).strip()
    links, marks = list(dict.fromkeys(links))[:MAX_LINKS], list(dict.fromkeys(marks))[:MAX_MARKS]
    return Page(visible, hidden_text, tuple(links), tuple(marks))


def _remove_silent(pieces: list[str], tag_texts: list[str], tags: dict[str, Tag]) -> None:
    """Remove scripts and style sheets in place, and with them what looks like a tag in them; add an empty tag."""
    tags[""] = NO_TAG
    openers = {each for each, tag in tags.items() if tag.is_silent}
    open_name = ""
    for i, each in enumerate(tag_texts):
        if open_name:
            tag = tags[each]
            if tag.is_closing and tag.name == open_name:
                open_name = ""
                continue
            tag_texts[i] = pieces[2 * i + 2] = ""
        elif each in openers:
            open_name, pieces[2 * i + 2] = tags[each].name, ""


def _decode_entities(text: str) -> str:
    """Replace entities by their characters, and non-breaking spaces by spaces."""
    if "&" not in text:
        return text
    text = LONG_ENTITY.sub(_shorten_entity, ENTITY_SPACE.sub(" ", text))
    return unescape(text) if "&" in text else text


def _shorten_entity(found: re.Match[str]) -> str:
    """Return an entity without leading zeros; beyond the last character, the replacement character."""
    digits = found[1].lstrip("0")
    return REPLACED if len(digits) > 7 else f"&#{digits or 0};"


@dataclass(slots=True)
class _View:
    """The state while the tags of a page are passed: the open tags that hide text or set the background."""

    source: str
    texts: list[str]
    hiding: frozenset[str]
    hidden: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    hiding_tag: str = ""
    hiding_depth: int = 0
    backgrounds: list[tuple[str, int | None]] = field(default_factory=list)
    is_background_styled: bool | None = None

    def apply(self, tag: Tag, at: int) -> None:
        """Apply a tag to the text after it, texts[at], which moves to `hidden` if the tag or an open one hides it."""
        if tag.is_closing:
            self._apply_closing(tag.name)
        elif tag.name not in VOID_TAGS:
            self._apply_opening(tag)
        if self.hiding_tag:
            self.hidden.append(self.texts[at])
            self.texts[at] = ""

    def _apply_opening(self, tag: Tag) -> None:
        if tag.name in BACKGROUND_TAGS and len(self.backgrounds) < MAX_BACKGROUND_DEPTH:
            if tag.background is not None:
                self.backgrounds.append((tag.name, tag.background))
            elif self.backgrounds:
                self.backgrounds.append((tag.name, self.backgrounds[-1][1]))
        if self.hiding_tag:
            self.hiding_depth += tag.name == self.hiding_tag
            return
        if how := self._find_hiding_mark(tag):
            self.hiding_tag, self.hiding_depth = tag.name, 1
            if how not in self.marks:
                self.marks.append(how)

    def _find_hiding_mark(self, tag: Tag) -> str:
        """Return the mark of what hides the text of a tag, or an empty string."""
        if tag.is_hiding:
            return "hidden:style"
        if tag.selectors and not self.hiding.isdisjoint(tag.selectors):
            return "hidden:sheet"
        if tag.colour is not None and tag.name != "body" and look_equal(tag.colour, self._find_background()):
            return "hidden:colour"
        return ""

    def _find_background(self) -> int | None:
        """Return the background colour of the text; None if a style sheet may have set it."""
        if self.is_background_styled is None:
            self.is_background_styled = STYLED_BACKGROUND.search(self.source) is not None
        if self.is_background_styled:
            return None
        return self.backgrounds[-1][1] if self.backgrounds else WHITE

    def _apply_closing(self, name: str) -> None:
        if self.backgrounds and self.backgrounds[-1][0] == name:
            self.backgrounds.pop()
        if name == self.hiding_tag:
            self.hiding_depth -= 1
            if not self.hiding_depth:
                self.hiding_tag = ""
