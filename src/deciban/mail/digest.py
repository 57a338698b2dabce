"""Digests: by what a message is known again, wherever it is kept and whoever passed it on."""

from __future__ import annotations

import re
from hashlib import blake2b

DIGEST_BYTES = 16
LONGEST_HEAD = 1 << 20
"""Headers are looked for in so many bytes; what follows is taken as it stands."""

CHANGING = {
    "what a mail store keeps in the message": "status x-status x-keywords x-uid x-uidl x-imap x-imapbase content-length "
    "lines x-mozilla-status x-mozilla-status2 x-mozilla-keys x-evolution x-evolution-source x-gmail-labels x-gm-thrid "
    "x-gm-msgid x-label x-folder x-mew x-pmflags",
    "what the last machines on the way write": "received x-received delivered-to x-delivered-to x-original-to return-path "
    "envelope-to x-envelope-to x-envelope-from delivery-date x-originalarrivaltime authentication-results "
    "arc-authentication-results arc-seal arc-message-signature received-spf x-ms-exchange-organization-scl "
    "x-fetchmail-warning",
    "what filters write": "x-deciban[^:\\n]* x-spam[^:\\n]* x-bogosity x-rspamd[^:\\n]* x-dspam[^:\\n]* x-crm114[^:\\n]* "
    "x-virus[^:\\n]* x-amavis[^:\\n]* x-sieve x-spambayes[^:\\n]* x-popfile[^:\\n]* x-text-classification "
    "x-proofpoint[^:\\n]* x-ironport[^:\\n]* x-mailscanner[^:\\n]*",
}
"""Headers that do not count, and why: a message learned before delivery is the same after it."""

LEFT_OUT = re.compile(
    rb"^(?:%s)[ \t]*+:.*+(?:\n[ \t].*+)*+(?:\n|\Z)" % "|".join(" ".join(CHANGING.values()).split()).encode(),
    re.MULTILINE | re.IGNORECASE,
)
QUOTED_FROM = re.compile(rb"^>++From ", re.MULTILINE)
ENVELOPE = re.compile(rb"\s*+(?:>?From [^\n]*+\n)?+")


def in_lines(raw: bytes) -> bytes:
    """The same bytes with every end of a line written as one line feed."""
    if b"\r" not in raw:
        return raw
    if b"\n" not in raw:
        return raw.replace(b"\r", b"\n")
    return raw.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b" ")


def digest_of(raw: bytes) -> bytes:
    r"""16 bytes that tell a message from all others, whatever stores and filters did to it.

    >>> digest_of(b"Subject: Hi\n\nYou") == digest_of(b"From me\r\nStatus: RO\r\nSubject: Hi\r\n\r\nYou\r\n\r\n")
    True
    """
    raw = in_lines(raw)
    start = ENVELOPE.match(raw)
    raw = raw[start.end() if start else 0 :].rstrip()
    end = raw.find(b"\n\n", 0, LONGEST_HEAD)
    end = end + 1 if end >= 0 else min(len(raw), LONGEST_HEAD)
    sum_ = blake2b(LEFT_OUT.sub(b"", raw[:end]).strip(), digest_size=DIGEST_BYTES)
    body = (
        memoryview(raw)[end:] if b"\n>" not in raw or b">From " not in raw else QUOTED_FROM.sub(b"From ", raw[end:])
    )
    sum_.update(body)
    return sum_.digest()
