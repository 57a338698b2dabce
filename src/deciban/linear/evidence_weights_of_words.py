"""Evidence regression of words: logistic regression whose features are each word's evidence under naive Bayes.

    score_k = b_k + Σ_j t_jk e_jk z_j,   e_jk = ln θ_kj − mean_c ln θ_cj,   z_j = x_j · c/|x|

with one evidence weight t (the attribute `trust_`) for each word of two classes, in e_j = ln θ_1j − ln θ_0j. They are
fitted so that repeated evidence counts once. Their penalty is ½/C (Σ (t_jk − t̄)² + ρ V t̄²), where t̄ is the weight
common to all words. Weight 1 and b = ln π is naive Bayes: of documents that are all as long as the usual one, c, or
where rows are scored as they were counted, of these very ones.

A document's own words are among the counts, so its evidence for its own class is too strong. With `held_out` the
common weight is fitted to evidence by the counts of all other documents. Measured by held-out log-loss (one of three
folds of the training documents, C = 1): in R52 0.187 with it and α = 0.1, 0.255 without it and α = 1; in sentences of
movie reviews 0.460 and 0.435. So the two are compared by cross-validation (`choose_smoothing`). Logarithms of counts
instead of presence: 0.255 against 0.352 in R52, 0.435 against 0.438 in sentences.

A text in a table is one column: its words are weighed by evidence regression of the text alone, once on all rows and
once without each fold. The weight of the text as a whole is fitted to evidence of rows whose labels its words have
not seen. If words weighed on all rows were used together with evidence computed without the row's fold, the
difference of the two would reveal the label.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.errors import InputError
from deciban.families.count_families import Multinomial
from deciban.generative import GenerativeModel
from deciban.ledger import Counts
from deciban.ledger.statistic import divide
from deciban.linear.fitted_model import Account, FittedModel, Setting
from deciban.linear.penalty_choice import (
    CHOICE_TOL,
    DEFAULT_C,
    FoldedRows,
    Refit,
    ScoreFold,
    choose_C_by_folds,
    select_choice_folds,
    sum_fold_loss,
)
from deciban.linear.solvers.logistic import LogisticFit, Shared, Sparse, fit_parts
from deciban.linear.solvers.logistic_objective import compute_residuals, contrast, count_scores, expand_to_classes
from deciban.scores import Linear, ScoreForm, SparseLinear

INFINITE_EVIDENCE = (
    "infinite evidence cannot be weighed: with alpha=0 a {what} that a class never had is impossible in it. "
    "Hint: alpha > 0, or 'auto'"
)

MIN_CHOICE_ROWS = 200
"""The number of documents from which smoothing and n-grams are chosen; with fewer, losses of held-out ones are too
noisy."""

MAX_CHOICE_DOCUMENTS = 10_000
"""The number of documents, a fixed sample of more, by which smoothing and n-grams are chosen."""

SMOOTHING_FOLDS = 2
"""The number of folds, of those that choose C, by which the smoothing is chosen."""

HELD_OUT_ALPHA = 0.1
"""The pseudo-count, as a share of the usual one, where the common weight is fitted to held-out evidence: there words
of few documents do not count for more than they are worth, and rare classes need it small."""

BALANCE_TOL = 1e-10
"""The greatest change of a bias at which biases are balanced."""

MAX_BALANCE_ROUNDS = 1000
"""The greatest number of rounds in which biases are balanced."""


class Smoothing(NamedTuple):
    """The pseudo-count of words, and whether the common weight is fitted to evidence without the document's own."""

    alpha: float
    held_out: bool


@dataclass(frozen=True)
class EvidenceSettings:
    """Settings of evidence regression.

    `common` is ρ (None: no common weight). `beta` (None: 1) is the share of each word's own weight in its final one;
    the remainder is the mean absolute weight, and the biases are balanced again.
    """

    C: float | str = 1.0
    common: float | None = 0.1
    beta: float | None = None
    tol: float = 1e-3  # so 10⁻⁶ of the objective is left to gain; far earlier, raw mail was ranked worse
    max_iter: int = 200


