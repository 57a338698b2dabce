"""`python -m benchmarks.lab_ng_jordan`: rebuild `docs/lab/ng-jordan.md` and its picture from public tables.

Learning curves of naive Bayes, logistic and evidence regression on the same random splits, and their crossings.
The exit code is 2 if the data is missing.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tables run in parallel, one core each

import argparse
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import deciban
from deciban.metrics.learning_curves import Crossing, LearningCurves
from deciban.training.row_draws import list_doubling_sizes
from deciban.training.table_diagnostics import HELD_OUT_SHARE

from . import data, machine
from .lab_tables import format_table, list_tables, read_table

DRAWS = 20
LEARNERS = ("bayes", "logistic", "evidence")
BAYES, PLAIN, LOGISTIC, EVIDENCE = "naive Bayes", "logistic, no penalty", "logistic", "evidence"
SHOWN = (BAYES, PLAIN, LOGISTIC, EVIDENCE)
NO_PENALTY_C = 1e4
"""The C of a negligible penalty: as in Ng and Jordan, with finite weights where classes are separable."""
MAX_TRAINING_ROWS = 1280
EXCLUDED_TABLES = ("letter", "soybean")
"""Tables of 26 and 19 classes: a fit with a chosen penalty takes seconds, too long for as many splits."""
MAX_TABLE_ROWS = 4000
"""A larger table is replaced by a sample of this size before it is split."""
NEAR_ERROR = 0.01
"""A learner is near its final error within this distance of the error with the most rows."""

PAGE = """# Generative against discriminative: Ng and Jordan's curves

Ng and Jordan (2001): the generative model of a pair approaches its asymptotic error, which is higher, with about
log d examples; the discriminative one needs about d. This page tests it on public tables with naive Bayes and
logistic regression of the same columns, *no penalty* (C = {C:g}) as in their paper, and with C chosen by
cross-validation within the training rows; and with evidence regression. {draws} random splits
of each table (seeds 0 to {last}): a fifth of the rows is held out, stratified by class, and of
the others 10, 20, 40 … are learned, at most {most} (adult and mushroom: of {rows} rows, drawn once). Every learner
has the same rows, and makes every choice from these alone, including Gaussian or bins.
{left_out} are excluded: with so many classes the splits take hours. Written by
`python -m benchmarks.lab_ng_jordan` on {date}; do not edit.

Machine: {machine}. All tables took {minutes} minutes, two at a time.

![Accuracy by rows learned, a panel for each table](ng-jordan.png)

## Where the curves cross

*Ahead* means that the mean error over the splits is significantly lower (paired, 95 %); two curves *cross* where the
mean errors are equal, by linear interpolation in ln n between the last size at which one is ahead and the first at
which the other is (in brackets).

### Naive Bayes and logistic regression without a penalty

{plain}
{plain_verdict}

### Naive Bayes and logistic regression with a chosen penalty

{chosen}
{chosen_verdict}

## Error with the most rows

In percent; *parameters* are those of models of half of the rows.

{last_errors}
## Rows needed to approach it

The number of rows from which on the mean error is within one percentage point of that with the most rows; d is the
number of parameters of naive Bayes per class.

{near}
{near_verdict}

## Error in percent, by rows learned

Means over the {draws} splits, ± standard error.

