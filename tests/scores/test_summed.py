"""Sums of forms: against the forms themselves, by kernels and from files."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from deciban import engines
from deciban.errors import InputError, ModelFileError
from deciban.families.count_families import Bernoulli, Multinomial, Poisson
from deciban.kernels import execution
from deciban.ledger import Counts, Needs, Tallies
from deciban.persistence.score_forms import read_score_form, write_score_form
from deciban.scores import Diagonal, Linear, SparseLinear, Steps, form_algebra
from deciban.scores.form_algebra import Summed, scale_form, sum_forms
from tests.scores.test_forms import FORMS, MEAN, NUMBERS, RATE, K, N, every_form

SHARES = 0.5, 2.0, 1.25
COUNTED = [
    Counts(np.random.default_rng(seed).integers(0, 5, (3, 4)) + 1.0 * (seed > 0), np.full((3, 1), 6.0))
    for seed in range(3)
]
BAGS = np.random.default_rng(3).poisson(0.7, (30, 4)).astype(float)


def gaps(score):
    with np.errstate(invalid="ignore"):
        return score - score[:, :1]


def compare(actual, expected):
    np.testing.assert_allclose(gaps(actual), gaps(expected), rtol=1e-10, atol=1e-10)


@every_form
def test_a_sum_of_forms_scores_as_they_do_together(name):
    form, X = FORMS[name]
    parts = [scale_form(form, t) for t in SHARES]
    whole = sum_forms(parts)
    X = X.toarray() if isinstance(whole, Linear) and hasattr(X, "toarray") else X
    compare(whole.log_likelihoods(X), sum(part.log_likelihoods(X) for part in parts))
    k, l = np.arange(N) % K, (np.arange(N) + 1) % K
    joint, (features, extras) = whole.log_likelihoods(X), whole.pieces(X, k, l)
    with np.errstate(invalid="ignore"):
        total = np.asarray(features.sum(axis=1)).reshape(-1) + sum(extras.values())
        np.testing.assert_allclose(total, joint[np.arange(N), k] - joint[np.arange(N), l], rtol=1e-10, atol=1e-10)


@every_form
def test_a_sum_comes_back_from_files(name):
    form, X = FORMS[name]
    whole = sum_forms([scale_form(form, t) for t in SHARES])
    X = X.toarray() if isinstance(whole, Linear) and hasattr(X, "toarray") else X
    read = read_score_form(write_score_form(whole, 3), K, 3)
    np.testing.assert_array_equal(read.log_likelihoods(X), whole.log_likelihoods(X))


def test_one_form_is_its_own_sum():
    form, _ = FORMS["full"]
    assert sum_forms([form]) is form


def test_gaussians_sum_to_one_form_whatever_is_missing():
    rng = np.random.default_rng(0)
    parts = [Diagonal(rng.normal(size=(K, 3)) + 1e6, rng.uniform(0.5, 2, (K, 3))) for _ in range(5)]
    whole, X = sum_forms(parts), NUMBERS + 1e6
    assert isinstance(whole, Diagonal)
    np.testing.assert_allclose(whole.log_likelihoods(X), sum(part.log_likelihoods(X) for part in parts), rtol=1e-9)
    for j in range(3):
        alone = np.full((1, 3), np.nan)
        alone[0, j] = 1e6 + 0.25
        np.testing.assert_allclose(
            whole.log_likelihoods(alone), sum(part.log_likelihoods(alone) for part in parts), rtol=1e-9
        )


def test_steps_are_cut_wherever_one_of_them_is():
    one = Steps(np.array([0.0, 1.0]), np.array([0, 2]), np.array([[1.0, 2.0, 4.0]]))
    two = Steps(np.array([0.5]), np.array([0, 1]), np.array([[10.0, 20.0]]))
    whole = sum_forms([one, two])
    assert whole.cuts.tolist() == [0.0, 0.5, 1.0]
    assert whole.log_theta.tolist() == [[11.0, 12.0, 22.0, 24.0]]


@pytest.mark.parametrize("family", [Multinomial(0.5), Bernoulli(1.0), Poisson(1.0)], ids=["bag", "flags", "counts"])
@pytest.mark.parametrize("wanted", ["joint", "winner"])
def test_sums_of_sparse_scores_are_those_of_dense_ones(family, wanted, monkeypatch):
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
    dense = sum_forms([scale_form(family.solve(c), t) for c, t in zip(COUNTED, SHARES)])
    sparse = sum_forms([scale_form(family.solve(Tallies.from_counts(c)), t) for c, t in zip(COUNTED, SHARES)])
    X, zero = csr_array(BAGS), np.zeros(3)
    found = [engines.apply([form], [X], [family.needs()], zero, wanted, 1) for form in (dense, sparse)]
    if wanted == "winner":
        assert found[0].tolist() == found[1].tolist()
    else:
        compare(found[1], found[0])
        compare(found[0], dense.log_likelihoods(BAGS))


def test_bags_that_list_the_same_words_keep_their_lists():
    counted = [Counts(c.total * (COUNTED[0].total > 0), c.weight) for c in COUNTED]
    forms = [Multinomial(0.5).solve(Tallies.from_counts(c)) for c in counted]
    whole = sum_forms([scale_form(form, t) for form, t in zip(forms, SHARES)])
    assert isinstance(whole, SparseLinear)
    compare(whole.log_likelihoods(BAGS), sum(t * form.log_likelihoods(BAGS) for form, t in zip(forms, SHARES)))


def test_too_many_weights_are_not_written_out(monkeypatch):
    monkeypatch.setattr(form_algebra, "MAX_DENSE_WEIGHTS", 11)
    forms = [Bernoulli(1.0).solve(Tallies.from_counts(c)) for c in COUNTED]
    with pytest.raises(InputError, match=r"3 classes × 4 words.*Hint"):
        sum_forms(forms)


def test_lines_and_curves_add():
    rows = np.random.default_rng(5).normal(size=(20, 3))
    shared = [scale_form(FORMS["full, shared"][0], t) for t in SHARES]
    line = sum_forms(shared).linear()
    compare(rows @ line.weights.T + line.bias, sum(form.log_likelihoods(rows) for form in shared))
    for name in ("diagonal", "full"):
        parts = [scale_form(FORMS[name][0], t) for t in SHARES]
        curve = sum_forms(parts).quadratic()
        A = curve.A if curve.A.ndim == 3 else np.stack([np.diag(a) for a in curve.A])
        squares = np.einsum("ij,kjl,il->ik", rows, A, rows)
        compare(squares + rows @ curve.weights.T + curve.bias, sum(form.log_likelihoods(rows) for form in parts))


@pytest.mark.parametrize("wanted", ["joint", "log_posterior"])
def test_kernels_score_sums(wanted, monkeypatch):
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
    rows = np.random.default_rng(5).normal(size=(200, 3))
    for form, kind in ((Diagonal(MEAN, RATE), "moments"), (FORMS["full, shared"][0], "scatter")):
        parts = [scale_form(form, t) for t in SHARES]
        found = engines.apply([Summed(tuple(parts))], [rows], [Needs(kind)], np.zeros(K), wanted, 1)
        compare(found, sum(part.log_likelihoods(rows) for part in parts))


def test_a_file_with_a_sum_of_forms_that_are_not_of_a_kind_is_refused():
    section = write_score_form(Summed((FORMS["full"][0], FORMS["diagonal"][0])), 3)
    with pytest.raises(ModelFileError, match="all of a kind"):
        read_score_form(section, K, 3)


def test_what_one_form_rules_out_their_sum_rules_out():
    form, X = FORMS["linear, impossible"]
    other = Linear(MEAN, np.zeros(K))
    compare(sum_forms([form, other]).log_likelihoods(X), form.log_likelihoods(X) + other.log_likelihoods(X))
