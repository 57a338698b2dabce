"""The gate that every request passes: host, cookie, origin, headers of the answer, and errors as pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deciban.server.gate import check_host
from deciban.server.logs import log_failure
from deciban.server.problems import Problem
from deciban.studio.access import TOKEN_PARAMETER, Access
from deciban.studio.messages import to_page_problem
from deciban.studio.render import render
from deciban.studio.workspace import Workspace

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""The policy on what a page may load: scripts of this studio alone. Inline styles are those of matplotlib's SVG."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer browsers send forms with the origin null
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
"""The headers of every answer."""

STATIC_PATH = "/static/"
"""The path of scripts and styles, which need no cookie: they say nothing of the data."""

FETCH_HEADER = b"x-studio"
"""The header of requests by the studio's script, whose errors are answered as JSON."""


class StudioGate:
    """An ASGI application around all routes; requests with the cookie get the workspace."""

    def __init__(self, app: ASGIApp, access: Access, workspace: Workspace) -> None:
        self.app, self.access, self.workspace = app, access, workspace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["studio_headers"] = dict(scope["headers"])
        status = 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": add_headers(scope["path"], message["headers"])}
            await send(message)

        try:
            response = self._check(scope)
            if response is None:
                scope["app"] = self
                await self.app(scope, receive, send_with_headers)
            else:
                await response(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass
        except Exception as error:
            if status:  # the answer has begun: closing the connection is all that is left
                raise
            await answer_error(error, scope, receive)(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> Response | None:
        """Return the answer to a token, None for a request that the routes answer; raise a Problem for any other."""
        headers = scope["studio_headers"]
        check_host(headers.get(b"host", b"").decode("latin-1"))
        if scope["path"].startswith(STATIC_PATH):
            return None
        if scope["method"] not in ("GET", "HEAD"):
            check_origin(headers)
        token = parse_qs(scope["query_string"].decode("latin-1")).get(TOKEN_PARAMETER)
        if token and scope["method"] == "GET":
            return self._exchange_token(token[0], headers)
        if not self.access.has_cookie(headers):
            raise Problem(401, NO_COOKIE)
        scope["studio"] = self.workspace  # only now: pages, those of errors too, say what is open
        return None

    def _exchange_token(self, token: str, headers: dict[bytes, bytes]) -> Response:
        """Answer a request with a token: by the cookie, and the first page, whose address has no token."""
        if self.access.use_token(token):
            report_address = self.workspace.settings.report_address
            if report_address is not None:
                report_address(self.access.path)
            return RedirectResponse("/", 303, {"set-cookie": self.access.cookie_header})
        if self.access.has_cookie(headers):
            return RedirectResponse("/", 303)
        raise Problem(401, USED_TOKEN)


NO_COOKIE = "this browser has not opened the studio. Hint: open the address that deciban studio has printed"
USED_TOKEN = (
    "the token of this address was used before, or is not one of this studio. "
    "Hint: after each use deciban studio prints a new address in its terminal"
)


def check_origin(headers: dict[bytes, bytes]) -> None:
    """Refuse a request unless its headers say that a page of this studio has sent it."""
    host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin")
    if origin is None:
        is_own = headers.get(b"sec-fetch-site") == b"same-origin"
    else:
        is_own = origin.decode("latin-1") == f"http://{host}"
    if not is_own:
        raise Problem(403, "this request comes from another site. Hint: use the pages of the studio themselves")


def add_headers(path: str, headers: Any) -> list[tuple[bytes, bytes]]:
    """Return headers with those of `HEADERS` that they lack; browsers may keep only scripts and styles."""
    present = {name.lower() for name, _ in headers}
    cached = "no-cache" if path.startswith(STATIC_PATH) else "no-store"
    more = {**HEADERS, "cache-control": cached}
    return [*headers, *((k.encode(), v.encode()) for k, v in more.items() if k.encode() not in present)]


def answer_error(error: Exception, scope: Scope, receive: Receive) -> Response:
    """Return a page, or for the script JSON, with the message of an error; log an unexpected one."""
    if isinstance(error, HTTPException):
        problem = Problem(error.status_code, f"there is no page {scope['path'][:200]}. Hint: use the menu")
    else:
        problem = to_page_problem(error)
    if problem.status == 500:
        log_failure("failure", error)
    if FETCH_HEADER in scope["studio_headers"]:
        return JSONResponse(problem.to_dict(), problem.status, problem.headers)
    what, _, hint = problem.detail.partition(" Hint: ")
    shown = {"title": problem.status.phrase, "what": what, "hint": hint}
    return render(Request(scope, receive), "problem.html", status=problem.status, headers=problem.headers, **shown)
