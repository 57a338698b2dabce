"""Comparison of learners on tables: figures equal those of `evaluate`, points of a curve those of a training."""

import warnings

import numpy as np
import pytest

import deciban
from deciban.errors import DecibanError, InputError
from deciban.families.gaussian import Covariance
from deciban.model.summarise_table import Rows
from deciban.training.candidates import CANDIDATE_NAMES, check_candidates
from deciban.training.row_draws import RowDraws, _interleave_classes
from tests.tables.clinic import patients
from tests.tables.reviews import reviews
from tests.thorough import thorough

COVARIANCES = [shape for shape in Covariance.__args__ if shape != "mixed"]  # which is chosen from rows
ROLES = {"patient": "skip"}


def clinic(n=200):
    frame = patients(n).to_pandas()
    return frame[frame["diagnosis"].notna()].reset_index(drop=True)


@pytest.fixture(scope="module")
def generative():
    return deciban.compare(clinic(), target="diagnosis", roles=ROLES, learners=["bayes", "gaussian"], draws=2)


def same(report, other):
    for figure in ("accuracy", "log_loss", "calibration_error", "rows"):
        assert getattr(report, figure) == pytest.approx(getattr(other, figure), rel=1e-9), figure


def test_naive_bayes_is_scored_as_evaluate_scores(generative):
    same(generative["naive Bayes"].report, deciban.evaluate(clinic(), target="diagnosis", roles=ROLES))


@pytest.mark.parametrize("shape", COVARIANCES)
def test_every_covariance_is_scored_as_evaluate_scores_given_the_arguments(generative, shape):
    each = generative[f"Gaussian {shape.replace('_', ' ')}"]
    assert each.arguments["covariance"] == shape
    same(each.report, deciban.evaluate(clinic(), target="diagnosis", roles=ROLES, **each.arguments))


@pytest.mark.parametrize("calibrate", ["none", "platt"])
@pytest.mark.parametrize(
    "learner", ["logistic", "evidence", thorough("boosted", reason="boosts in folds: two seconds")]
)
def test_partners_are_scored_as_evaluate_scores_them(learner, calibrate):
    table = clinic(120)
    settings = {"target": "diagnosis", "roles": ROLES, "folds": 3, "calibrate": calibrate}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = deciban.compare(table, learners=[learner], curve=False, **settings)  # boosted may be naive Bayes
        same(found[learner].report, deciban.evaluate(table, learner=learner, **settings))
    assert found[learner].arguments == {"learner": learner}
    assert found[learner].n_parameters > 1
    assert found[learner].seconds > 0


def test_the_parameters_are_those_of_a_model_of_the_other_folds(generative):
    model = deciban.train(clinic(), target="diagnosis", roles=ROLES, blocks="numbers", covariance="tied", judge=False)
    assert generative["Gaussian tied"].n_parameters == pytest.approx(model.n_parameters, rel=0.1)


def test_each_point_of_a_curve_is_a_training_on_the_rows_drawn(generative):
    table, growth = clinic(), generative.growth
    codes = np.unique(table["diagnosis"], return_inverse=True)[1].astype(np.int32)
    held, order = next(iter(RowDraws(codes, 2, growth.held_out, growth.sizes)))
    for s, size in enumerate(growth.sizes):
        part = table.iloc[np.sort(order[:size])]
        roles = {**ROLES, **{c.name: c.role for c in _columns(table) if c.role not in ("undecided", "countable")}}
        model = deciban.train(part, target="diagnosis", roles=roles, judge=False, classes=["ill", "well"])
        called = model.predict(table.iloc[held])
        right = np.mean(np.asarray(called) == table["diagnosis"].to_numpy()[held])
        assert growth.accuracy[0, 0, s] == pytest.approx(right)


def _columns(table):
    from deciban.training.task import plan

    return plan(table, target="diagnosis", roles=ROLES).columns


def test_draws_are_the_same_for_all_and_have_their_share_of_every_class():
    codes = np.repeat([0, 1, 2], [60, 30, 10]).astype(np.int32)
    order = _interleave_classes(codes, np.random.default_rng(0))
    assert sorted(order) == list(range(100))
    for n in (10, 20, 50):
        shares = np.bincount(codes[order[:n]], minlength=3)
        np.testing.assert_allclose(shares, n * np.array([0.6, 0.3, 0.1]), atol=1.0)
    first, second = RowDraws(codes, 2, 20, (10,)), RowDraws(codes, 2, 20, (10,))
    for (held, rest), (also, others) in zip(first, second):
        assert held.tolist() == also.tolist()
        assert rest.tolist() == others.tolist()
        assert not set(held) & set(rest)


def test_the_same_comparison_twice_is_the_same():
    result = {"target": "diagnosis", "roles": ROLES, "learners": ["bayes", "tied"], "draws": 2}
    one, two = (deciban.compare(clinic(100), **result).to_dict() for _ in range(2))
    for each in (*one["learners"], *two["learners"]):
        del each["seconds"]
    assert one == two


def test_a_table_without_numbers_has_no_gaussians_and_a_note_states_so():
    rng = np.random.default_rng(0)
    table = {"a": rng.choice(["x", "y", "z"], 90).tolist(), "b": rng.choice(["p", "q"], 90).tolist()}
    table["k"] = rng.choice(["yes", "no"], 90).tolist()
    found = deciban.compare(table, target="k", learners=["bayes", "gaussian"], curve=False)
    assert found.names == ["naive Bayes"]
    assert "no columns of numbers" in found.notes[0]


