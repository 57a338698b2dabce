"""Letters in words: a greeting, some sentences, a farewell, and lines of a width that people read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill

from deciban.cli.examples.mailbox.draw import Draw
from deciban.cli.examples.mailbox.texts import CHARSETS, said, sections

Words = Mapping[str, Callable[[], str]]
WITHOUT_BLANKS = ("chinese", "japanese")
WIDTH = 72
WAYS = ("8bit", "quoted-printable", "base64")


def composed(draw: Draw, language: str, label: str, occasion: str, words: Words, n: int) -> tuple[str, list[str]]:
    """A subject, and the paragraphs: greeting, what there is to say, farewell; polite ones, the last, at work."""
    found = sections(language)
    section = found[f"{label} {occasion}"]
    subject = said(draw, draw.one_of(section.subjects), words)
    gap = "" if language in WITHOUT_BLANKS else " "
    body = gap.join(said(draw, sentence, words) for sentence in draw.some(section.sentences, n))
    hello, bye = found[f"{label} hello"].sentences, found[f"{label} bye"].sentences
    if occasion == "work":
        hello, bye = hello[-1:], bye[-1:]
    return subject, [said(draw, draw.one_of(hello), words), body, said(draw, draw.one_of(bye), words)]


def in_lines(language: str, paragraphs: Sequence[str]) -> str:
    """Paragraphs with blank lines between; languages that have blanks are broken at them."""
    whole = language in WITHOUT_BLANKS
    return "\n\n".join(text if whole else _filled(text) for text in paragraphs) + "\n"


def _filled(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def quoted(text: str) -> str:
    """Marked as somebody else's words."""
    return "".join(f"> {line}\n" if line else ">\n" for line in text.splitlines())


def charset_for(draw: Draw, language: str, *texts: str) -> str:
    """One that is usual for the language, if it has all the letters."""
    charset = draw.one_of(CHARSETS[language])
    try:
        "".join(texts).encode(charset)
    except UnicodeEncodeError:
        return "utf-8"
    return charset


def way_for(draw: Draw, charset: str) -> str:
    """How it travels; iso-2022-jp has seven bits as it is."""
    way = draw.one_of(WAYS)
    return "8bit" if charset == "iso-2022-jp" and way == "quoted-printable" else way
