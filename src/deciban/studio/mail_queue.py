"""The queue of messages of which a mail filter is unsure: found in folders, shown one by one, learned at once.

Messages of the queue are kept in memory: the store has tokens only. The store is opened for each request, so that
other programs can learn at the same time.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deciban.errors import DecibanError
from deciban.formatting import clip_text
from deciban.html_fragments import Bar, Markup, draw_waterfall
from deciban.mail.filter import MAX_CLUES, CachingMailFilter, MailFilter
from deciban.mail.message.message import compute_digest, read_message
from deciban.mail.model.verdicts import UNSURE, Verdict
from deciban.mail.sources.message_sources import read_mail
from deciban.mail.tokens.token_descriptions import describe_token
from deciban.scores.explanation import format_odds
from deciban.server.problems import Problem

if TYPE_CHECKING:
    from deciban.studio.jobs import Job
    from deciban.studio.settings import StudioSettings

MAX_QUEUED_MESSAGES = 500
"""Messages of the queue; a later scan finds the others."""

MAX_QUEUED_BYTES = 64 << 20
"""Bytes of all messages of the queue together."""

MAX_PREVIEW_CHARACTERS = 3000
"""Characters of a message's text that are shown."""

MIN_SHOWN_DECIBANS = 0.05
"""Evidence that a clue needs to be shown: less would be shown as 0."""

DEFAULT_LABELS = ("ham", "spam")
"""Labels that a message can always be given."""


@dataclass(frozen=True)
class QueuedMessage:
    """A message whose label is open: where it lies, its bytes, its time, and what identifies it."""

    name: str
    raw: bytes = field(repr=False)
    time: float | None
    digest: bytes

    @property
    def key(self) -> str:
        """The text that identifies it on pages."""
        return self.digest.hex()


@dataclass(frozen=True)
class LearnedMessage:
    """A message that was learned on the page, its label, and its heading."""

    message: QueuedMessage
    label: str
    sender: str
    subject: str
    time: float


@dataclass(frozen=True)
class ShownMessage:
    """A message of the queue as a page shows it; nothing of it is markup."""

    message: QueuedMessage
    verdict: Verdict
    sender: str
    subject: str
    text: str
    clues: Markup


