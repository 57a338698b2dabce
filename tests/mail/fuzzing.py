"""Mutated messages, and what is wrong with how one is read; `tests/fuzz/messages.py` tries them by the thousand."""

from __future__ import annotations

import os
import random
import tarfile
from array import array
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from deciban.mail.bulk.token_numbers import TokenNumberer
from deciban.mail.message.digest import compute_digest
from deciban.mail.message.message import read_message
from deciban.mail.store.stored_message import DIGEST_BYTES
from deciban.mail.tokens.tokens import DEFAULT_OPTIONS, TokenOptions, extract_tokens, list_omissions
from tests.mail import hostile, made_up

ALL = TokenOptions(pairs=True, others=True)
MOST_REAL = 1500
WORDS = [
    b"Content-Type: multipart/mixed; boundary=x\n\n--x\n", b"\n\n", b"\n--", b"charset=utf-16",
    b"charset=utf-7", b"charset=gb2312",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n",
    b"Content-Type: text/html\n",
    b"Content-Type: message/rfc822\n\n", b"=?utf-8?b?", b"?=", b"\0", b"\xff\xfe", b"\x1b$B", b"<style>",
    b"<!--", b"\r", b'"', b";",
    *hostile.REPEATED,
]  # fmt: skip


def seeds() -> list[bytes]:
    """Messages to begin with: real ones if there are any, and always our own."""
    own = [*made_up.BROKEN.values(), *(made_up.plain(name).as_bytes() for name in made_up.TEXTS)]
    own += [made_up.rich().as_bytes(), made_up.forwarded().as_bytes()]
    archive = Path(os.environ.get("DECIBAN_DATA", "")) / "spamassassin.tar.gz"
    if not archive.is_file():
        return own
    with tarfile.open(archive) as members:
        files = [member for member in members if member.isfile()][:: 6047 // MOST_REAL]
        return own + [members.extractfile(member).read() for member in files]  # type: ignore[union-attr]


def mutated(raw: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """A message with one to eight accidents."""
    for _ in range(chance.randint(1, 8)):
        at, size = chance.randint(0, len(raw)), int(2 ** chance.uniform(0, 10))
        way = chance.randrange(8)
        if way == 0:
            raw = raw[:at] + raw[at + size :]
        elif way == 1:
            raw = raw[:at] + raw[at : at + size] * chance.choice([2, 3, 50]) + raw[at + size :]
        elif way == 2:
            raw = raw[:at] + chance.randbytes(min(size, 200)) + raw[at:]
        elif way == 3:
            raw = raw[:at] + chance.choice(WORDS) * chance.choice([1, 1, 1, 2, 300]) + raw[at:]
        elif way == 4:
            other = chance.choice(others)
            there = chance.randint(0, len(other))
            raw = raw[:at] + other[there : there + 8 * size] + raw[at:]
        elif way == 5:
            raw = raw[:at]
        elif way == 6 and at < len(raw):
            raw = raw[:at] + bytes([raw[at] ^ 1 << chance.randrange(8)]) + raw[at + 1 :]
        else:
            raw = raw.replace(
                chance.choice([b"\n", b" ", b"=", b'"', b"<", b"text", b"html"]), chance.choice(WORDS), 20
            )
        raw = raw[: 1 << 20]
    return raw


class MessageContent(NamedTuple):
    """What a message holds: its tokens in the order of the alphabet, its digest, and what bounds left out."""

    tokens: list[str]
    digest: bytes
    cut: tuple[str, ...]


class NumberedTokens:
    """What a reader says of messages, replace_surrogates out."""

    def __init__(self, reader: TokenNumberer) -> None:
        self._reader = reader
        self._words: list[str] = []
        self.begun = 0
        """How often the reader gave numbers anew."""

    def of(self, raws: Iterable[bytes]) -> list[MessageContent]:
        """What messages hold that are read together."""
        fresh, new, digests, sizes, which, cut = self._reader.said(raws)
        if fresh:
            self._words.clear()
            self.begun += 1
        if new or fresh:
            self._words += new.split("\n")
        ends = [0]
        for size in array("I", sizes):
            ends.append(ends[-1] + size)
        numbers = array("I", which)
        assert len(numbers) == ends[-1]
        return [
            MessageContent(
                sorted(self._words[number] for number in numbers[begin:end]),
                digests[i * DIGEST_BYTES : (i + 1) * DIGEST_BYTES],
                cut.get(i, ()),
            )
            for i, (begin, end) in enumerate(pairwise(ends))
        ]


@cache
def shared_reader() -> NumberedTokens:
    """One reader for all messages, so that it has much to remember."""
    return NumberedTokens(TokenNumberer(DEFAULT_OPTIONS))


def read_by_definition(raw: bytes) -> MessageContent:
    """What a message holds by definition, in the usual way of reading."""
    message = read_message(raw)
    tokens = extract_tokens(message, DEFAULT_OPTIONS)
    return MessageContent(sorted(tokens), compute_digest(raw), list_omissions(message, tokens))


def difference(one: MessageContent, other: MessageContent) -> str:
    """What one reader finds in a message and another does not, if anything, in words."""
    if one == other:
        return ""
    lacks = sorted(set(one.tokens) - set(other.tokens))[:5]
    has = sorted(set(other.tokens) - set(one.tokens))[:5]
    digests = "" if one.digest == other.digest else ", another digest"
    twice = "" if len(set(other.tokens)) == len(other.tokens) else ", tokens that come twice"
    return f"lacks {lacks}, has {has}{digests}{twice}, cut {one.cut} and {other.cut}"


def find_fault(raw: bytes) -> str:
    """What is wrong with how a message is read; nothing, if all is well."""
    try:
        tokens = extract_tokens(read_message(raw), ALL)
        defined = read_by_definition(raw)
        "\n".join(tokens).encode()
        [found] = shared_reader().of([raw])
    except Exception as error:  # whatever it is, it is told with the message that brought it about
        return repr(error)
    if not all(len(token) <= 60 and token.split() == [token] for token in [*tokens, *found.tokens]):
        return "a token that is empty, too long, or has white space"
    return f"the reader that numbers tokens {trouble}" if (trouble := difference(defined, found)) else ""
