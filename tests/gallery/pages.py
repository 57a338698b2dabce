"""The list of ideas and their scripts in docs/examples, and the function that runs one of them."""

import contextlib
import io
import re
import runpy
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"

IDEAS = {
    "Bayes' theorem and the rare disease, 10 000 people": "01_rare_disease",
    "coin flips: maximum likelihood and MAP, 3/5": "02_coin_flips",
    "the zero-count problem and Laplace's pseudo-counts": "03_zero_counts",
    "joint model against naive Bayes: parameter counts": "04_parameter_counts",
    "London taxis: conditional and marginal dependence": "05_london_taxis",
    "Bernoulli naive Bayes as a linear classifier": "06_linear_classifier",
    "log-space arithmetic and underflow": "07_logarithms",
    "bag of words on six sentences": "08_bag_of_words",
    "the personal spam detector 400/50/50": "09_spam_detector",
    "one-dimensional Gaussians and where they cross": "10_crossing_gaussians",
    "Gaussian Bayes with identity, shared, diagonal and own Σ": "11_gaussian_boundaries",
    "handwritten digits black-and-white and grey": "12_handwritten_digits",
    "logistic regression: loss, gradient steps, the same boundary": "13_logistic_regression",
    "zero-one, log, hinge and exponential loss": "14_losses",
    "boosting round by round": "15_boosting",
    "naive Bayes against logistic regression as rows grow": "16_ng_jordan",
    "novelty by p(x)": "17_novelty",
    "sampling from the model": "18_sampling",
    "explanation of one decision in decibans": "19_evidence",
    "a diagnosis with missing values": "20_missing_values",
}
"""The ideas of the pages, and the name of the script of each."""


class PageRun(NamedTuple):
    """What a script leaves behind: its variables, printed text and figures."""

    values: dict
    text: str
    figures: list


def path_of(name):
    """Return the path of a script."""
    return EXAMPLES / f"plot_{name}.py"


@cache
def run(name):
    """Run a script without a window, warnings as errors; return its variables, printed text and figures."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.close("all")
    printed = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("error", kind)
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        values = runpy.run_path(str(path_of(name)))
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    for figure in figures:
        figure.canvas.draw()
    pyplot.close("all")
    return PageRun(values, printed.getvalue(), figures)


def lab_rows(page, heading=""):
    """Return the table rows of a page of the lab below a heading, a list of cells each."""
    text = (DOCS / "lab" / f"{page}.md").read_text().partition(heading)[2]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]


def numbers_in(text):
    """Return the numbers in a text; a true minus sign is a minus."""
    return [float(found) for found in re.findall(r"-?\d+(?:\.\d+)?", text.replace("−", "-").replace(",", ""))]
