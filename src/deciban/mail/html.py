"""HTML as its reader sees it: the shown text, the hidden text, the links, and tell-tale marks; in one pass, never run.

A tag ends at the next '>' or '<', so that no text, however broken, is looked at twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from html import unescape

from deciban.mail.colours import alike, colour_of

MOST_LINKS = 300
MOST_MARKS = 200
LONGEST_LINK = 1000
LONGEST_KEPT_TAG = 160
"""Longer tags are hardly ever seen again, so their reading is not kept."""

TAG = re.compile(r"<([a-zA-Z/!?][^<>]*+)>?")
COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
COMMENT_IN_WORD = re.compile(r"\w<!--[^<>]*+-->\w")
NAME = re.compile(r"/?([a-zA-Z][\w:-]{0,30})")
ATTRIBUTE = re.compile(r"(?<![\w-])([a-zA-Z-]++)\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s\"'>]++))")
STYLE_HIDES = re.compile(
    r"display\s*+:\s*+none|visibility\s*+:\s*+hidden|opacity\s*+:\s*+0+(?:\.0*+)?\s*+(?:[;!]|\Z)|"
    r"font-size\s*+:\s*+(?:0+(?:\.0*+)?(?:px|pt|em|rem|%)?|1(?:px|pt))\s*+(?:[;!]|\Z)|mso-hide\s*+:\s*+all|max-height\s*+:\s*+0"
)
STYLE_COLOUR = re.compile(r"(?<![\w-])(background(?:-color)?|color)\s*+:\s*+([^;]{1,40})")
STYLED_GROUND = re.compile(r"<style[^<]*+(?:<!--[^<]*+)?background", re.IGNORECASE)
ENTITY_SPACE = re.compile(r"&nbsp;?|&#160;?", re.IGNORECASE)

BREAKING = frozenset(
    "p br div table tr td th li ul ol dl dt dd h1 h2 h3 h4 h5 h6 hr center blockquote pre option select form title head "
    "body html img input textarea button address caption article section header footer nav main figure iframe".split()
)
"""Tags that part words; all others stand within them, known to browsers or not."""
EMPTY = frozenset("br img input hr meta link base area col embed wbr param source".split())
SILENT = frozenset(["script", "style"])
TELLING = frozenset(
    "form input img iframe script style font center marquee blink base object embed map area applet link button select "
    "video audio svg bgsound frameset table div span a b big h1 h2 h3 meta title pre blockquote".split()
)
GROUNDS = frozenset(["body", "table", "tr", "td", "th", "div", "span", "p"])
LINKED = ("href", "src", "action", "background")


@dataclass(frozen=True, slots=True)
class Page:
    """What an HTML part holds: text that is shown, text that is not, links, and marks (tags and telling attributes)."""

    text: str
    hidden: str
    links: tuple[str, ...]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag, by itself: what it does to the text around it."""

    name: str
    closes: bool
    breaks: bool
    plain: bool
    hides: bool = False
    colour: int | None = None
    ground: int | None = None
    links: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    alt: str = ""


def page_of(source: str) -> Page:
    """What a reader sees of a page, and what is kept from sight.

    >>> page_of('Buy <b>n</b>ow<br><a href="http://x.example/">here</a> <p style="display:none">poem</p>')
    Page(text='Buy now here  ', hidden='poem', links=('http://x.example/',), tags=('b', 'a', 'hidden:style'))
    """
    view = _View(source)
    if "<!--" in source:
        view.marks["comment"] = None
        if COMMENT_IN_WORD.search(source):
            view.marks["comment:in-word"] = None
        source = COMMENT.sub("", source)
    pieces = TAG.split(source)
    shown = view.shown
    for text, written in zip(pieces[::2], pieces[1::2]):
        tag = _known_tag(written) if len(written) < LONGEST_KEPT_TAG else read_tag(written)
        if text and not view.silent:
            (view.unseen if view.hider else shown).append(text)
        if tag.breaks:
            shown.append(" ")
        if not tag.plain or view.hider or view.silent:
            view.pass_by(tag)
    if not view.silent:
        (view.unseen if view.hider else shown).append(pieces[-1])
    return Page(
        _spelled("".join(shown)), _spelled(" ".join(view.unseen)).strip(), tuple(view.links), tuple(view.marks)
    )


def _spelled(text: str) -> str:
    """Text with its entities read, and its hard spaces soft."""
    if "&" not in text:
        return text
    text = ENTITY_SPACE.sub(" ", text)
    return unescape(text) if "&" in text else text


