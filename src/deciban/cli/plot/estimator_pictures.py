"""`deciban plot boundary` and `digits`: estimators that are fitted to the columns of a table and drawn."""

from argparse import ArgumentTypeError
from typing import Any

import deciban
from deciban.cli import options as a
from deciban.cli.error_handling import show_spinner
from deciban.cli.inputs import open_optional_table, open_table
from deciban.cli.parser import choice, option
from deciban.cli.plot.picture_options import NUMBER_TABLE_OPTIONS, Picture, picture_command, plots
from deciban.cli.training_options import find_target
from deciban.formatting import format_count
from deciban.option_values import parse_prior, split_list

ISOTROPIC_SHAPES = ("identity", "spherical", "tied_spherical")
"""The covariances under which all directions are equal; columns share a scale, so that right angles look right."""


def parse_columns(text: str) -> list[str]:
    """Parse the names of one or two columns."""
    names = split_list(text)
    if not 1 <= len(names) <= 2:
        raise ArgumentTypeError(f"one column or two are needed, as in height,weight; not {len(names)}")
    return names


@picture_command(
    option("--columns", "COL,COL", "The columns of numbers to draw: two, or one.", type=parse_columns, required=True),
    a.TARGET,
    choice("--covariance", a.COVARIANCES,
           "The covariance of the classes: full, mixed, diagonal or spherical (a conic), or tied, tied_diagonal, "
           "tied_spherical or identity (a line).", metavar="SHAPE", default="full"),
    a.PRIOR, *NUMBER_TABLE_OPTIONS,
    examples=[
        "deciban plot boundary flowers.csv --target species --columns petal_length,petal_width -o regions.png",
        "deciban plot boundary flowers.csv --target species --columns petal_length --covariance full -o curves.svg",
        "deciban plot boundary a.csv --target y --columns u,v --covariance identity --prior uniform -o bisector.png",
    ],
)  # fmt: skip
def boundary(picture: Picture, columns: list[str], covariance: str, prior: str | None, **options: Any) -> None:
    """Draw the regions of the classes over two columns, shaded by the posterior, with the data and the line or conic
    between them; or over one column the curves π_k p(x|k) and their thresholds.
    """
    from deciban.plots.boundary import draw_means
    from deciban.plots.plot_rows import choose_drawn_rows, infer_number_readings, read_numbers_and_classes

    with open_table(options) as table:
        picture.check(table.paths)
        with show_spinner("reading and drawing …"):
            source = table.open()
            readings = infer_number_readings(source, columns)
            X, y = read_numbers_and_classes(source, readings, find_target(table, options))
            model = fit_gaussian(X, y, covariance, None if prior is None else parse_prior(prior))
            rows = choose_drawn_rows(len(X))
            to_scale = covariance in ISOTROPIC_SHAPES and has_comparable_scales(X)
            ax = plots.boundary(model, X[rows], y[rows], names=columns, to_scale=to_scale)
            if covariance in ISOTROPIC_SHAPES and X.shape[1] == len(model.classes_) == 2:
                draw_means(ax, model.means_)
        shown = "" if len(rows) == len(X) else f" ({format_count(len(rows))} of {format_count(len(X), 'row')} shown)"
        picture.save(ax, f"{len(model.classes_)} classes over {' and '.join(columns)}{shown}")


def fit_gaussian(X: Any, y: Any, covariance: str, prior: Any) -> Any:
    """Return `GaussianBayes` fitted to rows of two classes or more, with priors by name or by class."""
    from deciban.errors import InputError
    from deciban.model.model_options import parse_class_prior

    classes = tuple(sorted(set(y.tolist())))
    if len(classes) < 2:
        raise InputError(f"a boundary lies between two classes, and the table has {classes[0]!r} only")
    resolved = parse_class_prior(prior, classes)
    priors = resolved.given if resolved.given is not None else resolved.kind
    return deciban.GaussianBayes(covariance=covariance, priors=priors).fit(X, y)


def has_comparable_scales(X: Any) -> bool:
    """Return whether X has two columns, whose ranges differ at most by a factor of four."""
    import numpy as np

    span = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    return bool(len(span) == 2 and span.max() <= 4 * span.min())


FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "poisson": ("PoissonNB", {}),
    "multinomial": ("MultinomialNB", {}),
    "bernoulli": ("BernoulliNB", {}),
    "gaussian": ("GaussianNB", {}),
    "tied": ("GaussianBayes", {"covariance": "tied", "shrinkage": 0.1, "shrinkage_target": "spherical"}),
    "full": ("GaussianBayes", {"covariance": "full", "shrinkage": 0.3, "shrinkage_target": "spherical"}),
}
"""The estimators of pixels; covariances of many pixels need some shrinkage."""


def parse_shape(text: str) -> tuple[int, int]:
    """Parse HEIGHT,WIDTH, two whole numbers of pixels."""
    parts = split_list(text)
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise ArgumentTypeError(f"{text}: two whole numbers are needed, HEIGHT,WIDTH, as in 28,28")
    return int(parts[0]), int(parts[1])


@picture_command(
    a.TARGET,
    choice("--family", "|".join(FAMILIES),
           "The distribution of pixels: poisson, multinomial or bernoulli (ink or none), gaussian, or a Gaussian "
           "with a covariance, tied or full.", metavar="FAMILY", default="poisson"),
    option("--shape", "HEIGHT,WIDTH", "The size of an image in pixels, if it is not square.", type=parse_shape),
    *NUMBER_TABLE_OPTIONS,
    examples=[
        "deciban plot digits -o digits.png",
        "deciban plot digits mnist.csv --target label --family tied -o mnist.png",
    ],
)  # fmt: skip
def digits(picture: Picture, family: str, shape: tuple[int, int] | None, **options: Any) -> None:
    """Draw the mean image of each class and the weight of each pixel.

    DATA has a column for each pixel, row by row, and the one to predict; without it scikit-learn's digits are drawn.
    """
    from deciban.plots.plot_rows import read_numbers_and_classes

    picture.check(options["data"])
    with open_optional_table(options) as table:
        if table is None:
            from sklearn.datasets import load_digits

            X, y = load_digits(return_X_y=True)
        else:  # all columns except the target are pixels
            source, label = table.open(), find_target(table, options)
            pixels = [name for name in source.columns if name != label]
            X, y = read_numbers_and_classes(source, dict.fromkeys(pixels, "number"), label)
    name, settings = FAMILIES[family]
    with show_spinner("fitting and drawing …"):
        model = getattr(deciban, name)(**settings).fit(X, y)
        drawn = plots.digits(model, shape)
    picture.save(drawn, f"{len(model.classes_)} classes of {format_count(len(X), 'image')} by {name}")
