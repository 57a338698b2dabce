"""Messages: read, tokenized, split from a mailbox, learned, classified, returned with the verdict in a header."""

from __future__ import annotations

import random
import tempfile
from functools import cache
from pathlib import Path

from deciban.mail.filter import MailFilter
from deciban.mail.message.headers import HEADER, insert_header
from deciban.mail.message.message import read_message
from deciban.mail.sources.message_sources import read_mail
from deciban.mail.tokens.tokens import extract_tokens
from tests.fuzz.mutation import write_input
from tests.mail import fuzzing
from tests.mail.spamds import learn_messages


@cache
def seeds() -> list[bytes]:
    return fuzzing.seeds()


def mutate(raw: bytes, rng: random.Random) -> bytes:
    return fuzzing.mutate(raw, seeds(), rng)


def check(raw: bytes) -> None:
    message = read_message(raw)
    assert read_message(raw) == message, "two readings differ"
    extract_tokens(message, fuzzing.ALL)
    assert fuzzing.find_fault(raw) == ""
    mail = _filter()
    learned = mail.learn(raw, "ham")
    verdict = mail.classify(raw)
    assert 0 <= verdict.probability <= 1
    assert mail.known(raw) == "ham", "an acknowledged message is unknown"
    mail.unlearn(raw)
    assert learned.new == 1
    assert mail.store.totals() == _totals(), "forgetting left something"
    given_back = insert_header(raw, verdict.header())
    if HEADER.lower().encode() not in raw.lower():
        line = f"{HEADER}: {verdict.header()}".encode("ascii", "replace")
        at = given_back.index(line)
        rest = given_back[at + len(line) :].removeprefix(b"\r").removeprefix(b"\n")
        assert given_back[:at] + rest == raw, "the message was changed"
    box = write_input("box", b"From me@here.example Mon Nov 16 11:00:00 2026\n" + raw)
    for found in read_mail(box, problems=lambda problem: None):
        read_message(found.raw)


@cache
def _filter() -> MailFilter:
    path = Path(tempfile.gettempdir(), "mail.db")
    learn_messages(path, 10)
    return MailFilter(path)


@cache
def _totals() -> dict[str, tuple[int, float]]:
    return {"ham": (10, 10.0), "spam": (10, 10.0)}
