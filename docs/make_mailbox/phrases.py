"""Phrases, and their composition into texts.

In a file of phrases `== ham friends` begins a section, `> ` a subject in it, and every other line is a sentence.
`[a|b]` is one of both, `{price}` is filled in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import fill

from docs.make_mailbox.draw import Draw

FOLDER = Path(__file__).parent / "languages"
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
"""The languages, and the charsets that messages in each are encoded in."""

PRICES = ("${}.95", "€ {},00", "{} EUR", "${}", "€{}", "{},000 USD")
PRODUCTS = ("Zelvatrim", "Moonberry Drops", "Lunafit", "Gnomolax", "Vigoroot", "Snorezap")
"""Products that do not exist."""

CHOICE = re.compile(r"\[([^][|]*\|[^][]*)\]")
BLANK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Section:
    """Subjects and sentences on one topic."""

    subjects: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)


@cache
def sections(language: str) -> Mapping[str, Section]:
    """Return the sections of a language, by topic."""
    found: dict[str, Section] = {}
    for line in (FOLDER / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            section = found[line[3:]] = Section()
        elif line.startswith("> "):
            section.subjects.append(line[2:])
        elif line:
            section.sentences.append(line)
    return found


def fill_phrase(draw: Draw, phrase: str, words: Mapping[str, Callable[[], str]]) -> str:
    """Return a phrase with its alternatives chosen and its blanks filled in.

    >>> fill_phrase(Draw(0), "[Hi|Hi], {who}!", {"who": lambda: "Ann"})
    'Hi, Ann!'
    """
    chosen = CHOICE.sub(lambda found: draw.choice(found[1].split("|")), phrase)
    return BLANK.sub(lambda found: words[found[1]](), chosen)


def common_blanks(draw: Draw) -> dict[str, Callable[[], str]]:
    """Return the functions that fill in the blanks common to all messages."""
    return {
        "number": lambda: str(draw.randint(2, 99)),
        "code": lambda: str(draw.randint(1000, 99999)),
        "percent": lambda: str(5 * draw.randint(2, 19)),
        "price": lambda: draw.choice(PRICES).format(draw.randint(5, 990)),
        "product": lambda: draw.choice(PRODUCTS),
    }


Blanks = Mapping[str, Callable[[], str]]
UNSPACED_LANGUAGES = ("chinese", "japanese")
WIDTH = 72
ENCODINGS = ("8bit", "quoted-printable", "base64")


def compose(draw: Draw, language: str, label: str, topic: str, words: Blanks, n: int) -> tuple[str, list[str]]:
    """Compose a subject and paragraphs: greeting, sentences, farewell (the formal ones, which are last, at work)."""
    found = sections(language)
    section = found[f"{label} {topic}"]
    subject = fill_phrase(draw, draw.choice(section.subjects), words)
    gap = "" if language in UNSPACED_LANGUAGES else " "
    body = gap.join(fill_phrase(draw, sentence, words) for sentence in draw.sample(section.sentences, n))
    hello, bye = found[f"{label} hello"].sentences, found[f"{label} bye"].sentences
    if topic == "work":
        hello, bye = hello[-1:], bye[-1:]
    return subject, [fill_phrase(draw, draw.choice(hello), words), body, fill_phrase(draw, draw.choice(bye), words)]


def wrap_paragraphs(language: str, paragraphs: Sequence[str]) -> str:
    """Join paragraphs by empty lines; lines of languages with spaces are wrapped."""
    whole = language in UNSPACED_LANGUAGES
    return "\n\n".join(text if whole else _wrap(text) for text in paragraphs) + "\n"


def _wrap(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def quote_lines(text: str) -> str:
    """Mark lines as quoted from another message."""
    return "".join(f"> {line}\n" if line else ">\n" for line in text.splitlines())


def charset_for(draw: Draw, language: str, *texts: str) -> str:
    """Return a common charset of the language, or UTF-8 if it lacks some of the characters."""
    charset = draw.choice(CHARSETS[language])
    try:
        "".join(texts).encode(charset)
    except UnicodeEncodeError:
        return "utf-8"
    return charset


def encoding_for(draw: Draw, charset: str) -> str:
    """Return a transfer encoding; iso-2022-jp has seven bits already."""
    encoding = draw.choice(ENCODINGS)
    return "8bit" if charset == "iso-2022-jp" and encoding == "quoted-printable" else encoding
