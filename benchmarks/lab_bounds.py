"""`python -m benchmarks.lab_bounds`: rebuild `docs/lab/bounds.md` on the bounds of numbers and counts in tables.

The exit code is 2 if the data is missing.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from deciban import NaiveBayes
from deciban.families import column_losses, count_families, gaussian
from deciban.metrics import Report
from deciban.scores import bounded_forms
from deciban.scores.bounded_forms import CONTAMINATION

from .lab import Figure, rebuild_page
from .lab_tables import Table, cross_validate, format_table, list_tables, read_table
from .table_models import make_our_learner, number_columns

SETTINGS: Mapping[str, Mapping[str, object]] = {
    "default": {},
    "number": {"numbers": "number"},
    "joined": {"numbers": "number", "blocks": "numbers"},
}
"""The arguments of each model that is trained with and without a bound."""

NO_BOUND = 1e-300
"""The weight of gross errors that bounds nothing."""

WEIGHTS = (NO_BOUND, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""The weights of gross errors that are compared."""

MAX_ROWS = 5000
"""The number of rows up to which a table is used to compare weights."""

NORMAL_ROWS, N_DRAWS, N_TEST_ROWS = (20, 50, 200, 1000), 20, 2000
"""Rows of normal data that are learned, the number of draws of them, and the rows that each is tested on."""

PAGE = """# Bounds of numbers

Written by `python -m benchmarks.lab_bounds` on {date}; do not edit. Machine: {machine}.

In tables the densities of numbers and counts are [bounded](../maths.md) by gross errors of weight 10⁻⁴. Here they are
compared with those of models without a bound, by 10-fold cross-validation with the folds of
[Real tables](tables.md): *default* is `deciban.train` as it is, *number* has a Gaussian for each column of numbers,
*joined* one Gaussian for all of them, in which far values count as missing.
{sections}"""

NORMAL_TEXT = """
## Normal data

The cost of the bound where numbers are normal: two classes with {columns} columns, means 1 apart, deviations 1 and 3;
mean accuracy in percent and log-loss of {draws} draws, each tested on {rows} rows, by the weight of gross errors.
"""


@contextmanager
def set_weight(weight: float) -> Iterator[None]:
    """Train models with this weight of gross errors."""
    with (
        patch.object(gaussian, "CONTAMINATION", weight),
        patch.object(count_families, "MAX_DEVIANCE", -np.log(weight)),
        patch.object(column_losses, "MAX_DEVIANCE", -np.log(weight)),
        patch.object(bounded_forms, "MAX_FEATURE_EVIDENCE", -np.log(weight)),
        patch.object(gaussian, "MAX_DEVIATIONS", 1e100 if weight == NO_BOUND else gaussian.MAX_DEVIATIONS),
    ):
        yield


def evaluate(table: Table, model: str, weight: float) -> Report:
    """Cross-validate a model of these settings with this weight of gross errors."""
    with set_weight(weight):
        return cross_validate(table, make_our_learner(**SETTINGS[model]))


def format_comparison(tables: Sequence[Table], model: str) -> str:
    """Format the figures of each table without and with a bound, and how many tables it wins, ties and loses."""
    rows = []
    for table in tables:
        reports = [evaluate(table, model, weight) for weight in (NO_BOUND, CONTAMINATION)]
        accuracies = [f"{100 * report.accuracy:.2f}" for report in reports]
        rows.append([table.name, *accuracies, *(f"{report.log_loss:.3f}" for report in reports)])
    accuracy, loss = ([float(row[i + 1]) - float(row[i]) for row in rows] for i in (1, 3))
    ends = ["*won/tied/lost*", "", count_results(accuracy), "", count_results([-gain for gain in loss])]
    head = ["table", "accuracy, no bound", "bounded", "log-loss, no bound", "bounded"]
    return f"\n## {model}\n\n{format_table(head, [*rows, ends])}"


def count_results(gains: Sequence[float]) -> str:
    """Count gains, ties and losses in the digits shown."""
    return "/".join(str(sum(np.sign(gain) == result for gain in gains)) for result in (1, 0, -1))


def format_weights(tables: Sequence[Table]) -> str:
    """Format the mean figures over tables by the weight of gross errors."""
    lines = []
    for weight in WEIGHTS:
        cells = ["none" if weight == NO_BOUND else f"{weight:g}"]
        for model in SETTINGS:
            reports = [evaluate(table, model, weight) for table in tables]
            cells.append(f"{100 * np.mean([report.accuracy for report in reports]):.2f}")
            cells.append(f"{np.mean([report.log_loss for report in reports]):.3f}")
        lines.append(cells)
    head = ["weight", *(f"{figure}: {model}" for model in SETTINGS for figure in ("accuracy", "log-loss"))]
    text = f"Means over the tables of at most {MAX_ROWS} rows."
    return f"\n## The weight of gross errors\n\n{text}\n\n{format_table(head, lines)}"


def format_normal(columns: int = 4) -> str:
    """Format the figures of normal data by the number of rows and the weight of gross errors."""
    lines = []
    for n in NORMAL_ROWS:
        cells = [f"{n}"]
        for weight in WEIGHTS:
            with set_weight(weight):
                accuracy, loss = np.mean([score_draw(n, columns, seed) for seed in range(N_DRAWS)], axis=0)
            cells.append(f"{100 * accuracy:.2f} / {loss:.4f}")
        lines.append(cells)
    head = ["rows", *("none" if weight == NO_BOUND else f"{weight:g}" for weight in WEIGHTS)]
    text = NORMAL_TEXT.format(columns=columns, draws=N_DRAWS, rows=N_TEST_ROWS)
    return f"{text}\n{format_table(head, lines)}"


def score_draw(n: int, columns: int, seed: int) -> tuple[float, float]:
    """Return the accuracy and the log-loss of a model of n rows of normal data on new ones."""
    rng = np.random.default_rng([seed, n])
    (X, y), (X_new, y_new) = (draw_rows(rows, columns, rng) for rows in (n, N_TEST_ROWS))
    log_proba = NaiveBayes(numbers="number").fit(X, y).predict_log_proba(X_new)
    own = log_proba[np.arange(N_TEST_ROWS), y_new]
    return float((log_proba.argmax(axis=1) == y_new).mean()), float(-own.mean())


def draw_rows(n: int, columns: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw n rows of two classes in turn, with means 0 and 1 and deviations 1 and 3."""
    y = np.arange(n) % 2
    return rng.normal(y[:, None], 1.0 + 2.0 * y[:, None], (n, columns)), y


def measure_sections() -> tuple[str, list[Figure]]:
    """Measure; return the sections of the page, of which no figure is expected."""
    tables = [read_table(name) for name in list_tables()]
    tables = [table for table in tables if len(number_columns(table.frame.drop(columns=table.target))) > 1]
    sections = "".join(format_comparison(tables, model) for model in SETTINGS)
    sections += format_weights([table for table in tables if len(table.frame) <= MAX_ROWS]) + format_normal()
    return sections, []


def main() -> int:
    """Rebuild the page; return the exit code."""
    return rebuild_page("lab_bounds", "bounds.md", PAGE, measure_sections, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
