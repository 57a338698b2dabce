"""Style sheets of a page, as far as they hide: the classes and ids whose text nobody sees."""

from __future__ import annotations

import re

from deciban.mail.message.html_tags import STYLE_HIDES

LONGEST_SHEET = 1 << 16
"""Characters of a page's sheets that are read."""

SHEET = re.compile(r"<style[^<>]*+>(.*?)(?:</style|\Z)", re.DOTALL | re.IGNORECASE)
REMARK = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
CONDITION = re.compile(r"@[^{};@]*+\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}?")
"""What holds for some screens only: rules within are left out, as they hide on telephones what others show."""
NAME = re.compile(r"\s*+\w*+([.#][\w-]{1,60})\s*+")


def hiding_names(source: str) -> frozenset[str]:
    """Classes (.name) and ids (#name) that a page's own sheets hide.

    >>> sorted(hiding_names("<style>.a, p#b {display: none} @media x {.c {opacity: 0}} .d em {opacity: 0}</style>"))
    ['#b', '.a']
    """
    sheets = "".join(SHEET.findall(source))[:LONGEST_SHEET].lower()
    if not STYLE_HIDES.search(sheets.replace("}", ";")):
        return frozenset()
    found: set[str] = set()
    for each in CONDITION.sub("", REMARK.sub("", sheets)).split("}"):
        selectors, _, rule = each.rpartition("{")
        if STYLE_HIDES.search(rule):
            found.update(name[1] for one in selectors.split(",") if (name := NAME.fullmatch(one)))
    return frozenset(found)
