"""Every way to ask a model for the posterior of rows: frames, files, exports and services."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import deciban
from deciban.errors import InputError
from deciban.export.javascript import write_javascript
from deciban.export.portable import make_document
from deciban.export.sql import SqlOptions, write_sql
from tests.export.databases import numbered, run_duckdb, run_postgres, run_sqlite
from tests.surfaces.cases import Case

Posterior = Any
"""An array of rows × classes; NaN where a surface refuses a row."""


def stack(found: Any) -> Posterior:
    """Return what `predict_proba` returns, a frame of some library or an array, as an array."""
    if isinstance(found, np.ndarray):
        return found
    table = found.read_all() if isinstance(found, pa.RecordBatchReader) else found
    table = pa.Table.from_pandas(table) if hasattr(table, "iloc") else table
    columns = table.columns if isinstance(table, pa.Table) else [table[name] for name in table.columns]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def to_json_rows(rows: Any) -> list[dict[str, Any]]:
    """Return rows as JSON has them: dates as ISO texts, NaN as null."""

    def to_cell(cell: Any) -> Any:
        return cell.isoformat() if hasattr(cell, "isoformat") else None if cell != cell else cell

    return [{name: to_cell(cell) for name, cell in row.items()} for row in rows.to_pylist()]


def by_csv(case: Case, folder: Path) -> Posterior:
    """Read a CSV file."""
    pyarrow.csv.write_csv(case.rows, folder / "rows.csv")
    return stack(case.model.predict_proba(str(folder / "rows.csv"), header=True))


def by_json_lines(case: Case, folder: Path) -> Posterior:
    """Read JSON lines."""
    lines = "\n".join(json.dumps(row) for row in to_json_rows(case.rows))
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    return stack(case.model.predict_proba(str(folder / "rows.jsonl")))


def by_parquet(case: Case, folder: Path) -> Posterior:
    """Read a Parquet file."""
    pyarrow.parquet.write_table(case.rows, folder / "rows.parquet")
    return stack(case.model.predict_proba(str(folder / "rows.parquet")))


def by_saved_model(case: Case, folder: Path) -> Posterior:
    """Write the model, and read it again."""
    case.model.save(folder / "model.deciban")
    return stack(deciban.load(folder / "model.deciban").predict_proba(case.rows))


def by_json_form(case: Case, folder: Path) -> Posterior:
    """Write the portable document, and read it as a model."""
    case.model.export("json", folder / "model.json")
    return stack(deciban.load(folder / "model.json").predict_proba(case.rows))


def by_sql(dialect: str, runner: Callable[..., Any], case: Case, folder: Path) -> Posterior:
    """Run the SQL of a dialect."""
    texts = [name for name, role in case.roles.items() if role == "text"]
    tokens = {name: f"tokens{i}" for i, name in enumerate(texts)}
    sql = write_sql(make_document(case.model), SqlOptions(dialect, keys=["row_number"], tokens=tokens))  # type: ignore[arg-type]
    tables = {"data": numbered(case.rows.drop_columns(texts)), **{t: list_tokens(case, n) for n, t in tokens.items()}}
    found = runner(sql, tables)
    K = len(case.model.classes)
    return np.column_stack([np.array(found.column(3 + k).to_pylist(), dtype=float) for k in range(K)])


def list_tokens(case: Case, name: str) -> Any:
    """The tokens of each row of a text, a line for each time that one occurs."""
    words, missing = case.model.options.words, {None, *case.model.options.markers}
    texts = case.rows.column(name).to_pylist()
    found = [(i, token) for i, text in enumerate(texts) if text not in missing for token in words.tokens_of(text)]
    row, token = [i for i, _ in found], [token for _, token in found]
    schema = pa.schema([("row", pa.int64()), ("token", pa.string()), ("count", pa.int64())])
    return pa.table([row, token, [1] * len(row)], schema=schema)


def by_onnx(case: Case, folder: Path) -> Posterior:
    """Run the ONNX graph."""
    from tests.export.test_onnx import run, to_inputs

    document = make_document(case.model)
    texts = [feature["name"] for feature in document["features"] if feature["kind"] == "text"]
    plain = {**document, "features": [each for each in document["features"] if each["name"] not in texts]}
    for feature in plain["features"]:
        for column, numeric in zip(feature["columns"], feature.get("numeric", ())):
            if numeric and pa.types.is_string(case.rows.schema.field(column).type):
                raise InputError(f"column {column!r} is a number in ONNX")
    inputs = to_inputs(plain, case.rows)
    for name in texts:
        words = next(term["words"] for term in document["terms"] if term.get("feature") == name)
        place = {word: v for v, word in enumerate(words)}
        counts = np.zeros((case.rows.num_rows, len(words)))
        found = list_tokens(case, name).to_pydict()
        for i, token in zip(found["row"], found["token"]):
            if token in place:
                counts[i, place[token]] += 1
        inputs[name] = counts
    return run(document, inputs)[2]


def to_dictionaries(rows: Any) -> Any:
    """Encode the texts of a table by dictionaries."""
    for i, field in enumerate(rows.schema):
        if field.type == pa.string():
            rows = rows.set_column(i, field.name, rows.column(i).dictionary_encode())
    return rows


def to_large_strings(rows: Any) -> Any:
    """Return a table with other types of texts."""
    return rows.cast(pa.schema([f.with_type(pa.large_string()) if f.type == "string" else f for f in rows.schema]))


def to_doubles(case: Case) -> Any:
    """Return whole numbers as doubles."""
    rows = case.rows
    return rows.cast(pa.schema([f.with_type(pa.float64()) if f.type == "int64" else f for f in rows.schema]))


def to_level_texts(case: Case) -> Any:
    """Return numbers and Booleans that are levels as texts."""
    rows = case.rows
    for i, field in enumerate(rows.schema):
        if case.model.roles[field.name] in ("flag", "category") and field.type != pa.string():
            cells = rows.column(i).to_pylist()
            texts = [None if cell is None or cell != cell else str(cell) for cell in cells]
            rows = rows.set_column(i, field.name, pa.array(texts, pa.string()))
    return rows


FRAMES: Mapping[str, Callable[[Case], Any]] = {
    "pandas": lambda case: case.rows.to_pandas(),
    "pandas, Arrow types": lambda case: case.rows.to_pandas(types_mapper=_pandas_arrow()),
    "polars": lambda case: pl.from_arrow(case.rows),
    "dict of lists": lambda case: case.rows.to_pydict(),
    "dictionaries": lambda case: to_dictionaries(case.rows),
    "large strings": lambda case: to_large_strings(case.rows),
    "pandas, categorical": lambda case: to_dictionaries(case.rows).to_pandas(),
    "doubles": to_doubles,
    "levels as texts": to_level_texts,
    "columns reversed": lambda case: case.rows.select(case.rows.column_names[::-1]),
}
"""The rows in other types of frames and cells."""


TRAINED: Mapping[str, Callable[[Any], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "polars": pl.from_arrow,
    "dictionaries": lambda table: to_dictionaries(table),
    "two chunks": lambda table: pa.concat_tables([table.slice(0, 20), table.slice(20)]),
}
"""The table in other types of frames."""


def _pandas_arrow() -> Any:
    import pandas as pd

    return pd.ArrowDtype


def by_training(change: Callable[[Any], Any], case: Case, folder: Path) -> Posterior:
    """Train on another form of the same table."""
    return stack(deciban.train(change(case.table), judge=False, **case.options).predict_proba(case.rows))


def by_training_on_parquet(case: Case, folder: Path) -> Posterior:
    """Train on a Parquet file."""
    pyarrow.parquet.write_table(case.table, folder / "table.parquet")
    return by_training(lambda _: str(folder / "table.parquet"), case, folder)


def sum_sql_evidence(case: Case) -> Any:
    """Return the evidence of each feature, rows × features, and its sum with the prior, by DuckDB."""
    sql = write_sql(make_document(case.model), SqlOptions(keys=["row_number"], evidence=True, pair=(0, 1)))
    found = run_duckdb(sql, {"data": numbered(case.rows)})
    return np.column_stack(
        [
            np.array(found.column(i).to_pylist(), float)
            for i in range(3 + 2 * len(case.model.classes), found.num_columns)
        ]
    )


def by_frame(change: Callable[[Case], Any], case: Case, folder: Path) -> Posterior:
    """Predict another frame of the same rows."""
    return stack(case.model.predict_proba(change(case)))


def list_surfaces(postgres: Any = None) -> dict[str, Callable[[Case, Path], Posterior]]:
    """Return the surfaces that answer one case at a time; JavaScript and the service answer many at once."""
    found: dict[str, Callable[[Case, Path], Posterior]] = {
        name: partial(by_frame, change) for name, change in FRAMES.items()
    }
    found |= {f"trained on {name}": partial(by_training, change) for name, change in TRAINED.items()}
    found["trained on Parquet"] = by_training_on_parquet
    found |= {"CSV": by_csv, "JSON lines": by_json_lines, "Parquet": by_parquet, "model file": by_saved_model}
    found |= {"JSON form": by_json_form, "ONNX": by_onnx}
    found |= {"DuckDB": partial(by_sql, "duckdb", run_duckdb), "SQLite": partial(by_sql, "sqlite", run_sqlite)}
    if postgres is not None:
        found["PostgreSQL"] = partial(by_sql, "postgres", partial(run_postgres, postgres))
    return found


SCRIPT = """
import { readFileSync } from "node:fs";
const found = {};
for (const [name, rows] of Object.entries(JSON.parse(readFileSync("cases.json", "utf8")))) {
  const { default: model } = await import(`./${name}.mjs`);
  found[name] = rows.map((row) => {
    try { return { p: model.predict(row).probabilities, total: String(model.explain(row).total) }; }
    catch (error) { return { error: String(error) }; }
  });
}
console.log(JSON.stringify(found));
"""


def ask_javascript(cases: Sequence[Case], folder: Path, totals: dict[int, list[float]]) -> dict[int, Posterior | str]:
    """Return the answers of one process of Node by seed of the case: an array, or the message of a refusal.

    The evidence of each row is added to `totals`.
    """
    from deciban.errors import DecibanError

    answers: dict[int, Any] = {}
    if shutil.which("node") is None:
        return {case.seed: "Node is not installed" for case in cases}
    asked = {}
    for case in cases:
        try:
            (folder / f"m{case.seed}.mjs").write_text(write_javascript(make_document(case.model)))
            asked[f"m{case.seed}"] = to_json_rows(case.rows)
        except DecibanError as error:
            answers[case.seed] = str(error)
    (folder / "cases.json").write_text(json.dumps(asked))
    (folder / "ask.mjs").write_text(SCRIPT)
    done = subprocess.run(["node", "ask.mjs"], cwd=folder, capture_output=True, text=True, check=True)
    for name, rows in json.loads(done.stdout).items():
        errors = [row["error"] for row in rows if "error" in row]
        answers[int(name[1:])] = errors[0] if errors else np.array([row["p"] for row in rows], dtype=float)
        totals[int(name[1:])] = [] if errors else [float(row["total"].replace("Infinity", "inf")) for row in rows]
    return answers


def ask_service(cases: Sequence[Case], folder: Path) -> dict[tuple[str, int], Any]:
    """Return the answers of REST and of the Open Inference Protocol by name and seed."""
    from starlette.testclient import TestClient

    from deciban.server.application import create_app
    from deciban.server.settings import Settings

    answers: dict[tuple[str, int], Any] = {}
    models = tuple((f"m{case.seed}", str(folder / f"m{case.seed}.deciban")) for case in cases)
    for case, (_, path) in zip(cases, models):
        case.model.save(path)
    app = create_app(Settings(models))
    logging.disable()
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        for case in cases:
            rows, K = to_json_rows(case.rows), len(case.model.classes)
            found = client.post(f"/v1/models/m{case.seed}/predict?proba=true", json={"rows": rows})
            answers["REST", case.seed] = found.text
            if found.status_code == 200:
                each = [list(row.values())[-K:] for row in found.json()["predictions"]]
                answers["REST", case.seed] = np.array(each, dtype=float)
            single = [client.post(f"/v1/models/m{case.seed}/predict?proba=true", json={"rows": [r]}) for r in rows]
            if all(one.status_code == 200 for one in single):
                each = [list(one.json()["predictions"][0].values())[-K:] for one in single]
                answers["REST, a row each", case.seed] = np.array(each, dtype=float)
            inputs = [make_tensor(name, [row[name] for row in rows]) for name in rows[0]]
            found = client.post(f"/v2/models/m{case.seed}/infer", json={"inputs": inputs})
            answers["Open Inference", case.seed] = found.text
            if found.status_code == 200:
                answers["Open Inference", case.seed] = np.reshape(found.json()["outputs"][2]["data"], (-1, K))
    logging.disable(logging.NOTSET)
    return answers


def make_tensor(name: str, cells: Sequence[Any]) -> dict[str, Any]:
    """Return a column as a tensor of the Open Inference Protocol."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    kind = next((name for known, name in TENSOR_TYPES if kinds <= known), "BYTES")
    return {"name": name, "datatype": kind, "shape": [len(cells)], "data": list(cells)}


TENSOR_TYPES = [({bool}, "BOOL"), ({int}, "INT64"), ({int, float}, "FP64")]
