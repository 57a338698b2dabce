"""Headers: names, values and parameters, decoded; the time of arrival; and the header that a filter inserts."""

import binascii
import re
from collections.abc import Mapping
from functools import lru_cache
from operator import itemgetter

from deciban.mail.message.decoding import decode_base64, decode_text

NAME = re.compile(r"[!-9;-~]++ *+")
FIRST_FIELD = re.compile(rb"[!-9;-~]++[ \t]*+:")
FIELDS = re.compile(rb"(?:[!-9;-~]++[ \t]*+:.*+(?:\n|\Z)(?:[ \t].*+(?:\n|\Z))*+)*+")
WORD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?((?:[^?=]|=(?!\?[^=])|\?(?!=)){0,1000}+)\?=(?:\s*+(?==\?))?")
"""An encoded word; none begins within another, so that no text is scanned twice."""
TYPE = re.compile(r"\s*([^\s;/\"]{1,60}/[^\s;\"]{1,80}|[^\s;/\"]{1,60})")
PARAMETER = re.compile(r";\s*+([^\s;=\"]{1,60})\s*+=\s*+(?:\"((?:[^\"\\]|\\.)*+)\"?|([^;]*+))", re.DOTALL)
CHARSET = re.compile(r"charset\s*+=\s*+[\"']?([^\"';\s]{1,60})", re.IGNORECASE)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
PIECE = re.compile(r"(.+?)\*(\d{1,3})\*?\Z")

MAX_CACHED_LINE_CHARACTERS = 200
CACHE_SIZE = 1 << 13
"""Lines of headers that are cached: half of the lines of a message occur in others too."""

