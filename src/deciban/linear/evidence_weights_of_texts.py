"""Evidence regression of a text in a table: its words are weighed by evidence regression of the text alone.

A text is one column. Its words are weighed once on all rows and once without each fold. The weight of the text as a
whole is fitted to evidence of rows whose labels its words have not seen. If words weighed on all rows were used
together with evidence computed without the row's fold, the difference of the two would reveal the label.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError
from deciban.linear.evidence_weights_of_words import (
    HELD_OUT_ALPHA,
    INFINITE_EVIDENCE,
    EvidenceSettings,
    Smoothing,
    WordRows,
    choose_C,
    choose_smoothing,
    count_word_evidence,
    fit_word_weights,
    sample_choice_documents,
)
from deciban.linear.penalty_choice import DEFAULT_C
from deciban.linear.solvers.logistic_objective import count_scores, expand_to_classes


@dataclass(frozen=True)
class TextWeights:
    """The coefficient of each word of a text for each class (`weights`, K×V: evidence weight × evidence).

    `common` is the evidence weight common to all words, `chosen` whether C was chosen by cross-validation.
    """

    weights: Array
    common: float
    C: float
    chosen: bool
    smoothing: Smoothing

    @property
    def n_parameters(self) -> int:
        """The number of fitted parameters: an evidence weight of each word in each score, and the common one."""
        return count_scores(len(self.weights)) * self.weights.shape[1] + 1


def fit_text_weights(rows: WordRows, alpha: float, C: float | str, fold: NDArray[np.int32]) -> TextWeights:
    """Fit the weights of a text's words to these rows; the smoothing, and C where it is "auto", by these folds."""
    chosen = isinstance(C, str)
    own, seen = _keep_seen_classes(rows)
    best, smoothing = DEFAULT_C if isinstance(C, str) else float(C), Smoothing(alpha, False)
    if len(seen) > 1:
        candidates, index = [smoothing, Smoothing(alpha * HELD_OUT_ALPHA, True)], sample_choice_documents(own)
        smoothing = choose_smoothing(own.take(index), EvidenceSettings(C=best), candidates, fold[index]).smoothing
        best = choose_C(own, EvidenceSettings(C="auto"), smoothing, fold) if chosen else best
    return replace(_fit_text_weights(rows, smoothing, best), chosen=chosen)


def compute_out_of_fold_evidence(rows: WordRows, fitted: TextWeights, fold: NDArray[np.int32]) -> Array:
    """Compute the evidence of each row's text by words weighed without its fold, n×K; zero for rows in no fold."""
    out = np.zeros((len(rows.codes), rows.n_classes))
    for f in range(int(fold.max(initial=-1)) + 1):
        mine = np.flatnonzero(fold == f)
        others = _fit_text_weights(rows.take(np.flatnonzero(fold != f)), fitted.smoothing, fitted.C)
        out[mine] = rows.scored[mine] @ others.weights.T
    return out


def _fit_text_weights(rows: WordRows, smoothing: Smoothing, C: float) -> TextWeights:
    """Fit the coefficients of words at this C; a class without rows has zeros."""
    own, seen = _keep_seen_classes(rows)
    weights = np.zeros((rows.n_classes, rows.scored.shape[1]))
    if len(seen) < 2:
        return TextWeights(weights, 0.0, C, False, smoothing)
    evidence = count_word_evidence(own, smoothing.alpha)
    if not np.isfinite(evidence).all():
        raise InputError(INFINITE_EVIDENCE.format(what="word"))
    found = fit_word_weights(own.with_smoothing(smoothing), evidence, EvidenceSettings(C=C), C)
    weights[seen] = expand_to_classes((found.weights * evidence).T) * rows.size
    return TextWeights(weights, found.common, C, False, smoothing)


def _keep_seen_classes(rows: WordRows) -> tuple[WordRows, NDArray[np.intp]]:
    """Return the rows with codes renumbered to the classes that have rows, and the former codes of these."""
    seen, codes = np.unique(rows.codes, return_inverse=True)
    own = replace(rows, codes=codes.reshape(-1).astype(np.int32), n_classes=len(seen))
    return own, seen.astype(np.intp)
