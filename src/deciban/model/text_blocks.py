"""Text columns while a table is gathered: words counted by class and fold, then told apart by fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deciban._typing import Array, Codes
from deciban.ledger import Bags, Vocabulary
from deciban.text import Documents, WordCounter, Words


@dataclass(frozen=True)
class Counted:
    """The words of a text column, and what was counted of them: in each fold, and in all."""

    vocabulary: Vocabulary | None
    folds: Sequence[Bags]
    total: Bags


class Texts:
    """The words of each text column; a row of class k in fold f is of class k·F + f."""

    def __init__(self, words: Words, n_columns: int) -> None:
        self.counters = [WordCounter(words) for _ in range(n_columns)]

    def count(self, columns: Sequence[Documents], codes: Codes, weight: Array | None, threads: int) -> None:
        """Take in one block of rows."""
        for counter, documents in zip(self.counters, columns, strict=True):
            counter.count(documents, codes, weight, threads)

    @property
    def size(self) -> int:
        """About how many numbers are kept."""
        return sum(counter.size for counter in self.counters)

    def give_up_folds(self, n_classes: int, n_folds: int) -> None:
        """From now on class k·F + f is class k."""
        for counter in self.counters:
            counter.merge_classes(np.repeat(np.arange(n_classes, dtype=np.int32), n_folds))

    def counted(self, n_classes: int, order: Sequence[int], n_folds: int) -> list[Counted]:
        """What was counted of each column, with these classes alone, in this order; nothing is left here after it."""
        found = []
        while self.counters:
            vocabulary, bags = self.counters.pop(0).bags(n_classes * n_folds)  # which frees what it counted with
            found.append(_by_fold(vocabulary, bags, order, n_folds))
        return found


def _by_fold(vocabulary: Vocabulary | None, bags: Bags, order: Sequence[int], n_folds: int) -> Counted:
    index = (np.array(order, dtype=np.intp)[:, None] * n_folds + np.arange(n_folds)).ravel()
    if not np.array_equal(index, np.arange(bags.n_classes)):
        bags = bags.take(index)
    if n_folds == 1:
        return Counted(vocabulary, [bags], bags)
    folds = [bags.take(np.arange(f, len(index), n_folds)) for f in range(n_folds)]
    # adding up the ledgers of the folds, each with most of the words, would take ten times as long
    return Counted(vocabulary, folds, bags.pool_classes(n_folds))
