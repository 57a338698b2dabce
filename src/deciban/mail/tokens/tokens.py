"""Tokens of a message; all but the words of its texts have a prefix that names their source."""

from __future__ import annotations

from deciban.mail.message.message import Message, Part
from deciban.mail.tokens import word_tokens
from deciban.mail.tokens.header_tokens import tokenize_headers, truncate
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.mail.tokens.word_tokens import MAX_TOKEN_CHARACTERS, UNSPACED, get_cleaner, split_words

__all__ = ["DEFAULT_OPTIONS", "MAX_TOKENS", "TokenOptions", "extract_tokens", "list_omissions"]

MAX_TOKENS = 20_000
"""The largest number of tokens of a message; those beyond are omitted."""


def extract_tokens(message: Message, options: TokenOptions = DEFAULT_OPTIONS) -> list[str]:
    r"""Return the distinct tokens of a message, the words of its texts last.

    Before them are those of headers, parts, links, amounts, pairs and structure. No token has spaces or more than 60
    characters; at most `MAX_TOKENS` are returned.

    >>> from deciban.mail.message.message import read_message
    >>> raw = b"Subject: FREE\nFrom: a@b.example\n\nbuy at http://c.example/\n"
    >>> extract_tokens(read_message(raw), TokenOptions(names=False))
    ['subject:free', 'subject:FREE', 'from:addr:a@b.example', 'from:b.example', 'from:example', 'from:nameless',
     'type:text/plain', 'url:c.example', 'url:example', 'buy', 'at']
    """
    tokens, words = tokenize_headers(message.headers, options), list[bytes]()
    for part in message.parts:
        tokens += _tokenize_part(part, options)
        if part.kind != "attachment":
            words += _append_text_tokens(part.text, options, tokens)
    tokens += _tokenize_structure(message.parts)
    found = dict.fromkeys(tokens)
    cleaner = get_cleaner(options.shortest, options.longest)
    found.update(dict.fromkeys(map(cleaner.__getitem__, dict.fromkeys(words))))
    found.pop("", None)
    return list(found) if len(found) <= MAX_TOKENS else list(found)[:MAX_TOKENS]


def list_omissions(message: Message, tokens: list[str]) -> tuple[str, ...]:
    """List in words what limits omitted of a message and of its tokens; exactly `MAX_TOKENS` tokens count as cut."""
    return (*message.cut, f"tokens after the first {MAX_TOKENS}") if len(tokens) >= MAX_TOKENS else message.cut


def _tokenize_part(part: Part, options: TokenOptions) -> list[str]:
    """Return the tokens of a part other than its words: type, attached file, HTML tags, links and hidden words."""
    tokens = [truncate(f"type:{part.type}")]
    if part.charset:
        tokens.append(truncate(f"charset:{part.charset}"))
    if part.encoding:
        tokens.append(truncate(f"encoding:{part.encoding}"))
    if part.name or part.kind == "attachment":
        tokens += _tokenize_attachment(part, options)
    if part.kind == "html":
        tokens += [f"html:{mark}"[:MAX_TOKEN_CHARACTERS] for mark in part.tags]
        for link in part.links:
            tokens += word_tokens.tokenize_link(link)
        if part.hidden:
            words = get_cleaner(options.shortest, options.longest).clean_all(split_words(part.hidden))
            tokens += [f"hidden:{word}"[:MAX_TOKEN_CHARACTERS] for word in words]
    return tokens


def _tokenize_attachment(part: Part, options: TokenOptions) -> list[str]:
    stem, dot, extension = part.name[:200].lower().rpartition(".")
    tokens = [f"attachment:{part.type}", f"attachment:size:{part.size.bit_length()}"]
    if dot:
        tokens.append(f"attachment:.{extension}")
    words = get_cleaner(options.shortest, options.longest).clean_all(split_words(stem or part.name[:200]))
    tokens += [f"attachment:name:{word}" for word in words[:10]]
    return [truncate(token) for token in tokens]


def _append_text_tokens(text: str, options: TokenOptions, tokens: list[str]) -> list[bytes]:
    """Append links, amounts, character pairs of unspaced scripts and word pairs to `tokens`; return the words.

    The words are not cleaned yet.
    """
    text, links = word_tokens.split_links(text)
    for link in links:
        tokens += word_tokens.tokenize_link(link)
    if not options.body:
        return []
    if options.amounts:
        tokens += word_tokens.find_amounts(text)
    if not text.isascii() and UNSPACED.search(text):
        tokens += word_tokens.find_character_pairs(text)
        text = UNSPACED.sub(" ", text)
    words = split_words(text)
    if options.pairs:
        tokens += word_tokens.join_pairs(get_cleaner(options.shortest, options.longest).clean_all(words))
    return words


def _tokenize_structure(parts: tuple[Part, ...]) -> list[str]:
    """Return `shape:` tokens: HTML only, HTML without text, or no parts."""
    kinds = {part.kind for part in parts}
    tokens = ["shape:html-only"] if kinds == {"html"} else []
    if "html" in kinds and not any(part.text.strip() for part in parts):
        tokens.append("shape:no-text")
    return tokens if kinds else ["shape:empty"]
