"""The page Take away."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deciban.studio.render import render


async def show(request: Request) -> Response:
    """Show the page."""
    return render(request, "take_away.html")


ROUTES = [Route("/take-away", show)]
