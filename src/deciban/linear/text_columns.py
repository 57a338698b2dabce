"""Texts beside other columns: what a text's words say, each trusted as it deserves, is one column's evidence.

The words are weighed by evidence regression of the text alone (`evidence.py`), once for good and once without each
fold: the trust in the text as a whole is fitted to what words say of rows whose labels they have not seen. Words that
were weighed beside the same text heard without the row's fold would tell the label by the difference of the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.linear.evidence_weights_of_words import EvidenceSettings, WordRows, best_C, evidence_in, trusted
from deciban.linear.penalty_choice import FEW_C
from deciban.linear.solvers.logistic_objective import expand_to_classes, score_count


@dataclass(frozen=True)
class Text:
    """The weight of each word for each class (K×V), the trust that all have in common, and C."""

    weights: Array
    common: float
    C: float
    chosen: bool

    @property
    def n_parameters(self) -> int:
        """Numbers fitted."""
        return score_count(len(self.weights)) * self.weights.shape[1] + 1


def weighed(rows: WordRows, alpha: float, C: float | str, fold: NDArray[np.int32]) -> Text:
    """The words of a text weighed by these rows; C may be chosen by these folds, evidence counted without each."""
    chosen = isinstance(C, str)
    own, seen = _of_seen(rows)
    at = best_C(own, EvidenceSettings(C="auto"), alpha, fold) if chosen and len(seen) > 1 else FEW_C
    return replace(_weighed(rows, alpha, at if isinstance(C, str) else float(C)), chosen=chosen)


def heard(rows: WordRows, alpha: float, C: float, fold: NDArray[np.int32]) -> Array:
    """What words say of each row, weighed without its fold: n×K."""
    out = np.zeros((len(rows.codes), rows.n_classes))
    for f in range(int(fold.max(initial=-1)) + 1):
        mine = np.flatnonzero(fold == f)
        out[mine] = rows.scored[mine] @ _weighed(rows.take(np.flatnonzero(fold != f)), alpha, C).weights.T
    return out


def _weighed(rows: WordRows, alpha: float, C: float) -> Text:
    """At this C; a class that has no rows has no words either."""
    own, seen = _of_seen(rows)
    weights = np.zeros((rows.n_classes, rows.scored.shape[1]))
    if len(seen) < 2:
        return Text(weights, 0.0, C, False)
    said = evidence_in(own, alpha)
    if not np.isfinite(said).all():
        raise InputError(
            "evidence without end cannot be weighed: with alpha=0 a word that a class never had is impossible in it. "
            "Hint: alpha > 0, or 'auto'"
        )
    found = trusted(own, said, EvidenceSettings(C=C), C)
    weights[seen] = expand_to_classes((found.trust * said).T)
    return Text(weights, found.common, C, False)


def _of_seen(rows: WordRows) -> tuple[WordRows, NDArray[np.intp]]:
    """The rows with the codes of classes that have any, and which these are."""
    seen, codes = np.unique(rows.codes, return_inverse=True)
    own = replace(rows, codes=codes.reshape(-1).astype(np.int32), n_classes=len(seen))
    return own, seen.astype(np.intp)
