"""`?`, `NA` and the like are missing in columns of every kind, are counted, and are values on request."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deciban
from deciban.errors import InputError, SchemaError
from deciban.sources.markers import MISSING_MARKERS, MISSING_NUMBERS, remove_markers
from tests.cli.terminal import done

N = 240
rng = np.random.default_rng(5)
ILL = rng.random(N) < 0.5
COLUMNS = {
    "age": [f"{value:.1f}" for value in rng.normal(50 + 10 * ILL, 8)],
    "cough": np.where(rng.random(N) < 0.3 + 0.4 * ILL, "dry", rng.choice(["none", "wet"], N)).tolist(),
    "smoker": np.where(rng.random(N) < 0.3 + 0.3 * ILL, "yes", "no").tolist(),
    "seen": [f"2024-{1 + i % 12:02}-{1 + i % 28:02}" for i in range(N)],
    "note": [
        f"patient {i} {word} of pain and slept {hours} hours"
        for i, (word, hours) in enumerate(zip(np.where(ILL, "complained", "told nothing"), rng.integers(2, 9, N)))
    ],
    "diagnosis": np.where(ILL, "ill", "well").tolist(),
}
ROLES = {"cough": "category", "smoker": "flag", "seen": "date", "note": "text"}


def with_gaps(fill):
    """The table with each cell of every seventh row, from another row on in each column, as `fill` says."""
    return {
        name: [fill(i) if (i + place) % 7 == 0 else value for i, value in enumerate(values)]
        for place, (name, values) in enumerate(COLUMNS.items())
    }


def write_csv(columns, path):
    pd.DataFrame(columns).to_csv(path, index=False, na_rep="")
    return path


def write_json(columns, path):
    rows = (dict(zip(columns, cells)) for cells in zip(*columns.values()))
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def write_parquet(columns, path):
    pq.write_table(typed(columns), path)
    return path


def typed(columns):
    """The table with ages as numbers, as typed sources have them: these have no markers."""
    ages = [None if age in (None, *MISSING_NUMBERS) else float(age) for age in columns["age"]]
    return pa.table({**columns, "age": ages})


SOURCES = {
    "csv": lambda columns, folder: write_csv(columns, folder / "t.csv"),
    "json": lambda columns, folder: write_json(
        {**columns, "age": typed(columns)["age"].to_pylist()}, folder / "t.jsonl"
    ),
    "parquet": lambda columns, folder: write_parquet(columns, folder / "t.parquet"),
    "arrow": lambda columns, folder: typed(columns),
    "pandas": lambda columns, folder: typed(columns).to_pandas(),
    "categories": lambda columns, folder: (
        typed(columns).to_pandas().astype(dict.fromkeys(["cough", "smoker"], "category"))
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_markers_are_missing_in_every_kind_of_column(kind, tmp_path):
    marked = SOURCES[kind](with_gaps(lambda i: MISSING_MARKERS[i % len(MISSING_MARKERS)]), tmp_path)
    model = deciban.train(marked, target="diagnosis")
    assert {name: model.roles[name] for name in ROLES} == ROLES
    (tmp_path / "empty").mkdir()
    empty = deciban.train(SOURCES[kind](with_gaps(lambda i: None), tmp_path / "empty"), target="diagnosis")
    assert model.ledger == empty.ledger
    assert model.held_out.accuracy == empty.held_out.accuracy


def test_markers_are_missing_when_predicting_evaluating_explaining_adding_and_forgetting(tmp_path):
    model = deciban.train(write_csv(COLUMNS, tmp_path / "all.csv"), target="diagnosis")
    marked = write_csv(with_gaps(lambda i: "?"), tmp_path / "marked.csv")
    empty = write_csv(with_gaps(lambda i: None), tmp_path / "empty.csv")
    assert model.predict_proba(marked).read_all().equals(model.predict_proba(empty).read_all())
    assert deciban.evaluate(marked, model=model).to_dict().items() >= {"rows": N - len(range(2, N, 7))}.items()
    assert str(model.explain(marked, rows=5)) == str(model.explain(empty, rows=5))
    one, other = (deciban.train(tmp_path / "all.csv", target="diagnosis", judge=False) for _ in "ab")
    assert one.add(marked).ledger == other.add(empty).ledger
    assert one.forget(marked).ledger == other.forget(empty).ledger


def test_a_marker_is_no_unseen_value(tmp_path):
    model = deciban.train(write_csv(COLUMNS, tmp_path / "all.csv"), target="diagnosis", unseen="error")
    assert model.predict(write_csv(with_gaps(lambda i: "NA"), tmp_path / "t.csv")).read_all().num_rows == N


def test_the_model_counts_the_cells_of_each_marker(tmp_path):
    columns = with_gaps(lambda i: "?" if i % 2 else "NA")
    model = deciban.train(write_csv(columns, tmp_path / "t.csv"), target="diagnosis")
    expected = {
        name: {text: values.count(text) for text in ("NA", "?") if values.count(text)}
        for name, values in columns.items()
    }
    assert {name: dict(counts) for name, counts in model.origin.markers.items()} == expected
    assert model.origin.rows_without_class == sum(expected["diagnosis"].values())
    model.save(tmp_path / "m.deciban")
    assert deciban.load(tmp_path / "m.deciban").origin == model.origin
    more = deciban.train(tmp_path / "t.csv", target="diagnosis", like=model, judge=False)
    assert (model + more).origin.markers["cough"]["?"] == 2 * expected["cough"]["?"]
    assert (model + more - more).origin.markers == expected


def test_markers_are_counted_alike_where_bad_cells_are_missing(tmp_path):
    columns = with_gaps(lambda i: "?")
    columns["age"][3:5] = ["-", "-"]
    path = write_csv(columns, tmp_path / "t.csv")
    found = [
        deciban.train(path, target="diagnosis", roles={"age": "number"}, judge=False, bad_cells=how).origin.markers
        for how in ("error", "missing")
    ]
    assert found[0] == found[1]
    assert found[0]["age"] == {"?": columns["age"].count("?"), "-": 2}


def test_the_report_names_the_markers_and_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(with_gaps(lambda i: "?"), tmp_path / "t.csv")
    out = done("train", "t.csv", "--target", "diagnosis").stdout
    n = sum((i + place) % 7 == 0 for place in range(6) for i in range(N))
    assert f"? was read as missing in {n} cells: age 35, cough 34" in " ".join(out.split())
    assert "--keep-markers" in out
    assert "? was read as missing" in done("inspect", "t.deciban").stdout
    facts = json.loads(done("train", "t.csv", "--target", "diagnosis", "--json").stdout)
    assert facts["markers"]["smoker"] == {"?": 34}
    assert "was read as missing" in str(deciban.load(tmp_path / "t.deciban").describe())
    kept = done("train", "t.csv", "--target", "diagnosis", "--keep-markers").stdout
    assert "? was read as missing in 69 cells: age 35, seen 34" in " ".join(kept.split())


def test_markers_are_values_on_request_and_the_model_remembers(tmp_path):
    path = write_csv(with_gaps(lambda i: "?"), tmp_path / "t.csv")
    model = deciban.train(path, target="diagnosis", keep_markers=True, judge=False)
    assert model.roles["smoker"] == "category"
    assert "?" in model.classes
    levels = dict(zip(*next((b.names, b.levels) for b in model.ledger.schema.blocks if b.kind == "levels")))
    assert levels["cough"] == ("?", "dry", "none", "wet")
    assert model.roles["age"] in ("number", "binned")
    model.save(tmp_path / "m.deciban")
    loaded = deciban.load(tmp_path / "m.deciban")
    assert loaded.predict_proba(path).read_all().equals(model.predict_proba(path).read_all())
    assert loaded.options.markers == ()


def test_none_and_dashes_are_values_but_among_numbers(tmp_path):
    columns = with_gaps(lambda i: None)
    columns["smoker"] = ["-" if i % 3 else "+" for i in range(N)]
    columns["cough"] = ["None" if i % 3 else "dry" for i in range(N)]
    columns["age"] = ["-" if i % 9 == 4 else age for i, age in enumerate(COLUMNS["age"])]
    model = deciban.train(write_csv(columns, tmp_path / "t.csv"), target="diagnosis")
    levels = dict(zip(*next((b.names, b.levels) for b in model.ledger.schema.blocks if b.kind == "levels")))
    assert (levels["smoker"], levels["cough"]) == (("+", "-"), ("None", "dry"))
    assert model.origin.markers == {"age": {"-": sum(i % 9 == 4 for i in range(N))}}


def test_a_class_that_is_declared_is_no_marker(tmp_path):
    columns = {**COLUMNS, "diagnosis": ["NA" if label == "ill" else "EU" for label in COLUMNS["diagnosis"]]}
    path = write_csv(columns, tmp_path / "t.csv")
    with pytest.raises(InputError, match="one class only"):
        deciban.train(path, target="diagnosis")
    model = deciban.train(path, target="diagnosis", classes=["EU", "NA"])
    assert model.classes == ["EU", "NA"]
    assert deciban.evaluate(path, model=model).rows == N
    assert deciban.evaluate(path, target="diagnosis", classes=["EU", "NA"], folds=3).rows == N


def test_documents_have_no_markers(tmp_path):
    for label in ("NA", "EU"):
        (tmp_path / label).mkdir()
        for i in range(6):
            (tmp_path / label / f"{i}.txt").write_text("?" if i == 3 else f"{label} word{i}")
    model = deciban.train(tmp_path, target="class", format="folders", judge=False)
    assert model.classes == ["EU", "NA"]
    assert model.options.markers == ()


def test_models_that_read_markers_differently_are_not_added(tmp_path):
    path = write_csv(COLUMNS, tmp_path / "t.csv")
    one, other = (deciban.train(path, target="diagnosis", keep_markers=kept, judge=False) for kept in (False, True))
    with pytest.raises(SchemaError, match="markers"):
        one + other
    like = deciban.train(path, target="diagnosis", like=other, judge=False)
    assert (other + like).ledger.n_rows == 2 * N


def test_a_copied_column_keeps_its_markers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_csv(COLUMNS, tmp_path / "t.csv")
    done("train", "t.csv", "--target", "diagnosis", "--no-judge")
    write_csv(with_gaps(lambda i: "?"), tmp_path / "new.csv")
    lines = done("predict", "t.deciban", "new.csv", "--keep", "cough").stdout.splitlines()
    assert sum(line.startswith("?,") for line in lines) == with_gaps(lambda i: "?")["cough"].count("?")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_removing_markers_is_what_a_loop_over_the_cells_does(kind):
    cells = rng.choice([*MISSING_MARKERS, "", "N", "NAN", "?!", "né", "no", None, "n/a n/a", "x" * 40], 5000).tolist()
    array = pa.array(cells, pa.string()).cast(kind).slice(17, 4000)
    expected = [None if cell in MISSING_MARKERS else cell for cell in cells[17:4017]]
    column, counts = remove_markers(array, MISSING_MARKERS)
    assert column.to_pylist() == expected
    assert counts == {text: cells[17:4017].count(text) for text in MISSING_MARKERS}
    chunked, counted = remove_markers(pa.chunked_array([array, array]), MISSING_MARKERS)
    assert chunked.to_pylist() == 2 * expected
    assert counted == counts + counts
    assert remove_markers(array, ()) == (array, {})


def test_a_marker_that_no_text_can_hold_is_never_found(tmp_path):
    model = deciban.train({"x": ["a", "b", "?", "a"] * 10, "y": ["u", "v"] * 20}, target="y", missing=["\ud800"])
    model.save(tmp_path / "m.deciban")
    again = deciban.load(tmp_path / "m.deciban")
    assert again.predict({"x": ["a", "?"]}).tolist() == model.predict({"x": ["a", "?"]}).tolist()
