"""Digests: a message has the same one wherever it is stored and whoever delivered it."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

DIGEST_BYTES = 16
MAX_HEADER_BYTES = 1 << 20
"""Bytes that are searched for headers; the rest is a part of the body."""
MAX_BODY_BYTES = 1 << 22
"""Bytes of a body that count. 16 MiB of a message are read, which contain these whatever its line ends are."""

VOLATILE_HEADERS = {
    "written by mail stores": "status x-status x-keywords x-uid x-uidl x-imap x-imapbase lines "
    "content-length x-mozilla-* x-evolution* x-gmail-* x-gm-* x-label x-folder x-mew* x-pmflags",
    "written by the last machines on the way": "received x-received delivered-to x-delivered-to x-original-to "
    "return-path envelope-to x-envelope-to x-envelope-from delivery-date x-originalarrivaltime "
    "authentication-results arc-* received-spf x-ms-exchange-* x-fetchmail-warning",
    "written by filters": "x-deciban* x-spam* x-bogosity x-rspamd* x-dspam* x-crm114* x-virus* x-amavis* x-sieve "
    "x-spambayes* x-popfile* x-text-classification x-proofpoint* x-ironport* x-mailscanner*",
}
"""Headers that do not count, by reason: a message learned before delivery is the same after it. A * is any suffix."""

NAMES = " ".join(VOLATILE_HEADERS.values()).split()
VOLATILE_NAMES = frozenset(name.encode() for name in NAMES if name[-1] != "*")
VOLATILE_PREFIXES = tuple(name[:-1].encode() for name in NAMES if name[-1] == "*")
QUOTED_FROM = re.compile(rb"\n>++From ")
MAX_UNQUOTED_LINES = 1 << 16
"""Lines ">From " whose > does not count."""
CR_TO_LF, CR_TO_SPACE = bytes.maketrans(b"\r", b"\n"), bytes.maketrans(b"\r", b" ")
ENVELOPE = re.compile(rb"\s*+(?:>?From [^\n]*+\n)?+")


def normalise_line_ends(raw: bytes) -> bytes:
    """Return the bytes with every line end replaced by one line feed."""
    if b"\r" not in raw:
        return raw
    if b"\n" not in raw:
        return raw.translate(CR_TO_LF)
    if b"\r\n" in raw:
        raw = raw.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")
    return raw.translate(CR_TO_SPACE) if b"\r" in raw else raw


def compute_digest(raw: bytes) -> bytes:
    r"""Compute 16 bytes that identify a message, whatever stores and filters did to it.

    >>> stored = b"From me\r\nStatus: RO\r\nSubject: Hi\r\n\r\nYou\r\n\r\n"
    >>> compute_digest(b"Subject: Hi\n\nYou") == compute_digest(stored)
    True
    """
    raw = normalise_line_ends(raw)
    start = ENVELOPE.match(raw)
    raw = raw[start.end() if start else 0 :].rstrip()
    end = raw.find(b"\n\n", 0, MAX_HEADER_BYTES)
    end = end + 1 if end >= 0 else min(len(raw), MAX_HEADER_BYTES)
    digest = blake2b(_stable_headers(raw[:end]), digest_size=DIGEST_BYTES)
    body: bytes | memoryview = memoryview(raw)[end:]
    if b">From " in raw:
        body = QUOTED_FROM.sub(b"\nFrom ", body[: 2 * MAX_BODY_BYTES], MAX_UNQUOTED_LINES)
    digest.update(bytes(body[:MAX_BODY_BYTES]).rstrip() if len(body) > MAX_BODY_BYTES else body)
    return digest.digest()


def _stable_headers(head: bytes) -> bytes:
    """Return the headers that no store and no filter changes, each on one line."""
    lines = head.replace(b"\n\t", b" ").replace(b"\n ", b" ").split(b"\n")
    return b"\n".join([line for line in lines if line and not _is_volatile(line.partition(b":")[0].rstrip()[:64])])


@lru_cache(2000)
def _is_volatile(name: bytes) -> bool:
    """Return whether a header with this name, or this beginning of a long name, does not count."""
    name = name.lower()
    return name in VOLATILE_NAMES or name.startswith(VOLATILE_PREFIXES)
