"""Weights of tokens, fitted to all messages of a store, so that evidence that tokens share is not counted twice.

Each message is scored by the counts of the *other* messages: its own are subtracted first. So a token that no other
message has contributes nothing, rare tokens get no weight for occurring in their own message, and the probabilities
are calibrated without a calibration map.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from deciban._typing import Array, Codes
from deciban.mail.model import mail_models
from deciban.mail.model.mail_models import ALPHA, MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT, WeightParameters
from deciban.mail.store.store_arrays import StoreRows
from deciban.mail.store.stored_messages import Numbers

if TYPE_CHECKING:
    from deciban.linear.csr_matrix import CsrMatrix

FittedModelName = Literal["evidence", "bayes", "logistic"]

COMMON_WEIGHT_PENALTY: Final = 0.0005
"""Penalty on the common weight, for each token, in addition to that on the tokens' own weights."""

MAX_C: Final = 50.0
"""Greatest C, the inverse of the penalty on the tokens' own weights. Evidence that is discounted for conflict needs
larger weights than evidence that is not, for which 1 is best."""

MIN_C: Final = 5.0
"""Least C: few messages let tokens differ less."""

FULL_C_MESSAGES: Final = 400
"""Number of messages from which C is MAX_C; with fewer it is their share of this number."""

N_AGREEMENT_PASSES: Final = 2
"""Fits after the first, each with the agreement of the one before; a third changes next to nothing."""

NOVEL_SHARE: Final = 0.01
"""Share of the learned messages that are novel: fewer of their tokens occur in other messages than in the rest."""

MAX_NOVEL_KNOWN: Final = 0.75
"""Share of known tokens from which no message is novel, however alike the learned ones are."""

TOKENS_PER_BLOCK: Final = 1 << 18
"""Tokens of messages that are scored at a time: a store has millions, and each takes ten numbers meanwhile."""

REFIT_GROWTH_FRACTION: Final = 0.15
"""A refit is due when so much of the messages of the last fit has changed."""

