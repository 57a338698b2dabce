"""What is taken of each header: a small function for each kind, from its value to tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from deciban.mail.message.links import MAIL, host_pieces
from deciban.mail.tokens.token_options import TokenOptions
from deciban.mail.tokens.word_tokens import (
    LONGEST_TOKEN,
    amounts,
    cleaner,
    neighbours,
    split_words,
    unspaced_pairs,
    written_words,
)

MOST_ADDRESSES = 10
MOST_WORDS = 40
LONGEST_ADDRESSES = 1000

MAILER_WORD = re.compile(r"[a-z][\w-]*|\d+(?:\.\d+)*")
CAPITALS = re.compile("[A-Z]{3}")
ZONE = re.compile(r"[+-]\d{4}\b")
RESULT = re.compile(r"\b(spf|dkim|dmarc|arc|dkim-adsp|iprev|compauth)=(\w{1,12})", re.IGNORECASE)
SIGNER = re.compile(r"(?:^|;)\s*d=([\w.-]{1,80})")

Taker = Callable[[str, str, TokenOptions], list[str]]


def short(token: str) -> str:
    """A token without spaces, and no longer than tokens are."""
    return "_".join(token.split())[:LONGEST_TOKEN]


def words_in(text: str, reading: TokenOptions) -> list[str]:
    """The first words of a text, cleaned."""
    return cleaner(reading.shortest, reading.longest, reading.skips).all(split_words(text)[:MOST_WORDS])


def nothing(name: str, value: str, reading: TokenOptions) -> list[str]:
    """The header is there; what it says is not read."""
    return []


def other(name: str, value: str, reading: TokenOptions) -> list[str]:
    """Words of a header that nobody knows."""
    return [f"{name}:{word}"[:LONGEST_TOKEN] for word in words_in(value, reading)]


def subject(name: str, value: str, reading: TokenOptions) -> list[str]:
    """Words of the subject, pairs of them, capitals, prices and shouts."""
    if not reading.subject:
        return []
    words = words_in(value, reading)
    tokens = [f"subject:{word}"[:LONGEST_TOKEN] for word in words]
    if reading.subject_pairs:
        tokens += [f"subject:{pair}"[:LONGEST_TOKEN] for pair in neighbours(words)]
    if reading.case and (not value.isascii() or CAPITALS.search(value)):
        capitals = [word for word in written_words(value)[:MOST_WORDS] if word.isupper() and 2 < len(word) <= 20]
        tokens += [f"subject:{word}" for word in capitals]
        if len(capitals) > 2 and value.isupper():
            tokens.append("subject:capitals")
    if not value.isascii():
        tokens += [f"subject:{pair}" for pair in unspaced_pairs(value)]
        tokens.append("subject:8bit")
    if reading.amounts:
        tokens += [f"subject:{amount}" for amount in amounts(value)]
        tokens += [f"subject:{sign}" for sign in "!?" if sign in value]
    return tokens


def sender(name: str, value: str, reading: TokenOptions) -> list[str]:
    """Who writes, or wants to be answered."""
    if not reading.sender:
        return []
    return _addresses(name, value[:LONGEST_ADDRESSES], reading.shortest, reading.longest)


def recipients(name: str, value: str, reading: TokenOptions) -> list[str]:
    """To whom, and to how many (as a power of two)."""
    if not reading.recipients:
        return []
    tokens = _addresses(name, value[:LONGEST_ADDRESSES], reading.shortest, reading.longest)
    return [*tokens, f"{name}:{min(value.count('@'), 100).bit_length()}"]


def _addresses(name: str, value: str, shortest: int, longest: int) -> list[str]:
    tokens = []
    for user, host in MAIL.findall(value)[:MOST_ADDRESSES]:
        tokens.append(f"{name}:addr:{user}@{host}".lower()[:LONGEST_TOKEN])
        tokens += [f"{name}:{piece}" for piece in host_pieces(host)]
    names = cleaner(shortest, longest, True).all(split_words(MAIL.sub(" ", value))[:MOST_WORDS])
    words = [word for word in names if word != "mailto"]
    tokens += [f"{name}:name:{word}"[:LONGEST_TOKEN] for word in words]
    if not words:
        tokens.append(f"{name}:nameless")
    return tokens


def message_id(name: str, value: str, reading: TokenOptions) -> list[str]:
    """The host that gave the message its number."""
    host = value.rpartition("@")[2].strip("<> ")[:100]
    return [f"message-id:{piece}" for piece in host_pieces(host)] if reading.sender else []


def mailer(name: str, value: str, reading: TokenOptions) -> list[str]:
    """The program that wrote the message, in words and as a whole."""
    if not reading.mailer:
        return []
    words = MAILER_WORD.findall(value[:200].lower())[:8]
    return [f"mailer:{word}"[:LONGEST_TOKEN] for word in [*words, "_".join(words)]]


def priority(name: str, value: str, reading: TokenOptions) -> list[str]:
    """How urgent it is said to be."""
    return [short(f"{name}:{value[:30].lower()}")] if reading.mailer else []


def kind(name: str, value: str, reading: TokenOptions) -> list[str]:
    """The type of the whole, or how it is encoded."""
    return [short(f"{name}:{value.partition(';')[0][:50].strip().lower()}")] if reading.structure else []


def date(name: str, value: str, reading: TokenOptions) -> list[str]:
    """The time zone: the day would only tell when the mail was gathered."""
    if not reading.date:
        return []
    zone = ZONE.search(value)
    return [f"date:{zone[0] if zone else 'no-zone'}"]


def mailing_list(name: str, value: str, reading: TokenOptions) -> list[str]:
    """Which list it came by."""
    return [f"list:{word}"[:LONGEST_TOKEN] for word in words_in(value[:300], reading)]


def results(name: str, value: str, reading: TokenOptions) -> list[str]:
    """What the receiving server found out about the sender."""
    return [f"auth:{way}={what}".lower() for way, what in RESULT.findall(value)] if reading.authentication else []


def spf(name: str, value: str, reading: TokenOptions) -> list[str]:
    """The same, as some servers write it."""
    return [short(f"auth:spf={value.partition(' ')[0].lower()}")] if reading.authentication else []


def signature(name: str, value: str, reading: TokenOptions) -> list[str]:
    """Which domain signed."""
    signer = SIGNER.search(value[:1000]) if reading.authentication else None
    return [f"dkim:{piece}" for piece in host_pieces(signer[1])] if signer else []


TAKERS: dict[str, Taker] = {
    "subject": subject,
    "from": sender,
    "sender": sender,
    "reply-to": sender,
    "to": recipients,
    "cc": recipients,
    "message-id": message_id,
    "x-mailer": mailer,
    "user-agent": mailer,
    "x-mimeole": mailer,
    "x-priority": priority,
    "x-msmail-priority": priority,
    "importance": priority,
    "content-type": kind,
    "content-transfer-encoding": kind,
    "date": date,
    "authentication-results": results,
    "received-spf": spf,
    "dkim-signature": signature,
}
