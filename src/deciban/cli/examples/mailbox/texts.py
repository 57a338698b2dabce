"""Phrases, and how they become a text.

In a file of phrases `== ham friends` begins a section, `> ` a subject in it, and every other line is a sentence.
`[a|b]` is one of both, `{price}` is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from deciban.cli.examples.mailbox.draw import Draw

FOLDER = Path(__file__).parent / "phrases"
CHARSETS = {
    "english": ("us-ascii", "utf-8", "iso-8859-1"),
    "german": ("utf-8", "iso-8859-1", "windows-1252"),
    "french": ("utf-8", "iso-8859-15", "windows-1252"),
    "spanish": ("utf-8", "iso-8859-1"),
    "polish": ("utf-8", "iso-8859-2"),
    "russian": ("utf-8", "koi8-r", "windows-1251"),
    "greek": ("utf-8", "iso-8859-7"),
    "turkish": ("utf-8", "iso-8859-9"),
    "arabic": ("utf-8", "windows-1256"),
    "chinese": ("utf-8", "gb2312"),
    "japanese": ("utf-8", "iso-2022-jp", "shift_jis"),
}
"""The languages there are, and the charsets that letters in them are written in."""

PRICES = ("${}.95", "€ {},00", "{} EUR", "${}", "€{}", "{},000 USD")
PRODUCTS = ("Zelvatrim", "Moonberry Drops", "Lunafit", "Gnomolax", "Vigoroot", "Snorezap")
"""There are no such things."""

CHOICE = re.compile(r"\[([^][|]*\|[^][]*)\]")
BLANK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Section:
    """What can be said on one occasion."""

    subjects: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)


@cache
def sections(language: str) -> Mapping[str, Section]:
    """All that is said in a language, by occasion."""
    found: dict[str, Section] = {}
    for line in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = found[line[3:]] = Section()
        elif line.startswith("> "):
            section.subjects.append(line[2:])
        elif line:
            section.sentences.append(line)
    return found


def said(draw: Draw, phrase: str, words: Mapping[str, Callable[[], str]]) -> str:
    """A phrase with its choices made and its blanks filled in.

    >>> said(Draw(0), "[Hi|Hi], {who}!", {"who": lambda: "Ann"})
    'Hi, Ann!'
    """
    chosen = CHOICE.sub(lambda found: draw.one_of(found[1].split("|")), phrase)
    return BLANK.sub(lambda found: words[found[1]](), chosen)


def usual(draw: Draw) -> dict[str, Callable[[], str]]:
    """How blanks are filled in, whoever writes."""
    return {
        "number": lambda: str(draw.between(2, 99)),
        "code": lambda: str(draw.between(1000, 99999)),
        "percent": lambda: str(5 * draw.between(2, 19)),
        "price": lambda: draw.one_of(PRICES).format(draw.between(5, 990)),
        "product": lambda: draw.one_of(PRODUCTS),
    }
