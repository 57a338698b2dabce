"""Costs, thresholds and rejection of every estimator: the rule applied to the estimator's own posteriors."""

import numpy as np
import pytest

import deciban
from deciban.errors import InputError
from deciban.scores.posterior import Decision
from tests.estimators.examples import EXAMPLES, IDS

COSTS = {("ant", "bee"): 9.0, ("cat", "bee"): 3.0}
RULES = {
    "costs": {"costs": COSTS},
    "reject": {"reject": 0.3},
    "thresholds": {"thresholds": {"bee": 0.2, "cat": 0.6}},
    "all": {"costs": COSTS, "reject": 0.5, "thresholds": {"bee": 0.3}},
}


def decide(model, X, **rule):
    """Return the decisions of a rule for probabilities."""
    codes = Decision.of(model.classes_, **rule).apply(model.predict_proba(X))
    return [None if k < 0 else model.classes_[k] for k in codes]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("example", EXAMPLES, **IDS)
def test_predictions_follow_the_rule(example, rule):
    X, _ = example.data()
    model = example.make_fitted()
    called = model.predict(X, **RULES[rule])
    assert called.tolist() == decide(model, X, **RULES[rule])
    assert called.dtype == (object if None in called.tolist() else model.classes_.dtype)


def test_documents_and_tables_are_decided_as_rows_are():
    texts = ["cheap pills", "buy cheap watches", "lunch at noon", "the report is at noon", "pills at noon"]
    spam = deciban.TextClassifier().fit(texts, ["spam", "spam", "ham", "ham", "ham"])
    assert spam.predict(texts).tolist() == ["spam", "spam", "ham", "ham", "ham"]
    rule = {"costs": {("ham", "spam"): 50}, "reject": 0.4}
    assert spam.predict(texts, **rule).tolist() == decide(spam, texts, **rule)
    table = {"age": [20.0, 30, 40, 50, 60, 70], "smoker": ["no", "no", "yes", "no", "yes", "yes"]}
    ill = deciban.NaiveBayes().fit(table, [0, 0, 0, 1, 1, 1])
    rule = {"reject": 0.2}
    assert ill.predict(table, **rule).tolist() == decide(ill, table, **rule)
    assert None in ill.predict(table, reject=0.0).tolist()


def test_what_makes_no_rule_is_refused_and_nothing_has_changed():
    model = EXAMPLES[0].make_fitted()
    X, _ = EXAMPLES[0].data()
    before = model.predict(X)
    for rule in ({"costs": {("ant", "dog"): 1}}, {"reject": "never"}, {"thresholds": {"ant": 2}}):
        with pytest.raises(InputError):
            model.predict(X, **rule)
    assert np.array_equal(model.predict(X), before)


def test_other_priors_and_costs_that_say_the_same_decide_the_same():
    """A cost of 5 for every mistake about bees is a prior five times as high, normalised."""
    example = next(f for f in EXAMPLES if f.name == "GaussianNB")
    X, _ = example.data()
    model = example.make_fitted()
    costs = {("bee", called): 5.0 for called in ("ant", "cat")}
    shares = np.array([1.0, 5.0, 1.0]) * model.class_prior_
    assert np.array_equal(model.predict(X, costs=costs), model.with_priors(shares / shares.sum()).predict(X))


def test_a_novel_row_is_called_nothing_whatever_it_would_cost():
    example = next(f for f in EXAMPLES if f.name == "GaussianNB")
    X, y = example.data()
    model = example.make_fitted()
    far = np.vstack([X[:3], X[:1] + 1e4])
    with pytest.raises(InputError, match="does not know which rows are usual"):
        model.predict(far, reject_novel=0.01)
    called = model.fit_novelty(X, y).predict(far, reject_novel=0.01, costs=COSTS)
    assert called[-1] is None
    assert called[:3].tolist() == model.predict(X[:3], costs=COSTS).tolist()
