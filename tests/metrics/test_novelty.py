"""Novelty: rows less probable, a cell or a word, than nearly all rows that were learned."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import norm

import deciban
from deciban.errors import DecibanWarning, InputError, UndefinedError
from deciban.persistence.score_forms import read_novelty, write_novelty
from deciban.scores.posterior import Novelty, density_per_cell
from tests.estimators.examples import EXAMPLES
from tests.tables import clinic
from tests.tables.reviews import reviews


@pytest.mark.parametrize("n", [5, 300, 5000])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.5])
def test_at_most_the_share_of_usual_rows_is_novel(n, share):
    values = np.random.default_rng(n).normal(size=n)
    found = Novelty.of(values).is_novel(values, share).mean()
    assert share - 1 / min(n, 1000) - 1e-9 <= found <= share + 1e-9


def test_weight_two_is_a_row_twice():
    values, w = np.array([-3.0, -2, -1, 0, 1]), np.array([1.0, 2, 1, 3, 1])
    twice = Novelty.of(np.repeat(values, w.astype(int)))
    for share in (0.0, 0.2, 0.4, 0.6):
        assert Novelty.of(values, w).threshold(share) == twice.threshold(share)


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan"), "few", None, True])
def test_a_share_is_from_zero_to_one(share):
    with pytest.raises(InputError, match="reject_novel is the share"):
        Novelty.of(np.arange(9.0)).threshold(share)


def test_no_rows_tell_nothing():
    with pytest.raises(InputError, match="no rows"):
        Novelty.of(np.zeros(0))


def test_a_row_of_which_nothing_is_known_has_no_typicality_and_is_novel():
    np.testing.assert_array_equal(density_per_cell(np.array([-6.0, 0.0]), np.array([3.0, 0.0])), [-2.0, np.nan])
    assert Novelty.of(np.arange(5.0)).is_novel(np.array([np.nan, 4.0]), 0.0).tolist() == [True, False]


def test_what_is_usual_is_read_as_it_was_written():
    found = Novelty.of(np.append(np.arange(40.0), -np.inf))
    again = read_novelty(write_novelty(found))
    assert (again.quantiles == found.quantiles).all()
    assert again.rows == 41


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(5.0 * y[:, None], 1.0, (n, 3)), y


def test_the_quantiles_are_those_of_each_row_left_out():
    X, y = rows(30)
    model = deciban.GaussianNB(var_smoothing=0.0).fit(X, y).fit_novelty(X, y)
    expected = []
    for i in range(30):
        rest = np.arange(30) != i
        parts = []
        for k in range(2):
            mine = X[rest][y[rest] == k]
            share = len(mine) / 29
            parts.append(np.log(share) + norm.logpdf(X[i], mine.mean(axis=0), mine.std(axis=0)).sum())
        expected.append(np.logaddexp(*parts) / 3)
    np.testing.assert_allclose(model.novelty_.quantiles[:30], np.sort(expected), rtol=1e-7)


def test_missing_cells_make_no_row_novel():
    X, y = rows()
    X[::2, 0] = np.nan
    model = deciban.GaussianNB().fit(X, y).fit_novelty(X, y)
    result = model.predict(X, reject_novel=0.05)
    assert 0.01 < np.mean([label is None for label in result[::2]]) < 0.12
    far = np.array([[np.nan, 50.0, -50.0], [np.nan, 5.0, 5.0]])
    assert [label is None for label in model.predict(far, reject_novel=0.01)] == [True, False]


def test_long_documents_are_no_more_novel_than_short_ones():
    rng = np.random.default_rng(0)
    words = np.array(["tea", "pot", "cup", "milk", "leaf", "bag", "rare"])
    often = np.array([6, 5, 4, 3, 2, 1, 0.05])
    texts = [" ".join(rng.choice(words, rng.integers(2, 60), p=often / often.sum())) for _ in range(300)]
    labels = rng.choice(["a", "b"], 300)
    model = deciban.TextClassifier().fit(texts, labels).fit_novelty(texts, labels)
    asked = ["tea pot cup milk " * 50, "rare rare rare rare", "zebra"]
    with pytest.warns(DecibanWarning, match="no word that the model knows"):
        assert [label is None for label in model.predict(asked, reject_novel=0.01)] == [False, True, True]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_estimator_knows_what_is_usual_or_explains_why_not(example):
    X, y = example.data()
    model = example.make().fit(X, y)
    if example.name == "ComplementNB":
        with pytest.raises(UndefinedError, match="no density"):
            model.fit_novelty(X, y)
        with pytest.raises(UndefinedError, match="no density"):
            model.predict(X, reject_novel=0.1)
        return
    with pytest.raises(InputError, match="fit_novelty"):
        model.predict(X, reject_novel=0.1)
    assert model.fit_novelty(X, y) is model
    novel = [label is None for label in model.predict(X, reject_novel=0.1)]
    assert np.mean(novel) < 0.5
    assert model.partial_fit(X, y).novelty_ is None


def test_sparse_rows_are_as_novel_as_dense_ones():
    X = np.random.default_rng(0).poisson(1.0, (60, 8)).astype(float)
    y = np.arange(60) % 3
    for make in (deciban.MultinomialNB, deciban.BernoulliNB, deciban.PoissonNB):
        dense = make().fit(X, y).fit_novelty(X, y)
        sparse = make().fit(csr_array(X), y).fit_novelty(csr_array(X), y)
        np.testing.assert_allclose(dense.novelty_.quantiles, sparse.novelty_.quantiles, rtol=1e-9)
        assert (dense.predict(X, reject_novel=0.2) == sparse.predict(csr_array(X), reject_novel=0.2)).all()


def test_a_table_is_trained_with_what_is_usual(tmp_path):
    table = clinic.patients(300)
    model = deciban.train(table, target="diagnosis")
    model.save(tmp_path / "m")
    result = deciban.load(tmp_path / "m").predict(table, reject_novel=0.05).to_pylist()
    assert 0.01 < np.mean([label is None for label in result]) < 0.1
    unusual = table.slice(0, 1).set_column(1, "age", [[900.0]])
    assert model.predict(unusual, reject_novel=0.01).to_pylist() == [None]
    assert model.with_priors("uniform").predict(unusual, reject_novel=0.01).to_pylist() == [None]
    with pytest.raises(InputError, match="does not know which rows are usual"):
        model.add(table).predict(table, reject_novel=0.01).to_pylist()


def test_the_share_holds_for_new_rows_of_texts_with_words_of_their_own():
    every = reviews(600)
    model = deciban.train(every.slice(0, 300), target="verdict", roles={"text": "text", "head": "skip"})
    result = model.predict(every.slice(300), reject_novel=0.05).to_pylist()
    assert 0.01 < np.mean([label is None for label in result]) < 0.12
    texts, labels = every["text"].fill_null("").to_pylist(), every["verdict"].to_pylist()
    estimator = deciban.TextClassifier().fit(texts[:300], labels[:300]).fit_novelty(texts[:300], labels[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        result = estimator.predict(texts[300:], reject_novel=0.2)
    assert 0.1 < np.mean([label is None for label in result]) < 0.3


def test_a_table_that_was_not_scored_states_how_to_get_it():
    model = deciban.train(clinic.patients(60), target="diagnosis", judge=False)
    with pytest.raises(InputError, match="judge=True"):
        model.predict(clinic.patients(5), reject_novel=0.01)


def test_rows_without_any_cell_are_no_yardstick_and_are_novel_themselves():
    rng = np.random.default_rng(0)
    codes = np.arange(1000) % 2
    x = rng.normal(codes, 1.0)
    x[:20] = np.nan  # twice as many as may pass for novel
    asked = {"x": [1e6, 0.0, None]}
    model = deciban.train({"x": x, "y": codes}, target="y", numbers="number")
    assert model.predict(asked, reject_novel=0.01).tolist() == [None, 0, None]
    estimator = deciban.GaussianNB().fit(x[:, None], codes).fit_novelty(x[:, None], codes)
    assert estimator.predict([[1e6], [0.0], [np.nan]], reject_novel=0.01).tolist() == [None, 0, None]
