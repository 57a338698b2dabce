"""Tokens of headers: who writes to whom, by which machines and programs, about what."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from deciban.mail.digest import CHANGING
from deciban.mail.links import IPV4, MAIL, host_pieces
from deciban.mail.reading import Reading
from deciban.mail.words import LONGEST_TOKEN, amounts, cleaner, neighbours, split_words, unspaced_pairs

MOST_ADDRESSES = 10
MOST_HOPS = 20
MOST_WORDS = 40
MOST_NAMES = 1000
LONGEST_NAME = 40

READ_ANYHOW = ("received", "authentication-results", "received-spf")
COLLECTED = (
    "x-original-date url x-url x-apparently-to x-egroups-return x-delivery-agent x-return-path x-rcpt-to x-recipient "
    "apparently-to x-mail-from resent-date x-pop3-rcpt replied forwarded x-gnus-mail-source x-from-line "
    "x-mail-format-warning x-mime-autoconverted x-antiabuse"
)
"""Headers that say how or when the mail was gathered: they would tell collections apart, not spam from ham."""
NAMES = f"{' '.join(CHANGING.values())} {COLLECTED}".split()
LEFT_OUT = frozenset(name for name in NAMES if name[-1] != "*" and name not in READ_ANYHOW)
LEFT_OUT_STARTS = tuple(name[:-1] for name in NAMES if name[-1] == "*")
LISTS = re.compile(
    "list-.*|mailing-list|precedence|x-mailing-list|x-beenthere|x-mailman-version|x-loop|errors-to|x-list.*|mail-followup-to|"
    "x-unsubscription-info|x-ml-.*|feedback-id|x-campaign.*|x-precedence-ref|x-acceptable-languages"
)
LIST_VALUES = frozenset(
    ["list-id", "mailing-list", "precedence", "x-mailing-list", "x-beenthere", "x-loop", "errors-to"]
)
MAILER_WORD = re.compile(r"[a-z][\w-]*|\d+(?:\.\d+)*")
ZONE = re.compile(r"[+-]\d{4}\b")
HOST_NAME = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,20}(?![\w.-])")
ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
OWN_NETWORKS = ("127.", "10.", "192.168.", *(f"172.{n}." for n in range(16, 32)))
FETCHED = ("localhost", "fetchmail", "with imap", "with pop3", "[::1]")
RESULT = re.compile(r"\b(spf|dkim|dmarc|arc|dkim-adsp|iprev|compauth)=(\w{1,12})", re.IGNORECASE)
SIGNER = re.compile(r"(?:^|;)\s*d=([\w.-]{1,80})")

Found = dict[str, None]
Taker = Callable[[str, str, Reading, Found], None]


def header_tokens(headers: Sequence[tuple[str, str]], reading: Reading) -> Found:
    """The tokens of all headers, as the keys of a dict."""
    found: Found = {}
    hops: list[str] = []
    takers = _takers(reading)
    for name, value in headers:
        if name == "received":
            hops.append(value)
            continue
        taker = takers[name]
        if taker is None:
            continue
        if reading.names:
            found[f"header:{name}"] = None
        taker(name, value, reading, found)
    if reading.received and hops:
        _take_hops(hops, found)
    _take_what_is_missing(headers, reading, found)
    return found


class Takers(dict[str, "Taker | None"]):
    """For each name of a header what reads it; None for those that are left out."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(TAKERS)
        self.reading = reading

    def __missing__(self, name: str) -> Taker | None:
        if len(name) > LONGEST_NAME:
            return None
        if len(self) > MOST_NAMES:
            self.clear()
            self.update(TAKERS)
        self[name] = taker = self._taker(name)
        return taker

    def _taker(self, name: str) -> Taker | None:
        if name in LEFT_OUT or name.startswith(LEFT_OUT_STARTS):
            return None
        if LISTS.fullmatch(name):
            return (_take_list if name in LIST_VALUES else _take_nothing) if self.reading.lists else None
        return _take_other if self.reading.others else _take_nothing


@lru_cache(8)
def _takers(reading: Reading) -> Takers:
    return Takers(reading)


def short(token: str) -> str:
    """A token without spaces, and no longer than tokens are."""
    return "_".join(token.split())[:LONGEST_TOKEN]


def _words(text: str, reading: Reading) -> list[str]:
    return _clean(split_words(text)[:MOST_WORDS], reading)


def _clean(words: list[str], reading: Reading) -> list[str]:
    return cleaner(reading.shortest, reading.longest, reading.skips).all(words)


def _take_nothing(name: str, value: str, reading: Reading, found: Found) -> None:
    """The header is there; what it says is not read."""


def _take_other(name: str, value: str, reading: Reading, found: Found) -> None:
    found.update(dict.fromkeys([short(f"{name}:{word}") for word in _words(value, reading)]))


def _take_subject(name: str, value: str, reading: Reading, found: Found) -> None:
    if not reading.subject:
        return
    written = split_words(value)[:MOST_WORDS]
    words = _clean(written, reading)
    tokens = [f"subject:{word}" for word in words]
    if reading.subject_pairs:
        tokens += [f"subject:{pair}" for pair in neighbours(words)]
    if reading.case:
        capitals = [word for word in written if len(word) > 2 and word.isupper() and len(word) <= reading.longest]
        tokens += [f"subject:{word}" for word in capitals]
        if len(capitals) > 2 and value.isupper():
            tokens.append("subject:capitals")
    if not value.isascii():
        tokens += [f"subject:{pair}" for pair in unspaced_pairs(value)]
        tokens.append("subject:8bit")
    if reading.amounts:
        tokens += [f"subject:{amount}" for amount in amounts(value)]
        if "!" in value:
            tokens.append("subject:!")
        if "?" in value:
            tokens.append("subject:?")
    found.update(dict.fromkeys([short(token) for token in tokens]))


