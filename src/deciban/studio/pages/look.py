"""The page look."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deciban.studio.render import render


async def show(request: Request) -> Response:
    """Show the page."""
    return render(request, "look.html")


ROUTES = [Route("/look", show)]
