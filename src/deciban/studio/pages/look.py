"""The page Look: pictures of the data, the model and its quality."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from deciban.command_hints import adapt_hint
from deciban.errors import DecibanError
from deciban.studio.look_pictures import (
    COVARIANCES,
    KINDS,
    PictureKind,
    choose_columns,
    get_kind,
    get_picture,
    is_possible,
    list_number_columns,
)
from deciban.studio.pictures import inline_svg
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, run
from deciban.studio.workspace import Workspace

OPTION_NAMES = ("x", "y", "covariance", "column", "for", "against")
"""The options of pictures, as parameters of their addresses."""


def read_options(request: Request) -> dict[str, str]:
    """Return the options of a picture."""
    return {name: value for name in OPTION_NAMES if (value := request.query_params.get(name, ""))}


async def show(request: Request) -> Response:
    """Show one picture with its options, its download, and the code that draws it."""
    workspace = get_workspace(request)
    possible = [name for name, kind in KINDS.items() if is_possible(workspace, kind)]
    name = request.query_params.get("picture", "") or await run(workspace, _choose_picture, workspace)
    get_kind(name)
    found = await run(workspace, _describe_picture, workspace, name, read_options(request))
    return render(request, "look.html", kinds=KINDS, possible=possible, name=name, covariances=COVARIANCES, **found)


def _choose_picture(workspace: Workspace) -> str:
    """Return the picture that is shown first."""
    if workspace.model is None:
        return "dependence"
    return "boundary" if len(list_number_columns(workspace)) >= 2 else "densities"


def _describe_picture(workspace: Workspace, name: str, options: dict[str, str]) -> dict[str, Any]:
    """Return the variables of the template that describe a picture."""
    kind, numbers = KINDS[name], list_number_columns(workspace)
    shown = dict.fromkeys(OPTION_NAMES, "") | options
    if not is_possible(workspace, kind) or (name == "boundary" and len(numbers) < 2):
        why = "two columns of numbers" if name == "boundary" else {
            "model": "a model", "report": "a model that was trained here", "data": "a table"}[kind.needs]  # fmt: skip
        return {
            "missing": why, "refused": "", "numbers": numbers, "options": shown, "query": "", "command": "",
            "python": "",
        }  # fmt: skip
    if name == "boundary":
        options["x"], options["y"] = choose_columns(workspace, options)
    query, shown = f"?{urlencode(options)}" if options else "", shown | options
    refused = _find_refusal(workspace, kind, options)
    has_code = not refused and (kind.needs == "model" or workspace.data is not None)  # a report is that of a table
    return {
        "missing": "", "refused": refused, "numbers": numbers, "options": shown, "query": query,
        "command": kind.command(workspace, options) if has_code else "",
        "python": kind.python(workspace, options) if has_code else "",
    }  # fmt: skip


def _find_refusal(workspace: Workspace, kind: PictureKind, options: dict[str, str]) -> str:
    """Return why a picture of this model cannot be drawn, or an empty text; the page asks for the picture itself."""
    try:
        kind.check(workspace, options)
    except DecibanError as error:  # not of this kind of model
        return adapt_hint(str(error))
    return ""


async def show_picture(request: Request) -> Response:
    """Return a picture as an element of a page."""
    workspace, name = get_workspace(request), request.path_params["name"]
    svg = await run(workspace, get_picture, workspace, name, read_options(request))
    return HTMLResponse(inline_svg(svg, f"{KINDS[name].title}: {KINDS[name].caption}"))


async def download_picture(request: Request) -> Response:
    """Return a picture as a file."""
    workspace, name = get_workspace(request), request.path_params["name"]
    svg = await run(workspace, get_picture, workspace, name, read_options(request))
    return Response(svg, 200, {"content-disposition": f'attachment; filename="{name}.svg"'}, "image/svg+xml")


ROUTES = [
    Route("/look", show),
    Route("/look/picture/{name}", show_picture),
    Route("/look/download/{name}.svg", download_picture),
]
