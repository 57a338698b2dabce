"""Joined columns: numbers as one Gaussian, flags and categories as combinations, through the whole model."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError, ModelFileError, SchemaError
from deciban.model.columns import Combinations, is_combination, join_levels, split_levels
from tests.tables import clinic
from tests.timing import assert_growth

BLOCKS = [["weight", "height"], ["hair", "eyes"]]


def people(n=300, seed=0, holes=True):
    """Two numbers and two categories that are not independent given the class, and two columns that are."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    z = rng.normal(size=(n, 2)) @ np.array([[6.0, 5.0], [0.0, 3.0]]) + np.stack([170 + 4 * y, 70 - 3 * y], axis=1)
    hair = np.array(["black", "R&D", "red\\"])[np.minimum(2, rng.integers(0, 2 + y, n))]
    eyes = np.where(rng.random(n) < 0.7, hair, rng.choice(["blue", "green"], n))
    table = pd.DataFrame(
        {
            "height": z[:, 0], "hair": hair, "age": rng.normal(40 + 2 * y, 9), "weight": z[:, 1], "eyes": eyes,
            "left": rng.random(n) < 0.2 + 0.2 * y, "group": np.array(["a", "b", "c"])[y],
        }
    )  # fmt: skip
    if holes:
        table.loc[::7, "height"] = np.nan
        table.loc[3::11, "weight"] = np.nan
        table.loc[::5, "eyes"] = None
    return table


@pytest.fixture(scope="module")
def model():
    return deciban.train(people(), target="group", blocks=BLOCKS, numbers="number", calibrate="none")


def posterior(model, rows):
    return np.asarray(model.predict_log_proba(rows))


def test_numbers_that_are_joined_are_a_gaussian_with_full_covariance():
    rows = people()
    columns = ["height", "weight"]
    mine = deciban.train(
        rows[[*columns, "group"]], target="group", blocks=[columns], parameter_prior=0.0, judge=False
    )
    bayes = deciban.GaussianBayes(covariance="full").fit(rows[columns], rows["group"])
    assert posterior(mine, rows) == pytest.approx(bayes.predict_log_proba(rows[columns]), abs=1e-9)
    assert np.asarray(mine.score_samples(rows)) == pytest.approx(bayes.score_samples(rows[columns]), abs=1e-9)


def test_numbers_with_other_columns_add_what_the_gaussian_states():
    rows = people(holes=False)
    given = {"target": "group", "numbers": "number", "prior": "uniform", "parameter_prior": 0.0, "judge": False}
    whole = deciban.train(rows, blocks=[["height", "weight"]], **given)
    rest = deciban.train(rows.drop(columns=["height", "weight"]), **given)
    bayes = deciban.GaussianBayes(priors=[1 / 3] * 3).fit(rows[["height", "weight"]], rows["group"])
    both = posterior(rest, rows) + bayes.predict_log_proba(rows[["height", "weight"]])
    assert posterior(whole, rows) == pytest.approx(both - np.logaddexp.reduce(both, axis=1, keepdims=True), abs=1e-9)


@pytest.mark.parametrize("piece", ["a", "a&", "\\\\", "\\\\&", " ", " & "])
def test_long_names_of_levels_are_split_in_linear_time(piece):
    names = {n: f"{piece * n}&" for n in (20_000, 160_000)}
    assert_growth(lambda n: is_combination(names[n], 2), 20_000, 160_000, most=16)


