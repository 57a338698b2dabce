"""Public mail as messages in bytes, with their labels; and as files, for programs that read files."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from deciban.mail.evaluation.labelled_mail import LabelledMail
from deciban.mail.model.threshold_choice import LABELS
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions

from . import table_data, text_data

TEST_FRACTION = 0.3
"""The fraction of mail to test by."""

ENRON = (1, 2, 5, 6)
"""The mailboxes of Enron-Spam; in the last two spam is the larger part."""

Rows = NDArray[np.intp]


class Mail(NamedTuple):
    """Messages, and which of them are spam (1) or ham (0)."""

    name: str
    raws: list[bytes]
    codes: NDArray[np.int32]

    def read(self, reading: TokenOptions = DEFAULT_OPTIONS, processes: int = 1) -> LabelledMail:
        """Read the tokens; a message's name is its number."""
        labels = (LABELS[code] for code in self.codes)
        labelled = ((label, (str(i), raw)) for i, (label, raw) in enumerate(zip(labels, self.raws)))
        return LabelledMail.read(labelled, reading, processes)

    def split(self, seed: int) -> tuple[Rows, Rows]:
        """Draw messages to learn and to test by, as `lab_evidence.split` does."""
        learn, judge = train_test_split(
            np.arange(len(self.codes)), test_size=TEST_FRACTION, random_state=seed, stratify=self.codes
        )
        return learn, judge

    def files(self) -> list[Path]:
        """Return a numbered file for each message, in folders `ham` and `spam`, written once."""
        place = table_data.scratch_folder() / f"mail-{self.name.lower()}"
        paths = [place / ("spam" if code else "ham") / f"{i:05}" for i, code in enumerate(self.codes)]
        if not (place / "complete").exists():
            for folder in ("ham", "spam"):
                (place / folder).mkdir(parents=True, exist_ok=True)
            for path, raw in zip(paths, self.raws):
                path.write_bytes(raw)
            (place / "complete").touch()
        return paths


def _mail(name: str, corpus: text_data.Corpus) -> Mail:
    raws = [document.encode("latin-1") for document in corpus.documents]
    return Mail(name, raws, (corpus.labels == "spam").astype(np.int32))


@cache
def spamassassin() -> Mail:
    """SpamAssassin's corpus, sorted by path: messages as they were sent, all their headers kept."""
    return _mail("SpamAssassin", text_data.load_spamassassin())


@cache
def enron(number: int) -> Mail:
    """A mailbox of Enron-Spam in order of arrival: a subject and a text, all other headers gone."""
    return _mail(f"Enron{number}", text_data.load_enron(number))


@cache
def short_messages() -> Mail:
    """The SMS Spam Collection, each as the text of a message without headers."""
    corpus = text_data.load_sms()
    raws = [b"\n" + document.encode() for document in corpus.documents]
    return Mail("SMS", raws, (corpus.labels == "spam").astype(np.int32))


def corpora() -> tuple[Mail, ...]:
    """Return all six corpora."""
    return spamassassin(), *map(enron, ENRON), short_messages()
