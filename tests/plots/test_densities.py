"""Pictures of p(x|k): what is drawn is what the model believes."""

import numpy as np
import pytest
from matplotlib import pyplot
from scipy.stats import norm, poisson

import deciban
from deciban.errors import InputError
from deciban.plots import densities
from tests.plots.readability import assert_readable, written
from tests.plots.tables import EXTREMES, ROLES, clinic, clinic_model, many, many_model


def curves(ax):
    return [line.get_data() for line in ax.lines if line.get_gid() == "density"]


def column(name, label):
    return [x for x, who in zip(clinic()[name], clinic()["who"]) if who == label and x is not None]


def test_the_curves_of_a_number_are_the_gaussians_of_its_classes():
    ax = densities(clinic_model(parameter_prior=0.0), columns=["fever"])
    for (x, y), label in zip(curves(ax), ("ill", "well")):
        np.testing.assert_allclose(y, norm(*norm.fit(column("fever", label))).pdf(x), rtol=1e-9, atol=1e-300)
        assert np.trapezoid(y, x) == pytest.approx(1, abs=2e-3)


def test_counts_are_steps_at_whole_numbers():
    ax = densities(clinic_model(alpha=0.0), columns=["visits"])
    for (x, y), label in zip(curves(ax), ("ill", "well")):
        np.testing.assert_array_equal(x, np.round(x))
        np.testing.assert_allclose(y, poisson(np.mean(column("visits", label))).pmf(x), rtol=1e-9)


@pytest.mark.parametrize("name", ["smoker", "cough"])
def test_the_dots_of_a_category_are_its_smoothed_shares(name):
    ax = densities(clinic_model(alpha=1.0), columns=[name])
    values = [label.get_text() for label in ax.get_yticklabels()]
    dots = [line.get_xdata() for line in ax.lines if line.get_gid() == "share"]
    assert sorted(values) == sorted(set(clinic()[name]))
    for shares, label in zip(dots, ("ill", "well")):
        seen = column(name, label)
        expected = [(seen.count(value) + 1) / (len(seen) + len(values)) for value in values]
        np.testing.assert_allclose(shares, expected, rtol=1e-12)


def test_the_shares_of_bins_add_up_to_one():
    ax = densities(clinic_model(), columns=["protein"])
    for line in ax.lines:
        if line.get_gid() == "share":
            assert sum(line.get_xdata()) == pytest.approx(1)
    assert ax.get_yticklabels()[0].get_text().startswith("< ")


def test_rare_values_go_together_and_days_follow_the_calendar():
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(90)]
    table = {"letter": [chr(97 + i % 20) for i in range(90)], "day": days, "y": ["a", "b", "b"] * 30}
    model = deciban.train(table, target="y", roles={"letter": "category", "day": "date"}, judge=False)
    ax = densities(model, columns=["letter"])
    assert ax.get_yticklabels()[-1].get_text() == "9 others"
    for line in ax.lines:
        if line.get_gid() == "share":
            assert sum(line.get_xdata()) == pytest.approx(1)
    ax = densities(model, columns=["day.weekday"])
    week = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    assert [label.get_text() for label in ax.get_yticklabels()] == week


def test_the_data_stand_beneath_their_curves_each_class_in_a_row():
    ax = densities(clinic_model(), clinic(), columns=["fever"])
    marks = [line for line in ax.lines if line.get_gid() == "data"]
    for line, label in zip(marks, ("ill", "well")):
        np.testing.assert_array_equal(line.get_xdata(), np.unique(column("fever", label)))
        assert (line.get_ydata() < 0).all()
    assert not [line for line in densities(clinic_model(), columns=["fever"]).lines if line.get_gid() == "data"]


def test_the_share_that_is_missing_is_shown():
    share = sum(x is None for x in clinic()["fever"]) / 120
    assert densities(clinic_model(), columns=["fever"]).get_title(loc="right") == f"{100 * share:.2g} % missing"
    assert densities(clinic_model(), columns=["smoker"]).get_title(loc="right") == ""


def test_the_strongest_columns_come_first_and_the_others_are_counted():
    model = many_model(2, 300)
    figure = densities(model, most=4)
    strongest = [strength.feature for strength in model.describe().strongest[:4]]
    assert len(figure.axes) == 4
    assert all(ax.get_title(loc="left").endswith(name[-3:]) for ax, name in zip(figure.axes, strongest))
    assert any("4 most telling of 301 columns" in text for text, _ in written(figure))


def test_many_classes_have_a_row_each():
    figure = densities(many_model(26, 3))
    number = next(ax for ax in figure.axes if curves(ax))
    assert len(curves(number)) == 26
    shades = next(ax for ax in figure.axes if ax.images).images[0].get_array()
    assert shades.shape[0] == 26
    np.testing.assert_allclose(shades.sum(axis=1), 1)


def test_numbers_that_are_joined_are_drawn_by_themselves():
    roles = {**ROLES, "protein": "number"}
    apart = deciban.train(clinic(), target="who", roles=roles, judge=False)
    joined = deciban.train(clinic(), target="who", roles=roles, blocks=[["fever", "protein"]], judge=False)
    for model in (apart, joined):
        assert len(curves(densities(model, columns=["protein"]))) == 2
    (x, _), *_ = curves(densities(joined, columns=["protein"]))
    assert np.isfinite(x).all()


@pytest.mark.parametrize("data", [False, True])
@pytest.mark.parametrize(("classes", "columns", "rows"), EXTREMES)
def test_every_text_can_be_read(classes, columns, rows, data):
    drawn = densities(many_model(classes, columns, rows), many(classes, columns, rows) if data else None)
    assert_readable(drawn if hasattr(drawn, "savefig") else drawn.figure)


def test_every_kind_of_column_can_be_read_together():
    assert_readable(densities(clinic_model(), clinic()))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"columns": ["fevr"]}, "'fevr' is not in the model; did you mean 'fever'"),
        ({"columns": []}, "no numbers"),
        ({"most": 0}, "most must be"),
        ({"rows": {"fever": [37.0]}, "columns": ["fever"]}, "no column 'who'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        densities(clinic_model(), **given)


def test_an_axes_has_space_for_one_column():
    _, ax = pyplot.subplots()
    assert densities(clinic_model(), columns=["cough"], ax=ax) is ax
    with pytest.raises(InputError, match="space for one"):
        densities(clinic_model(), ax=ax)
    with pytest.raises(InputError, match="table model"):
        densities(deciban.GaussianNB())
