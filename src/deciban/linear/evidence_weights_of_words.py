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

from deciban._typing import Array, Codes
from deciban.families.multinomial import Multinomial
from deciban.generative import GenerativeModel
from deciban.ledger import Counts
from deciban.ledger.statistic import divide
from deciban.linear.fit_report import Account, Setting
from deciban.linear.fitted_model import FittedModel
from deciban.linear.penalty_choice import FEW_C, Judges, by_folds
from deciban.linear.solvers.logistic import LogisticFit, Shared, Sparse, fit_parts
from deciban.linear.solvers.logistic_objective import contrast, expand_to_classes, residuals, score_count
from deciban.scores import Linear, ScoreForm, SparseLinear

BALANCED, MOST_ROUNDS = 1e-10, 1000
"""How near the classes' shares come when biases are balanced, and after how many rounds that must be enough."""


@dataclass(frozen=True)
class EvidenceSettings:
    """How trust is to be fitted."""

    C: float | str = 1.0
    common: float | None = 0.1
    beta: float | None = None
    tol: float = 1e-3  # so 10⁻⁶ of the objective is left to gain; far earlier, raw mail was ranked worse
    max_iter: int = 200


@dataclass(frozen=True)
class WordRows:
    """Rows of words (CSR): as counted, and as scored; classes, weights, and what a scored row is long."""

    counted: Any
    scored: Any
    codes: Codes
    weight: Array | None
    n_classes: int
    size: float = 1.0
    threads: int = 1

    def take(self, index: NDArray[np.intp]) -> WordRows:
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
    fit: LogisticFit

    @property
    def reached(self) -> tuple[list[Array], Array]:
        """Where a search at another C begins: what each word is trusted beyond the others, what all are, the bias."""
        return [(self.trust - self.common).T, np.array([self.common])], self.fit.bias


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
    return contrast(said, axis=1)


def regress(
    basis: GenerativeModel, rows: WordRows, settings: EvidenceSettings, alpha: float, fold: NDArray[np.int32] | None
) -> FittedModel:
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
    form, bias = Linear(expand_to_classes(weights.T), np.zeros(rows.n_classes)), expand_to_classes(bias)
    account = _account(found, settings, float(C), rows)
    return FittedModel.of(basis.schema, [form], basis.solved.needs, bias, basis.ledger.rows, account, basis)


def _account(found: Trusted, settings: EvidenceSettings, C: float, rows: WordRows) -> Account:
    told: dict[str, Setting] = {
        "C": C, "C_chosen": isinstance(settings.C, str), "beta": settings.beta, "common": settings.common,
        "common_trust": found.common, "size": rows.size,
    }  # fmt: skip
    fit, n_parameters = found.fit, found.trust.size + found.fit.bias.size + (settings.common is not None)
    return Account("evidence", told, fit.objective, fit.loss, fit.n_iter, fit.converged, False, n_parameters)


def trusted(
    rows: WordRows, evidence: Array, settings: EvidenceSettings, C: float, start: Trusted | None = None
) -> Trusted:
    """The trusts that these rows are least surprised by, at this C."""
    V = max(int((evidence != 0).any(axis=1).sum()), 1)
    c = 0.0 if settings.common is None else 1 / (settings.common * V)
    E = evidence * rows.size
    parts: list[Any] = [Sparse(rows.scored, 1 / C, scale=E.T)]
    if c:  # the trust that all words have in common is one more weight, of what they say together
        said = np.asarray(rows.scored @ E)
        parts.append(Shared(expand_to_classes(said, axis=1)[:, None, :], 1 / (C * c)))
    first = None if start is None else (start.reached[0][: len(parts)], start.reached[1])
    fit = fit_parts(
        parts, rows.codes, rows.weight, rows.n_classes, start=first,
        tol=settings.tol, max_iter=settings.max_iter, threads=rows.threads,
    )  # fmt: skip
    trust, common = np.ascontiguousarray(fit.parts[0].T), float(fit.parts[1][0]) if c else 0.0
    trust += common
    return Trusted(trust, common, replace(fit, parts=()))


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


@dataclass(frozen=True)
class _Trials:
    """Trusts fitted without a fold, in words counted without it."""

    rows: WordRows
    settings: EvidenceSettings
    fold: NDArray[np.int32]
    rest: list[WordRows]
    said: list[Array]

    def refit(self, f: int, C: float, before: Trusted | None) -> Trusted:
        """See `Trials.refit`."""
        return trusted(self.rest[f], self.said[f], self.settings, C, before)

    def scores(self, f: int, learned: Trusted) -> Array:
        """See `Trials.scores`."""
        mine = self.rows.scored[np.flatnonzero(self.fold == f)]
        return np.asarray(mine @ (learned.trust * self.said[f])) * self.rows.size + learned.fit.bias


def best_C(rows: WordRows, settings: EvidenceSettings, alpha: float, fold: NDArray[np.int32] | None) -> float:
    """The C by which rows are told best by words counted without them."""
    if fold is None:
        return FEW_C

    def trials(index: NDArray[np.intp], some: Judges) -> _Trials:
        few = rows if len(index) == len(rows.codes) else rows.take(index)
        folds = range(int(some.fold.max()) + 1)
        rest = [few.take(np.flatnonzero(some.fold != f)) for f in folds]
        return _Trials(few, settings, some.fold, rest, [evidence_in(each, alpha) for each in rest])

    return by_folds(Judges(rows.codes, rows.weight, fold), trials).C


def evidence_in(rows: WordRows, alpha: float) -> Array:
    """What each word says by these rows alone; nothing where they have not got it."""
    from scipy.sparse import csr_array

    n, V = rows.counted.shape
    w = np.ones(n) if rows.weight is None else rows.weight
    share = csr_array((w, (rows.codes, np.arange(n))), shape=(rows.n_classes, n))
    total = (share @ rows.counted).toarray()
    met = np.flatnonzero(total.any(axis=0))
    theta = Multinomial(alpha).log_theta(Counts(total[:, met], np.ones((rows.n_classes, 1))))
    out = np.zeros((V, score_count(rows.n_classes)))
    out[met] = contrast(np.ascontiguousarray(theta.T), axis=1)
    return out
