"""`structure`: columns that depend on each other in `train`, `evaluate`, model files and explanations."""

import json
import operator
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deciban
from deciban.errors import DecibanWarning, InputError, SchemaError, UndefinedError
from deciban.model.columns import Column
from deciban.training.structure import _find_cells
from tests.cli.terminal import call, done

TARGET = "kind"


def echoes(n=600, seed=0):
    """The sign of a × b is the class, which neither column says alone; c is noise; d repeats a number."""
    rng = np.random.default_rng(seed)
    a, b = rng.choice(["x", "y"], n), rng.choice(["x", "y"], n)
    kind = np.where((a == b) ^ (rng.random(n) < 0.1), "same", "different")
    number = rng.normal(np.where(kind == "same", 0.4, -0.4), 1.0)
    frame = pd.DataFrame({"a": a, "b": b, "c": rng.choice(["p", "q", "r"], n), "x": number, "z": number**3})
    frame.loc[rng.random(n) < 0.05, "x"] = np.nan
    frame.loc[rng.random(n) < 0.05, "a"] = None
    return frame.assign(kind=kind)


@pytest.fixture(scope="module")
def model():
    return deciban.train(echoes(), target=TARGET)


def posterior(model, rows):
    return np.asarray(model.predict_proba(rows))


def test_dependence_is_found_where_held_out_rows_gain(model):
    naive = deciban.train(echoes(), target=TARGET, structure="naive")
    assert naive.structure == {}
    assert {frozenset(edge) for edge in model.structure.items()} >= {frozenset("ab"), frozenset("xz")}
    assert model.held_out.accuracy > naive.held_out.accuracy + 0.2
    assert model.held_out.log_loss < naive.held_out.log_loss - 0.2


def test_a_difference_in_dependence_is_shown(model, tmp_path):
    naive = deciban.train(echoes(), target=TARGET, structure="naive")
    for name, each in (("tree", model), ("naive", naive)):
        each.save(tmp_path / f"{name}.deciban")
    out = done("diff", tmp_path / "tree.deciban", tmp_path / "naive.deciban").stdout
    assert "Dependence" in out
    assert all(name in out for name in model.structure)


def test_blocks_join_columns_in_pairs(tmp_path):
    rows = echoes().assign(w=echoes()["x"] ** 5)  # x, z and w depend on each other, and two of them can be joined
    blocks = deciban.train(rows, target=TARGET, structure="blocks")
    joined = [name for edge in blocks.structure.items() for name in edge]
    assert len(joined) == len(set(joined))
    assert frozenset("ab") in {frozenset(edge) for edge in blocks.structure.items()}
    assert blocks.learner == "bayes"
    assert len(deciban.train(rows, target=TARGET, structure="tan").structure) > len(blocks.structure)
    report = deciban.evaluate(rows, target=TARGET, structure="blocks")
    assert report.accuracy == pytest.approx(blocks.held_out.accuracy)
    blocks.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    assert loaded.structure == blocks.structure
    assert (posterior(loaded, rows) == posterior(blocks, rows)).all()
    again = deciban.train(rows, target=TARGET, like=loaded, judge=False)
    assert again.structure == blocks.structure
    halves = [deciban.train(rows[i::2], target=TARGET, like=loaded, judge=False) for i in (0, 1)]
    np.testing.assert_allclose(posterior(halves[0] + halves[1], rows), posterior(again, rows), rtol=1e-9)


def test_a_model_like_another_has_its_pairs_unless_others_are_asked_for():
    rows, given = echoes(), {"target": TARGET, "judge": False}
    naive, blocks = (deciban.train(rows, structure=name, **given) for name in ("naive", "blocks"))
    tree = deciban.train(rows, like=blocks, structure="tan", **given)
    assert tree.options.dependence == "forest"
    assert deciban.train(rows, like=blocks, **given).options.dependence == "pairs"
    other = deciban.train(rows, like=blocks, structure="naive", **given)
    assert other.structure == {}
    assert (naive + other).ledger.n_rows == 2 * len(rows)
    for structure in ("tan", "blocks"):
        with pytest.raises(InputError, match=rf"structure='{structure}' needs counts of pairs .* of like= has none"):
            deciban.train(rows, like=naive, structure=structure, **given)
    with pytest.raises(SchemaError, match=r"differ in dependence: structure='blocks' and structure='tan'"):
        blocks + tree
    with pytest.raises(SchemaError, match=r"differ in dependence: independent columns and structure='blocks'"):
        naive + blocks


def test_blocks_are_for_naive_bayes():
    with pytest.raises(InputError, match=r"structure='blocks' is for naive Bayes, not for learner='logistic'"):
        deciban.train(echoes(), target=TARGET, structure="blocks", learner="logistic")


def test_independent_columns_stay_independent():
    rng = np.random.default_rng(0)
    kind = rng.choice(["p", "q"], 500)
    table = {f"x{j}": rng.normal(kind == "p", 1.0) for j in range(5)}
    assert deciban.train({**table, TARGET: kind}, target=TARGET).structure == {}


