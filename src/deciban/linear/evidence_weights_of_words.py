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
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.families.count_families import Multinomial
from deciban.generative import GenerativeModel
from deciban.ledger import Counts
from deciban.ledger.statistic import divide
from deciban.linear.fitted_model import Account, FittedModel, Setting
from deciban.linear.penalty_choice import (
    DEFAULT_C,
    FoldedRows,
    Refit,
    ScoreFold,
    choose_C_by_folds,
    compute_fold_losses,
    is_clearly_lower,
    sample_choice_rows,
    select_choice_folds,
)
from deciban.linear.solvers.logistic import LogisticFit, Shared, Sparse, fit_parts
from deciban.linear.solvers.logistic_objective import compute_residuals, contrast, count_scores, expand_to_classes
from deciban.scores import Linear, ScoreForm

INFINITE_EVIDENCE = (
    "infinite evidence cannot be weighed: with alpha=0 a {what} that a class never had is impossible in it. "
    "Hint: alpha > 0, or 'auto'"
)

MIN_CHOICE_ROWS = 200
"""The number of documents from which smoothing and n-grams are chosen; with fewer, losses of held-out ones are too
noisy."""

MAX_CHOICE_DOCUMENTS = 10_000
"""The greatest number of documents, a fixed sample of more, by which smoothing and n-grams are chosen."""

MIN_SAMPLE_DOCUMENTS = 1500
"""The least number of documents, where there are as many, by which smoothing and n-grams are chosen, however long the
documents and however many the classes are."""

MAX_CHOICE_PRODUCTS = 10_000_000
"""The number of words of the documents of the choice, times the number of scores: 2 500 stories of 52 classes, 2 800
posts of 20, 10 000 sentences of two. On training documents of eight corpora the smoothing that 3 000 documents chose
was that of all; pairs of neighbours in sentences, which need more, have two classes."""

FORM_TOL = 3e-2
"""The tolerance of the fits by which smoothing and n-grams are chosen: held-out losses differ by less than 0.001 nats
from those at a tolerance of 0.01."""

MAX_DOCUMENT_LOSS = 1e9
"""The loss of a document whose scores are not finite."""

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
        """The weight of each row, 1 where none were given."""
        return np.ones(len(self.codes)) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> "WordRows":
        """Return these rows only; `own_evidence` is None, as it depends on the counts of all rows."""
        weight = None if self.weight is None else self.weight[index]
        return replace(
            self, counted=self.counted[index], scored=self.scored[index], codes=self.codes[index], weight=weight,
            own_evidence=None,
        )  # fmt: skip

    def count_by_class(self) -> Array:
        """Return the weighted sum of the counts of each word in each class, K×V."""
        from scipy.sparse import csr_array

        n = len(self.codes)
        by_class = csr_array((self.weights, (self.codes, np.arange(n))), shape=(self.n_classes, n))
        return (by_class @ self.counted).toarray()

    def with_smoothing(self, smoothing: Smoothing) -> "WordRows":
        """Return the rows with `own_evidence` computed if the smoothing is `held_out`, else with None."""
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
    return contrast(np.ascontiguousarray(form.linear().weights.T), axis=1)


