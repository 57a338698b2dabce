"""HTML as its reader sees it: shown text, hidden text, links and tell-tale marks; in one pass, never run.

A tag ends at the next '>' or '<', so that no text, however broken, is looked at twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from html import unescape

from deciban.mail.message.colours import alike
from deciban.mail.message.decoding import REPLACED
from deciban.mail.message.html_tags import EMPTY, GROUNDS, NO_TAG, Tag, tag_of
from deciban.mail.message.style_sheets import hiding_names

MOST_LINKS = 300
MOST_MARKS = 200
MOST_PAIRS = 1000
"""Colours with grounds that are compared before it is quicker to walk past all tags."""
DEEPEST = 100
"""Grounds within grounds."""

TAG = re.compile(r"<([a-zA-Z/!?][^<>]*+)>?")
COMMENT = re.compile(r"<!--(?:-?>|.*?(?:--!?>|\Z))", re.DOTALL)
STYLED_GROUND = re.compile(r"<style[^<]*?background", re.IGNORECASE)
ENTITY_SPACE = re.compile(r"&nbsp;?|&#160;?", re.IGNORECASE)
LONG_ENTITY = re.compile(r"&#([0-9]{8,}+);?")
"""A character by a number of more digits than any has, which Python may refuse to read."""

WHITE = 0xFFFFFF


@dataclass(frozen=True, slots=True)
class Page:
    """What a page holds: text that is shown, text that is not, links, and marks (tags and telling attributes)."""

    text: str
    hidden: str
    links: tuple[str, ...]
    tags: tuple[str, ...]


def page_of(source: str) -> Page:
    """What a reader sees of a page, and what is kept from sight.

    >>> page_of('Buy <b>n</b>ow<br><a href="http://x.example/">here</a> <p style="display:none">poem</p>')
    Page(text='Buy now here  ', hidden='poem', links=('http://x.example/',), tags=('b', 'a', 'hidden:style'))
    """
    marks: list[str] = []
    whole = source  # with comments, in which old programs put style sheets
    if "<!--" in source:
        marks.append("comment")
        source = COMMENT.sub("", source)
    pieces = TAG.split(source)
    written = pieces[1::2]
    tags = {each: tag_of(each) for each in dict.fromkeys(written)}
    links: list[str] = []
    for tag in tags.values():
        marks += tag.marks
        links += tag.links
    if any(tag.silent for tag in tags.values()):
        _mute(pieces, written, tags)
    hidden: list[str] = []
    hiding = hiding_names(whole) if "style" in marks else frozenset()
    if hiding or not _all_is_seen(tags.values()):
        view = _View(source, pieces[::2], hiding)
        for at, each in enumerate(written, start=1):
            tag = tags[each]
            if view.hider or not tag.quiet or (hiding and tag.named):
                view.pass_by(tag, at)
        pieces[::2], hidden = view.texts, view.unseen
        marks += view.marks
    pieces[1::2] = [tags[each].space for each in written]
    shown = _spelled("".join(pieces))
    return Page(shown, _spelled(" ".join(hidden)).strip(), _first(MOST_LINKS, links), _first(MOST_MARKS, marks))


def _first(n: int, words: list[str]) -> tuple[str, ...]:
    """The first so many different words."""
    return tuple(dict.fromkeys(words))[:n]


def _mute(pieces: list[str], written: list[str], tags: dict[str, Tag]) -> None:
    """Scripts and style sheets are no text, and what looks like a tag in them is none."""
    tags[""] = NO_TAG
    openers = {each for each, tag in tags.items() if tag.silent}
    silent = ""
    for i, each in enumerate(written):
        if silent:
            tag = tags[each]
            if tag.closes and tag.name == silent:
                silent = ""
                continue
            written[i] = pieces[2 * i + 2] = ""
        elif each in openers:
            silent, pieces[2 * i + 2] = tags[each].name, ""


def _all_is_seen(tags: Collection[Tag]) -> bool:
    """Whether no tag can hide text: none does by itself, and no colour of text is like that of a ground."""
    colours = {tag.colour for tag in tags if tag.colour is not None}
    grounds = {tag.ground for tag in tags} | {WHITE}
    if len(colours) * len(grounds) > MOST_PAIRS or any(tag.hides for tag in tags):
        return False
    return not any(alike(colour, ground) for colour in colours for ground in grounds)


def _spelled(text: str) -> str:
    """Text with its entities read, and its hard spaces soft."""
    if "&" not in text:
        return text
    text = LONG_ENTITY.sub(_shorten_entity, ENTITY_SPACE.sub(" ", text))
    return unescape(text) if "&" in text else text


def _shorten_entity(found: re.Match[str]) -> str:
    """An entity without leading zeros; beyond the last character there is, the sign for a broken one."""
    digits = found[1].lstrip("0")
    return REPLACED if len(digits) > 7 else f"&#{digits or 0};"


class _View:
    """A walk past the tags of a page: what is open that hides or colours the ground."""

    def __init__(self, source: str, texts: list[str], hiding: frozenset[str]) -> None:
        self.source, self.texts, self.hiding = source, texts, hiding
        self.unseen: list[str] = []
        self.marks: list[str] = []
        self.hider = ""
        self.hider_depth = 0
        self.grounds: list[tuple[str, int | None]] = []
        self.painted: bool | None = None

    def pass_by(self, tag: Tag, at: int) -> None:
        """What a tag changes for the text at a place, after it, which is taken away if it is not seen."""
        if tag.closes:
            self._close(tag.name)
        elif tag.name not in EMPTY:
            self._open(tag)
        if self.hider:
            self.unseen.append(self.texts[at])
            self.texts[at] = ""

    def _open(self, tag: Tag) -> None:
        if tag.name in GROUNDS and len(self.grounds) < DEEPEST and (tag.ground is not None or self.grounds):
            self.grounds.append((tag.name, tag.ground if tag.ground is not None else self.grounds[-1][1]))
        if self.hider:
            self.hider_depth += tag.name == self.hider
            return
        how = self._hidden_by(tag)
        if how:
            self.hider, self.hider_depth = tag.name, 1
            if how not in self.marks:
                self.marks.append(how)

    def _hidden_by(self, tag: Tag) -> str:
        """What keeps the text of a tag from sight, if anything does."""
        if tag.hides:
            return "hidden:style"
        if tag.named and not self.hiding.isdisjoint(tag.named):
            return "hidden:sheet"
        if tag.colour is not None and tag.name != "body" and alike(tag.colour, self._ground()):
            return "hidden:colour"
        return ""

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
