"""The directive `measured`: a table of pages with figures, and the day on which each was last measured."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

DATE = re.compile(r"[Ww]ritten by\s+`[^`]+`\s+on\s+(\d{4}-\d\d-\d\d)|[Mm]easured (?:on|in) (\d{4}-\d\d-\d\d)")


def find_date(text: str) -> str:
    """Return the day on which the figures of a page were measured, or nothing.

    >>> find_date("Written by `make bench` on 2026-11-17; do not edit.")
    '2026-11-17'
    """
    found = DATE.search(text)
    return (found[1] or found[2]) if found else ""


class MeasuredPages(SphinxDirective):
    """A table of pages, one `Title <path>` on each line, with the day of the last measurement read from each page."""

    has_content = True
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = ["| measured | last run |", "|---|---|"]
        folder = Path(self.env.doc2path(self.env.docname)).parent
        for entry in filter(None, map(str.strip, self.content)):
            title, path = re.fullmatch(r"(.+) <(.+)>", entry).groups()  # type: ignore[union-attr]
            self.env.note_dependency(str(folder / path))
            date = find_date((folder / path).read_text())
            lines.append(f"| [{title}]({path}) | {date or 'see the page'} |")
        parent = nodes.Element()
        self.state.nested_parse(StringList(lines, source=self.get_source_info()[0]), self.content_offset, parent)
        return parent.children