@pytest.mark.parametrize("unseen", ["ignore", "smooth"])
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_categories_that_are_joined_are_one_category_of_their_combinations(unseen, alpha):
    rows = people()
    rows["left"] = rows["left"].map({True: "yes", False: "no"})
    columns = ["hair", "eyes", "left"]
    options = {"target": "group", "unseen": unseen, "alpha": alpha}
    mine = deciban.train(rows[[*columns, "group"]], blocks=[columns], **options)
    whole = rows[columns].notna().all(axis=1)
    by_hand = pd.DataFrame({"all": rows["hair"] + "|" + rows["eyes"] + "|" + rows["left"], "group": rows["group"]})
    by_hand["all"] = by_hand["all"].where(whole, None)
    theirs = deciban.train(by_hand, roles={"all": "category"}, **options)
    asked, asked_by_hand = rows.copy(), by_hand.copy()
    asked.loc[1, columns], asked_by_hand.loc[1, "all"] = ["violet", "blue", "no"], "violet|blue|no"
    assert posterior(mine, asked) == pytest.approx(posterior(theirs, asked_by_hand), abs=1e-12)
    assert mine.n_parameters == theirs.n_parameters


def test_an_unseen_combination_of_seen_levels_is_unseen(model):
    rows = pd.DataFrame({"hair": ["a", "a", "b"], "eyes": ["u", "v", "u"], "y": ["k", "l", "l"]})
    joint = deciban.train(rows, target="y", blocks=[["hair", "eyes"]], unseen="error", judge=False)
    with pytest.raises(InputError, match=r"column 'eyes & hair' holds 'v' & 'b', which was never learned"):
        joint.predict(pd.DataFrame({"hair": ["b"], "eyes": ["v"]}))


def test_every_part_of_an_explanation_adds_up_to_the_odds(model):
    rows = people(40, seed=1)
    result = model.explain(rows, classes=("a", "b"))
    assert list(result.features) == ["height", "eyes & hair", "age", "weight", "left"]
    odds = posterior(model, rows)
    expected = (odds[:, 0] - odds[:, 1]) * 10 / np.log(10)
    assert result.total == pytest.approx(expected, abs=1e-9)
    parts = result.evidence.sum(axis=1) + result.prior + sum(result.extras.values())
    assert parts == pytest.approx(expected, abs=1e-9)
    assert set(result.extras) == {"shape"}
    missing = rows["eyes"].isna().to_numpy()
    assert (result.evidence[missing, 1] == 0).all()
    assert result.values[0, 1] is None
    assert result.values[1, 1] == f"{rows['eyes'][1]} & {rows['hair'][1]}"


def test_each_number_has_its_own_square_and_half_of_each_cross_term():
    rows = people(holes=False)
    columns = ["height", "weight"]
    mine = deciban.train(
        rows[[*columns, "group"]], target="group", blocks=[columns], parameter_prior=0.0, judge=False
    )
    bayes = deciban.GaussianBayes().fit(rows[columns], rows["group"])
    result, expected = (m.explain(rows[columns][:20], classes=("a", "c")) for m in (mine, bayes))
    assert result.evidence == pytest.approx(expected.evidence, abs=1e-9)
    assert result.extras["shape"] == pytest.approx(expected.extras["shape"], abs=1e-9)


def test_parts_added_up_are_the_whole_and_parts_taken_away_leave_the_rest(model):
    rows = people()
    first, second = (
        deciban.train(part, target="group", like=model, judge=False) for part in (rows[:170], rows[170:])
    )
    assert posterior(first + second, rows) == pytest.approx(posterior(model, rows), abs=1e-9)
    assert posterior(model - second, rows) == pytest.approx(posterior(first, rows), abs=1e-9)
    curves = deciban.train(rows[:170], target="group", like=model, judge=False).add(rows[170:])
    assert posterior(curves, rows) == pytest.approx(posterior(model, rows), abs=1e-9)
    assert posterior(curves.forget(rows[170:]), rows) == pytest.approx(posterior(first, rows), abs=1e-9)
    assert posterior(model * 2.0, rows).shape == (300, 3)


