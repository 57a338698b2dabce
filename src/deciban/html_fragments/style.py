"""The style of fragments: colours that can be read on white and on black, sizes relative to the text around."""

from __future__ import annotations

from typing import Any, Final

from deciban.html_fragments.markup import Markup, element

FOR_COLOUR: Final = "#2f7ab8"
"""Evidence for a class; its contrast is at least 3 to white and to black."""

AGAINST_COLOUR: Final = "#c2571a"
"""Evidence against a class."""

N_SHADES: Final = 5
"""Shades of a background, from 1, the faintest; 0 is none."""

SHADE_OPACITIES: Final = (0.10, 0.20, 0.30, 0.42, 0.55)
"""The opacity of each shade: the text on the strongest still has a contrast of 4.5."""


def choose_shade(share: float) -> int:
    """Return the shade of a share from 0 to 1, in steps of a fifth: 0 up to 0, 1 below 0.2, …, 5 from 0.8 on.

    >>> choose_shade(0.0), choose_shade(0.01), choose_shade(0.2), choose_shade(0.5), choose_shade(1.0)
    (0, 1, 2, 3, 5)
    """
    return 0 if not share > 0 else min(int(share * N_SHADES) + 1, N_SHADES)


STYLE: Final = (
    ".db{color:inherit;line-height:1.45;max-width:60rem}"
    ".db table{border-collapse:collapse;margin:.4em 0 .8em;font-variant-numeric:tabular-nums;color:inherit}"
    ".db caption{caption-side:top;text-align:left;font-weight:600;padding:.2em 0 .4em;color:inherit}"
    ".db th,.db td{padding:.25em .6em;text-align:left;vertical-align:middle;border:0;"
    "border-bottom:1px solid rgba(128,128,128,.28);background:transparent;color:inherit}"
    ".db th{font-weight:600}.db .db-n{text-align:right;white-space:nowrap}.db tr.db-total>*{font-weight:700}"
    ".db td.db-bar{width:45%;min-width:5rem;padding:.15em .3em}"
    ".db td.db-bar svg{display:block;width:100%;height:1.1em}"
    ".db svg.db-interval{width:12rem;max-width:100%;height:1.1em;vertical-align:middle;margin-right:.6em}"
    ".db .db-wide{width:100%;table-layout:auto}.db .db-what{overflow-wrap:anywhere;min-width:6.5em;max-width:22rem}"
    ".db .db-text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4em 0}"
    ".db mark{color:inherit;background:transparent;border-radius:.2em;padding:0 .1em}"
    ".db mark.db-against{text-decoration:underline dotted}"
    ".db .db-note{opacity:.85;font-size:.92em;margin:.3em 0}.db summary{cursor:pointer}"
    ".db dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;margin:.4em 0}"
    ".db dt{font-weight:600}.db dd{margin:0;overflow-wrap:anywhere}.db .db-scroll{overflow-x:auto}"
    f".db .db-fill-for{{fill:{FOR_COLOUR}}}.db .db-fill-against{{fill:{AGAINST_COLOUR}}}"
) + "".join(
    f".db .db-{side}-{shade}{{background:rgba({colour},{opacity})}}"
    for side, colour in (("for", "47,122,184"), ("against", "194,87,26"))
    for shade, opacity in enumerate(SHADE_OPACITIES, start=1)
)
"""The style sheet of fragments; every rule is for what lies in an element of class `db`."""


def wrap_for_notebook(*fragments: Any) -> Markup:
    """Return the fragments and their style sheet in one element of class `db`, as a notebook shows them."""
    return element("div", element("style", Markup(STYLE)), *fragments, class_="db")
