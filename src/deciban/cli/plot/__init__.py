"""`deciban plot`: pictures of data, of models, and of their quality.

To add a picture: draw it in `deciban/plots/NAME.py` by a function that takes `ax=None` and returns its Axes (its
Figure, where it has several panels), and name it in `deciban/plots/__init__.py`. Then a command and
its example here; heavy libraries are imported within:

    @a.with_options_of(a.table_options)
    @draws_picture
    def command(to: To, **options: Any) -> None:
        with open_table(options) as table:
            picture = to(table.paths)  # refuses at once a file that cannot be written
            from deciban.plots import roc

            picture.save(roc(report), "the ROC of 2 classes")

`draws_picture` adds the options that every picture has: `-o`, `--size`, `--dots`, `--title`, `--debug`.
A line in `PICTURES` makes it a command; `docs/cli.md` needs a section `### plot NAME` with
`<!-- options of plot NAME -->` and `<!-- end -->`, which `make guide` fills in, and `EXAMPLE` must hold what could be
typed.
"""

from __future__ import annotations

import typer

from deciban.cli.plot import (
    boundary,
    densities,
    dependence,
    digits,
    evidence,
    learning,
    reports,
    sigmoid,
    telltales,
)

PICTURES = (
    ("boundary", "Where classes are equally probable, over one or two columns.", boundary.command, boundary.EXAMPLE),
    ("comparison", "Learners side by side, by how many rows they learn.", learning.comparison, learning.COMPARISON),
    ("confusion", "Which classes are confused.", reports.confusion, reports.CONFUSION),
    ("densities", "The distributions of columns that a model has learned.", densities.command, densities.EXAMPLE),
    (
        "dependence",
        "How strongly columns depend on each other, given the class.",
        dependence.command,
        dependence.EXAMPLE,
    ),
    ("digits", "Classes of images: their means, and the weights of pixels.", digits.command, digits.EXAMPLE),
    ("evidence", "The evidence for the prediction of a row, step by step.", evidence.evidence, evidence.EVIDENCE),
    ("learning", "The quality of a model by how many rows it has learned.", learning.learning, learning.LEARNING),
    ("losses", "Four loss functions over the margin.", sigmoid.losses, sigmoid.LOSSES),
    ("nomogram", "A chart for computing predictions by hand.", evidence.nomogram, evidence.NOMOGRAM),
    (
        "reliability",
        "Predicted probabilities against observed frequencies.",
        reports.reliability,
        reports.RELIABILITY,
    ),
    ("roc", "Hits against false alarms, for every threshold.", reports.roc, reports.ROC),
    ("sigmoid", "From log-odds to probability, with the data.", sigmoid.sigmoid, sigmoid.SIGMOID),
    ("telltales", "The words that distinguish each class from the others.", telltales.command, telltales.EXAMPLE),
)
"""The name, the help, the command and the example of each picture."""

app = typer.Typer(
    name="plot",
    help='Draw data, models and their quality, as PNG, SVG or PDF (pip install "deciban[plot]").',
    short_help="Draw data, models, and their quality.",
    epilog="\b\nExample:\n  deciban plot densities patients.deciban patients.csv -o columns.png",
    no_args_is_help=True,
    rich_markup_mode=None,
)

for _name, _help, _command, _example in PICTURES:
    app.command(_name, short_help=_help, epilog=_example)(_command)
