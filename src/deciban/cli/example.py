"""`deciban example`: a small table that comes with deciban, to try things on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from deciban.cli import arguments as a
from deciban.cli.manners import manners

EXAMPLE = a.example("deciban example patients > patients.csv", "deciban example messages > messages.csv")
FOLDER = Path(__file__).parent / "examples"
Name = Annotated[
    Literal["patients", "new-patients", "messages", "new-messages"],
    typer.Argument(
        help="patients: 400 with a diagnosis. new-patients: 6 without. messages: 400 texts with a topic. "
        "new-messages: 6 without.",
        show_default=False,
    ),
]


def command(name: Name, debug: a.Debug = False) -> None:
    """Write a bundled table to stdout as CSV. Patients and messages are made up."""
    with manners(debug):
        sys.stdout.buffer.write((FOLDER / f"{name}.csv").read_bytes())