@dataclass(slots=True)
class _View:
    """Where the reading stands: what is open that hides, colours the ground, or is not text at all."""

    source: str
    shown: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    links: dict[str, None] = field(default_factory=dict)
    marks: dict[str, None] = field(default_factory=dict)
    silent: str = ""
    hider: str = ""
    hider_depth: int = 0
    grounds: list[tuple[str, int | None]] = field(default_factory=list)

    def pass_by(self, tag: Tag) -> None:
        """What a tag changes for the text after it."""
        if self.silent:
            if tag.closes and tag.name == self.silent:
                self.silent = ""
            return
        if tag.closes:
            self._close(tag.name)
            return
        if tag.name in SILENT:
            self.silent = tag.name
        if len(self.marks) < MOST_MARKS:
            self.marks.update(dict.fromkeys(tag.marks))
        if len(self.links) < MOST_LINKS:
            self.links.update(dict.fromkeys(tag.links))
        if tag.alt:
            self.shown.append(f" {tag.alt} ")
        self._open(tag)

    def _open(self, tag: Tag) -> None:
        if tag.name in EMPTY:
            return
        if tag.name in GROUNDS and len(self.grounds) < 100 and (tag.ground is not None or self.grounds):
            self.grounds.append((tag.name, tag.ground if tag.ground is not None else self.grounds[-1][1]))
        if self.hider:
            self.hider_depth += tag.name == self.hider
        elif tag.hides:
            self.hider, self.hider_depth = tag.name, 1
        elif tag.colour is not None and tag.name != "body" and self._hides(tag.colour):
            self.hider, self.hider_depth = tag.name, 1
            self.marks["hidden:colour"] = None

    def _hides(self, colour: int) -> bool:
        return alike(colour, self._ground())

    def _ground(self) -> int | None:
        """The colour under the text; not known where a style sheet may have painted it."""
        if "<style" in self.source.lower() and STYLED_GROUND.search(self.source):
            return None
        return self.grounds[-1][1] if self.grounds else 0xFFFFFF

    def _close(self, name: str) -> None:
        if self.grounds and self.grounds[-1][0] == name:
            self.grounds.pop()
        if name == self.hider:
            self.hider_depth -= 1
            if not self.hider_depth:
                self.hider = ""


def read_tag(written: str) -> Tag:
    """A tag from what stands between its angles."""
    written = written[:4000]
    found = NAME.match(written)
    if not found:
        return Tag("", False, False, True)
    name, closes = found[1].lower(), written[0] == "/"
    breaks = name in BREAKING
    if closes:
        return Tag(name, True, breaks, name not in GROUNDS and name not in SILENT)
    if "=" not in written:
        marks = (name,) if name in TELLING else ()
        return Tag(name, False, breaks, not marks and name not in GROUNDS, marks=marks)
    attributes = {key.lower(): a or b or c for key, a, b, c in reversed(ATTRIBUTE.findall(written))}
    return _with_attributes(name, breaks, attributes)


_known_tag = lru_cache(8192)(read_tag)


def _with_attributes(name: str, breaks: bool, given: dict[str, str]) -> Tag:
    marks = [name] if name in TELLING else []
    style = given["style"].lower() if "style" in given else ""
    styled = dict(STYLE_COLOUR.findall(style)) if "color" in style or "background" in style else {}
    hides = bool(style and STYLE_HIDES.search(style)) or ("size" in given and name == "font" and given["size"] == "0")
    if hides:
        marks.append("hidden:style")
    colour = colour_of(given.get("color") or styled.get("color", ""))
    ground = colour_of(given.get("bgcolor") or styled.get("background-color") or styled.get("background", ""))
    if "background" in given or "url" in styled.get("background", ""):
        ground = -1
    if colour is not None:
        marks.append(f"color:{colour:06x}")
    if ground is not None and ground >= 0:
        marks.append(f"ground:{ground:06x}")
    marks.extend(_small_marks(name, given))
    links = tuple(
        unescape(given[key].strip()[:LONGEST_LINK])
        for key in LINKED
        if key in given and given[key][:1] not in ("#", "")
    )
    alt = unescape(given["alt"][:200]) if "alt" in given else ""
    return Tag(name, False, breaks, False, hides, colour, ground, links, tuple(marks), alt)


def _small_marks(name: str, given: dict[str, str]) -> list[str]:
    """Pixels that report a reading, shouting sizes, scripts that start by themselves."""
    marks = []
    if name == "img" and given.get("width") in ("0", "1") and given.get("height") in ("0", "1"):
        marks.append("pixel")
    if name == "font" and "size" in given:
        marks.append(f"size:{given['size'][:3]}")
    marks.extend(f"event:{key[:20]}" for key in given if key.startswith("on"))
    if given.get("href", "")[:7].lower() == "mailto:":
        marks.append("mailto")
    return marks
