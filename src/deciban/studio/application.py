"""The ASGI application of the studio: the routes of pages, of jobs, and of scripts and styles, behind the gate."""

from __future__ import annotations

import warnings
from importlib import import_module

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from deciban.errors import DecibanWarning
from deciban.server.operations import show_warning
from deciban.studio.access import Access
from deciban.studio.gate import StudioGate
from deciban.studio.pages import PAGES
from deciban.studio.render import FOLDER
from deciban.studio.requests import get_workspace, redirect
from deciban.studio.workspace import Workspace


def create_studio(workspace: Workspace, access: Access) -> StudioGate:
    """Return the application, in which the pages of `deciban.studio.pages` work on this workspace.

    From now on the warnings of deciban in this process are collected for the jobs that cause them.
    """
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
    return StudioGate(router, access, workspace)


async def show_start(request: Request) -> Response:
    """Go to the page Train where a model is open, else to the page Open."""
    return redirect("/open" if get_workspace(request).model is None else "/train")


async def show_job(request: Request) -> Response:
    """Return the progress of the job, for the script; null where there was none."""
    job = get_workspace(request).job
    return JSONResponse(None if job is None else job.to_dict())


async def stop_job(request: Request) -> Response:
    """Have the job, if there is one, stop when it next reports its progress."""
    job = get_workspace(request).job
    if job is not None:
        job.stop()
    return JSONResponse({})
