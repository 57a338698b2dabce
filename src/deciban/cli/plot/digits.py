"""`deciban plot digits`: what classes of images look like, and where ink speaks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, pictured

if TYPE_CHECKING:
    from deciban.cli.inputs import TableInput

EXAMPLE = a.example(
    "deciban plot digits -o digits.png",
    "deciban plot digits mnist.csv --target label --family tied -o mnist.png",
)
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "poisson": ("PoissonNB", {}),
    "multinomial": ("MultinomialNB", {}),
    "bernoulli": ("BernoulliNB", {}),
    "gaussian": ("GaussianNB", {}),
    "tied": ("GaussianBayes", {"covariance": "tied", "shrinkage": 0.1}),
    "full": ("GaussianBayes", {"covariance": "full", "shrinkage": 0.3}),
}
"""The facades that pixels can be left to; covariances of many pixels need some shrinkage."""

Family = Annotated[
    Literal["poisson", "multinomial", "bernoulli", "gaussian", "tied", "full"],
    typer.Option(
        "--family",
        metavar="FAMILY",
        help="What pixels are taken for: poisson, multinomial or bernoulli (ink or none), gaussian, or a Gaussian "
        "with a covariance, tied or full.",
    ),
]
Shape = Annotated[
    str | None,
    typer.Option("--shape", metavar="HEIGHT,WIDTH", help="Of an image in pixels, where it is no square."),
]


@pictured
def command(
    to: To,
    data: a.Tables = None,
    target: a.Target = None,
    family: Family = "poisson",
    shape: Shape = None,
    sql: a.Sql = None,
    format: a.Format = None,
    encoding: a.Encoding = "utf-8",
    missing: a.Missing = None,
    hive: a.Hive = False,
) -> None:
    """Draw the mean image of each class and the weight of each pixel.

    DATA has a column for each pixel, row by row, and the one to predict; without it scikit-learn's digits are drawn.
    """
    from deciban.cli.inputs import given

    picture = to(data or ())
    if not data and sql is None:
        draw(picture, *bundled(), family, shape)
        return
    with given(data, sql, None, format, encoding, "strict", missing, hive) as table:
        draw(picture, *pixels(table, target), family, shape)


def bundled() -> tuple[Any, Any]:
    """The 1797 digits that come with scikit-learn, 8×8 pixels."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def pixels(table: TableInput, target: str | None) -> tuple[Any, Any]:
    """All columns but the target, as numbers."""
    from deciban.cli.train import find_target
    from deciban.plots.plot_rows import numbers_and_classes

    source = table.open()
    target = find_target(table, target, None)
    return numbers_and_classes(source, [name for name in source.columns if name != target], target)


def draw(picture: Picture, X: Any, y: Any, family: str, shape: str | None) -> None:
    """Fit, draw, write."""
    import deciban
    from deciban.plots import digits

    name, settings = FAMILIES[family]
    with status("fitting and drawing …"):
        model = getattr(deciban, name)(**settings).fit(X, y)
        drawn = digits(model, None if shape is None else lengths(shape))
    picture.save(drawn, f"{len(model.classes_)} classes of {len(X)} images by {name}")


def lengths(text: str) -> tuple[int, int]:
    """HEIGHT,WIDTH taken apart."""
    parts = a.listed(text)
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise typer.BadParameter(f"--shape {text}: two whole numbers are wanted, HEIGHT,WIDTH, as in 28,28")
    return int(parts[0]), int(parts[1])
