"""Colours, as far as telling whether a text can be told from its ground."""

from __future__ import annotations

import re
from functools import lru_cache

NAMED = {
    "white": 0xFFFFFF,
    "black": 0,
    "red": 0xFF0000,
    "blue": 0x0000FF,
    "green": 0x008000,
    "yellow": 0xFFFF00,
    "navy": 0x000080,
    "gray": 0x808080,
    "grey": 0x808080,
    "silver": 0xC0C0C0,
    "maroon": 0x800000,
    "purple": 0x800080,
    "lime": 0x00FF00,
    "aqua": 0x00FFFF,
    "fuchsia": 0xFF00FF,
    "olive": 0x808000,
    "teal": 0x008080,
    "orange": 0xFFA500,
}
HEX = re.compile(r"#?([0-9a-f]{6}|[0-9a-f]{3})\b")
RGB = re.compile(r"rgba?\(\s*+(\d{1,3})\s*+,\s*+(\d{1,3})\s*+,\s*+(\d{1,3})")
NEAR = 16
"""Of 255, in each of red, green and blue: less is not seen."""


@lru_cache(1 << 12)
def colour_of(written: str) -> int | None:
    """A colour as 0xRRGGBB, or None for one that is not given plainly.

    >>> hex(colour_of("#F00")), hex(colour_of("white")), hex(colour_of("rgb(0, 255, 0)")), colour_of("x")
    ('0xff0000', '0xffffff', '0xff00', None)
    """
    if not written:
        return None
    written = written.strip().lower()[:40]
    if written in NAMED:
        return NAMED[written]
    if found := HEX.match(written):
        digits = found[1]
        return int(digits if len(digits) == 6 else "".join(2 * d for d in digits), 16)
    if found := RGB.match(written):
        r, g, b = (min(int(x), 255) for x in found.groups())
        return r << 16 | g << 8 | b
    return None


@lru_cache(4096)
def alike(one: int, other: int | None) -> bool:
    """Whether nobody could tell two colours apart; a ground that is not known (below 0) is like none."""
    if other is None or other < 0:
        return False
    return all(abs((one >> shift & 255) - (other >> shift & 255)) <= NEAR for shift in (0, 8, 16))
