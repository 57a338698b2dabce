"""The pages of Gaussians, learners and models, 10 to 20, against closed forms, scikit-learn, SciPy and the lab."""

import ast
import csv
from collections import Counter
from math import log, log10, sqrt

import numpy as np
import pytest
from scipy.spatial.distance import mahalanobis
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from tests.cli.terminal import EXAMPLES as TABLES
from tests.gallery.pages import lab_rows, numbers_in, run
from tests.textbook.test_lines_and_conics import NUMBERS, group, moments

pytestmark = pytest.mark.thorough(reason="runs the programs of the gallery: seconds each")


def test_the_crossing_gaussians():
    page = run("10_crossing_gaussians")
    two = [(-1 - sqrt(4 + 24 * log(2))) / 3, (-1 + sqrt(4 + 24 * log(2))) / 3]
    expected = [[2.0], [2 + log(9) / 4], two, []]
    for ax, thresholds in zip(page.figures[0].axes, expected):
        drawn = sorted(line.get_xdata()[0] for line in ax.lines if line.get_gid() == "threshold")
        assert drawn == pytest.approx(thresholds, rel=1e-9)
    solved = [page.values["solve"](*case).tolist() for case in page.values["cases"].values()]
    assert solved == [pytest.approx(thresholds) for thresholds in expected]
    no_half = [(-1 - sqrt(4 + 12 * log(2))) / 3, (-1 + sqrt(4 + 12 * log(2))) / 3]
    assert page.values["no_half"].tolist() == pytest.approx(no_half)
    assert page.values["no_log"].tolist() == pytest.approx([-1, 1 / 3])


def test_the_gaussian_boundaries():
    page = run("11_gaussian_boundaries")
    np.testing.assert_array_equal(page.values["X"], NUMBERS)
    (n0, m0, S0), (n1, m1, S1) = moments(NUMBERS, group)
    models = page.values["models"]
    P = np.linalg.inv((S0 + S1) / (n0 + n1))
    np.testing.assert_allclose(models["identity"].linear_form().w, m1 - m0, rtol=1e-12)
    np.testing.assert_allclose(models["tied"].linear_form().w, P @ (m1 - m0), rtol=1e-10)
    assert models["tied"].linear_form().b == pytest.approx(-0.5 * (m1 @ P @ m1 - m0 @ P @ m0), rel=1e-10)
    x = np.array([1.5, 0.5])
    right = multivariate_normal(m1, S1 / n1).logpdf(x) - multivariate_normal(m0, S0 / n0).logpdf(x)
    a0, a1 = models["full"].predict_joint_log_proba([x])[0]
    h0, h1, q0, q1 = (page.values[name] for name in ("h0", "h1", "q0", "q1"))
    assert [a1 - a0, h1 - q1 - h0 + q0] == pytest.approx([right, right], rel=1e-9)
    assert h1 - h0 == pytest.approx(0.5 * log(np.linalg.det(S0 / n0) / np.linalg.det(S1 / n1)), rel=1e-9)
    assert q1 == pytest.approx(0.5 * mahalanobis(x, m1, np.linalg.inv(S1 / n1)) ** 2, rel=1e-9)
    assert f"= {right:+.3f}" in page.text
    np.testing.assert_allclose(page.values["own"], [S0 / n0, S1 / n1], rtol=1e-12)
    shifted = [(S0 + S1 + n_other * np.outer(m1 - m0, m1 - m0)) / 65 for n_other in (n1, n0)]
    np.testing.assert_allclose(page.values["over_all"], shifted, rtol=1e-10)


