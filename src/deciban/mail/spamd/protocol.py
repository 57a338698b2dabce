"""The protocol of `spamc` (SPAMC/1.2 to 1.5): requests parsed from bytes, and the answers of a filter as bytes.

Scores are like SpamAssassin's, with a threshold of 5: two decibans make a point, and 5 points are the probability
from which the filter calls a message spam:

    score = 5 + (d − d*) / 2,   d = 10 lg p/(1−p),   d* the same of spam_at

Only a message with the verdict spam has 5 points or more: one that is unsure has at most 4.9.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from deciban.errors import DecibanError
from deciban.formatting import format_probability
from deciban.mail.filter import MailFilter
from deciban.mail.message.headers import insert_header
from deciban.mail.model.mail_models import logit
from deciban.mail.model.verdicts import UNSURE, Verdict
from deciban.mail.status_figures import format_counts
from deciban.mail.tokens.token_descriptions import describe_token
from deciban.scores import DECIBAN

RETURNING_COMMANDS: Final = frozenset({"PROCESS", "HEADERS"})
"""Commands whose answer replaces the message."""

BODILESS_COMMANDS: Final = frozenset({"PING", "SKIP"})
COMMANDS: Final = frozenset({"CHECK", "SYMBOLS", "REPORT", "REPORT_IFSPAM", "TELL"}) | (
    RETURNING_COMMANDS | BODILESS_COMMANDS
)

MIN_VERSION: Final = (1, 2)
SEVERAL_HEADERS_VERSION: Final = (1, 3)
"""Since this version an answer may have several headers."""

BLANK_LINE_VERSION: Final = (1, 5)
"""Since this version a PING ends with a blank line, as all requests do."""

MAX_HEAD_BYTES: Final = 16_384
"""Bytes of the first line and the headers of a request."""

PONG: Final = b"SPAMD/1.5 0 PONG\r\n"
SPAM: Final = "spam"
LABEL_BY_CLASS: Final = {b"spam": SPAM, b"ham": "ham"}
"""The labels of the Message-class of a TELL."""

SPAM_SCORE: Final = 5.0
SCORE_STEP: Final = 0.1
"""Scores have one decimal."""

DECIBANS_PER_POINT: Final = 2.0
MAX_SCORE: Final = 999.9
MAX_SYMBOLS: Final = 15
_FIRST_LINE = re.compile(rb"([A-Z_]{1,20}) SPAMC/(\d{1,3})\.(\d{1,3})[ \t]*")
_LENGTH = re.compile(rb"\d{1,18}")
_WEIGHT = re.compile(r"[+-]\d+\.\d$")


class Code(IntEnum):
    """The code of an answer: the exit codes of sysexits.h, and two of SpamAssassin's own."""

    EX_OK = 0
    EX_USAGE = 64
    EX_DATAERR = 65
    EX_UNAVAILABLE = 69
    EX_SOFTWARE = 70
    EX_TEMPFAIL = 75
    EX_PROTOCOL = 76
    EX_TIMEOUT = 79
    EX_TOOBIG = 98


