"""What is answered to a request: a message's verdict in SpamAssassin's terms, or that it was learned.

A score is told as SpamAssassin's are, against a threshold of 5: two decibans make a point, and 5 points are the
probability from which the filter calls a message spam:

    score = 5 + (d − d*) / 2,   d = 10 lg p/(1−p),   d* the same of spam_at

Spam is what the filter is sure to be spam: what it is unsure of has at most 4.9 points.
"""

from __future__ import annotations

import math
import re
from typing import Final

from deciban.errors import DecibanError
from deciban.mail.filter import MailFilter
from deciban.mail.message.headers import insert_header
from deciban.mail.model.verdicts import UNSURE, Verdict
from deciban.mail.spamd.protocol import GIVING_BACK, MANY_HEADERS, Code, Refusal, Request, answer

SPAM: Final = "spam"
THRESHOLD: Final = 5.0
STEP: Final = 0.1
"""Scores are told to one decimal."""
DECIBANS_A_POINT: Final = 2.0
FARTHEST: Final = 999.9
"""No score is told that is farther from 0."""
SYMBOLS: Final = 15
_WEIGHT = re.compile(r"[+-]\d+\.\d$")


def points(verdict: Verdict, spam_at: float) -> float:
    """A verdict as SpamAssassin's score: 5 and above is spam."""
    score = THRESHOLD + (_spam_decibans(verdict) - _decibans(spam_at)) / DECIBANS_A_POINT
    score = min(max(round(score, 1), -FARTHEST), FARTHEST)
    return max(score, THRESHOLD) if verdict.label == SPAM else min(score, THRESHOLD - STEP)


def _spam_decibans(verdict: Verdict) -> float:
    if verdict.of == SPAM:
        return verdict.decibans
    return _decibans((verdict.probabilities or {}).get(SPAM, 0.0))


def _decibans(p: float) -> float:
    """Of a probability; infinite where it is 0 or 1."""
    if p <= 0.0 or p >= 1.0:
        return math.copysign(math.inf, p - 0.5)
    return 10.0 * math.log10(p / (1.0 - p))


def judged(mail: MailFilter, request: Request, raw: bytes) -> bytes:
    """The answer to a request to judge a message."""
    verdict = mail.classify(raw, SYMBOLS)
    spam = f"{verdict.label == SPAM} ; {points(verdict, mail.thresholds[1]):.1f} / {THRESHOLD}"
    if request.command in GIVING_BACK:
        return _given_back(request, raw, insert_header(raw, verdict.header()), spam)
    if request.command == "CHECK":
        return answer(request.version, {"Spam": spam})
    if request.command == "SYMBOLS":
        end = "" if request.version >= MANY_HEADERS else "\r\n"
        return answer(request.version, {"Spam": spam}, (symbols(verdict) + end).encode())
    wanted = request.command == "REPORT" or verdict.label == SPAM
    return answer(request.version, {"Spam": spam}, report(verdict).encode() if wanted else b"")


def unchanged(request: Request, raw: bytes) -> bytes:
    """The message as it came, of which nothing is said."""
    return _given_back(request, raw, raw, f"False ; 0.0 / {THRESHOLD}")


def _given_back(request: Request, raw: bytes, new: bytes, spam: str) -> bytes:
    if request.command == "HEADERS":
        if b"\0" in raw:
            raise Refusal(Code.EX_DATAERR, "spamc would cut this message short, for it has a NUL in it: use PROCESS")
        new = new[: len(new) - (len(raw) - _end_of_headers(raw))]
    if request.version >= MANY_HEADERS:
        return answer(request.version, {"Spam": spam}, new)
    return answer(request.version, {"Content-length": str(len(new))}, new)


def _end_of_headers(raw: bytes) -> int:
    """Where `spamc` will take up the message again, after the first two ends of lines of one kind."""
    ends = [at + len(blank) for blank in (b"\r\n\r\n", b"\n\n") if (at := raw.find(blank)) >= 0]
    return min(ends, default=len(raw))


def symbols(verdict: Verdict) -> str:
    """The names of what spoke for and against, the verdict first: no commas, no spaces, ASCII."""
    said = verdict.header(SYMBOLS)
    names = [_WEIGHT.sub("", name) for name in said.rpartition("top=")[2].split(",")]
    return ",".join([f"DECIBAN_{said.partition(';')[0].upper()}", *(name for name in names if name != "-")])


def report(verdict: Verdict) -> str:
    """A verdict and its reasons, for people."""
    learned = ", ".join(f"{count} {label}" for label, count in verdict.learned.items())
    lines = [f"Deciban takes this message for {verdict.label}" if verdict.label != UNSURE else "Deciban is unsure"]
    lines[0] += f" (p({verdict.of}) = {verdict.probability:.4f}, {verdict.decibans:+.1f} dB; learned: {learned})."
    lines += [f"Why: {verdict.why}."] if verdict.why else []
    lines += [f"Left unread: {cut}." for cut in verdict.cut]
    lines += ["", "decibans  clue", "--------  " + "-" * 40]
    lines += [f"{clue.decibans:+8.1f}  {clue.token}" for clue in verdict.clues]
    lines += [f"{verdict.others:+8.1f}  all others", f"{verdict.prior:+8.1f}  before any clue", ""]
    return "\n".join(lines)


def told(mail: MailFilter, request: Request, raw: bytes) -> bytes:
    """The answer to a request to learn or forget a message; what was so already is not said to be done."""
    done: dict[str, str] = {}
    if request.sets and request.label is not None:
        learned = mail.learn(raw, request.label)
        done = {"DidSet": "local"} if learned.new or learned.moved else {}
    elif request.removes:
        done = {"DidRemove": "local"} if mail.unlearn(raw) else {}
    return answer(request.version, done)


def in_code(error: Exception) -> Refusal:
    """What a client is told of an error of ours."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, TimeoutError):
        return Refusal(Code.EX_TIMEOUT, "the message was not dealt with in time")
    if isinstance(error, DecibanError):
        return Refusal(Code.EX_TEMPFAIL, str(error))
    return Refusal(Code.EX_SOFTWARE, f"an error of the server's own ({type(error).__name__}); its log says more")
