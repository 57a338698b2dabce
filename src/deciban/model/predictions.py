"""Predictions of the rows of a table as batches of columns, and their probabilities as they are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from deciban._lazy import pa
from deciban._typing import Array
from deciban.errors import InputError
from deciban.sources.row_views import CopyingView

if TYPE_CHECKING:
    from deciban.model.model import Model
    from deciban.scores.posterior import Decision

UNDECIDED = "\0undecided"
"""The key of undecided rows among the counted predictions; no class has this name."""

MAX_EXACT_POWER = 22
"""The greatest power of ten that a double represents exactly."""

MAX_DOUBLE_DIGITS = 15
"""The number of decimal digits that every double has."""


class Predictions:
    """Batches of predictions: the copied columns, the class, its probability, and on request that of every class."""

    def __init__(
        self, model: Model, view: CopyingView, proba: bool, rule: Decision | None, reject_novel: float | None,
        is_rounded: bool,
    ) -> None:  # fmt: skip
        self.model, self.view, self.proba, self.is_rounded = model, view, proba, is_rounded
        self.rule, self.reject_novel = rule, reject_novel
        self.monitor = model._make_unseen_monitor(numbers=True)
        self.labels = pa.array(model._labels)
        added = ["prediction", "probability", *(f"p({label})" for label in model.classes if proba)]
        for name in view.copied:
            if name in added:
                raise InputError(
                    f"{view.name} has a column {name!r}, which is a name of the result. Hint: --keep the others"
                )
        types = [array.type for array in view.empty_columns()] if view.copied else []
        types += [self.labels.type, *([pa.float64()] * (len(added) - 1))]
        self.schema = pa.schema(list(zip([*view.copied, *added], types)))

    def stream(self, allow_missing: bool, n_predicted: Counter[str]) -> Iterator[Any]:
        """Yield a batch for each block of rows; add the rows of each prediction, or `UNDECIDED`, to `n_predicted`.

        `allow_missing`: columns of the model may be absent.
        """
        for batches, parts in self.model._read_blocks(self.view, allow_missing, self.monitor):
            log_p = self.model._score(parts, "log_posterior")
            winner = self.model._decide(parts, log_p, self.rule, self.reject_novel)
            counts = np.bincount(winner + 1, minlength=len(self.labels) + 1).tolist()
            n_predicted.update(dict(zip([UNDECIDED, *map(str, self.model.classes)], counts)))
            p, undecided = (round_probabilities if self.is_rounded else limit_probabilities)(log_p), winner < 0
            columns = self.view.copied_columns(batches)
            columns.append(self.labels.take(pa.array(winner, mask=undecided)))
            columns.append(pa.array(p[np.arange(len(p)), winner], mask=undecided))
            if self.proba:
                columns += [pa.array(np.ascontiguousarray(p[:, k])) for k in range(p.shape[1])]
            cast = [column.cast(field.type) for column, field in zip(columns, self.schema)]
            yield pa.RecordBatch.from_arrays(cast, schema=self.schema)


def limit_probabilities(log_p: Array) -> Array:
    """Return p(k|x) of each row from ln p(k|x): 1 is only the class that alone is possible.

    >>> import numpy as np
    >>> limit_probabilities(np.array([[0.0, -900.0], [0.0, -np.inf]])).tolist()
    [[0.9999999999999999, 0.0], [1.0, 0.0]]
    """
    is_certain = np.isfinite(log_p).sum(axis=1, keepdims=True) == 1
    p = np.exp(log_p)
    return np.where(is_certain, p, np.minimum(p, np.nextafter(1.0, 0.0)))


def round_probabilities(log_p: Array) -> Array:
    """Return p(k|x) of each row from ln p(k|x), rounded to six places and to so many that none becomes 0 or 1.

    A small probability has four significant digits, one near 1 has two of 1 − p. What is impossible is 0; 1 is the
    class that alone is possible.

    >>> import numpy as np
    >>> round_probabilities(np.log([[0.9999914152, 0.0000085848]])).tolist()
    [[0.9999914, 8.585e-06]]
    >>> round_probabilities(np.array([[0.0, -900.0], [0.0, -np.inf]])).tolist()
    [[0.9999999999999999, 2.225e-308], [1.0, 0.0]]
    """
    is_possible = np.isfinite(log_p)
    is_certain = is_possible & (is_possible.sum(axis=1, keepdims=True) == 1)
    p = np.clip(np.exp(log_p), np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))
    digits = np.where(p < 0.5, 3 - np.floor(np.log10(p)), 1 - np.floor(np.log10(1.0 - p))).astype(np.intp)
    powers = np.array([float(f"1e{i}") for i in range(MAX_EXACT_POWER + 1)])  # a whole number divided by one of these
    scale = powers[np.clip(digits, 6, MAX_EXACT_POWER)]  # is the number nearest to its decimal fraction
    rounded = np.where((p < 0.5) | (digits <= MAX_DOUBLE_DIGITS), np.rint(p * scale) / scale, p)
    is_tiny = digits > MAX_EXACT_POWER
    rounded[is_tiny] = [float(f"{value:.3e}") for value in p[is_tiny].tolist()]
    return np.where(is_certain, 1.0, np.where(is_possible, rounded, 0.0))
