"""Trusts: each message is told by the others alone, and what is fitted is the least of the objective."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from deciban.mail.model.store_rows import Rows
from deciban.mail.model.weight_fitting import HELD_BACK, LEAST_C, MANY, Examples, fit


def rows_of(seed: int = 0, n: int = 30, V: int = 12, labels: int = 2) -> Rows:
    """Messages of random tokens, the first few of which tell the label."""
    random = np.random.default_rng(seed)
    codes = np.arange(n) % labels
    has = random.random((n, V)) < 0.3 + 0.4 * (np.arange(V)[None] % labels == codes[:, None])
    indptr = np.concatenate([[0], np.cumsum(has.sum(axis=1))])
    return Rows(
        label_names=("spam", "ham", "work")[:labels], labels=codes, weights=np.ones(n),
        times=np.arange(n, dtype=float), digests=[b""] * n,
        indptr=indptr, indices=np.nonzero(has)[1], numbers=np.arange(V) * 3, changes=n,
    )  # fmt: skip


def test_a_message_is_told_by_the_counts_of_all_others() -> None:
    examples = Examples.of(rows_of())
    assert examples is not None
    assert examples.labels == ("ham", "spam")
    said, X = examples.without_themselves(1), examples.X.toarray()
    at = 0
    for i, code in enumerate(examples.codes):
        others = np.arange(len(X)) != i
        spam, ham = X[others & (examples.codes == 1)], X[others & (examples.codes == 0)]
        for j in np.flatnonzero(X[i]):
            odds = math.log((spam[:, j].sum() + 0.3) / (len(spam) + 0.6)) - math.log(
                (ham[:, j].sum() + 0.3) / (len(ham) + 0.6)
            )
            assert said[at] == pytest.approx(odds, abs=1e-12), (i, j, code)
            at += 1
    assert at == len(said)


def test_the_trusts_are_where_the_objective_is_least() -> None:
    examples = Examples.of(rows_of(1))
    assert examples is not None
    found = fit(examples, "evidence")
    assert found is not None
    said, X = examples.without_themselves(1), examples.X
    Z, y = np.zeros(X.shape), examples.codes == 1
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    Z[row, X.indices] = said
    known = np.maximum((Z != 0).sum(axis=1), 1)
    Z *= ((found.trust.usual / known) ** 0.75)[:, None]
    C, V = min(1.0, max(LEAST_C, len(y) / MANY)), X.shape[1]

    def objective(v: np.ndarray) -> float:
        score = Z @ v[:V] + Z.sum(axis=1) * v[V] + v[V + 1]
        return float(
            np.logaddexp(0, np.where(y, -score, score)).sum()
            + (v[:V] @ v[:V]) / C / 2
            + HELD_BACK * V * v[V] ** 2 / 2
        )

    ours = np.concatenate([found.columns[0], found.trust.common, found.trust.bias])
    best = minimize(objective, np.zeros(V + 2), method="BFGS", options={"gtol": 1e-9})
    assert objective(ours) <= best.fun * (1 + 1e-5)


def test_few_messages_are_not_fitted_to() -> None:
    assert Examples.of(rows_of(n=18)) is None


def test_a_token_that_one_message_has_is_left_out() -> None:
    rows = rows_of()
    lonely = Rows(
        label_names=rows.label_names, labels=rows.labels, weights=rows.weights, times=rows.times,
        digests=rows.digests,
        indptr=np.append(rows.indptr[:-1], rows.indptr[-1] + 1), indices=np.append(rows.indices, 12),
        numbers=np.append(rows.numbers, 99), changes=30,
    )  # fmt: skip
    examples = Examples.of(lonely)
    assert examples is not None
    assert 99 not in examples.numbers


def test_more_labels_have_a_score_each() -> None:
    examples = Examples.of(rows_of(2, n=45, labels=3))
    assert examples is not None
    found = fit(examples, "evidence")
    assert found is not None
    assert len(found.columns) == len(found.trust.bias) == 3
