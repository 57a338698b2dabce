"""Ledgers of several folds as one: class and fold are one label, so that one pass and one sum serve all folds."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from deciban.ledger import Bags, Ledger, Schema, Statistic
from deciban.ledger.schema import sort_classes
from deciban.ledger.statistic import place_classes


def join_fold(label: str, fold: int) -> str:
    """Return the label of a class within a fold."""
    return f"{fold}:{label}"


def split_by_fold(ledger: Ledger, schema: Schema, n_folds: int) -> list[Ledger]:
    """Return the ledger of each fold, with this schema, from one in which class k of fold f is class k·F + f."""
    index = np.arange(len(schema.classes)) * n_folds
    return [
        Ledger(schema, ledger.rows[own], tuple(part.take_classes(own) for part in ledger.parts), ledger.squares[own])
        for own in (index + f for f in range(n_folds))
    ]


def split_joined_folds(ledger: Ledger, n_folds: int) -> tuple[Ledger, list[Ledger]]:
    """Return the ledger of all rows and that of each fold, of one whose labels are those of `join_fold`."""
    pairs = [(label.partition(":")[2], int(label.partition(":")[0])) for label in map(str, ledger.schema.classes)]
    names = sort_classes({label for label, _ in pairs})
    code = {label: k for k, label in enumerate(names)}
    places, n = np.array([code[label] * n_folds + fold for label, fold in pairs]), len(names) * n_folds
    if not np.array_equal(places, np.arange(n)):  # some classes may be absent from some folds
        parts = tuple(part.map_classes(places, n) for part in ledger.parts)
        rows, squares = (place_classes(own, places, n) for own in (ledger.rows, ledger.squares))
        ledger = Ledger(ledger.schema, rows, parts, squares)
    folds = split_by_fold(ledger, Schema(tuple(names), ledger.schema.blocks), n_folds)
    return _add_folds(folds, ledger.parts), folds


def _add_folds(folds: Sequence[Ledger], by_fold: Sequence[Statistic]) -> Ledger:
    """Return the ledger of all rows: the sum of the folds; texts are added up within the statistics of all folds.

    Adding up the words of the folds, each with most of them, would take ten times as long.
    """
    if len(folds) == 1:
        return folds[0]
    texts = [part.sum_consecutive_classes(len(folds)) for part in by_fold if isinstance(part, Bags)]
    n = len(by_fold) - len(texts)
    without_texts: list[Sequence[int] | None] = [*[None] * n, *[[]] * len(texts)]
    dense = reduce(lambda a, b: a + b, (fold.choose(without_texts) for fold in folds))
    return replace(dense, schema=folds[0].schema, parts=(*dense.parts, *texts))
