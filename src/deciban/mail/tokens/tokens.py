"""Tokens of a message: each names the place where it occurred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from deciban.mail.message.message import Kind, Message, Part
from deciban.mail.tokens.header_tokens import header_tokens, truncate
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.mail.tokens.word_tokens import (
    MAX_TOKEN_CHARACTERS,
    UNSPACED,
    WordCleaner,
    amounts,
    get_cleaner,
    join_pairs,
    link_tokens,
    split_links,
    split_words,
    unspaced_pairs,
)

__all__ = ["DEFAULT_OPTIONS", "MAX_TOKENS", "TokenOptions", "collect_tokens", "extract_tokens", "list_omissions"]

MAX_TOKENS = 20_000
"""Tokens of one message; the rest is omitted."""


class CollectedTokens(NamedTuple):
    """Tokens of a message, and words of its texts that are not cleaned yet; both may be repeated."""

    tokens: list[str]
    words: list[bytes]


def extract_tokens(message: Message, options: TokenOptions = DEFAULT_OPTIONS) -> list[str]:
    r"""Return the distinct tokens of a message, those of texts last, without spaces, each at most 60 characters.

    >>> from deciban.mail.message.message import read_message
    >>> raw = b"Subject: FREE\nFrom: a@b.example\n\nbuy at http://c.example/\n"
    >>> extract_tokens(read_message(raw), TokenOptions(names=False))
    ['subject:free', 'subject:FREE', 'from:addr:a@b.example', 'from:b.example', 'from:example', 'from:nameless',
     'type:text/plain', 'url:c.example', 'url:example', 'buy', 'at']
    """
    tokens, words = collect_tokens(message, options)
    found = dict.fromkeys(tokens)
    found.update(dict.fromkeys(map(word_cleaner(options).__getitem__, dict.fromkeys(words))))
    found.pop("", None)
    return list(found) if len(found) <= MAX_TOKENS else list(found)[:MAX_TOKENS]


def collect_tokens(message: Message, options: TokenOptions) -> CollectedTokens:
    """Collect the tokens and words of all headers and parts."""
    collected = CollectedTokens(header_tokens(message.headers, options), [])
    for part in message.parts:
        collected.tokens.extend(part_tokens(part, options))
        if part.kind != "attachment":
            _collect_text(part.text, options, collected)
    parts = message.parts
    collected.tokens.extend(shape_tokens([part.kind for part in parts], [part.text for part in parts]))
    return collected


def word_cleaner(options: TokenOptions) -> WordCleaner:
    """Return the word cleaner of these options."""
    return get_cleaner(options.shortest, options.longest)


def list_omissions(message: Message, tokens: list[str]) -> tuple[str, ...]:
    """List what limits omitted of a message and of its tokens, in words."""
    return (*message.cut, f"tokens after the first {MAX_TOKENS}") if len(tokens) >= MAX_TOKENS else message.cut


def part_tokens(part: Part, options: TokenOptions) -> list[str]:
    """Return the tokens of a part other than its words: type, attached file, HTML tags, links and hidden words."""
    tokens = [truncate(f"type:{part.type}")]
    if part.charset:
        tokens.append(truncate(f"charset:{part.charset}"))
    if part.encoding:
        tokens.append(truncate(f"encoding:{part.encoding}"))
    if part.name or part.kind == "attachment":
        tokens += _attachment_tokens(part, word_cleaner(options))
    if part.kind == "html":
        tokens += [f"html:{mark}"[:MAX_TOKEN_CHARACTERS] for mark in part.tags]
        for link in part.links:
            tokens += link_tokens(link)
        if part.hidden:
            words = word_cleaner(options).clean_all(split_words(part.hidden))
            tokens += [f"hidden:{word}"[:MAX_TOKEN_CHARACTERS] for word in words]
    return tokens


def _attachment_tokens(part: Part, cleaner: WordCleaner) -> list[str]:
    stem, dot, extension = part.name[:200].lower().rpartition(".")
    tokens = [f"attachment:{part.type}", f"attachment:size:{part.size.bit_length()}"]
    if dot:
        tokens.append(f"attachment:.{extension}")
    words = cleaner.clean_all(split_words(stem or part.name[:200]))
    tokens += [f"attachment:name:{word}" for word in words[:10]]
    return [truncate(token) for token in tokens]


def _collect_text(text: str, options: TokenOptions, collected: CollectedTokens) -> None:
    """Collect links, amounts, characters of unspaced scripts and, from the rest of the text, words."""
    tokens = collected.tokens
    text, links = split_links(text)
    for link in links:
        tokens += link_tokens(link)
    if not options.body:
        return
    if options.amounts:
        tokens += amounts(text)
    if not text.isascii() and UNSPACED.search(text):
        tokens += unspaced_pairs(text)
        text = UNSPACED.sub(" ", text)
    words = split_words(text)
    collected.words.extend(words)
    if options.pairs:
        tokens += join_pairs(word_cleaner(options).clean_all(words))


def shape_tokens(kinds: Sequence[Kind], texts: Sequence[str]) -> list[str]:
    """Return which kinds of parts a message combines.

    >>> shape_tokens(["html"], [" "])
    ['shape:html-only', 'shape:no-text']
    """
    tokens = ["shape:html-only"] if set(kinds) == {"html"} else []
    if "html" in kinds and not any(text.strip() for text in texts):
        tokens.append("shape:no-text")
    return tokens if kinds else ["shape:empty"]
