"""Forms multiplied by an evidence weight: against the form itself, feature by feature, by kernels and from files."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from deciban import engines
from deciban.errors import InputError, UndefinedError
from deciban.families.count_families import Bernoulli, Multinomial, Poisson
from deciban.kernels import execution
from deciban.ledger import Counts, Needs, Tallies
from deciban.persistence.score_forms import read_score_form, write_score_form
from deciban.scores import BoundedDiagonal, Diagonal, Full, Linear, Lookup, Steps, Table
from deciban.scores.form_algebra import scale_form
from tests.scores.test_forms import (
    CELL_COUNTS,
    CELLS,
    CLASS_SHARES,
    CODES,
    COUNTS,
    FORMS,
    MEAN,
    NUMBERS,
    RATE,
    TAIL,
    WIDE_COUNTS,
    WIDE_NUMBERS,
    K,
    N,
    every_form,
)

TOGETHER = [name for name in FORMS if name.startswith(("full", "limited full", "table"))]
ALONE = [name for name in FORMS if name not in TOGETHER]
INFINITE = [name for name in FORMS if name.endswith(("hard", "impossible")) or name == "table, maximum likelihood"]
WEIGHTS = np.array([0.5, 0.0, 2.0])


def gaps(score):
    """Return the score of each class minus that of the first: what all share does not matter."""
    with np.errstate(invalid="ignore"):
        return score - score[:, :1]


def compare(actual, expected):
    np.testing.assert_allclose(gaps(actual), gaps(expected), rtol=1e-11, atol=1e-11)


@every_form
@pytest.mark.parametrize("t", [0.25, 1.0, 3.0])
def test_a_number_multiplies_the_whole_score(name, t):
    form, X = FORMS[name]
    joint = form.log_likelihoods(X)
    compare(scale_form(form, t).log_likelihoods(X), np.where(np.isneginf(joint), -np.inf, t * joint))


@every_form
def test_evidence_of_weight_zero_is_zero(name):
    form, X = FORMS[name]
    np.testing.assert_allclose(gaps(scale_form(form, 0.0).log_likelihoods(X)), np.zeros((N, K)), atol=1e-12)


@pytest.mark.parametrize("name", [name for name in FORMS if name not in INFINITE])
def test_a_negative_weight_reverses_evidence(name):
    form, X = FORMS[name]
    compare(scale_form(form, -0.5).log_likelihoods(X), -0.5 * form.log_likelihoods(X))


@pytest.mark.parametrize("name", ALONE)
def test_each_piece_is_multiplied_by_the_weight_of_its_feature(name):
    form, X = FORMS[name]
    k, l = np.arange(N) % K, (np.arange(N) + 1) % K
    before, after = form.pieces(X, k, l).features, scale_form(form, WEIGHTS).pieces(X, k, l).features
    if hasattr(before, "toarray"):
        before, after = before.toarray(), after.toarray()
    with np.errstate(invalid="ignore"):
        expected = np.where(WEIGHTS == 0, 0.0, before * WEIGHTS)
    np.testing.assert_allclose(after, expected, rtol=1e-11, atol=1e-11)


@every_form
@pytest.mark.parametrize("t", [0.5, WEIGHTS], ids=["number", "each"])
def test_pieces_of_what_is_scaled_add_up_to_its_score(name, t):
    if name in TOGETHER and np.ndim(t):
        return
    form, X = scale_form(FORMS[name][0], t), FORMS[name][1]
    k, l = np.arange(N) % K, (np.arange(N) + 1) % K
    joint, (features, extras) = form.log_likelihoods(X), form.pieces(X, k, l)
    with np.errstate(invalid="ignore"):
        expected = joint[np.arange(N), k] - joint[np.arange(N), l]
        total = np.asarray(features.sum(axis=1)).reshape(-1) + sum(extras.values())
    np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-11)


@every_form
def test_weights_applied_twice_are_multiplied(name):
    form, X = FORMS[name]
    compare(scale_form(scale_form(form, 0.5), 3.0).log_likelihoods(X), scale_form(form, 1.5).log_likelihoods(X))


COUNTED = Counts(np.array([[0.0, 2.0, 1.0, 5.0], [3.0, 1.0, 0.0, 0.0], [1.0, 4.0, 0.0, 2.0]]), np.full((3, 1), 6.0))
BAGS = np.random.default_rng(3).poisson(0.7, (30, 4)).astype(float)


@pytest.mark.parametrize("family", [Multinomial(0.5), Bernoulli(1.0), Poisson(1.0)], ids=["bag", "flags", "counts"])
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "holed"])
def test_sparse_scores_are_scaled_as_dense_ones_are(family, holes):
    if holes and isinstance(family, Multinomial):
        return
    weights = np.array([0.5, 0.0, 2.0, -1.0])
    dense = scale_form(family.solve(COUNTED), weights)
    sparse = scale_form(family.solve(Tallies.from_counts(COUNTED)), weights)
    X = np.where(np.random.default_rng(4).random(BAGS.shape) < 0.2, np.nan, BAGS) if holes else BAGS
    compare(sparse.log_likelihoods_without_carrier(csr_array(X)), dense.log_likelihoods(X))
    k, l = np.zeros(len(X), dtype=np.intp), np.ones(len(X), dtype=np.intp)
    for form, rows in ((dense, X), (sparse, csr_array(X))):
        features, extras = form.pieces(rows, k, l)
        total = np.asarray(features.sum(axis=1)).reshape(-1) + sum(extras.values())
        np.testing.assert_allclose(total, -gaps(dense.log_likelihoods(X))[:, 1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("weight", [0.3, np.array([0.5, 0.0, 2.0, -1.0])], ids=["number", "each"])
@pytest.mark.parametrize("wanted", ["joint", "log_posterior", "winner"])
def test_kernels_of_sparse_rows_use_the_evidence_weight(weight, wanted, monkeypatch):
    X, prior = csr_array(BAGS), np.log([0.2, 0.5, 0.3])
    for family in (Multinomial(0.5), Bernoulli(1.0), Poisson(1.0)):
        for part in (COUNTED, Tallies.from_counts(COUNTED)):
            form = scale_form(family.solve(part), weight)
            joint = form.log_likelihoods(X.toarray()) + prior
            monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
            found = engines.apply([form], [X], [family.needs()], prior, wanted, 1)
            if wanted == "winner":
                assert found.tolist() == joint.argmax(axis=1).tolist()
            else:
                compare(found, joint)


DENSE = {
    "linear": (Linear(MEAN, MEAN[:, 0], RATE), Needs("counts"), NUMBERS),
    "poisson": (Linear(np.log(RATE), np.zeros(K), -RATE, carrier="log_factorial"), Needs("counts"), COUNTS),
    "lookup": (FORMS["lookup"][0], Needs("levels"), CODES.astype(float)),
    "steps": (FORMS["steps"][0], Needs("grid"), NUMBERS),
    "diagonal": (Diagonal(MEAN, RATE, offsets=MEAN), Needs("moments"), NUMBERS),
    "bounded": (
        BoundedDiagonal(MEAN, RATE, offsets=MEAN, log_tail=TAIL, shares=CLASS_SHARES),
        Needs("moments"),
        WIDE_NUMBERS,
    ),
    "bounded rates": (FORMS["bounded rates"][0], Needs("counts", signed=False), WIDE_COUNTS),
    "limited full": (FORMS["limited full"][0], Needs("scatter"), NUMBERS),
    "limited full, shared": (FORMS["limited full, shared"][0], Needs("scatter"), NUMBERS),
    "full": (FORMS["full"][0], Needs("scatter"), NUMBERS),
    "full, shared": (FORMS["full, shared"][0], Needs("scatter"), NUMBERS),
    "table": (Table(CELLS, CELL_COUNTS, (3, 3, 3), 0.5), Needs("cells"), CODES.astype(float)),
}


@pytest.mark.parametrize("name", DENSE)
@pytest.mark.parametrize("wanted", ["joint", "log_posterior"])
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "holed"])
def test_kernels_of_dense_rows_use_the_evidence_weight(name, wanted, holes, monkeypatch):
    monkeypatch.setattr(execution, "MIN_KERNEL_STEPS", 0)
    plain, needs, X = DENSE[name]
    X = X if holes else np.nan_to_num(np.where(X < 0, 1.0, X))
    X = np.where(X < 0, np.nan, X) if name in ("lookup", "table") else X
    form = scale_form(plain, 0.7 if name in TOGETHER else WEIGHTS)
    prior = np.log(np.full(K, 1 / K))
    found = engines.apply([form], [X], [needs], prior, wanted, 1)
    codes = np.nan_to_num(X, nan=-1).clip(-1, 1e9).astype(np.int64)
    compare(found, form.log_likelihoods(codes if name in ("lookup", "table") else X) + prior)


def test_a_line_and_a_curve_are_scaled_with_their_score():
    rows = np.random.default_rng(5).normal(size=(20, 3))
    tied = Diagonal(MEAN, np.broadcast_to(RATE[0], RATE.shape), offsets=MEAN)
    for form, t in ((FORMS["linear"][0], WEIGHTS), (tied, WEIGHTS), (FORMS["full, shared"][0], 0.7)):
        line = scale_form(form, t).linear()
        compare(rows @ line.weights.T + line.bias, scale_form(form, t).log_likelihoods(rows))
    for form, t in ((FORMS["diagonal"][0], WEIGHTS), (tied, WEIGHTS), (FORMS["full"][0], 0.7)):
        curve = scale_form(form, t).quadratic()
        A = curve.A if curve.A.ndim == 3 else np.stack([np.diag(a) for a in curve.A])
        squares = np.einsum("ij,kjl,il->ik", rows, A, rows)
        compare(squares + rows @ curve.weights.T + curve.bias, scale_form(form, t).log_likelihoods(rows))


def test_numbers_whose_squares_overflow_leave_scores_that_can_be_compared():
    far = np.array([[1e200, 0.0, -1e200]])
    form = Diagonal(MEAN, RATE)
    assert np.isfinite(scale_form(form, 0.0).log_likelihoods(far)).all()
    assert np.isneginf(scale_form(form, np.array([2.0, 1.0, 0.0])).log_likelihoods(far)).all()
    assert np.isfinite(scale_form(form, np.array([-2.0, 1.0, 0.0])).log_likelihoods(far)).all()
    full = Full(MEAN, np.stack([np.eye(3)] * K))
    assert np.isfinite(scale_form(full, 0.0).log_likelihoods(far)).all()
    assert np.isfinite(scale_form(full, -1.0).log_likelihoods(far)).all()


@every_form
def test_what_is_scaled_comes_back_from_files(name):
    form, X = FORMS[name]
    t = 0.7 if name in TOGETHER else WEIGHTS
    kept = scale_form(form, t)
    read = read_score_form(write_score_form(kept, 3), K, 3)
    np.testing.assert_array_equal(read.log_likelihoods(X), kept.log_likelihoods(X))


@every_form
def test_files_of_forms_that_are_not_scaled_do_not_have_an_evidence_weight(name):
    section = write_score_form(FORMS[name][0], 3)
    assert not section.has("trust")
    if not isinstance(FORMS[name][0], Linear):
        assert not section.has("offsets")


@pytest.mark.parametrize("name", TOGETHER)
def test_features_scored_together_have_one_evidence_weight(name):
    with pytest.raises(UndefinedError, match=r"have one evidence weight.*Hint"):
        scale_form(FORMS[name][0], WEIGHTS)


@pytest.mark.parametrize("name", [name for name in INFINITE if name not in TOGETHER])
def test_the_impossible_cannot_have_a_negative_evidence_weight(name):
    with pytest.raises(UndefinedError, match=r"infinitely probable.*Hint: a pseudo-count"):
        scale_form(FORMS[name][0], -1.0)


@pytest.mark.parametrize("weight", [np.nan, np.inf, np.ones((2, 3)), np.array([1.0, np.nan, 1.0])], ids=str)
def test_an_evidence_weight_is_a_finite_number_or_one_for_each_feature(weight):
    with pytest.raises(InputError, match="finite number"):
        scale_form(FORMS["diagonal"][0], weight)


@pytest.mark.parametrize("name", ALONE)
def test_there_is_an_evidence_weight_for_each_feature(name):
    with pytest.raises(InputError, match="2 evidence weights for 3 features"):
        scale_form(FORMS[name][0], np.ones(2))


def test_a_form_that_has_no_features_can_be_scaled():
    empty = np.zeros((K, 0))
    for form in (
        Lookup(empty, np.array([0]), empty),
        Steps(np.zeros(0), np.array([0]), empty),
        Diagonal(empty, empty),
    ):
        assert scale_form(form, 2.0).n_classes == K
