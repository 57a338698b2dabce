"""Digests: by what a message is known again, wherever it is kept and whoever passed it on."""

from __future__ import annotations

import re
from hashlib import blake2b

DIGEST_BYTES = 16
LONGEST_NAME = 60
MOST_NAMES = 2000
LONGEST_HEAD = 1 << 20
"""Headers are looked for in so many bytes; what follows is taken as it stands."""
LONGEST_BODY = 1 << 22
"""Bytes of a body that count. Of a message 16 MiB are read, which hold these in whatever way its lines end."""

VOLATILE_HEADERS = {
    "what a mail store keeps in the message": "status x-status x-keywords x-uid x-uidl x-imap x-imapbase lines "
    "content-length x-mozilla-* x-evolution* x-gmail-* x-gm-* x-label x-folder x-mew* x-pmflags",
    "what the last machines on the way write": "received x-received delivered-to x-delivered-to x-original-to "
    "return-path envelope-to x-envelope-to x-envelope-from delivery-date x-originalarrivaltime "
    "authentication-results arc-* received-spf x-ms-exchange-* x-fetchmail-warning",
    "what filters write": "x-deciban* x-spam* x-bogosity x-rspamd* x-dspam* x-crm114* x-virus* x-amavis* x-sieve "
    "x-spambayes* x-popfile* x-text-classification x-proofpoint* x-ironport* x-mailscanner*",
}
"""Headers that do not count, and why: a message learned before delivery is the same after it. A * is any end."""

NAMES = " ".join(VOLATILE_HEADERS.values()).split()
LEFT_OUT = frozenset(name.encode() for name in NAMES if name[-1] != "*")
LEFT_OUT_STARTS = tuple(name[:-1].encode() for name in NAMES if name[-1] == "*")
QUOTED_FROM = re.compile(rb"\n>++From ")
MAX_UNQUOTED_LINES = 1 << 16
"""Lines ">From " whose signs do not count."""
CR_TO_LF, CR_TO_SPACE = bytes.maketrans(b"\r", b"\n"), bytes.maketrans(b"\r", b" ")
ENVELOPE = re.compile(rb"\s*+(?:>?From [^\n]*+\n)?+")


def in_lines(raw: bytes) -> bytes:
    """The same bytes with every end of a line written as one line feed."""
    if b"\r" not in raw:
        return raw
    if b"\n" not in raw:
        return raw.translate(CR_TO_LF)
    if b"\r\n" in raw:
        raw = raw.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")
    return raw.translate(CR_TO_SPACE) if b"\r" in raw else raw


def compute_digest(raw: bytes) -> bytes:
    r"""16 bytes that tell a message from all others, whatever stores and filters did to it.

    >>> compute_digest(b"Subject: Hi\n\nYou") == compute_digest(b"From me\r\nStatus: RO\r\nSubject: Hi\r\n\r\nYou\r\n\r\n")
    True
    """
    raw = in_lines(raw)
    start = ENVELOPE.match(raw)
    raw = raw[start.end() if start else 0 :].rstrip()
    end = raw.find(b"\n\n", 0, LONGEST_HEAD)
    end = end + 1 if end >= 0 else min(len(raw), LONGEST_HEAD)
    digest = blake2b(_lasting(raw[:end]), digest_size=DIGEST_BYTES)
    body: bytes | memoryview = memoryview(raw)[end:]
    if b">From " in raw:
        body = QUOTED_FROM.sub(b"\nFrom ", body[: 2 * LONGEST_BODY], MAX_UNQUOTED_LINES)
    digest.update(bytes(body[:LONGEST_BODY]).rstrip() if len(body) > LONGEST_BODY else body)
    return digest.digest()


def _lasting(head: bytes) -> bytes:
    """The headers that no store and no filter touches, each on one line."""
    lines = head.replace(b"\n\t", b" ").replace(b"\n ", b" ").split(b"\n")
    return b"\n".join([line for line in lines if line and not CHANGES[line.partition(b":")[0]]])


class _Changes(dict[bytes, bool]):
    """Whether a header of a name does not count; so many names are remembered."""

    def __missing__(self, name: bytes) -> bool:
        plain = name.rstrip().lower()
        changes = plain in LEFT_OUT or plain.startswith(LEFT_OUT_STARTS)
        if len(name) <= LONGEST_NAME:
            if len(self) >= MOST_NAMES:
                self.clear()
            self[name] = changes
        return changes


CHANGES = _Changes()
