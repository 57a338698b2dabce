"""`deciban sample`: draw rows from a model, to see what distribution it has learned."""

from __future__ import annotations

from pathlib import Path

from deciban.cli import options as a
from deciban.cli.error_handling import print_stderr
from deciban.cli.files import check_output, open_model
from deciban.cli.parser import DEBUG, command, number
from deciban.cli.table_writers import check_safe_cells, open_table_writer

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

    check_safe_cells(output, json, safe_cells)
    check_output(output or "-", [model])
    found, rng = open_model(model), np.random.default_rng(seed)
    drawn = found.sample(min(rows, BATCH_ROWS), rng)
    with open_table_writer(output, json, drawn.schema, safe_cells) as write:
        left = rows
        while drawn.num_rows:
            for batch in drawn.to_batches():
                write(batch)
            left -= drawn.num_rows
            drawn = found.sample(min(left, BATCH_ROWS), rng) if left else drawn.slice(0, 0)
    if output is not None and output != "-":
        print_stderr(f"{rows} rows to {output}")
