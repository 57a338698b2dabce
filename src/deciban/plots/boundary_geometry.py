"""The scores of classes over one or two columns, and the lines, conics and thresholds where two are equal.

Lines and conics are also formatted as equations: `1.32·petal length + 2.88·petal width = 12.1`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError
from deciban.plots.style import format_scientific
from deciban.scores import finish


@dataclass(frozen=True)
class Gap:
    """The difference of the scores of two classes: xᵀAx + w·x + b, zero on their boundary."""

    A: Array
    w: Array
    b: float

    def value(self, X: Array) -> Array:
        """Return the difference at each row."""
        return np.einsum("ni,ij,nj->n", X, self.A, X) + X @ self.w + self.b

    def gradient(self, X: Array) -> Array:
        """Return the gradient 2Ax + w at each row."""
        return 2 * X @ self.A + self.w


@dataclass(frozen=True)
class Surface:
    """The scores xᵀ A_k x + weights_k · x + bias_k of the classes, up to terms common to all; A is K×d×d."""

    A: Array
    weights: Array
    bias: Array

    @property
    def is_linear(self) -> bool:
        """Whether every boundary is a line."""
        return not self.A.any()

    @property
    def possible(self) -> list[int]:
        """The classes that can win: those whose prior is not zero."""
        return np.flatnonzero(np.isfinite(self.bias)).tolist()

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every two classes that can win."""
        return [(k, l) for k in self.possible for l in self.possible if k < l]

    def scores(self, X: Array) -> Array:
        """Return the score of each row in each class, n×K."""
        return np.einsum("ni,kij,nj->nk", X, self.A, X) + X @ self.weights.T + self.bias

    def posterior(self, X: Array) -> Array:
        """Return p(k|x); terms common to all classes cancel."""
        return finish(self.scores(X), self.bias, "posterior")[0]

    def gap(self, k: int, l: int) -> Gap:
        """Return the score of k minus that of l."""
        return Gap(self.A[k] - self.A[l], self.weights[k] - self.weights[l], float(self.bias[k] - self.bias[l]))

    def lead(self, X: Array, k: int, l: int) -> Array:
        """Return by how much the lower score of k and l exceeds all others at each row; ∞ if there are none."""
        scores = self.scores(X)
        others = np.delete(scores, [k, l], axis=1).max(axis=1, initial=-np.inf)
        return np.minimum(scores[:, k], scores[:, l]) - others


def make_surface(model: Any) -> Surface:
    """Return the linear form of a fitted estimator or else its quadratic form; refuse a model that has neither."""
    name = type(model).__name__
    if not (hasattr(model, "linear_form") and hasattr(model, "quadratic_form")):
        raise UndefinedError(
            f"a boundary is drawn from linear_form() or quadratic_form(), and {name} has neither. "
            "Hint: give a fitted deciban estimator, such as deciban.GaussianNB."
        )
    try:
        line = model.linear_form()
        surface = Surface(np.zeros((*line.weights.shape, line.weights.shape[1])), line.weights, line.bias)
    except UndefinedError:
        try:
            curve = model.quadratic_form()
        except UndefinedError as why:
            raise UndefinedError(f"{name} has no boundary in the plane: {why}") from None
        A = curve.A if curve.A.ndim == 3 else curve.A[:, :, None] * np.eye(curve.A.shape[1])
        surface = Surface(A, curve.weights, curve.bias)
    if not surface.possible:
        raise InputError(f"{name} gives every class the prior 0, so there is nothing to draw. Hint: fit it first.")
    return surface


NEWTON_STEPS = 4
"""The number of Newton steps from a contour on a grid to the exact curve; each squares the error."""


@dataclass(frozen=True)
class Window:
    """The visible part of the plane or of the axis."""

    low: Array
    high: Array

    @property
    def span(self) -> Array:
        """The width and the height."""
        return self.high - self.low

    def to_scale(self, wide: float) -> "Window":
        """Return a window with equal scales in a picture `wide` times as wide as high: the shorter side grows."""
        span = np.maximum(self.span, [self.span[1] * wide, self.span[0] / wide])
        more = (span - self.span) / 2
        return Window(self.low - more, self.high + more)

    def grid(self, n: int) -> tuple[Array, Array, Array]:
        """Return n even steps along x and along y, and the n² points of the grid, n²×2, row by row of y."""
        x, y = (np.linspace(a, b, n) for a, b in zip(self.low, self.high))
        return x, y, np.column_stack([values.ravel() for values in np.meshgrid(x, y)])