HEADER = "X-Deciban"
"""The header that holds the verdict."""
ENVELOPE_LINE = re.compile(rb">?From [^\n]*\n")
CRLF_LINE = re.compile(rb"[^\n]*\r\n")
FORGED = re.compile(
    rb"^" + HEADER.encode() + rb"(?:-[^:\s]*+)?+[ \t]*+:[^\n]*+(?:\n[ \t][^\n]*+)*+(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)

MAX_DATE_SEARCH_BYTES = 1 << 16
MAX_ZONE_SECONDS = 24 * 3600
"""Seconds from universal time that a time zone may have; one beyond is ignored."""
HEAD_END = re.compile(rb"\n\r?\n")
DATED_FIELD = re.compile(rb"^(received|date):((?:[^\n]|\n[ \t])*)", re.IGNORECASE | re.MULTILINE)

Headers = list[tuple[str, str]]


def parse_headers(head: bytes) -> Headers:
    """Return each header's name in lower case and its value, decoded and on one line, in order.

    >>> parse_headers(b"Subject: =?utf-8?q?Caf=C3=A9?=\\n =?utf-8?q?_noir?=\\nTo: me")
    [('subject', 'Café noir'), ('to', 'me')]
    """
    try:
        text = head.decode("utf_8")
    except UnicodeDecodeError:  # bytes beyond ASCII: line by line, by the charset that the body declares
        stated = CHARSET.search(head.decode("latin_1"))
        text = "\n".join([decode_text(line, stated[1] if stated else "") for line in head.split(b"\n")])
    lines = text.replace("\0", "").replace("\t", " ").replace("\n ", " ").split("\n")
    fields = [_parse_line_cached(x) if len(x) <= MAX_CACHED_LINE_CHARACTERS else _parse_line(x) for x in lines]
    return [field for field in fields if field]


def _parse_name(written: str) -> str:
    """Return a header's name in lower case, or an empty text if it cannot be one."""
    return written.lower().rstrip(" ") if NAME.fullmatch(written) else ""


_parse_name_cached = lru_cache(CACHE_SIZE)(_parse_name)


def _parse_line(line: str) -> tuple[str, str] | None:
    """Return the name and the value of a line, or None if it is not a header."""
    written, colon, value = line.partition(":")
    if not colon:
        return None
    name = (_parse_name_cached if len(written) <= MAX_CACHED_LINE_CHARACTERS else _parse_name)(written)
    if not name:
        return None
    if "=?" in value:
        value = decode_words(value)
    return name, value.strip() if "  " not in value else " ".join(value.split())


_parse_line_cached = lru_cache(CACHE_SIZE)(_parse_line)


def decode_words(value: str) -> str:
    """Decode the encoded words (RFC 2047) of a value; adjacent words are joined, broken ones unchanged."""
    parts: list[str] = []
    at, open_charset, pending = 0, "", b""
    for word in WORD.finditer(value):
        written, encoding, text = word.groups()
        charset = written.lower().partition("*")[0]
        if pending and (charset != open_charset or word.start() > at):
            parts.append(decode_text(pending, open_charset))
            pending = b""
        parts.append(value[at : word.start()])
        # A character may be split between adjacent words of one charset: their bytes are decoded together.
        raw = text.encode("utf_8", "replace")
        pending += decode_base64(raw) if encoding in "bB" else binascii.a2b_qp(raw, header=True)
        open_charset, at = charset, word.end()
    parts += [decode_text(pending, open_charset), value[at:]]
    return "".join(parts)


@lru_cache(1 << 10)
def parse_content_type(value: str) -> tuple[str, Mapping[str, str]]:
    """Return a type in lower case ("" if none) and its parameters; those in pieces or percents (RFC 2231) are joined.

    >>> parse_content_type('Text/HTML; charset="utf-8"; name*=utf-8\\'\\'caf%C3%A9.txt')
    ('text/html', {'charset': 'utf-8', 'name': 'café.txt'})
    """
    value = value[:4000]
    head = TYPE.match(value)
    if ";" not in value:
        return (head[1].lower() if head else ""), {}
    found: dict[str, str] = {}
    pieces: dict[str, list[tuple[int, str]]] = {}
    for name, quoted, plain in PARAMETER.findall(value):
        name, text = name.lower(), ESCAPED.sub(r"\1", quoted) if quoted else plain.strip()
        if "*" not in name:
            found.setdefault(name, decode_words(text) if "=?" in text else text)
        elif piece := PIECE.match(name):
            pieces.setdefault(piece[1], []).append((int(piece[2]), text))
        else:
            found[name.rstrip("*")] = _decode_percents(text)
    found.update(
        (name, _decode_percents("".join(x for _, x in sorted(some, key=itemgetter(0)))))
        for name, some in pieces.items()
    )
    return (head[1].lower() if head else ""), found


def _decode_percents(text: str) -> str:
    """Decode the value of a parameter (RFC 2231): charset, language and percent codes, the first two optional."""
    if "%" not in text and "'" not in text:
        return text
    charset, first, after = text.partition("'")
    _, second, value = after.partition("'")
    if not (first and second):  # no charset and language before it
        charset, value = "", text
    data = PERCENT.sub(lambda code: bytes([int(code[1], 16)]), value.encode("utf_8", "replace"))
    return decode_text(data, charset)


def insert_header(raw: bytes, value: str) -> bytes:
    r"""Insert X-Deciban before all other headers, in place of any X-Deciban or X-Deciban-*; no other byte changes.

    >>> raw = b"From me\r\nSubject: Hi\r\nx-deciban: ham\r\n  for sure\r\n\r\nX-Deciban: you\r\n"
    >>> insert_header(raw, "spam; p=0.9")
    b'From me\r\nX-Deciban: spam; p=0.9\r\nSubject: Hi\r\n\r\nX-Deciban: you\r\n'
    """
    envelope = ENVELOPE_LINE.match(raw)
    start = envelope.end() if envelope else 0
    blank = HEAD_END.search(raw, start)
    end = start if raw.startswith((b"\n", b"\r\n"), start) else blank.start() + 1 if blank else len(raw)
    head = raw[start:end]
    if HEADER.lower().encode() in head.lower():
        head = FORGED.sub(b"", head)
    newline = b"\r\n" if CRLF_LINE.match(head or raw[end : end + 2]) else b"\n"
    return b"".join((raw[:start], f"{HEADER}: {value}".encode("ascii", "replace"), newline, head, raw[end:]))


def find_arrival_time(raw: bytes) -> float | None:
    r"""Return seconds since 1970 by the first Received header, else by Date; None if neither has a time.

    The last server on the way writes the first Received header, and has no reason to write a false one.
    An unknown time zone counts as universal time (RFC 5322, 4.3), whatever the zone of this machine is.

    >>> find_arrival_time(b"Received: from a by b; Thu, 1 Jan 1970 01:01:40 +0100\nDate: 2 Jan 1970 00:00:00 +0000\n")
    100.0
    """
    head = raw[:MAX_DATE_SEARCH_BYTES]
    end = HEAD_END.search(head)
    dates: list[bytes] = []
    for field in DATED_FIELD.finditer(head, 0, end.end() if end else len(head)):
        if field[1].lower() == b"received":
            dates.insert(0, field[2].rpartition(b";")[2])
            break
        dates.append(field[2])
    return next((time for time in map(_parse_date, dates) if time is not None), None)


def _parse_date(date: bytes) -> float | None:
    """Return the seconds since 1970 of a date as mail writes it; None for any other text."""
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