def test_tables_that_are_laid_out_otherwise_add_up(model):
    rows = people()
    turned = rows[["group", "eyes", "weight", "age", "left", "hair", "height"]]
    again = deciban.train(
        turned, target="group", blocks=[b[::-1] for b in BLOCKS[::-1]], numbers="number", judge=False
    )
    together = model + again
    given = {"target": "group", "blocks": BLOCKS, "numbers": "number"}
    twice = deciban.train(pd.concat([rows, rows]), judge=False, **given)
    assert posterior(together, rows) == pytest.approx(posterior(twice, rows), abs=1e-9)
    assert together.ledger.n_rows == 2 * model.ledger.n_rows


def test_models_that_join_other_columns_do_not_add(model):
    other = deciban.train(people(), target="group", blocks=BLOCKS[:1], numbers="number")
    with pytest.raises(
        SchemaError, match="join column 'hair' with different columns: eyes in one, none in the other"
    ):
        model + other


def test_a_file_gives_the_same_model(model, tmp_path):
    rows = people(50, seed=2)
    model.save(tmp_path / "m.deciban")
    read = deciban.load(tmp_path / "m.deciban")
    assert np.array_equal(posterior(read, rows), posterior(model, rows))
    assert [column.block for column in read.columns] == [column.block for column in model.columns]
    assert str(read.explain(rows)) == str(model.explain(rows))
    assert str(read.describe()) == str(model.describe())
    assert read.ledger == model.ledger
    assert np.array_equal(posterior(read.add(rows), rows), posterior(read, rows))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda columns: columns[0].update(block=["height", "age"]), "not joined with it"),
        (lambda columns: columns[0].update(block=["height"]), "not joined with it"),
        (lambda columns: columns[0].update(block="height"), "a list of names"),
        (lambda columns: [c.update(block=["weight", "height"]) for c in (columns[0], columns[3])], "not in order"),
        (lambda columns: [c.pop("block") for c in (columns[0], columns[3])], "not those that the ledger counts"),
        (lambda columns: columns[3].update(role="binned"), "of another kind"),
    ],
)
def test_a_file_in_which_columns_are_joined_wrongly_is_refused(model, tmp_path, change, words):
    from deciban import persistence as files

    model.save(tmp_path / "m")
    contents = files.read(tmp_path / "m")
    change(contents.header["columns"])
    files.write(tmp_path / "m", contents.header, contents.arrays)
    with pytest.raises(ModelFileError, match=words):
        deciban.load(tmp_path / "m")


def test_a_file_whose_combinations_are_none_is_refused(model, tmp_path):
    from deciban import persistence as files

    model.save(tmp_path / "m")
    contents = files.read(tmp_path / "m")
    (name,) = (name for name in contents.arrays if name.endswith("levels/utf8"))
    changed = np.frombuffer(contents.arrays[name].tobytes().replace(b" & ", b" - "), dtype=np.uint8)
    files.write(tmp_path / "m", contents.header, {**contents.arrays, name: changed})
    with pytest.raises(ModelFileError, match="not a combination of levels"):
        deciban.load(tmp_path / "m")


def test_folds_are_scored_by_models_without_them():
    rows = few()
    fold = np.empty(len(rows), dtype=int)
    for k, label in enumerate(rows["group"].unique()):  # the i-th row of the k-th class to appear: (i + k) mod 4
        own = np.flatnonzero(rows["group"] == label)
        fold[own] = (np.arange(len(own)) + k) % 4
    report = deciban.evaluate(rows, target="group", blocks=BLOCKS, numbers="number", folds=4, calibrate="none")
    assert report.log_loss == pytest.approx(refit(rows, fold), abs=1e-9)


def test_what_is_left_out_alone_is_what_is_refitted_without_it():
    rows = few()
    report = deciban.evaluate(rows, target="group", blocks=BLOCKS, numbers="number", folds="loo")
    assert report.log_loss == pytest.approx(refit(rows, np.arange(len(rows))), abs=1e-9)


def few():
    """Return rows without missing numbers: of few rows with missing values no covariance can be estimated."""
    rows = people(48, holes=False)
    rows.loc[::5, "eyes"] = None
    return rows


