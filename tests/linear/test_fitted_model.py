"""Fitted models: intercepts split into prior and bias, errors, and saving to files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import deciban
from deciban import persistence as files
from deciban.errors import ModelFileError, UndefinedError
from deciban.ledger import Block, Needs, Schema
from deciban.linear.fitted_model import Account, FittedModel
from deciban.persistence.generative_models import read_scorer, write_scorer
from deciban.scores import Linear

X = np.array([[1.0, 2.0], [-3.0, 0.5], [np.nan, 4.0]])
WEIGHTS = np.array([[0.5, -1.0], [0.0, 2.0], [1.5, 0.25]])
BIAS = np.array([0.3, -0.2, 1.0])
LABELS = np.array(["a", "b", "c"], dtype=object)
ACCOUNT = Account("logistic", {"C": 1.0, "penalty": None}, 3.5, 2.5, 7, True, False, 9, {"x0": 0.5, "x1": 1.25})


def build_model(rows: list[float] | None = None) -> FittedModel:
    schema = Schema(("a", "b", "c"), (Block("moments", 2, ("x0", "x1"), reading="x"),))
    forms = [Linear(WEIGHTS, np.zeros(3))]
    return FittedModel.of(schema, forms, [Needs("moments")], BIAS, np.array(rows or [6.0, 3.0, 1.0]), ACCOUNT)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_a_setting_that_is_true_is_not_said_to_be_chosen() -> None:
    account = Account("evidence", {"C": 1.0, "C_chosen": False, "held_out": True}, n_iter=2)
    assert str(account) == "evidence regression: C = 1, held_out = True, 2 iterations"


def test_the_posterior_is_the_softmax_of_weights_and_intercepts() -> None:
    expected = softmax(np.nan_to_num(X) @ WEIGHTS.T + BIAS)
    assert np.allclose(build_model().scores([X], "posterior", 1), expected, atol=1e-15)


def test_an_intercept_is_split_into_the_prior_of_the_rows_and_a_bias_beyond_it() -> None:
    explanation = build_model().explain([X], (0, 1), LABELS, 1)
    decibans = 10 / np.log(10)
    assert np.allclose(explanation.prior, decibans * np.log(6 / 3))
    assert np.allclose(explanation.prior + explanation.extras["bias"], decibans * (BIAS[0] - BIAS[1]))
    log_posterior = np.log(build_model().scores([X], "posterior", 1))
    assert np.allclose(explanation.total, decibans * (log_posterior[:, 0] - log_posterior[:, 1]))


def test_the_boundary_has_the_whole_intercept() -> None:
    line = build_model().boundary()
    assert np.allclose(line.bias, BIAS)
    assert np.array_equal(line.weights, WEIGHTS)


def test_a_class_without_rows_is_impossible_and_the_others_share_its_place() -> None:
    scores, usual = (
        build_model([6.0, 3.0, 0.0]).scores([X], "posterior", 1),
        build_model().scores([X], "posterior", 1),
    )
    assert (scores[:, 2] == 0).all()
    assert np.allclose(scores[:, :2], usual[:, :2] / usual[:, :2].sum(axis=1, keepdims=True))


@pytest.mark.parametrize("wanted", ["density", "typicality"])
def test_what_asks_for_the_probability_of_x_is_refused(wanted: str) -> None:
    with pytest.raises(UndefinedError, match=r"has no p\(x\).*Hint"):
        build_model().scores([X], wanted, 1)  # type: ignore[arg-type]


def test_without_a_naive_bayes_model_there_is_no_ledger() -> None:
    with pytest.raises(UndefinedError, match="neither add nor subtract"):
        build_model().ledger  # noqa: B018


def test_a_file_brings_back_forms_and_account(tmp_path: Path) -> None:
    again = through_a_file(build_model(), tmp_path)
    assert again.account == ACCOUNT
    assert again.schema == build_model().schema
    assert np.array_equal(again.scores([X], "log_posterior", 1), build_model().scores([X], "log_posterior", 1))


def test_a_figure_that_is_unknown_stays_unknown_in_a_file(tmp_path: Path) -> None:
    account = Account("boosted")
    again = through_a_file(replace(build_model(), account=account), tmp_path)
    assert np.isnan(again.account.objective)
    assert again.account.trust is None


@pytest.mark.parametrize(
    ("where", "value", "complaint"),
    [
        (("account", "learner"), "oracle", "one of"),
        (("account", "settings"), {"C": [1]}, "not a plain value"),
        (("account", "n_iter"), -1, "whole number"),
        (("needs",), [], "needs for 1 blocks"),
        (("forms",), [{"form": "Lookup"}], "one of"),
    ],
)
def test_a_file_that_tells_nonsense_is_refused(
    tmp_path: Path, where: tuple[str, ...], value: object, complaint: str
) -> None:
    section = write_scorer(build_model())
    inner = section.header["learned"]
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = value
    files.write(tmp_path / "spoilt", section.header, section.arrays)
    with pytest.raises(ModelFileError, match=complaint):
        read_scorer(files.read(tmp_path / "spoilt").section())


def through_a_file(learned: FittedModel, folder: Path) -> FittedModel:
    section = write_scorer(learned)
    files.write(folder / "learned", section.header, section.arrays)
    again = read_scorer(files.read(folder / "learned").section())
    assert isinstance(again, FittedModel)
    return again


DOORS = {
    "numbers": lambda X, y: deciban.LogisticRegression().fit(X, y),
    "sparse numbers": lambda X, y: deciban.LogisticRegression().fit(csr_array(X), y),
    "words": lambda X, y: deciban.EvidenceRegression().fit(X, y),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_log_odds_of_two_classes_are_half_for_one_and_half_against_the_other_by_every_door(door) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.poisson(1.0, (60, 4)).astype(float), np.arange(60) % 2
    model = DOORS[door](rows, labels)
    line = model.linear_form()
    np.testing.assert_array_equal(line.weights, [-model.coef_[0] / 2, model.coef_[0] / 2])
    np.testing.assert_array_equal(line.w, model.coef_[0])


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_so_are_those_of_tables(learner) -> None:
    rng = np.random.default_rng(0)
    words = (["aye", "fine", "sun", "sea"], ["nay", "grim", "sun", "sea"])
    table = {"text": [" ".join(rng.choice(words[i % 2], 4)) for i in range(60)], "y": ["yes", "no"] * 30}
    forms = deciban.train(table, target="y", roles={"text": "text"}, learner=learner, judge=False)
    (weights,) = [form.weights for form in forms._scorer.solved.forms]
    np.testing.assert_allclose(weights[0], -weights[1], rtol=1e-12)
    assert np.abs(weights).max() > 0
