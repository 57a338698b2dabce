"""CSR rows on a device give the ledgers and posteriors of the same rows in a matrix of SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, random_array

import deciban
from deciban.errors import InputError
from deciban.gpu import csr, launch, tensors

torch = pytest.importorskip("torch", reason="torch is not installed: make test-gpu")
pytestmark = [
    pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning"),
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support"),
]

ESTIMATORS = {
    "multinomial": deciban.MultinomialNB(),
    "complement": deciban.ComplementNB(),
    "bernoulli": deciban.BernoulliNB(),
    "bernoulli above one": deciban.BernoulliNB(binarize=1.0),
    "poisson": deciban.PoissonNB(),
    "gaussian": deciban.GaussianNB(),
}


def draw(n=200, d=60, K=3, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    matrix = csr_array(random_array((n, d), density=0.1, format="csr", rng=rng))
    matrix.data = rng.integers(1, 5, matrix.nnz).astype(dtype)
    return matrix, rng.integers(0, K, n)


def to_tensor(matrix, device):
    parts = (torch.as_tensor(part, device=device) for part in (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=False)


def clone(name):
    from sklearn.base import clone

    return clone(ESTIMATORS[name])


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.interpreted(7)
def test_csr_tensors_give_the_model_of_matrices(name, dtype, way):
    matrix, y = draw(dtype=dtype)
    theirs = clone(name).fit(matrix, y)
    ours = clone(name).fit(to_tensor(matrix, way), torch.as_tensor(y, device=way))
    assert ours.ledger_ == theirs.ledger_
    for method in ("predict_proba", "predict_log_proba", "predict"):
        found = getattr(ours, method)(to_tensor(matrix, way))
        assert found.device.type == way
        rtol = 1e-6 if dtype == np.float32 else 1e-11
        np.testing.assert_allclose(found.cpu().numpy(), getattr(theirs, method)(matrix), rtol=rtol, atol=rtol)


def test_scores_that_overflow_are_refused(way):
    matrix, y = draw(dtype=np.float64)
    model = clone("complement").fit(matrix, y)  # its weights are positive
    matrix.data[3] = 1e308
    for rows in (matrix, to_tensor(matrix, way)):
        with pytest.raises(InputError, match="scores overflow"):
            model.predict_proba(rows)


@given(st.integers(1, 300), st.integers(1, 50), st.integers(1, 30), st.integers(0, 99))
@settings(max_examples=10)
def test_definition_and_product_with_indicators_agree(n, d, K, seed):
    matrix, y = draw(n, d, K, seed)
    one = csr_array((np.ones(n), (y, np.arange(n))), shape=(K, n))
    found = csr.define_stored(to_tensor(matrix, "cpu"), torch.as_tensor(y), K, None)
    assert (found == (one @ matrix).toarray()).all()
    above = csr.define_stored(to_tensor(matrix, "cpu"), torch.as_tensor(y), K, 2.0)
    assert (above == (one @ (matrix > 2)).toarray()).all()


@pytest.mark.parametrize("way", ["kernel"], indirect=True)
def test_the_kernel_agrees_with_its_definition(way):
    matrix, y = draw(K=20)
    x, codes = to_tensor(matrix, way), torch.as_tensor(y, device=way)
    for threshold in (None, 0.0, 2.0):
        found = launch.count_stored(x, codes, 20, threshold)
        assert (found == csr.define_stored(x, codes, 20, threshold)).all()


def test_weights_fractions_and_batches(way):
    matrix, y = draw()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 2.0], len(y))
    x, labels = to_tensor(matrix, way), torch.as_tensor(y, device=way)
    weighted = deciban.MultinomialNB().fit(x, labels, torch.as_tensor(weight, device=way))
    expected = deciban.MultinomialNB().fit(matrix, y, weight).feature_count_
    np.testing.assert_allclose(weighted.feature_count_, expected, rtol=1e-12)
    fractions = matrix / 3
    found = deciban.MultinomialNB().fit(to_tensor(fractions, way), labels)
    np.testing.assert_allclose(
        found.feature_count_, deciban.MultinomialNB().fit(fractions, y).feature_count_, rtol=1e-12
    )
    parts = deciban.MultinomialNB().partial_fit(to_tensor(matrix[:100], way), labels[:100], classes=[0, 1, 2])
    parts.partial_fit(to_tensor(matrix[100:], way), labels[100:])
    assert parts.ledger_ == deciban.MultinomialNB().fit(matrix, y).ledger_


def test_invalid_values_are_named_and_nothing_changes(way):
    matrix, y = draw()
    model = deciban.MultinomialNB().fit(to_tensor(matrix, way), torch.as_tensor(y, device=way))
    before = model.ledger_
    bad = matrix.copy()
    bad.data[7] = -2.0
    with pytest.raises(InputError, match="Negative values"):
        model.partial_fit(to_tensor(bad, way), torch.as_tensor(y, device=way))
    with pytest.raises(InputError, match="Negative values"):
        model.predict(to_tensor(bad, way))
    assert model.ledger_ is before


def test_columns_that_do_not_exist_are_refused(way):
    matrix, y = draw()
    x = to_tensor(matrix.copy(), way)
    x.col_indices()[5] = 60
    with pytest.raises(InputError, match="60 columns, and has the column index 60"):
        deciban.MultinomialNB().fit(x, torch.as_tensor(y, device=way))
    model = deciban.MultinomialNB().fit(to_tensor(matrix, way), torch.as_tensor(y, device=way))
    with pytest.raises(InputError, match="column index 60"):
        model.predict(x)


def test_large_tables_become_tallies_as_in_host_memory(way, monkeypatch):
    from deciban.engines import sparse

    monkeypatch.setattr(sparse, "DENSE_CELLS", 10)
    matrix, y = draw()
    model = deciban.MultinomialNB().fit(to_tensor(matrix, way), torch.as_tensor(y, device=way))
    assert model.ledger_ == deciban.MultinomialNB().fit(matrix, y).ledger_


def test_other_estimators_copy_csr_rows(device):
    matrix, y = draw()
    model = deciban.LogisticRegression().fit(to_tensor(matrix, device), torch.as_tensor(y, device=device))
    np.testing.assert_array_equal(model.coef_, deciban.LogisticRegression().fit(matrix, y).coef_)


def test_matrices_of_cupy_are_read(device):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    if device == "cpu":
        pytest.skip("no GPU")
    import cupy
    from cupyx.scipy.sparse import csr_matrix

    matrix, y = draw()
    X = csr_matrix(tuple(map(cupy.asarray, (matrix.data, matrix.indices, matrix.indptr))), shape=matrix.shape)
    assert tensors.is_tensor(X)
    model = deciban.MultinomialNB().fit(X, cupy.asarray(y))
    assert model.ledger_ == deciban.MultinomialNB().fit(matrix, y).ledger_
    assert isinstance(model.predict(X), cupy.ndarray)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.int32, np.uint8, np.float32])
@pytest.mark.parametrize("threshold", [1.7e9, 1.7e9 + 0.5, 2.0, 300.0])
@pytest.mark.interpreted(None)
def test_thresholds_among_large_stored_numbers(dtype, threshold, way):
    matrix, y = draw()
    values = np.random.default_rng(0).integers(-10, 10, matrix.nnz) + threshold if threshold > 1e3 else matrix.data
    matrix.data = values.astype(dtype)
    theirs = deciban.BernoulliNB(binarize=threshold).fit(matrix, y)
    ours = deciban.BernoulliNB(binarize=threshold).fit(to_tensor(matrix, way), torch.as_tensor(y, device=way))
    assert ours.ledger_ == theirs.ledger_
    found = ours.predict_proba(to_tensor(matrix, way)).cpu().numpy()
    np.testing.assert_allclose(found, theirs.predict_proba(matrix), rtol=1e-5)


POINTERS = {
    "decreasing": lambda p: [*p[:5], p[5] + 400, *p[6:]],
    "beyond the stored values": lambda p: [*p[:-1], p[-1] + 10**6],
    "too few": lambda p: [*p[:-1], p[-1] - 1],
    "negative": lambda p: [-3, *p[1:]],
    "of another number of rows": lambda p: p[:-1],
}


@pytest.mark.parametrize("case", POINTERS)
@pytest.mark.parametrize("name", ["multinomial", "gaussian"])
@pytest.mark.interpreted(None)
def test_row_pointers_are_checked(case, name, device):
    matrix, y = draw()
    model, labels = clone(name).fit(matrix, y), torch.as_tensor(y, device=device)
    parts = POINTERS[case](matrix.indptr.tolist()), matrix.indices, matrix.data
    parts = (torch.as_tensor(part, device=device) for part in parts)
    x = torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=False)
    for call in (lambda: clone(name).fit(x, labels), lambda: model.predict(x), lambda: csr.to_host(x)):
        with pytest.raises(InputError, match=r"row pointers must begin with 0, never decrease"):
            call()


@pytest.mark.parametrize("name", ["bernoulli", "bernoulli above one", "multinomial"])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.interpreted(None)
def test_values_that_are_repeated_in_a_cell_are_added_first(name, is_sorted, way):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 9, (200, 6)).astype(np.int64)
    columns = np.sort(columns) if is_sorted else columns
    parts = np.arange(0, 1201, 6), columns.ravel(), rng.integers(0, 3, 1200).astype(np.float32)
    matrix, y = csr_array(parts[::-1], shape=(200, 9)), rng.integers(0, 3, 200)
    parts = (torch.as_tensor(part, device=way) for part in parts)
    x = torch.sparse_csr_tensor(*parts, size=(200, 9), check_invariants=False)
    theirs, ours = clone(name).fit(matrix.copy(), y), clone(name).fit(x, torch.as_tensor(y, device=way))
    assert ours.ledger_ == theirs.ledger_
    np.testing.assert_allclose(ours.predict_proba(x).cpu().numpy(), theirs.predict_proba(matrix), rtol=1e-5)