def refit(rows, fold):
    """The log-loss of each fold by a model that was trained without it."""
    result = []
    for f in np.unique(fold):
        learned = deciban.train(rows[fold != f], target="group", blocks=BLOCKS, numbers="number", judge=False)
        scores = posterior(learned, rows[fold == f])
        result += [row[learned.classes.index(label)] for row, label in zip(scores, rows["group"][fold == f])]
    return -np.mean(result)


def test_held_out_rows_are_scored_too(model):
    assert 0 < model.held_out.log_loss < 2


def test_rows_drawn_have_combinations_and_covariances_of_the_model(model):
    drawn_rows = model.sample(6000, random_state=0).to_pandas()
    assert list(drawn_rows.columns) == ["height", "hair", "age", "weight", "eyes", "left", "group"]
    known = people()
    seen = {tuple(pair) for pair in known[["hair", "eyes"]].dropna().to_numpy()}
    assert {tuple(pair) for pair in drawn_rows[["hair", "eyes"]].to_numpy()} <= seen
    a = drawn_rows[drawn_rows["group"] == "a"]
    complete = known[known["group"] == "a"][["height", "weight"]].dropna()
    assert a[["height", "weight"]].corr().iloc[0, 1] == pytest.approx(complete.corr().iloc[0, 1], abs=0.05)


def test_a_description_states_what_is_joined(model):
    result = model.describe()
    notes = {note.name: note for note in result.columns}
    assert notes["height"].reason == "joined with weight"
    assert notes["eyes"].reason == "joined with hair"
    assert notes["height"].rows == people()["height"].notna().sum()
    assert {s.feature for s in result.strongest} == {"height & weight", "eyes & hair", "age", "left"}
    assert str(result)


def test_the_estimator_is_the_same_model(model, tmp_path):
    rows = people()
    X, y = rows.drop(columns="group"), rows["group"]
    estimator = deciban.NaiveBayes(blocks=BLOCKS, numbers="number").fit(X, y)
    assert estimator.predict_log_proba(X) == pytest.approx(posterior(model, X), abs=1e-9)
    estimator.save(tmp_path / "m")
    read = deciban.load(tmp_path / "m")
    assert read.get_params()["blocks"] == BLOCKS
    assert np.array_equal(read.predict_proba(X), estimator.predict_proba(X))
    parts = [deciban.NaiveBayes(blocks=BLOCKS, numbers="number").fit(X[i::2], y[i::2]) for i in (0, 1)]
    assert (parts[0] + parts[1]).predict_proba(X) == pytest.approx(estimator.predict_proba(X), abs=1e-9)
    again = deciban.NaiveBayes(blocks=BLOCKS, numbers="number").partial_fit(X[:150], y[:150], classes=["a", "b", "c"])
    assert again.partial_fit(X[150:], y[150:]).predict_proba(X) == pytest.approx(estimator.predict_proba(X), abs=1e-9)
    with pytest.raises(SchemaError, match="join column 'height' with different columns"):
        estimator + deciban.NaiveBayes(numbers="number", roles={"hair": "category"}).fit(X, y)


def test_every_kind_of_source_gives_the_same_sums(tmp_path):
    table = clinic.patients()
    blocks = [["age", "dose"], ["smoker", "code"]]
    expected = deciban.train(table, target="diagnosis", blocks=blocks, judge=False).ledger
    for name in ("csv", "parquet", "pandas", "polars", "dictionaries", "batches"):
        source = clinic.SOURCES[name](table, tmp_path)
        assert deciban.train(source, target="diagnosis", blocks=blocks, judge=False).ledger == expected, name


def test_a_typed_table_is_read_as_the_text_file_that_was_learned(tmp_path):
    rows = pa.table({"a": [True, False, True, False] * 5, "b": [1, 1, 2, 3] * 5, "y": ["k", "l"] * 10})
    path = tmp_path / "t.csv"
    rows.to_pandas().to_csv(path, index=False)
    model = deciban.train(str(path), target="y", blocks=[["a", "b"]], roles={"a": "flag", "b": "category"})
    assert posterior(model, rows.to_pandas()) == pytest.approx(
        np.stack(model.predict_log_proba(str(path)).read_all().columns, axis=1)
    )


