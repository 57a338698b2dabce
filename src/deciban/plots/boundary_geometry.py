"""Where two classes are equally probable: the exact line, the conic, the thresholds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.plots.class_scores import Gap, Surface

POLISHES = 4
"""Newton steps from a contour on a grid to the curve itself; each squares the error."""


@dataclass(frozen=True)
class Window:
    """The part of the plane (or of the axis) that is seen."""

    low: Array
    high: Array

    @property
    def span(self) -> Array:
        """Width, and height."""
        return self.high - self.low

    def to_scale(self, wide: float) -> Window:
        """Both axes on one scale, in a picture `wide` times as wide as high: the shorter side is given more room."""
        span = np.maximum(self.span, [self.span[1] * wide, self.span[0] / wide])
        more = (span - self.span) / 2
        return Window(self.low - more, self.high + more)

    def ticks(self, n: int) -> list[Array]:
        """n even steps along each axis."""
        return [np.linspace(a, b, n) for a, b in zip(self.low, self.high)]


class Threshold(NamedTuple):
    """A point of the axis where the decision passes from one class to another."""

    x: float
    k: int
    l: int


def segments(surface: Surface, k: int, l: int, window: Window, resolution: int) -> list[Array]:
    """The pieces of the boundary of k and l that are seen and where no third class is more probable."""
    if surface.straight:
        return clipped_line(surface, k, l, window)
    return conic(surface, k, l, window, resolution)


def clipped_line(surface: Surface, k: int, l: int, window: Window) -> list[Array]:
    """The line w·x + b = 0, cut where it leaves the window or meets a third class: no points, or two."""
    gap = surface.gap(k, l)
    if not gap.w.any():
        return []
    foot, along = _parametrised(gap, window)
    limits = [(foot - window.low, along), (window.high - foot, -along)]  # each a + b·t ≥ 0
    for m in surface.possible:
        if m not in (k, l):
            third = surface.gap(k, m)
            limits.append((third.value(foot[None]), np.atleast_1d(third.w @ along)))
    low, high = _interval(np.concatenate([a for a, _ in limits]), np.concatenate([b for _, b in limits]))
    return [foot + np.array([[low], [high]]) * along] if low < high else []


def _parametrised(gap: Gap, window: Window) -> tuple[Array, Array]:
    """The point of the line nearest to the middle of the window (measured in windows), and its direction."""
    middle, scaled = (window.low + window.high) / 2, gap.w * window.span
    foot = middle - gap.value(middle[None])[0] / (scaled @ scaled) * scaled * window.span
    along = np.array([-scaled[1], scaled[0]]) / math.hypot(*scaled) * window.span
    return foot, along


def _interval(a: Array, b: Array) -> tuple[float, float]:
    """The t for which every a + b·t ≥ 0."""
    if (a[b == 0] < 0).any():
        return math.inf, -math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -a / b
    return float(t[b > 0].max(initial=-np.inf)), float(t[b < 0].min(initial=np.inf))


def conic(surface: Surface, k: int, l: int, window: Window, resolution: int) -> list[Array]:
    """The curve where the closed-form scores are equal: traced on a grid, then brought onto the curve."""
    from contourpy import contour_generator

    gap = surface.gap(k, l)
    x, y = window.ticks(resolution)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(x, y)])
    height = gap.value(grid).reshape(len(y), len(x))
    traced = contour_generator(x, y, height).lines(0.0)
    return [piece for path in traced for piece in _led(surface, k, l, np.asarray(path), window, resolution)]


def _led(surface: Surface, k: int, l: int, path: Array, window: Window, resolution: int) -> list[Array]:
    """The stretches of a path on which k and l lead, ended where a third class catches up."""
    cell = 1 / (resolution - 1)
    path = polished(surface.gap(k, l), path, window, cell)
    pieces = []
    for start, stop in _runs(surface.lead(path, k, l) >= 0):
        first = _meeting(surface, k, l, path, start - 1, start, window)
        last = _meeting(surface, k, l, path, stop, stop - 1, window)
        pieces.append(np.concatenate([first, path[start:stop], last]))
    return [piece for piece in pieces if len(piece) > 1]


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """[start, stop) of every stretch of true."""
    edges = np.diff(np.concatenate([[0], flags.astype(int), [0]]))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist()))


def _meeting(surface: Surface, k: int, l: int, path: Array, outside: int, inside: int, window: Window) -> Array:
    """The point between two of a path where k, l and a third class are all alike; none at the path's own end."""
    nowhere = np.empty((0, 2))
    if not 0 <= outside < len(path):
        return nowhere
    scores = surface.scores(path[[outside]])[0]
    third = max((m for m in surface.possible if m not in (k, l)), key=lambda m: scores[m])
    gaps = surface.gap(k, l), surface.gap(k, third)
    point = path[[inside]]
    for _ in range(POLISHES):
        slopes = np.concatenate([gap.slope(point) * window.span for gap in gaps])
        heights = np.concatenate([gap.value(point) for gap in gaps])
        point = point - window.span * np.linalg.lstsq(slopes, heights)[0]
    moved, step = (np.linalg.norm((p - path[inside]) / window.span) for p in (point, path[outside]))
    return point if moved <= 2 * step else nowhere


def polished(gap: Gap, path: Array, window: Window, reach: float) -> Array:
    """Newton's steps along the gradient, measured in windows; no point moves further than `reach`."""
    scale, point = window.span**2, path
    for _ in range(POLISHES):
        slope = gap.slope(point)
        steep = (slope**2 * scale).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            point = point - (gap.value(point) / steep)[:, None] * slope * scale
    moved = np.abs((point - path) / window.span).max(axis=1, initial=0)
    return np.where((moved <= reach)[:, None], point, path)  # where two branches cross there is no gradient


def thresholds(surface: Surface) -> list[Threshold]:
    """Every x of a single column where the decision changes, in order: 0, 1 or 2 for each two classes."""
    found = [Threshold(x, k, l) for k, l in surface.pairs for x in roots(surface.gap(k, l))]
    return sorted(t for t in found if surface.lead(np.array([[t.x]]), t.k, t.l)[0] >= 0)


def roots(gap: Gap) -> list[float]:
    """Where a x² + w x + b changes sign: by the formula that never subtracts nearly equal numbers."""
    a, w, b = float(gap.A[0, 0]), float(gap.w[0]), gap.b
    if a == 0:
        return [-b / w] if w else []
    inside = w * w - 4 * a * b
    if inside <= 0:
        return []
    q = -(w + math.copysign(math.sqrt(inside), w)) / 2
    return sorted([q / a, b / q])
