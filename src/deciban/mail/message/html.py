"""HTML as its reader sees it: visible text, hidden text, links and marks; in one pass, never executed.

A tag ends at the next '>' or '<', so that no text, however broken, is scanned twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from html import unescape

from deciban.mail.message.decoding import REPLACED
from deciban.mail.message.html_tags import BACKGROUND_TAGS, EMPTY, NO_TAG, Tag, find_hiding_names, get_tag, look_equal

MAX_LINKS = 300
MAX_MARKS = 200
MAX_COLOUR_PAIRS = 1000
"""Pairs of text and background colours that are compared before it is quicker to pass all tags."""
MAX_DEPTH = 100
"""Depth of nested backgrounds."""

TAG = re.compile(r"<([a-zA-Z/!?][^<>]*+)>?")
COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
STYLED_BACKGROUND = re.compile(r"<style[^<]*?background", re.IGNORECASE)
ENTITY_SPACE = re.compile(r"&nbsp;?|&#160;?", re.IGNORECASE)
LONG_ENTITY = re.compile(r"&#([0-9]{8,}+);?")
"""A numeric entity with more digits than any character has, which Python may refuse to convert."""

WHITE = 0xFFFFFF


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
    whole = source  # with comments, in which old programs put style sheets
    if "<!--" in source:
        marks.append("comment")
        source = COMMENT.sub("", source)
    pieces = TAG.split(source)
    tag_texts = pieces[1::2]
    tags = {each: get_tag(each) for each in dict.fromkeys(tag_texts)}
    links: list[str] = []
    for tag in tags.values():
        marks += tag.marks
        links += tag.links
    if any(tag.is_silent for tag in tags.values()):
        _remove_silent(pieces, tag_texts, tags)
    hidden: list[str] = []
    hiding = find_hiding_names(whole) if "style" in marks else frozenset()
    if hiding or not _is_all_visible(tags.values()):
        view = _View(source, pieces[::2], hiding)
        for at, each in enumerate(tag_texts, start=1):
            tag = tags[each]
            if view.hiding_tag or not tag.is_neutral or (hiding and tag.selectors):
                view.apply(tag, at)
        pieces[::2], hidden = view.texts, view.hidden
        marks += view.marks
    pieces[1::2] = [tags[each].space for each in tag_texts]
    visible, hidden_text = _decode_entities("".join(pieces)), _decode_entities(" ".join(hidden)).strip()
    return Page(visible, hidden_text, _first_distinct(MAX_LINKS, links), _first_distinct(MAX_MARKS, marks))


def _first_distinct(n: int, words: list[str]) -> tuple[str, ...]:
    """Return the first n distinct words."""
    return tuple(dict.fromkeys(words))[:n]


def _remove_silent(pieces: list[str], tag_texts: list[str], tags: dict[str, Tag]) -> None:
    """Remove scripts and style sheets, and with them what looks like a tag in them."""
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


def _is_all_visible(tags: Collection[Tag]) -> bool:
    """Return whether no tag can hide text: none does by itself, and no text colour equals a background."""
    colours = {tag.colour for tag in tags if tag.colour is not None}
    backgrounds = {tag.background for tag in tags} | {WHITE}
    if len(colours) * len(backgrounds) > MAX_COLOUR_PAIRS or any(tag.is_hiding for tag in tags):
        return False
    return not any(look_equal(colour, background) for colour in colours for background in backgrounds)


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


class _View:
    """The state while the tags of a page are passed: the open tags that hide text or set the background."""

    def __init__(self, source: str, texts: list[str], hiding: frozenset[str]) -> None:
        self.source, self.texts, self.hiding = source, texts, hiding
        self.hidden: list[str] = []
        self.marks: list[str] = []
        self.hiding_tag = ""
        self.hiding_depth = 0
        self.backgrounds: list[tuple[str, int | None]] = []
        self.is_background_styled: bool | None = None

    def apply(self, tag: Tag, at: int) -> None:
        """Apply a tag to the text after it, which is removed if it is hidden."""
        if tag.is_closing:
            self._close(tag.name)
        elif tag.name not in EMPTY:
            self._open(tag)
        if self.hiding_tag:
            self.hidden.append(self.texts[at])
            self.texts[at] = ""

    def _open(self, tag: Tag) -> None:
        if tag.name in BACKGROUND_TAGS and len(self.backgrounds) < MAX_DEPTH:
            if tag.background is not None:
                self.backgrounds.append((tag.name, tag.background))
            elif self.backgrounds:
                self.backgrounds.append((tag.name, self.backgrounds[-1][1]))
        if self.hiding_tag:
            self.hiding_depth += tag.name == self.hiding_tag
            return
        how = self._hiding_mark(tag)
        if how:
            self.hiding_tag, self.hiding_depth = tag.name, 1
            if how not in self.marks:
                self.marks.append(how)

    def _hiding_mark(self, tag: Tag) -> str:
        """Return the mark of what hides the text of a tag, or an empty string."""
        if tag.is_hiding:
            return "hidden:style"
        if tag.selectors and not self.hiding.isdisjoint(tag.selectors):
            return "hidden:sheet"
        if tag.colour is not None and tag.name != "body" and look_equal(tag.colour, self._background()):
            return "hidden:colour"
        return ""

    def _background(self) -> int | None:
        """Return the background colour of the text; None if a style sheet may have set it."""
        if self.is_background_styled is None:
            self.is_background_styled = STYLED_BACKGROUND.search(self.source) is not None
        if self.is_background_styled:
            return None
        return self.backgrounds[-1][1] if self.backgrounds else WHITE

    def _close(self, name: str) -> None:
        if self.backgrounds and self.backgrounds[-1][0] == name:
            self.backgrounds.pop()
        if name == self.hiding_tag:
            self.hiding_depth -= 1
            if not self.hiding_depth:
                self.hiding_tag = ""
