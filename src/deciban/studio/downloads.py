"""Results to take away: the model file, predictions, the steps as code, and a report in one file."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from deciban.errors import DecibanError
from deciban.model.predictions import Predictions
from deciban.sources.number_formats import get_plain_format
from deciban.sources.row_views import CopyingView
from deciban.sources.table_writers import Change, make_csv_writer, neutralise_formula
from deciban.studio.look_pictures import KINDS, get_picture, is_possible, list_number_columns
from deciban.studio.pictures import inline_svg
from deciban.studio.render import FOLDER, render_fragment
from deciban.studio.reports import make_model_context
from deciban.studio.workspace import Workspace

REPORT_PICTURES = ("reliability", "roc", "densities", "boundary", "nomogram")
"""The pictures of the report."""

DOWNLOAD_CHUNK_BYTES = 1 << 16


def write_python(workspace: Workspace) -> str:
    """Return a Python program with every step."""
    parts = [f"# {step.title}\n{step.python}" for step in workspace.steps if step.python]
    return "\n\n".join(["import deciban", *parts]) + "\n"


def write_commands(workspace: Workspace) -> str:
    """Return a shell script with every step."""
    parts = [f"# {step.title}\n{step.command}" for step in workspace.steps if step.command]
    return "\n\n".join(["#!/bin/sh\nset -e", *parts]) + "\n"


def encode_model(workspace: Workspace) -> bytes:
    """Return the bytes of the open model's file."""
    model = workspace.need_model()
    with tempfile.TemporaryDirectory(dir=workspace.settings.folder) as folder:
        path = Path(folder) / "model.deciban"
        model.save(path)
        return path.read_bytes()


def write_predictions(workspace: Workspace) -> Path:
    """Predict all rows of the open table; return the path of a CSV file with its columns and the predictions.

    Texts that a spreadsheet would take for formulas begin with an apostrophe. The caller removes the file.
    """
    model, source = workspace.need_model(), workspace.need_data().source()
    predictions = Predictions(model, CopyingView(source, list(source.columns)), True, None, None, True)
    batches = predictions.stream(False, Counter())
    return _write_csv(workspace, predictions.schema, batches, ",", [neutralise_formula])


def write_table(workspace: Workspace) -> Path:
    """Write the open table with its corrected labels as a CSV file, and return its path; the caller removes it.

    A row that was forgotten has no label, so that training leaves it out. Semicolons separate cells of which numbers
    have a decimal comma, by which such numbers are recognised.
    """
    source = workspace.need_data().source()
    batches = source.batches(dict.fromkeys(source.columns, "text"))
    first = next(batches)
    delimiter = ";" if get_plain_format(source).decimal == "," else ","
    return _write_csv(workspace, first.schema, chain([first], batches), delimiter)


def _write_csv(
    workspace: Workspace, schema: Any, batches: Iterable[Any], delimiter: str, changes: Sequence[Change] = ()
) -> Path:
    """Write batches to a new CSV file in the studio's folder, and return its path."""
    handle, name = tempfile.mkstemp(suffix=".csv", dir=workspace.settings.folder)
    try:
        with os.fdopen(handle, "wb") as file:
            write = make_csv_writer(file, schema, delimiter, changes)
            for batch in batches:
                write(batch)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def read_and_remove(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and remove it."""
    try:
        with path.open("rb") as file:
            while chunk := file.read(DOWNLOAD_CHUNK_BYTES):
                yield chunk
    finally:
        path.unlink(missing_ok=True)


def write_report(workspace: Workspace) -> str:
    """Return a report as one HTML file that needs no other: figures, findings, pictures and steps."""
    model, report = workspace.need_model(), workspace.report
    return render_fragment(
        "report.html", workspace=workspace, model=model, styles=(FOLDER / "static" / "studio.css").read_text("utf-8"),
        pictures=list(_draw_pictures(workspace)), python=write_python(workspace), commands=write_commands(workspace),
        measured=report.notes() if report is not None else [], **make_model_context(workspace),
    )  # fmt: skip


def _draw_pictures(workspace: Workspace) -> Iterator[tuple[str, str, Any]]:
    """Yield title, caption and SVG of each picture of the report that can be drawn."""
    for name in REPORT_PICTURES:
        kind = KINDS[name]
        if not is_possible(workspace, kind) or (name == "boundary" and len(list_number_columns(workspace)) < 2):
            continue
        try:
            svg = get_picture(workspace, name, {})
        except DecibanError:  # not of this kind of model
            continue
        yield kind.title, kind.caption, inline_svg(svg, kind.caption)