@dataclass(frozen=True)
class WordRows:
    """Rows of words (CSR), as counted and as scored; class codes, weights, and the factor `size` of scored rows."""

    counted: Any
    scored: Any
    codes: Codes
    weight: Array | None
    n_classes: int
    size: float = 1.0
    threads: int = 1
    own_evidence: Array | None = None
    """The part of each row's evidence for its own class that is due to its own words; None: it is not left out."""

    @property
    def weights(self) -> Array:
        """The weights as an array."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> "WordRows":
        """Return these rows only, with their own evidence among their counts."""
        weight = None if self.weight is None else self.weight[index]
        return replace(
            self, counted=self.counted[index], scored=self.scored[index], codes=self.codes[index], weight=weight,
            own_evidence=None,
        )  # fmt: skip

    def count_by_class(self) -> Array:
        """Return the sums of the counts of each class, K×V."""
        from scipy.sparse import csr_array

        n = len(self.codes)
        by_class = csr_array((self.weights, (self.codes, np.arange(n))), shape=(self.n_classes, n))
        return (by_class @ self.counted).toarray()

    def with_smoothing(self, smoothing: Smoothing) -> "WordRows":
        """Return the rows with their own evidence left out where the smoothing says so."""
        if not smoothing.held_out:
            return replace(self, own_evidence=None)
        return replace(self, own_evidence=compute_own_evidence(self, smoothing.alpha))


@dataclass(frozen=True)
class WordWeightFit:
    """The weight of each word (V×M, M scores), the weight common to all, and the fit with the bias of each score."""

    weights: Array
    common: float
    fit: LogisticFit

    @property
    def start(self) -> tuple[list[Array], Array]:
        """The start of a search at another C: each word's deviation from the common weight, that weight, the bias."""
        return [(self.weights - self.common).T, np.array([self.common])], self.fit.bias


def extract_word_evidence(form: ScoreForm) -> Array:
    """Return each word's evidence under naive Bayes, V×M: relative to the mean of classes, of two the log-odds."""
    if isinstance(form, SparseLinear):
        evidence = np.empty((len(form.base), form.n_classes))
        evidence[:] = form.slope
        evidence += np.outer(form.base, form.scale)
        evidence[form.feature, form.class_code] += form.delta
        if form.mute is not None:
            evidence[form.mute] = 0.0
    else:
        evidence = np.ascontiguousarray(form.linear().weights.T)
    return contrast(evidence, axis=1)


def compute_own_evidence(rows: WordRows, alpha: float) -> Array:
    """Compute the evidence for its own class that each row loses if its own words are not counted.

    ln θ_kv changes from ln((n_v + α)/(N + αV)) to ln((n_v − x_v + α)/(N − Σx + αV)) in the row's class k.
    """
    X, Z, k = rows.counted, rows.scored, rows.codes
    n, total, w = X.shape[0], rows.count_by_class(), rows.weights
    V = int(total.any(axis=0).sum())
    row = np.repeat(np.arange(n), np.diff(X.indptr))
    own, mine = total[k[row], X.indices], X.data * w[row]
    by_word = np.log(np.maximum(own - mine, 0.0) + alpha) - np.log(own + alpha)
    sums, length = total.sum(axis=1)[k], np.bincount(row, weights=mine, minlength=n)
    by_length = np.log(np.maximum(sums - length, 0.0) + alpha * V) - np.log(sums + alpha * V)
    lost = np.bincount(row, weights=Z.data * (by_word - by_length[row]), minlength=n)
    return np.asarray(-rows.size * lost, dtype=np.float64)