def test_the_digits():
    page = run("12_handwritten_digits")
    X, y, accuracy = (page.values[name] for name in ("X", "y", "accuracy"))
    peers = {
        "Bernoulli, black-and-white": BernoulliNB(binarize=7.5),
        "Gaussian naive Bayes": GaussianNB(var_smoothing=0.1), "Σ tied": LinearDiscriminantAnalysis(solver="lsqr"),
    }  # fmt: skip
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    for name, peer in peers.items():  # other folds than deciban's: equal within the deviation of a mean of ten
        scores = cross_val_score(peer, X, y, cv=folds)
        assert accuracy[name] == pytest.approx(scores.mean(), abs=2.5 * scores.std() / sqrt(10) + 0.01)
    learned, rest = slice(None, None, 2), slice(1, None, 2)
    scatters = [np.cov(X[learned][y[learned] == k].T, bias=True) for k in range(10)]
    rows = np.bincount(y[learned])
    scale = np.trace(np.average(scatters, axis=0, weights=rows)) / 64
    scores = [
        multivariate_normal(X[learned][y[learned] == k].mean(axis=0), 0.9 * S + 0.1 * scale * np.eye(64)).logpdf(
            X[rest]
        )
        for k, S in enumerate(scatters)
    ]
    expected = np.argmax(np.array(scores) + np.log(rows / rows.sum())[:, None], axis=0)
    np.testing.assert_array_equal(page.values["answer"], expected)
    lab = {row[0].strip("`"): numbers_in(row[2])[0] for row in lab_rows("digits-and-letters", "## Handwritten")[2:9]}
    own = {"own Σₖ, shrinkage 0.5": 'GaussianBayes(covariance="full", shrinkage=0.5, shrinkage_target="spherical")'}
    quoted = ast.literal_eval(page.text.splitlines()[-1])
    assert len(quoted) == 3
    assert quoted == {name: lab[own.get(name, name)] for name in quoted}


def test_the_logistic_regression():
    page = run("13_logistic_regression")
    X, y = page.values["X"], page.values["y"]
    peer = LogisticRegression(C=1e12, tol=1e-12, max_iter=10_000).fit(X, y)
    expected = np.append(peer.coef_[0], peer.intercept_)
    np.testing.assert_allclose(page.values["best"], expected, rtol=1e-4)
    np.testing.assert_allclose(page.values["path"][-1], expected, rtol=1e-2)
    assert page.values["losses"][0] == pytest.approx(log(2), rel=1e-12)
    assert (np.diff(page.values["losses"][:200]) < 0).all()
    parts = [(X[y == k].mean(axis=0), np.cov(X[y == k].T, bias=True)) for k in (-1, 1)]
    P = np.linalg.inv((parts[0][1] + parts[1][1]) / 2)
    np.testing.assert_allclose(page.values["bayes"][:2], P @ (parts[1][0] - parts[0][0]), rtol=1e-9)
    assert f"{log(4):+.4f}" in page.text


def test_the_losses():
    page = run("14_losses")
    lines = {line.split()[0]: numbers_in(line) for line in page.text.splitlines()}
    m = np.array([-2, -1, 0, 1, 2.0])
    assert lines["zero-one"][-5:] == [1, 1, 1, 0, 0]
    assert lines["logistic"] == pytest.approx(np.log2(1 + np.exp(-m)), abs=6e-4)
    assert lines["exponential"] == pytest.approx(np.exp(-m), abs=6e-4)
    assert lines["hinge"] == [3, 2, 1, 0, 0]
    assert "at margin 0: 1.000 bits, 0.693 nats" in page.text
    m = page.values["m"]
    step = 1e-6
    slope = (np.log2(1 + np.exp(-m - step)) - np.log2(1 + np.exp(-m + step))) / (2 * step)
    np.testing.assert_allclose(page.values["slopes"]["logistic"], -slope, atol=1e-6)


def test_the_boosting():
    page = run("15_boosting")
    X, y, model = (page.values[name] for name in ("X", "y", "model"))
    peer = AdaBoostClassifier(GaussianNB(), n_estimators=17).fit(X, y)
    n = len(peer.estimators_)
    np.testing.assert_allclose(model.estimator_errors_[:n], peer.estimator_errors_, rtol=1e-6)
    np.testing.assert_allclose(page.values["accuracy"][:n], list(peer.staged_score(X, y)))
    e = model.estimator_errors_
    np.testing.assert_allclose(model.estimator_weights_, np.log((1 - e) / e), rtol=1e-9)
    w = np.full(len(y), 1 / len(y))  # the weights of the second round, by hand
    w *= np.exp(model.estimator_weights_[0] * (model.estimators_[0].predict(X) != y))
    np.testing.assert_allclose(page.values["weights"][1], w / w.sum(), rtol=1e-9)


