"""Trust in words: logistic regression whose features are what each word says under naive Bayes.

    score_k = b_k + Σ_j t_jk e_jk z_j,   e_jk = ln θ_kj − mean_c ln θ_cj,   z_j = x_j · c/|x|

of two classes with one trust for each word, in e_j = ln θ_1j − ln θ_0j. The trusts are fitted so that evidence told
twice is counted once: ½/C (Σ (t_jk − t̄)² + ρ V t̄²) holds them back, t̄ is the trust that all words have in common.
Trust 1 and b = ln π is naive Bayes: of documents that are all as long as the usual one, c, or where rows are scored
as they were counted, of these very ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban.belief import Belief
from deciban.discriminative.account import Account, Setting
from deciban.discriminative.choosing import chosen_C
from deciban.discriminative.learned import Learned
from deciban.discriminative.logistic import Shared, Sparse, fitted_parts
from deciban.discriminative.objective import Codes, losses, residuals
from deciban.discriminative.span_search import SpanFit, search
from deciban.discriminative.spans import Span
from deciban.families.multinomial import Multinomial
from deciban.ledger import Counts
from deciban.ledger.shuffled import some_of
from deciban.ledger.statistic import Array, divide
from deciban.scores import Linear, ScoreForm, SparseLinear

LEAST_C, MOST_C = 1e-3, 1e3
"""Between these C is sought: a trust is a number about 1, or less."""

ENOUGH_ROWS = 20_000
"""Rows that C is chosen by at most."""

MOST_NUMBERS = 1 << 22
"""Of more rows times scores than this, weights of words are looked for if these are fewer."""

BALANCED, MOST_ROUNDS = 1e-10, 1000
"""How near the classes' shares come when biases are balanced, and after how many rounds that must be enough."""


@dataclass(frozen=True)
class Settings:
    """How trust is to be fitted."""

    C: float | str = 1.0
    common: float | None = 0.1
    beta: float | None = None
    tol: float = 1e-4  # at 1e-3 raw mail was ranked twice as badly, with no more errors: docs/lab/evidence.md
    max_iter: int = 200


@dataclass(frozen=True)
class Rows:
    """Rows of words (CSR): as counted, and as scored; classes, weights, and what a scored row is long."""

    counted: Any
    scored: Any
    codes: Codes
    weight: Array | None
    n_classes: int
    size: float = 1.0
    threads: int = 1

    def take(self, index: NDArray[np.intp]) -> Rows:
        """These rows alone."""
        weight = None if self.weight is None else self.weight[index]
        return replace(
            self, counted=self.counted[index], scored=self.scored[index], codes=self.codes[index], weight=weight
        )


@dataclass(frozen=True)
class Trusted:
    """The trust in each word (V×M, M scores), the bias of each score, and the search that found them."""

    trust: Array
    common: float
    fit: SpanFit


def evidence_of(form: ScoreForm) -> Array:
    """What each word says under naive Bayes, V×M: for each class beside the mean of all, of two the log-odds."""
    if isinstance(form, SparseLinear):
        said = np.empty((len(form.base), form.n_classes))
        said[:] = form.slope
        said += np.outer(form.base, form.scale)
        said[form.feature, form.klass] += form.delta
        if form.mute is not None:
            said[form.mute] = 0.0
    else:
        said = np.ascontiguousarray(form.linear().weights.T)
    return _centred(said)


def _centred(said: Array) -> Array:
    if said.shape[1] == 2:
        return said[:, 1:] - said[:, :1]
    said -= said.mean(axis=1, keepdims=True)
    return said


def regress(basis: Belief, rows: Rows, settings: Settings, alpha: float, fold: NDArray[np.int32] | None) -> Learned:
    """The naive belief, with as much trust in each of its words as these rows say they deserve.

    `fold` says which rows are left out together where C is to be chosen.
    """
    C = settings.C if not isinstance(settings.C, str) else best_C(rows, settings, alpha, fold)
    E = evidence_of(basis.solved.forms[0])
    found = trusted(rows, E, settings, float(C))
    weights, bias = found.trust, found.fit.bias
    if settings.beta is not None:
        weights = (1 - settings.beta) * np.abs(weights).mean() + settings.beta * weights
    weights *= E
    weights *= rows.size
    if settings.beta is not None:
        bias = balanced(np.asarray(rows.scored @ weights), bias, rows.codes, rows.weight)
    if rows.n_classes == 2:  # the log-odds of the second class: the first has the score 0
        weights, bias = np.column_stack([np.zeros(len(weights)), weights]), np.append(0.0, bias)
    form = Linear(weights.T, np.zeros(rows.n_classes))
    account = _account(found, settings, float(C), rows)
    return Learned.of(basis.schema, [form], basis.solved.needs, bias, basis.ledger.rows, account, basis)


def _account(found: Trusted, settings: Settings, C: float, rows: Rows) -> Account:
    told: dict[str, Setting] = {
        "C": C, "C_chosen": isinstance(settings.C, str), "beta": settings.beta, "common": settings.common,
        "common_trust": found.common, "size": rows.size,
    }  # fmt: skip
    fit, n_parameters = found.fit, found.trust.size + found.fit.bias.size + (settings.common is not None)
    return Account("evidence", told, fit.objective, fit.loss, fit.n_iter, fit.converged, False, n_parameters)