def test_evaluation_is_that_of_separate_trainings(model):
    rows, given = echoes(), {"target": TARGET, "structure": "tan", "roles": {"x": "number", "z": "binned"}}
    cells = deciban.train(rows, **given)
    report = deciban.evaluate(rows, calibrate="none", folds=5, **given)
    for fold in range(5):
        mine = report.folds == fold
        part = deciban.train(rows[~mine], target=TARGET, like=cells, judge=False)
        found = np.asarray(part.predict_log_proba(rows[mine]))
        np.testing.assert_allclose(report.log_proba[mine], found, rtol=1e-9, atol=1e-9)
    assert deciban.evaluate(rows, target=TARGET).accuracy == pytest.approx(model.held_out.accuracy)


def test_explanations_add_up_and_name_both_values(model):
    rows = echoes(60, seed=1)
    explanation, proba = model.explain(rows), posterior(model, rows)
    odds = 10 * np.log10(proba.max(axis=1) / proba.min(axis=1))
    np.testing.assert_allclose(explanation.total, odds, rtol=1e-9, atol=1e-9)
    sums = [sum(value for _, value in explanation.entries(i)) for i in range(len(rows))]
    np.testing.assert_allclose(sums, odds, rtol=1e-9, atol=1e-9)
    child, parent = next((c, p) for c, p in model.structure.items() if {c, p} == {"a", "b"})
    row = int(np.flatnonzero(rows["a"].notna())[0])
    assert f"{child} = {rows[child][row]}, given {parent} = {rows[parent][row]}" in str(explanation[row])
    gone = int(np.flatnonzero(rows["a"].isna())[0])
    assert "given b" not in str(explanation[gone])


def test_a_file_keeps_the_structure(model, tmp_path):
    rows = echoes(50, seed=2)
    model.save(tmp_path / "m.deciban")
    back = deciban.load(tmp_path / "m.deciban")
    assert back.structure == model.structure
    assert (posterior(back, rows) == posterior(model, rows)).all()
    more = deciban.train(rows, target=TARGET, like=model, judge=False)
    np.testing.assert_allclose(posterior(back.add(rows), rows), posterior(model + more, rows), rtol=1e-9)


def test_parts_add_and_subtract_exactly(model):
    rows = echoes()
    first, second = (deciban.train(r, target=TARGET, like=model, judge=False) for r in (rows[:250], rows[250:]))
    whole = deciban.train(rows, target=TARGET, like=model, judge=False)
    assert first.structure
    pairs = model._layout.block_index("pairs")
    assert (first + second).ledger.parts[pairs] == whole.ledger.parts[pairs]
    assert (whole - second).ledger.parts[pairs] == first.ledger.parts[pairs]
    np.testing.assert_allclose(posterior(first + second, rows), posterior(whole, rows), rtol=1e-9)
    np.testing.assert_allclose(posterior(whole - second, rows), posterior(first, rows), rtol=1e-9)
    assert (whole * 2.0).structure == (whole + whole).structure


@pytest.mark.parametrize("structure", ["auto", "blocks", "naive"])
def test_models_of_other_cells_are_not_added(model, structure):
    other = deciban.train(echoes(seed=3), target=TARGET, structure=structure)
    before = posterior(model, echoes(20))
    for operation in (operator.add, operator.sub):
        with pytest.raises(SchemaError, match="--like MODEL"):
            operation(model, other)
    assert (posterior(model, echoes(20)) == before).all()


def test_merge_refuses_what_would_lose_the_tree_and_takes_models_of_one_schema(tmp_path):
    north, south, both = (tmp_path / name for name in ("north", "south", "both"))
    for path, seed in ((north, 0), (south, 3)):
        echoes(seed=seed).to_csv(f"{path}.csv", index=False)
        done("train", f"{path}.csv", "--target", TARGET, "--calibrate", "none", "-o", path)
    refused = call("merge", north, south, "-o", both)
    assert refused.exit_code == 1
    assert "--like" in refused.stderr
    assert not both.exists()
    done("train", f"{south}.csv", "--target", TARGET, "--like", north, "--calibrate", "none", "-o", south)
    done("merge", north, south, "-o", both)
    first, second, merged = (deciban.load(path) for path in (north, south, both))
    assert merged.structure.keys() == first.structure.keys()
    rows = echoes(100, seed=5)
    np.testing.assert_allclose(posterior(merged - second, rows), posterior(first, rows), rtol=1e-9)


def test_without_held_out_rows_columns_are_independent():
    assert deciban.train(echoes(), target=TARGET, judge=False).structure == {}
    assert deciban.train(echoes(), target=TARGET, judge=False, structure="tan").structure


