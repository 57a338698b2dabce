"""One behaviour, all engines: the same rows give the same statistic and the same scores by every path."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from deciban.engines import InvalidValueError, apply, summarise
from deciban.engines.sparse import find_suspect_entry
from deciban.errors import DecibanWarning, InputError
from deciban.ledger import Needs
from deciban.scores import Linear
from tests.engines.paths import CASES, IMPLEMENTATIONS, PATHS, by_definition, every_case, many_blocks, near
from tests.laws.matrix import assert_same

every_path = pytest.mark.parametrize("path", PATHS)
pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


@every_case
@every_path
@pytest.mark.parametrize("holes", [0.0, 0.2], ids=["whole", "holes"])
@pytest.mark.parametrize("weights", [False, True], ids=["unit", "weights"])
def test_every_path_gives_the_same_statistic_and_scores(case, path, holes, weights):
    if holes and not case.holes:
        pytest.skip("a bag of words has no missing counts")
    X, codes, weight = case.rows(n=200, holes=holes, weights=weights)
    Q = np.vstack([X, case.rows(seed=1, n=70, holes=holes)[0]])
    with by_definition():
        expected = case.model(X, codes, weight)
        answers = {wanted: expected.scores([Q], wanted, 1) for wanted in case.wanted}
    how, store = PATHS[path]
    with how(), many_blocks():
        model = case.model(store(X), codes, weight)
        assert_same(model.ledger.parts[0], expected.ledger.parts[0])
        for wanted, answer in answers.items():
            near(model.scores([store(Q)], wanted, 1), answer)


@every_case
@every_path
def test_the_number_of_threads_changes_no_bit(case, path):
    X, codes, weight = case.rows(n=400, weights=True, holes=0.0)
    how, store = PATHS[path]
    X = store(X)
    with how(), many_blocks():
        models = [case.model(X, codes, weight, threads=threads) for threads in (1, 2, 3)]
        for other in models[1:]:
            for name, array in models[0].ledger.parts[0].arrays().items():
                np.testing.assert_array_equal(other.ledger.parts[0].arrays()[name], array)
        for wanted in case.wanted:
            one, *more = (models[0].scores([X], wanted, threads) for threads in (1, 2, 3))
            for other in more:
                np.testing.assert_array_equal(other, one)


@every_case
@pytest.mark.parametrize("way", IMPLEMENTATIONS)
def test_no_rows_and_one_row(case, way):
    X, codes, _ = case.rows()
    with IMPLEMENTATIONS[way]():
        model = case.model(X, codes)
        nothing = case.model(X[:0], codes[:0])
        assert nothing.ledger.n_rows == 0
        assert_same((nothing.ledger + model.ledger).parts[0], model.ledger.parts[0])
        for wanted in case.wanted:
            assert len(model.scores([X[:0]], wanted, 1)) == 0
            near(model.scores([X[:1]], wanted, 1), model.scores([X], wanted, 1)[:1])


@pytest.mark.parametrize("way", IMPLEMENTATIONS)
@pytest.mark.parametrize("case", [c for c in CASES if c.draw.__name__ in ("flags", "words")], ids=lambda c: c.name)
def test_entries_stored_twice_are_added_up(case, way):
    X, codes, _ = case.rows()
    tangled = csr_matrix(
        (np.tile([1.0, 1.0, 2.0], len(X)), np.tile([4, 1, 4], len(X)), np.arange(len(X) + 1) * 3), X.shape
    )
    plain = tangled.toarray()
    with IMPLEMENTATIONS[way]():
        assert_same(case.model(tangled, codes).ledger.parts[0], case.model(plain, codes).ledger.parts[0])
        model = case.model(X, codes)
        for wanted in case.wanted:
            near(model.scores([tangled], wanted, 1), model.scores([plain], wanted, 1))
        labels = np.arange(3)
        for pair in [(0, 1), (2, 1)]:
            explanation = model.explain([tangled], pair, labels, 1), model.explain([plain], pair, labels, 1)
            near(explanation[0].total, explanation[1].total)
    assert tangled.nnz == 3 * len(X)


BAD = [
    (Needs("counts", signed=False, skips=False), np.nan, "missing"),
    (Needs("counts", signed=False), np.inf, "infinite"),
    (Needs("counts", signed=False), -2.0, "negative"),
    (Needs("counts", threshold=0.0), np.inf, "infinite"),
    (Needs("counts", threshold=0.0, skips=False), np.nan, "missing"),
    (Needs("counts", signed=False, unit=True), 1.5, "above one"),
    (Needs("levels", signed=False), -1.0, "negative"),
    (Needs("levels", signed=False), np.inf, "infinite"),
    (Needs("levels", signed=False), 1e12, "too many levels"),
    (Needs("cells", signed=False, skips=False), np.nan, "missing"),
    (Needs("moments"), -np.inf, "infinite"),
    (Needs("moments", skips=False), np.nan, "missing"),
    (Needs("scatter"), np.inf, "infinite"),
    (Needs("grid"), -np.inf, "infinite"),
    (Needs("grid", skips=False), np.nan, "missing"),
]


@every_path
@pytest.mark.parametrize(("needs", "value", "rule"), BAD, ids=str)
def test_a_value_without_meaning_is_refused_where_it_stands(path, needs, value, rule):
    how, store = PATHS[path]
    X = np.zeros((500, 3))
    X[437, 2] = value
    with how(), many_blocks(), pytest.raises(InvalidValueError) as caught:
        summarise(needs, store(X), np.zeros(500, np.int32), None, 1, 1)
    bad = caught.value
    assert (bad.rule, bad.row, bad.column, bad.count) == (rule, 437, 2, 1)
    assert bad.value == value or np.isnan(value)


@every_path
def test_all_values_of_a_column_that_break_the_rule_are_counted(path):
    how, store = PATHS[path]
    X = np.array([[0.0, -1.0, 2.0], [3.0, -2.0, -5.0], [1.0, 4.0, 0.0]])
    with how(), pytest.raises(InvalidValueError) as caught:
        summarise(Needs("counts", signed=False), store(X), np.zeros(3, np.int32), None, 1, 1)
    bad = caught.value
    assert (bad.rule, bad.row, bad.column, bad.value, bad.count) == ("negative", 0, 1, -1.0, 2)


def test_stored_values_whose_sum_overflows_are_not_suspect():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_suspect_entry(csr_array([[1e308, 1e308]]), Needs("counts")) == -1
        assert find_suspect_entry(csr_array([[1.0, np.inf, -np.inf]]), Needs("counts")) == 1


@every_path
@pytest.mark.parametrize("value", [1e200, -1e200])
def test_sums_that_overflow_are_refused(path, value):
    how, store = PATHS[path]
    X = np.array([[value], [-value], [1.0]])
    with how(), pytest.raises(InputError, match="overflows"):
        summarise(Needs("moments"), store(X), np.zeros(3, np.int32), None, 1, 1)


@pytest.mark.parametrize("way", IMPLEMENTATIONS)
def test_rows_impossible_under_every_class_are_counted_and_take_the_prior(way):
    case = next(c for c in CASES if c.name == "multinomial, maximum likelihood")
    X = np.array([[1.0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]])
    Q = np.array([[1.0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    for store in (np.asarray, csr_array):
        with IMPLEMENTATIONS[way]():
            model = case.model(store(X), np.array([0, 1, 1], np.int32), K=2)
            with pytest.warns(DecibanWarning, match="2 rows are impossible"):
                assert model.scores([store(Q)], "winner", 1).tolist() == [1, 1, 0]
            with pytest.warns(DecibanWarning, match="2 rows are impossible"):
                near(model.scores([store(Q)], "posterior", 1), [[1 / 3, 2 / 3], [1 / 3, 2 / 3], [1, 0]])
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert model.scores([store(Q)], "density", 1)[:2].tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.uint8, np.bool_, ">f8"])
@pytest.mark.parametrize(
    "name", ["bernoulli", "multinomial", "poisson", "gaussian", "gaussian, full", "categorical", "binned", "joint"]
)
@every_path
def test_every_kind_of_number_is_read_as_its_value(path, name, kind):
    case = next(c for c in CASES if c.name == name)
    X, codes, _ = case.rows()
    X = np.abs(X).round().astype(kind)
    how, store = PATHS[path]
    if np.dtype(kind).byteorder == ">" and store is not np.asarray:
        pytest.skip("scipy multiplies no foreign byte order")
    with by_definition():
        expected = case.model(X.astype(np.float64), codes)
        answer = expected.scores([X.astype(np.float64)], "joint", 1)
    with how():
        model = case.model(store(X), codes)
        assert_same(model.ledger.parts[0], expected.ledger.parts[0])
        near(model.scores([store(X)], "joint", 1), answer)


@every_path
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_factorials_of_large_counts_are_exact_in_every_kind_of_number(path, kind):
    case = next(c for c in CASES if c.name == "poisson")
    X, codes = np.array([[255, 1], [3, 0], [2, 77]]), np.array([0, 1, 1], np.int32)
    how, store = PATHS[path]
    with by_definition():
        expected = case.model(X.astype(float), codes, K=2).scores([X.astype(float)], "joint", 1)
    with how():
        near(case.model(X.astype(float), codes, K=2).scores([store(X.astype(kind))], "joint", 1), expected)


def test_zeros_that_are_not_stored_lie_above_a_negative_threshold():
    X, codes = np.array([[0.0, 2.0], [-3.0, 0.0]]), np.array([0, 1], np.int32)
    needs = Needs("counts", threshold=-1.0)
    form = Linear(np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(2), threshold=-1.0)
    for how in IMPLEMENTATIONS.values():
        with how():
            dense = summarise(needs, X, codes, None, 2, 1)
            assert_same(summarise(needs, csr_array(X), codes, None, 2, 1), dense)
            scores = [
                apply([form], [store(X)], [needs], np.zeros(2), "joint", 1) for store in (np.asarray, csr_array)
            ]
            near(*scores)


@every_case
@pytest.mark.parametrize("way", IMPLEMENTATIONS)
def test_inputs_are_never_changed(case, way):
    X, codes, weight = case.rows(weights=True)
    kept = X.copy()
    X.flags.writeable = False
    with IMPLEMENTATIONS[way]():
        model = case.model(X, codes, weight)
        for wanted in case.wanted:
            model.scores([X], wanted, 1)
        Z = csr_array(kept)
        case.model(Z, codes, weight).explain([Z], None, np.arange(3), 1)
    assert (Z.toarray() == kept).all()
