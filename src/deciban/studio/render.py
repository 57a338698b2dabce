"""Pages from templates: Jinja2 with everything escaped, the menu, and numbers as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

import deciban
from deciban.formatting import format_count, format_number, format_percent, format_size, format_thousands
from deciban.html_fragments import STYLE, Markup

FOLDER = Path(__file__).parent


@cache
def get_environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "percent": format_percent, "thousands": format_thousands, "number": format_number, "size": format_size,
        "count_of": format_count,
    }  # fmt: skip
    environment.globals |= {"version": deciban.__version__, "fragment_style": Markup(STYLE)}
    return environment


def render_fragment(template: str, **context: Any) -> str:
    """Return the HTML of a template that is no whole page."""
    return get_environment().get_template(template).render(**context)


def render(
    request: Request, template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """Return the page of a template that extends layout.html, with these variables and those of the layout.

    The page shows the notice of the workspace, which is cleared, unless the script asks for it.
    """
    from deciban.studio.pages import PAGES

    workspace = request.scope.get("studio")
    name = request.scope["path"].strip("/").partition("/")[0] or PAGES[0].name
    shared = {
        "workspace": workspace, "pages": PAGES, "page": next((page for page in PAGES if page.name == name), None),
        "notice": "" if workspace is None or "x-studio" in request.headers else workspace.take_notice(),
    }  # fmt: skip
    html = get_environment().get_template(template).render({**shared, **context})
    return HTMLResponse(html, status, dict(headers or {}))
