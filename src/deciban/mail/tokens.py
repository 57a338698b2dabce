"""Tokens: what a filter weighs of a message, each saying where it stood."""

from __future__ import annotations

from deciban.mail.header_tokens import Found, header_tokens, short
from deciban.mail.links import link_tokens, parted_from_links
from deciban.mail.message import Message, Part
from deciban.mail.reading import USUAL, Reading
from deciban.mail.words import UNSPACED, Cleaner, amounts, cleaner, neighbours, split_words, unspaced_pairs

__all__ = ["MOST_TOKENS", "USUAL", "Reading", "said_cut", "tokens_of"]

MOST_TOKENS = 20_000
"""Of one message; the rest is left out."""
LONGEST_SHOUT = 20


def tokens_of(message: Message, reading: Reading = USUAL) -> list[str]:
    r"""The distinct tokens of a message in order of first appearance, without spaces, each at most 60 characters.

    >>> from deciban.mail.message import read_message
    >>> tokens_of(read_message(b"Subject: FREE\nFrom: a@b.example\n\nbuy at http://c.example/\n"), Reading(names=False))
    ['subject:free', 'subject:FREE', 'from:addr:a@b.example', 'from:b.example', 'from:example', 'from:nameless',
     'type:text/plain', 'url:c.example', 'url:example', 'buy', 'at']
    """
    found = header_tokens(message.headers, reading)
    clean = cleaner(reading.shortest, reading.longest, reading.skips)
    for part in message.parts:
        if len(found) >= MOST_TOKENS:
            break
        _take_part(part, reading, clean, found)
    if reading.structure:
        _take_shape(message, found)
    found.pop("", None)
    tokens = list(found)
    return tokens if len(tokens) <= MOST_TOKENS else tokens[:MOST_TOKENS]


def said_cut(message: Message, tokens: list[str]) -> tuple[str, ...]:
    """What bounds left out of a message and of its tokens, in words."""
    return (*message.cut, f"tokens after the first {MOST_TOKENS}") if len(tokens) >= MOST_TOKENS else message.cut


def _take_part(part: Part, reading: Reading, clean: Cleaner, found: Found) -> None:
    if reading.structure:
        found[short(f"type:{part.type}")] = None
        if part.charset:
            found[short(f"charset:{part.charset}")] = None
        if part.encoding:
            found[short(f"encoding:{part.encoding}")] = None
    if part.kind == "attachment" or part.name:
        if reading.attachments:
            _take_attachment(part, clean, found)
        if part.kind == "attachment":
            return
    if part.kind == "html":
        _take_page(part, reading, clean, found)
    _take_text(part.text, reading, clean, found)


def _take_attachment(part: Part, clean: Cleaner, found: Found) -> None:
    stem, dot, extension = part.name[:200].lower().rpartition(".")
    tokens = [f"attachment:{part.type}", f"attachment:size:{part.size.bit_length()}"]
    if dot:
        tokens.append(f"attachment:.{extension}")
    words = clean.all(split_words(stem or part.name[:200]))
    tokens += [f"attachment:name:{word}" for word in words[:10]]
    found.update(dict.fromkeys([short(token) for token in tokens]))


def _take_page(part: Part, reading: Reading, clean: Cleaner, found: Found) -> None:
    if reading.html:
        found.update(dict.fromkeys([short(f"html:{mark}") for mark in part.tags]))
    if reading.urls:
        for link in part.links:
            found.update(link_tokens(link, reading.url_words))
    if reading.hidden and part.hidden:
        words = clean.all(dict.fromkeys(split_words(part.hidden)))
        found.update(dict.fromkeys([short(f"hidden:{word}") for word in words]))


def _take_text(text: str, reading: Reading, clean: Cleaner, found: Found) -> None:
    text, links = parted_from_links(text)
    if links and reading.urls:
        for link in links:
            found.update(link_tokens(link, reading.url_words))
    if not reading.body:
        return
    if reading.amounts:
        found.update(dict.fromkeys(amounts(text)))
    if not text.isascii() and UNSPACED.search(text):
        found.update(dict.fromkeys(unspaced_pairs(text)))
        text = UNSPACED.sub(" ", text)
    if reading.body_case:
        shouted = [
            word for word in dict.fromkeys(split_words(text)) if 2 < len(word) <= LONGEST_SHOUT and word.isupper()
        ]
        found.update(dict.fromkeys([f"caps:{word.lower()}" for word in shouted]))
    written = split_words(text.lower())
    if reading.pairs:
        words = clean.all(written)
        found.update(dict.fromkeys(words))
        found.update(dict.fromkeys(neighbours(words)))
    else:
        found.update(dict.fromkeys(map(clean.__getitem__, dict.fromkeys(written))))


def _take_shape(message: Message, found: Found) -> None:
    """What kinds of parts there are together."""
    kinds = {part.kind for part in message.parts}
    if kinds == {"html"}:
        found["shape:html-only"] = None
    if "html" in kinds and not any(part.text.strip() for part in message.parts):
        found["shape:no-text"] = None
    if not message.parts:
        found["shape:empty"] = None
