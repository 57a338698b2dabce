"""Markup: HTML made of elements, in which every text and every value of an attribute is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Final

from deciban.formatting import escape_controls

VOID_TAGS: Final = frozenset({"br", "col", "circle", "hr", "img", "input", "line", "path", "rect"})
"""Tags of elements that have no content."""

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
        return Markup(f"<{tag}{written}>" if tag in ("br", "col", "hr", "img", "input") else f"<{tag}{written}/>")
    return Markup(f"<{tag}{written}>{join(*children)}</{tag}>")


def repeat_element(tag: str, contents: Iterable[Any], **attributes: Any) -> Markup:
    """Return an element for each content, all with the same attributes."""
    return join(*(element(tag, content, **attributes) for content in contents))
