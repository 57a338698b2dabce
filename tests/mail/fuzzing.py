"""Mutated messages, and checks of how they are read; `tests/fuzz/messages.py` tries thousands of them."""

from __future__ import annotations

import random
import tarfile
from array import array
from typing import NamedTuple

from benchmarks import data

from deciban.mail.bulk.reader_processes import read_chunk
from deciban.mail.message.message import compute_digest, read_message
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
    """The messages to mutate: real ones if the data folder has any, and always our own."""
    own = [*made_up.BROKEN.values(), *(made_up.plain(name).as_bytes() for name in made_up.TEXTS)]
    own += [made_up.rich().as_bytes(), made_up.forwarded().as_bytes()]
    try:
        archive = data.find_file("spamassassin.tar.gz")
    except data.DataMissingError:
        return own
    with tarfile.open(archive) as members:
        files = [member for member in members if member.isfile()][:: 6047 // MOST_REAL]
        return own + [members.extractfile(member).read() for member in files]  # type: ignore[union-attr]


def mutate(raw: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Apply one to eight random mutations to a message."""
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
    """The content of a message: its sorted tokens, its digest, and what limits omitted."""

    tokens: list[str]
    digest: bytes
    cut: tuple[str, ...]


def read_in_bulk(raw: bytes) -> MessageContent:
    """The content of a message by the reader of many messages, with the default options."""
    found = read_chunk([raw], DEFAULT_OPTIONS, digests=True)
    words = found.words.split("\n")
    tokens = sorted(words[i] for i in array("I", found.indices))
    assert array("I", found.sizes).tolist() == [len(tokens)]
    return MessageContent(tokens, found.digests[0], found.omissions.get(0, ()))


def read_by_definition(raw: bytes) -> MessageContent:
    """The content of a message by definition, with the default options."""
    message = read_message(raw)
    tokens = extract_tokens(message, DEFAULT_OPTIONS)
    return MessageContent(sorted(tokens), compute_digest(raw), list_omissions(message, tokens))


def difference(one: MessageContent, other: MessageContent) -> str:
    """Describe the difference of two contents of a message; empty if they are equal."""
    if one == other:
        return ""
    lacks = sorted(set(one.tokens) - set(other.tokens))[:5]
    has = sorted(set(other.tokens) - set(one.tokens))[:5]
    digests = "" if one.digest == other.digest else ", another digest"
    twice = "" if len(set(other.tokens)) == len(other.tokens) else ", tokens that come twice"
    return f"lacks {lacks}, has {has}{digests}{twice}, cut {one.cut} and {other.cut}"


def find_fault(raw: bytes) -> str:
    """Describe what is wrong with how a message is read; empty if nothing is."""
    try:
        tokens = extract_tokens(read_message(raw), ALL)
        defined = read_by_definition(raw)
        "\n".join(tokens).encode()
        found = read_in_bulk(raw)
    except Exception as error:  # any error is reported with the message that caused it
        return repr(error)
    if not all(len(token) <= 60 and token.split() == [token] for token in [*tokens, *found.tokens]):
        return "a token that is empty, too long, or has white space"
    return f"the reader of many messages {trouble}" if (trouble := difference(defined, found)) else ""
