"""The decision boundary of a fitted model, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from deciban.errors import InputError
from deciban.plots.axes_limits import Feature, View, view_of
from deciban.plots.class_scores import surface_of
from deciban.plots.one_column import draw_axis
from deciban.plots.style import need_matplotlib, new_axes
from deciban.plots.two_columns import draw_plane

RESOLUTION = 300
"""Steps along each axis for the shading and for tracing a conic; lines and thresholds are exact without."""


def boundary(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[Feature] = (0, 1),
    names: Sequence[str] | None = None,
    ax: Any = None,
    resolution: int = RESOLUTION,
    to_scale: bool = False,
) -> Any:
    """Draw where a model of one or two columns changes its mind, over rows X with classes y; returns the Axes.

    Two columns: each region is shaded by the posterior of the class that wins there, and the line or conic
    on which two classes are equally probable is drawn from `linear_form()` or `quadratic_form()`, with its
    equation. Of more than two classes only the winner and the runner-up share a boundary. One column: the
    curves π_k p(x|k), and the thresholds where they cross.

    `features` says which columns of X, by number or name, the model was fitted on; `names` what to call them, if
    not as in `feature_names_in_`. Rows with a missing value are left out. Where several rows coincide the marker
    is larger; where most do (indicators, small counts) the classes stand side by side. `to_scale` puts two columns on
    one scale, so that a right angle looks like one.

    >>> import deciban
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [4.0, 4.0], [5.0, 5.0]], ["low", "low", "high", "high"]
    >>> ax = boundary(deciban.GaussianBayes(covariance="identity").fit(X, y), X, y)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][2]
    '4·x0 + 4·x1 = 20'
    """
    if not isinstance(resolution, Integral) or resolution < 2:
        raise InputError(f"resolution must be a whole number of at least 2 steps along each axis, not {resolution!r}")
    need_matplotlib()
    surface = surface_of(model)
    view = view_of(model, X, y, features, names)
    ax = new_axes(len(view.classes)) if ax is None else ax
    if len(view.names) == 1:
        draw_axis(ax, model, surface, view, int(resolution))
    else:
        draw_plane(ax, surface, scaled(ax, view) if to_scale else view, int(resolution))
    return ax


def scaled(ax: Any, view: View) -> View:
    """The view with both columns on one scale."""
    inches = ax.get_position().size * ax.figure.get_size_inches()
    ax.set_aspect("equal", adjustable="box")
    return replace(view, window=view.window.to_scale(float(inches[0] / inches[1])))
