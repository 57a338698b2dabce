"""Texts as web pages: decent ones, and the loud ones of junk with what they hide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from deciban.cli.examples.mailbox.draw import Draw

LINK = re.compile(r"https?://\S+")
COLOURS = ("red", "#ff0000", "#0000cc", "#800080", "#ff6600")
HIDING = (
    '<div style="display:none">{}</div>', '<font color="#ffffff" size="1">{}</font>',
    '<span style="font-size:0px">{}</span>', "<!-- {} -->",
)  # fmt: skip


def decent(paragraphs: Sequence[str]) -> str:
    """As mail programs write it."""
    body = "\n".join(f"<p>{_linked(text)}</p>" for text in paragraphs)
    return f"<html><head><title></title></head><body>\n{body}\n</body></html>\n"


def newsletter(draw: Draw, title: str, host: str, paragraphs: Sequence[str]) -> str:
    """With a picture on top, a table, small print, and often a picture too small to see, as shops do it."""
    rows = "\n".join(f'<tr><td style="padding:8px">{_linked(text)}</td></tr>' for text in paragraphs[:-1])
    seen = (
        f'<img src="https://{host}/open/{draw.digits(8)}.gif" width="1" height="1" alt="">'
        if draw.chance(0.5)
        else ""
    )
    return (
        f'<html><head><title>{escape(title)}</title></head><body bgcolor="#ffffff">\n'
        f'<img src="https://{host}/logo.png" alt="{host}"><h1><font color="#336699">{escape(title)}</font></h1>\n'
        f'<table width="600">\n{rows}\n</table>\n<p><small>{_linked(paragraphs[-1])}</small></p>{seen}\n'
        "</body></html>\n"
    )


def loud(draw: Draw, paragraphs: Sequence[str], hidden: str = "", shown: str = "") -> str:
    """Large and coloured; `hidden` is there for filters to read, `shown` is where links pretend to lead."""
    rows = [
        f'<p><font color="{draw.one_of(COLOURS)}" size="{draw.between(3, 7)}">{_linked(text, shown)}</font></p>'
        for text in paragraphs
    ]
    if hidden:
        rows.insert(draw.between(0, len(rows)), draw.one_of(HIDING).format(escape(hidden)))
    body = "\n".join(rows)
    return f"<html><body><center>\n{body}\n</center></body></html>\n"


def _linked(text: str, shown: str = "") -> str:
    return LINK.sub(lambda found: f'<a href="{found[0]}">{shown or "here"}</a>', escape(text, quote=False))
