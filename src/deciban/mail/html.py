"""HTML as its reader sees it: the shown text, the hidden text, the links, and tell-tale marks; in one pass, never run.

A tag ends at the next '>' or '<', so that no text, however broken, is looked at twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from types import MappingProxyType
from typing import NamedTuple

from deciban.mail.colours import alike, colour_of

MOST_LINKS = 300
MOST_MARKS = 200
LONGEST_LINK = 1000
LONGEST_TAG = 4000
DEEPEST = 100
"""Grounds within grounds."""
LONGEST_KEPT_TAG = 160
"""Longer tags are hardly ever seen again, so their reading is not kept."""

TAG = re.compile(r"<([a-zA-Z/!?][^<>]*+)>?")
COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
COMMENT_IN_WORD = re.compile(r"<!--[^<>]*+-->(?=\w)")
NAME = re.compile(r"/?([a-zA-Z][\w:-]{0,30})")
ATTRIBUTE = re.compile(r"(?<![\w-])([a-zA-Z-]++)\s*+=\s*+(?:\"([^\"]*+)\"?|'([^']*+)'?|([^\s\"'>]++))")
STYLE_HIDES = re.compile(
    r"display\s*+:\s*+none|visibility\s*+:\s*+hidden|opacity\s*+:\s*+0+(?:\.0*+)?\s*+(?:[;!]|\Z)|"
    r"font-size\s*+:\s*+(?:0+(?:\.0*+)?(?:px|pt|em|rem|%)?|1(?:px|pt))\s*+(?:[;!]|\Z)|mso-hide\s*+:\s*+all|max-height\s*+:\s*+0"
)
STYLE_COLOUR = re.compile(r"(?<![\w-])(background(?:-color)?|color)\s*+:\s*+([^;]{1,40})")
STYLED_GROUND = re.compile(r"<style[^<]*?background", re.IGNORECASE)
ENTITY_SPACE = re.compile(r"&nbsp;?|&#160;?", re.IGNORECASE)

BREAKING = frozenset(
    [
        "p",
        "br",
        "div",
        "table",
        "tr",
        "td",
        "th",
        "li",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "center",
        "blockquote",
        "pre",
        "option",
        "select",
        "form",
        "title",
        "head",
        "body",
        "html",
        "img",
        "input",
        "textarea",
        "button",
        "address",
        "caption",
        "article",
        "section",
        "header",
        "footer",
        "nav",
        "main",
        "figure",
        "iframe",
    ]
)
"""Tags that part words; all others stand within them, known to browsers or not."""
EMPTY = frozenset(
    ["br", "img", "input", "hr", "meta", "link", "base", "area", "col", "embed", "wbr", "param", "source"]
)
SILENT = frozenset(["script", "style"])
TELLING = frozenset(
    [
        "form",
        "input",
        "img",
        "iframe",
        "script",
        "style",
        "font",
        "center",
        "marquee",
        "blink",
        "base",
        "object",
        "embed",
        "map",
        "area",
        "applet",
        "link",
        "button",
        "select",
        "video",
        "audio",
        "svg",
        "bgsound",
        "frameset",
        "table",
        "div",
        "span",
        "a",
        "b",
        "big",
        "h1",
        "h2",
        "h3",
        "meta",
        "title",
        "pre",
        "blockquote",
    ]
)
GROUNDS = frozenset(["body", "table", "tr", "td", "th", "div", "span", "p"])
WHITE = 0xFFFFFF
NOTHING: Mapping[str, None] = MappingProxyType({})
LINKED = ("href", "src", "action", "background")


@dataclass(frozen=True, slots=True)
class Page:
    """What an HTML part holds: text that is shown, text that is not, links, and marks (tags and telling attributes)."""

    text: str
    hidden: str
    links: tuple[str, ...]
    tags: tuple[str, ...]


class Tag(NamedTuple):
    """One tag, by itself: what stands in its place in the text, and what it does to the text around it."""

    name: str
    closes: bool = False
    space: str = ""
    silent: bool = False
    hides: bool = False
    colour: int | None = None
    ground: int | None = None
    links: Mapping[str, None] = NOTHING
    marks: Mapping[str, None] = NOTHING


def page_of(source: str) -> Page:
    """What a reader sees of a page, and what is kept from sight.

    >>> page_of('Buy <b>n</b>ow<br><a href="http://x.example/">here</a> <p style="display:none">poem</p>')
    Page(text='Buy now here  ', hidden='poem', links=('http://x.example/',), tags=('b', 'a', 'hidden:style'))
    """
    marks: dict[str, None] = {}
    if "<!--" in source:
        marks["comment:in-word" if _tears_words(source) else "comment"] = None
        source = COMMENT.sub("", source)
    pieces = TAG.split(source)
    written = pieces[1::2]
    tags = {each: _known_tag(each) if len(each) < LONGEST_KEPT_TAG else read_tag(each) for each in set(written)}
    links: dict[str, None] = {}
    for each in dict.fromkeys(written):
        marks.update(tags[each].marks)
        links.update(tags[each].links)
    hidden: list[str] = []
    if not _all_is_seen(tags.values()):
        view = _View(source, pieces[::2])
        for tag in map(tags.__getitem__, written):
            view.pass_by(tag)
        pieces[::2], hidden = view.texts, view.unseen
        marks.update(view.marks)
    pieces[1::2] = [tags[each].space for each in written]
    shown = _spelled("".join(pieces))
    return Page(shown, _spelled(" ".join(hidden)).strip(), tuple(links)[:MOST_LINKS], tuple(marks)[:MOST_MARKS])


def _tears_words(source: str) -> bool:
    """Whether a comment stands within a word."""
    return any(source[at.start() - 1 : at.start()].isalnum() for at in COMMENT_IN_WORD.finditer(source))


def _all_is_seen(tags: Collection[Tag]) -> bool:
    """Whether no tag can hide text: none does by itself, and no colour of text is like that of a ground."""
    if any(tag.hides or tag.silent for tag in tags):
        return False
    colours = {tag.colour for tag in tags if tag.colour is not None}
    grounds = {tag.ground for tag in tags if tag.ground is not None} | {WHITE}
    return not any(alike(colour, ground) for colour in colours for ground in grounds)


def _spelled(text: str) -> str:
    """Text with its entities read, and its hard spaces soft."""
    if "&" not in text:
        return text
    text = ENTITY_SPACE.sub(" ", text)
    return unescape(text) if "&" in text else text


class _View:
    """A walk past the tags of a page: what is open that hides, colours the ground, or is not text at all."""

    def __init__(self, source: str, texts: list[str]) -> None:
        self.source, self.texts = source, texts
        self.unseen: list[str] = []
        self.marks: dict[str, None] = {}
        self.at = 0
        self.silent = self.hider = ""
        self.hider_depth = 0
        self.grounds: list[tuple[str, int | None]] = []
        self.painted: bool | None = None

    def pass_by(self, tag: Tag) -> None:
        """What a tag changes for the text after it, which is taken away if it is not seen."""
        self.at += 1
        if self.silent:
            if tag.closes and tag.name == self.silent:
                self.silent = ""
        elif tag.closes:
            self._close(tag.name)
        elif tag.name not in EMPTY:
            self._open(tag)
        if self.silent or self.hider:
            if not self.silent:
                self.unseen.append(self.texts[self.at])
            self.texts[self.at] = ""

    def _open(self, tag: Tag) -> None:
        if tag.silent:
            self.silent = tag.name
        if tag.name in GROUNDS and len(self.grounds) < DEEPEST and (tag.ground is not None or self.grounds):
            self.grounds.append((tag.name, tag.ground if tag.ground is not None else self.grounds[-1][1]))
        if self.hider:
            self.hider_depth += tag.name == self.hider
        elif tag.hides or (tag.colour is not None and tag.name != "body" and alike(tag.colour, self._ground())):
            self.hider, self.hider_depth = tag.name, 1
            self.marks["hidden:style" if tag.hides else "hidden:colour"] = None

    def _ground(self) -> int | None:
        """The colour under the text; not known where a style sheet may have painted it."""
        if self.painted is None:
            self.painted = STYLED_GROUND.search(self.source) is not None
        if self.painted:
            return None
        return self.grounds[-1][1] if self.grounds else WHITE

    def _close(self, name: str) -> None:
        if self.grounds and self.grounds[-1][0] == name:
            self.grounds.pop()
        if name == self.hider:
            self.hider_depth -= 1
            if not self.hider_depth:
                self.hider = ""


def read_tag(written: str) -> Tag:
    """A tag from what stands between its angles."""
    written = written[:LONGEST_TAG]
    found = NAME.match(written)
    if not found:
        return Tag("")
    name = found[1].lower()
    space = " " if name in BREAKING else ""
    if written[0] == "/":
        return Tag(name, True, space)
    if "=" in written:
        given = {key.lower(): a or b or c for key, a, b, c in reversed(ATTRIBUTE.findall(written))}
        return _with_attributes(name, space, given)
    return Tag(name, False, space, name in SILENT, marks={name: None} if name in TELLING else NOTHING)


_known_tag = lru_cache(8192)(read_tag)


def _with_attributes(name: str, space: str, given: dict[str, str]) -> Tag:
    marks = [name] if name in TELLING else []
    style = given["style"].lower() if "style" in given else ""
    hides = bool(style and STYLE_HIDES.search(style)) or (name == "font" and given.get("size") == "0")
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
    return Tag(name, False, space, name in SILENT, hides, colour, ground, dict.fromkeys(shown), dict.fromkeys(marks))


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
