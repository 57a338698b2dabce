"""What a calibration does to tables: the prior without evidence, the mean probability, rare classes, zeros."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

import deciban


def rare(n=4000, share=0.01, seed=2):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    columns = {f"x{i}": rng.normal(y, 1.0) for i in range(3)}
    columns["odd"] = np.where(rng.random(n) < 8 / n, "odd", rng.choice(list("pq"), n))
    return pd.DataFrame({**columns, "echo": columns["x0"], "y": np.where(y, "bad", "ok")})


def bunch(load):
    data = load(as_frame=True)
    return data.frame.rename(columns={"target": "y"}).assign(y=data.target.astype(str))


TABLES = {"rare": rare, "wine": lambda: bunch(load_wine), "breast cancer": lambda: bunch(load_breast_cancer)}


@pytest.mark.parametrize("name", TABLES)
def test_a_row_without_evidence_has_the_prior_and_the_mean_probability_is_the_share(name):
    rows = TABLES[name]()
    model = deciban.train(rows, target="y")
    assert model.calibration.method == "temperature"
    blank = pd.DataFrame({column: [None] for column in rows.columns.drop("y")}, dtype=object)
    prior = [model.priors[label] for label in model.classes]
    np.testing.assert_allclose(np.asarray(model.predict_proba(blank))[0], prior, rtol=1e-12)
    why = model.explain(blank)
    assert why.total[0] == pytest.approx(why.prior[0], rel=1e-12)
    share = np.array([(rows["y"] == label).mean() for label in model.classes])
    allowed = np.maximum(0.03 * share, 2 * np.sqrt(share * (1 - share) / len(rows)))
    assert (np.abs(np.asarray(model.predict_proba(rows)).mean(axis=0) - share) <= allowed).all()


@pytest.mark.parametrize("method", ["isotonic", "platt", "temperature"])
def test_a_lone_row_at_the_top_does_not_make_a_rare_class_likely(method):
    model, new = deciban.train(rare(), target="y", calibrate=method), rare(20_000, seed=9)
    assert np.average(np.asarray(model.predict_proba(new))[:, 0]) == pytest.approx(0.01, rel=0.2)
    far = pd.DataFrame({"x0": [9.0], "echo": [9.0], "x1": [0.0], "x2": [0.0], "odd": ["odd"]})
    assert np.asarray(model.predict_proba(far))[0, 0] < 1


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic", "auto"])
@pytest.mark.parametrize("learner", ["bayes", "logistic"])
def test_a_prior_of_zero_and_weights_of_zero_are_calibrated(method, learner):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 3, 150)
    rows = pd.DataFrame({"x": rng.normal(k, 1.0), "y": np.array(list("uvw"))[k], "w": (rng.random(150) > 0.2) * 1.0})
    asked = {"target": "y", "learner": learner, "calibrate": method, "judge": False}
    given = deciban.train(rows.drop(columns="w"), prior={"u": 0.0, "v": 0.5, "w": 0.5}, **asked)
    p = np.asarray(given.predict_proba(rows))
    np.testing.assert_allclose(p[:, 0], 0, atol=1e-200)
    weighted = deciban.train(rows, weights="w", **asked)
    assert np.isfinite(np.asarray(weighted.predict_log_proba(rows))).all()


def test_noise_of_few_rows_is_answered_about_as_well_as_by_guessing():
    losses, guesses = [], []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n = 8 + seed % 5
        kinds = rng.permutation(["yes", "no"] * 2 + rng.choice(["yes", "no"], n - 4).tolist())
        draw = {name: rng.normal(size=n + 200) for name in "ab"} | {"c": rng.choice(list("pqr"), n + 200)}
        rows = pd.DataFrame(draw)
        model = deciban.train(rows[:n].assign(kind=kinds), target="kind")
        truth = rng.integers(0, 2, 200)
        losses.append(-np.asarray(model.predict_log_proba(rows[n:]))[np.arange(200), truth].mean())
        share = np.mean(kinds == "yes")
        guesses.append(-np.log(np.where(truth == 1, share, 1 - share)).mean())
    assert np.mean(losses) <= 1.2 * np.mean(guesses)
