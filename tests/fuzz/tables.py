"""Seeds, a model, training and predicting for all targets that are tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import deciban
from deciban.errors import DecibanError
from deciban.sources.source import open_source
from tests.fuzz.runner import begin_operation
from tests.tables import clinic

ROWS = 40
MAX_TRAINED_COLUMNS = 500
"""A column may take a millisecond of training, and a check two seconds in all."""


def seed(write: Callable[..., Any], name: str, **options: Any) -> bytes:
    """Return the bytes of the patients' table as `write` of tests.tables.clinic writes it."""
    with tempfile.TemporaryDirectory() as folder:
        return Path(write(clinic.patients(ROWS), Path(folder, name), **options)).read_bytes()


@cache
def model() -> deciban.Model:
    return deciban.train(clinic.as_text(clinic.patients(80)), target="diagnosis", judge=False)


def use(path: Path) -> None:
    """Predict with a model of such tables, whatever the columns, and train on the table itself.

    Refused where the table cannot be read, predicted or trained on; there are as many answers as rows.
    """
    source = open_source(path)
    n_columns = len(source.columns)
    begin_operation(n_columns)
    rows = sum(batch.num_rows for batch in source.batches(dict.fromkeys(source.columns, "as it is")))
    begin_operation(n_columns)
    answers = model().predict_proba(path, allow_missing_columns=True)
    refused: DecibanError | None = None
    try:
        assert sum(answer.num_rows for answer in answers) == rows, "not as many answers as rows"
    except DecibanError as error:
        refused = error
    if len(source.columns) > MAX_TRAINED_COLUMNS:
        if refused:
            raise refused
        return
    target = "diagnosis" if "diagnosis" in source.columns else source.columns[-1]
    begin_operation(n_columns)
    trained = deciban.train(path, target=target, judge=path.stat().st_size % 4 == 0)
    begin_operation(n_columns)
    for _ in trained.predict(path):
        pass
    if refused:
        raise refused


def assert_valid(batches: list[pa.RecordBatch]) -> None:
    """Assert that each buffer is valid for its type: an invalid one can crash the process that uses it."""
    for batch in batches:
        try:
            batch.validate(full=True)
        except pa.ArrowInvalid as error:
            raise AssertionError("an invalid batch was accepted") from error


def read_valid_batches(path: Path) -> list[pa.RecordBatch]:
    """Return all batches of a file as they are, asserting that they are valid."""
    source = open_source(path)
    batches = list(source.batches(dict.fromkeys(source.columns, "as it is")))
    assert_valid(batches)
    return batches


def rows_as_text(path: Path) -> tuple[list[str], list[tuple[str | None, ...]]]:
    """Return the columns and rows of a file as deciban reads them, each cell as text."""
    source = open_source(path)
    columns = list(source.columns)
    begin_operation(len(columns))
    batches = list(source.batches(dict.fromkeys(columns, "text")))
    table = pa.Table.from_batches(batches) if batches else None
    cells = [] if table is None else list(zip(*(table.column(name).to_pylist() for name in columns)))
    return columns, cells