{curves}"""


@dataclass(frozen=True)
class Result:
    """The learning curves of a table, and the number of parameters of its learners."""

    name: str
    rows: int
    columns: int
    classes: int
    curves: LearningCurves
    parameters: Mapping[str, float]

    def crossings(self, other: str) -> list[Crossing]:
        """Return the crossings of naive Bayes and another learner."""
        return self.curves.crossings(BAYES, other)

    def sides(self, other: str) -> list[int]:
        """Return who is ahead at each size: −1 naive Bayes, 1 the other learner, 0 neither significantly."""
        return [int(side) for side in self.curves.sides(BAYES, other)]

    def format_sizes_ahead(self, other: str, side: int) -> str:
        """Format the sizes at which one of the two is ahead."""
        sides = self.sides(other)
        sizes = [str(size) for size, who in zip(self.curves.sizes, sides) if who == side]
        return "everywhere" if len(sizes) == len(sides) else ", ".join(sizes) or "–"

    def final_error(self, learner: str) -> float:
        """Return the mean error with the most rows."""
        return 1 - float(self.curves.mean("accuracy")[self.curves.index(learner)][-1])

    def rows_until_near(self, learner: str) -> int:
        """Return the number of rows from which on a learner is near its final error."""
        accuracy = self.curves.mean("accuracy")[self.curves.index(learner)]
        far = np.flatnonzero(accuracy < accuracy[-1] - NEAR_ERROR)
        return self.curves.sizes[int(far[-1]) + 1 if len(far) else 0]


def measure_table(name: str, draws: int) -> Result:
    """Measure the learning curves of one table."""
    table = read_table(name)
    frame = table.frame if len(table.frame) <= MAX_TABLE_ROWS else table.frame.sample(MAX_TABLE_ROWS, random_state=0)
    n, d = frame.shape
    settings: dict[str, Any] = {
        "target": table.target,
        "folds": 2,
        "draws": draws,
        "sizes": list_doubling_sizes(min(MAX_TRAINING_ROWS, n - round(HELD_OUT_SHARE * n))),
    }
    plain = deciban.compare(frame, learners=["logistic"], C=NO_PENALTY_C, **settings)
    found = deciban.compare(frame, learners=LEARNERS, **settings)
    parameters = {each.name: each.n_parameters for each in found}
    return Result(name, n, d - 1, len(set(table.labels)), merge_curves(found.growth, plain.growth), parameters)


def merge_curves(others: LearningCurves | None, plain: LearningCurves | None) -> LearningCurves:
    """Merge the curves of two comparisons with equal draws."""
    assert others is not None
    assert plain is not None
    names = [PLAIN, *others.names]
    place = [names.index(name) for name in SHOWN]
    accuracy, loss = (
        np.concatenate([getattr(plain, figure), getattr(others, figure)])[place]
        for figure in ("accuracy", "log_loss")
    )
    return LearningCurves(SHOWN, others.sizes, accuracy, loss, others.held_out)


def measure_tables(names: Sequence[str], draws: int) -> Iterator[Result]:
    """Measure all tables in parallel processes; yield them in the order of their names."""
    with ProcessPoolExecutor() as pool:
        futures = [pool.submit(measure_table, name, draws) for name in names]
        for each in futures:
            found = each.result()
            print(f"{found.name}: {found.sides(PLAIN)} {found.sides(LOGISTIC)}", file=sys.stderr, flush=True)
            yield found


CROSSING_COLUMNS = [
    "table",
    "rows",
    "columns",
    "classes",
    "naive Bayes ahead at",
    "logistic ahead at",
    "they cross at",
]


def format_crossing_line(found: Result, other: str) -> list[str]:
    """Format a line of the tables of crossings."""
    crossings = [f"{each.at:.0f} ({each.ahead_until} to {each.behind_from})" for each in found.crossings(other)]
    shape = [f"{found.rows}", f"{found.columns}", f"{found.classes}"]
    return [
        found.name,
        *shape,
        found.format_sizes_ahead(other, -1),
        found.format_sizes_ahead(other, 1),
        "; ".join(crossings) or "–",
    ]


def format_verdict(every: Sequence[Result], other: str) -> str:
    """Count the tables by which learner is ahead at which sizes."""
    kinds: dict[str, list[Result]] = {kind: [] for kind in KINDS}
    for found in every:
        kinds[classify(found, other)].append(found)
    text = "; ".join(
        f"{kind}: {len(found)} ({', '.join(each.name for each in found)})" for kind, found in kinds.items() if found
    )
    return f"{text[0].upper()}{text[1:]}."


KINDS = (
    "naive Bayes is ahead with few rows and is overtaken",
    "naive Bayes is ahead wherever a difference is significant, up to the most rows",
    "logistic regression is ahead wherever a difference is significant",
    "logistic regression is ahead with few rows and is overtaken",
    "no difference is significant at any size",
    "they overtake each other more than once",
)


def classify(found: Result, other: str) -> str:
    """Return the element of `KINDS` that describes a table."""
    crossings, sides = found.crossings(other), found.sides(other)
    if len(crossings) > 1:
        return KINDS[5]
    if crossings:
        return KINDS[0] if crossings[0].first_ahead else KINDS[3]
    return KINDS[1] if -1 in sides else KINDS[2] if 1 in sides else KINDS[4]


def format_near_line(found: Result) -> list[str]:
    """Format a line of the table of rows needed."""
    d = found.parameters[BAYES] / found.classes
    return [found.name, f"{d:.0f}", f"{math.log(d):.1f}", *(f"{found.rows_until_near(name)}" for name in SHOWN)]


def format_near_verdict(every: Sequence[Result]) -> str:
    """Count the tables on which naive Bayes needs fewer rows to approach its final error."""
    parts = []
    for other, words in ((PLAIN, "without a penalty"), (LOGISTIC, "with a chosen penalty")):
        sooner = sum(found.rows_until_near(BAYES) < found.rows_until_near(other) for found in every)
        later = sum(found.rows_until_near(BAYES) > found.rows_until_near(other) for found in every)
        parts.append(f"than logistic regression {words} on {sooner} of {len(every)} tables, and more on {later}")
    return f"Naive Bayes needs fewer rows {'; fewer '.join(parts)}."


def format_final_line(found: Result) -> list[str]:
    """Format a line of the table of final errors."""
    errors = [f"{100 * found.final_error(name):.1f}" for name in SHOWN]
    return [
        found.name,
        f"{found.curves.sizes[-1]}",
        *errors,
        *(f"{found.parameters[n]:.0f}" for n in SHOWN if n != PLAIN),
    ]


FINAL_COLUMNS = ["table", "rows", *SHOWN, "parameters: naive Bayes", "logistic", "evidence"]


def format_curves(found: Result) -> str:
    """Format the errors of the learners of a table at every size."""
    curves = found.curves
    mean, error = 1 - curves.mean("accuracy"), curves.error("accuracy")
    lines = [
        [name, *(f"{100 * mean[i, j]:.1f} ± {100 * error[i, j]:.1f}" for j in range(len(curves.sizes)))]
        for i, name in enumerate(curves.names)
    ]
    return f"### {found.name}\n\n{format_table(['', *map(str, curves.sizes)], lines)}"


def draw_picture(every: Sequence[Result], path: Path) -> None:
    """Draw the learning curves, a panel for each table."""
    from matplotlib import pyplot

    from deciban.plots import comparison

    across = 3
    down = -(-len(every) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(10.5, 2.7 * down), layout="constrained", squeeze=False)
    for ax in axes.flat[len(every) :]:
        ax.set_visible(False)
    for ax, found in zip(axes.flat, every):
        comparison(CurvesOnly(found), ax=ax)
        ax.get_legend().remove()
        ax.set_title(found.name, loc="left", fontsize=10)
        ax.set_xlabel("")
        ax.set_ylabel("")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, handlelength=3.0)
    figure.supylabel("accuracy on held-out rows, by rows learned")
    figure.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(figure)


class CurvesOnly:
    """The attributes of a comparison that `plots.comparison` reads to draw learning curves."""

    def __init__(self, found: Result) -> None:
        self.growth = found.curves
        self.rows = [CurveName(name) for name in SHOWN]
        crossings = found.crossings(PLAIN)
        is_overtaken = len(crossings) == 1 and crossings[0].first_ahead
        self.overtaken_at = crossings[0].at if is_overtaken else None


@dataclass(frozen=True)
class CurveName:
    """The name of a learner with a curve."""

    name: str
    loss: Any = None


def format_page(every: Sequence[Result], seconds: float) -> str:
    """Format the page."""
    tables = {
        other: format_table(CROSSING_COLUMNS, [format_crossing_line(found, other) for found in every])
        for other in SHOWN[1:3]
    }
    return PAGE.format(
        draws=DRAWS, last=DRAWS - 1, most=MAX_TRAINING_ROWS, rows=MAX_TABLE_ROWS, C=NO_PENALTY_C,
        date=date.today().isoformat(), machine=machine.describe(), minutes=f"{seconds / 60:.0f}",
        left_out=" and ".join(EXCLUDED_TABLES).capitalize(),
        plain=tables[PLAIN], plain_verdict=format_verdict(every, PLAIN),
        chosen=tables[LOGISTIC], chosen_verdict=format_verdict(every, LOGISTIC),
        last_errors=format_table(FINAL_COLUMNS, [format_final_line(found) for found in every]),
        near=format_table(["table", "d", "ln d", *SHOWN], [format_near_line(found) for found in every]),
        near_verdict=format_near_verdict(every), curves="\n".join(format_curves(found) for found in every),
    )  # fmt: skip


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_ng_jordan", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "ng-jordan.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", nargs="+", help="these tables alone; writes no page")
    parser.add_argument("--draws", type=int, default=DRAWS, help="splits; another number writes no page")
    return parser.parse_args()


def main() -> int:
    """Measure and write the page; return the exit code."""
    arguments, start = parse_arguments(), time.perf_counter()
    try:
        tables = arguments.only or [name for name in list_tables() if name not in EXCLUDED_TABLES]
        every = list(measure_tables(tables, arguments.draws))
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    text = format_page(every, time.perf_counter() - start)
    if arguments.only or arguments.draws != DRAWS:
        print(text)
        return 0
    arguments.page.write_text(text, encoding="utf-8")
    draw_picture(every, arguments.page.with_suffix(".png"))
    print(f"wrote {arguments.page}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
