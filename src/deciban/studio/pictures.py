"""Pictures of `deciban.plots` as SVG within a page, or as files."""

from __future__ import annotations

import io
import re
import threading
from typing import Any

from markupsafe import Markup, escape

_drawing = threading.RLock()
"""Held while a picture is drawn: matplotlib's pyplot has one state for all threads."""

NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
SIZE = re.compile(r'\A<svg ([^>]*?)width="([\d.]+)pt" height="([\d.]+)pt"', re.DOTALL)


def draw_svg(name: str, *args: Any, **kwargs: Any) -> str:
    """Call the function of `deciban.plots` of this name, and return its picture as a complete SVG document.

    The same picture gives the same text: there is no date, and identifiers are not random.
    """
    from deciban import plots
    from deciban.plots.style import need_matplotlib

    need_matplotlib()
    import matplotlib

    with _drawing:
        matplotlib.use("Agg")  # draws without a window
        from matplotlib import pyplot, rc_context

        drawn = getattr(plots, name)(*args, **kwargs)
        figure = drawn if hasattr(drawn, "savefig") else drawn.figure
        file = io.BytesIO()
        with rc_context({"svg.hashsalt": "deciban"}):
            figure.savefig(file, format="svg", metadata=NO_METADATA)
        pyplot.close(figure)
    return file.getvalue().decode()


def inline_svg(svg: str, label: str) -> Markup:
    """Return an SVG document as an element of a page, with a text for those who do not see it."""
    element = svg[svg.index("<svg ") :]
    attributes = f'role="img" aria-label="{escape(label)}" class="picture"'
    return Markup(SIZE.sub(rf'<svg {attributes} data-width="\2" \1', element, count=1))