def fit_evidence_regression(
    basis: GenerativeModel, rows: WordRows, settings: EvidenceSettings, smoothing: Smoothing,
    fold: NDArray[np.int32] | None,
) -> FittedModel:  # fmt: skip
    """Fit a weight for each word of the naive Bayes model; `fold` holds out rows where C is to be chosen."""
    C = settings.C if not isinstance(settings.C, str) else choose_C(rows, settings, smoothing, fold)
    E = extract_word_evidence(basis.solved.forms[0])
    found = fit_word_weights(rows.with_smoothing(smoothing), E, settings, float(C))
    weights, bias = found.weights, found.fit.bias
    if settings.beta is not None:
        weights = (1 - settings.beta) * np.abs(weights).mean() + settings.beta * weights
    weights *= E
    weights *= rows.size
    if settings.beta is not None:
        bias = balance_biases(np.asarray(rows.scored @ weights), bias, rows.codes, rows.weight)
    form, bias = Linear(expand_to_classes(weights.T), np.zeros(rows.n_classes)), expand_to_classes(bias)
    values: dict[str, Setting] = {
        "C": float(C), "C_chosen": isinstance(settings.C, str), "beta": settings.beta, "common": settings.common,
        "common_trust": found.common, "size": rows.size, "held_out": smoothing.held_out,
    }  # fmt: skip
    n_parameters = found.weights.size + found.fit.bias.size + (settings.common is not None)
    account = Account.of_fit("evidence", values, found.fit, n_parameters)
    return FittedModel.of(basis.schema, [form], basis.solved.needs, bias, basis.ledger.rows, account, basis)


def fit_word_weights(
    rows: WordRows, evidence: Array, settings: EvidenceSettings, C: float, start: WordWeightFit | None = None
) -> WordWeightFit:
    """Fit the weights of words with this evidence (V×M) to these rows at this C; `start` is a fit at another C."""
    V = max(int((evidence != 0).any(axis=1).sum()), 1)
    c = 0.0 if settings.common is None else 1 / (settings.common * V)
    E = evidence * rows.size
    parts: list[Any] = [Sparse(rows.scored, 1 / C, scale=E.T)]
    if c:  # the weight common to all words is one more weight, of their total evidence
        total = expand_to_classes(np.asarray(rows.scored @ E), axis=1)
        if rows.own_evidence is not None:
            total[np.arange(len(rows.codes)), rows.codes] -= rows.own_evidence
        parts.append(Shared(total[:, None, :], 1 / (C * c)))
    first = None if start is None else (start.start[0][: len(parts)], start.start[1])
    fit = fit_parts(
        parts, rows.codes, rows.weight, rows.n_classes, start=first,
        tol=settings.tol, max_iter=settings.max_iter, threads=rows.threads,
    )  # fmt: skip
    weights, common = np.ascontiguousarray(fit.parts[0].T), float(fit.parts[1][0]) if c else 0.0
    weights += common
    return WordWeightFit(weights, common, replace(fit, parts=()))


def balance_biases(scores: Array, bias: Array, codes: Codes, weight: Array | None) -> Array:
    """Return the biases under which the expected weight of every class equals its actual weight."""
    w = np.ones(len(codes)) if weight is None else weight
    M = scores.shape[1]
    actual = np.bincount(codes, weights=w, minlength=max(M, 2)).astype(np.float64)[-M:]
    for _ in range(MAX_BALANCE_ROUNDS):
        excess = w @ compute_residuals(scores + bias, codes)
        step = np.log(divide(actual, actual + excess, 1.0))
        if M == 1:
            step -= np.log(divide(w.sum() - actual, w.sum() - actual - excess, 1.0))
        bias = bias + step
        if np.abs(step).max() < BALANCE_TOL:
            break
    return bias


def choose_C(
    rows: WordRows, settings: EvidenceSettings, smoothing: Smoothing, fold: NDArray[np.int32] | None
) -> float:
    """Choose C by the loss of each fold under weights and counts without it; `DEFAULT_C` without folds."""
    if fold is None:
        return DEFAULT_C
    folded = FoldedRows(rows.codes, rows.weight, fold)
    return choose_C_by_folds(folded, partial(_prepare_folds, rows, settings, smoothing, None)).C


def choose_smoothing(
    rows: WordRows, settings: EvidenceSettings, candidates: Sequence[Smoothing], fold: NDArray[np.int32] | None
) -> Smoothing:
    """Choose the candidate of the least loss of held-out rows, at the given C; the first where there are few rows."""
    if fold is None or len(candidates) == 1 or len(rows.codes) < MIN_CHOICE_ROWS:
        return candidates[0]
    return candidates[int(np.argmin(compute_fold_losses(rows, settings, candidates, fold)))]


