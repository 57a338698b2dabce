"""Pictures of boundaries: what is drawn is where the posteriors are equal."""

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB as TheirNB

import deciban
from deciban.errors import DecibanError, InputError, MissingExtraError, UndefinedError
from deciban.plots import boundary
from deciban.plots.boundary_geometry import find_segments, find_thresholds, make_surface
from deciban.plots.plot_rows import make_window

IRIS = load_iris(as_frame=True)
PETALS = IRIS.data[["petal length (cm)", "petal width (cm)"]]
SEPALS = IRIS.data[["sepal length (cm)", "sepal width (cm)"]]
KIND = IRIS.target_names[IRIS.target]
TWO = KIND != "setosa"
rng = np.random.default_rng(5)
TEN = np.repeat(np.arange(10), 12)
CLOUDS = rng.normal(size=(120, 2)) + np.column_stack([TEN % 4, TEN // 4]) * 2.5
COUNTS = rng.poisson(np.where(np.arange(80)[:, None] < 40, [2, 6], [6, 3]))
HALVES = np.repeat(["few", "many"], 40)

LINES = [deciban.GaussianBayes(covariance=c) for c in ("tied", "identity", "tied_diagonal", "tied_spherical")]
CONICS = [deciban.GaussianBayes(covariance=c) for c in ("full", "diagonal", "spherical")] + [deciban.GaussianNB()]
COUNTERS = [deciban.MultinomialNB(), deciban.PoissonNB(), deciban.ComplementNB(), deciban.BernoulliNB()]


def drawn(ax):
    """The points of every boundary, without the breaks between its pieces."""
    lines = [np.column_stack(line.get_data()) for line in ax.lines if line.get_gid() == "boundary"]
    return [points[~np.isnan(points).any(axis=1)] for points in lines]


def key(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def fitted(model, X, y):
    return model.fit(np.asarray(X), y)


@pytest.mark.parametrize("model", [*LINES, *CONICS], ids=str)
def test_on_the_boundary_of_two_classes_both_have_posterior_one_half(model):
    X = PETALS.to_numpy()[TWO]
    ax = boundary(fitted(model, X, KIND[TWO]), X, KIND[TWO])
    (points,) = drawn(ax)
    assert len(points) >= 2
    np.testing.assert_allclose(model.predict_proba(points), 0.5, atol=1e-9)


@pytest.mark.parametrize("model", COUNTERS[:2], ids=str)
def test_between_counts_both_classes_score_alike_on_the_line(model):
    ax = boundary(model.fit(COUNTS, HALVES), COUNTS, HALVES)
    (points,) = drawn(ax)
    form = model.linear_form()
    np.testing.assert_allclose(points @ form.w + form.b, 0, atol=1e-9)


@pytest.mark.parametrize("model", LINES, ids=str)
def test_a_line_is_drawn_exactly_and_to_the_edge_of_the_picture(model):
    X = PETALS.to_numpy()[TWO]
    ax = boundary(fitted(model, X, KIND[TWO]), X, KIND[TWO])
    (points,) = drawn(ax)
    assert len(points) == 2
    edges = np.array([ax.get_xlim(), ax.get_ylim()]).T
    for point in points:
        assert np.isclose(point, edges, rtol=1e-12).any()


@pytest.mark.parametrize("model", [LINES[0], CONICS[0]], ids=str)
@pytest.mark.parametrize(("X", "y"), [(SEPALS.to_numpy(), KIND), (CLOUDS, TEN)], ids=["three", "ten"])
def test_of_many_classes_only_the_top_two_share_a_boundary(model, X, y):
    points = np.concatenate(drawn(boundary(fitted(model, X, y), X, y)))
    first, second = np.sort(model.predict_proba(points), axis=1).T[[-1, -2]]
    np.testing.assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize("scale", [[1, 1], [1e5, 1e-4]], ids=str)
def test_the_pieces_end_where_a_third_class_catches_up(scale):
    X = SEPALS.to_numpy() * scale
    model = deciban.GaussianBayes().fit(X, KIND)
    surface, window = make_surface(model), make_window(X)
    ends = [
        piece[i] for pair in surface.pairs for piece in find_segments(surface, *pair, window, 300) for i in (0, -1)
    ]
    edge = window.span / 1000
    inside = [p for p in ends if (p > window.low + edge).all() and (p < window.high - edge).all()]
    assert inside
    np.testing.assert_allclose(model.predict_proba(inside), 1 / 3, atol=1e-9)


def test_columns_of_very_different_scale_are_drawn_as_exactly():
    X = CLOUDS[:24] * [1e5, 1e-4]
    model = deciban.GaussianBayes().fit(X, TEN[:24])
    (points,) = drawn(boundary(model, X, TEN[:24]))
    np.testing.assert_allclose(model.predict_proba(points), 0.5, atol=1e-9)


# (mean, sd) of class 0, of class 1, priors, thresholds: two points m ± s have mean m and sd s
ONE_COLUMN = [
    ((0, 1), (4, 1), [0.5, 0.5], 1),
    ((0, 1), (1, 2), [0.5, 0.5], 2),
    ((0, 1), (0, 3), [0.05, 0.95], 0),
    ((1, 2), (1, 2), [0.4, 0.6], 0),
]


@pytest.mark.parametrize(("first", "second", "priors", "many"), ONE_COLUMN)
def test_thresholds_of_one_column_solve_equal_joint_densities(first, second, priors, many):
    X = [[m + sign * s] for m, s in (first, second) for sign in (-1.0, 1.0)]
    model = deciban.GaussianNB(priors=priors, var_smoothing=0).fit(X, ["a", "a", "b", "b"])
    ax = boundary(model, X, ["a", "a", "b", "b"])
    marked = [line.get_xdata()[0] for line in ax.lines if line.get_gid() == "threshold"]
    assert len(marked) == len(find_thresholds(make_surface(model))) == many
    for x in marked:
        p0, p1 = np.exp(model.predict_joint_log_proba([[x]]))[0]
        assert p0 == pytest.approx(p1, rel=1e-9)
    assert any("no threshold: always b" in text for text in key(ax)) == (many == 0)


def test_thresholds_that_are_near_each_other_have_different_labels():
    X, y = [[1.5], [1.519], [1.521], [1.54]], ["a", "b", "b", "a"]
    labels = [text for text in key(boundary(deciban.GaussianNB().fit(X, y), X, y)) if " = " in text]
    assert labels == ["x0 = 1.518", "x0 = 1.522"]


@pytest.mark.parametrize("model", [deciban.GaussianNB(), deciban.PoissonNB()], ids=str)
def test_curves_of_one_column_are_the_joint_densities(model):
    X = COUNTS[:, :1]
    ax = boundary(model.fit(X, HALVES), X, HALVES)
    curves = [line for line in ax.lines if line.get_gid() == "density"]
    assert len(curves) == 2
    for k, curve in enumerate(curves):
        x, height = curve.get_data()
        np.testing.assert_allclose(height, np.exp(model.predict_joint_log_proba(x[:, None]))[:, k], rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("model", [LINES[0], CONICS[0], deciban.BernoulliNB()], ids=str)
def test_every_class_is_in_the_key_and_an_axes_comes_back(model, d):
    ax = boundary(model.fit(CLOUDS[:, :d], TEN), CLOUDS[:, :d], TEN)
    assert isinstance(ax, Axes)
    assert {str(k) for k in range(10)} <= set(key(ax))


def overlaps(ax):
    """Pairs of texts (labels, key) that touch each other."""
    ax.figure.canvas.draw()
    texts = [t for t in [*ax.get_legend().get_texts(), ax.xaxis.label, ax.yaxis.label] if t.get_text().strip()]
    texts += [t for t in ax.get_xticklabels() if ax.viewLim.x0 <= t.get_position()[0] <= ax.viewLim.x1]
    texts += [t for t in ax.get_yticklabels() if ax.viewLim.y0 <= t.get_position()[1] <= ax.viewLim.y1]
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts]
    return [(a, b) for i, (a, A) in enumerate(boxes) for b, B in boxes[i + 1 :] if A.overlaps(B)]


@pytest.mark.parametrize(
    ("X", "y"), [(PETALS[TWO], KIND[TWO]), (SEPALS, KIND), (CLOUDS, TEN), (SEPALS.iloc[:, :1], KIND)]
)
def test_no_text_overlaps_another_or_leaves_the_figure(X, y):
    ax = boundary(deciban.GaussianBayes().fit(X, y), X, y)
    assert overlaps(ax) == []
    box, figure = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert box.x0 >= 0
    assert box.y0 >= 0
    assert box.x1 <= figure.width
    assert box.y1 <= figure.height


def test_axes_and_equation_use_the_columns_names():
    ax = boundary(deciban.GaussianBayes(covariance="tied").fit(PETALS[TWO], KIND[TWO]), PETALS[TWO], KIND[TWO])
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(PETALS.columns)
    assert "2.82·petal length + 9.47·petal width = 29.7" in key(ax)


def test_a_conic_names_its_variables_on_the_axes():
    ax = boundary(deciban.GaussianBayes().fit(PETALS[TWO], KIND[TWO]), PETALS[TWO], KIND[TWO])
    assert ax.get_xlabel() == "x: petal length (cm)"
    assert any("x²" in text and text.endswith("= 0") for text in key(ax))


def test_given_names_are_used_and_an_axes_given_is_filled():
    mine = pyplot.figure().add_subplot()
    X = PETALS.to_numpy()
    model = deciban.GaussianBayes(covariance="tied").fit(X, KIND)
    assert boundary(model, X, KIND, ax=mine, names=["length", "width"]) is mine
    assert mine.get_xlabel() == "length"
    assert any("length" in text for text in key(mine))


@pytest.mark.parametrize("features", [(2, 3), tuple(PETALS.columns)])
def test_features_pick_the_models_columns_of_a_wider_table(features):
    model = deciban.GaussianBayes().fit(PETALS, KIND)
    narrow, wide = boundary(model, PETALS, KIND), boundary(model, IRIS.data, KIND, features=features)
    for a, b in zip(drawn(narrow), drawn(wide), strict=True):
        np.testing.assert_array_equal(a, b)


def test_missing_values_sparse_rows_and_classes_without_rows_are_no_obstacle():
    X = np.vstack([CLOUDS, [[np.nan, 1.0]]])
    boundary(deciban.GaussianNB().fit(CLOUDS, TEN), X, np.append(TEN, 0))
    boundary(deciban.MultinomialNB().fit(COUNTS, HALVES), csr_array(COUNTS), HALVES)
    model = deciban.GaussianNB().partial_fit(CLOUDS[:24], TEN[:24], classes=[0, 1, 2])
    assert len(drawn(boundary(model, CLOUDS[:24], TEN[:24]))) == 1


def test_one_class_alone_has_no_boundary():
    for d in (1, 2):
        ax = boundary(deciban.GaussianNB().fit(CLOUDS[:12, :d], TEN[:12]), CLOUDS[:12, :d], TEN[:12])
        assert drawn(ax) == []


@pytest.mark.parametrize("model", COUNTERS, ids=str)
def test_models_of_counts_are_drawn_in_the_plane(model):
    assert len(drawn(boundary(model.fit(COUNTS, HALVES), COUNTS, HALVES))) <= 1


@pytest.mark.parametrize("model", [deciban.CategoricalNB(), deciban.JointBayes()], ids=str)
def test_models_of_level_codes_have_no_boundary_in_the_plane(model):
    with pytest.raises(UndefinedError, match=rf"{type(model).__name__} has no boundary in the plane.*Hint: explain"):
        boundary(model.fit(COUNTS, HALVES), COUNTS, HALVES)


GAUSS = deciban.GaussianNB().fit(CLOUDS, TEN)
REFUSED = [
    (
        lambda: boundary(TheirNB().fit(CLOUDS, TEN), CLOUDS, TEN),
        UndefinedError,
        "linear_form.*GaussianNB has neither",
    ),
    (lambda: boundary(deciban.GaussianNB().fit(IRIS.data, KIND), IRIS.data, KIND), UndefinedError, "fitted on 4"),
    (lambda: boundary(GAUSS, CLOUDS, TEN, resolution=1), InputError, "resolution .* not 1"),
    (lambda: boundary(GAUSS, CLOUDS, TEN, features=(0,)), InputError, "two columns"),
    (lambda: boundary(GAUSS, CLOUDS, TEN, features=(0, 7)), InputError, "column 7, and X has 2"),
    (lambda: boundary(GAUSS, CLOUDS, TEN, features=("a", "b")), InputError, "X has no column names"),
    (lambda: boundary(GAUSS, pd.DataFrame(CLOUDS, columns=["u", "v"]), TEN, features=("a", "v")), InputError, "u, v"),
    (lambda: boundary(GAUSS, CLOUDS, TEN, names=["a"]), InputError, "names must be"),
    (lambda: boundary(GAUSS, CLOUDS, TEN[:-1]), InputError, "each of the 120 rows"),
    (lambda: boundary(GAUSS, CLOUDS, TEN + 5), InputError, "60 rows of unknown classes.*first: .*10.* in row 60"),
    (lambda: boundary(GAUSS, CLOUDS * np.nan, TEN), InputError, "no row without missing"),
    (lambda: boundary(GAUSS, CLOUDS[:0], TEN[:0]), InputError, "shape"),
    (lambda: boundary(GAUSS, np.full((120, 2), np.inf), TEN), InputError, "infinite value in row 0, column 0"),
    (lambda: boundary(GAUSS, [["a", "b"]], [0]), InputError, "numbers"),
]


@pytest.mark.parametrize(("call", "kind", "says"), REFUSED)
def test_what_cannot_be_drawn_is_refused_in_words(call, kind, says):
    open_before = pyplot.get_fignums()
    with pytest.raises(kind, match=says):
        call()
    assert pyplot.get_fignums() == open_before


def test_a_wide_frame_is_not_drawn_under_another_columns_name():
    with pytest.raises(InputError, match=r"fitted on \['petal.*picks \['sepal.*Hint: features=\['petal"):
        boundary(deciban.GaussianNB().fit(PETALS, KIND), IRIS.data, KIND)


def test_scores_that_are_no_probabilities_have_no_curves():
    model = deciban.ComplementNB().fit(COUNTS[:, :1], HALVES)
    open_before = pyplot.get_fignums()
    with pytest.raises(UndefinedError, match="density"):
        boundary(model, COUNTS[:, :1], HALVES)
    assert pyplot.get_fignums() == open_before


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "deciban\[plot\]"') as caught:
        boundary(GAUSS, CLOUDS, TEN)
    assert isinstance(caught.value, MissingExtraError)
    assert isinstance(caught.value, DecibanError)
