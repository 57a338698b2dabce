"""The arithmetic of a row: the product of its factors, normalised, is the prediction, for every kind of model."""

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.model.posterior_arithmetic import compute_by_hand
from deciban.sources.source import open_source
from tests.tables.clinic import patients
from tests.tables.reviews import reviews

ROLES = {"age": "number", "dose": "binned", "visits": "count", "smoker": "flag", "code": "category"}


def arithmetic(model, rows, most=100):
    return compute_by_hand(model, open_source(rows), 1000, False, most)


def assert_predicted(model, rows, most=100):
    """The normalised products are the predicted probabilities, before a calibration."""
    expected = np.column_stack([column.to_numpy() for column in model.predict_proba(rows).columns])
    found = arithmetic(model, rows, most)
    np.testing.assert_allclose([work.predicted for work in found], expected, rtol=0, atol=0)
    if model.calibration is None:
        np.testing.assert_allclose([work.probability for work in found], expected, rtol=1e-9, atol=1e-12)
    return found


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"alpha": 0.0},
        {"alpha": "auto"},
        {"unseen": "smooth"},
        {"prior": "uniform"},
        {"prior": "smoothed"},
        {"most_levels": 2},
        {"blocks": [["age", "dose"], ["smoker", "code"]], "roles": {**ROLES, "dose": "number"}},
        {"learner": "logistic", "C": 1.0},
        {"learner": "evidence", "C": 1.0},
        {"learner": "boosted"},
        {"learner": "aode"},
    ],
    ids=str,
)
def test_the_products_give_what_is_predicted(settings, most):
    model = deciban.train(patients(), target="diagnosis", **{"roles": ROLES, "judge": False, **settings})
    rows = patients(12, seed=5)
    for work, i in zip(assert_predicted(model, rows, most), range(12)):
        assert len(work.factors) <= most + 3  # with the prior, fitted constants, and all others together
        cells = {name: cell for name, cell in rows.slice(i, 1).to_pylist()[0].items() if cell is not None}
        assert {factor.column for factor in work.factors} - {None} <= {
            *cells, "admitted.month", "admitted.weekday", "age & dose", "code & smoker",
        }  # fmt: skip


@pytest.mark.parametrize("words", [{}, {"hashed": 6}, {"values": "log", "length": "l2"}, {"values": "presence"}])
def test_words_are_factors(words):
    roles = {"text": "text", "stars": "number", "head": "text", "country": "category"}
    model = deciban.train(reviews(), target="verdict", roles=roles, words=words, judge=False)
    found = assert_predicted(model, reviews(10, seed=3), most=6)
    assert any(factor.column == "text" for work in found for factor in work.factors)


def test_a_word_that_occurs_twice_is_a_square():
    mail = {"mail": ["buy now", "buy pills", "lunch now"], "y": ["spam", "spam", "ham"]}
    model = deciban.train(mail, target="y", roles={"mail": "text"}, judge=False)
    (work,) = arithmetic(model, {"mail": ["buy buy lunch"]})
    assert [(f.what, list(f.formulas)) for f in work.factors] == [
        ("p(y)", ["1/3", "2/3"]),
        ("buy", ["(1/6)^2", "(3/8)^2"]),
        ("lunch", ["2/6", "1/8"]),
    ]
    assert work.probability.tolist() == pytest.approx(
        np.array([(1 / 3) * (1 / 6) ** 2 * (2 / 6), (2 / 3) * (3 / 8) ** 2 / 8])
        / ((1 / 3) * (1 / 6) ** 2 * (2 / 6) + (2 / 3) * (3 / 8) ** 2 / 8)
    )


def test_densities_rates_and_bins_are_written_out():
    model = deciban.train(patients(), target="diagnosis", roles=ROLES, judge=False)
    (work,) = arithmetic(model, patients(4, seed=5).slice(0, 1))
    by_column = {factor.column: factor for factor in work.factors}
    age = model.table("age").to_frame()
    x = float(by_column["age"].value)
    assert list(by_column["age"].formulas) == [
        f"N({x:.6g}; {m:.4g}, {v:.4g})" for m, v in zip(age["mean"], age["variance"])
    ]
    density = np.exp(-((x - age["mean"]) ** 2) / (2 * age["variance"])) / np.sqrt(2 * np.pi * age["variance"])
    np.testing.assert_allclose(np.exp(by_column["age"].logs), density, rtol=1e-12)
    assert by_column["visits"].formulas[0].startswith(f"Poisson({by_column['visits'].value:g}; ")
    assert "(from " in by_column["dose"].what or "(below " in by_column["dose"].what


@pytest.mark.parametrize("method", ["temperature", "platt", "isotonic"])
def test_a_calibration_comes_after_the_products(method):
    model = deciban.train(patients(), target="diagnosis", roles=ROLES, calibrate=method)
    (work,) = assert_predicted(model, patients(4, seed=5).slice(0, 1))
    assert work.calibration.startswith(method)
    assert not np.allclose(work.probability, work.predicted)


