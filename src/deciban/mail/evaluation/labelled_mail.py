"""Labelled mail in memory, and its random splits into messages to learn, to choose settings by and to test by."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.errors import InputError
from deciban.mail.bulk.read_batches import LabelledInput, read_batches
from deciban.mail.message.headers import find_arrival_time
from deciban.mail.model.threshold_choice import LABELS
from deciban.mail.sources.message_files import ProblemHandler, warn_of_problem
from deciban.mail.sources.message_sources import read_mail, source_kind
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store
from deciban.mail.store.stored_messages import Numbers, number_words, word_numbers
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions
from deciban.validation.splits import StratifiedAssigner

DATED_SOURCES: Final = ("maildir", "mbox", "imap")
"""Sources that know when a message arrived; the dates of files in other folders tell when they were copied."""

Rows = NDArray[np.intp]
Sizes = tuple[int, int, int]


@dataclass(frozen=True)
class LabelledMail:
    """Messages with their labels; the tokens of each are indices of `words`, in order of appearance."""

    names: tuple[str, ...]
    digests: tuple[bytes, ...]
    codes: Codes
    times: NDArray[np.float64]
    """Times of arrival, in seconds since 1970; NaN if unknown."""
    tokens: tuple[Numbers, ...]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def read(
        cls, labelled: Iterable[LabelledInput], reading: TokenOptions = DEFAULT_OPTIONS, processes: int | None = 1
    ) -> Self:
        r"""Read messages, each with its label: ham or spam.

        >>> found = [("ham", ("1", b"\n\ntea for two")), ("spam", ("2", b"\n\ntwo pills"))]
        >>> mail = LabelledMail.read(found, TokenOptions(names=False))
        >>> mail.words, mail.tokens[1].tolist()
        (('type:text/plain', 'tea', 'for', 'two', 'pills'), [0, 3, 4])
        """
        words, names, digests, codes = word_numbers(), list[str](), list[bytes](), list[int]()
        times, tokens = list[float | None](), list[Numbers]()
        for batch in read_batches(labelled, processes, reading):
            names += batch.names
            digests += batch.digests
            codes += map(LABELS.index, batch.labels)
            times += batch.times
            tokens += np.split(number_words(batch.words, words)[batch.indices], np.cumsum(batch.sizes))[:-1]
        arrival = np.array(times, dtype=np.float64)
        return cls(
            tuple(names), tuple(digests), np.array(codes, dtype=np.int32), arrival, tuple(tokens), tuple(words)
        )

    @classmethod
    def from_store(cls, store: Store) -> Self:
        """Return the messages that a store has learned as ham or spam, named by their digests."""
        with store.read_transaction(report_damage):
            rows = store.rows()
            words = tuple(word for (word,) in store.db.execute("SELECT word FROM token ORDER BY number"))
        names = tuple(digest.hex() for digest in rows.digests)
        label_codes = np.array([LABELS.index(name) if name in LABELS else -1 for name in rows.label_names])
        codes = label_codes[rows.labels].astype(np.int32)
        found = cls(
            names, tuple(rows.digests), codes, rows.times, tuple(np.split(rows.indices, rows.indptr[1:])[:-1]), words
        )
        return found if (codes >= 0).all() else found.take(np.flatnonzero(codes >= 0))

    def take(self, rows: NDArray[Any]) -> Self:
        """Return some of the messages, in this order."""
        names, digests, tokens = (
            tuple(column[i] for i in rows.tolist()) for column in (self.names, self.digests, self.tokens)
        )
        return type(self)(names, digests, self.codes[rows], self.times[rows], tokens, self.words)

    def deduplicate(self) -> "LabelledMail":
        """Return each message once, without those that have both labels, as their true label is unknown."""
        codes: dict[bytes, set[int]] = {}
        for digest, code in zip(self.digests, self.codes.tolist()):
            codes.setdefault(digest, set()).add(code)
        first = {digest: i for i, digest in reversed(list(enumerate(self.digests)))}
        kept = sorted(i for digest, i in first.items() if len(codes[digest]) == 1)
        return self if len(kept) == len(self) else self.take(np.array(kept, dtype=np.intp))

    def sort_by_arrival(self) -> "LabelledMail":
        """Sort by time; a message without one stays behind that of its label before it. InputError if all are so."""
        if np.isnan(self.times).all():
            raise InputError(
                "no message has a time of arrival, from a Received or Date header or from its source, so there is no "
                "order to evaluate in. Hint: --order name"
            )
        times = self.times.copy()
        for code in range(len(LABELS)):
            mine = np.flatnonzero(self.codes == code)
            known = np.maximum.accumulate(np.where(np.isnan(times[mine]), -1, np.arange(len(mine))))
            times[mine] = np.where(known < 0, -np.inf, times[mine[np.maximum(known, 0)]])
        return self.take(np.argsort(times, kind="stable"))

    def sort_by_name(self) -> "LabelledMail":
        """Sort by the last part of the names, whatever their folders are."""
        order = sorted(range(len(self)), key=lambda i: (self.names[i].rpartition("/")[2], self.names[i]))
        return self.take(np.array(order, dtype=np.intp))


def read_labelled_mail(
    ham: Sequence[str], spam: Sequence[str], processes: int | None = 1,
    progress: Callable[[], None] = lambda: None, problems: ProblemHandler = warn_of_problem,
) -> LabelledMail:  # fmt: skip
    """Read all mail of some sources (whatever `read_mail` reads), ham and spam; `progress` is called per message."""

    def find_messages() -> Iterator[LabelledInput]:
        for label, path in [*zip(repeat(LABELS[0]), ham), *zip(repeat(LABELS[1]), spam)]:
            is_dated = source_kind(path) in DATED_SOURCES
            for message in read_mail(path, problems=problems):
                arrival = find_arrival_time(message.raw)
                progress()
                yield label, replace(message, time=message.time if arrival is None and is_dated else arrival)

    return LabelledMail.read(find_messages(), processes=processes)


def parse_sizes(text: str) -> Sizes:
    """Parse the sizes of a split such as 400/50/50.

    >>> parse_sizes("400/50/50")
    (400, 50, 50)
    """
    parts = text.split("/")
    if len(parts) != 3 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        form = "three numbers of messages, to learn, to choose by and to test by, as in 400/50/50"
        raise InputError(f"split {text!r}: a split is {form}")
    return int(parts[0]), int(parts[1]), int(parts[2])


def stratify_size(size: int, counts: tuple[int, int]) -> tuple[int, int]:
    """Divide a number of messages between the labels in proportion to their counts, at least one each.

    >>> stratify_size(50, (4150, 1897))
    (34, 16)
    """
    spam = min(size - 1, max(1, round(size * counts[1] / sum(counts))))
    return size - spam, spam


def draw_split(codes: NDArray[np.integer[Any]], sizes: Sizes, seed: int) -> tuple[Rows, Rows, Rows]:
    """Draw the messages of the three parts, each in random order, none in two of them."""
    counts = int((codes == 0).sum()), int((codes == 1).sum())
    if min(sizes) < 2 or not all(counts):
        raise InputError(
            f"a part of {min(sizes)} out of {counts[0]} ham and {counts[1]} spam cannot have both kinds. "
            "Hint: give messages of both, and parts of two or more"
        )
    wanted = np.array([stratify_size(size, counts) for size in sizes])
    random = np.random.default_rng(seed)
    parts: list[list[Rows]] = []
    for code, label in enumerate(LABELS):
        ends = np.cumsum(wanted[:, code])
        if ends[-1] > counts[code]:
            raise InputError(
                f"the split needs {ends[-1]} {label}, and there are {counts[code]} (of {sum(counts)} messages). "
                "Hint: smaller parts, or more mail"
            )
        order = random.permutation(np.flatnonzero(codes == code))
        parts.append(np.split(order[: ends[-1]], ends[:-1]))
    learn, choose, test = (random.permutation(np.concatenate(part)) for part in zip(*parts))
    return learn, choose, test


def draw_folds(codes: NDArray[np.integer[Any]], n_folds: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Draw stratified folds: for each the messages to learn, in random order, and those to test by."""
    order = np.random.default_rng(seed).permutation(len(codes))
    fold = StratifiedAssigner(n_folds).assign(codes[order])
    if min(np.bincount(codes, minlength=2)) < n_folds:
        raise InputError(
            f"{n_folds} folds need {n_folds} messages of each label or more. Hint: fewer folds, or more mail"
        )
    return [(order[fold != k], order[fold == k]) for k in range(n_folds)]
