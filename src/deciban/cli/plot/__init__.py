"""`deciban plot`: pictures of data, of what a model has learned, and of how good it is; one file a picture.

To add a picture: draw it in `deciban/plots/NAME.py` by a function that takes `ax=None` and returns its Axes (its
Figure, where it has several panels), and name it in `deciban/plots/__init__.py`. Then one file here, with `command`
and `EXAMPLE`; heavy libraries are imported within:

    @pictured
    def command(to: To, data: a.Tables = None, ...) -> None:
        with given(data, sql, None, format, encoding, "strict", missing, hive) as table:
            picture = to(table.paths)  # refuses at once what cannot be written
            from deciban.plots import roc

            picture.save(roc(report), "the ROC of 2 classes")

`pictured` (`saving.py`) gives it the options that every picture has: `-o`, `--size`, `--dots`, `--title`, `--debug`.
A line in `PICTURES` makes it a command; `docs/cli.md` needs a section `### plot NAME` with
`<!-- options of plot NAME -->` and `<!-- end -->`, which `make guide` fills in, and `EXAMPLE` must hold what could be
typed.
"""

from __future__ import annotations

import typer

from deciban.cli.plot import (
    boundary,
    comparison,
    confusion,
    densities,
    dependence,
    digits,
    evidence,
    learning,
    losses,
    nomogram,
    reliability,
    roc,
    sigmoid,
    telltales,
)

PICTURES = (
    ("boundary", "Where classes are equally probable, over one or two columns.", boundary.command, boundary.EXAMPLE),
    ("comparison", "Learners side by side, by how many rows they learn.", comparison.command, comparison.EXAMPLE),
    ("confusion", "Which classes are taken for which.", confusion.command, confusion.EXAMPLE),
    ("densities", "What a model believes of its columns.", densities.command, densities.EXAMPLE),
    ("dependence", "How far columns depend on each other, given the class.", dependence.command, dependence.EXAMPLE),
    ("digits", "Classes of images: their means, and what pixels say.", digits.command, digits.EXAMPLE),
    ("evidence", "Why a row is predicted as it is, step by step.", evidence.command, evidence.EXAMPLE),
    ("learning", "How good a model is by how many rows it has learned.", learning.command, learning.EXAMPLE),
    ("losses", "What a wrong answer costs, by how wrong it is.", losses.command, losses.EXAMPLE),
    ("nomogram", "A sheet to work out predictions on by hand.", nomogram.command, nomogram.EXAMPLE),
    ("reliability", "Whether probabilities mean what they say.", reliability.command, reliability.EXAMPLE),
    ("roc", "Hits against false alarms, for every threshold.", roc.command, roc.EXAMPLE),
    ("sigmoid", "From log-odds to probability, with the data.", sigmoid.command, sigmoid.EXAMPLE),
    ("telltales", "The words that tell each class from the others.", telltales.command, telltales.EXAMPLE),
)
"""Name, what `deciban plot --help` says of it, command, example."""

app = typer.Typer(
    name="plot",
    help='Draw data, models and how good they are, as PNG, SVG or PDF (pip install "deciban[plot]").',
    short_help="Draw data, models, and how good they are.",
    epilog="\b\nExample:\n  deciban plot densities patients.deciban patients.csv -o columns.png",
    no_args_is_help=True,
    rich_markup_mode=None,
)

for _name, _what, _command, _example in PICTURES:
    app.command(_name, short_help=_what, epilog=_example)(_command)