def trusted(rows: Rows, evidence: Array, settings: Settings, C: float, start: Trusted | None = None) -> Trusted:
    """The trusts that these rows are least surprised by, at this C."""
    V = max(int((evidence != 0).any(axis=1).sum()), 1)
    c = 0.0 if settings.common is None else 1 / (settings.common * V)
    n, M = rows.scored.shape[0], evidence.shape[1]
    E = evidence * rows.size
    if n > rows.scored.shape[1] and n * M > MOST_NUMBERS:
        return _in_words(rows, E, settings, C, c)
    span = Span(rows.scored, E, c)
    fit = search(
        span, rows.codes, rows.weight, 1 / C, start=None if start is None else start.fit,
        tol=settings.tol, max_iter=settings.max_iter, threads=rows.threads,
    )  # fmt: skip
    return Trusted(span.trust(fit.a), span.common_trust(fit.a), fit)


def _in_words(rows: Rows, E: Array, settings: Settings, C: float, c: float) -> Trusted:
    """The same where there are fewer words than rows: their weights themselves are looked for."""
    parts: list[Any] = [Sparse(rows.scored, 1 / C, scale=np.ascontiguousarray(E.T))]
    if c:
        said = np.asarray(rows.scored @ E)
        said = np.column_stack([np.zeros(len(said)), said]) if E.shape[1] == 1 else said
        parts.append(Shared(said[:, None, :], 1 / (C * c)))
    fit = fitted_parts(
        parts, rows.codes, rows.weight, rows.n_classes,
        tol=settings.tol, max_iter=settings.max_iter, threads=rows.threads,
    )  # fmt: skip
    common = float(fit.parts[1][0]) if c else 0.0
    told = SpanFit(np.zeros((0, 0)), fit.bias, fit.objective, fit.loss, fit.n_iter, fit.gradient, fit.converged)
    return Trusted(np.ascontiguousarray(fit.parts[0].T) + common, common, told)


def balanced(scores: Array, bias: Array, codes: Codes, weight: Array | None) -> Array:
    """The biases under which as much of every class is expected as there is."""
    w = np.ones(len(codes)) if weight is None else weight
    M = scores.shape[1]
    there = np.bincount(codes, weights=w, minlength=max(M, 2)).astype(np.float64)[-M:]
    for _ in range(MOST_ROUNDS):
        wrong = w @ residuals(scores + bias, codes)
        step = np.log(divide(there, there + wrong, 1.0))
        if M == 1:
            step -= np.log(divide(w.sum() - there, w.sum() - there - wrong, 1.0))
        bias = bias + step
        if np.abs(step).max() < BALANCED:
            break
    return bias


def best_C(rows: Rows, settings: Settings, alpha: float, fold: NDArray[np.int32] | None) -> float:
    """The C by which rows are told best by words counted without them."""
    if fold is None:
        return 1.0
    if len(fold) > ENOUGH_ROWS:
        index = some_of(len(fold), ENOUGH_ROWS)
        rows, fold = rows.take(index), fold[index]
    parts = [part for part in (_part(rows, alpha, fold == f) for f in range(int(fold.max()) + 1)) if part is not None]

    def refit(f: int, C: float, before: Trusted | None) -> Trusted:
        return trusted(parts[f][0], parts[f][2], settings, C, before)

    def loss(f: int, found: Trusted) -> float:
        _, test, E = parts[f]
        said = np.asarray(test.scored @ (found.trust * E)) * rows.size + found.fit.bias
        lost = losses(said, test.codes)
        return float(lost.sum() if test.weight is None else test.weight @ lost)

    return chosen_C(refit, loss, len(parts), LEAST_C, MOST_C).C if parts else 1.0


def _part(rows: Rows, alpha: float, out: NDArray[np.bool_]) -> tuple[Rows, Rows, Array] | None:
    """The rows of a fold and all others, and the evidence that these count; None where they have not every class."""
    rest, test = rows.take(np.flatnonzero(~out)), rows.take(np.flatnonzero(out))
    if not out.any() or len(np.unique(rest.codes)) < rows.n_classes:
        return None
    return rest, test, evidence_in(rest, alpha)


def evidence_in(rows: Rows, alpha: float) -> Array:
    """What each word says by these rows alone; nothing where they have not got it."""
    from scipy.sparse import csr_array

    n, V = rows.counted.shape
    w = np.ones(n) if rows.weight is None else rows.weight
    share = csr_array((w, (rows.codes, np.arange(n))), shape=(rows.n_classes, n))
    total = (share @ rows.counted).toarray()
    met = np.flatnonzero(total.any(axis=0))
    theta = Multinomial(alpha).log_theta(Counts(total[:, met], np.ones((rows.n_classes, 1))))
    out = np.zeros((V, 1 if rows.n_classes == 2 else rows.n_classes))
    out[met] = _centred(np.ascontiguousarray(theta.T))
    return out
