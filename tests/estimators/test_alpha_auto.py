"""alpha="auto" of the estimators: chosen by the ledger alone, however the rows were learned."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

import deciban
from deciban.errors import DecibanError, InputError, SchemaError
from deciban.estimators.fold_estimators import CANDIDATE_ALPHAS
from deciban.families.marginal_likelihood import best_alpha


def draw_counts():
    rng = np.random.default_rng(3)
    labels = np.array(["ant", "bee", "cat"])[rng.permutation(np.arange(120) % 3)]
    return rng.poisson(1.5 + (labels == "bee")[:, None] * np.array([[2.0, 0.0, 1.0, 0.0]]), (120, 4)), labels


COUNTS, LABELS = draw_counts()
ESTIMATOR_NAMES = ["BernoulliNB", "CategoricalNB", "ComplementNB", "JointBayes", "MultinomialNB", "PoissonNB"]
DOCUMENTS = ["tea pot tea", "milk cup", "tea milk sugar sugar", "cup spoon", "pot pot spoon tea"] * 6
TOPICS = [0, 1, 0, 1, 0] * 6


def make(name, **more):
    return getattr(deciban, name)(alpha="auto", **more)


@pytest.mark.parametrize("name", ESTIMATOR_NAMES)
def test_the_model_is_that_of_the_pseudo_count_that_was_chosen(name):
    model = make(name).fit(COUNTS, LABELS)
    family = model._scorer.assumption.families[0]
    assert np.array_equal(model.alpha_, best_alpha(family, model.ledger_.parts[0]))
    if name != "CategoricalNB":
        result = getattr(deciban, name)(alpha=model.alpha_).fit(COUNTS, LABELS)
        assert np.array_equal(model.predict_log_proba(COUNTS), result.predict_log_proba(COUNTS))


def test_each_feature_of_levels_is_smoothed_by_its_own():
    model = make("CategoricalNB").fit(COUNTS, LABELS)
    for j, alpha in enumerate(model.alpha_):
        alone = deciban.CategoricalNB(alpha=float(alpha)).fit(COUNTS[:, [j]], LABELS)
        assert np.array_equal(model.feature_log_prob_[j], alone.feature_log_prob_[0])


@pytest.mark.parametrize("name", ESTIMATOR_NAMES)
def test_learning_more_forgetting_merging_and_files_choose_what_one_fit_would(name, tmp_path):
    whole = make(name).fit(COUNTS, LABELS)
    first, second = make(name), make(name)
    first.partial_fit(COUNTS[:50], LABELS[:50], classes=np.unique(LABELS))
    second.partial_fit(COUNTS[50:], LABELS[50:], classes=np.unique(LABELS))
    assert np.array_equal((first + second).alpha_, whole.alpha_)
    first.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    assert loaded.alpha == "auto"
    assert np.array_equal(loaded.alpha_, first.alpha_)
    assert np.array_equal(loaded.predict_log_proba(COUNTS), first.predict_log_proba(COUNTS))
    assert np.array_equal(loaded.partial_fit(COUNTS[50:], LABELS[50:]).alpha_, whole.alpha_)
    assert np.array_equal(loaded.forget(COUNTS[50:], LABELS[50:]).alpha_, first.alpha_)


@pytest.mark.parametrize("name", ESTIMATOR_NAMES)
def test_sparse_rows_choose_what_dense_ones_do(name):
    dense, sparse = make(name).fit(COUNTS, LABELS), make(name).fit(csr_array(COUNTS), LABELS)
    assert np.array_equal(dense.alpha_, sparse.alpha_)


def test_priors_and_clones_leave_the_choice_alone():
    model = make("BernoulliNB").fit(COUNTS, LABELS)
    assert model.with_priors("uniform").alpha_ == model.alpha_
    assert clone(model).alpha == "auto"


def test_a_model_of_a_given_pseudo_count_is_another():
    with pytest.raises(SchemaError, match="alpha"):
        make("MultinomialNB").fit(COUNTS, LABELS) + deciban.MultinomialNB().fit(COUNTS, LABELS)


@pytest.mark.parametrize("name", ESTIMATOR_NAMES)
def test_other_words_are_refused(name):
    with pytest.raises(ValueError, match="alpha"):
        getattr(deciban, name)(alpha="automatic").fit(COUNTS, LABELS)


@pytest.mark.parametrize("name", ESTIMATOR_NAMES)
def test_one_row_of_one_class_is_enough(name):
    model = make(name).fit([[1, 0]], ["ant"])
    assert np.all(np.asarray(model.alpha_) > 0)
    assert model.predict([[0, 1]]).tolist() == ["ant"]


@pytest.mark.parametrize("event", ["multinomial", "boolean", "bernoulli", "complement"])
def test_documents_choose_by_the_words_that_are_kept(event, tmp_path):
    model = deciban.TextClassifier(event=event, alpha="auto").fit(DOCUMENTS, TOPICS)
    result = deciban.TextClassifier(event=event, alpha=model.alpha_).fit(DOCUMENTS, TOPICS)
    assert np.array_equal(model.predict_log_proba(DOCUMENTS), result.predict_log_proba(DOCUMENTS))
    fewer = deciban.TextClassifier(event=event, alpha="auto", most=2).fit(DOCUMENTS, TOPICS)
    assert model.select(2).alpha_ == fewer.alpha_
    model.save(tmp_path / "t.deciban")
    assert deciban.load(tmp_path / "t.deciban").alpha_ == model.alpha_


def test_many_documents_choose_by_the_log_loss_of_those_held_out_and_files_keep_the_choice(tmp_path):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 400)
    share = rng.dirichlet(np.full(300, 0.3), 3)
    documents = [" ".join(f"w{v}" for v in rng.choice(300, 5, p=share[k])) for k in y]
    model = deciban.TextClassifier(alpha="auto", calibrate="temperature").fit(documents, y)
    losses = {}
    for alpha in CANDIDATE_ALPHAS:
        fixed = deciban.TextClassifier(alpha=alpha, calibrate="temperature")
        losses[alpha] = log_loss(y, cross_val_predict(fixed, documents, y, method="predict_proba", cv=5))
    assert losses[model.alpha_] < 1.05 * min(losses.values()) < 0.9 * max(losses.values())
    assert model.calibration_.method == "temperature"
    model.save(tmp_path / "t.deciban")
    again = deciban.load(tmp_path / "t.deciban")
    assert again.alpha_ == model.alpha_
    assert np.array_equal(again.predict_proba(documents), model.predict_proba(documents))


@pytest.mark.parametrize(
    "more",
    [
        {"idf": True},
        {"weighting": "tfidf"},
        {"weighting": "twcnb"},
        {"words": {"values": "log"}},
        {"words": {"length": "l1"}},
    ],
    ids=str,
)
def test_words_that_are_weighed_are_no_counts_to_choose_by(more):
    with pytest.raises(InputError, match=r"not counts. Hint: alpha as a number"):
        deciban.TextClassifier(alpha="auto", **more).fit(DOCUMENTS, TOPICS)


def test_a_table_of_every_kind_of_column_has_one_for_each_but_gaussians():
    X = {
        "level": ["a", "b", "c", "a"] * 30,
        "flag": [True, False] * 60,
        "height": np.linspace(0, 1, 120),
        "n": COUNTS[:, 0],
    }
    roles = {"level": "category", "flag": "flag", "height": "number", "n": "count"}
    model = deciban.NaiveBayes(alpha="auto", roles=roles).fit(X, LABELS)
    assert set(model.alpha_) == {"level", "flag", "n"}
    assert deciban.NaiveBayes(alpha=0.5, roles=roles).fit(X, LABELS).alpha_ == {"level": 0.5, "flag": 0.5, "n": 0.5}
    again = deciban.NaiveBayes(alpha="auto", roles=roles)
    half = {name: np.asarray(column)[:60] for name, column in X.items()}
    rest = {name: np.asarray(column)[60:] for name, column in X.items()}
    again.partial_fit(half, LABELS[:60], classes=np.unique(LABELS)).partial_fit(rest, LABELS[60:])
    assert again.alpha_ == model.alpha_


def test_a_file_that_says_auto_and_means_nonsense_is_refused(tmp_path):
    model = make("MultinomialNB").fit(COUNTS, LABELS)
    model.alpha = "sometimes"
    with pytest.raises((DecibanError, ValueError), match="alpha"):
        model.save(tmp_path / "m.deciban")


@pytest.mark.parametrize("folds", [4, "loo"])
@pytest.mark.parametrize("name", ESTIMATOR_NAMES)
def test_it_is_chosen_again_without_each_fold(name, folds):
    X, y = COUNTS[:60], LABELS[:60]
    report = deciban.cross_validate(make(name), X, y, folds=folds)
    fold = np.arange(60) if folds == "loo" else report.folds
    for f in np.unique(fold):
        alone = make(name).fit(X[fold != f], y[fold != f])
        result = np.exp(report.log_proba[fold == f])
        assert result == pytest.approx(alone.predict_proba(X[fold == f]), abs=1e-9)
