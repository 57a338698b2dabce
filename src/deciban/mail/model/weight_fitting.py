"""Weights of tokens, fitted to all messages of a store, so that evidence that tokens share is not counted twice.

Each message is scored by the counts of the *other* messages: its own are subtracted first. So a token that no other
message has contributes nothing, rare tokens get no weight for occurring in their own message, and the probabilities
are calibrated without a calibration map. A refit is due when enough has changed since the last one.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from deciban._typing import Array, Codes
from deciban.mail.model import mail_models
from deciban.mail.model.mail_models import ALPHA, MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT, WeightParameters
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store
from deciban.mail.store.store_arrays import StoreRows
from deciban.mail.store.store_schema import ModelName
from deciban.mail.store.stored_messages import Numbers

if TYPE_CHECKING:
    from deciban.linear.csr_matrix import CsrMatrix

FittedModelName = Literal["evidence", "bayes", "logistic"]

COMMON_WEIGHT_PENALTY: Final = 0.025
"""Penalty on the common weight, for each token, in addition to that on the tokens' own weights."""

MIN_C: Final = 0.1
"""Least C, the inverse of the penalty on the tokens' own weights: few messages let tokens differ less."""

FULL_C_MESSAGES: Final = 400
"""Number of messages from which C is 1; with fewer it is their share of this number."""

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
    penalty: float = COMMON_WEIGHT_PENALTY
    leave_one_out: bool = True


DEFAULT_FIT_SETTINGS: Final = FitSettings()


@dataclass(frozen=True)
class TrainingMessages:
    """Messages as rows of the tokens that at least two have; weights are in messages of now."""

    labels: tuple[str, ...]
    codes: Codes
    weights: Array
    counts: Array
    totals: Array
    X: "CsrMatrix"
    numbers: Numbers

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
        return cls(labels, codes, weights, counts, totals, X, rows.numbers[repeated])

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
                others.sum(axis=1) <= 0.0, 0.0, mail_models.log_odds(others, totals - own, alpha)[:, 0]
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
    usual = float(np.median(np.maximum(np.diff(examples.X.indptr), 1)))
    scores = []
    for label in range(1 if len(examples.labels) == 2 else 0, len(examples.labels)):
        found = _fit_score(examples, label, model, usual, settings)
        if found is None:
            return None
        scores.append(found)
    bias, common, columns = zip(*scores)
    n, alpha, power = len(examples.codes), settings.alpha, settings.power
    parameters = WeightParameters(examples.labels, bias, common, usual, n, alpha, power)
    return WeightFit(parameters, list(columns))


def _fit_score(
    examples: TrainingMessages, label: int, model: FittedModelName, usual: float, settings: FitSettings
) -> tuple[float, float, Array] | None:
    """Fit one label against all others: return bias, common weight (0: logistic) and own weights; None as `fit`."""
    from deciban.linear.solvers.logistic import Shared, Sparse, fit_parts

    X, y = examples.X, (examples.codes == label).astype(np.int32)
    n, V = X.shape
    if model == "logistic":
        data = np.ones(X.nnz)
    elif settings.leave_one_out:
        data = examples.leave_one_out_log_odds(label, settings.alpha)
    else:
        data = mail_models.log_odds(*examples.one_against_others(label), settings.alpha)[X.indices, 0]
    known = np.bincount(X.rows, weights=data != 0.0, minlength=n)
    Z = replace(X, data=data * mail_models.length_factor(known, usual, settings.power)[X.rows])
    parts: list[Any] = [] if model == "bayes" else [Sparse(Z, 1.0 / min(1.0, max(MIN_C, n / FULL_C_MESSAGES)))]
    if model != "logistic":
        total = Z @ np.ones(V)
        parts.append(Shared(np.stack([-total / 2, total / 2], axis=1)[:, None, :], settings.penalty * V))
    found = fit_parts(parts, y, examples.weights, 2, tol=1e-3, max_iter=200, threads=1)
    common = 0.0 if model == "logistic" else float(found.parts[-1][0])
    if model != "logistic" and common <= 0.0:
        return None
    return float(found.bias[0]), common, np.zeros(V) if model == "bayes" else np.asarray(found.parts[0]).ravel()


class RefitResult(Enum):
    """The outcome of a refit; only FITTED is true."""

    FITTED = "the model was fitted"
    NOT_DUE = "too little has changed since the last fit"
    NO_PARAMETERS = "the model has no parameters to fit"
    TOO_FEW_MESSAGES = "there are too few messages, in all or with one label"
    INSEPARABLE = "the words of the messages do not separate the labels"

    def __bool__(self) -> bool:
        return self is RefitResult.FITTED


def is_due(store: Store, model: ModelName) -> bool:
    """Return whether a model has parameters, enough messages, and no fit or one since which much has changed."""
    if model == "fisher" or not has_enough_messages([n for n, _ in store.totals().values() if n]):
        return False
    fit = store.fit(model)
    return fit is None or is_growth_due(store.changes() - fit.changes, fit.meta["messages"])


def has_enough_messages(messages: Sequence[float]) -> bool:
    """Return whether there are enough messages, of each of two labels or more, for weights to be fitted."""
    return len(messages) >= 2 and sum(messages) >= MIN_MESSAGES_TO_FIT and min(messages) >= MIN_MESSAGES_PER_LABEL


def is_growth_due(changes: int, fitted_to: int) -> bool:
    """Return whether so many changes since a fit to so many messages call for another fit."""
    return changes >= max(MIN_REFIT_CHANGES, REFIT_GROWTH_FRACTION * fitted_to)


def refit_store(store: Store, model: ModelName) -> RefitResult:
    """Fit a model to all messages of a store and save the fit, or return why nothing was fitted."""
    if model == "fisher":
        return RefitResult.NO_PARAMETERS
    rows = store.rows()
    examples = TrainingMessages.from_rows(rows, store.unit(float(rows.times.max())) if len(rows.times) else 1.0)
    if examples is None:
        return RefitResult.TOO_FEW_MESSAGES
    found = fit(examples, model)
    if found is None:
        return RefitResult.INSEPARABLE
    with report_damage(store.path):
        store.save_fit(model, examples.numbers, found.columns, asdict(found.parameters), changes=rows.changes)
    return RefitResult.FITTED
