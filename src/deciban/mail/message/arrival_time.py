"""When a message came, by its own headers: the last server on its way stands first, and has no reason to lie."""

from __future__ import annotations

import re

HEAD = 1 << 16
"""So many bytes are looked at."""

MAX_ZONE_SECONDS = 24 * 3600
"""Seconds from universal time that a time zone may tell; one beyond is no zone."""

_END = re.compile(rb"\n\r?\n")
_FIELD = re.compile(rb"^(received|date):((?:[^\n]|\n[ \t])*)", re.IGNORECASE | re.MULTILINE)


def arrived(raw: bytes) -> float | None:
    r"""In seconds since 1970, by the first Received header, else by Date; None where neither tells a time.

    A time zone that nobody knows counts as universal time (RFC 5322, 4.3), whatever the zone of this machine is.

    >>> arrived(b"Received: from a by b; Thu, 1 Jan 1970 01:01:40 +0100\nDate: Fri, 2 Jan 1970 00:00:00 +0000\n\n")
    100.0
    """
    head = raw[:HEAD]
    end = _END.search(head)
    dates: list[bytes] = []
    for field in _FIELD.finditer(head, 0, end.end() if end else len(head)):
        if field[1].lower() == b"received":
            dates.insert(0, field[2].rpartition(b";")[2])
            break
        dates.append(field[2])
    return next((time for time in map(_seconds, dates) if time is not None), None)


def _seconds(date: bytes) -> float | None:
    from calendar import timegm
    from email.utils import parsedate_tz  # slow to load, and only needed here

    try:
        parsed = parsedate_tz(" ".join(date.decode("latin-1").split()))
        if parsed is None:
            return None
        zone = parsed[9] or 0
        return float(timegm(parsed[:9]) - (zone if abs(zone) < MAX_ZONE_SECONDS else 0))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
