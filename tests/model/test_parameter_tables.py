"""Model.table: the parameters of every kind of column, compared with counts of the rows themselves."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError, UndefinedError
from deciban.formatting import format_decimal, format_quotient
from deciban.model.parameter_tables import PriorParameters
from tests.tables.clinic import patients
from tests.tables.reviews import reviews

ROLES = {"age": "number", "dose": "binned", "visits": "count", "smoker": "flag", "code": "category"}


@pytest.fixture(scope="module")
def clinic():
    return patients().filter(pa.compute.is_valid(patients()["diagnosis"]))


@pytest.fixture(scope="module")
def model(clinic):
    return deciban.train(clinic, target="diagnosis", roles=ROLES, judge=False, alpha=1.0)


def own(clinic, column, label):
    frame = clinic.to_pandas()
    return frame.loc[frame.diagnosis == label, column].dropna()


def test_a_number_has_its_mean_and_both_variances(model, clinic):
    frame = model.table("age").to_frame()
    assert list(frame.columns) == ["feature", "class", "count", "mean", "variance_ml", "variance"]
    for _, row in frame.iterrows():
        ages = own(clinic, "age", row["class"])
        assert row["count"] == len(ages)
        assert row["mean"] == pytest.approx(ages.mean(), rel=1e-12)
        assert row["variance_ml"] == pytest.approx(ages.var(ddof=0), rel=1e-12)
        assert row["variance"] != row["variance_ml"]
    form = model._naive.solved.forms[0]
    np.testing.assert_array_equal(frame["variance"], form.variance[:, 0])


def test_a_count_has_its_rates(model, clinic):
    frame = model.table("visits").to_frame()
    mean = clinic.to_pandas().visits.mean()
    for _, row in frame.iterrows():
        visits = own(clinic, "visits", row["class"])
        assert (row["count"], row["sum"]) == (len(visits), visits.sum())
        assert row["rate_ml"] == pytest.approx(visits.mean(), rel=1e-12)
        assert row["rate"] == pytest.approx((visits.sum() + mean) / (len(visits) + 1), rel=1e-12)


@pytest.mark.parametrize("column", ["smoker", "code"])
def test_levels_have_counts_and_both_shares(model, clinic, column):
    frame = model.table(column).to_frame()
    V = clinic.to_pandas()[column].nunique()
    for _, row in frame.iterrows():
        values = own(clinic, column, row["class"])
        n, N = (values == row["value"]).sum(), len(values)
        assert (row["count"], row["total"]) == (n, N)
        assert (row["theta_ml"], row["theta"]) == pytest.approx((n / N, (n + 1) / (N + V)), rel=1e-12)
    assert frame.groupby("class").theta.sum().tolist() == pytest.approx([1, 1])


def test_bins_count_every_number_once(model, clinic):
    frame = model.table("dose").to_frame()
    assert frame.groupby("class")["count"].sum().tolist() == [len(own(clinic, "dose", c)) for c in ("ill", "well")]
    assert frame["value"].iloc[0].startswith("below ")
    assert frame.groupby("class").theta.sum().tolist() == pytest.approx([1, 1])


def test_a_date_has_a_table_for_each_part(model):
    frame = model.table("admitted").to_frame()
    assert sorted(set(frame.feature)) == ["admitted.month", "admitted.weekday"]
    assert set(model.table("admitted.month").to_frame().value) == {f"{m:02}" for m in range(1, 13)}
    assert "admitted.weekday: counts n" in str(model.table("admitted"))


def test_joined_columns():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 400)
    x = rng.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]] + 2 * y[:, None]
    data = {"a": x[:, 0], "b": x[:, 1], "c": np.where(y, "u", "v"), "d": rng.choice(["p", "q"], 400), "y": y}
    model = deciban.train(data, target="y", blocks=[["a", "b"], ["c", "d"]], roles={"d": "category"}, judge=False)
    frame = model.table("a").to_frame()
    for label in (0, 1):
        mine = frame[frame["class"] == label]
        np.testing.assert_allclose(mine["mean"], x[y == label].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(mine["covariance_ml"], np.cov(x[y == label].T, ddof=0)[0], rtol=1e-10)
    assert set(model.table("c").to_frame().value) == {"u & p", "u & q", "v & p", "v & q"}
    assert "covariance with a" in str(model.table("a"))


def test_words_of_a_text():
    table = reviews()
    model = deciban.train(table, target="verdict", roles={"text": "text"}, judge=False)
    frame = model.table("text").to_frame()
    for label, mine in frame.groupby("class"):
        N = mine["count"].sum()
        assert mine["total"].tolist() == [N] * len(mine)
        assert mine["theta"].tolist() == pytest.approx(((mine["count"] + 1) / (N + len(mine))).tolist(), rel=1e-12)
        assert mine["theta"].sum() == pytest.approx(1), label
    few = model.table("text", most=3)
    assert len(few.to_frame()) == 3 * len(model.classes)
    assert f"… and {frame.value.nunique() - 3} more" in str(few)


@pytest.mark.parametrize("prior", ["empirical", "uniform", {"ill": 0.1, "well": 0.9}])
def test_the_target_has_the_prior(clinic, prior):
    model = deciban.train(clinic, target="diagnosis", roles=ROLES, judge=False, prior=prior)
    frame = model.table("diagnosis").to_frame()
    assert frame["prior"].tolist() == list(model.priors.values())
    assert frame["count"].sum() == clinic.num_rows


def test_an_unseen_value_has_its_pseudo_count(clinic):
    model = deciban.train(clinic, target="diagnosis", roles=ROLES, judge=False, unseen="smooth", alpha=1.0)
    frame = model.table("smoker").to_frame()
    last = frame[frame.value == "a value never seen"]
    assert last.theta.tolist() == pytest.approx((1 / (last.total + 3)).tolist())
    assert frame.groupby("class").theta.sum().tolist() == pytest.approx([1, 1])


def test_a_class_without_rows_takes_the_shares_of_all():
    data = {"x": ["a", "b", "a", None], "y": ["p", "p", "p", "q"]}
    model = deciban.train(data, target="y", roles={"x": "category"}, alpha=0, judge=False)
    printed = str(model.table("x"))
    assert "0/0 = –" in printed
    assert model.table("x").to_frame()["theta"].tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3])


def test_fitted_learners_show_the_estimates_of_naive_bayes(clinic, model):
    fitted = deciban.train(clinic, target="diagnosis", roles=ROLES, judge=False, learner="logistic", C=1.0, alpha=1.0)
    assert fitted.table("code").to_frame().equals(model.table("code").to_frame())
    assert "logistic regression" in str(fitted.table("code"))


def test_a_table_from_a_file_is_the_same(model, tmp_path):
    model.save(tmp_path / "m.deciban")
    read = deciban.load(tmp_path / "m.deciban")
    for column in [*model.roles, "diagnosis"]:
        if model.roles.get(column) != "skip":
            assert str(read.table(column)) == str(model.table(column))


@pytest.mark.parametrize(
    ("column", "error", "says"),
    [
        ("agee", InputError, "did you mean 'age'"),
        ("patient", UndefinedError, "is skipped"),
        (3, InputError, "no column '3'"),
    ],
)
def test_other_columns_are_refused(model, column, error, says):
    with pytest.raises(error, match=says):
        model.table(column)


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "3"])
def test_most_is_a_number_of_values(model, most):
    with pytest.raises(InputError, match="most must be a whole number"):
        model.table("age", most=most)


def test_hashed_words_have_no_names():
    model = deciban.train(reviews(), target="verdict", roles={"text": "text"}, judge=False, words={"hashed": 8})
    with pytest.raises(UndefinedError, match="hashed"):
        model.table("text")


def test_the_estimator_of_tables_has_tables_too(clinic, model):
    X = clinic.drop_columns(["diagnosis"])
    estimator = deciban.NaiveBayes(roles=ROLES).fit(X, clinic["diagnosis"].to_numpy())
    assert estimator.table("age").to_frame().equals(model.table("age").to_frame())


def test_printing_is_the_representation_and_json_has_every_row(model):
    table = model.table("code", most=2)
    assert repr(table) == str(table)
    assert len(table.to_dict()["rows"]) == 2 * 2
    assert table.to_dict()["alpha"] == {"code": 1.0}


def test_months_and_weekdays_are_complete_and_in_order():
    days = [datetime.date(2024, 12, 31) - datetime.timedelta(days=37 * i) for i in range(60)]
    table = pa.table({"seen": days, "y": ["ab"[i % 2] for i in range(60)]})
    month, weekday = deciban.train(table, target="y", judge=False).table("seen").features
    assert [*month.values] == [f"{m:02}" for m in range(1, 13)]
    assert [*weekday.values] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def test_a_small_prior_is_not_taken_for_the_share_of_the_rows():
    n, prior = np.array([[1.0], [1e9]]), np.array([[5e-9], [1 - 5e-9]])
    total = np.full((2, 1), 1e9 + 1)
    figures = {"count": n, "total": total, "prior_ml": n / total, "prior": prior}
    assert PriorParameters("y", [""], figures).write_quotient(0) == format_decimal(5e-9)
    same = PriorParameters("y", [""], {**figures, "prior": n / total})
    assert same.write_quotient(0) == format_quotient(1.0, 1e9 + 1)
