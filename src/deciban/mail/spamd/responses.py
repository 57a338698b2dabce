"""Answers to requests: the verdict on a message in SpamAssassin's terms, or that it was learned.

Scores are like SpamAssassin's, with a threshold of 5: two decibans make a point, and 5 points are the probability
from which the filter calls a message spam:

    score = 5 + (d − d*) / 2,   d = 10 lg p/(1−p),   d* the same of spam_at

Only a message with the verdict spam has 5 points or more: one that is unsure has at most 4.9.
"""

from __future__ import annotations

import math
import re
from typing import Final

from deciban.errors import DecibanError
from deciban.mail.filter import MailFilter
from deciban.mail.message.headers import insert_header
from deciban.mail.model.verdicts import UNSURE, Verdict
from deciban.mail.spamd.protocol import (
    RETURNING_COMMANDS,
    SEVERAL_HEADERS_VERSION,
    Code,
    Refusal,
    Request,
    format_answer,
)

SPAM: Final = "spam"
THRESHOLD: Final = 5.0
SCORE_STEP: Final = 0.1
"""Scores have one decimal."""

DECIBANS_PER_POINT: Final = 2.0
MAX_SCORE: Final = 999.9
MAX_SYMBOLS: Final = 15
_WEIGHT = re.compile(r"[+-]\d+\.\d$")


def compute_score(verdict: Verdict, spam_at: float) -> float:
    """Return SpamAssassin's score of a verdict: 5 and above is spam."""
    score = THRESHOLD + (_spam_decibans(verdict) - _decibans(spam_at)) / DECIBANS_PER_POINT
    score = min(max(round(score, 1), -MAX_SCORE), MAX_SCORE)
    return max(score, THRESHOLD) if verdict.label == SPAM else min(score, THRESHOLD - SCORE_STEP)


def _spam_decibans(verdict: Verdict) -> float:
    if verdict.of == SPAM:
        return verdict.decibans
    return _decibans((verdict.probabilities or {}).get(SPAM, 0.0))


def _decibans(p: float) -> float:
    """Return the decibans of a probability; infinite where it is 0 or 1."""
    if p <= 0.0 or p >= 1.0:
        return math.copysign(math.inf, p - 0.5)
    return 10.0 * math.log10(p / (1.0 - p))


def answer_check(mail: MailFilter, request: Request, raw: bytes) -> bytes:
    """Answer a request for the verdict on a message."""
    verdict = mail.classify(raw, MAX_SYMBOLS)
    spam = f"{verdict.label == SPAM} ; {compute_score(verdict, mail.thresholds[1]):.1f} / {THRESHOLD}"
    if request.command in RETURNING_COMMANDS:
        return _format_message(request, raw, insert_header(raw, verdict.header()), spam)
    if request.command == "CHECK":
        return format_answer(request.version, {"Spam": spam})
    if request.command == "SYMBOLS":
        end = "" if request.version >= SEVERAL_HEADERS_VERSION else "\r\n"
        return format_answer(request.version, {"Spam": spam}, (format_symbols(verdict) + end).encode())
    wanted = request.command == "REPORT" or verdict.label == SPAM
    return format_answer(request.version, {"Spam": spam}, format_report(verdict).encode() if wanted else b"")


def answer_unchanged(request: Request, raw: bytes) -> bytes:
    """Return the message as it came, without a verdict."""
    return _format_message(request, raw, raw, f"False ; 0.0 / {THRESHOLD}")


def _format_message(request: Request, raw: bytes, new: bytes, spam: str) -> bytes:
    if request.command == "HEADERS":
        if b"\0" in raw:
            raise Refusal(Code.EX_DATAERR, "spamc would cut this message short, for it has a NUL in it: use PROCESS")
        new = new[: len(new) - (len(raw) - _find_body(raw))]
    if request.version >= SEVERAL_HEADERS_VERSION:
        return format_answer(request.version, {"Spam": spam}, new)
    return format_answer(request.version, {"Content-length": str(len(new))}, new)


def _find_body(raw: bytes) -> int:
    """Return where `spamc` appends the original message, after the first two line ends of one kind."""
    ends = [at + len(blank) for blank in (b"\r\n\r\n", b"\n\n") if (at := raw.find(blank)) >= 0]
    return min(ends, default=len(raw))


def format_symbols(verdict: Verdict) -> str:
    """Return the verdict and the names of the clues, without commas and spaces, in ASCII."""
    header = verdict.header(MAX_SYMBOLS)
    names = [_WEIGHT.sub("", name) for name in header.rpartition("top=")[2].split(",")]
    return ",".join([f"DECIBAN_{header.partition(';')[0].upper()}", *(name for name in names if name != "-")])


def format_report(verdict: Verdict) -> str:
    """Return a verdict and its clues, for people."""
    learned = ", ".join(f"{count} {label}" for label, count in verdict.learned.items())
    lines = [
        f"Deciban classifies this message as {verdict.label}" if verdict.label != UNSURE else "Deciban is unsure"
    ]
    lines[0] += f" (p({verdict.of}) = {verdict.probability:.4f}, {verdict.decibans:+.1f} dB; learned: {learned})."
    lines += [f"Why: {verdict.why}."] if verdict.why else []
    lines += [f"Left unread: {cut}." for cut in verdict.cut]
    lines += ["", "decibans  clue", "--------  " + "-" * 40]
    lines += [f"{clue.decibans:+8.1f}  {clue.token}" for clue in verdict.clues]
    lines += [f"{verdict.others:+8.1f}  all others", f"{verdict.prior:+8.1f}  before any clue", ""]
    return "\n".join(lines)


def answer_tell(mail: MailFilter, request: Request, raw: bytes) -> bytes:
    """Answer a request to learn or forget a message; what was so already is not reported as done."""
    done: dict[str, str] = {}
    if request.sets and request.label is not None:
        learned = mail.learn(raw, request.label)
        done = {"DidSet": "local"} if learned.new or learned.moved else {}
    elif request.removes:
        done = {"DidRemove": "local"} if mail.unlearn(raw) else {}
    return format_answer(request.version, done)


def to_refusal(error: Exception) -> Refusal:
    """Return the refusal that reports an error of the server."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TimeoutError):
        return Refusal(Code.EX_TIMEOUT, "the message was not processed in time")
    if isinstance(error, DecibanError):
        return Refusal(Code.EX_TEMPFAIL, str(error))
    return Refusal(Code.EX_SOFTWARE, f"an internal error of the server ({type(error).__name__}); see its log")