def test_the_report_and_the_command_show_it(tmp_path):
    echoes().to_csv(tmp_path / "t.csv", index=False)
    arguments = ["train", tmp_path / "t.csv", "--target", TARGET, "-o", tmp_path / "m"]
    shown = done(*arguments).stdout
    assert "given " in shown
    naive = done(*arguments, "--structure", "naive").stdout
    assert "given " not in naive
    figures = [
        json.loads(done("evaluate", tmp_path / "t.csv", "--target", TARGET, "--json", *more).stdout)["log_loss"]
        for more in ([], ["--structure", "naive"], ["--structure", "tan"])
    ]
    assert figures[0] == figures[2] < figures[1]
    assert call("train", tmp_path / "t.csv", "--target", TARGET, "--structure", "bush").exit_code == 2


def test_what_it_has_no_meaning_for_is_refused(model):
    rows = echoes()
    with pytest.raises(InputError, match="structure must be one of"):
        deciban.train(rows, target=TARGET, structure="bush")
    with pytest.raises(InputError, match="is for naive Bayes"):
        deciban.train(rows, target=TARGET, structure="tan", learner="logistic")
    with pytest.raises(InputError, match="independent columns"):
        deciban.compare(rows, target=TARGET, structure="tan")
    with pytest.raises(UndefinedError, match="depend on each other"):
        model.sample(3)


def test_work_names_the_columns_of_each_dependence(model, tmp_path):
    rows = echoes(3, seed=5)
    rows.drop(columns=TARGET).to_csv(tmp_path / "new.csv", index=False)
    model.save(tmp_path / "m")
    shown = done("explain", tmp_path / "m", tmp_path / "new.csv", "--work").stdout
    child, parent = next(iter(model.structure.items()))
    assert f"  {child}, given {parent}  " in shown
    assert "given: the probability of the cell given the other column's" in shown


@pytest.mark.parametrize("kind", ["one column", "one row of a class", "all missing", "constant", "many columns"])
def test_odd_tables_are_learned(kind):
    rng = np.random.default_rng(0)
    tables = {
        "one column": {"a": [1.5, 2.5, 3.5, 4.5], TARGET: list("pqpq")},
        "one row of a class": {"a": [1.0, 2, 3, 4, 5], "b": [1.0, 3, 2, 5, 4], TARGET: list("ppppq")},
        "all missing": {"a": [None, None, 1.0, 2.0], "b": [1.0, 2.0, None, None], TARGET: list("pqpq")},
        "constant": {
            "a": [1.0] * 6,
            "b": [2.0, 2.0, 2.0, 2.0, 2.0, 3.0],
            "c": list("uvuvuv"),
            TARGET: list("pqpqpq"),
        },
        "many columns": {**{f"x{j}": rng.normal(size=30) for j in range(1500)}, TARGET: ["p", "q"] * 15},
    }
    for structure in ("auto", "tan"):
        model = deciban.train(tables[kind], target=TARGET, structure=structure)
        assert np.isfinite(np.asarray(model.predict_proba(pd.DataFrame(tables[kind])))).all()


def test_levels_that_are_numbers_have_cells_however_they_are_written():
    column = Column("f", "flag", numeric=True)
    for cells in (["1.0", "0.0", None, "1.0"], ["1", "0", "oops", "NA"], ["1", "0", "1"], [1, 0, None], [1.0, 0.0]):
        assert _find_cells(column, pa.array(cells), 4) == ("0", "1")
    assert _find_cells(Column("f", "category"), pa.array(["1.0", "0.0"]), 4) == ("0.0", "1.0")


@pytest.mark.parametrize("writing", ["${:,.2f}", "{:.4f} %", "decimal comma", "marker", "typing error"])
def test_numbers_have_the_same_cells_however_they_are_written(writing, tmp_path):
    rows = echoes()[["x", "z", "c", TARGET]].dropna()
    cells = {name: [f"{value:.4f}" for value in rows[name] * 1000 + 5000] for name in "xz"}
    frame = pd.DataFrame(cells).astype(float).assign(kind=list(rows[TARGET]))
    plain = deciban.train(frame, target=TARGET, structure="tan")
    options = {}
    if "{" in writing:
        cells = {name: [writing.format(float(text)) for text in cells[name]] for name in "xz"}
    elif writing == "decimal comma":
        cells = {name: [text.replace(".", ",") for text in cells[name]] for name in "xz"}
    elif writing == "marker":
        cells["x"][7] = "n/a"
    else:
        cells["x"][7], options = "5000-", {"bad_cells": "missing"}
    pd.DataFrame({**cells, TARGET: list(rows[TARGET])}).to_csv(tmp_path / "a.csv", sep=";", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        model = deciban.train(tmp_path / "a.csv", target=TARGET, structure="tan", **options)
    assert [set(edge) for edge in model.structure.items()] == [set("xz")]
    for expected, actual in zip(plain.columns[:2], model.columns[:2]):  # x and z
        np.testing.assert_allclose(actual.cells, expected.cells, rtol=0.01)