class Threshold(NamedTuple):
    """A point of the axis where the decision changes from one class to another."""

    x: float
    k: int
    l: int


def find_segments(surface: Surface, k: int, l: int, window: Window, resolution: int) -> list[Array]:
    """Return the visible pieces of the boundary of k and l (points, m×2) on which no third class is more probable."""
    if surface.is_linear:
        return clip_line(surface, k, l, window)
    return trace_conic(surface, k, l, window, resolution)


def clip_line(surface: Surface, k: int, l: int, window: Window) -> list[Array]:
    """Return the ends of the line w·x + b = 0 within the window and outside of third classes: none, or two."""
    gap = surface.gap(k, l)
    if not gap.w.any():
        return []
    # the point of the line nearest to the centre of the window (in its units), and its direction
    middle, scaled = (window.low + window.high) / 2, gap.w * window.span
    nearest = middle - gap.value(middle[None])[0] / (scaled @ scaled) * scaled * window.span
    direction = np.array([-scaled[1], scaled[0]]) / math.hypot(*scaled) * window.span
    limits = [(nearest - window.low, direction), (window.high - nearest, -direction)]  # each a + b·t ≥ 0
    for m in surface.possible:
        if m not in (k, l):
            third = surface.gap(k, m)
            limits.append((third.value(nearest[None]), np.atleast_1d(third.w @ direction)))
    low, high = _find_interval(np.concatenate([a for a, _ in limits]), np.concatenate([b for _, b in limits]))
    return [nearest + np.array([[low], [high]]) * direction] if low < high else []


def _find_interval(a: Array, b: Array) -> tuple[float, float]:
    """Return the ends of the interval of t in which every a + b·t ≥ 0; the low end above the high one if none is."""
    if (a[b == 0] < 0).any():
        return math.inf, -math.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -a / b
    return float(t[b > 0].max(initial=-np.inf)), float(t[b < 0].min(initial=np.inf))


def trace_conic(surface: Surface, k: int, l: int, window: Window, resolution: int) -> list[Array]:
    """Return the curve on which the closed-form scores are equal: contours on a grid, refined by Newton steps."""
    from contourpy import contour_generator

    gap, (x, y, grid), pieces = surface.gap(k, l), window.grid(resolution), []
    for traced in contour_generator(x, y, gap.value(grid).reshape(len(y), len(x))).lines(0.0):
        path = refine_path(gap, np.asarray(traced), window, 1 / (resolution - 1))
        # the parts on which k and l lead, extended to the points where a third class is equal
        leads = np.concatenate([[False], surface.lead(path, k, l) >= 0, [False]])
        for start, stop in np.flatnonzero(leads[1:] != leads[:-1]).reshape(-1, 2).tolist():
            first = _find_meeting_point(surface, k, l, path, start - 1, start, window)
            last = _find_meeting_point(surface, k, l, path, stop, stop - 1, window)
            pieces.append(np.concatenate([first, path[start:stop], last]))
    return [piece for piece in pieces if len(piece) > 1]


def _find_meeting_point(
    surface: Surface, k: int, l: int, path: Array, outside: int, inside: int, window: Window
) -> Array:
    """Return the point near `inside`, towards `outside` (indices of a path), where k, l and a third class are equal.

    It is 1×2; 0×2 if `outside` is beyond the end of the path, or Newton's steps lead farther away than it.
    """
    nowhere = np.empty((0, 2))
    if not 0 <= outside < len(path):
        return nowhere
    scores = surface.scores(path[[outside]])[0]
    third = max((m for m in surface.possible if m not in (k, l)), key=lambda m: scores[m])
    gaps = surface.gap(k, l), surface.gap(k, third)
    point = path[[inside]]
    for _ in range(NEWTON_STEPS):
        gradients = np.concatenate([gap.gradient(point) * window.span for gap in gaps])
        heights = np.concatenate([gap.value(point) for gap in gaps])
        point = point - window.span * np.linalg.lstsq(gradients, heights)[0]
    moved, step = (np.linalg.norm((p - path[inside]) / window.span) for p in (point, path[outside]))
    return point if moved <= 2 * step else nowhere


def refine_path(gap: Gap, path: Array, window: Window, reach: float) -> Array:
    """Move points onto the curve by Newton steps along the gradient; no point moves further than `reach` windows."""
    scale, point = window.span**2, path
    for _ in range(NEWTON_STEPS):
        gradient = gap.gradient(point)
        squared_norm = (gradient**2 * scale).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            point = point - (gap.value(point) / squared_norm)[:, None] * gradient * scale
    moved = np.abs((point - path) / window.span).max(axis=1, initial=0)
    return np.where((moved <= reach)[:, None], point, path)  # where two branches cross there is no gradient


