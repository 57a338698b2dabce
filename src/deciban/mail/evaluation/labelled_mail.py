"""LabelledMail: mail whose labels are known, read once and held in memory, to judge filters by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Codes
from deciban.errors import InputError
from deciban.mail.bulk.bulk import Words, read_batches
from deciban.mail.message.headers import arrival_time
from deciban.mail.model.token_weights import POSITIVE
from deciban.mail.sources.message_sources import source_kind, read_mail
from deciban.mail.store.packing import Numbers
from deciban.mail.tokens.token_options import DEFAULT_OPTIONS, TokenOptions

LABELS: Final = ("ham", POSITIVE)
"""A message's code is its label's place here."""

DATED: Final = ("maildir", "mbox", "imap")
"""Places that know when a message came; the dates of files in other folders say when they were copied there."""

Named = tuple[str, bytes]


@dataclass(frozen=True)
class LabelledMail:
    """Messages with their labels; the tokens of each by their places among `words`, in order of appearance."""

    names: tuple[str, ...]
    digests: tuple[bytes, ...]
    codes: Codes
    times: NDArray[np.float64]
    """Of arrival, in seconds since 1970; NaN where nothing tells it."""
    tokens: tuple[Numbers, ...]
    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def read(
        cls, found: Iterable[Named], codes: Sequence[int] | Codes, reading: TokenOptions = DEFAULT_OPTIONS,
        processes: int | None = 1, times: Sequence[float] | None = None,
    ) -> Self:  # fmt: skip
        r"""Names and messages, and the code of each.

        >>> found = [("1", b"\n\ntea for two"), ("2", b"\n\ntwo pills")]
        >>> mail = LabelledMail.read(found, [0, 1], TokenOptions(names=False))
        >>> mail.words, mail.tokens[1].tolist()
        (('tea', 'for', 'two', 'type:text/plain', 'pills'), [2, 3, 4])
        """
        names: list[str] = []

        def given() -> Iterator[bytes]:
            for name, raw in found:
                names.append(name)
                yield raw

        words, digests, tokens = Words(), list[bytes](), list[Numbers]()
        for bundle in read_batches(given(), words, processes, reading):
            digests += bundle.digests
            tokens += np.split(bundle.which, np.cumsum(bundle.sizes)[:-1])
        when = np.full(len(names), math.nan) if times is None else np.array(times, dtype=np.float64)
        return cls(tuple(names), tuple(digests), np.array(codes, dtype=np.int32), when, tuple(tokens), tuple(words))

    def take(self, rows: NDArray[Any]) -> LabelledMail:
        """Some of the messages, in this order."""
        names, digests, tokens = (
            tuple(column[i] for i in rows.tolist()) for column in (self.names, self.digests, self.tokens)
        )
        return replace(
            self, names=names, digests=digests, tokens=tokens, codes=self.codes[rows], times=self.times[rows]
        )

    def distinct(self) -> LabelledMail:
        """Each message once; those that are there under both labels not at all, since nobody knows what they are."""
        codes: dict[bytes, set[int]] = {}
        for digest, code in zip(self.digests, self.codes.tolist()):
            codes.setdefault(digest, set()).add(code)
        first = {digest: i for i, digest in reversed(list(enumerate(self.digests)))}
        kept = sorted(i for digest, i in first.items() if len(codes[digest]) == 1)
        return self if len(kept) == len(self) else self.take(np.array(kept, dtype=np.intp))

    def counts(self) -> tuple[int, int]:
        """How many messages are ham, and spam."""
        spam = int(self.codes.sum())
        return len(self) - spam, spam

    def sort_by_arrival(self) -> LabelledMail:
        """By time; a message without one stays behind the one before it."""
        if np.isnan(self.times).all():
            raise InputError(
                "no message tells when it came, by its Received or Date header or by where it lies, so there is no "
                "order to judge in. Hint: --order name"
            )
        times = self.times.copy()
        for code in range(len(LABELS)):
            mine = np.flatnonzero(self.codes == code)
            told = np.maximum.accumulate(np.where(np.isnan(times[mine]), -1, np.arange(len(mine))))
            times[mine] = np.where(told < 0, -np.inf, times[mine[np.maximum(told, 0)]])
        return self.take(np.argsort(times, kind="stable"))

    def sort_by_name(self) -> LabelledMail:
        """By the last part of their names, whatever folder they lie in."""
        order = sorted(range(len(self)), key=lambda i: (self.names[i].rpartition("/")[2], self.names[i]))
        return self.take(np.array(order, dtype=np.intp))


def read_labelled_mail(
    ham: Sequence[str], spam: Sequence[str], reading: TokenOptions = DEFAULT_OPTIONS, processes: int | None = 1,
    progress: Callable[[int], None] | None = None,
) -> LabelledMail:  # fmt: skip
    """All mail of some places (whatever `read_mail` reads), ham and spam."""
    codes: list[int] = []
    times: list[float] = []

    def given() -> Iterable[Named]:
        for code, path in chain(((0, path) for path in ham), ((1, path) for path in spam)):
            dated = source_kind(path) in DATED
            for found in read_mail(path):
                codes.append(code)
                told = arrival_time(found.raw), found.time if dated else None, math.nan
                times.append(next(time for time in told if time is not None))
                if progress is not None:
                    progress(len(codes))
                yield found.name, found.raw

    read = LabelledMail.read(given(), (), reading, processes)
    return replace(read, codes=np.array(codes, dtype=np.int32), times=np.array(times, dtype=np.float64))
