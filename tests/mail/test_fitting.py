"""Fitted weights: each message is scored by the others alone, and the fit is the minimum of its objective."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from deciban.mail.model.weight_fitting import (
    COMMON_WEIGHT_PENALTY,
    FULL_C_MESSAGES,
    MAX_C,
    MIN_C,
    FitSettings,
    TrainingMessages,
    fit,
)
from deciban.mail.store.store_arrays import StoreRows


def rows_of(seed: int = 0, n: int = 30, V: int = 12, labels: int = 2) -> StoreRows:
    """Messages of random tokens, the first few of which depend on the label."""
    random = np.random.default_rng(seed)
    codes = np.arange(n) % labels
    has = random.random((n, V)) < 0.3 + 0.4 * (np.arange(V)[None] % labels == codes[:, None])
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    return StoreRows(
        label_names=("spam", "ham", "work")[:labels], labels=codes, weights=np.ones(n),
        times=np.arange(n, dtype=float), digests=[b""] * n,
        indptr=indptr, indices=np.nonzero(has)[1], numbers=np.arange(V) * 3, changes=n,
    )  # fmt: skip


def test_a_message_is_scored_by_the_counts_of_all_others() -> None:
    examples = TrainingMessages.from_rows(rows_of())
    assert examples is not None
    assert examples.labels == ("ham", "spam")
    odds_found, X = examples.leave_one_out_log_odds(1), examples.X.toarray()
    at = 0
    for i, code in enumerate(examples.codes):
        others = np.arange(len(X)) != i
        spam, ham = X[others & (examples.codes == 1)], X[others & (examples.codes == 0)]
        for j in np.flatnonzero(X[i]):
            odds = math.log((spam[:, j].sum() + 0.3) / (len(spam) + 0.6)) - math.log(
                (ham[:, j].sum() + 0.3) / (len(ham) + 0.6)
            )
            assert odds_found[at] == pytest.approx(odds, abs=1e-12), (i, j, code)
            at += 1
    assert at == len(odds_found)


def test_the_fitted_weights_are_the_minimum_of_the_objective() -> None:
    examples = TrainingMessages.from_rows(rows_of(1))
    assert examples is not None
    found = fit(examples, "evidence", FitSettings(conflict=0.0))
    assert found is not None
    odds_found, X = examples.leave_one_out_log_odds(1), examples.X
    Z, y = np.zeros(X.shape), examples.codes == 1
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    Z[row, X.indices] = odds_found
    n = np.maximum(examples.lengths, 1)
    Z *= np.minimum((found.parameters.usual / n) ** 0.75, 1)[:, None]
    C, V = min(MAX_C, max(MIN_C, MAX_C * len(y) / FULL_C_MESSAGES)), X.shape[1]
    prior = math.log(y.sum() / (~y).sum())

    def objective(v: np.ndarray) -> float:
        score = Z @ v[:V] + Z.sum(axis=1) * v[V] + prior
        return float(
            np.logaddexp(0, np.where(y, -score, score)).sum()
            + (v[:V] @ v[:V]) / C / 2
            + COMMON_WEIGHT_PENALTY * V * v[V] ** 2 / 2
        )

    ours = np.concatenate([found.columns[0], found.parameters.common])
    best = minimize(objective, np.zeros(V + 1), method="BFGS", options={"gtol": 1e-9})
    assert found.parameters.bias == (prior,)
    assert objective(ours) <= best.fun * (1 + 1e-5)


def test_few_messages_are_not_fitted_to() -> None:
    assert TrainingMessages.from_rows(rows_of(n=18)) is None


def test_a_token_that_one_message_has_is_left_out() -> None:
    rows = rows_of()
    lonely = StoreRows(
        label_names=rows.label_names, labels=rows.labels, weights=rows.weights, times=rows.times,
        digests=rows.digests,
        indptr=np.append(rows.indptr[:-1], rows.indptr[-1] + 1), indices=np.append(rows.indices, 12),
        numbers=np.append(rows.numbers, 99), changes=30,
    )  # fmt: skip
    examples = TrainingMessages.from_rows(lonely)
    assert examples is not None
    assert 99 not in examples.numbers


def test_each_of_several_labels_has_a_score() -> None:
    examples = TrainingMessages.from_rows(rows_of(2, n=45, labels=3))
    assert examples is not None
    found = fit(examples, "evidence")
    assert found is not None
    assert len(found.columns) == len(found.parameters.bias) == 3
