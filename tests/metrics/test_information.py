"""Mutual information: exact tables, closed forms, its mean for independent features, leave-one-out gains."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from deciban.metrics.mutual_information import (
    MAX_BINS,
    ContingencyTables,
    compute_gaussian_information,
    compute_mutual_information,
)
from deciban.metrics.pair_dependence import compare_models, compute_gaussian_gain
from tests.metrics.exact import mutual


def tables(counts):
    counts = np.asarray(counts, dtype=float)
    return ContingencyTables(counts, np.array([0]))


def draw_sample(rng, n, A, B, K=1):
    """A table of independent features, classes and all."""
    counts = np.zeros((K, A, B))
    p, q = rng.dirichlet(np.ones(A)), rng.dirichlet(np.ones(B))
    np.add.at(counts, (rng.integers(0, K, n), rng.choice(A, n, p=p), rng.choice(B, n, p=q)), 1)
    return counts


@pytest.mark.parametrize("seed", range(3))
def test_information_is_that_of_an_exact_table(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, (2, 3, 4))
    total = int(counts.sum())
    table = {key: Fraction(int(n), total) for key, n in np.ndenumerate(counts)}
    many = 10**7  # so many that no bias is left
    found = compute_mutual_information(tables(counts * many))
    assert found.value[0] == pytest.approx(mutual(table), abs=1e-6)
    pooled = {(0, *key[1:]): Fraction(0) for key in table}
    for key, p in table.items():
        pooled[0, *key[1:]] += p
    assert compute_mutual_information(tables(counts * many).pooled).value[0] == pytest.approx(
        mutual(pooled), abs=1e-6
    )


def test_many_features_side_by_side_are_each_what_they_are_alone():
    rng = np.random.default_rng(0)
    parts = [draw_sample(rng, 300, 3, B, K=2) for B in (2, 5, 3)]
    together = ContingencyTables(np.concatenate(parts, axis=2), np.array([0, 2, 7]))
    for name, i in (("value", 0), ("error", 1), ("p_value", 2), ("rows", 3)):
        alone = [getattr(compute_mutual_information(tables(part)), name)[0] for part in parts]
        assert compute_mutual_information(together)[i] == pytest.approx(alone, abs=1e-12)
    for name, values in compare_models(together).items():
        assert values == pytest.approx([compare_models(tables(part))[name][0] for part in parts], abs=1e-12)


def test_large_tables_lose_what_miller_and_madow_take_away():
    counts = np.full((2, 3, 4), 1000.0)
    assert compute_mutual_information(tables(counts)).value[0] == pytest.approx(
        -2 * 2 * 3 / (2 * counts.sum()), rel=1e-3
    )


@pytest.mark.parametrize(("n", "A", "B", "K"), [(40, 2, 2, 1), (60, 8, 8, 1), (200, 12, 12, 1), (150, 3, 3, 3)])
def test_independent_features_tell_nothing_on_average(n, A, B, K):
    rng = np.random.default_rng(n)
    found = [compute_mutual_information(tables(draw_sample(rng, n, A, B, K))) for _ in range(600)]
    values = np.array([one.value[0] for one in found])
    plain = np.mean([one.value[0] for one in found])
    error = values.std() / math.sqrt(len(values))
    bias_of_plug_in = (A - 1) * (B - 1) * K / (2 * n)
    assert abs(plain) < 3 * error + 0.04 * bias_of_plug_in
    p = np.array([one.p_value[0] for one in found])
    assert (p < 0.05).mean() < 0.08


def test_of_small_cells_less_is_taken_away_than_miller_and_madow_would():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        counts = draw_sample(rng, 50, 16, 16)[0]
        counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
        table = {(0, *key): Fraction(int(n), 50) for key, n in np.ndenumerate(counts) if n}
        plug_in = mutual(table)
        taken = plug_in - compute_mutual_information(tables(counts[None])).value[0]
        found.append((plug_in, taken, (counts.shape[0] - 1) * (counts.shape[1] - 1) / 100))
    assert np.mean(found, axis=0) == pytest.approx([0.91, 0.92, 1.27], abs=0.02)


@pytest.mark.parametrize(("bins", "kept"), [(MAX_BINS, 0.44), (16, 0.48)])
def test_bins_keep_most_of_what_normal_variables_tell_about_each_other(bins, kept):
    cut, x = norm.ppf(np.linspace(0, 1, bins + 1)), np.linspace(-8, 8, 4001)
    beneath = norm.cdf((cut - 0.8 * x[:, None]) / 0.6)  # p(Y < cut | x), correlation 0.8
    both = np.diff(beneath, axis=1) * norm.pdf(x)[:, None] * (x[1] - x[0])
    place = np.clip(np.searchsorted(cut, x) - 1, 0, bins - 1)
    cell = np.array([both[place == i].sum(axis=0) for i in range(bins)])
    cell /= cell.sum()
    margins = np.outer(cell.sum(axis=1), cell.sum(axis=0))
    assert (cell * np.log(cell / margins)).sum() == pytest.approx(kept, abs=0.005)
    assert -0.5 * math.log(1 - 0.8**2) == pytest.approx(0.51, abs=0.005)


def test_evidence_of_independent_features_is_not_counted_twice_on_average():
    rng = np.random.default_rng(1)
    chance = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]).cumsum(axis=1)
    found = []
    for _ in range(600):
        y = rng.integers(0, 2, 400)
        a, b = ((rng.random(400)[:, None] > chance[y]).sum(axis=1) for _ in range(2))
        counts = np.zeros((2, 4, 4))
        np.add.at(counts, (y, a, b), 1)
        one = compare_models(tables(counts))
        found.append((one["double_counted"][0], one["double_counted_error"][0]))
    twice, error = np.array(found).T
    assert abs(twice.mean()) < 4 * twice.std() / math.sqrt(len(twice))
    assert error.mean() == pytest.approx(twice.std(), rel=0.25)


def test_of_a_copy_all_its_evidence_is_counted_twice():
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    counts = np.stack([np.diag(p), np.diag(q)]) * 1e7
    divergence = float((p * np.log(p / q)).sum())
    assert compare_models(tables(counts))["double_counted"][0] == pytest.approx(divergence, abs=1e-5)


def test_what_joining_gains_is_that_of_every_row_left_out():
    rng = np.random.default_rng(2)
    counts = rng.integers(0, 6, (3, 2, 3)).astype(float)
    found = compare_models(tables(counts))
    share = counts.sum(axis=(1, 2)) / counts.sum()
    gains = []
    for k, a, b in [key for key, n in np.ndenumerate(counts) for _ in range(int(n))]:
        left = counts.copy()
        left[k, a, b] -= 1
        naive, joint = np.empty(3), np.empty(3)
        for c in range(3):
            t = left[c] if c == k else counts[c]  # the shares of the classes stay those of all rows
            first, second = (t[a].sum() + 1) / (t.sum() + 2), (t[:, b].sum() + 1) / (t.sum() + 3)
            naive[c] = share[c] * first * second
            joint[c] = share[c] * (t[a, b] + 6 * first * second) / (t.sum() + 6)
        gains.append(math.log(joint[k] / joint.sum()) - math.log(naive[k] / naive.sum()))
    assert found["gain"][0] == pytest.approx(np.mean(gains), abs=1e-12)
    assert found["gain_error"][0] == pytest.approx(np.std(gains) / math.sqrt(len(gains)), abs=1e-12)


def test_one_gaussian_is_scored_by_every_row_left_out():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 40)
    x = rng.normal(size=(40, 2)) @ np.array([[1, 0.8], [0, 0.6]]) + codes[:, None] * [1.0, -1.0]
    same_bin = np.zeros(40, dtype=np.int64)
    mean, error = compute_gaussian_gain(x, (same_bin, same_bin), codes, 2)
    pooled = sum(np.cov(x[codes == k].T, bias=True) * (codes == k).sum() for k in (0, 1)) / 40
    gains = []
    for i in range(40):
        result = {}
        for shape in ("joint", "naive"):
            scores = []
            for k in (0, 1):
                rows = x[(codes == k) & ((codes != codes[i]) | (np.arange(40) != i))]
                scatter = pooled + (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
                cov = scatter / (1 + len(rows))
                cov = cov if shape == "joint" else np.diag(np.diag(cov))
                u = x[i] - rows.mean(axis=0)
                density = math.exp(-0.5 * u @ np.linalg.inv(cov) @ u) / math.sqrt(np.linalg.det(cov))
                scores.append((codes == k).mean() * density)
            result[shape] = math.log(scores[codes[i]] / sum(scores))
        gains.append(result["joint"] - result["naive"])
    assert mean == pytest.approx(np.mean(gains), abs=1e-6)
    assert error == pytest.approx(np.std(gains) / math.sqrt(40), abs=1e-6)


def test_gaussian_information_is_that_of_the_correlation():
    rho = np.array([0.0, 0.3, -0.9])
    many = np.full(3, 1e12)
    assert compute_gaussian_information(rho, many) == pytest.approx(
        [-0.5 * math.log(1 - r * r) for r in rho], abs=1e-9
    )
    assert compute_gaussian_information(np.array([1.0]), many)[0] == math.inf


def test_gaussian_information_of_independent_numbers_is_nothing_on_average():
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(2, 20_000, 9))
    r = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(x, y)])
    found = compute_gaussian_information(r, np.full(len(r), 9.0 - 1))
    assert abs(found.mean()) < 4 * found.std() / math.sqrt(len(r))
