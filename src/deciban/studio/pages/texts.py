"""The page Texts: a text with its words highlighted by their evidence, and the strongest words of each class."""

from __future__ import annotations

import time
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deciban.errors import DecibanError
from deciban.formatting import format_signed, format_word
from deciban.html_fragments import Markup, element, make_table
from deciban.model.model import Model
from deciban.server.problems import Problem
from deciban.studio.pages.ask import find_row, read_row_number
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, read_json, run
from deciban.studio.row_answers import answer_row, show_answer
from deciban.studio.row_fields import format_cell, read_row
from deciban.studio.workspace import Workspace

SHOWN_TELLTALES = 10
"""Words of each class that are listed."""

MAX_TELLTALE_CLASSES = 6
"""Classes whose words are listed."""


async def show(request: Request) -> Response:
    """Show a text of the table, or an empty one, with its words highlighted."""
    workspace = get_workspace(request)
    if workspace.model is None:
        return render(request, "texts.html", columns=None)
    number = read_row_number(request)
    context = await run(workspace, _make_context, workspace, number, request.query_params.get("column", ""))
    return render(request, "texts.html", **context)


def list_text_columns(model: Model) -> list[str]:
    """Return the columns of texts."""
    return [feature.column for feature in model._layout.texts]


def _make_context(workspace: Workspace, number: int, wanted: str) -> dict[str, Any]:
    model = workspace.need_model()
    columns = list_text_columns(model)
    if not columns:
        return {"columns": []}
    row, truth, number = find_row(workspace, number)
    column = wanted if wanted in columns else columns[0]
    text = format_cell(row.get(column))
    return {
        "columns": columns, "column": column, "text": text, "truth": truth, "row_number": number,
        "answer": _answer(workspace, {"column": column, "text": text})["html"],
        "telltales": show_telltales(model, column),
    }  # fmt: skip


def _answer(workspace: Workspace, sent: dict[str, Any]) -> dict[str, Any]:
    """Return the answer for a text, all other columns missing."""
    start, model = time.perf_counter(), workspace.need_model()
    column = sent.get("column")
    if column not in list_text_columns(model):
        raise Problem(400, "there is no such column of texts")
    answer = answer_row(model, read_row(model, {column: sent.get("text")}))
    html = show_answer(answer, None)
    return {"html": html, "milliseconds": 1000 * (time.perf_counter() - start)}


async def answer(request: Request) -> Response:
    """Answer a changed text."""
    workspace, sent = get_workspace(request), await read_json(request)
    return JSONResponse(await run(workspace, _answer, workspace, sent))


def show_telltales(model: Model, column: str) -> Markup | None:
    """Return the words with the strongest evidence for each class; None where the learner has none."""
    tables = []
    try:
        for label in model.classes[:MAX_TELLTALE_CLASSES]:
            found = model.telltales(label, SHOWN_TELLTALES, column)
            rows = [[format_word(each.word), format_signed(each.decibans, 1)] for each in found]
            tables.append(make_table(["word", "decibans"], rows, str(label)))
    except DecibanError:  # words that were hashed have no names
        return None
    return element("div", *tables, class_="db telltales")


ROUTES = [Route("/texts", show), Route("/texts/answer", answer, methods=["POST"])]
