"""What a wrong answer costs, by how wrong it is: four losses of a margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.plots.style import INK, colour, dashes, need_matplotlib, new_axes

MAX_MARGIN = 2.5
"""The largest margin that is drawn, to either side of 0."""

LOSSES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "zero-one": (r"$[m \leq 0]$", lambda m: (m <= 0).astype(np.float64)),
    "logistic": (r"$\log_2(1 + e^{-m})$", lambda m: np.logaddexp(0.0, -m) / np.log(2)),
    "exponential": (r"$e^{-m}$", lambda m: np.exp(-m)),
    "hinge": (r"$\max(0, 1 - m)$", lambda m: np.maximum(0.0, 1 - m)),
}
"""The formula and the function of each loss of the margin m = y·f; all but the first are 1 at 0 and bound it."""


def losses(*, ax: Any = None) -> Any:
    """Draw zero-one, logistic, exponential and hinge loss over the margin y·f, y = ±1; return the Axes.

    f is the log-odds for a model of probabilities, whose loss is the logistic one: −log₂ p(y|x), in bits.

    >>> [line.get_label() for line in losses().lines][:2]
    ['zero-one  $[m \\\\leq 0]$', 'logistic  $\\\\log_2(1 + e^{-m})$']
    """
    need_matplotlib()
    ax = new_axes(4) if ax is None else ax
    m = np.linspace(-MAX_MARGIN, MAX_MARGIN, 1001)
    for i, (name, (formula, loss)) in enumerate(LOSSES.items()):
        look: dict[str, Any] = {"color": INK if i == 0 else colour(i - 1), "linestyle": dashes(i)}
        x, y = _loss_points(m, loss) if name == "zero-one" else (m, loss(m))
        ax.plot(x, y, label=f"{name}  {formula}", linewidth=2.0, gid=name, **look)
    ax.plot([0], [1], marker="o", color=INK, markersize=6, zorder=5, gid="one")
    ax.annotate(
        "1 at 0: all bound\nthe zero-one loss", (0, 1), (0.42, 1.52), fontsize=9, color=INK, arrowprops=_ARROW
    )
    _style_loss_axes(ax)
    return ax


_ARROW: dict[str, Any] = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.8, "shrinkB": 4}


def _loss_points(m: Array, loss: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return the points of a loss; those of the step function with a vertical step."""
    below, above = m[m <= 0], m[m > 0]
    x = np.concatenate([below, [0.0, 0.0], above])
    return x, np.concatenate([loss(below), [1.0, 0.0], loss(above)])


def _style_loss_axes(ax: Any) -> None:
    ax.set_xlim(-MAX_MARGIN, MAX_MARGIN)
    ax.set_ylim(-0.08, 4)
    ax.set_xlabel("margin  m = y·f      ← wrong      right →")
    ax.set_ylabel("loss")
    ax.grid(color="#e0e0e0", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.legend(loc="upper right", fontsize=9.5, frameon=True, framealpha=1.0, edgecolor="none", handlelength=3.2)
