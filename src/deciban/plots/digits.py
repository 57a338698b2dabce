"""Classes of images: the mean image of each class, and the weights of pixels."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError, unknown_class_error
from deciban.families.family import to_dense
from deciban.ledger import Counts, Moments, Scatter, Tallies
from deciban.ledger.statistic import divide
from deciban.plots.style import INK, make_figure, need_matplotlib, shorten
from deciban.scores import DECIBAN

MAX_IMAGE_CLASSES = 40
CLASSES_PER_LINE = 10
"""The number of classes in a line of the picture."""

IMAGE_SIDE_INCHES = 0.92
"""The side of an image."""

SHADED_SHARE, MAX_MEDIANS = 0.98, 12.0
"""The shades cover this share of all weights, and at most this multiple of the median; larger weights look like the
largest. A pixel without ink in a class has an extreme weight there, which would leave all others pale."""

MIN_DASHED_SHARE = 1 / 3
"""The share of the largest weight from which a weight against the class has a dash, to be distinct in grey print."""

INK_COLOURS, WEIGHT_COLOURS = "Greys", "PuOr"
"""The colour maps: white to black; and orange (against) to violet (for), distinct for colour-blind readers."""


def digits(model: Any, shape: tuple[int, int] | None = None, *, classes: Any = None) -> Any:
    """Draw the mean image of each class and below it its weights, pixel by pixel; return the Figure.

    The model is a fitted estimator of numbers or counts whose columns are the pixels of an image, row by row; `shape`
    is the image's height and width, by default a square. The weight of a pixel is its evidence in decibans for the
    class against the mean of all others, when its ink changes from that of the palest to that of the darkest class;
    of a quadratic score (classes with different variances), by its gradient at the mean of all classes.

    >>> import deciban
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> figure = digits(deciban.PoissonNB().fit(X, y))
    >>> len(figure.axes), figure.axes[3].get_title()
    (21, '3')
    """
    need_matplotlib()
    means, weights = compute_class_means(model), compute_pixel_weights(model)
    high, wide = _check_shape(means.shape[1], shape)
    labels = list(model.classes_.tolist())
    chosen = _select_classes(labels, classes)
    figure, pairs = _make_axes(len(chosen))
    sizes = np.abs(weights[chosen])
    sizes = sizes[np.isfinite(sizes) & (sizes != 0)]
    limit = float(min(np.quantile(sizes, SHADED_SHARE), MAX_MEDIANS * np.median(sizes))) if sizes.size else 1.0
    darkest = float(means[chosen].max(initial=0.0)) or 1.0
    size = 10.0 if max(len(str(labels[k])) for k in chosen) <= 7 else 7.5
    shade: Any = None
    points = 72 * IMAGE_SIDE_INCHES / max(high, wide)
    dash: dict[str, Any] = {"ls": "none", "marker": "_", "color": "white", "gid": "against"}
    palest = min(0.0, float(means.min()))
    for k, (above, below) in zip(chosen, pairs):
        above.imshow(means[k].reshape(high, wide), cmap=INK_COLOURS, vmin=palest, vmax=darkest, gid="mean")
        image = weights[k].reshape(high, wide)
        down, right = np.nonzero(image <= -MIN_DASHED_SHARE * limit)
        below.plot(right, down, ms=0.55 * points, mew=max(0.3, 0.12 * points), **dash)
        shade = below.imshow(image, cmap=WEIGHT_COLOURS, vmin=-limit, vmax=limit, gid="weight")
        above.set_title(shorten(labels[k], 12), fontsize=size, parse_math=False)
    look: dict[str, Any] = {"orientation": "horizontal", "extend": "both", "aspect": 40, "shrink": 0.8, "pad": 0.02}
    bar = figure.colorbar(shade, ax=[ax for pair in pairs for ax in pair], **look)
    bar.set_label("decibans for the class as a pixel fills with ink (dash: against)", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8.5)
    bar.outline.set_linewidth(0.5)
    return figure


def compute_class_means(model: Any) -> Array:
    """Return the mean image of each class, K×pixels; refuse a model that is no estimator of numbers or counts."""
    ledger = getattr(model, "ledger_", None)
    if ledger is None or len(ledger.parts) != 1 or not hasattr(model, "quadratic_form"):
        raise UndefinedError(
            f"this plot needs a fitted estimator of pixels, and {type(model).__name__} is not one. "
            f"Hint: deciban.GaussianNB().fit(X, y), or MultinomialNB, BernoulliNB, PoissonNB, GaussianBayes"
        )
    part = ledger.parts[0]
    if isinstance(part, Scatter):
        part = part.moments
    if isinstance(part, Moments):
        return np.asarray(part.mean, dtype=np.float64)
    if not isinstance(part, Counts | Tallies):
        raise UndefinedError(
            f"{type(model).__name__} counts levels, which have no mean. Hint: deciban.BernoulliNB for ink or none"
        )
    counts = to_dense(part)
    return divide(counts.total, np.broadcast_to(counts.weight, counts.total.shape))


def compute_pixel_weights(model: Any) -> Array:
    """Return the decibans of each pixel for a class against the mean of the others, palest to darkest; K×pixels."""
    means = compute_class_means(model)
    gradient = _compute_gradients(model, means.mean(axis=0))
    K = len(gradient)
    if K < 2:
        raise InputError("weights need at least two classes, and this model has one")
    mean_of_others = (gradient.sum(axis=0) - gradient) / (K - 1)
    return (gradient - mean_of_others) * np.ptp(means, axis=0) * DECIBAN


def _compute_gradients(model: Any, x: Array) -> Array:
    """Return the gradient of each class's score at x: the weights of a linear score."""
    try:
        return np.asarray(model.linear_form().weights)
    except UndefinedError:
        conic = model.quadratic_form()
    product = conic.A * x if conic.A.ndim == 2 else conic.A @ x
    return np.asarray(2 * product + conic.weights)