@dataclass
class MailQueue:
    """The unsure messages of some folders, and what was learned of them."""

    settings: StudioSettings
    waiting: dict[str, QueuedMessage] = field(default_factory=dict)
    decided: dict[str, QueuedMessage] = field(default_factory=dict)
    """Messages of the queue of which the filter has become sure by what was learned meanwhile."""
    learned: list[LearnedMessage] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    """How many of the scanned messages have each verdict, or were known."""
    problems: list[str] = field(default_factory=list)
    scanned_at: float | None = None

    def open_filter(self) -> MailFilter:
        """Open the filter for learning; StoreError where the store does not exist, Problem where none is named."""
        store = self.settings.mail_store
        if store is None:
            raise Problem(409, "no mail store is named. Hint: deciban studio --mail STORE --messages FOLDER")
        return CachingMailFilter(store, create=False)

    def scan(self, job: Job) -> None:
        """Classify all messages of the folders, and queue those of which the filter is unsure."""
        verdicts, problems = Counter[str](), list[str]()
        waiting: dict[str, QueuedMessage] = {}
        n_bytes = 0
        with self.open_filter() as mail:
            for place in self.settings.mail_sources:
                for found in read_mail(place, problems=lambda each: problems.append(clip_text(str(each), 200))):
                    message = QueuedMessage(found.name, found.raw, found.time, compute_digest(found.raw))
                    kind = _classify(mail, message)
                    verdicts[kind] += 1
                    is_kept = len(waiting) < MAX_QUEUED_MESSAGES and n_bytes + len(found.raw) <= MAX_QUEUED_BYTES
                    if kind == UNSURE and is_kept:
                        waiting[message.key] = message
                        n_bytes += len(found.raw)
                    job(verdicts.total())
        self.verdicts, self.problems, self.waiting, self.decided = verdicts, problems, waiting, {}
        self.scanned_at = time.time()

    def show_next(self, skip: int = 0) -> ShownMessage | None:
        """Return the first message after `skip` others of which the filter is still unsure; None where it is of none.

        The queue is a circle. Others that are met leave it as the filter is sure now, or they were learned elsewhere.
        """
        with self.open_filter() as mail:
            keys = list(self.waiting)
            start = skip % len(keys) if keys else 0
            for key in [*keys[start:], *keys[:start]]:
                if _classify(mail, self.waiting[key]) == UNSURE:
                    return _show(mail, self.waiting[key])
                self.decided[key] = self.waiting.pop(key)
        return None

    def learn(self, key: str, label: str) -> LearnedMessage:
        """Learn a message of the queue at once."""
        message = self.waiting.get(key)
        if message is None:
            raise Problem(409, "this message is no longer in the queue. Hint: load the page again")
        with self.open_filter() as mail:
            mail.learn(message.raw, label, message.time)
        sender, subject = read_message(message.raw).heading
        done = LearnedMessage(message, label, sender, subject, time.time())
        del self.waiting[key]
        self.learned.append(done)
        return done

    def undo(self, key: str) -> LearnedMessage:
        """Unlearn a message that was learned here; it is the first of the queue again, `decided` ones the last."""
        done = next((each for each in self.learned if each.message.key == key), None)
        if done is None:
            raise Problem(409, "this message was not learned here, or its learning was undone before")
        with self.open_filter() as mail:
            mail.store.unlearn([done.message.digest])
        self.learned.remove(done)
        self.waiting = {key: done.message, **self.waiting, **self.decided}
        self.decided = {}
        return done

    def list_labels(self) -> list[str]:
        """Return the labels that messages can be given: ham, spam, and the others of the store."""
        with self.open_filter() as mail:
            return list(dict.fromkeys([*DEFAULT_LABELS, *mail.store.totals()]))


def _classify(mail: MailFilter, message: QueuedMessage) -> str:
    """Return the label of the verdict on a message; "known" for one that was learned before."""
    if mail.store.find_label(message.digest) is not None:
        return "known"
    return mail.classify(message.raw, clues=0).label


def _show(mail: MailFilter, message: QueuedMessage) -> ShownMessage:
    """Return a message with its verdict of now; of a web page the words that a reader sees, without markup."""
    parsed = read_message(message.raw)
    verdict = mail.classify(message.raw, MAX_CLUES)
    texts = [part.text for part in parsed.parts if part.kind == "text"]
    texts = texts or [part.text for part in parsed.parts if part.kind == "html"]
    text = "\n\n".join(text.strip() for text in texts)
    sender, subject = parsed.heading
    return ShownMessage(
        message, verdict, sender, subject, clip_text(text, MAX_PREVIEW_CHARACTERS), draw_clues(verdict)
    )


def draw_clues(verdict: Verdict) -> Markup:
    """Return the evidence of a verdict as a waterfall, the clues in words."""
    shown = [clue for clue in verdict.clues if abs(clue.decibans) >= MIN_SHOWN_DECIBANS]
    others = verdict.others + sum(clue.decibans for clue in verdict.clues if clue not in shown)
    bars = [Bar("messages learned before", verdict.prior)]
    bars += [Bar(clip_text(describe_token(clue.token), 120), clue.decibans) for clue in shown]
    bars.append(Bar("all else that it has", others))
    return draw_waterfall(bars, verdict.decibans, f"Evidence for {verdict.of}", format_odds(verdict.decibans))


def check_store(settings: StudioSettings) -> str:
    """Return why the page cannot work with these settings; empty where it can."""
    if settings.mail_store is None:
        return "no store"
    try:
        with MailQueue(settings).open_filter():
            return ""
    except DecibanError as error:
        return str(error)