def test_more_combinations_than_are_distinguished_are_pooled():
    rng = np.random.default_rng(0)
    rows = {"a": rng.choice([*"abcdef"], 200), "b": rng.choice([*"uvwxyz"], 200), "y": rng.choice(["k", "l"], 200)}
    model = deciban.train(rows, target="y", blocks=[["a", "b"]], most_levels=5, judge=False)
    assert model.n_parameters == 2 * 5 + 1


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([["height"]], r"joins two columns or more, not height\."),
        ([[]], r"joins two columns or more, not none\."),
        (
            [["height", "heigth"]],
            "'heigth' is to be joined, and is not a column to learn from; did you mean 'height'",
        ),
        ([["height", "weight"], ["weight", "age"]], "'weight' is named twice"),
        ([["height", "hair"]], r"'height' \(number\) and 'hair' \(category\) are of different kinds"),
        ([["height", "group"]], "'group' is to be joined, and is not a column to learn from"),
        (["height", "weight"], "blocks are lists of columns' names"),
        ("height,weight", "blocks are lists of columns' names"),
        ([["height", 3.5]], "blocks are lists of columns' names"),
        (5, "blocks are lists of columns' names"),
        ([["height", 3]], "'3' is to be joined, and is not a column to learn from"),
    ],
)
def test_columns_that_cannot_be_joined_are_refused(blocks, words):
    with pytest.raises(InputError, match=words):
        deciban.train(people(), target="group", blocks=blocks)


@pytest.mark.parametrize("role", ["binned", "count"])
def test_a_number_that_was_asked_to_be_something_else_is_not_joined(role):
    rows = people(holes=False)
    with pytest.raises(InputError, match=f"'weight' is a {role}, and only numbers, or flags and categories"):
        deciban.train(rows, target="group", blocks=[["height", "weight"]], roles={"weight": role})


def test_a_column_that_is_left_out_is_not_joined():
    rows = people().assign(same="x")
    with pytest.raises(InputError, match=r"'same' is left out \(always the same value\)"):
        deciban.train(rows, target="group", blocks=[["hair", "same"]])


def test_like_takes_the_blocks_of_the_other_model(model):
    with pytest.raises(InputError, match="with like= the roles are those of the other model"):
        deciban.train(people(), target="group", like=model, blocks=BLOCKS)


def test_a_column_named_as_the_columns_that_are_joined_is_refused():
    rows = people().rename(columns={"age": "eyes & hair"})
    with pytest.raises(InputError, match="'eyes & hair' names both a column and columns that are joined"):
        deciban.train(rows, target="group", blocks=[["hair", "eyes"]])


@pytest.mark.parametrize("levels", [["a", "b"], ["R&B", "x\\"], ["", " & "], ["\\& ", " "], ["a & b", "\\\\", "&"]])
def test_a_combination_can_be_split(levels):
    name = join_levels(levels)
    assert split_levels(name) == levels
    assert is_combination(name, len(levels))
    assert not is_combination(name, len(levels) + 1)


def test_codes_of_combinations_come_in_order_of_appearance():
    names = Combinations(["a", "b"], grows=True)
    a, b = pa.array(["x", "y", "x", None, "y"]), pa.array(["u", "u", "v", "u", "u"])
    assert names.encode([a, b]).tolist() == [0, 1, 2, -1, 1]
    assert names.list == ["x & u", "y & u", "x & v"]
    fixed = Combinations(["a", "b"], names.list)
    assert fixed.encode([pa.array(["y", "y", "z"]), pa.array(["u", "v", "u"])]).tolist() == [1, 3, 3]
    assert len(fixed) == 3
