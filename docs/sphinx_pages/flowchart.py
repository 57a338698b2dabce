"""Flowcharts of Markdown files (fences marked `mermaid`) as pictures in SVG, drawn when the site is built.

Mermaid itself is a script of three megabytes that would be loaded with the page. The documents use a small part of its language: boxes
`name` or `name[label]`, several of them between `&`, and arrows `-->` or `-- "label" -->`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ARROW = re.compile(r'\s*--(?:\s*"([^"]*)"\s*--)?>\s*')
BOX = re.compile(r"(\w+)(?:\[\(?([^\])]*)\)?\]|\(\(?([^)]*)\)?\))?")
CHARACTER, BOX_HEIGHT, GAP, MARGIN = 7.6, 30, 26, 12
"""The width of a character, the height of a box, the gap between boxes, and the margin of the picture, in pixels."""


@dataclass
class Flowchart:
    """Boxes by name with their labels, and arrows between them."""

    is_horizontal: bool
    labels: dict[str, str] = field(default_factory=dict)
    arrows: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Flowchart:
        """Return the flowchart that a text in Mermaid's language describes."""
        head, *lines = text.strip().splitlines()
        chart = cls(is_horizontal=head.split()[-1] == "LR")
        for line in filter(None, map(str.strip, lines)):
            parts = ARROW.split(line)
            groups = [[chart._add(box) for box in part.split("&")] for part in parts[::2]]
            for label, sources, targets in zip(parts[1::2], groups, groups[1:]):
                chart.arrows |= {(a, b): label or "" for a in sources for b in targets}
        return chart

    def _add(self, text: str) -> str:
        found = BOX.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"the flowchart has a box that is not understood: {text!r}")
        name, *labels = found.groups()
        self.labels[name] = next(filter(None, labels), self.labels.get(name, name))
        return name

    def ranks(self) -> list[list[str]]:
        """Return the boxes of each rank: a box stands one rank after the last of those with an arrow to it."""
        rank = dict.fromkeys(self.labels, 0)
        for _ in self.labels:  # an arrow back to an earlier box changes no rank
            for (a, b), label in self.arrows.items():
                if not label:
                    rank[b] = max(rank[b], rank[a] + 1)
        return [[name for name in rank if rank[name] == r] for r in range(max(rank.values()) + 1)]

    def places(self) -> dict[str, tuple[float, float, float]]:
        """Return the middle of each box, and its width."""
        width = {name: CHARACTER * len(label) + 20 for name, label in self.labels.items()}
        found, along = {}, float(MARGIN)
        for row in self.ranks():
            if self.is_horizontal:
                widest = max(width[name] for name in row)
                for i, name in enumerate(row):
                    found[name] = (along + widest / 2, MARGIN + (i + 0.5) * (BOX_HEIGHT + GAP), width[name])
                along += widest + 1.4 * GAP
            else:
                start = -sum(width[name] + GAP for name in row) / 2
                for name in row:
                    found[name] = (start + (width[name] + GAP) / 2, along + BOX_HEIGHT / 2, width[name])
                    start += width[name] + GAP
                along += BOX_HEIGHT + GAP
        left = min(x - w / 2 for x, _, w in found.values()) - MARGIN
        return {name: (x - left, y, w) for name, (x, y, w) in found.items()}

    def draw(self) -> str:
        """Return the flowchart as an SVG element, in the colours of the text around it."""
        places = self.places()
        right = max(x + w / 2 for x, _, w in places.values()) + MARGIN
        bottom = max(y for _, y, _ in places.values()) + BOX_HEIGHT / 2 + GAP
        parts = [self._draw_arrow(places, a, b, label) for (a, b), label in self.arrows.items()]
        parts += [_draw_box(*place, self.labels[name]) for name, place in places.items()]
        shown = ", ".join(f"{self.labels[a]} to {self.labels[b]}" for a, b in self.arrows)
        return (
            f'<svg class="flowchart" role="img" aria-label="Flowchart: {escape(shown)}" width="{right:.0f}" '
            f'viewBox="0 0 {right:.0f} {bottom:.0f}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
        )

    def _draw_arrow(self, places: dict[str, tuple[float, float, float]], a: str, b: str, label: str) -> str:
        (x, y, w), (u, v, z) = places[a], places[b]
        half = BOX_HEIGHT / 2
        if self.is_horizontal:
            ends = (x + w / 2, y, u - z / 2 - 5, v)
            head = f"M{ends[2] - 3:.1f} {v - 4:.1f}l8 4l-8 4z"
        else:
            ends = (x, y + half, u, v - half - 5)
            head = f"M{u - 4:.1f} {ends[3] - 3:.1f}l4 8l4 -8z"
        way = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*ends)
        line = f'<path class="arrow" d="{way}"/><path class="head" d="{head}"/>'
        if label:  # a second arrow between boxes that have one: drawn below them
            low = max(y, v) + half + 10
            line = (
                f'<path class="arrow" d="M{x:.1f} {y + half:.1f}V{low:.1f}H{u:.1f}V{v + half + 5:.1f}"/>'
                f'<path class="head" d="M{u - 4:.1f} {v + half + 8:.1f}l4 -8l4 8z"/>'
                f'<text x="{(x + u) / 2:.1f}" y="{low + 14:.1f}">{escape(label)}</text>'
            )
        return line


def _draw_box(x: float, y: float, width: float, label: str) -> str:
    left, top = x - width / 2, y - BOX_HEIGHT / 2
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{BOX_HEIGHT}" rx="5"/>'
        f'<text x="{x:.1f}" y="{y + 4.5:.1f}">{escape(label)}</text>'
    )


class FlowchartDirective(SphinxDirective):
    """The directive `mermaid`: its content, a flowchart, as a picture."""

    has_content = True
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        chart = Flowchart.parse("\n".join(self.content))
        return [nodes.raw("", f'<div class="flowchart">{chart.draw()}</div>', format="html")]