def compute_own_evidence(rows: WordRows, alpha: float) -> Array:
    """Compute the evidence, in nats, for its own class that each row loses if its own words are not counted.

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
    """Fit a weight for each word of the naive Bayes model; `fold`, by which C is chosen, is None where C is given."""
    C = float(settings.C) if fold is None else choose_C(rows, settings, smoothing, fold)
    E = extract_word_evidence(basis.solved.forms[0])
    found = fit_word_weights(rows.with_smoothing(smoothing), E, settings, C)
    weights, bias = found.weights, found.fit.bias
    if settings.beta is not None:
        weights = (1 - settings.beta) * np.abs(weights).mean() + settings.beta * weights
    weights *= E
    weights *= rows.size
    if settings.beta is not None:
        bias = balance_biases(np.asarray(rows.scored @ weights), bias, rows.codes, rows.weight)
    form, bias = Linear(expand_to_classes(weights.T), np.zeros(rows.n_classes)), expand_to_classes(bias)
    values: dict[str, Setting] = {
        "C": C, "C_chosen": fold is not None, "beta": settings.beta, "common": settings.common,
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


def choose_C(rows: WordRows, settings: EvidenceSettings, smoothing: Smoothing, fold: NDArray[np.int32]) -> float:
    """Choose C by the loss of each fold under weights and counts without it."""
    folded = FoldedRows(rows.codes, rows.weight, fold)
    return choose_C_by_folds(folded, partial(_prepare_folds, rows, settings, smoothing)).C


@dataclass(frozen=True)
class FormCandidate:
    """A candidate form of evidence regression with the losses of held-out rows, computed fold by fold on demand."""

    rows: WordRows
    smoothing: Smoothing
    settings: EvidenceSettings
    fold: NDArray[np.int32]
    fold_losses: list[Array] = field(default_factory=list)

    def compute_losses(self, n_folds: int) -> Array:
        """Compute the weighted losses, in nats, of the rows of the first folds; those of earlier calls are kept.

        C is `DEFAULT_C` where it is to be chosen, and the tolerance is `FORM_TOL` or more.
        """
        index, folded, folds = select_choice_folds(FoldedRows(self.rows.codes, self.rows.weight, self.fold), n_folds)
        C = DEFAULT_C if isinstance(self.settings.C, str) else float(self.settings.C)
        quick = replace(self.settings, tol=max(self.settings.tol, FORM_TOL))
        for f in folds[len(self.fold_losses) :]:
            refit, score = _prepare_folds(self.rows, quick, self.smoothing, index, folded)
            losses = compute_fold_losses(folded, f, score(f, refit(f, C, None)))
            self.fold_losses.append(np.nan_to_num(losses, nan=MAX_DOCUMENT_LOSS, posinf=MAX_DOCUMENT_LOSS))
        return np.concatenate([np.empty(0), *self.fold_losses[:n_folds]])

    def is_better_than(self, other: "FormCandidate") -> bool:
        """Return whether the loss of held-out rows is lower; a second fold is held out where it is not clearly so."""
        mine, others = self.compute_losses(1), other.compute_losses(1)
        if not (is_clearly_lower(mine, others) or is_clearly_lower(others, mine)):
            mine, others = self.compute_losses(2), other.compute_losses(2)
        return bool(mine.sum() < others.sum())


def choose_smoothing(
    rows: WordRows, settings: EvidenceSettings, candidates: Sequence[Smoothing], fold: NDArray[np.int32]
) -> FormCandidate:
    """Choose the candidate of the least loss of held-out rows; the first where there are few rows."""
    best, *others = (FormCandidate(rows, each, settings, fold) for each in candidates)
    for other in others if len(rows.codes) >= MIN_CHOICE_ROWS else ():
        best = other if other.is_better_than(best) else best
    return best


def sample_choice_documents(rows: WordRows) -> NDArray[np.intp]:
    """Return the indices, ascending, of the documents by which smoothing and n-grams are chosen: fewer of long ones.

    They are always the same, by their numbers; some more are of classes rare among them.
    """
    n, M = len(rows.codes), count_scores(rows.n_classes)
    wanted = MAX_CHOICE_PRODUCTS * n // max(rows.counted.nnz * M, 1)
    max_rows = min(max(wanted, MIN_SAMPLE_DOCUMENTS), MAX_CHOICE_DOCUMENTS)
    return sample_choice_rows(rows.codes, max_rows)


def _prepare_folds(
    rows: WordRows, settings: EvidenceSettings, smoothing: Smoothing, index: NDArray[np.intp], sample: FoldedRows
) -> tuple[Refit[WordWeightFit], ScoreFold[WordWeightFit]]:
    """Return a function that fits weights without a fold, and one that scores the rows of that fold, n×M.

    `sample` has the folds of the rows at `index`; only these rows are used.
    """
    some = rows if len(index) == len(rows.codes) else rows.take(index)

    @cache
    def count_others(f: int) -> tuple[WordRows, Array]:
        others = some.take(np.flatnonzero(sample.fold != f)).with_smoothing(smoothing)
        return others, count_word_evidence(others, smoothing.alpha)

    def refit(f: int, C: float, before: WordWeightFit | None) -> WordWeightFit:
        return fit_word_weights(*count_others(f), settings, C, before)

    def score(f: int, state: WordWeightFit) -> Array:
        mine, (_, evidence) = some.scored[np.flatnonzero(sample.fold == f)], count_others(f)
        return np.asarray(mine @ (state.weights * evidence)) * some.size + state.fit.bias

    return refit, score


def count_word_evidence(rows: WordRows, alpha: float) -> Array:
    """Compute each word's evidence (V×M) from the counts of these rows; zero for words that they do not have."""
    total = rows.count_by_class()
    present = np.flatnonzero(total.any(axis=0))
    theta = Multinomial(alpha).log_theta(Counts(total[:, present], np.ones((rows.n_classes, 1))))
    out = np.zeros((total.shape[1], count_scores(rows.n_classes)))
    out[present] = contrast(np.ascontiguousarray(theta.T), axis=1)
    return out
