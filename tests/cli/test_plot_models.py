"""`deciban plot` of data and models: what is drawn by the commands, and what they refuse."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from matplotlib import pyplot
from scipy.stats import multivariate_normal, norm

import deciban
from deciban.cli.plot.picture_options import Picture
from tests.cli.terminal import NEW, PATIENTS, call, done, table
from tests.plots.readability import assert_readable

rng = np.random.default_rng(11)
MIX = np.array([[1.0, 0.6], [-0.3, 0.8]])
CLOUDS = {
    "left": rng.normal(size=(60, 2)) @ MIX + [0, 0],
    "right": rng.normal(size=(40, 2)) @ (1.6 * MIX.T) + [2.5, 1.5],
}


@pytest.fixture(scope="module")
def clouds(tmp_path_factory):
    """Two clouds of points, to the last digit."""
    rows = [(repr(float(x)), repr(float(y)), name) for name, points in CLOUDS.items() for x, y in points]
    return table(tmp_path_factory.mktemp("clouds") / "clouds.csv", "x,y,cloud", rows)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("patients") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", path, "--no-judge")
    return path


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """The Axes, or Figure, that a command draws."""
    kept, save = [], Picture.save
    monkeypatch.setattr(
        Picture, "save", lambda self, picture, what: (kept.append(picture), save(self, picture, what))
    )

    def draw(*arguments):
        done("plot", *arguments, "-o", tmp_path / "picture.png")
        return kept[-1]

    yield draw
    pyplot.close("all")


def boundary(ax):
    """The points of the boundary, without the breaks between its pieces."""
    (line,) = (line for line in ax.lines if line.get_gid() == "boundary")
    points = np.column_stack(line.get_data())
    return points[~np.isnan(points).any(axis=1)]


def half_probable(points, covariances, prior):
    """p(left | x) at each point, by the formula of the normal distribution."""
    means = [cloud.mean(axis=0) for cloud in CLOUDS.values()]
    joint = [p * multivariate_normal(m, c).pdf(points) for m, c, p in zip(means, covariances, prior)]
    return joint[0] / (joint[0] + joint[1])


def along(points, n=50):
    """n points between the two ends of a line."""
    return points[0] + np.linspace(0, 1, n)[:, None] * (points[-1] - points[0])


OWN = [np.cov(cloud.T, bias=True) for cloud in CLOUDS.values()]
TIED = (60 * OWN[0] + 40 * OWN[1]) / 100
ASKED = ("boundary", "--target", "cloud", "--columns", "x,y", "--covariance")


def test_classes_with_one_covariance_are_parted_by_a_line(drawn, clouds):
    points = boundary(drawn(*ASKED, "tied", clouds))
    assert len(points) == 2
    np.testing.assert_allclose(half_probable(along(points), [TIED, TIED], [0.6, 0.4]), 0.5, atol=1e-9)


def test_identity_and_equal_priors_give_the_perpendicular_bisector(drawn, clouds):
    ax = drawn(*ASKED, "identity", clouds, "--prior", "uniform")
    points = boundary(ax)
    np.testing.assert_allclose(half_probable(along(points), [np.eye(2)] * 2, [0.5, 0.5]), 0.5, atol=1e-9)
    left, right = (cloud.mean(axis=0) for cloud in CLOUDS.values())
    assert (points[1] - points[0]) @ (right - left) == pytest.approx(0, abs=1e-9)
    line, middle = points[1] - points[0], (left + right) / 2 - points[0]
    assert line[0] * middle[1] - line[1] * middle[0] == pytest.approx(0, abs=1e-9)
    assert ax.get_aspect() == 1
    (joined,) = (line for line in ax.lines if line.get_gid() == "means")
    np.testing.assert_allclose(np.column_stack(joined.get_data()), [left, right])


def test_unequal_priors_move_the_line_and_keep_its_direction(drawn, clouds):
    even, odd = (boundary(drawn(*ASKED, "identity", clouds, "--prior", p)) for p in ("uniform", "left=0.9,right=0.1"))
    np.testing.assert_allclose(half_probable(along(odd), [np.eye(2)] * 2, [0.9, 0.1]), 0.5, atol=1e-9)
    a, b = (points[1] - points[0] for points in (even, odd))
    assert a[0] * b[1] - a[1] * b[0] == pytest.approx(0, abs=1e-9)


def test_classes_with_covariances_of_their_own_are_parted_by_a_conic(drawn, clouds):
    points = boundary(drawn(*ASKED, "full", clouds))
    assert len(points) > 100
    np.testing.assert_allclose(half_probable(points, OWN, [0.6, 0.4]), 0.5, atol=1e-9)
    assert np.abs(np.linalg.svd(points - points.mean(axis=0))[1][1]) > 0.1  # it is bent


def test_one_column_has_curves_and_thresholds(drawn, clouds):
    ax = drawn("boundary", "--target", "cloud", "--columns", "y", clouds)
    gaussians = [(share, norm(*norm.fit(cloud[:, 1]))) for share, cloud in zip((0.6, 0.4), CLOUDS.values())]
    lines = {gid: [line.get_data() for line in ax.lines if line.get_gid() == gid] for gid in ("density", "threshold")}
    for (x, y), (share, gaussian) in zip(lines["density"], gaussians, strict=True):
        np.testing.assert_allclose(y, share * gaussian.pdf(x), rtol=1e-9)
    drawn_at = sorted(x[0] for x, _ in lines["threshold"])
    left, right = (share * gaussian.pdf(drawn_at) for share, gaussian in gaussians)
    np.testing.assert_allclose(left / (left + right), 0.5, atol=1e-9)
    x = np.linspace(*ax.get_xlim(), 10_001)
    ahead = gaussians[0][0] * gaussians[0][1].pdf(x) > gaussians[1][0] * gaussians[1][1].pdf(x)
    assert len(drawn_at) == np.count_nonzero(np.diff(ahead))


def test_of_many_rows_some_are_drawn_and_all_are_learned(drawn, tmp_path):
    rows = [(f"{x:.4f}", f"{y:.4f}", "ab"[k]) for k in (0, 1) for x, y in rng.normal(3 * k, 1, (1500, 2))]
    path = table(tmp_path / "rows.csv", "x,y,cloud", rows)
    ax = drawn(*ASKED, "tied", path)
    assert sum(len(part.get_offsets()) for part in ax.collections) <= 2000
    X, y = np.array([row[:2] for row in rows], float), np.array([row[2] for row in rows])
    means = [X[y == k].mean(axis=0) for k in "ab"]
    tied = sum(np.cov(X[y == k].T, bias=True) for k in "ab") / 2
    density = [multivariate_normal(m, tied).pdf(along(boundary(ax))) for m in means]
    np.testing.assert_allclose(density[0] / (density[0] + density[1]), 0.5, atol=1e-9)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_numbers_with_units_are_drawn_as_they_are_learned(drawn, tmp_path, ending):
    path = tmp_path / f"written.{ending}"
    numbers = np.column_stack([np.arange(40) / 10 + 0.25, np.arange(40)[::-1] ** 2 * 10 + 0.5])
    written = [(f"{x:.2f} %".replace(".", ","), f"{y:.2f} €".replace(".", ",")) for x, y in numbers]
    columns = {"share": [x for x, _ in written], "price": [y for _, y in written], "kind": ["a", "b"] * 20}
    pq.write_table(pa.table(columns), path)
    if ending == "csv":
        path.write_text("\n".join(["share;price;kind", *map(";".join, zip(*columns.values()))]))
    done("train", path, "--target", "kind", "--no-judge", "--numbers", "number", "-o", tmp_path / "m.deciban")
    for j, panel in enumerate(drawn("densities", tmp_path / "m.deciban", path, "--columns", "share,price").axes):
        points = [line.get_xdata() for line in panel.lines if line.get_gid() == "data"]
        np.testing.assert_allclose(np.sort(np.concatenate(points)), np.sort(numbers[:, j]))
    ax = drawn("boundary", path, "--target", "kind", "--columns", "share,price")
    points = np.concatenate([part.get_offsets() for part in ax.collections])
    np.testing.assert_allclose(points[np.argsort(points[:, 0])], numbers)


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_every_picture_of_a_model_is_drawn_by_its_command(drawn, model):
    assert len(drawn("densities", model, PATIENTS).axes) == 8
    assert drawn("densities", model, "--columns", "age").get_title(loc="left") == "age"
    assert drawn("evidence", model, NEW, "--row", 4).get_title(loc="left").startswith("cold rather than flu")
    assert "flu rather than cold" in drawn("evidence", model, NEW, "--classes", "flu,cold").get_title(loc="left")
    assert drawn("nomogram", model, "--classes", "flu,cold").get_title(loc="left") == "flu rather than cold"
    assert drawn("nomogram", model, NEW, "--row", 4).get_title(loc="left") == "cold rather than flu"
    assert drawn("sigmoid", model, PATIENTS, "--class", "flu").get_ylabel() == "probability of flu"
    assert len(drawn("losses").lines) == 5
    assert len(drawn("digits").axes) == 21


def test_a_row_whose_class_is_nan_is_not_drawn_as_one_of_another_class(drawn, tmp_path):
    x, y = rng.normal(size=20), np.tile([0.0, 1.0], 10)
    deciban.train({"x": x, "y": y}, target="y", judge=False).save(tmp_path / "two.deciban")
    y[3:5] = np.nan
    pq.write_table(pa.table({"x": x, "y": pa.array(y, from_pandas=False)}), tmp_path / "rows.parquet")
    ax = drawn("sigmoid", tmp_path / "two.deciban", tmp_path / "rows.parquet")
    assert [len(part.get_offsets()) for part in ax.collections if part.get_gid() in ("hits", "others")] == [9, 9]


def test_images_come_from_a_table_too(drawn, tmp_path):
    rows = [(1, 2, 0, 4, "a"), (0, 2, 5, 1, "b"), (2, 2, 1, 3, "a"), (0, 1, 4, 0, "b")]
    figure = drawn("digits", table(tmp_path / "pixels.csv", "p,q,r,s,y", rows), "--target", "y", "--shape", "1,4")
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), [[1.5, 2, 0.5, 3.5]])


def test_size_dots_and_title_are_as_asked(drawn, tmp_path):
    figure = drawn("losses", "--size", "5,4", "--dots", "50", "--title", "$Losses$").figure
    assert figure.get_size_inches().tolist() == [5, 4]
    assert figure.get_suptitle() == "$Losses$"
    shape = pyplot.imread(tmp_path / "picture.png").shape
    assert shape[:2] == (200, 250)
    assert_readable(figure)


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_the_same_model_gives_the_same_bytes(model, tmp_path, ending, start):
    paths = [tmp_path / f"{name}.{ending}" for name in ("one", "two")]
    for path in paths:
        done("plot", "densities", model, PATIENTS, "--columns", "age", "-o", path)
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(start)
    assert first == second


REFUSED = [
    (["boundary", PATIENTS, "--target", "diagnosis", "--columns", "a,b,c"], 2, "one column or two"),
    (["boundary", PATIENTS, "--target", "diagnosis", "--columns", "tempersture"], 1, "did you mean 'temperature'"),
    (["boundary", PATIENTS, "--columns", "age"], 2, "--target COL is missing"),
    (["boundary", PATIENTS, "--target", "diagnosis", "--columns", "age,diagnosis"], 1, "is named twice"),
    (["boundary", PATIENTS, "--target", "diagnosis", "--columns", "cough"], 1, "draw columns of numbers"),
    (
        ["boundary", PATIENTS, "--target", "diagnosis", "--columns", "age", "--prior", "cold=1"],
        1,
        "no prior is given",
    ),
    (["boundary", "no.csv", "--target", "y", "--columns", "a"], 1, "no.csv"),
    (["losses", "--size", "5"], 2, "WIDTH,HEIGHT"),
    (["losses", "--size", "5,1000"], 2, "1 to 100 inches"),
    (["digits", PATIENTS, "--target", "diagnosis"], 1, "which is not a number"),
    (["digits", "--shape", "8"], 2, "HEIGHT,WIDTH"),
    (["digits", "--shape", "8,9"], 1, "has 72 pixels, and the model 64"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(arguments, code, words, tmp_path):
    result = call("plot", *arguments, "-o", tmp_path / "picture.png")
    assert (result.exit_code, words in result.stderr) == (code, True), result.stderr
    assert not (tmp_path / "picture.png").exists()


OF_MODELS = [
    (["densities", "--columns", "agee"], 1, "did you mean 'age'"),
    (["densities", "--columns", "patient"], 1, "is skip, which is not drawn"),
    (["evidence", NEW, "--row", "99"], 1, "has no row 99"),
    (["evidence", NEW, "--classes", "flu"], 2, "FOR,AGAINST"),
    (["nomogram", "--classes", "flu,plague"], 1, "'plague' is none of"),
    (["nomogram", NEW, "--row", "99"], 1, "has no row 99"),
    (["sigmoid", PATIENTS], 1, "has 3 classes. Hint: --class"),
    (["sigmoid", PATIENTS, "--class", "plague"], 1, "'plague' is none of"),
    (["sigmoid", NEW, "--class", "flu"], 1, "no column 'diagnosis'"),
]


@pytest.mark.parametrize(("arguments", "code", "words"), OF_MODELS, ids=range(len(OF_MODELS)))
def test_what_a_model_does_not_have_is_refused(arguments, code, words, model, tmp_path):
    name, *rest = arguments
    result = call("plot", name, model, *rest, "-o", tmp_path / "picture.png")
    assert (result.exit_code, words in result.stderr) == (code, True), result.stderr
    assert not (tmp_path / "picture.png").exists()


def test_one_class_has_no_boundary_and_one_row_of_each_has(tmp_path, drawn):
    one = table(tmp_path / "one.csv", "x,y,cloud", [(1, 2, "a"), (2, 2, "a")])
    assert "'a' only" in call("plot", *ASKED, "tied", one, "-o", tmp_path / "picture.png").stderr
    pair = table(tmp_path / "pair.csv", "x,y,cloud", [(1, 2, "a"), (3, 1, "b")])
    assert_readable(drawn(*ASKED, "tied", pair).figure)
