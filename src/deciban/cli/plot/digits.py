"""`deciban plot digits`: the mean image of each class, and the weights of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import status
from deciban.cli.plot.picture_options import Picture, To, draws_picture

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
"""The estimators of pixels; covariances of many pixels need some shrinkage."""

Family = Annotated[
    Literal["poisson", "multinomial", "bernoulli", "gaussian", "tied", "full"],
    typer.Option(
        "--family",
        metavar="FAMILY",
        help="The distribution of pixels: poisson, multinomial or bernoulli (ink or none), gaussian, or a Gaussian "
        "with a covariance, tied or full.",
    ),
]
Shape = Annotated[
    str | None,
    typer.Option("--shape", metavar="HEIGHT,WIDTH", help="The size of an image in pixels, if it is not square."),
]


@a.with_options_of(a.table_options, without=a.DOCUMENT_OPTIONS)
@draws_picture
def command(
    to: To,
    target: a.Target = None,
    family: Family = "poisson",
    shape: Shape = None,
    **options: Any,
) -> None:
    """Draw the mean image of each class and the weight of each pixel.

    DATA has a column for each pixel, row by row, and the one to predict; without it scikit-learn's digits are drawn.
    """
    from deciban.cli.inputs import open_table

    picture = to(options["data"] or ())
    if not options["data"] and options["sql"] is None:
        draw(picture, *load_bundled(), family, shape)
        return
    with open_table(options) as table:
        draw(picture, *read_pixels(table, target), family, shape)


def load_bundled() -> tuple[Any, Any]:
    """Return the 1797 digits of scikit-learn, of 8×8 pixels."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X, y


def read_pixels(table: TableInput, target: str | None) -> tuple[Any, Any]:
    """Return all columns except the target as numbers, and the classes."""
    from deciban.cli.training_options import find_target
    from deciban.plots.plot_rows import read_numbers_and_classes

    source = table.open()
    target = find_target(table, {"target": target})
    return read_numbers_and_classes(source, [name for name in source.columns if name != target], target)


def draw(picture: Picture, X: Any, y: Any, family: str, shape: str | None) -> None:
    """Fit the model, draw and write."""
    import deciban
    from deciban.plots import digits

    name, settings = FAMILIES[family]
    with status("fitting and drawing …"):
        model = getattr(deciban, name)(**settings).fit(X, y)
        drawn = digits(model, None if shape is None else parse_shape(shape))
    picture.save(drawn, f"{len(model.classes_)} classes of {len(X)} images by {name}")


def parse_shape(text: str) -> tuple[int, int]:
    """Parse HEIGHT,WIDTH."""
    parts = a.split_list(text)
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise typer.BadParameter(f"--shape {text}: two whole numbers are needed, HEIGHT,WIDTH, as in 28,28")
    return int(parts[0]), int(parts[1])
