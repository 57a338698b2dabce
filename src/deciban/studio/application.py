"""The ASGI application of the studio: the routes of pages, of jobs, and of scripts and styles, behind the gate."""

from __future__ import annotations

import warnings
from importlib import import_module

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from deciban.errors import DecibanWarning
from deciban.server.operations import show_warning
from deciban.studio.access import Access
from deciban.studio.gate import StudioGate
from deciban.studio.pages import PAGES
from deciban.studio.render import FOLDER
from deciban.studio.requests import get_workspace, redirect
from deciban.studio.workspace import Workspace


def create_studio(workspace: Workspace, access: Access) -> StudioGate:
    """Return the application, in which the pages of `deciban.studio.pages` work on this workspace."""
    warnings.simplefilter("always", DecibanWarning)
    warnings.showwarning = show_warning
    routes: list[Route | Mount] = [
        Route("/", show_start),
        Route("/job", show_job),
        Route("/job/stop", stop_job, methods=["POST"]),
        Mount("/static", StaticFiles(directory=FOLDER / "static")),
    ]
    for page in PAGES:
        routes += import_module(f"deciban.studio.pages.{page.name.replace('-', '_')}").ROUTES
    router = Router(routes, redirect_slashes=False)
    return StudioGate(_with_workspace(router, workspace), access, workspace.settings.report_address)


def _with_workspace(app: ASGIApp, workspace: Workspace) -> ASGIApp:
    """Return an application whose requests have the workspace."""

    async def call(scope: Scope, receive: Receive, send: Send) -> None:
        scope["studio"] = workspace
        await app(scope, receive, send)

    return call


async def show_start(request: Request) -> Response:
    """Go to the first page that there is something to do on."""
    workspace = get_workspace(request)
    return redirect("/train" if workspace.model is not None else "/open")


async def show_job(request: Request) -> Response:
    """Return the progress of the job, for the script; null where there was none."""
    job = get_workspace(request).job
    return JSONResponse(None if job is None else job.to_dict())


async def stop_job(request: Request) -> Response:
    """Stop the job."""
    job = get_workspace(request).job
    if job is not None:
        job.stop()
    return JSONResponse({})
