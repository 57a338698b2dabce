"""`deciban merge`: models of the same kind added up, as if their rows had been learned together."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import handle_errors, print_stderr

EXAMPLE = a.example("deciban merge north.deciban south.deciban -o both.deciban")
Several = Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Two models or more.", show_default=False)]
Out = Annotated[str, typer.Option("-o", "--output", metavar="MODEL", help="The file to write.", show_default=False)]


def command(models: Several, output: Out, debug: a.Debug = False) -> None:
    """Add models up: the result is what one training on all their rows would have given."""
    with handle_errors(debug):
        if len(models) < 2:
            raise typer.BadParameter("two models or more are wanted")
        from deciban.cli.model_files import open_model
        from deciban.cli.output import check_output, save
        from deciban.cli.render import format_row_count

        check_output(output)
        merged = reduce(lambda x, y: x + y, (open_model(path) for path in models))
        save(merged, output)
        if output != "-":
            print_stderr(f"{output}: {len(models)} models, {format_row_count(merged.ledger.n_rows)} together")
