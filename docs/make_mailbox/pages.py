"""Texts as HTML pages: plain ones, newsletters, and the coloured pages of spam with hidden words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from docs.make_mailbox.draw import Draw

LINK = re.compile(r"https?://\S+")
COLOURS = ("red", "#ff0000", "#0000cc", "#800080", "#ff6600")
HIDING = (
    '<div style="display:none">{}</div>', '<font color="#ffffff" size="1">{}</font>',
    '<span style="font-size:0px">{}</span>', "<!-- {} -->",
)  # fmt: skip


def plain_page(paragraphs: Sequence[str]) -> str:
    """Return a page as mail programs write it."""
    body = "\n".join(f"<p>{_link_urls(text)}</p>" for text in paragraphs)
    return f"<html><head><title></title></head><body>\n{body}\n</body></html>\n"


def newsletter_page(draw: Draw, title: str, host: str, paragraphs: Sequence[str]) -> str:
    """Return a page with a logo, a table, small print and often a tracking pixel, as shops write it."""
    rows = "\n".join(f'<tr><td style="padding:8px">{_link_urls(text)}</td></tr>' for text in paragraphs[:-1])
    seen = (
        f'<img src="https://{host}/open/{draw.digits(8)}.gif" width="1" height="1" alt="">'
        if draw.bernoulli(0.5)
        else ""
    )
    return (
        f'<html><head><title>{escape(title)}</title></head><body bgcolor="#ffffff">\n'
        f'<img src="https://{host}/logo.png" alt="{host}"><h1><font color="#336699">{escape(title)}</font></h1>\n'
        f'<table width="600">\n{rows}\n</table>\n<p><small>{_link_urls(paragraphs[-1])}</small></p>{seen}\n'
        "</body></html>\n"
    )


def coloured_page(draw: Draw, paragraphs: Sequence[str], hidden: str = "", shown: str = "") -> str:
    """Return a large, coloured page; `hidden` is text for filters only, `shown` the address that links show."""
    rows = [
        f'<p><font color="{draw.choice(COLOURS)}" size="{draw.randint(3, 7)}">{_link_urls(text, shown)}</font></p>'
        for text in paragraphs
    ]
    if hidden:
        rows.insert(draw.randint(0, len(rows)), draw.choice(HIDING).format(escape(hidden)))
    body = "\n".join(rows)
    return f"<html><body><center>\n{body}\n</center></body></html>\n"


def _link_urls(text: str, shown: str = "") -> str:
    return LINK.sub(lambda found: f'<a href="{found[0]}">{shown or "here"}</a>', escape(text, quote=False))
