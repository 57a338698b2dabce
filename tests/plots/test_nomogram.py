"""Nomograms: what is read off the scales adds up to the posterior."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import deciban
from deciban.errors import InputError, UndefinedError
from deciban.plots import nomogram
from deciban.plots.nomogram import _explain_row
from deciban.plots.nomogram_scales import compute_scales
from tests.plots.readability import assert_readable
from tests.plots.tables import EXTREMES, ROLES, clinic, clinic_model, many, many_model, posterior


def texts(ax, gid):
    return [text.get_text() for text in ax.texts if text.get_gid() == gid]


def scale_of(model, name, classes=("ill", "well")):
    return next(scale for scale in compute_scales(model, classes, 99).columns if scale.name == name)


@pytest.mark.parametrize("row", range(0, 120, 13))
@pytest.mark.parametrize("most", [2, 12])
def test_the_points_of_a_row_add_up_to_its_posterior(row, most):
    model = clinic_model()
    ax = nomogram(model, clinic(), row=row, most=most)
    given = compute_scales(model, None, most, _explain_row(model, clinic(), row, None))
    every = [*given.columns, *([given.together] if given.together else [])]
    total = given.prior + sum(scale.point for scale in every)
    p = posterior(model, clinic(), row)
    assert total == pytest.approx(10 * math.log10(p[given.favoured] / p[given.against]), abs=1e-9)
    drawn = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "point"]
    low, high = ax.get_xlim()
    expected = [given.prior, *(min(max(scale.point, low), high) for scale in every)]
    assert drawn == pytest.approx(expected)


def test_a_row_comes_out_at_its_probability():
    model = clinic_model()
    ax = nomogram(model, clinic(), row=3, classes=("ill", "well"))
    p = posterior(model, clinic(), 3)["ill"]
    *_, explanation = texts(ax, "given")
    if explanation.startswith("under"):
        assert p < 1e-4
    elif explanation.startswith("over"):
        assert p > 0.9999
    else:
        assert float(explanation.removesuffix(" %")) == pytest.approx(100 * p, rel=1e-3)


def test_the_marks_of_a_flag_are_its_smoothed_shares():
    table = clinic()
    n = {(value, label): sum(s == value and w == label for s, w in zip(table["smoker"], table["who"]))
         for value in ("yes", "no") for label in ("ill", "well")}  # fmt: skip
    (branch,) = scale_of(clinic_model(alpha=1.0), "smoker").branches
    for mark in branch.marks:
        ill, well = ((n[mark.text, label] + 1) / (n["yes", label] + n["no", label] + 2) for label in ("ill", "well"))
        assert mark.decibans == pytest.approx(10 * math.log10(ill / well), abs=1e-9)


def test_the_marks_of_a_number_are_ratios_of_gaussians():
    model = clinic_model(parameter_prior=0.0)
    table = clinic()
    values = {
        label: [x for x, who in zip(table["fever"], table["who"]) if who == label and x is not None]
        for label in ("ill", "well")
    }
    gaussians = {label: norm(*norm.fit(xs)) for label, xs in values.items()}
    for branch in scale_of(model, "fever").branches:
        assert len(branch.marks) >= 1
        for mark in branch.marks:
            x = float(mark.text.replace("−", "-"))
            nats = gaussians["ill"].logpdf(x) - gaussians["well"].logpdf(x)
            assert mark.decibans == pytest.approx(10 / math.log(10) * nats, rel=2e-4, abs=2e-3)


def test_a_number_that_turns_has_two_scales_that_meet():
    rows = [-1.0, 1.0, -0.5, 0.5, -9.0, 9.0, -5.0, 5.0]
    model = deciban.train(
        {"x": rows, "y": ["near"] * 4 + ["far"] * 4}, target="y", roles={"x": "number"}, judge=False
    )
    first, second = scale_of(model, "x", ("near", "far")).branches
    assert first.high == pytest.approx(second.high)
    assert first.until == pytest.approx(0.0, abs=0.1)
    ax = nomogram(model, {"x": [-3.0, 3.0]}, row=0)
    heights = [line.get_ydata()[0] for line in ax.lines if line.get_gid() == "point"]
    other = nomogram(model, {"x": [-3.0, 3.0]}, row=1)
    assert heights[1] < [line.get_ydata()[0] for line in other.lines if line.get_gid() == "point"][1]


def test_a_temperature_scales_every_mark():
    table = clinic()
    plain = clinic_model()
    warm = deciban.train(table, target="who", roles=ROLES, calibrate="temperature")
    t = warm._scorer.calibration.map.t
    for name in ("smoker", "fever"):
        for a, b in zip(scale_of(plain, name).branches, scale_of(warm, name).branches):
            assert [t * mark.decibans for mark in a.marks] == pytest.approx([mark.decibans for mark in b.marks])


@pytest.mark.parametrize("learner", [{"structure": "naive"}, {"learner": "logistic", "C": 1.0}], ids=str)
@pytest.mark.parametrize("labels", [["ill", "well"], ["ill", "well", "unsure"]])
def test_platt_scaling_keeps_the_sum_of_the_scales(labels, learner):
    rng = np.random.default_rng(5)
    y = rng.integers(0, len(labels), 400)
    table = {
        "n": (y + rng.normal(size=400)).tolist(),
        "c": np.where(rng.random(400) < 0.2 + 0.3 * y, "yes", "no").tolist(),
        "who": np.array(labels)[y].tolist(),
    }
    table["twice"] = table["n"]
    model = deciban.train(table, target="who", calibrate="platt", **learner)
    assert model.calibration.method == "platt"
    model = model.with_priors([0.6] + [0.4 / (len(labels) - 1)] * (len(labels) - 1))
    for row in range(0, 400, 37):
        explanation = _explain_row(model, table, row, None)
        given = compute_scales(model, None, 12, explanation)
        p = posterior(model, table, row)
        expected = 10 * math.log10(p[given.favoured] / p[given.against])
        assert given.prior + sum(scale.point for scale in given.columns) == pytest.approx(expected, abs=1e-9)
        mark = next(s for s in given.columns if s.name == "c")
        assert mark.point in [pytest.approx(m.decibans) for m in mark.branches[0].marks]
        blank = compute_scales(model, (given.favoured, given.against), 12)
        assert blank.prior == pytest.approx(given.prior)


def test_one_column_more_has_a_scale_of_its_own():
    for rows in (None, clinic()):
        row = None if rows is None else _explain_row(clinic_model(), rows, 3, None)
        given = compute_scales(clinic_model(), None, 4, row)
        assert given.together is None
        assert len(given.columns) == 5
        assert all(branch.marks for scale in given.columns for branch in scale.branches)
    assert "2 more" in texts(nomogram(clinic_model(), most=3), "name")


def test_what_does_not_add_up_is_refused():
    bent = deciban.train(clinic(), target="who", roles=ROLES, calibrate="isotonic")
    with pytest.raises(UndefinedError, match="isotonic"):
        nomogram(bent)
    roles = {**ROLES, "protein": "number"}
    joined = deciban.train(clinic(), target="who", roles=roles, blocks=[["fever", "protein"]], judge=False)
    with pytest.raises(UndefinedError, match="joined"):
        nomogram(joined)


def test_texts_need_a_row():
    table = {"message": ["free prize", "lunch", "free", "noon"], "n": [1.0, 2.0, 1.5, 2.5], "y": ["spam", "ham"] * 2}
    table["m"] = [9.0, 5.0, 7.0, 8.0]
    model = deciban.train(table, target="y", roles={"message": "text", "n": "number", "m": "number"}, judge=False)
    with pytest.raises(InputError, match="texts"):
        nomogram(model)
    assert texts(nomogram(model, table), "name") == ["prior", "n", "m", "message", "total", "probability"]
    assert texts(nomogram(model, table, most=1), "name") == ["prior", "n", "2 more", "total", "probability"]


def test_classes_that_are_both_impossible_are_refused():
    table = {"n": [1.0, 2.0, 4.0, 5.0, 7.0, 8.0], "y": [*"aabbcc"]}
    model = deciban.train(table, target="y", roles={"n": "number"}, judge=False).with_priors([1, 0, 0])
    for rows in (None, table):
        with pytest.raises(InputError, match="prior of both 'b' and 'c' is 0"):
            nomogram(model, rows, classes=("b", "c"))
    assert "+∞" in texts(nomogram(model, table, classes=("a", "b")), "given")


@pytest.mark.parametrize(("classes", "columns", "rows"), EXTREMES)
def test_every_text_can_be_read(classes, columns, rows):
    model = many_model(classes, columns, rows)
    assert_readable(nomogram(model).figure)
    assert_readable(nomogram(model, many(classes, columns, rows)).figure)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"classes": ("ill", "ill")}, "two different"),
        ({"classes": ("ill", "sick")}, "'sick' is none of"),
        ({"most": 0}, "most must be"),
        ({"rows": clinic(), "row": 120}, "no row 120"),
        ({"rows": clinic(), "row": -1}, "counted from 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        nomogram(clinic_model(), **given)
    with pytest.raises(InputError, match="table model"):
        nomogram(deciban.GaussianNB(), {})
