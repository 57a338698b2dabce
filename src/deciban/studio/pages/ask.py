"""The page Ask: one row, its answer while any value changes, another row to compare, and what would flip it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deciban.errors import InputError, change_errors
from deciban.model.model import Model
from deciban.model.single_changes import read_typed_row
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, parse_whole_number, read_json, run
from deciban.studio.row_answers import (
    answer_pair,
    answer_row,
    rank_columns,
    show_answer,
    show_changes,
    show_comparison,
)
from deciban.studio.row_fields import choose_typical_row, make_fields, read_row
from deciban.studio.workspace import Workspace


async def show(request: Request) -> Response:
    """Show the form of a row, and the answer for it."""
    workspace = get_workspace(request)
    if workspace.model is None:
        return render(request, "ask.html", fields=None)
    number = read_row_number(request)
    context = await run(workspace, _make_context, workspace, number)
    return render(request, "ask.html", **context)


def read_row_number(request: Request) -> int:
    """Return the number of the row that an address asks for, from 1; 1 where it is no number."""
    return parse_whole_number(request.query_params.get("row", "")) or 1


def _make_context(workspace: Workspace, number: int) -> dict[str, Any]:
    """Return what the template shows: the fields and the answer of a row of the table, or of a typical row."""
    model = workspace.need_model()
    row, truth, found = find_row(workspace, number)
    if found not in (0, number):
        workspace.notice = f"The table has no row {number}: this is row {found}."
    fields = make_fields(model, row)
    values = {field.name: field.value for field in fields}
    answer = answer_row(model, read_row(model, values))
    return {
        "fields": fields, "row_number": found, "truth": truth, "classes": [str(label) for label in model.classes],
        "answer": show_answer(answer, get_order(workspace, model)), "favoured": str(answer.explanation.winner[0]),
    }  # fmt: skip


def find_row(workspace: Workspace, number: int) -> tuple[dict[str, Any], str, int]:
    """Return a row of the open table, its class as text, and its number from 1; beyond the last row, the first.

    Where no table is open, a typical row has the number 0; the class is empty where it is not known.
    """
    model = workspace.need_model()
    if workspace.data is None:
        return choose_typical_row(model), "", 0
    try:
        row = read_typed_row(model, workspace.data.source(), number - 1)
    except InputError:
        if number == 1 or workspace.data.read_rows(number - 1, 1).num_rows:  # it is there, but cannot be read
            raise
        return find_row(workspace, 1)
    truth = ""
    if model.target in workspace.data.columns:
        cells = workspace.data.read_rows(number - 1, 1).column(model.target).to_pylist()
        truth = cells[0] if cells and cells[0] is not None else ""
    return row, truth, number


def get_order(workspace: Workspace, model: Model) -> list[str]:
    """Return the order of columns in waterfalls, which is kept as long as the model is open."""
    kept = workspace.page_state.get("ask")
    if kept is None or kept[0] is not model:
        kept = workspace.page_state["ask"] = model, rank_columns(model)
    order: list[str] = kept[1]
    return order


async def answer(request: Request) -> Response:
    """Answer a changed row: the HTML of the answer, and the milliseconds that it took."""
    workspace, sent = get_workspace(request), await read_json(request)
    with change_errors(_adapt_to_form):
        return JSONResponse(await run(workspace, _answer, workspace, sent))


def _adapt_to_form(message: str) -> str:
    """Return a message about a cell of the form without its row, and without a hint that needs the command line.

    >>> _adapt_to_form("column 'age' of the row holds 'x' in row 1, which is not a number. Hint: --missing x")
    "column 'age' holds 'x', which is not a number"
    >>> _adapt_to_form("column 'age' of the row holds '. Hint: ' in row 1, which is no number. Hint: --missing x")
    "column 'age' holds '. Hint: ', which is no number"
    """
    column, _, found = message.partition(" of the row holds ")
    cell, place, fault = found.rpartition(" in row 1, which")
    if place:
        message = f"{column} holds {cell}, which{fault}"
    fault, _, advice = message.rpartition(". Hint: ")
    return fault if fault and "--" in advice else message


def _answer(workspace: Workspace, sent: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON answer for the row that was sent; with a kept row, also the comparison of the two."""
    start, model = time.perf_counter(), workspace.need_model()
    row, favoured = read_row(model, sent.get("row")), sent.get("favoured")
    found = answer_row(model, row, favoured if isinstance(favoured, str) else None)
    result = {"html": show_answer(found, get_order(workspace, model)), "prediction": str(found.prediction)}
    if sent.get("kept") is not None:
        kept = read_row(model, sent["kept"])
        rows = [read_typed_row(model, each) for each in (kept, row)]
        result["comparison"] = show_comparison(*answer_pair(model, kept, row), rows)
    return result | {"milliseconds": 1000 * (time.perf_counter() - start)}


async def change(request: Request) -> Response:
    """Return what would change the answer for a row.

    This takes a second for a row of hundreds of columns, and reads the model only: the lock is not held, so that
    answers to further changes of the row do not wait for it.
    """
    model, sent = get_workspace(request).need_model(), await read_json(request)
    row = read_row(model, sent.get("row"))
    with change_errors(_adapt_to_form):
        return JSONResponse({"html": await asyncio.to_thread(show_changes, model, row)})


ROUTES = [
    Route("/ask", show),
    Route("/ask/answer", answer, methods=["POST"]),
    Route("/ask/changes", change, methods=["POST"]),
]