def test_a_product_that_underflows_is_a_sum_of_logarithms():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    table = {f"x{j}": rng.normal(size=60) for j in range(400)} | {"y": y}
    model = deciban.train(table, target="y", numbers="number", judge=False)
    row = {name: [40.0] for name in table if name != "y"}
    (work,) = assert_predicted(model, pa.table(row))
    assert work.needs_logarithms
    assert np.exp(work.log_products).tolist() == [0, 0]
    assert work.probability.sum() == pytest.approx(1)


def test_a_row_that_is_impossible_everywhere_has_the_prior():
    data = {"a": ["u", "u", "v", "w"], "b": ["p", "p", "q", "p"], "y": [0, 0, 1, 1]}
    model = deciban.train(data, target="y", roles={"a": "category", "b": "category"}, alpha=0, judge=False)
    with pytest.warns(UserWarning, match="impossible under every class"):
        (work,) = arithmetic(model, {"a": ["u"], "b": ["q"]})
    assert work.is_impossible
    assert work.probability.tolist() == pytest.approx(list(model.priors.values()))
    assert work.predicted.tolist() == pytest.approx(list(model.priors.values()))


def test_missing_cells_have_no_factor_and_unseen_ones_no_evidence():
    data = {"a": ["u", "u", "v", "w"] * 3, "b": [1.0, 2.0, 3.0, 4.0] * 3, "y": [0, 0, 1, 1] * 3}
    model = deciban.train(data, target="y", roles={"a": "category", "b": "number"}, judge=False)
    (work,) = arithmetic(model, {"a": ["zebra"], "b": [None]})
    assert [factor.what for factor in work.factors] == ["p(y)", "a = zebra (never seen)"]
    assert work.factors[1].logs.tolist() == [0, 0]


def siblings(n=300):
    """Return a table of texts in which b and c depend on a, more in one class than in the other."""
    rng = np.random.default_rng(0)
    kind, a = rng.choice(["p", "q"], n), rng.choice(["x", "y", "z"], n)
    b, c = (np.where(rng.random(n) < np.where(kind == often, 0.95, 0.4), a, "x") for often in "pq")
    return pa.table({"a": a, "b": b, "c": c, "kind": kind})


@pytest.mark.parametrize("most", [1, 2, 3, 100])
@pytest.mark.parametrize("settings", [{"structure": "tan"}, {"structure": "blocks"}, {"learner": "aode"}], ids=str)
def test_the_products_of_dependent_columns_give_what_is_predicted(settings, most):
    roles = dict.fromkeys("abc", "category")
    model = deciban.train(siblings(), target="kind", roles=roles, judge=False, **settings)
    assert model.structure.keys() == {"tan": {"b", "c"}, "blocks": {"c"}}.get(settings.get("structure"), set())
    rows = {"a": ["x", "y", "z", "x", None, None], "b": ["x", "z", "z", None, "y", None], "c": list("xyxyzz")}
    assert_predicted(model, pa.table(rows), most)


@pytest.mark.parametrize("settings", [{"structure": "tan"}, {"learner": "aode"}], ids=str)
def test_dependence_is_a_factor_named_by_both_columns_unless_one_is_missing(settings):
    names, other = ["x", "y", "x", "y", "x", "x"] * 10, ["p", "q", "p", "q", "q", "p"] * 10
    roles = {"a": "category", "b": "category"}
    table = {"a": names, "b": names, "kind": other}
    rows = pa.table({"a": ["x", None, None], "b": ["y", "y", None]}, pa.schema({"a": pa.string(), "b": pa.string()}))
    model = deciban.train(table, target="kind", roles=roles, judge=False, **settings)
    dependence = [f"{child}, given {parent}" for child, parent in model.structure.items()]
    assert len(dependence) == ("structure" in settings)
    cells = {"a = x", "b = y", *(dependence or ["dependence of all columns"])}
    found = [{factor.what for factor in work.factors} for work in assert_predicted(model, rows)]
    assert found == [{"p(kind)"} | each for each in (cells, {"b = y"}, set())]


@pytest.mark.parametrize("structure", ["tan", "blocks"])
def test_columns_that_are_found_independent_have_no_factor_of_dependence(structure):
    rows = patients(seed=1)  # of some other seeds two columns seem to depend on each other, by chance
    model = deciban.train(rows, target="diagnosis", roles=ROLES, judge=False, structure=structure)
    naive = deciban.train(rows, target="diagnosis", roles=ROLES, judge=False, structure="naive")
    assert model.structure == {}
    for most in (1, 100):
        works = (arithmetic(each, patients(4, seed=5), most) for each in (model, naive))
        for work, alone in zip(*works):
            assert [factor.what for factor in work.factors] == [factor.what for factor in alone.factors]


def test_a_model_of_a_file_writes_the_same(tmp_path):
    model = deciban.train(patients(), target="diagnosis", roles=ROLES, judge=False)
    model.save(tmp_path / "m.deciban")
    rows = patients(3, seed=5)
    for one, other in zip(arithmetic(model, rows), arithmetic(deciban.load(tmp_path / "m.deciban"), rows)):
        assert one.to_dict() == other.to_dict()
