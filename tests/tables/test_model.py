"""A table model learns, predicts, explains, adds and subtracts."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

import deciban
from deciban.errors import DecibanWarning, ForgetError, InputError, SchemaError
from deciban.model.summarise_table import describe_empty_table
from tests.tables import clinic
from tests.tables.stratified_folds import stratified

TABLE = clinic.patients()
SETTINGS = {"target": "diagnosis", "calibrate": "none", "numbers": "number", "roles": {"visits": "count"}}


@pytest.fixture
def model():
    return deciban.train(TABLE, **SETTINGS)


def by_hand(frame, row, label, shares, alpha=1.0, prior_rows=1.0):
    """ln π_k + Σ_j ln p(x_j|k), each family by its formula, missing cells left out; `shares` are those of levels."""
    frame = frame[frame.diagnosis.notna()]
    mine = frame[frame.diagnosis == label]
    score = np.log(len(mine) / len(frame))
    for name in ("age", "dose"):
        if not pd.isna(row[name]):
            groups = [frame[frame.diagnosis == k][name].dropna() for k in ("ill", "well")]
            pooled = sum(((g - g.mean()) ** 2).sum() for g in groups) / sum(map(len, groups))
            x = mine[name].dropna()
            variance = (prior_rows * pooled + ((x - x.mean()) ** 2).sum()) / (prior_rows + len(x))
            column = pd.concat(groups)
            tail = np.log(1e-4 / np.sqrt(2 * np.pi) / column.std(ddof=0))
            score += max(stats.norm.logpdf(row[name], x.mean(), np.sqrt(variance)), tail)
    if not pd.isna(row.visits):
        rate = (mine.visits.sum() + alpha * frame.visits.mean()) / (mine.visits.notna().sum() + alpha)
        best = stats.poisson.logpmf(row.visits, row.visits) if row.visits else 0.0
        score += max(stats.poisson.logpmf(row.visits, rate), best + np.log(1e-4))
    month, weekday = pd.to_datetime(frame.admitted).dt.month, pd.to_datetime(frame.admitted).dt.day_of_week
    levels = {"smoker": frame.smoker, "code": frame.code, "month": month, "weekday": weekday}
    when = pd.to_datetime(row.admitted)
    values = {"smoker": row.smoker, "code": row.code, "month": when.month, "weekday": when.weekday()}
    for name, cells in levels.items():
        if not pd.isna(values[name]):
            score += np.log(shares(pd.crosstab(frame.diagnosis, cells)).loc[label, values[name]])
    return score


def laplace_shares(counts):
    """(n + 1)/(N + V)."""
    return (counts + 1).div(counts.sum(axis=1) + counts.shape[1], axis=0)


def shrunk_shares(counts):
    """(n + 2π + mp)/(N + 2πV + m): of two classes, m where the marginal likelihood has its maximum."""
    n = counts.to_numpy()
    rows = n.sum(axis=1, keepdims=True)
    pi, V = rows / rows.sum(), n.shape[1]
    p = (n.sum(axis=0) + 2) / (rows.sum() + 2 * V)

    def slope(log_m):
        m = np.exp(log_m)
        levels = (p * (special.digamma(n + m * p) - special.digamma(m * p))).sum(axis=1, keepdims=True)
        return ((1 - pi) * (levels - special.digamma(rows + m) + special.digamma(m))).sum()

    low, high = np.log(1e-2), np.log(1e6)
    m = np.exp(optimize.brentq(slope, low, high, xtol=1e-12) if slope(high) < 0 else high)
    return (counts + 2 * pi + m * p) / (rows + 2 * pi * V + m)


@pytest.mark.parametrize(("alpha", "shares"), [(1.0, laplace_shares), ("auto", shrunk_shares)])
def test_the_posterior_is_bayes_theorem_by_hand(alpha, shares):
    frame = TABLE.to_pandas()
    proba = deciban.train(TABLE, **SETTINGS, alpha=alpha).predict_proba(frame)
    for i in range(0, 60, 3):
        joint = np.array([by_hand(frame, frame.iloc[i], k, shares) for k in ("ill", "well")])
        expected = np.exp(joint - np.logaddexp.reduce(joint))
        np.testing.assert_allclose(proba.iloc[i], expected, rtol=1e-9 if alpha == 1.0 else 1e-7)


def test_rows_without_a_class_are_counted_and_left_out(model):
    gone = TABLE.column("diagnosis").null_count
    assert gone > 0
    assert model.origin.rows_read == clinic.N
    assert model.origin.rows_without_class == gone
    assert model.ledger.n_rows == clinic.N - gone


def test_the_explanation_adds_up_to_the_posterior_odds(model):
    result = model.explain(TABLE, rows=20)
    proba = np.column_stack(model.predict_proba(TABLE.slice(0, 20)).columns)
    odds = 10 * np.log10(proba.max(axis=1) / proba.min(axis=1))
    np.testing.assert_allclose(result.total, odds, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([sum(v for _, v in result.entries(i)) for i in range(20)], odds, rtol=1e-9, atol=1e-9)
    assert list(result.features) == ["age", "dose", "visits", "smoker", "code", "admitted.month", "admitted.weekday"]
    known = next(i for i in range(20) if TABLE["age"][i].as_py() is not None)
    assert f"age = {TABLE['age'][known].as_py():g}" in result.text(known, most=20)


def test_any_split_added_up_is_the_model_of_all_rows(model):
    parts = [
        deciban.train(TABLE.slice(a, b), like=model, target="diagnosis") for a, b in ((0, 50), (50, 170), (220, 80))
    ]
    together = parts[2] + parts[0] + parts[1]
    assert_same(together.ledger, model.ledger)
    assert_same((together - parts[0]).ledger, (parts[1] + parts[2]).ledger)
    assert_same((model * 2).ledger, (model + model).ledger)
    fewer = deciban.train(TABLE.slice(0, 200), like=model, target="diagnosis")
    assert_same(fewer.add(TABLE.slice(200)).ledger, model.ledger)


def test_forgetting_rows_gives_the_model_that_never_saw_them():
    rare = TABLE.slice(0, 40).to_pandas()
    rare["code"] = "never seen elsewhere"
    never = deciban.train(TABLE, **SETTINGS)
    model = deciban.train(TABLE, **SETTINGS).add(rare)
    assert "never seen elsewhere" in str(model.ledger.schema)
    assert_same(model.forget(rare).ledger, never.ledger)


def assert_same(a, b):
    assert a.schema == b.schema
    for x, y in zip(a.parts, b.parts):
        for name, array in x.arrays().items():
            np.testing.assert_allclose(array, y.arrays()[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_forgetting_what_was_never_learned_changes_nothing(model):
    before = model.ledger
    unusual = TABLE.to_pandas().assign(code="zz")
    with pytest.raises(ForgetError, match="cannot forget"):
        model.forget(unusual)
    assert model.ledger is before


def test_models_with_different_roles_are_not_added_and_the_way_out_works(model):
    other = deciban.train(TABLE, target="diagnosis", roles={"visits": "category"}, numbers="number")
    with pytest.raises(SchemaError, match=r"column 'visits': count in one, category in the other.*--like"):
        model + other
    alike = deciban.train(TABLE, target="diagnosis", like=model)
    assert (model + alike).ledger.n_rows == 2 * model.ledger.n_rows
    with pytest.raises(SchemaError, match="alpha: 'auto' and 2\\.0"):
        model + deciban.train(TABLE, **SETTINGS, alpha=2.0)
    with pytest.raises(SchemaError, match="different targets"):
        model + deciban.train(TABLE, target="smoker")


def test_other_priors_move_the_posterior_and_nothing_else(model):
    rare = model.with_priors({"ill": 0.01, "well": 0.99})
    frame = TABLE.to_pandas()
    odds, rarer = (np.log(m.predict_proba(frame).ill / m.predict_proba(frame).well) for m in (model, rare))
    shift = np.log(0.01 / 0.99) - np.log(model.priors["ill"] / model.priors["well"])
    np.testing.assert_allclose(rarer - odds, shift, rtol=1e-6)
    for given, words in (({"ill": 1.0}, "no prior is given"), ({"ill": 0.5, "well": 0.6}, "add up to 1")):
        with pytest.raises(InputError, match=words):
            model.with_priors(given)


def test_weights_count_rows_more_than_once():
    weights = np.random.default_rng(0).integers(0, 3, clinic.N)
    weighted = deciban.train(TABLE.append_column("w", [weights]), weights="w", **SETTINGS)
    rows = np.repeat(np.arange(clinic.N), weights)
    repeated = deciban.train(TABLE.take(rows), target="diagnosis", like=weighted)
    assert_same(weighted.ledger, repeated.ledger)


def test_the_held_out_quality_is_that_of_ten_separate_trainings(model):
    table = TABLE.filter(TABLE["diagnosis"].is_valid())
    whole = deciban.train(table, **SETTINGS)
    losses, hits = [], 0
    for fold in range(10):
        mine = stratified(table["diagnosis"].to_pylist(), 10) == fold
        part = deciban.train(table.filter(~mine), like=whole, target="diagnosis", judge=False)
        proba = part.predict_proba(table.filter(mine)).to_pandas()
        truth = table.filter(mine)["diagnosis"].to_pylist()
        losses += [-np.log(proba.loc[i, label]) for i, label in enumerate(truth)]
        hits += sum(proba.loc[i].idxmax() == label for i, label in enumerate(truth))
    report = deciban.evaluate(table, **SETTINGS)
    for scored in (whole.held_out, report):
        assert scored.rows == table.num_rows
        np.testing.assert_allclose(scored.log_loss, np.mean(losses), rtol=1e-9)
        assert scored.accuracy == pytest.approx(hits / table.num_rows)


def test_a_sample_of_the_rows_is_scored_where_there_are_many(monkeypatch):
    from deciban.training import table_rows as reservoir

    monkeypatch.setattr(reservoir, "MAX_SAMPLE_ROWS", 100)
    model = deciban.train(TABLE, **SETTINGS)
    assert model.held_out.rows <= 100
    assert "drawn at random" in model.held_out.measured


def test_many_classes_give_up_the_folds_and_nothing_else(monkeypatch):
    from deciban.model import summarise_table as gathering

    kept = deciban.train(TABLE, **SETTINGS)
    monkeypatch.setattr(gathering, "MAX_FOLD_CELLS", 10)
    model = deciban.train(TABLE, **SETTINGS)
    assert model.held_out is None
    assert_same(model.ledger, kept.ledger)
    with pytest.raises(InputError, match="too much memory"):
        deciban.evaluate(TABLE, **SETTINGS)


def test_columns_may_be_reordered_or_superfluous_but_not_absent(model):
    expected = model.predict(TABLE).to_pylist()
    turned = TABLE.select(TABLE.column_names[::-1]).append_column("more", [np.arange(clinic.N)])
    assert model.predict(turned).to_pylist() == expected
    with pytest.raises(InputError, match=r"no column 'smoker'.*allow-missing-columns"):
        model.predict(TABLE.drop(["smoker"]))
    blank = TABLE.drop(["smoker"]).append_column("smoker", [[None] * clinic.N])
    result = model.predict_proba(TABLE.drop(["smoker"]), allow_missing_columns=True)
    assert result.equals(
        model.predict_proba(blank.cast(blank.schema.set(blank.num_columns - 1, TABLE.schema.field("smoker"))))
    )


def test_a_column_that_means_something_else_is_noticed(model):
    other = TABLE.to_pandas().assign(smoker="oui")
    with pytest.warns(DecibanWarning, match="not one of the 300 values in column 'smoker'"):
        model.predict(other)
    with pytest.raises(InputError, match=r"'age' of the table holds 'old' in row 1"):
        model.predict(TABLE.to_pandas().assign(age="old"))


def test_infinite_and_negative_values_are_named():
    frame = TABLE.to_pandas()
    frame.loc[17, "dose"] = np.inf
    with pytest.raises(InputError, match=r"'dose' holds inf in row 18.*not finite"):
        deciban.train(frame, **SETTINGS)
    frame = TABLE.to_pandas()
    frame.loc[3, "visits"] = -2
    with pytest.raises(
        InputError, match=r"'visits' holds -2 in row 4; a count is never negative. Hint: --as visits=number"
    ):
        deciban.train(frame, **SETTINGS)
    model = deciban.train(TABLE, **SETTINGS)
    with pytest.raises(InputError, match="'visits' holds -2, which is negative"):
        model.predict(frame)


def test_rare_levels_are_one_level_beyond_the_most_that_are_distinguished():
    rng = np.random.default_rng(0)
    levels = np.where(rng.random(500) < 0.5, "common", [f"rare{i % 100}" for i in range(500)])
    table = {"level": levels, "y": np.where(rng.random(500) < 0.5, "a", "b")}
    model = deciban.train(table, target="y", most_levels=1, roles={"level": "category"}, calibrate="none", alpha=1.0)
    proba = model.predict_proba({"level": np.array(["rare1", "rare2", "common"])})
    np.testing.assert_array_equal(proba[0], proba[1])
    assert not np.array_equal(proba[0], proba[2])
    share = {k: ((levels == "common") & (table["y"] == k)).sum() + 1 for k in "ab"}
    rows = {k: (table["y"] == k).sum() + 2 for k in "ab"}
    joint = np.array([share[k] / rows[k] * (rows[k] - 2) / 500 for k in "ab"])
    np.testing.assert_allclose(proba[2], joint / joint.sum(), rtol=1e-12)


def test_rows_drawn_from_the_model_can_be_learned_from_and_give_it_back(model):
    drawn_rows = model.sample(4000, random_state=0)
    used = [column.name for column in model.columns if column.role != "skip"]
    assert drawn_rows.column_names == [*used, "diagnosis"]
    roles = {c.name: c.role for c in model.columns if c.name in used}
    again = deciban.train(drawn_rows, target="diagnosis", roles=roles, calibrate="none")
    for label in ("ill", "well"):
        assert again.priors[label] == pytest.approx(model.priors[label], abs=0.03)
    for mine, theirs in zip(model.ledger.parts, again.ledger.parts):
        if hasattr(mine, "mean"):
            np.testing.assert_allclose(theirs.mean, mine.mean, rtol=0.1)
    proba, expected = (np.column_stack(m.predict_proba(TABLE).columns) for m in (again, model))
    assert np.abs(proba - expected).mean() < 0.06


def test_a_saved_model_answers_alike_and_goes_on_learning(model, tmp_path):
    model.save(tmp_path / "m.deciban")
    back = deciban.load(tmp_path / "m.deciban")
    assert back.predict_proba(TABLE).equals(model.predict_proba(TABLE))
    assert back.ledger == model.ledger
    assert back.columns == model.columns
    assert back.quality["accuracy"] == model.held_out.accuracy
    assert_same(back.add(TABLE).ledger, (model * 2).ledger)


def test_a_binned_model_is_saved_too(tmp_path):
    model = deciban.train(TABLE, target="diagnosis", numbers="binned")
    model.save(tmp_path / "m.deciban")
    assert deciban.load(tmp_path / "m.deciban", verify=True).predict_proba(TABLE).equals(model.predict_proba(TABLE))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"x": [], "y": []}, "no rows"),
        ({"x": [1.0], "y": ["a"]}, "one class only, 'a', in its only row; "),
        ({"x": [1.0, 2.0], "y": [None, None]}, "none of the 2 rows"),
        ({"x": list(range(100)), "y": [f"n{i}" for i in range(100)]}, "names no classes"),
        ({"x": [1.0, 2.0]}, "no column 'y' for the target"),
        ({"x": [1.0, 2.0], "Y": ["a", "b"]}, "did you mean 'Y'"),
    ],
)
def test_a_table_that_teaches_nothing_is_refused(table, words):
    with pytest.raises(InputError, match=words):
        deciban.train({name: np.array(cells) for name, cells in table.items()}, target="y", roles={"x": "number"})


def test_classes_may_be_named_beforehand():
    table = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array(["a", "a", "b"])}
    model = deciban.train(table, target="y", classes=["a", "b", "c"], prior="smoothed")
    assert model.classes == ["a", "b", "c"]
    assert model.priors["c"] == pytest.approx(1 / 6)
    with pytest.raises(InputError, match=r"holds 'b' in row 3, which is none of the classes"):
        deciban.train(table, target="y", classes=["a", "c"])


def test_rows_of_a_month_that_was_never_learned_are_added():
    rows = clinic.patients()
    early = rows.filter([str(cell) < "2024-03" for cell in rows.column("admitted").to_pylist()])
    model = deciban.train(early, target="diagnosis", roles={"admitted": "date:month", "age": "number"}, judge=False)
    model.add(rows)
    assert model.ledger.n_rows > early.num_rows
    assert "12" in model._scorer.level_names[[f.name for f in model._layout.levels].index("admitted.month")]


def test_large_whole_numbers_are_explained_in_full():
    rows = {"x": [2_000_000.0 + i % 7 + 9 * (i % 2) for i in range(40)], "y": ["a", "b"] * 20}
    model = deciban.train(rows, target="y", roles={"x": "number"}, judge=False)
    assert "x = 2000003" in model.explain({"x": [2_000_003.0]}).text()


def test_a_table_of_one_row_without_a_class_is_in_the_singular():
    assert describe_empty_table(1, 1, "y", None).startswith("the only row has no value in 'y'")