class Refusal(Exception):
    """A request that is answered with a code and the reason."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


@dataclass(frozen=True, slots=True)
class Request:
    """The request of a client; `length` is that of the message as sent, None where it ends with the stream.

    A TELL `sets` (asks to learn the message as `label`), `removes` (asks to forget it) or only informs.
    """

    command: str
    version: tuple[int, int]
    length: int | None = None
    compressed: bool = False
    label: str | None = None
    sets: bool = False
    removes: bool = False


def parse_first_line(line: bytes) -> tuple[str, tuple[int, int]]:
    r"""Parse the command and the version; refuse a malformed line, an unknown command and a version before 1.2.

    >>> parse_first_line(b"CHECK SPAMC/1.5\r\n")
    ('CHECK', (1, 5))
    """
    found = _FIRST_LINE.fullmatch(line.rstrip(b"\r\n"))
    if not found:
        raise Refusal(Code.EX_PROTOCOL, f"{_format_bytes(line)} is not a request such as 'CHECK SPAMC/1.5'")
    command, version = found[1].decode(), (int(found[2]), int(found[3]))
    if command not in COMMANDS:
        known = ", ".join(sorted(COMMANDS))
        raise Refusal(Code.EX_PROTOCOL, f"command {command} is not known; these are: {known}")
    if version < MIN_VERSION:
        written = b".".join(found.group(2, 3)).decode()
        raise Refusal(Code.EX_PROTOCOL, f"protocol {written} is too old; 1.2 is the oldest")
    return command, version


def parse_request(command: str, version: tuple[int, int], lines: Iterable[bytes]) -> Request:
    r"""Parse the headers of a request; ignore unknown ones, refuse malformed ones and a TELL that cannot be done.

    >>> parse_request("TELL", (1, 5), [b"Message-class: spam\r\n", b"Set: local\r\n", b"Content-length: 7\r\n"])
    Request(command='TELL', version=(1, 5), length=7, compressed=False, label='spam', sets=True, removes=False)
    """
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon:
            reason = f"{_format_bytes(line)} is not a header; they are written 'Name: value'"
            raise Refusal(Code.EX_PROTOCOL, reason)
        headers[name.strip().lower()] = value.strip()
    length, compression = headers.get(b"content-length"), headers.get(b"compress")
    if length is not None and not _LENGTH.fullmatch(length):
        raise Refusal(Code.EX_PROTOCOL, f"Content-length {_format_bytes(length)} is not a number of bytes")
    if compression is not None and compression.lower() != b"zlib":
        raise Refusal(Code.EX_PROTOCOL, f"Compress {_format_bytes(compression)} is not known; only zlib is")
    label = LABEL_BY_CLASS.get(headers.get(b"message-class", b"").lower())
    sets, removes = (b"local" in headers.get(name, b"").lower() for name in (b"set", b"remove"))
    if command == "TELL" and sets and removes:
        raise Refusal(Code.EX_USAGE, "a message cannot be learned and forgotten at once: Set or Remove, not both")
    if command == "TELL" and sets and label is None:
        raise Refusal(Code.EX_USAGE, "to learn a message, its class is needed: 'Message-class: spam' or 'ham'")
    n_bytes = None if length is None else int(length)
    return Request(command, version, n_bytes, compression is not None, label, sets, removes)


def decompress(data: bytes, limit: int) -> bytes:
    """Decompress zlib data to at most `limit` bytes; refuse a longer message and damaged data."""
    decompressor = zlib.decompressobj()
    try:
        message = decompressor.decompress(data, limit + 1)
    except zlib.error as error:
        raise Refusal(Code.EX_DATAERR, f"what should be zlib data is not: {error}") from None
    if len(message) > limit:
        raise oversize_refusal("the message, once decompressed, is", limit)
    if not decompressor.eof:
        raise Refusal(Code.EX_DATAERR, "the zlib data end early")
    return message


def oversize_refusal(what: str, limit: int) -> Refusal:
    """Return the refusal of a message above the limit; `what` begins its reason, as in "the message is"."""
    return Refusal(Code.EX_TOOBIG, f"{what} longer than {limit} bytes, which is the limit here")


def to_refusal(error: Exception) -> Refusal:
    """Return the refusal that reports an error other than a `Refusal`.

    A time-out is EX_TIMEOUT, a DecibanError EX_TEMPFAIL with its text, any other EX_SOFTWARE with its type only.
    """
    if isinstance(error, TimeoutError):
        return Refusal(Code.EX_TIMEOUT, "the message was not processed in time")
    if isinstance(error, DecibanError):
        return Refusal(Code.EX_TEMPFAIL, str(error))
    return Refusal(Code.EX_SOFTWARE, f"an internal error of the server ({type(error).__name__}); see its log")


def format_answer(version: tuple[int, int], headers: Mapping[str, str], body: bytes | None = None) -> bytes:
    r"""Format an answer of success; old clients, which read only one header, get no Content-length added.

    >>> format_answer((1, 5), {"Spam": "False ; 1.0 / 5.0"}, b"hi")
    b'SPAMD/1.1 0 EX_OK\r\nContent-length: 2\r\nSpam: False ; 1.0 / 5.0\r\n\r\nhi'
    """
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if body is not None and version >= SEVERAL_HEADERS_VERSION:
        lines.insert(0, f"Content-length: {len(body)}")
    head = "\r\n".join(["SPAMD/1.1 0 EX_OK", *lines, "", ""]).encode()
    return head + body if body else head


def format_refusal(refusal: Refusal) -> bytes:
    r"""Format the answer to a refused request.

    >>> format_refusal(Refusal(Code.EX_TOOBIG, "too much"))
    b'SPAMD/1.1 98 EX_TOOBIG: too much\r\n'
    """
    reason = " ".join(refusal.reason.split())[:400].encode("ascii", "replace").decode()
    return f"SPAMD/1.1 {refusal.code.value} {refusal.code.name}: {reason}\r\n".encode()


def _format_bytes(line: bytes) -> str:
    """Format a client's bytes for a message: printable and short."""
    return ascii(line[:40].rstrip(b"\r\n").decode("latin-1"))


