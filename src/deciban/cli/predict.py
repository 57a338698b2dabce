"""`deciban predict`: a class and its probability for every row of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import decision_options as d
from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.errors import InputError

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput
    from deciban.cli.row_views import Carrying
    from deciban.model.model import Model
    from deciban.scores.decision import Decision

EXAMPLE = a.example(
    "deciban predict patients.deciban new-patients.csv --keep patient",
    "deciban predict patients.deciban new-patients.csv --proba -o answers.parquet",
    "deciban predict patients.deciban new-patients.csv --cost pneumonia:cold=20 --reject 0.5",
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
UNDECIDED = "\0undecided"
"""Counted under a name that no class has."""

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
    safe_cells: a.SafeCells = False,
    cost: d.Cost = None,
    reject: d.Reject = None,
    threshold: d.Threshold = None,
    reject_novel: d.RejectNovel = None,
    prior: a.Prior = None,
    allow_missing_columns: a.AllowMissing = False,
    sql: a.Sql = None,
    folders: a.Folders = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    errors: a.Errors = "strict",
    missing: a.Missing = None,
    hive: a.Hive = False,
    debug: a.Debug = False,
) -> None:
    """Predict every row of a table: one line out for each row in, in the same order."""
    from deciban.cli.inputs import direct_role_hints_to_training, given

    with (
        handle_errors(debug),
        direct_role_hints_to_training(),
        given(data, sql, folders, format, encoding, errors, missing, hive) as table,
    ):
        rule = Rule(cost, reject, threshold, reject_novel, prior)
        run(model, rule, table, output, proba, keep or [], everything, json, allow_missing_columns, safe_cells)


@dataclass(frozen=True)
class Rule:
    """How rows are to be decided, as the command line says it."""

    cost: list[str] | None = None
    reject: float | None = None
    threshold: list[str] | None = None
    reject_novel: float | None = None
    prior: str | None = None

    def applied(self, model: Model) -> tuple[Model, Decision | None]:
        """The model under the priors that are given, and what to call a row by its posterior."""
        from deciban.scores.decision import rule_of

        model = model if self.prior is None else model.with_priors(a.parse_prior(self.prior))
        costs, bars = d.parse_costs(self.cost, model.classes), d.parse_thresholds(self.threshold, model.classes)
        return model, rule_of(model.classes, costs, self.reject, bars)


def run(
    path: Path,
    how: Rule,
    table: TableInput,
    out: str | None,
    proba: bool,
    keep: list[str],
    everything: bool,
    as_json: bool,
    allow: bool,
    safe_cells: bool = False,
) -> None:
    """Stream the rows through the model."""
    from deciban.cli.model_files import open_model
    from deciban.cli.output import check_output
    from deciban.cli.progress import progress
    from deciban.cli.row_views import Carrying
    from deciban.cli.table_writers import check_safe_cells, table_out

    check_safe_cells(out, as_json, safe_cells)
    check_output(out or "-", [*table.paths, path])
    model, rule = how.applied(open_model(path))
    source = table.open()
    kept = _kept(keep or table.identified_by, source.columns, source.name)
    view = Carrying(source, list(source.columns) if everything else kept)
    shape = Answers(model, view, proba, rule, how.reject_novel)
    called: Counter[str] = Counter()
    stream = shape.stream(allow, called)
    first = next(stream, None)  # what is refused at once leaves not even a header
    with table_out(out, as_json, shape.schema, safe_cells) as write, progress(table, "predicting") as rows:
        for batch in chain([] if first is None else [first], stream):
            write(batch)
            rows(called.total())
    _tell(called, out)


def _kept(names: list[str], columns: Any, source: str) -> list[str]:
    from deciban.errors import did_you_mean

    for name in names:
        if name not in columns:
            raise InputError(f"{source} has no column {name!r} to keep{did_you_mean(name, columns)}")
    return list(dict.fromkeys(names))


class Answers:
    """Batches of answers: the carried columns, the prediction, its probability, and perhaps one of every class."""

    def __init__(
        self, model: Model, view: Carrying, proba: bool, rule: Decision | None, reject_novel: float | None
    ) -> None:
        import pyarrow as pa

        self.model, self.view, self.proba = model, view, proba
        self.rule, self.reject_novel = rule, reject_novel
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
            winner = self.model.decide(parts, log_p, self.rule, self.reject_novel)
            counts = np.bincount(winner + 1, minlength=len(self.labels) + 1).tolist()
            called.update(dict(zip([UNDECIDED, *map(str, self.model.classes)], counts)))
            yield self._batch(batches, np.exp(log_p), winner)

    def _batch(self, batches: Any, p: Any, winner: Any) -> Any:
        import numpy as np
        import pyarrow as pa

        columns = self.view.carried_by(batches)
        undecided = winner < 0
        columns += [
            self.labels.take(pa.array(winner, mask=undecided)),
            pa.array(p[np.arange(len(p)), winner], mask=undecided),
        ]
        if self.proba:
            columns += [pa.array(np.ascontiguousarray(p[:, k])) for k in range(p.shape[1])]
        cast = [column.cast(field.type) for column, field in zip(columns, self.schema)]
        return pa.RecordBatch.from_arrays(cast, schema=self.schema)


def _tell(called: Counter[str], out: str | None) -> None:
    """How many of what, for the eye; nothing where standard output is being read as data by a person."""
    if out is None or out == "-":
        return
    from deciban.cli.render import count, format_row_count

    undecided = called.pop(UNDECIDED, 0)
    most = ", ".join(f"{label} {count(n)}" for label, n in called.most_common(5) if n)
    more = f" and {len(called) - 5} other classes" if len(called) > 5 else ""
    more += f"; undecided {count(undecided)}" if undecided else ""
    rows = undecided + called.total()
    print_stderr(f"{format_row_count(rows)} to {out}" + (f": {most}{more}" if most else ""))
