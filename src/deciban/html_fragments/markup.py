"""Markup: HTML made of elements, in which every text and every value of an attribute is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Final

from deciban.formatting import escape_controls

VOID_TAGS: Final = frozenset({"br", "col", "hr", "img", "input"})
"""Tags of HTML without content and end."""

SHAPE_TAGS: Final = frozenset({"circle", "line", "path", "rect"})
"""Tags of SVG without content, which are closed by a slash."""

KEPT_CONTROLS: Final = "\t\n"
"""Characters that are not printable and stay as they are."""


class Markup(str):
    """HTML that needs no more escaping; template engines know it by its method `__html__`."""

    __slots__ = ()

    def __html__(self) -> str:
        return str(self)


def escape_text(value: Any) -> str:
    r"""Escape a value for HTML: markup, and characters that hide or reorder others, which are shown as escapes.

    >>> escape_text('<b>"Tom" & Jerry\u202e')
    '&lt;b&gt;&quot;Tom&quot; &amp; Jerry\\u202e'
    """
    return escape(escape_controls(str(value).replace("\r\n", "\n"), KEPT_CONTROLS))


def join(*parts: Any) -> Markup:
    """Concatenate parts: markup as it is, all others escaped; None is left out.

    >>> join("a < b", Markup("<br>"), None)
    'a &lt; b<br>'
    """
    return Markup(
        "".join(part if isinstance(part, Markup) else escape_text(part) for part in parts if part is not None)
    )


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element; an attribute that is None or False is left out, and one that is True has no value.

    Underscores in the names of attributes stand for hyphens; one at the end is removed.

    >>> element("td", "R&D", class_="number", colspan=2, aria_hidden="true", hidden=False)
    '<td class="number" colspan="2" aria-hidden="true">R&amp;D</td>'
    """
    named = {name.removesuffix("_").replace("_", "-"): value for name, value in attributes.items()}
    given = {name: value for name, value in named.items() if value is not None and value is not False}
    written = "".join(
        f" {name}" if value is True else f' {name}="{escape_text(value)}"' for name, value in given.items()
    )
    if tag in VOID_TAGS:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}/>" if tag in SHAPE_TAGS else f"<{tag}{written}>{join(*children)}</{tag}>")


def assemble_table(caption: Any, heads: Iterable[Any], rows: Iterable[Markup], class_: str | None = None) -> Markup:
    """Return a table of head cells and of rows, which are elements already, with a caption unless it is None."""
    title = None if caption is None else element("caption", caption)
    head = element("thead", element("tr", *heads))
    return element("table", title, head, element("tbody", *rows), class_=class_)


def make_svg(*shapes: Markup | None, width: str, height: int, class_: str | None = None) -> Markup:
    """Return a drawing on a canvas of 100 × `height`, stretched to `width`; a screen reader skips it."""
    stretched = {"viewBox": f"0 0 100 {height}", "preserveAspectRatio": "none"}
    hidden = {"aria_hidden": "true", "focusable": "false"}
    return element("svg", *shapes, class_=class_, width=width, height=str(height), **stretched, **hidden)


def draw_line(x1: str, x2: str, y1: str, y2: str) -> Markup:
    """Return a thin line in the colour of the text around, half transparent."""
    style = {"stroke": "currentColor", "stroke-opacity": "0.45", "vector-effect": "non-scaling-stroke"}
    return element("line", x1=x1, x2=x2, y1=y1, y2=y2, **style)
