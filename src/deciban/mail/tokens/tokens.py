"""Tokens: what a filter weighs of a message, each saying where it stood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from deciban.mail.message.links import link_tokens, parted_from_links
from deciban.mail.message.message import Message, Part
from deciban.mail.message.parts import Kind
from deciban.mail.tokens.header_tokenizers import short
from deciban.mail.tokens.header_tokens import header_tokens
from deciban.mail.tokens.token_options import USUAL, TokenOptions
from deciban.mail.tokens.word_tokens import (
    LONGEST_TOKEN,
    UNSPACED,
    Cleaner,
    amounts,
    cleaner,
    neighbours,
    split_words,
    unspaced_pairs,
    written_words,
)

__all__ = [
    "MOST_TOKENS",
    "USUAL",
    "Taken",
    "TokenOptions",
    "collect_tokens",
    "extract_tokens",
    "list_omissions",
    "word_cleaner",
]

MOST_TOKENS = 20_000
"""Of one message; the rest is left out."""
LONGEST_SHOUT = 20


class Taken(NamedTuple):
    """What stands in a message: tokens, and words of its texts, which are yet to be cleaned; both may come again."""

    tokens: list[str]
    words: list[bytes]


def extract_tokens(message: Message, reading: TokenOptions = USUAL) -> list[str]:
    r"""The distinct tokens of a message, those of texts last, without spaces, each at most 60 characters.

    >>> from deciban.mail.message.message import read_message
    >>> raw = b"Subject: FREE\nFrom: a@b.example\n\nbuy at http://c.example/\n"
    >>> extract_tokens(read_message(raw), TokenOptions(names=False))
    ['subject:free', 'subject:FREE', 'from:addr:a@b.example', 'from:b.example', 'from:example', 'from:nameless',
     'type:text/plain', 'url:c.example', 'url:example', 'buy', 'at']
    """
    tokens, words = collect_tokens(message, reading)
    found = dict.fromkeys(tokens)
    found.update(dict.fromkeys(map(word_cleaner(reading).__getitem__, dict.fromkeys(words))))
    found.pop("", None)
    return list(found) if len(found) <= MOST_TOKENS else list(found)[:MOST_TOKENS]


def collect_tokens(message: Message, reading: TokenOptions) -> Taken:
    """All that is taken of a message."""
    taken = Taken(header_tokens(message.headers, reading), [])
    for part in message.parts:
        taken.tokens.extend(part_tokens(part, reading))
        if part.kind == "html":
            _take_page(part, reading, taken.tokens)
        if part.kind != "attachment":
            _take_text(part.text, reading, taken)
    if reading.structure:
        parts = message.parts
        taken.tokens.extend(shape_tokens([part.kind for part in parts], [part.text for part in parts]))
    return taken


def word_cleaner(reading: TokenOptions) -> Cleaner:
    """What cleans words in a way of reading."""
    return cleaner(reading.shortest, reading.longest, reading.skips)


def list_omissions(message: Message, tokens: list[str]) -> tuple[str, ...]:
    """What bounds left out of a message and of its tokens, in words."""
    return (*message.cut, f"tokens after the first {MOST_TOKENS}") if len(tokens) >= MOST_TOKENS else message.cut


def part_tokens(part: Part, reading: TokenOptions) -> list[str]:
    """What a part is, and is called."""
    tokens = []
    if reading.structure:
        tokens.append(short(f"type:{part.type}"))
        if part.charset:
            tokens.append(short(f"charset:{part.charset}"))
        if part.encoding:
            tokens.append(short(f"encoding:{part.encoding}"))
    if reading.attachments and (part.name or part.kind == "attachment"):
        tokens += _attachment_tokens(part, word_cleaner(reading))
    return tokens


def _attachment_tokens(part: Part, clean: Cleaner) -> list[str]:
    stem, dot, extension = part.name[:200].lower().rpartition(".")
    tokens = [f"attachment:{part.type}", f"attachment:size:{part.size.bit_length()}"]
    if dot:
        tokens.append(f"attachment:.{extension}")
    words = clean.all(split_words(stem or part.name[:200]))
    tokens += [f"attachment:name:{word}" for word in words[:10]]
    return [short(token) for token in tokens]


def _take_page(part: Part, reading: TokenOptions, tokens: list[str]) -> None:
    if reading.html:
        tokens += [f"html:{mark}"[:LONGEST_TOKEN] for mark in part.tags]
    if reading.urls:
        for link in part.links:
            tokens += link_tokens(link, reading.url_words)
    if reading.hidden and part.hidden:
        tokens += [f"hidden:{word}"[:LONGEST_TOKEN] for word in word_cleaner(reading).all(split_words(part.hidden))]


def _take_text(text: str, reading: TokenOptions, taken: Taken) -> None:
    tokens = taken.tokens
    text = without_signs(text, reading, tokens)
    if not reading.body:
        return
    if reading.body_case:
        shouted = [word for word in written_words(text) if 2 < len(word) <= LONGEST_SHOUT and word.isupper()]
        tokens += [f"caps:{word.lower()}"[:LONGEST_TOKEN] for word in shouted]
    words = split_words(text)
    taken.words.extend(words)
    if reading.pairs:
        tokens += neighbours(word_cleaner(reading).all(words))


def without_signs(text: str, reading: TokenOptions, tokens: list[str]) -> str:
    """A text of which only words are left; what it had besides, links, amounts and unspaced scripts, is added."""
    text, links = parted_from_links(text)
    if links and reading.urls:
        for link in links:
            tokens += link_tokens(link, reading.url_words)
    if reading.body and reading.amounts:
        tokens += amounts(text)
    if reading.body and not text.isascii() and UNSPACED.search(text):
        tokens += unspaced_pairs(text)
        text = UNSPACED.sub(" ", text)
    return text


def shape_tokens(kinds: Sequence[Kind], texts: Sequence[str]) -> list[str]:
    """What kinds of parts there are together.

    >>> shape_tokens(["html"], [" "])
    ['shape:html-only', 'shape:no-text']
    """
    tokens = ["shape:html-only"] if set(kinds) == {"html"} else []
    if "html" in kinds and not any(text.strip() for text in texts):
        tokens.append("shape:no-text")
    return tokens if kinds else ["shape:empty"]
