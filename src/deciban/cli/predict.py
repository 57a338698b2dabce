"""`deciban predict` and `deciban sample`: tables that a model writes.

`predict` writes the class of every row of a table with its probability, `sample` rows that are drawn from the model.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from typing import Any

from deciban.cli import decision_options as d
from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr, progress
from deciban.cli.inputs import open_table
from deciban.cli.parser import DEBUG, command, flag, list_option, number
from deciban.cli.table_output import check_table_output, open_table_writer, output_format
from deciban.command_hints import direct_role_hints_to_training
from deciban.formatting import format_count
from deciban.load_model import open_model, resolve_decision
from deciban.sources.row_views import CopyingView
from deciban.sources.source import check_column


@command(
    a.MODEL_FILE, a.TABLE_OUTPUT,
    flag("--proba", "Add a column p(CLASS) for every class."),
    list_option("--keep", "COL", "Copy a column of DATA to the output; by default the file, of documents."),
    flag("--all", "Copy all columns of DATA to the output.", dest="everything"),
    a.JSON_LINES, a.SAFE_CELLS, d.COST, d.REJECT, d.THRESHOLD, d.REJECT_NOVEL, a.PRIOR, a.ALLOW_MISSING,
    *a.TABLE_OPTIONS, a.SPARK, DEBUG,
    examples=[
        "deciban predict patients.deciban new-patients.csv --keep patient",
        "deciban predict patients.deciban new-patients.csv --proba -o answers.parquet",
        "deciban predict patients.deciban new-patients.csv --cost pneumonia:cold=20 --reject 0.5",
    ],
)  # fmt: skip
def predict(model: Path, output: str | None, json: bool, safe_cells: bool, **options: Any) -> None:
    """Predict every row of a table: one output line for each row, in the same order."""
    from deciban.model.predictions import Predictions

    with direct_role_hints_to_training(), open_table(options) as table:
        check_table_output(output, json, safe_cells, [*table.paths, model])
        loaded, rule = resolve_decision(open_model(model), options)
        table = table.for_model(loaded)
        source = table.open()
        if table.spark is not None:
            from deciban.cli.spark_session import write_predictions

            write_predictions(loaded, source, rule, output, options)
            return
        kept = list(dict.fromkeys(options["keep"] or table.identified_by))
        for name in kept:
            check_column(source, name, " to keep")
        view = CopyingView(source, list(source.columns) if options["everything"] else kept)
        is_rounded = output_format(output, json) in ("csv", "tsv")
        answers = Predictions(loaded, view, options["proba"], rule, options["reject_novel"], is_rounded)
        counts: Counter[str] = Counter()
        stream = answers.stream(options["allow_missing_columns"], counts)
        first = next(stream, None)  # an immediate error leaves no header
        with (
            open_table_writer(output, json, answers.schema, safe_cells) as write,
            progress(table, "predicting") as rows,
        ):
            for batch in chain([] if first is None else [first], stream):
                write(batch)
                rows(counts.total())
        _print_counts(counts, output)
        answers.monitor.warn()


def _print_counts(counts: Counter[str], out: str | None) -> None:
    """Print the number of rows of the commonest classes to standard error, unless the rows go to standard output."""
    if out is None or out == "-":
        return
    from deciban.model.predictions import UNDECIDED

    decided = [(label, n) for label, n in counts.most_common() if n and label != UNDECIDED]
    most = ", ".join(f"{label} {format_count(n)}" for label, n in decided[:5])
    more = f" and {format_count(len(decided) - 5, 'other class')}" if len(decided) > 5 else ""
    undecided = f"undecided {format_count(counts[UNDECIDED])}" if counts[UNDECIDED] else ""
    shown = "; ".join(filter(None, (most + more, undecided)))
    print_stderr(f"{format_count(counts.total(), 'row')} to {out}" + (f": {shown}" if shown else ""))


BATCH_ROWS = 1 << 16
"""The number of rows that are drawn at a time."""


@command(
    a.MODEL_FILE,
    number("-n --rows", "NUMBER", "How many rows to draw.", minimum=0, default=10),
    number("--seed", "NUMBER", "The same seed draws the same rows.", minimum=0),
    a.TABLE_OUTPUT, a.JSON_LINES, a.SAFE_CELLS, DEBUG,
    examples=["deciban sample patients.deciban -n 5 --seed 1"],
)  # fmt: skip
def sample(model: Path, rows: int, seed: int | None, output: str | None, json: bool, safe_cells: bool) -> None:
    """Draw rows from the distribution that a model has learned."""
    import numpy as np

    check_table_output(output, json, safe_cells, [model])
    found, rng = open_model(model), np.random.default_rng(seed)
    starts = range(0, max(rows, 1), BATCH_ROWS)
    tables = (found.sample(min(rows - start, BATCH_ROWS), rng) for start in starts)
    first = next(tables)
    with open_table_writer(output, json, first.schema, safe_cells) as write:
        for table in chain([first], tables):
            for batch in table.to_batches():
                write(batch)
    if output is not None and output != "-":
        print_stderr(f"{format_count(rows, 'row')} to {output}")
