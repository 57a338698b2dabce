"""Learners on tables: logistic and evidence regression against other implementations, and leakage of folds."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import deciban
from deciban.errors import InputError
from deciban.linear import evidence_weights
from deciban.training import table_rows as reservoir
from deciban.training.discriminative_learners import FIT_FUNCTIONS, assign_inner_folds
from deciban.training.table_folds import count_rows
from deciban.training.task import plan
from deciban.training.train import train_task
from tests.tables import clinic
from tests.tables.reviews import reviews
from tests.tables.test_blocks import people

NUMBERS = ["height", "weight", "age"]
LEVELS = ["hair", "eyes", "left"]


def standard(column):
    """(x − mean) / deviation, and 0 where it is missing."""
    x = column.to_numpy(float)
    return np.nan_to_num((x - np.nanmean(x)) / np.nanstd(x))


def one_hot(column):
    """One indicator for each level; none where it is missing."""
    names = sorted({str(cell) for cell in column.dropna()})
    return np.stack([(column.astype(str) == name).to_numpy(float) for name in names], axis=1)


def design(rows):
    """Return the matrix that scikit-learn gets in place of the table."""
    return np.column_stack([*(standard(rows[n]) for n in NUMBERS), *(one_hot(rows[n]) for n in LEVELS)])


def sklearn_log_proba(X, y, C=1.0):
    model = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, y)
    return model.predict_log_proba(X)


def log_proba(model, rows):
    return np.asarray(model.predict_log_proba(rows))


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_is_that_of_scikit_learn_on_standardised_numbers_and_indicators(classes):
    rows = people().query("group != 'c'") if classes == 2 else people()
    model = deciban.train(rows, target="group", numbers="number", learner="logistic", C=0.7, judge=False)
    expected = sklearn_log_proba(design(rows), rows["group"], C=0.7)
    assert log_proba(model, rows) == pytest.approx(expected, abs=1e-5)


def test_joined_numbers_and_combinations_are_numbers_and_levels():
    rows = people()
    blocks = [["height", "weight"], ["hair", "eyes"]]
    model = deciban.train(
        rows, target="group", numbers="number", blocks=blocks, learner="logistic", C=1.0, judge=False
    )
    both = (rows["hair"] + "|" + rows["eyes"]).where(rows["eyes"].notna())
    X = np.column_stack([*(standard(rows[n]) for n in NUMBERS), one_hot(both), one_hot(rows["left"])])
    assert log_proba(model, rows) == pytest.approx(sklearn_log_proba(X, rows["group"]), abs=1e-5)


def test_binned_numbers_have_an_indicator_for_each_bin():
    rows = people(holes=False)[["height", "age", "group"]]
    model = deciban.train(rows, target="group", numbers="binned", learner="logistic", C=1.0, judge=False)
    form = model._naive.solved.forms[0]
    X = one_hot(pd.Series(np.digitize(rows["height"], form.cuts[form.start[0] : form.start[1]])))
    if form.start[2] > form.start[1]:
        X = np.column_stack([X, one_hot(pd.Series(np.digitize(rows["age"], form.cuts[form.start[1] :])))])
    assert len(form.cuts) > 0
    assert log_proba(model, rows) == pytest.approx(sklearn_log_proba(X, rows["group"]), abs=1e-5)


def test_texts_with_other_columns_are_weighed_word_by_word():
    rows = reviews(missing=False).to_pandas()[["text", "stars", "country", "verdict"]]
    model = deciban.train(
        rows, target="verdict", roles={"stars": "number"}, words={}, learner="logistic", C=0.1, judge=False
    )
    words = CountVectorizer(token_pattern=r"\w\w+").fit_transform(rows["text"]).toarray()
    X = np.column_stack([words, standard(rows["stars"]), one_hot(rows["country"])])
    assert log_proba(model, rows) == pytest.approx(sklearn_log_proba(X, rows["verdict"], C=0.1), abs=1e-5)


def test_weights_of_rows_count_as_so_many_rows():
    rows = people(holes=False)
    rows["w"] = np.random.default_rng(0).integers(1, 4, len(rows))
    asked = {"target": "group", "numbers": "number", "learner": "logistic", "C": 1.0, "judge": False}
    weighted = deciban.train(rows, weights="w", **asked)
    repeated = deciban.train(rows.loc[rows.index.repeat(rows["w"])].drop(columns="w"), **asked)
    assert log_proba(weighted, rows) == pytest.approx(log_proba(repeated, rows), abs=1e-5)


def stratified(codes, n_folds):
    """The i-th row of class k is in fold i + k mod F."""
    seen = np.zeros(codes.max() + 1, dtype=int)
    folds = np.empty(len(codes), dtype=int)
    for i, k in enumerate(codes):
        folds[i] = (seen[k] + k) % n_folds
        seen[k] += 1
    return folds


def laplace(cells, codes, learn, levels, K):
    """ln p(x|k) of all rows by the rows to learn: K columns, 0 where the cell is missing."""
    known = [v for v in levels if (cells[learn] == v).any()]
    counts = np.array([[(learn & (codes == k) & (cells == v)).sum() + 1.0 for v in known] for k in range(K)])
    share = np.log(counts / counts.sum(axis=1, keepdims=True))
    out = np.zeros((len(cells), K))
    for v, column in zip(known, share.T):
        out[cells == v] = column
    return out


@pytest.mark.parametrize("classes", [2, 3])
def test_evidence_weights_are_those_of_an_independent_fit_to_evidence_out_of_fold(classes):
    rows = (people().query("group != 'c'") if classes == 2 else people())[["hair", "eyes", "group"]]
    model = deciban.train(rows, target="group", learner="evidence", C=2.0, alpha=1.0, judge=False)
    codes = rows["group"].map({"a": 0, "b": 1, "c": 2}).to_numpy()
    # the folds are those of the library; the evidence and its weights are computed here
    task = plan(rows, target="group", learner="evidence", C=2.0, alpha=1.0)
    folds = assign_inner_folds(train_task(task, 1, None).sample, 10)
    evidence = np.zeros((len(rows), 2, classes))
    for j, name in enumerate(["hair", "eyes"]):
        cells = rows[name].fillna("").to_numpy()
        levels = sorted(set(cells) - {""})
        for f in range(10):
            reported = laplace(cells, codes, folds != f, levels, classes)
            evidence[folds == f, j] = reported[folds == f]

    def objective(theta):
        t, b = theta[:2], theta[2:]
        scores = np.einsum("ijk,j->ik", evidence, t) + b
        surprise = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(codes)), codes]
        return surprise.sum() + (t**2).sum() / 4

    best = minimize(objective, np.zeros(2 + classes), method="BFGS", options={"gtol": 1e-6}).x
    assert list(model.account.trust) == ["hair", "eyes"]
    assert [*model.account.trust.values()] == pytest.approx(best[:2], abs=1e-4)
    whole = sum(
        best[j] * laplace(cells, codes, np.ones(len(rows), bool), sorted(set(cells) - {""}), classes)
        for j, cells in enumerate(rows[name].fillna("").to_numpy() for name in ("hair", "eyes"))
    )
    scores = whole + best[2:]
    assert np.asarray(model.predict_proba(rows)) == pytest.approx(
        np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True), abs=1e-4
    )


def test_evidence_given_twice_is_counted_once():
    rows = people()[["hair", "age", "group"]]
    twice = rows.assign(again=rows["hair"], more=rows["hair"])
    asked = {"target": "group", "numbers": "number", "learner": "evidence", "C": 1000.0, "judge": False}
    once, thrice = deciban.train(rows, **asked), deciban.train(twice, **asked)
    trust = thrice.account.trust
    assert sum(trust[name] for name in ("hair", "again", "more")) == pytest.approx(
        once.account.trust["hair"], abs=0.02
    )
    assert log_proba(thrice, twice) == pytest.approx(log_proba(once, rows), abs=0.2)  # other folds, other rounding
    naive = deciban.train(twice, target="group", numbers="number", judge=False)
    assert abs(log_proba(naive, twice) - log_proba(once, rows)).max() > 0.4


def test_a_level_that_was_seen_once_does_not_vouch_for_itself():
    rng = np.random.default_rng(1)
    n = 400
    rows = {"name": [f"id{i // 2}" for i in rng.permutation(n)], "x": rng.normal(size=n)}
    rows["y"] = np.where(rows["x"] + rng.normal(size=n) > 0, "up", "down")
    model = deciban.train(rows, target="y", roles={"name": "category"}, learner="evidence", judge=False)
    assert abs(model.account.trust["name"]) < 0.3
    assert model.account.trust["x"] > 0.5


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_every_row_is_scored_by_what_was_learned_without_its_fold(learner):
    rows = people()
    asked = {"target": "group", "learner": learner, "C": 0.5}
    report = deciban.evaluate(rows, folds=5, calibrate="none", **asked)
    codes = rows["group"].map({"a": 0, "b": 1, "c": 2}).to_numpy()
    folds = stratified(pd.factorize(rows["group"])[0], 5)
    reported = np.zeros((len(rows), 3))
    for f in range(5):
        reported[folds == f] = log_proba(deciban.train(rows[folds != f], judge=False, **asked), rows[folds == f])
    assert report.accuracy == pytest.approx((reported.argmax(axis=1) == codes).mean())
    assert report.log_loss == pytest.approx(-reported[np.arange(len(rows)), codes].mean(), abs=1e-4)


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_nothing_is_learned_from_noise(learner):
    rng = np.random.default_rng(0)
    rows = {f"x{j}": rng.normal(size=120) for j in range(20)} | {"y": rng.permutation(["a", "b"] * 60)}
    report = deciban.evaluate(rows, target="y", learner=learner)
    assert 0.35 < report.accuracy < 0.65
    assert report.log_loss < 0.8


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_groups_order_and_calibration_work_as_for_naive_bayes(learner):
    rows = people().assign(day=np.arange(300) % 50)
    asked = {"target": "group", "learner": learner, "C": 1.0, "folds": 5}
    assert deciban.evaluate(rows, groups="day", **asked).rows == 300
    assert 200 <= deciban.evaluate(rows, order="day", **asked).rows < 300
    assert "calibrated" in deciban.evaluate(rows, calibrate="temperature", **asked).measured


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_learning_curves_learn_every_size_by_the_learner(learner):
    rows = people(1000)
    curve = deciban.learning_curve(rows, target="group", sizes=[50, 400], learner=learner, C=1.0)
    naive = deciban.learning_curve(rows, target="group", sizes=[50, 400])
    assert curve.sizes == (50, 400)
    assert curve.log_loss[1] < curve.log_loss[0]
    assert curve.log_loss[1] != naive.log_loss[1]


def test_rows_in_memory_are_counted_as_the_table_was():
    table = clinic.patients()
    task = plan(table, target="diagnosis", learner="logistic", C=1.0)
    fitted = train_task(task, 5, None)
    again = count_rows(task, fitted.total.schema, fitted.sample)
    assert again.rows.tolist() == fitted.total.rows.tolist()
    for mine, theirs in zip(again.parts, fitted.total.parts):
        for name, array in theirs.arrays().items():
            assert mine.arrays()[name] == pytest.approx(array, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("words", [{}, {"values": "presence"}, {"values": "log", "length": "l2"}, {"hashed": 8}])
def test_words_in_memory_are_counted_as_the_table_was(words):
    task = plan(reviews(), target="verdict", learner="logistic", C=1.0, words=words)
    fitted = train_task(task, 5, None)
    again = count_rows(task, fitted.total.schema, fitted.sample)
    for mine, theirs in zip(again.parts, fitted.total.parts):
        for name, array in theirs.arrays().items():
            assert mine.arrays()[name] == pytest.approx(array, rel=1e-9, abs=1e-9), name


def test_of_more_rows_than_memory_holds_a_sample_is_learned_and_reported_so(monkeypatch):
    monkeypatch.setattr(reservoir, "MAX_SAMPLE_ROWS", 50)
    rows = people(1000)
    model = deciban.train(rows, target="group", learner="logistic", C=1.0)
    assert model.account.settings["rows"] == 50 * reservoir.LEARNED_ROWS_FACTOR
    assert f"{50 * reservoir.LEARNED_ROWS_FACTOR} of 1 000 rows" in model.held_out.measured
    assert model.ledger.n_rows == 1000


def test_of_too_much_evidence_some_rows_are_weighed(monkeypatch):
    whole = deciban.train(people(2000), target="group", numbers="number", learner="evidence", C=1.0, judge=False)
    monkeypatch.setattr(evidence_weights, "MAX_EVIDENCE_CELLS", 6 * 3 * 1000)
    part = deciban.train(people(2000), target="group", numbers="number", learner="evidence", C=1.0, judge=False)
    assert (whole.account.settings["rows"], part.account.settings["rows"]) == (2000, 1000)
    assert [*part.account.trust.values()] == pytest.approx([*whole.account.trust.values()], abs=0.8)


@pytest.mark.parametrize("learner", ["logistic", "evidence", "boosted"])
def test_a_class_with_one_row_and_one_that_was_never_seen(learner):
    rows = people(100)
    rows.loc[0, "group"] = "d"
    penalty = {} if learner == "boosted" else {"C": 1.0}
    model = deciban.train(rows, target="group", learner=learner, classes=["a", "b", "c", "d", "e"], **penalty)
    reported = np.asarray(model.predict_proba(rows))
    assert model.classes == ["a", "b", "c", "d", "e"]
    assert reported.sum(axis=1) == pytest.approx(1.0)
    assert reported[:, 4].max() == 0
    assert model.held_out.rows == 100


@pytest.mark.parametrize("learner", ["logistic", "evidence", "boosted"])
def test_of_one_class_alone_that_class_is_certain(learner):
    rows = people(40).query("group == 'a'")
    model = deciban.train(rows, target="group", learner=learner, classes=["a", "b"], judge=False)
    assert np.asarray(model.predict_proba(rows))[:, 0] == pytest.approx(1.0)


@pytest.mark.parametrize("learner", ["logistic", "evidence"])
def test_huge_numbers_and_constant_columns_are_borne(learner):
    rows = people(holes=False)
    rows["huge"], rows["tiny"] = rows["height"] * 1e147, rows["weight"] * 1e-150
    rows["same"] = np.where(rows.index == 7, np.nan, 4.2)
    roles = dict.fromkeys(["huge", "tiny", "same"], "number")
    model = deciban.train(rows, target="group", roles=roles, learner=learner, C=1.0, judge=False)
    assert np.isfinite(np.asarray(model.predict_log_proba(rows))).all()


def test_penalty_is_chosen_by_rows_left_out():
    rng = np.random.default_rng(0)
    noise = {f"x{j}": rng.normal(size=200) for j in range(60)}
    rows = noise | {"y": np.where(noise["x0"] + 2 * rng.normal(size=200) > 0, "a", "b")}
    model = deciban.train(rows, target="y", numbers="number", learner="logistic", judge=False)
    assert model.account.settings["C_chosen"] is True
    assert model.account.settings["C"] < 0.2
    asked = {"target": "y", "numbers": "number", "learner": "logistic", "calibrate": "none"}
    assert deciban.evaluate(rows, **asked).log_loss < deciban.evaluate(rows, C=1000.0, **asked).log_loss


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"learner": "svm"}, "learner must be one of 'bayes', 'aode', 'logistic'"),
        ({"learner": 3}, "learner must be one of"),
        ({"learner": "logistic", "C": 0.0}, "C must be a number > 0"),
        ({"learner": "logistic", "C": "much"}, "C must be a number > 0"),
        ({"learner": "logistic", "C": float("nan")}, "C must be a number > 0"),
        ({"learner": "evidence", "C": float("inf")}, "C must be finite"),
        ({"C": 1.0}, "learner='bayes' has none"),
        ({"learner": "evidence", "alpha": 0.0, "C": 1.0}, "alpha > 0"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, message):
    rows = people()[["hair", "group"]]
    rows.loc[rows["group"] == "a", "hair"] = "black"
    with pytest.raises(InputError, match=message):
        deciban.train(rows, target="group", **asked)


def test_each_row_alone_and_choosing_settings_are_for_naive_bayes():
    with pytest.raises(InputError, match=r"Hint: --folds 10 \(folds=10\)"):
        deciban.evaluate(people(), target="group", learner="logistic", folds="loo")
    with pytest.raises(InputError, match=r"deciban\.compare"):
        deciban.choose(people(), target="group", learner="logistic")


def test_every_learner_has_a_name_that_train_takes():
    from deciban.training.task import LEARNERS

    assert {"bayes", "aode", "auto", *FIT_FUNCTIONS} == {*LEARNERS}


def test_no_penalty_is_taken_as_the_estimator_takes_it():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, -1.0, 0.5] + rng.logistic(size=300) > 0
    rows = pd.DataFrame(X, columns=list("abc")).assign(y=np.where(y, "yes", "no"))
    model = deciban.train(rows, target="y", numbers="number", learner="logistic", C=float("inf"), judge=False)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(rows)["yes"], theirs[:, 1], atol=1e-4)
    assert model.account.settings["C"] == np.inf
    assert not model.account.separable
    parted = deciban.train(rows.assign(y=rows["a"] > 0), target="y", numbers="number", learner="logistic", C=np.inf)
    assert parted.account.separable
    assert np.isfinite(parted.predict_proba(rows).to_numpy()).all()