def test_ng_and_jordan():
    page = run("16_ng_jordan")
    rows = {row[0]: row[1:] for row in lab_rows("ng-jordan", "### adult")[:4]}
    for name, errors in page.values["lab"].items():
        assert errors == [numbers_in(cell)[0] for cell in rows[name]]
    crossing = next(row[-1] for row in lab_rows("ng-jordan", "## Where the curves cross") if row[0] == "adult")
    assert numbers_in(crossing)[0] == 435
    assert any("435" in text.get_text() for text in page.figures[0].axes[1].texts)
    draw, sizes = page.values["draw"], page.values["sizes"]
    held_out, truth = draw(4000, seed=1000)
    for seed in range(3):
        X, y = draw(max(sizes), seed)
        errors = [100 * np.mean(BernoulliNB().fit(X[:n], y[:n]).predict(held_out) != truth) for n in sizes]
        assert page.values["errors"]["naive Bayes"][seed].tolist() == pytest.approx(errors)
    means = {name: found.mean(axis=0) for name, found in page.values["errors"].items()}
    is_ahead = means["naive Bayes"] < means["logistic, no penalty"]
    assert is_ahead[:6].all()
    assert not is_ahead[-2:].any()


def test_novelty():
    page = run("17_novelty")
    X, y, flowers = (page.values[name] for name in ("X", "y", "flowers"))
    parts = [X[y == label] for label in sorted(set(y))]
    density = sum(multivariate_normal(x.mean(axis=0), np.cov(x.T, bias=True)).pdf(flowers) / 3 for x in parts)
    np.testing.assert_allclose(page.values["density"], np.log(density), rtol=1e-6)
    assert [answer is None for answer in page.values["answers"]] == [False, True, True]


def test_sampling():
    page = run("18_sampling")
    X, y = page.values["X"], page.values["y"]
    three = np.cov(X[y == 3].T, bias=True)
    pooled = np.average([np.trace(np.cov(X[y == k].T, bias=True)) / 64 for k in range(10)], weights=np.bincount(y))
    shrunk = 0.95 * three + 0.05 * pooled * np.eye(64)
    expected = shrunk[19, 20] / sqrt(shrunk[19, 19] * shrunk[20, 20])
    assert page.values["correlation"]["own covariance"] == pytest.approx(expected, abs=0.06)
    assert page.values["correlation"]["Gaussian naive Bayes"] == pytest.approx(0, abs=0.06)
    known = {word for message in page.values["messages"] for word in message["message"].lower().split()}
    text = page.text.splitlines()[-1].partition(": ")[2].split()
    assert sum(word in known for word in text) >= len(text) / 2


def test_the_evidence():
    page = run("19_evidence")
    row = page.values["explanation"]
    assert row.total[1] == pytest.approx(10 * log10(page.values["p"] / page.values["q"]), rel=1e-9)
    assert row.prior[1] + row.evidence[1].sum() == pytest.approx(row.total[1], rel=1e-9)
    np.testing.assert_allclose(page.values["signs"].evidence[0], [10 * log10(9), 0], atol=1e-12)
    assert "[9.5424, 0.0] dB" in page.text


def test_the_missing_values():
    page = run("20_missing_values")
    explanation = page.values["explanation"]
    full, missing = (dict(zip(explanation.features, evidence)) for evidence in explanation.evidence)
    assert missing["crp"] == 0
    assert {name for name in full if full[name] != missing[name]} == {"crp"}
    p = page.values["model"].predict_proba(page.values["rows"])
    flu, pneumonia = (list(page.values["model"].classes).index(name) for name in ("flu", "pneumonia"))
    totals = 10 * np.log10(p[:, flu] / p[:, pneumonia])
    np.testing.assert_allclose(explanation.total, totals, rtol=1e-9)
    assert totals[0] - totals[1] == pytest.approx(10 * log10((78 / 108) / (1 / 66)))
    lines = page.text.splitlines()
    assert sum(line.startswith("  crp = ") for line in lines) == 1
    total = float(next(line for line in lines if line.startswith("p(x) with smoker missing")).partition(": ")[2])
    assert np.exp(page.values["smoker"]).sum() == pytest.approx(total, rel=1e-9)
    with (TABLES / "patients.csv").open() as file:
        counts = Counter(row["diagnosis"] for row in csv.DictReader(file) if row["crp"])
    assert [counts[name] for name in ("cold", "flu", "pneumonia")] == numbers_in(lines[-1])