def _take_sender(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.sender:
        found.update(dict.fromkeys(_address_tokens(name, value[:1000], reading)))


def _take_recipients(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.recipients:
        found.update(dict.fromkeys(_address_tokens(name, value[:1000], reading)))
        found[f"{name}:{min(value.count('@'), 100).bit_length()}"] = None


def _address_tokens(name: str, value: str, reading: Reading) -> list[str]:
    tokens = []
    for user, host in MAIL.findall(value)[:MOST_ADDRESSES]:
        tokens.append(short(f"{name}:addr:{user}@{host}".lower()))
        tokens += [f"{name}:{piece}"[:LONGEST_TOKEN] for piece in host_pieces(host)]
    words = [word for word in _words(MAIL.sub(" ", value), reading) if word != "mailto"]
    tokens += [short(f"{name}:name:{word}") for word in words]
    if not words:
        tokens.append(f"{name}:nameless")
    return tokens


def _take_message_id(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.sender:
        host = value.rpartition("@")[2].strip("<> ")[:100]
        found.update(dict.fromkeys([f"message-id:{piece}"[:LONGEST_TOKEN] for piece in host_pieces(host)]))


def _take_mailer(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.mailer:
        words = MAILER_WORD.findall(value[:200].lower())[:8]
        found.update(dict.fromkeys([short(f"mailer:{word}") for word in words]))
        found[short(f"mailer:{'_'.join(words)}")] = None


def _take_priority(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.mailer:
        found[short(f"{name}:{value[:30].lower()}")] = None


def _take_type(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.structure:
        found[short(f"{name}:{value.partition(';')[0][:50].strip().lower()}")] = None


def _take_date(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.date:
        zone = ZONE.search(value)
        found[f"date:{zone[0] if zone else 'no-zone'}"] = None


def _take_list(name: str, value: str, reading: Reading, found: Found) -> None:
    found.update(dict.fromkeys([short(f"list:{word}") for word in _words(value[:300], reading)]))


def _take_results(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.authentication:
        found.update(dict.fromkeys([f"auth:{way}={result}".lower() for way, result in RESULT.findall(value)]))


def _take_spf(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.authentication:
        found[short(f"auth:spf={value.partition(' ')[0].lower()}")] = None


def _take_signature(name: str, value: str, reading: Reading, found: Found) -> None:
    if reading.authentication and (signer := SIGNER.search(value[:1000])):
        found.update(dict.fromkeys([f"dkim:{piece}"[:LONGEST_TOKEN] for piece in host_pieces(signer[1])]))


TAKERS: dict[str, Taker] = {
    "subject": _take_subject,
    "from": _take_sender,
    "sender": _take_sender,
    "reply-to": _take_sender,
    "to": _take_recipients,
    "cc": _take_recipients,
    "message-id": _take_message_id,
    "x-mailer": _take_mailer,
    "user-agent": _take_mailer,
    "x-mimeole": _take_mailer,
    "x-priority": _take_priority,
    "x-msmail-priority": _take_priority,
    "importance": _take_priority,
    "content-type": _take_type,
    "content-transfer-encoding": _take_type,
    "date": _take_date,
    "authentication-results": _take_results,
    "received-spf": _take_spf,
    "dkim-signature": _take_signature,
}


def _take_hops(hops: Sequence[str], found: Found) -> None:
    """Where the message came by; hops within the reader's own machines are the same for all mail and left out."""
    passed = [tokens for hop in hops[:MOST_HOPS] if (tokens := _hop_tokens(hop[:500]))]
    for tokens in passed:
        found.update(dict.fromkeys(tokens))
    found[f"received:hops:{len(passed)}"] = None


def _hop_tokens(hop: str) -> tuple[str, ...]:
    clause, _, after = hop.partition(" by ")
    if clause[:5].lower() != "from " or any(sign in (clause + after[:60]).lower() for sign in FETCHED):
        return ()
    return _clause_tokens(clause[5:])


@lru_cache(4096)
def _clause_tokens(clause: str) -> tuple[str, ...]:
    """What the receiving machine wrote of the sending one."""
    addresses = ADDRESS.findall(clause)[:3]
    if any(ip.startswith(OWN_NETWORKS) for ip in addresses):
        return ()
    tokens = ["received:" + piece for host in HOST_NAME.findall(clause)[:4] for piece in host_pieces(host)]
    tokens += ["received:" + piece for ip in addresses for piece in host_pieces(ip)]
    helo = clause.partition(" ")[0].strip("[]()")
    if IPV4.match(helo):
        tokens.append("received:helo:numeric")
    elif "." not in helo:
        tokens.append("received:helo:bare")
    if "unknown" in clause[:100]:
        tokens.append("received:unknown")
    return tuple(token[:LONGEST_TOKEN] for token in tokens)


def _take_what_is_missing(headers: Sequence[tuple[str, str]], reading: Reading, found: Found) -> None:
    """Headers that honest mail has, and whether answers would go elsewhere."""
    given = dict(reversed(headers))
    if reading.names:
        found.update(
            dict.fromkeys(
                [f"no:{name}" for name in ("from", "to", "subject", "date", "message-id") if name not in given]
            )
        )
    if reading.sender and "reply-to" in given:
        one, other = MAIL.search(given["reply-to"][:1000]), MAIL.search(given.get("from", "")[:1000])
        if one and other:
            same = (
                "same"
                if one[0].lower() == other[0].lower()
                else "host"
                if one[2].lower() == other[2].lower()
                else "other"
            )
            found[f"reply:{same}"] = None
