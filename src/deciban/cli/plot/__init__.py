"""`deciban plot`: pictures of data, of models, and of their quality.

To add a picture: draw it in `deciban/plots/NAME.py` by a function that takes `ax=None` and returns its Axes (its
Figure, where it has several panels), and name it in `deciban/plots/__init__.py`. Then a function here makes it a
command of its name; heavy libraries are imported within:

    @draws_picture("Hits against false alarms.", "deciban plot roc a.csv -o roc.png", options_of=a.table_options)
    def roc(to: To, **options: Any) -> None:
        with open_table(options) as table:
            picture = to(table.paths)  # refuses at once a file that cannot be written
            from deciban import plots

            picture.save(plots.roc(report), "the ROC of 2 classes")

`draws_picture` adds the options that every picture has: `-o`, `--size`, `--dots`, `--title`, `--debug`. `docs/cli.md`
needs a section `### plot NAME` with `<!-- options of plot NAME -->` and `<!-- end -->`, which `make guide` fills in,
and the examples must hold what could be typed.
"""

from deciban.cli.plot import estimator_pictures, model_pictures, quality_pictures  # noqa: F401
from deciban.cli.plot.picture_options import app

app.registered_commands.sort(key=lambda command: command.name or "")