def compute_fold_losses(
    rows: WordRows, settings: EvidenceSettings, candidates: Sequence[Smoothing], fold: NDArray[np.int32]
) -> list[float]:
    """Compute the loss of held-out rows by each candidate, at the given C.

    Two of the folds are held out: the losses of candidates lie far apart, or it does not matter.
    """
    index, folded, folds = select_choice_folds(FoldedRows(rows.codes, rows.weight, fold), SMOOTHING_FOLDS)
    C = DEFAULT_C if isinstance(settings.C, str) else float(settings.C)
    quick = replace(settings, tol=max(settings.tol, CHOICE_TOL))
    losses = []
    for candidate in candidates:
        refit, score = _prepare_folds(rows, quick, candidate, folds, index, folded)
        losses.append(sum(sum_fold_loss(folded, f, score(f, refit(f, C, None))) for f in folds))
    return losses


def _prepare_folds(
    rows: WordRows, settings: EvidenceSettings, smoothing: Smoothing, folds: Sequence[int] | None,
    index: NDArray[np.intp], sample: FoldedRows,
) -> tuple[Refit[WordWeightFit], ScoreFold[WordWeightFit]]:  # fmt: skip
    """Return functions that fit weights without a fold (of `folds`, None: of all), and score the rows of it."""
    some = rows if len(index) == len(rows.codes) else rows.take(index)
    used = range(int(sample.fold.max()) + 1) if folds is None else folds
    others = {f: some.take(np.flatnonzero(sample.fold != f)).with_smoothing(smoothing) for f in used}
    evidence = {f: count_word_evidence(each, smoothing.alpha) for f, each in others.items()}

    def refit(f: int, C: float, before: WordWeightFit | None) -> WordWeightFit:
        return fit_word_weights(others[f], evidence[f], settings, C, before)

    def score(f: int, state: WordWeightFit) -> Array:
        mine = some.scored[np.flatnonzero(sample.fold == f)]
        return np.asarray(mine @ (state.weights * evidence[f])) * some.size + state.fit.bias

    return refit, score


def count_word_evidence(rows: WordRows, alpha: float) -> Array:
    """Compute each word's evidence (V×M) from the counts of these rows; zero for words that they do not have."""
    total = rows.count_by_class()
    present = np.flatnonzero(total.any(axis=0))
    theta = Multinomial(alpha).log_theta(Counts(total[:, present], np.ones((rows.n_classes, 1))))
    out = np.zeros((total.shape[1], count_scores(rows.n_classes)))
    out[present] = contrast(np.ascontiguousarray(theta.T), axis=1)
    return out


@dataclass(frozen=True)
class TextWeights:
    """The weight of each word of a text for each class (K×V), the weight common to all, C and the smoothing."""

    weights: Array
    common: float
    C: float
    chosen: bool
    smoothing: Smoothing

    @property
    def n_parameters(self) -> int:
        """The number of fitted parameters."""
        return count_scores(len(self.weights)) * self.weights.shape[1] + 1


def fit_text_weights(rows: WordRows, alpha: float, C: float | str, fold: NDArray[np.int32]) -> TextWeights:
    """Fit the weights of a text's words to these rows; the smoothing, and C where it is "auto", by these folds."""
    chosen = isinstance(C, str)
    own, seen = _keep_seen_classes(rows)
    best, smoothing = DEFAULT_C if isinstance(C, str) else float(C), Smoothing(alpha, False)
    if len(seen) > 1:
        candidates = smoothing, Smoothing(alpha * HELD_OUT_ALPHA, True)
        smoothing = choose_smoothing(own, EvidenceSettings(C=best), candidates, fold)
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
    """Fit the weights at this C; a class without rows has zero weights."""
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
    """Return the rows with codes among the classes that have rows, and these classes."""
    seen, codes = np.unique(rows.codes, return_inverse=True)
    own = replace(rows, codes=codes.reshape(-1).astype(np.int32), n_classes=len(seen))
    return own, seen.astype(np.intp)
