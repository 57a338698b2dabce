"""The page Open: choose a table, see its columns, and say what each is taken for."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deciban.model.columns import ROLES
from deciban.server.problems import Problem
from deciban.studio.column_views import ROLE_CHOICES, describe_columns
from deciban.studio.opening import EXAMPLES, MODEL_ENDING, guess_target, open_example, open_file
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, read_form, redirect, run
from deciban.studio.uploads import describe_limit, receive_file, remove_file
from deciban.studio.workspace import Workspace

SHOWN_ROWS = 8
"""The number of first rows on the page."""

MAX_SHOWN_COLUMNS = 300
"""The number of columns that the page lists; more would make it slow."""


async def show(request: Request) -> Response:
    """Show the ways to open a table, and the columns of the one that is open."""
    workspace = get_workspace(request)
    found = await run(workspace, _describe_table, workspace)
    limit = workspace.settings.max_upload_bytes
    return render(
        request, "open.html", examples=EXAMPLES, limit=limit, too_large=describe_limit(limit),
        role_choices=ROLE_CHOICES, role_meanings=ROLES, **found,
    )  # fmt: skip


def _describe_table(workspace: Workspace) -> dict[str, Any]:
    """Return the variables of the template that describe the open table."""
    data = workspace.data
    if data is None:
        return {"columns": [], "problem": "", "rows": [], "shown_columns": [], "target_reason": ""}
    columns, problem = describe_columns(workspace, data)
    shown = data.columns[:MAX_SHOWN_COLUMNS]
    table = data.read_rows(0, SHOWN_ROWS).select(list(shown))
    guessed, reason = guess_target(data)
    return {
        "columns": columns[:MAX_SHOWN_COLUMNS], "problem": problem, "shown_columns": shown,
        "rows": [[row[name] for name in shown] for row in table.to_pylist()],
        "target_reason": reason if guessed == workspace.target else "as you chose",
    }  # fmt: skip


async def open_dropped(request: Request) -> Response:
    """Receive a file that was dropped, and open it; one that cannot be opened is removed, and so is a model's."""
    workspace = get_workspace(request)
    path = await receive_file(request)
    try:
        await run(workspace, open_file, workspace, str(path), path.name)
    except Exception:
        remove_file(path)
        raise
    if path.suffix != MODEL_ENDING:
        return JSONResponse({"next": "/open"})
    remove_file(path)  # the model is in memory
    return JSONResponse({"next": "/train"})


async def open_by_path(request: Request) -> Response:
    """Open a table, or a model file, that lies on this machine."""
    workspace, form = get_workspace(request), await read_form(request)
    path = form.get("path", "").strip()
    if not path:
        raise Problem(400, "no path was given. Hint: the path of a file, such as ~/data/patients.csv")
    await run(workspace, open_file, workspace, path)
    return redirect("/open" if workspace.data is not None else "/train")


async def open_bundled(request: Request) -> Response:
    """Open a bundled table."""
    workspace, form = get_workspace(request), await read_form(request)
    await run(workspace, open_example, workspace, form.get("name", ""))
    return redirect("/open")


async def choose_roles(request: Request) -> Response:
    """Change the column to predict, or the role of a column; the model, if there is one, is closed."""
    workspace, form = get_workspace(request), await read_form(request)
    data = workspace.need_data()
    target = form.get("target", workspace.target)
    if target not in data.columns:
        raise Problem(400, f"there is no column {str(target)[:80]!r}")
    chosen = {name.removeprefix("role:"): role for name, role in form.items() if name.startswith("role:")}
    roles = {name: role for name, role in {**workspace.roles, **chosen}.items() if role and name != target}
    if not all(name in data.columns and role in ROLES for name, role in roles.items()):
        raise Problem(400, "a role was given that there is not")
    if (target, roles) != (workspace.target, workspace.roles):
        workspace.target, workspace.roles = target, roles
        workspace.close_model()
    return redirect("/open#columns")


ROUTES = [
    Route("/open", show),
    Route("/open/file", open_dropped, methods=["POST"]),
    Route("/open/path", open_by_path, methods=["POST"]),
    Route("/open/example", open_bundled, methods=["POST"]),
    Route("/open/roles", choose_roles, methods=["POST"]),
]