MIN_REFIT_CHANGES: Final = 10
"""Messages that must have changed for a refit to be due."""


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit; with `leave_one_out` a message is scored by the counts of all others, without its own."""

    alpha: float = ALPHA
    power: float = mail_models.LENGTH_POWER
    cap: float = mail_models.MAX_LENGTH_FACTOR
    conflict: float = mail_models.CONFLICT_DISCOUNT
    penalty: float = COMMON_WEIGHT_PENALTY
    leave_one_out: bool = True


DEFAULT_FIT_SETTINGS: Final = FitSettings()


@dataclass(frozen=True)
class TrainingMessages:
    """Messages as rows of the tokens that at least two have; weights are in messages of now.

    `counts` (tokens × labels) and `totals` (of each label) are sums of weights; `lengths` are the numbers of all
    tokens, also of those that one message has.
    """

    labels: tuple[str, ...]
    codes: Codes
    weights: Array
    counts: Array
    totals: Array
    X: "CsrMatrix"
    numbers: Numbers
    lengths: Array

    @classmethod
    def from_rows(cls, rows: StoreRows, unit: float = 1.0) -> "TrainingMessages | None":
        """Return the messages of a store, weights divided by `unit`; None where there are too few to fit."""
        labels = mail_models.order_labels(rows.label_names[k] for k in set(rows.labels.tolist()))
        place = {name: i for i, name in enumerate(labels)}
        codes = np.array([place[rows.label_names[k]] for k in rows.labels.tolist()], dtype=np.int32)
        if not has_enough_messages(np.bincount(codes, minlength=len(labels)).tolist()):
            return None
        from deciban.linear.csr_matrix import CsrMatrix

        K, V, weights = len(labels), len(rows.numbers), rows.weights / unit
        repeated = np.flatnonzero(np.bincount(rows.indices, minlength=V) > 1)
        X = CsrMatrix(np.ones(len(rows.indices)), rows.indices, rows.indptr, V).take_columns(repeated)
        cells = X.indices.astype(np.int64) * K + codes[X.rows]
        counts = np.bincount(cells, weights[X.rows], len(repeated) * K).astype(np.float64).reshape(-1, K)
        totals = np.bincount(codes, weights=weights, minlength=K).astype(np.float64)
        lengths = np.diff(rows.indptr).astype(np.float64)
        return cls(labels, codes, weights, counts, totals, X, rows.numbers[repeated], lengths)

    def one_against_others(self, label: int) -> tuple[Array, Array]:
        """Return counts (tokens × 2) and totals (2) of all other labels, and of one label."""
        own, total = self.counts[:, label], self.totals[label]
        return np.stack([self.counts.sum(axis=1) - own, own], axis=1), np.array([self.totals.sum() - total, total])

    def leave_one_out_log_odds(self, label: int, alpha: float = ALPHA) -> Array:
        """Compute the log-odds of a label for each entry of X, by all other messages; 0 if no other has the token."""
        rows = self.X.rows
        side = (self.codes == label).astype(np.intp)
        counts, totals = self.one_against_others(label)
        odds = np.empty(len(rows))
        for at in range(0, len(rows), TOKENS_PER_BLOCK):
            some = slice(at, at + TOKENS_PER_BLOCK)
            mine = rows[some]
            own = np.zeros((len(mine), 2))
            own[np.arange(len(mine)), side[mine]] = self.weights[mine]
            others = counts[self.X.indices[some]] - own
            odds[some] = np.where(
                others[:, 0] + others[:, 1] <= 0.0, 0.0, mail_models.log_odds(others, totals - own, alpha)[:, 0]
            )
        return odds


class WeightFit(NamedTuple):
    """The result of a fit: the parameters, and for each score the own weights of tokens."""

    parameters: WeightParameters
    columns: list[Array]


def fit(
    examples: TrainingMessages, model: FittedModelName, settings: FitSettings = DEFAULT_FIT_SETTINGS
) -> WeightFit | None:
    """Fit the weights of a model to messages; None where the fitted common weight is not positive."""
    usual = float(np.median(np.maximum(examples.lengths, 1.0)))
    scores = []
    for label in range(1 if len(examples.labels) == 2 else 0, len(examples.labels)):
        found = _fit_score(examples, label, model, usual, settings)
        if found is None:
            return None
        scores.append(found)
    common, columns = zip(*scores)
    parameters = WeightParameters(
        examples.labels, tuple(mail_models.prior_log_odds(examples.totals).tolist()), common, usual,
        len(examples.codes), settings.alpha, settings.power, settings.cap, settings.conflict,
        min_known=_find_min_known(examples),
    )  # fmt: skip
    return WeightFit(parameters, list(columns))


def _find_min_known(examples: TrainingMessages) -> float:
    """Return the share of known tokens below which a message is novel; 0 where too few were learned to tell."""
    if len(examples.codes) * NOVEL_SHARE < 1:
        return 0.0
    n = examples.lengths  # of all tokens; a message without any has no unknown one
    known = np.where(n > 0, np.diff(examples.X.indptr) / np.maximum(n, 1.0), 1.0)
    return min(float(np.quantile(known, NOVEL_SHARE)), MAX_NOVEL_KNOWN)


def _fit_score(
    examples: TrainingMessages, label: int, model: FittedModelName, usual: float, settings: FitSettings
) -> tuple[float, Array] | None:
    """Fit one label against all others: return the common weight (0: logistic) and own weights; None as `fit`.

    The agreement of a message depends on the weights: each pass takes it from the weights of the pass before.
    """
    from deciban.linear.solvers.logistic import fit_parts

    X, y = examples.X, (examples.codes == label).astype(np.int32)
    factors = mail_models.length_factor(examples.lengths, usual, settings.power, settings.cap)
    evidence = _compute_evidence(examples, label, model, settings) * factors[X.rows]
    prior = mail_models.prior_log_odds(examples.one_against_others(label)[1])
    Z, agreed, common, own = X, np.ones(len(y)), 0.0, np.zeros(X.shape[1])
    for _ in range(1 + N_AGREEMENT_PASSES * (settings.conflict > 0)):
        Z = Z.with_data(evidence * agreed[X.rows])
        parts = _build_parts(Z, model, settings)
        found = fit_parts(parts, y, examples.weights, 2, fixed_bias=prior, tol=1e-3, max_iter=200, threads=1)
        common = 0.0 if model == "logistic" else float(found.parts[-1][0])
        if model != "logistic" and common <= 0.0:
            return None
        own = own if model == "bayes" else np.asarray(found.parts[0]).ravel()
        x = evidence * (own + common)[X.indices]
        for_label, against = (
            np.bincount(X.rows, np.maximum(side, 0.0), len(y)).astype(np.float64) for side in (x, -x)
        )
        agreed = mail_models.agreement(for_label, against, settings.conflict)
    return common, own


def _compute_evidence(examples: TrainingMessages, label: int, model: FittedModelName, settings: FitSettings) -> Array:
    """Compute the evidence of each entry of X for a label before it is weighted: log-odds, or 1 for logistic."""
    if model == "logistic":
        return np.ones(examples.X.nnz)
    if settings.leave_one_out:
        return examples.leave_one_out_log_odds(label, settings.alpha)
    counts, totals = examples.one_against_others(label)
    return mail_models.log_odds(counts, totals, settings.alpha)[examples.X.indices, 0]


def _build_parts(Z: "CsrMatrix", model: FittedModelName, settings: FitSettings) -> list[Any]:
    """Build the features of a fit: evidence with a weight for each token, and its sum with one for all tokens."""
    from deciban.linear.solvers.logistic import Shared, Sparse

    n, V = Z.shape
    C = MAX_C * min(1.0, max(MIN_C / MAX_C, n / FULL_C_MESSAGES))
    parts: list[Any] = [] if model == "bayes" else [Sparse(Z, 1.0 / C)]
    if model != "logistic":
        total = Z @ np.ones(V)
        parts.append(Shared(np.stack([-total / 2, total / 2], axis=1)[:, None, :], settings.penalty * V))
    return parts


def has_enough_messages(messages: Sequence[float]) -> bool:
    """Return whether there are enough messages, of each of two labels or more, for weights to be fitted."""
    return len(messages) >= 2 and sum(messages) >= MIN_MESSAGES_TO_FIT and min(messages) >= MIN_MESSAGES_PER_LABEL


def is_growth_due(changes: int, fitted_to: int) -> bool:
    """Return whether so many changes since a fit to so many messages call for another fit."""
    return changes >= max(MIN_REFIT_CHANGES, REFIT_GROWTH_FRACTION * fitted_to)
