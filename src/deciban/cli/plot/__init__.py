"""`deciban plot`: pictures of data, of models, and of their quality.

To add a picture: draw it in `deciban/plots/NAME.py` by a function that takes `ax=None` and returns its Axes (its
Figure, where it has several panels), and name it in `deciban/plots/__init__.py`. Then a function here with a line in
`GROUP` makes it a command; heavy libraries are imported within:

    @picture_command(*a.TABLE_OPTIONS, examples=["deciban plot roc a.csv -o roc.png"])
    def roc(picture: Picture, **options: Any) -> None:
        with open_table(options) as table:
            picture.check(table.paths)  # refuses at once a file that cannot be written
            picture.save(plots.roc(report), "the ROC of 2 classes")

`picture_command` adds the options that every picture has: `-o`, `--size`, `--dots`, `--title`, `--debug`. The file
`docs/cli.md` needs a section `### plot NAME` with `<!-- options of plot NAME -->` and `<!-- end -->`, which `make
guide` fills in, and the examples must hold what could be typed.
"""

from deciban.cli.command_groups import CommandEntry, Group, format_examples

GROUP = Group(
    "deciban plot",
    'Draw data, models and their quality, as PNG, SVG or PDF (pip install "deciban[plot]").',
    {
        "boundary": CommandEntry(
            "Where classes are equally probable, over one or two columns.", "estimator_pictures"
        ),
        "comparison": CommandEntry("Learners side by side, by how many rows they learn.", "quality_pictures"),
        "confusion": CommandEntry("Which classes are confused.", "quality_pictures"),
        "densities": CommandEntry("The distributions of columns that a model has learned.", "model_pictures"),
        "dependence": CommandEntry("How strongly columns depend on each other, given the class.", "quality_pictures"),
        "digits": CommandEntry("Classes of images: their means, and the weights of pixels.", "estimator_pictures"),
        "evidence": CommandEntry("The evidence for the prediction of a row, step by step.", "model_pictures"),
        "learning": CommandEntry("The quality of a model by how many rows it has learned.", "quality_pictures"),
        "losses": CommandEntry("Four loss functions over the margin.", "model_pictures"),
        "nomogram": CommandEntry("A chart for computing predictions by hand.", "model_pictures"),
        "reliability": CommandEntry("Predicted probabilities against observed frequencies.", "quality_pictures"),
        "roc": CommandEntry("Hits against false alarms, for every threshold.", "quality_pictures"),
        "sigmoid": CommandEntry("From log-odds to probability, with the data.", "model_pictures"),
        "telltales": CommandEntry("The words that distinguish each class from the others.", "model_pictures"),
    },
    format_examples("deciban plot densities patients.deciban patients.csv -o columns.png"),
)
"""The pictures, in the order of `deciban plot --help`."""
