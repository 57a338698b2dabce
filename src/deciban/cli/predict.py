"""`deciban predict`: a class and its probability for every row of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import arguments as a
from deciban.cli.manners import manners
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.given import Given
    from deciban.cli.views import Carrying
    from deciban.model.model import Model

EXAMPLE = a.example(
    "deciban predict patients.deciban new-patients.csv --keep patient",
    "deciban predict patients.deciban new-patients.csv --proba -o answers.parquet",
)
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="A .csv, .tsv, .jsonl, .parquet or .arrow file; CSV on stdout unless given.",
    ),
]
Proba = Annotated[bool, typer.Option("--proba", help="A column p(CLASS) for every class as well.")]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COL",
        help="Carry a column of DATA along; of documents, the file unless given. May be repeated.",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Carry all columns of DATA along.")]
Json = Annotated[bool, typer.Option("--json", help="JSON lines on stdout instead of CSV.")]


def command(
    model: a.ModelFile,
    data: a.Tables = None,
    output: Out = None,
    proba: Proba = False,
    keep: Keep = None,
    everything: All = False,
    json: Json = False,
    allow_missing_columns: a.AllowMissing = False,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    debug: a.Debug = False,
) -> None:
    """Predict every row of a table: one line out for each row in, in the same order."""
    from deciban.cli.given import given, roles_are_settled

    with manners(debug), roles_are_settled(), given(data, sql, folders, format, encoding, errors, missing) as table:
        run(model, table, output, proba, keep or [], everything, json, allow_missing_columns)


def run(
    path: Path,
    table: Given,
    out: str | None,
    proba: bool,
    keep: list[str],
    everything: bool,
    as_json: bool,
    allow: bool,
) -> None:
    """Stream the rows through the model."""
    from deciban.cli.models import open_model
    from deciban.cli.output import check_output
    from deciban.cli.progress import progress
    from deciban.cli.sinks import output_format, table_out
    from deciban.cli.views import Carrying

    output_format(out, as_json)
    check_output(out or "-", [*table.paths, path])
    model = open_model(path)
    source = table.open()
    kept = _kept(keep or table.identified_by, source.columns, source.name)
    view = Carrying(source, list(source.columns) if everything else kept)
    shape = Answers(model, view, proba)
    called: Counter[str] = Counter()
    stream = shape.stream(allow, called)
    first = next(stream, None)  # what is refused at once leaves not even a header
    with table_out(out, as_json, shape.schema) as write, progress(table, "predicting") as rows:
        for batch in chain([] if first is None else [first], stream):
            write(batch)
            rows(called.total())
    _tell(called, out)


def _kept(names: list[str], columns: Any, source: str) -> list[str]:
    from deciban.model.matrices import did_you_mean

    for name in names:
        if name not in columns:
            raise InputError(f"{source} has no column {name!r} to keep{did_you_mean(name, columns)}")
    return list(dict.fromkeys(names))


class Answers:
    """Batches of answers: the carried columns, the prediction, its probability, and perhaps one of every class."""

    def __init__(self, model: Model, view: Carrying, proba: bool) -> None:
        import pyarrow as pa

        self.model, self.view, self.proba = model, view, proba
        self.labels = pa.array(model.labels)
        ours = ["prediction", "probability", *(f"p({label})" for label in model.classes if proba)]
        for name in view.carried:
            if name in ours:
                raise InputError(
                    f"{view.name} has a column {name!r}, which is a name of the result. Hint: --keep the others"
                )
        self.names = [*view.carried, *ours]
        types = [array.type for array in view.nothing()] if view.carried else []
        self.schema = pa.schema(
            list(zip(self.names, [*types, self.labels.type, *([pa.float64()] * (len(ours) - 1))]))
        )

    def stream(self, allow: bool, called: Counter[str]) -> Iterator[Any]:
        """One batch for each block of rows; `called` counts the predictions."""
        import numpy as np

        for batches, parts in self.model.blocks(self.view, allow):
            log_p = self.model.scores(parts, "log_posterior")
            winner = log_p.argmax(axis=1)
            counts = np.bincount(winner, minlength=len(self.labels)).tolist()
            called.update({str(label): n for label, n in zip(self.model.classes, counts)})
            yield self._batch(batches, np.exp(log_p), winner)

    def _batch(self, batches: Any, p: Any, winner: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        columns = self.view.carried_by(batches)
        columns += [self.labels.take(pa.array(winner)), pa.array(p[np.arange(len(p)), winner])]
        if self.proba:
            columns += [pa.array(np.ascontiguousarray(p[:, k])) for k in range(p.shape[1])]
        cast = [column.cast(field.type) for column, field in zip(columns, self.schema)]
        return pa.RecordBatch.from_arrays(cast, schema=self.schema)


def _tell(called: Counter[str], out: str | None) -> None:
    """How many of what, for the eye; nothing where standard output is being read as data by a person."""
    if out is None or out == "-":
        return
    from deciban.cli.sheet import count, one_line, rows_in_words

    most = ", ".join(f"{label} {count(n)}" for label, n in called.most_common(5) if n)
    more = f" and {len(called) - 5} other classes" if len(called) > 5 else ""
    typer.echo(f"{rows_in_words(called.total())} to {out}" + one_line(f": {most}{more}" if most else ""), err=True)
