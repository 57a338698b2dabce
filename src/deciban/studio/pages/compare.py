"""The page Compare: learners side by side, and two models: their differences, and their sum."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

import deciban
from deciban.errors import DecibanError
from deciban.formatting import format_value
from deciban.load_model import open_model
from deciban.metrics import comparison_advice
from deciban.model.differences import find_differences
from deciban.server.operations import collect_warnings
from deciban.server.problems import Problem
from deciban.studio.command_lines import format_table_arguments, format_table_words
from deciban.studio.data_set import quote_path
from deciban.studio.jobs import Job
from deciban.studio.pictures import draw_svg, inline_svg
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, read_form, redirect, run
from deciban.studio.uploads import receive_file, remove_file
from deciban.studio.workspace import Workspace

SHOWN_EVIDENCE_CHANGES = 12
"""The number of differences of each part that are shown."""

PARTS = {
    "class_rows": "Rows of each class", "priors": "Prior of each class", "roles": "Roles of columns",
    "blocks": "Joined columns", "options": "Assumptions",
}  # fmt: skip
"""The parts of differences that are tables, with their titles."""


async def show(request: Request) -> Response:
    """Show the comparison of learners, if there is one, and the differences of two models, if two are chosen."""
    workspace = get_workspace(request)
    first, second = (request.query_params.get(name, "") for name in ("first", "second"))
    found = await run(workspace, _compare_models, workspace, first, second)
    comparison = _get_comparison(workspace)
    table = [] if comparison is None else make_table(comparison)
    best = {} if comparison is None else comparison.best.arguments
    trainable = best.get("learner", "bayes") if best.keys() <= {"learner", "C"} else ""
    return render(
        request, "compare.html", comparison=comparison, table=table, trainable=trainable, first=first, second=second,
        command=f"deciban diff {quote_path(first)} {quote_path(second)}", **found,
    )  # fmt: skip


HEADS = {"": "", "calibr.": "calibration error", "params": "parameters"}
"""The heads of the table of the command, and those that the page has in their place."""


def make_table(comparison: Any) -> list[list[str]]:
    """Return the table of a comparison: a line for each learner, at its end whether it is to be chosen.

    "As good" are those that no other beats, in log-loss or in accuracy, as the advice has it.
    """
    head, *lines = comparison_advice.tabulate_learners(comparison, False)
    tags = {each.name: "as good" for each in comparison.unbeaten} | {comparison.best.name: "recommended"}
    words = [[*line[1:], tags.get(line[1], "")] for line in lines]
    return [[*(HEADS.get(name, name).capitalize() for name in head[1:]), ""], *words]


def _get_comparison(workspace: Workspace) -> Any:
    """Return the comparison of learners on the open table as it is now; None where there is none."""
    key, found = workspace.page_state.get("comparison", (None, None))
    return found if key == _get_comparison_key(workspace) else None


def _get_comparison_key(workspace: Workspace) -> tuple[Any, ...]:
    """Return what a comparison depends on: the table with its corrected labels, the target and the roles."""
    data = workspace.data
    return data and data.path, data and data.labels, workspace.target, dict(workspace.roles)


async def start(request: Request) -> Response:
    """Start the comparison of learners."""
    workspace = get_workspace(request)
    data = workspace.need_data()
    workspace.need_target()
    workspace.start_job("Comparing learners", partial(_compare_learners, workspace), data.n_rows)
    return JSONResponse({})


def _compare_learners(workspace: Workspace, job: Job) -> str:
    data, key = workspace.need_data(), _get_comparison_key(workspace)
    comparison = deciban.compare(
        data.table, target=workspace.need_target(), roles=dict(workspace.roles), progress=job
    )  # fmt: skip
    with workspace.lock:
        if key != _get_comparison_key(workspace):
            return "/compare"  # another table, other roles or labels were chosen meanwhile
        workspace.page_state["comparison"] = (key, comparison)
        workspace.record(
            f"Compared learners on {data.name}",
            f"print(deciban.compare({format_table_arguments(workspace)}))",
            f"deciban compare {format_table_words(workspace)}",
        )
    return "/compare"


async def show_picture(request: Request) -> Response:
    """Return the picture of the comparison."""
    workspace = get_workspace(request)
    comparison = _get_comparison(workspace)
    if comparison is None:
        raise Problem(409, "the learners were not compared yet")
    svg = await run(workspace, draw_svg, "comparison", comparison)
    return HTMLResponse(inline_svg(svg, "How much worse each learner is than the best"))


def _get_model(workspace: Workspace, name: str) -> Any:
    if name not in workspace.models:
        raise Problem(404, f"there is no model {name[:80]!r}. Hint: open its file on this page")
    return workspace.models[name]


def _compare_models(workspace: Workspace, first: str, second: str) -> dict[str, Any]:
    """Return the variables of the template on the differences of two models; none where two are not chosen."""
    if not first or not second:
        return {"changes": None, "evidence": [], "parts": []}
    changes = find_differences(_get_model(workspace, first), _get_model(workspace, second))
    parts = [
        (title, [(name, *map(format_value, both)) for name, both in changes[part].items()])
        for part, title in PARTS.items()
        if changes[part]
    ]
    facts = [(part, *map(format_value, both)) for part in ("target", "rows") for both in changes[part].values()]
    if facts:
        parts.insert(0, ("Whole model", facts))
    return {"changes": changes, "parts": parts, "evidence": changes["evidence"][:SHOWN_EVIDENCE_CHANGES]}


async def add_model(request: Request) -> Response:
    """Receive a model file, to compare it with others or to merge it."""
    workspace = get_workspace(request)
    path = await receive_file(request)
    try:
        name = await run(workspace, _add_model_file, workspace, path)
    finally:
        remove_file(path)
    return JSONResponse({"next": f"/compare?added={name}#models"})


def _add_model_file(workspace: Workspace, path: Path) -> str:
    model = open_model(path)
    name = workspace.name_model(path.stem)
    workspace.models[name] = model
    workspace.notice = f"{name} was added to the models of this studio."
    return name


async def merge(request: Request) -> Response:
    """Add two models up, and open the sum."""
    workspace, form = get_workspace(request), await read_form(request)
    await run(workspace, _merge, workspace, form.get("first", ""), form.get("second", ""))
    return redirect("/train")


def _merge(workspace: Workspace, first: str, second: str) -> None:
    if first == second:
        raise Problem(400, "a model cannot be merged with itself: its rows would count twice. Hint: choose another")
    one, two = _get_model(workspace, first), _get_model(workspace, second)
    with collect_warnings() as warned:
        try:
            merged = one + two
        except DecibanError as error:
            raise Problem(409, f"these two cannot be merged: {error}") from None
    name = workspace.name_model("merged")
    workspace.keep_data_for(merged)
    workspace.set_model(merged, name, None, list(warned))
    workspace.record(
        f"Merged {first} and {second}",
        f"model = deciban.load({first!r}) + deciban.load({second!r})\nmodel.save({name!r})",
        f"deciban merge {quote_path(first)} {quote_path(second)} -o {quote_path(name)}",
    )
    workspace.notice = f"{first} and {second} were merged into {name}: it knows all their rows."


async def choose(request: Request) -> Response:
    """Make another model of the studio the open one."""
    workspace, form = get_workspace(request), await read_form(request)
    await run(workspace, _choose, workspace, form.get("name", ""))
    return redirect("/train")


def _choose(workspace: Workspace, name: str) -> None:
    model, table = _get_model(workspace, name), workspace.data
    workspace.keep_data_for(model)
    workspace.set_model(model, name, model.held_out)
    if table is not None and workspace.data is None:
        workspace.notice = f"{table.name} was closed: it has not the columns of {name}."


ROUTES = [
    Route("/compare", show),
    Route("/compare/start", start, methods=["POST"]),
    Route("/compare/picture", show_picture),
    Route("/compare/file", add_model, methods=["POST"]),
    Route("/compare/merge", merge, methods=["POST"]),
    Route("/compare/choose", choose, methods=["POST"]),
]