def test_one_number_has_no_covariances():
    table = {"x": np.arange(60.0) % 17, "k": (np.arange(60) % 17 > 8).astype(int)}
    found = deciban.compare(table, target="k", learners=["gaussian"], curve=False)
    assert found.names == ["Gaussian diagonal", "Gaussian tied diagonal"]


@pytest.mark.parametrize("result", [{"numbers": "binned"}, {"blocks": [["age", "dose"]]}], ids=["bins", "blocks"])
def test_numbers_that_have_a_given_role_are_no_gaussians(result):
    found = deciban.compare(
        clinic(100), target="diagnosis", roles=ROLES, learners=["bayes", "full"], curve=False, **result
    )
    assert found.names == ["naive Bayes"]
    assert "are given" in found.notes[0]


def test_too_few_rows_for_curves_are_reported_to_be():
    table = {"x": [1.0, 2.0, 8.0, 9.0] * 2, "k": ["a", "a", "b", "b"] * 2}
    found = deciban.compare(table, target="k", learners=["bayes", "tied_diagonal"], folds=2, curve=True)
    assert found.growth is None
    assert "too few rows for learning curves" in found.notes[-1]


def test_weights_are_heeded():
    table = clinic(120).assign(w=np.resize([1.0, 2.0, 0.0], len(clinic(120))))
    result = {"target": "diagnosis", "roles": ROLES, "weights": "w"}
    found = deciban.compare(table, learners=["bayes", "tied"], curve=False, **result)
    same(found["naive Bayes"].report, deciban.evaluate(table, **result))


def test_groups_stay_together():
    table = clinic(120).assign(house=np.arange(len(clinic(120))) // 5)
    result = {"target": "diagnosis", "roles": ROLES, "groups": "house", "folds": 4}
    found = deciban.compare(table, learners=["bayes"], curve=False, **result)
    same(found["naive Bayes"].report, deciban.evaluate(table, **result))


def test_texts_stay_words_with_gaussians():
    table = reviews(120, 3)
    result = {
        "target": "verdict",
        "roles": {"text": "text", "head": "skip", "country": "category", "stars": "number"},
    }
    found = deciban.compare(table, learners=["bayes", "tied_diagonal"], folds=3, curve=False, **result)
    for each in found:
        same(each.report, deciban.evaluate(table, folds=3, **result, **each.arguments))


def test_learners_are_in_their_order_however_they_are_named():
    assert check_candidates(None, full=True) == list(CANDIDATE_NAMES)
    assert check_candidates(None, full=False) is None
    assert check_candidates("logistic", full=True) == ["logistic"]
    assert check_candidates(["logistic", "tied", "bayes"], full=False) == ["bayes", "tied", "logistic"]
    assert check_candidates(["gaussian"], full=False) == list(COVARIANCES)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"learners": ["logistics"]}, "no learner 'logistics'"),
        ({"learners": []}, "nothing to compare"),
        ({"folds": 1}, "at least 2"),
        ({"draws": 1}, "draws must be a whole number of at least 2"),
        ({"sizes": [10, 100000]}, "sizes asks for 100000 rows"),
        ({"sizes": [0.5]}, "whole numbers of rows"),
        ({"sizes": []}, "sizes is empty"),
        ({"seconds": 0}, "seconds must be a number above 0"),
        ({"seconds": "10"}, "seconds must be a number above 0"),
        ({"n_jobs": 0}, "n_jobs == 0 has no meaning"),
        ({"learner": "logistic"}, "compare tries every learner"),
        ({"C": -1.0}, "C must be"),
        ({"calibrate": "yes"}, "calibrate must be"),
        ({"target": "nothing"}, "no column 'nothing'"),
        ({"groups": "nothing"}, "no column 'nothing'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_makes_no_sense_is_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        deciban.compare(clinic(60), **{"target": "diagnosis", "learners": ["bayes"], **wrong})


@pytest.mark.parametrize(
    "table",
    [
        {"x": [], "k": []},
        {"x": [1.0], "k": ["a"]},
        {"x": [1.0, 2.0, 3.0], "k": ["a", "a", "a"]},
        {"x": [1.0, np.inf, 3.0, 4.0], "k": ["a", "b", "a", "b"]},
        {"k": ["a", "b"]},
    ],
    ids=["empty", "one row", "one class", "infinite", "no columns"],
)
def test_tables_that_nothing_can_be_learned_from_are_refused(table):
    with pytest.raises(DecibanError):
        deciban.compare(table, target="k", learners=["bayes", "gaussian"])


def test_learners_without_a_column_are_refused_without_an_empty_reason():
    table = {"x": np.arange(60.0) % 17, "k": (np.arange(60) % 17 > 8).astype(int)}
    with pytest.raises(InputError, match=r"none of these learners has a column to learn from\. Hint"):
        deciban.compare(table, target="k", learners=["full"], curve=False)


def test_no_size_is_drawn_at_which_a_draw_has_one_class_only():
    """A class of one row is often among those held out."""
    codes = np.array([0] * 49 + [1], dtype=np.int32)
    draws = RowDraws.of(Rows([], codes, None, np.arange(50)), 20, None)
    assert all(len(set(codes[order[:size]].tolist())) == 2 for _, order in draws for size in draws.sizes)
    assert len(RowDraws.of(Rows([], np.arange(50, dtype=np.int32) % 2, None, np.arange(50)), 20, None).sizes) > 1
