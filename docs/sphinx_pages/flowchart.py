"""Flowcharts of Markdown files (fences marked `mermaid`) as pictures in SVG, drawn when the site is built.

Mermaid itself is a script of three megabytes that would be loaded with the page. The documents use a small part of
its language: boxes `name` or `name[label]`, several of them between `&`, and arrows `-->` or `-- "label" -->`. All
charts are drawn from top to bottom, which fits the width of a page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import ClassVar, NamedTuple

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ARROW = re.compile(r'\s*--(?:\s*"([^"]*)"\s*--)?>\s*')
BOX = re.compile(r"(\w+)(?:\[\(?([^\])]*)\)?\])?")
CHARACTER_WIDTH, BOX_HEIGHT, GAP, MARGIN = 7.6, 30, 26, 12
"""In pixels: the width of a character, the height of a box, the gap between boxes, and the margin of the picture."""


class Arrow(NamedTuple):
    """An arrow between two boxes; one with a label is drawn at the side, and does not order the boxes."""

    source: str
    target: str
    label: str


class Box(NamedTuple):
    """The middle of a box, and its width."""

    x: float
    y: float
    width: float


@dataclass
class Flowchart:
    """Boxes by name with their labels, and arrows between them."""

    labels: dict[str, str] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)

    @classmethod
    def parse(cls, text: str) -> Flowchart:
        """Return the flowchart that a text in Mermaid's language describes."""
        chart = cls()
        for line in filter(None, map(str.strip, text.strip().splitlines()[1:])):
            parts = ARROW.split(line)
            groups = [[chart._add(box) for box in part.split("&")] for part in parts[::2]]
            for label, sources, targets in zip(parts[1::2], groups, groups[1:]):
                chart.arrows += [Arrow(a, b, label or "") for a in sources for b in targets]
        return chart

    def _add(self, text: str) -> str:
        found = BOX.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"the flowchart has a box that is not understood: {text!r}")
        name, label = found.groups()
        self.labels[name] = label or self.labels.get(name, name)
        return name

    def rank_boxes(self) -> list[list[str]]:
        """Return the boxes of each rank: a box stands one rank below the lowest of those with an arrow to it.

        A box that no arrow leads to stands just above the first box that it leads to.
        """
        rank = dict.fromkeys(self.labels, 0)
        for _ in self.labels:
            for source, target, label in self.arrows:
                if not label:
                    rank[target] = max(rank[target], rank[source] + 1)
        for name in rank.keys() - {arrow.target for arrow in self.arrows}:
            rank[name] = min(rank[arrow.target] for arrow in self.arrows if arrow.source == name) - 1
        return [[name for name in rank if rank[name] == r] for r in range(max(rank.values()) + 1)]

    def place_boxes(self) -> dict[str, Box]:
        """Return the place of each box; every rank is centred."""
        width = {name: CHARACTER_WIDTH * len(label) + 20 for name, label in self.labels.items()}
        found = {}
        for rank, names in enumerate(self.rank_boxes()):
            left = -sum(width[name] + GAP for name in names) / 2
            for name in names:
                middle = MARGIN + BOX_HEIGHT / 2 + rank * (BOX_HEIGHT + GAP)
                found[name] = Box(left + (width[name] + GAP) / 2, middle, width[name])
                left += width[name] + GAP
        edge = min(box.x - box.width / 2 for box in found.values()) - MARGIN
        return {name: box._replace(x=box.x - edge) for name, box in found.items()}

    def draw(self) -> str:
        """Return the flowchart as an SVG element, in the colours of the text around it."""
        boxes = self.place_boxes()
        longest = max([len(arrow.label) for arrow in self.arrows], default=0)
        right = max(box.x + box.width / 2 for box in boxes.values()) + MARGIN + CHARACTER_WIDTH * longest
        bottom = max(box.y for box in boxes.values()) + BOX_HEIGHT / 2 + MARGIN
        parts = [_draw_arrow(boxes[arrow.source], boxes[arrow.target], arrow.label) for arrow in self.arrows]
        parts += [_draw_box(box, self.labels[name]) for name, box in boxes.items()]
        shown = ", ".join(f"{self.labels[arrow.source]} to {self.labels[arrow.target]}" for arrow in self.arrows)
        return (
            f'<svg class="flowchart" role="img" aria-label="Flowchart: {escape(shown)}" width="{right:.0f}" '
            f'viewBox="0 0 {right:.0f} {bottom:.0f}" xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
        )


def _draw_arrow(source: Box, target: Box, label: str) -> str:
    """Return an arrow from the bottom of a box to the top of another; one with a label leads around their right."""
    if not label:
        start, end = source.y + BOX_HEIGHT / 2, target.y - BOX_HEIGHT / 2
        way, head = (
            f"M{source.x:.1f} {start:.1f}L{target.x:.1f} {end - 6:.1f}",
            f"M{target.x - 4:.1f} {end - 8:.1f}l4 8l4 -8z",
        )
        return f'<path class="arrow" d="{way}"/><path class="head" d="{head}"/>'
    side, end = max(box.x + box.width / 2 for box in (source, target)) + 12, target.x + target.width / 2
    way = f"M{source.x + source.width / 2:.1f} {source.y:.1f}H{side:.1f}V{target.y:.1f}H{end + 6:.1f}"
    head = f"M{end + 8:.1f} {target.y - 4:.1f}l-8 4l8 4z"
    text = f'<text class="label" x="{side + 6:.1f}" y="{(source.y + target.y) / 2 + 4:.1f}">{escape(label)}</text>'
    return f'<path class="arrow" d="{way}"/><path class="head" d="{head}"/>{text}'


def _draw_box(box: Box, label: str) -> str:
    left, top = box.x - box.width / 2, box.y - BOX_HEIGHT / 2
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{box.width:.1f}" height="{BOX_HEIGHT}" rx="5"/>'
        f'<text x="{box.x:.1f}" y="{box.y + 4.5:.1f}">{escape(label)}</text>'
    )


class FlowchartDirective(SphinxDirective):
    """The directive `mermaid`: its content, a flowchart, as a picture."""

    has_content = True
    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Return the picture."""
        chart = Flowchart.parse("\n".join(self.content))
        return [nodes.raw("", f'<div class="flowchart">{chart.draw()}</div>', format="html")]