def find_thresholds(surface: Surface) -> list[Threshold]:
    """Return every x of a single column where the decision changes, in order: at most two for each two classes."""
    found = [Threshold(x, k, l) for k, l in surface.pairs for x in find_roots(surface.gap(k, l))]
    return sorted(t for t in found if surface.lead(np.array([[t.x]]), t.k, t.l)[0] >= 0)


def find_roots(gap: Gap) -> list[float]:
    """Return where a x² + w x + b changes sign, by the formula that never subtracts nearly equal numbers."""
    a, w, b = float(gap.A[0, 0]), float(gap.w[0]), gap.b
    if a == 0:
        return [-b / w] if w else []
    inside = w * w - 4 * a * b
    if inside <= 0:
        return []
    q = -(w + math.copysign(math.sqrt(inside), w)) / 2
    return sorted([q / a, b / q])


MAX_EQUATION_NAME_CHARACTERS = 18
"""The longest name in an equation; x and y replace longer ones."""

MAX_SQUARED_NAME_CHARACTERS = 3
"""The longest name that can be squared."""


def remove_unit(name: str) -> str:
    """Return a name without a unit in brackets at its end; the name itself if nothing else is in it."""
    bare = name.rstrip()
    inner = re.split(r"[)\]]", bare[:-1])[-1] if bare.endswith((")", "]")) else ""
    opening = re.search(r"[(\[]", inner)
    return bare[: len(bare) - 1 - len(inner) + opening.start()].rstrip() or name if opening else name


def choose_equation_names(names: Sequence[str], is_linear: bool) -> tuple[list[str], bool]:
    """Return the names of the columns in an equation, and whether they replace the columns' own names."""
    short = [remove_unit(name) for name in names]
    if max(map(len, short)) <= (MAX_EQUATION_NAME_CHARACTERS if is_linear else MAX_SQUARED_NAME_CHARACTERS):
        return short, False
    return ["x", "y"][: len(short)], True


def format_equation(gap: Gap, names: Sequence[str]) -> str:
    """Format the line or conic on which two classes are equally probable, with three digits for each coefficient.

    >>> format_equation(Gap(np.zeros((2, 2)), np.array([-1.0, 2.5]), 4.0), ["a", "b"])
    'a − 2.5·b = 4'
    >>> format_equation(Gap(np.array([[1.0, 0.5], [0.5, 0]]), np.array([0.0, -3.0]), 0.25), ["x", "y"])
    'x² + xy − 3·y + 0.25 = 0'
    """
    x, y = names
    product = f"{x}{y}" if len(x) == len(y) == 1 else f"{x}·{y}"
    terms = [(gap.A[0, 0], f"{x}²"), (gap.A[0, 1] + gap.A[1, 0], product), (gap.A[1, 1], f"{y}²")]
    terms += [(gap.w[0], x), (gap.w[1], y)]
    sign = -1.0 if next((c for c, _ in terms if c), 1.0) < 0 else 1.0  # makes the first coefficient positive
    if gap.A.any():
        return f"{_format_sum([*terms, (gap.b, '')], sign)} = 0"
    return f"{_format_sum(terms, sign)} = {format_scientific(-sign * gap.b)}"


def _format_sum(terms: Sequence[tuple[float, str]], sign: float) -> str:
    """Format the terms (coefficient, name) that are not 0, times a sign that makes the first positive."""
    shown = []
    for c, name in terms:
        size = format_scientific(abs(float(c)))
        term = size if not name else name if size == "1" else f"{size}·{name}"
        shown += [("−" if sign * c < 0 else "+", term)] if c else []
    if not shown:
        return "0"
    (_, first), *others = shown
    return first + "".join(f" {s} {term}" for s, term in others)


def wrap_equation(text: str, max_characters: int) -> str:
    """Break an equation before signs, so that no line has more than `max_characters` if possible.

    >>> print(wrap_equation("4·x² − 20·xy + 26·y² = 0", 14))
    4·x² − 20·xy
    + 26·y² = 0
    """
    lines = [""]
    for term in re.split(r" (?=[+−] )", text):
        fits = len(lines[-1]) + 1 + len(term) <= max_characters
        lines = [*lines[:-1], f"{lines[-1]} {term}".strip()] if fits or not lines[-1] else [*lines, term]
    return "\n".join(lines)
