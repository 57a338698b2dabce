"""The page Take away: downloads of the model, of predictions, of a report, and every step as code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from deciban.studio.data_set import quote_path
from deciban.studio.downloads import (
    encode_model,
    read_and_remove,
    write_commands,
    write_predictions,
    write_python,
    write_report,
    write_table,
)
from deciban.studio.render import render
from deciban.studio.requests import get_workspace, run
from deciban.studio.workspace import Workspace


async def show(request: Request) -> Response:
    """Show what can be downloaded, and the steps so far."""
    workspace = get_workspace(request)
    predict = ""
    if workspace.data is not None and workspace.model is not None:
        name = quote_path(workspace.model_name)
        predict = f"deciban predict {name} {workspace.data.shell_name} --all --proba -o predictions.csv"
    python, commands = write_python(workspace), write_commands(workspace)
    return render(request, "take_away.html", python=python, commands=commands, predict=predict)


def attach(name: str) -> dict[str, str]:
    """Return the header of a download under a name."""
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}


def _download(write: Callable[[Workspace], str | bytes], name: str, media_type: str) -> Route:
    """Return the route of a download of this name, whose content a function returns."""

    async def download(request: Request) -> Response:
        workspace = get_workspace(request)
        content = await run(workspace, write, workspace)
        return Response(content, 200, attach(name), media_type)

    return Route(f"/take-away/{name}", download)


async def download_model(request: Request) -> Response:
    """Return the model file."""
    workspace = get_workspace(request)
    content = await run(workspace, encode_model, workspace)
    return Response(content, 200, attach(workspace.model_name), "application/octet-stream")


def _download_csv(path: str, write: Callable[[Workspace], Path], ending: str) -> Route:
    """Return the route of a CSV file, named as the table with an ending, that a function writes; it is removed."""

    async def download(request: Request) -> Response:
        workspace = get_workspace(request)
        name = f"{workspace.need_data().stem}-{ending}.csv"
        file = await run(workspace, write, workspace)
        return StreamingResponse(read_and_remove(file), 200, attach(name), "text/csv; charset=utf-8")

    return Route(path, download)


ROUTES = [
    Route("/take-away", show),
    Route("/take-away/model", download_model),
    _download_csv("/take-away/predictions", write_predictions, "predictions"),
    _download_csv("/take-away/table", write_table, "corrected"),
    _download(write_python, "steps.py", "text/x-python; charset=utf-8"),
    _download(write_commands, "steps.sh", "text/x-shellscript; charset=utf-8"),
    _download(write_report, "report.html", "text/html; charset=utf-8"),
]