def compute_score(verdict: Verdict, spam_at: float) -> float:
    """Return SpamAssassin's score of a verdict: 5 and above is spam."""
    other = logit((verdict.probabilities or {}).get(SPAM, 0.0)) * DECIBAN
    decibans = verdict.decibans if verdict.of == SPAM else other
    score = SPAM_SCORE + (decibans - logit(spam_at) * DECIBAN) / DECIBANS_PER_POINT
    score = min(max(round(score, 1), -MAX_SCORE), MAX_SCORE)
    return max(score, SPAM_SCORE) if verdict.label == SPAM else min(score, SPAM_SCORE - SCORE_STEP)


def answer_check(mail: MailFilter, request: Request, raw: bytes) -> bytes:
    """Classify a message and answer any command but TELL, PING and SKIP; PROCESS and HEADERS get it with a header.

    HEADERS refuses a message with a NUL.
    """
    verdict = mail.classify(raw, MAX_SYMBOLS)
    spam = f"{verdict.label == SPAM} ; {compute_score(verdict, mail.thresholds[1]):.1f} / {SPAM_SCORE}"
    if request.command in RETURNING_COMMANDS:
        return _format_message(request, raw, insert_header(raw, verdict.header()), spam)
    body = None
    if request.command == "SYMBOLS":
        body = format_symbols(verdict) + ("" if request.version >= SEVERAL_HEADERS_VERSION else "\r\n")
    elif request.command != "CHECK":
        body = format_report(verdict) if request.command == "REPORT" or verdict.label == SPAM else ""
    return format_answer(request.version, {"Spam": spam}, None if body is None else body.encode())


def answer_unchanged(request: Request, raw: bytes) -> bytes:
    """Answer PROCESS or HEADERS with the message as it came, not as spam and with the score 0."""
    return _format_message(request, raw, raw, f"False ; 0.0 / {SPAM_SCORE}")


def _format_message(request: Request, raw: bytes, new: bytes, spam: str) -> bytes:
    """Format the answer that replaces the message `raw` by `new`, or for HEADERS by the head of `new` only.

    Old clients get Content-length instead of Spam, whose value is `spam`. HEADERS refuses a message with a NUL.
    """
    if request.command == "HEADERS":
        if b"\0" in raw:
            raise Refusal(Code.EX_DATAERR, "spamc would cut this message short at its NUL byte: use PROCESS")
        # `spamc` appends the original message after the first two line ends of one kind
        ends = [at + len(blank) for blank in (b"\r\n\r\n", b"\n\n") if (at := raw.find(blank)) >= 0]
        new = new[: len(new) - (len(raw) - min(ends, default=len(raw)))]
    is_old = request.version < SEVERAL_HEADERS_VERSION
    return format_answer(request.version, {"Content-length": str(len(new))} if is_old else {"Spam": spam}, new)


def format_symbols(verdict: Verdict) -> str:
    """Return the verdict and the clues without weights, as "DECIBAN_SPAM,clue,clue", in ASCII without spaces."""
    header = verdict.header(MAX_SYMBOLS)
    names = [_WEIGHT.sub("", name) for name in header.rpartition("top=")[2].split(",")]
    return ",".join([f"DECIBAN_{header.partition(';')[0].upper()}", *(name for name in names if name != "-")])


def format_report(verdict: Verdict) -> str:
    """Return a verdict and its clues, for people."""
    learned = format_counts(verdict.learned)
    label = f"classifies this message as {verdict.label}" if verdict.label != UNSURE else "is unsure"
    p = f"p({verdict.of}) = {format_probability(verdict.probability)}"
    lines = [f"Deciban {label} ({p}, {verdict.decibans:+.1f} dB; learned: {learned})."]
    lines += [f"Why: {verdict.why}."] if verdict.why else []
    if verdict.balance is not None:
        sides = f"{verdict.balance.for_label:.1f} dB for {verdict.of}, {verdict.balance.against:.1f} dB against"
        known = f"{verdict.balance.known} of {verdict.balance.tokens} tokens were seen before"
        lines.append(f"Evidence: {sides}, multiplied by {verdict.balance.agreement:.2f}; {known}.")
    lines += [f"Left unread: {cut}." for cut in verdict.cut]
    lines += ["", "decibans  clue", "--------  " + "-" * 40]
    lines += [f"{clue.decibans:+8.1f}  {describe_token(clue.token)}" for clue in verdict.clues]
    lines += [f"{verdict.others:+8.1f}  all others", f"{verdict.prior:+8.1f}  before any clue", ""]
    return "\n".join(lines)


def answer_tell(mail: MailFilter, request: Request, raw: bytes) -> bytes:
    """Learn or forget a message, or neither, as the request says; the answer names only a change that was made."""
    done: dict[str, str] = {}
    if request.sets and request.label is not None:
        learned = mail.learn(raw, request.label)
        done = {"DidSet": "local"} if learned.new or learned.moved else {}
    elif request.removes:
        done = {"DidRemove": "local"} if mail.unlearn(raw) else {}
    return format_answer(request.version, done)