def _check_shape(pixels: int, shape: tuple[int, int] | None) -> tuple[int, int]:
    """Return height and width, by default those of a square; refuse a shape that has not as many pixels."""
    side = math.isqrt(pixels)
    if shape is None:
        if side * side != pixels:
            raise InputError(f"{pixels} pixels do not make a square image. Hint: shape=(height, width)")
        return side, side
    try:
        high, wide = (int(length) for length in shape)
    except (TypeError, ValueError):
        raise InputError(f"shape must be (height, width), not {shape!r}") from None
    if high < 1 or wide < 1 or high * wide != pixels:
        raise InputError(f"shape {high}×{wide} has {high * wide} pixels, and the model {pixels}")
    return high, wide


def _select_classes(labels: Sequence[Any], classes: Any) -> list[int]:
    """Return the indices of classes, by default of all; refuse unknown ones, and more than `MAX_IMAGE_CLASSES`."""
    known = {str(label): k for k, label in enumerate(labels)}
    wanted = list(known) if classes is None else [str(label) for label in classes]
    for label in wanted:
        if label not in known:
            raise unknown_class_error(label, labels)
    if not 1 <= len(wanted) <= MAX_IMAGE_CLASSES:
        raise InputError(
            f"a picture has space for 1 to {MAX_IMAGE_CLASSES} classes, not {len(wanted)}. Hint: classes=[…]"
        )
    return [known[label] for label in wanted]


def _make_axes(n: int) -> tuple[Any, list[tuple[Any, Any]]]:
    """Make a figure with two Axes for each of n classes, one below the other; return it and the pairs."""
    lines = math.ceil(n / CLASSES_PER_LINE)
    across = math.ceil(n / lines)
    size = (max(IMAGE_SIDE_INCHES * across + 0.9, 4.4), lines * (2 * IMAGE_SIDE_INCHES + 0.4) + 0.75)
    figure = make_figure(size)
    axes = figure.subplots(2 * lines, across, squeeze=False)
    for ax in axes.ravel():
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color("#c0c0c0")
    for above, below in zip(axes[::2, 0], axes[1::2, 0]):
        above.set_ylabel("mean", fontsize=9)
        below.set_ylabel("weights", fontsize=9)
    pairs = list(zip(axes[::2].ravel(), axes[1::2].ravel()))
    for empty in pairs[n:]:
        for ax in empty:
            ax.remove()
    return figure, pairs[:n]
