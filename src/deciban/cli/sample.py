"""`deciban sample`: draw rows from a model, to see what distribution it has learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr

EXAMPLE = a.example("deciban sample patients.deciban -n 5 --seed 1")
BATCH_ROWS = 1 << 16
"""The number of rows that are drawn at a time."""

RowCount = Annotated[int, typer.Option("-n", "--rows", metavar="NUMBER", min=0, help="How many rows to draw.")]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="NUMBER", min=0, help="The same seed draws the same rows.")
]
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="OUT",
        help="The .csv, .tsv, .jsonl, .parquet or .arrow file to write; by default CSV on stdout.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON lines on stdout instead of CSV.")]


def command(
    model: a.ModelFile,
    rows: RowCount = 10,
    seed: Seed = None,
    output: Out = None,
    json: Json = False,
    safe_cells: a.SafeCells = False,
    debug: a.Debug = False,
) -> None:
    """Draw rows from the distribution that a model has learned."""
    with handle_errors(debug):
        run(model, rows, seed, output, json, safe_cells)


def run(path: Path, n: int, seed: int | None, out: str | None, as_json: bool, safe_cells: bool = False) -> None:
    """Draw rows and write them in batches."""
    import numpy as np

    from deciban.cli.model_files import open_model
    from deciban.cli.output import check_output
    from deciban.cli.table_writers import check_safe_cells, open_table_writer

    check_safe_cells(out, as_json, safe_cells)
    check_output(out or "-", [path])
    model, rng = open_model(path), np.random.default_rng(seed)
    first = model.sample(min(n, BATCH_ROWS), rng)
    with open_table_writer(out, as_json, first.schema, safe_cells) as write:
        drawn = 0
        while first.num_rows:
            for batch in first.to_batches():
                write(batch)
            drawn += first.num_rows
            first = model.sample(min(n - drawn, BATCH_ROWS), rng) if drawn < n else first.slice(0, 0)
    if out is not None and out != "-":
        print_stderr(f"{drawn} rows to {out}")
