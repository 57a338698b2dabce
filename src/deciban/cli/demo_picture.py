"""The demo's picture: three assumptions about the same flowers, three shapes of boundary."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import deciban
from deciban.plots import boundary
from deciban.plots.style import need_matplotlib
from deciban.plots.two_columns import join

COLUMNS = [0, 2]
"""Sepal length and petal length: on one scale, so that a right angle looks like one."""

PANELS = [
    ("tied", 'One covariance for both ("tied"): a line'),
    ("identity", 'Distances alone ("identity"): the bisector'),
    ("full", 'A covariance each ("full"): a conic'),
]


def three_boundaries() -> bytes:
    """Line, perpendicular bisector and conic between two kinds of iris, as a PNG."""
    need_matplotlib()
    from matplotlib.figure import Figure

    X, y, names = irises()
    figure = Figure(figsize=(14.4, 7.2), layout="constrained")
    for ax, (covariance, title) in zip(figure.subplots(1, 3), PANELS):
        model = deciban.GaussianBayes(covariance=covariance).fit(X, y)
        boundary(model, X, y, names=names, ax=ax)
        ax.set_title(title, fontsize=11.5, pad=10)
        ax.set_aspect("equal", adjustable="box")
        if covariance == "identity":
            join(ax, model.means_)
    file = BytesIO()
    figure.savefig(file, format="png", dpi=120, bbox_inches="tight", metadata={"Software": None})
    return file.getvalue()


def irises() -> tuple[Any, Any, list[str]]:
    """Versicolor and virginica; setosa is too easy."""
    from sklearn.datasets import load_iris

    data = load_iris()
    rows = data.target > 0
    return data.data[rows][:, COLUMNS], data.target_names[data.target[rows]], [data.feature_names[j] for j in COLUMNS]
