"""The work of requests: predictions, explanations, learning and forgetting, of tables in any format.

Answers are complete before the first byte is sent, in a temporary file if they are long: an error in the last row is
answered by a problem, and never by half a table.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from deciban._lazy import pa
from deciban.command_hints import adapt_hint, direct_role_hints_to_training
from deciban.errors import DecibanWarning, InputError
from deciban.load_model import resolve_decision
from deciban.model.predictions import Predictions, limit_probabilities
from deciban.model.row_explanations import explain_table_rows
from deciban.plain_json import to_json
from deciban.server.journal import Entry
from deciban.server.problems import Problem
from deciban.server.query import select_reading
from deciban.server.served_model import ServedModel, Snapshot
from deciban.server.settings import Limits
from deciban.server.wire_formats import MEDIA_TYPES, BodyTable, encode, open_answer
from deciban.sources.row_views import CopyingView
from deciban.sources.source import Source, check_column
from deciban.sources.table_writers import neutralise_formula, open_format

MAX_WARNINGS = 20
"""The number of warnings in an answer."""

DONE = {"learn": "learned", "forget": "forgotten"}
"""The names of the numbers of rows in answers."""

CSV_DECIMAL_PLACES = 6
"""The decimal places of explanations in CSV and TSV."""

DEFAULT_FACTORS = 10
"""The number of factors that the arithmetic of a row has by default."""

_warnings: ContextVar[list[str] | None] = ContextVar("deciban_warnings", default=None)


def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Add a warning of deciban to those of the present request, each once, at most `MAX_WARNINGS`; drop others."""
    found = _warnings.get()
    text = adapt_hint(str(message))
    if found is not None and issubclass(category, DecibanWarning) and text not in found and len(found) < MAX_WARNINGS:
        found.append(text)


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Yield a list that the warnings of the block are added to."""
    found: list[str] = []
    token = _warnings.set(found)
    try:
        yield found
    finally:
        _warnings.reset(token)


@dataclass
class Watch:
    """Counts the rows of a request; refuses too many of them, and work after the deadline (`time.monotonic`)."""

    max_rows: int
    deadline: float
    rows: int = 0

    def __call__(self, total: int) -> None:
        """Note the total of rows read so far; a Problem (413) for too many, TimeoutError after the deadline."""
        self.rows = total
        if total > self.max_rows:
            raise Problem(
                413, f"the table has more than {self.max_rows} rows, the limit of this server. Hint: send it in parts"
            )
        if time.monotonic() > self.deadline:
            raise TimeoutError


@dataclass(frozen=True)
class Answer:
    """A complete answer: its media type, its bytes in a file, the rows that it is about, and warnings."""

    media_type: str
    file: BinaryIO
    rows: int
    warnings: list[str] = field(default_factory=list)


def predict_table(
    served: ServedModel, snapshot: Snapshot, table: BodyTable, options: Mapping[str, Any], form: str, limits: Limits
) -> Answer:
    """Predict all rows of a table, and write the answer in a format."""
    watch = Watch(limits.rows, time.monotonic() + limits.seconds)
    with collect_warnings() as warned, direct_role_hints_to_training(), table.open() as source:
        model, rule = resolve_decision(snapshot.model, options)
        view = CopyingView(source, _choose_copied(source, options))
        is_rounded = form in ("csv", "tsv")
        predictions = Predictions(
            model, view, options.get("proba", False), rule, options.get("reject_novel"), is_rounded
        )
        batches = _watch_batches(predictions, options.get("allow_missing_columns", False), watch)
        file = open_answer()
        if form == "json":
            _write_json(file, served.name, batches, lambda: [*warned, *predictions.monitor.describe()])
        else:
            changes = [neutralise_formula] if options.get("safe_cells") else []
            with open_format("arrows" if form == "arrow" else form, file, predictions.schema, changes) as write:
                for batch in batches:
                    write(batch)
        return Answer(MEDIA_TYPES[form], file, watch.rows, [*warned, *predictions.monitor.describe()])


def _choose_copied(source: Source, options: Mapping[str, Any]) -> list[str]:
    """Return the columns that are copied to the answer; InputError for one that the rows lack."""
    if options.get("all"):
        return list(source.columns)
    kept = list(dict.fromkeys(options.get("keep", ())))
    for name in kept:
        check_column(source, name, " to keep")
    return kept


def _watch_batches(predictions: Predictions, allow_missing: bool, watch: Watch) -> Iterator[Any]:
    """Yield the batches of predictions; before each, `watch` is called with the total of rows up to its end."""
    n_predicted: Counter[str] = Counter()
    for batch in predictions.stream(allow_missing, n_predicted):
        watch(n_predicted.total())
        yield batch


def _write_json(file: BinaryIO, name: str, batches: Iterator[Any], warnings: Callable[[], list[str]]) -> None:
    """Write {"model": …, "predictions": [row, …], "warnings": […]}, a batch at a time."""
    file.write(b'{"model":' + encode(name) + b',"predictions":[')
    comma = ""
    for batch in batches:
        rows = ",".join(map(to_json, batch.to_pylist()))
        file.write((comma + rows).encode("utf-8", "replace"))
        comma = ","
    file.write(b'],"warnings":' + encode(warnings()) + b"}")


def format_predictions(name: str, snapshot: Snapshot, log_posterior: NDArray[np.float64], proba: bool) -> bytes:
    """Return the JSON answer of `predict_table` without options but `proba`, from ln p(k|x) of the rows, n×K."""
    labels, rows, posterior = snapshot.labels, [], np.exp(log_posterior).tolist()
    if any(max(p) >= 1 for p in posterior):
        posterior = limit_probabilities(log_posterior).tolist()
    for p in posterior:
        k = max(range(len(p)), key=p.__getitem__)
        row = {"prediction": labels[k], "probability": p[k]}
        rows.append(row | {f"p({label})": each for label, each in zip(labels, p)} if proba else row)
    return encode({"model": name, "predictions": rows, "warnings": []})


def explain_table(
    served: ServedModel, snapshot: Snapshot, table: BodyTable, options: Mapping[str, Any], form: str, limits: Limits
) -> Answer:
    """Explain the rows of a table (InputError for none): JSON as `deciban explain --json` prints it, or a table."""
    with collect_warnings() as warned, direct_role_hints_to_training(), table.open() as source:
        most = options.get("most", DEFAULT_FACTORS) if options.get("work") else None
        explained = explain_table_rows(
            snapshot.model, source, 0, limits.explained_rows + 1, options.get("classes"),
            options.get("allow_missing_columns", False), None, most,
        )  # fmt: skip
        if len(explained) > limits.explained_rows:
            raise Problem(413, f"at most {limits.explained_rows} rows are explained at a time. Hint: send fewer")
        if not explained:
            raise InputError(f"{source.name} has no rows to explain")
    file, rows = open_answer(), [each.to_dict() for each in explained]
    if form == "json":
        file.write(encode({"model": served.name, "explanations": rows, "warnings": list(warned)}))
    elif form == "jsonl":
        file.writelines(encode(row) + b"\n" for row in rows)
    else:
        entries = list(_list_entries(rows, CSV_DECIMAL_PLACES if form in ("csv", "tsv") else None))
        batch = pa.RecordBatch.from_pylist(entries)
        with open_format("arrows" if form == "arrow" else form, file, batch.schema) as write:
            write(batch)
    return Answer(MEDIA_TYPES[form], file, len(rows), list(warned))


def _list_entries(rows: list[dict[str, Any]], places: int | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each entry of the explanations; numbers are rounded to so many places, if any."""

    def to_number(value: float | None) -> float | None:
        return value if value is None or places is None else round(value, places)

    for row in rows:
        for entry in row["evidence"]:
            yield {
                "row": row["row"], "prediction": str(row["prediction"]), "probability": to_number(row["probability"]),
                "for": str(row["for"]), "against": str(row["against"]), "feature": entry["column"] or entry["what"],
                "value": None if entry["value"] is None else str(entry["value"]),
                "decibans": to_number(entry["decibans"]),
            }  # fmt: skip


def update_model(
    served: ServedModel, operation: str, table: BodyTable, options: Mapping[str, Any], limits: Limits
) -> Answer:
    """Learn or forget the rows of a table, and return how many, in JSON; when this returns, they are on disk."""
    deadline = time.monotonic() + limits.seconds
    entry = Entry({"operation": operation, "format": table.form, "reading": select_reading(options)}, table.data)
    watch = Watch(limits.rows, deadline)
    with collect_warnings() as warned:
        before, after = served.update(entry, deadline, watch, table.path)
        file = open_answer()
        rows = after.model.origin.rows_read
        n_rows = abs(rows - before.model.origin.rows_read)
        done = {"model": served.name, DONE[operation]: n_rows, "rows": rows}
        file.write(encode({**done, "warnings": list(warned)}))
    return Answer(MEDIA_TYPES["json"], file, watch.rows)
