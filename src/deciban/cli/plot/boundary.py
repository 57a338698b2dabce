"""`deciban plot boundary`: the decision boundaries of a Gaussian model of one or two columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, draws_picture

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot boundary flowers.csv --target species --columns petal_length,petal_width -o regions.png",
    "deciban plot boundary flowers.csv --target species --columns petal_length --covariance full -o curves.svg",
    "deciban plot boundary a.csv --target y --columns x1,x2 --covariance identity --prior uniform -o bisector.png",
)
Columns = Annotated[
    str,
    typer.Option("--columns", metavar="A,B", help="The columns of numbers to draw: two, or one.", show_default=False),
]
Covariance = Annotated[
    Literal["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "identity"],
    typer.Option(
        "--covariance",
        metavar="SHAPE",
        help="The covariance of the classes: full, diagonal or spherical (a conic), or tied, "
        "tied_diagonal, tied_spherical or identity (a line).",
    ),
]
ISOTROPIC_SHAPES = ("identity", "spherical", "tied_spherical")
"""The covariances under which all directions are equal; columns share a scale, so that right angles look right."""


@a.with_options_of(a.table_options, without=a.DOCUMENT_OPTIONS)
@draws_picture
def command(
    to: To,
    columns: Columns,
    target: a.Target = None,
    covariance: Covariance = "full",
    prior: a.Prior = None,
    **options: Any,
) -> None:
    """Draw the regions of the classes over two columns, shaded by the posterior, with the data and the line or conic
    between them; or over one column the curves π_k p(x|k) and their thresholds.
    """
    from deciban.cli.inputs import open_table

    with open_table(options) as table:
        picture = to(table.paths)
        run(table, picture, a.split_list(columns), target, covariance, a.parse_prior(prior))


def run(
    table: TableInput, picture: Picture, columns: list[str], target: str | None, covariance: str, prior: Any
) -> None:
    """Read the columns, fit the model, draw and write."""
    if not 1 <= len(columns) <= 2:
        raise typer.BadParameter(f"--columns takes one column or two, as in height,weight; not {len(columns)}")
    from deciban.cli.training_options import find_target
    from deciban.plots import boundary
    from deciban.plots.boundary import draw_means
    from deciban.plots.plot_rows import draw_sample, read_numbers_and_classes

    with status("reading and drawing …"):
        X, y = read_numbers_and_classes(table.open(), columns, find_target(table, {"target": target}))
        model = fit_gaussian(X, y, covariance, prior)
        rows = draw_sample(len(X))
        ax = boundary(
            model,
            X[rows],
            y[rows],
            names=columns,
            to_scale=covariance in ISOTROPIC_SHAPES and has_comparable_scales(X),
        )
        if covariance in ISOTROPIC_SHAPES and X.shape[1] == len(model.classes_) == 2:
            draw_means(ax, model.means_)
    shown = "" if len(rows) == len(X) else f" ({len(rows)} of {len(X)} rows shown)"
    picture.save(ax, f"{len(model.classes_)} classes over {' and '.join(columns)}{shown}")


def fit_gaussian(X: Any, y: Any, covariance: str, prior: Any) -> Any:
    """Fit a Gaussian for each class, with priors by name or by class."""
    import deciban
    from deciban.errors import InputError
    from deciban.model.model_options import parse_class_prior

    classes = tuple(sorted(set(y.tolist())))
    if len(classes) < 2:
        raise InputError(f"a boundary lies between two classes, and the table has {classes[0]!r} only")
    resolved = parse_class_prior(prior, classes)
    priors = resolved.given if resolved.given is not None else resolved.kind
    return deciban.GaussianBayes(covariance=covariance, priors=priors).fit(X, y)


def has_comparable_scales(X: Any) -> bool:
    """Return whether two columns can share a scale without one of them shrinking to a line."""
    import numpy as np

    span = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    return bool(len(span) == 2 and span.max() <= 4 * span.min())
