"""`python -m benchmarks.lab_ng_jordan`: rebuild `docs/lab/ng-jordan.md` and its picture from the real tables.

Learning curves of naive Bayes, logistic and evidence regression on the same random splits, and where they cross.
Exit code 2 if the data is absent.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tables side by side, one core each

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
from deciban.training.compare import doubled
from deciban.training.learning_curve import HELD_OUT

from . import data, machine
from .lab_tables import markdown, names, read

DRAWS = 100
LEARNERS = ("bayes", "logistic", "evidence")
BAYES, PLAIN, LOGISTIC, EVIDENCE = "naive Bayes", "logistic, no penalty", "logistic", "evidence"
SHOWN = (BAYES, PLAIN, LOGISTIC, EVIDENCE)
NO_PENALTY = 1e4
"""A penalty next to none: as Ng and Jordan had it, and finite where classes can be parted by a line."""
MOST = 1280
"""Rows beyond which no table is learned."""
LEFT_OUT = ("letter", "soybean")
"""Tables of 26 and 19 classes: a search whose penalty is chosen takes seconds, too long a hundred times over."""
ROWS = 4000
"""Of a larger table so many rows are drawn first: the splits are of these."""
NEAR = 0.01
"""A learner is near what it will come to where its error is within a point of that of the most rows."""

PAGE = """# Generative against discriminative: Ng and Jordan's curves

Ng and Jordan (2001): the generative model of a pair nears its own error, which is higher, with about log d examples;
the discriminative one needs about d. Here the pair on real tables: naive Bayes and logistic regression of the same
columns, *no penalty* (C = {C:g}) as in their paper, and then with C chosen by cross-validation within the rows
learned; and evidence regression between them. {draws} random splits of each table (seeds 0 to {last}): a fifth of
the rows is held out, stratified by class, and of the others 10, 20, 40 … are learned, at most {most} (adult and
mushroom: of {rows} rows, drawn once). Every learner has the same rows, and settles all by these alone, bells or bins
too. Left out are {left_out}: with so many classes a hundred splits take hours. Written by
`python -m benchmarks.lab_ng_jordan` on {date}; do not edit.

Machine: {machine}. All tables took {minutes} minutes, two at a time.

![Accuracy by rows learned, a panel for each table](ng-jordan.png)

## Where the curves cross

*Ahead* is a mean error over the splits that is lower beyond chance (paired, 95 %); two curves *cross* where the mean
errors meet, on a line over ln n between the last size at which the one is ahead and the first at which the other is
(in brackets).

### Naive Bayes and logistic regression without a penalty

{plain}
{plain_verdict}

### Naive Bayes and logistic regression with its penalty chosen

{chosen}
{chosen_verdict}

## The error that each comes to

In percent, with the most rows; *parameters* are those of models of half of the rows.

{last_errors}
## How soon each is near it

The number of rows from which on the mean error is within a point of that with the most rows; d is the number of
parameters of naive Bayes for a class.

{near}
{near_verdict}

## Error in percent, by rows learned

Means over the {draws} splits, ± standard error.

{curves}"""


@dataclass(frozen=True)
class Result:
    """A table's curves, and how many parameters its learners have with all rows but a fold."""

    name: str
    rows: int
    columns: int
    classes: int
    growth: LearningCurves
    parameters: Mapping[str, float]

    def turns(self, other: str) -> list[Crossing]:
        """Where naive Bayes and another learner overtake each other."""
        return self.growth.crossings(BAYES, other)

    def sides(self, other: str) -> list[int]:
        """Who is ahead at each size: −1 naive Bayes, 1 the other learner, 0 nobody that could be told."""
        return [int(side) for side in self.growth.sides(BAYES, other)]

    def ahead(self, other: str, side: int) -> str:
        """The sizes at which one of the two is ahead."""
        sides = self.sides(other)
        sizes = [str(size) for size, who in zip(self.growth.sizes, sides) if who == side]
        return "everywhere" if len(sizes) == len(sides) else ", ".join(sizes) or "–"

    def last(self, learner: str) -> float:
        """The mean error with the most rows."""
        return 1 - float(self.growth.mean("accuracy")[self.growth.index(learner)][-1])

    def near(self, learner: str) -> int:
        """From how many rows on a learner is within a point of what it comes to."""
        accuracy = self.growth.mean("accuracy")[self.growth.index(learner)]
        far = np.flatnonzero(accuracy < accuracy[-1] - NEAR)
        return self.growth.sizes[int(far[-1]) + 1 if len(far) else 0]


def measured(name: str, draws: int) -> Result:
    """The curves of one table."""
    table = read(name)
    frame = table.frame if len(table.frame) <= ROWS else table.frame.sample(ROWS, random_state=0)
    n, d = frame.shape
    told: dict[str, Any] = {
        "target": table.target,
        "folds": 2,
        "draws": draws,
        "sizes": doubled(min(MOST, n - round(HELD_OUT * n))),
    }
    plain = deciban.compare(frame, learners=["logistic"], C=NO_PENALTY, **told)
    found = deciban.compare(frame, learners=LEARNERS, **told)
    parameters = {each.name: each.n_parameters for each in found}
    return Result(name, n, d - 1, len(set(table.labels)), together(found.growth, plain.growth), parameters)


def together(some: LearningCurves | None, plain: LearningCurves | None) -> LearningCurves:
    """The curves of both comparisons, whose draws are the same."""
    assert some is not None
    assert plain is not None
    names = [PLAIN, *some.names]
    place = [names.index(name) for name in SHOWN]
    accuracy, loss = (
        np.concatenate([getattr(plain, figure), getattr(some, figure)])[place] for figure in ("accuracy", "log_loss")
    )
    return LearningCurves(SHOWN, some.sizes, accuracy, loss, some.held_out)


def results(chosen: Sequence[str], draws: int) -> Iterator[Result]:
    """All tables, two at a time, in the order of their names."""
    with ProcessPoolExecutor() as pool:
        asked = [pool.submit(measured, name, draws) for name in chosen]
        for each in asked:
            found = each.result()
            print(f"{found.name}: {found.sides(PLAIN)} {found.sides(LOGISTIC)}", file=sys.stderr, flush=True)
            yield found


CROSSING = ["table", "rows", "columns", "classes", "naive Bayes ahead at", "logistic ahead at", "they cross at"]


def crossing_line(found: Result, other: str) -> list[str]:
    """A line of the first tables."""
    turns = [f"{turn.at:.0f} ({turn.ahead_until} to {turn.behind_from})" for turn in found.turns(other)]
    shape = [f"{found.rows}", f"{found.columns}", f"{found.classes}"]
    return [found.name, *shape, found.ahead(other, -1), found.ahead(other, 1), "; ".join(turns) or "–"]


def verdict(every: Sequence[Result], other: str) -> str:
    """How often it goes as Ng and Jordan say."""
    kinds: dict[str, list[Result]] = {words: [] for words in KINDS}
    for found in every:
        kinds[kind(found, other)].append(found)
    told = "; ".join(f"{words}: {len(found)}{_named(found)}" for words, found in kinds.items() if found)
    return f"{told[0].upper()}{told[1:]}."


KINDS = (
    "naive Bayes is ahead with few rows and is overtaken",
    "naive Bayes is ahead wherever a difference shows, up to the most rows",
    "logistic regression is ahead wherever a difference shows",
    "logistic regression is ahead with few rows and is overtaken",
    "no difference shows at any size",
    "they overtake each other more than once",
)


def kind(found: Result, other: str) -> str:
    """Which of these a table is."""
    turns, sides = found.turns(other), found.sides(other)
    if len(turns) > 1:
        return KINDS[5]
    if turns:
        return KINDS[0] if turns[0].first_ahead else KINDS[3]
    return KINDS[1] if -1 in sides else KINDS[2] if 1 in sides else KINDS[4]


def _named(found: Sequence[Result]) -> str:
    return f" ({', '.join(each.name for each in found)})"


def near_line(found: Result) -> list[str]:
    """A line of the second table."""
    d = found.parameters[BAYES] / found.classes
    return [found.name, f"{d:.0f}", f"{math.log(d):.1f}", *(f"{found.near(name)}" for name in SHOWN)]


def near_verdict(every: Sequence[Result]) -> str:
    """Who is sooner near what it comes to."""
    told = []
    for other, words in ((PLAIN, "without a penalty"), (LOGISTIC, "with its penalty chosen")):
        sooner = sum(found.near(BAYES) < found.near(other) for found in every)
        later = sum(found.near(BAYES) > found.near(other) for found in every)
        told.append(f"than logistic regression {words} on {sooner} of {len(every)} tables, with more on {later}")
    return f"Naive Bayes is there with fewer rows {'; '.join(told)}."


def last_line(found: Result) -> list[str]:
    """A line of the table of last errors."""
    errors = [f"{100 * found.last(name):.1f}" for name in SHOWN]
    return [
        found.name,
        f"{found.growth.sizes[-1]}",
        *errors,
        *(f"{found.parameters[n]:.0f}" for n in SHOWN if n != PLAIN),
    ]


LAST = ["table", "rows", *SHOWN, "parameters: naive Bayes", "logistic", "evidence"]


def curves(found: Result) -> str:
    """The errors of a table's learners at every size."""
    growth = found.growth
    mean, error = 1 - growth.mean("accuracy"), growth.error("accuracy")
    lines = [
        [name, *(f"{100 * mean[i, j]:.1f} ± {100 * error[i, j]:.1f}" for j in range(len(growth.sizes)))]
        for i, name in enumerate(growth.names)
    ]
    return f"### {found.name}\n\n{markdown(['', *map(str, growth.sizes)], lines)}"


def picture(every: Sequence[Result], path: Path) -> None:
    """A panel for each table."""
    from matplotlib import pyplot

    from deciban.plots import comparison

    across = 3
    down = -(-len(every) // across)
    figure, axes = pyplot.subplots(down, across, figsize=(10.5, 2.7 * down), layout="constrained", squeeze=False)
    for ax in axes.flat[len(every) :]:
        ax.set_visible(False)
    for ax, found in zip(axes.flat, every):
        comparison(Drawn(found), ax=ax)
        ax.get_legend().remove()
        ax.set_title(found.name, loc="left", fontsize=10)
        ax.set_xlabel("")
        ax.set_ylabel("")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, handlelength=3.0)
    figure.supylabel("accuracy on held-out rows, by rows learned")
    figure.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(figure)


class Drawn:
    """What `plots.comparison` looks at where curves alone are drawn."""

    def __init__(self, found: Result) -> None:
        self.growth = found.growth
        self.rows = [Named(name) for name in SHOWN]
        turns = found.turns(PLAIN)
        self.overtaken_at = turns[0].at if len(turns) == 1 and turns[0].first_ahead else None


@dataclass(frozen=True)
class Named:
    """A learner that has a curve."""

    name: str
    loss: Any = None


def page(every: Sequence[Result], seconds: float) -> str:
    """The whole page."""
    crossed = {other: markdown(CROSSING, [crossing_line(found, other) for found in every]) for other in SHOWN[1:3]}
    return PAGE.format(
        draws=DRAWS, last=DRAWS - 1, most=MOST, rows=ROWS, C=NO_PENALTY, date=date.today().isoformat(),
        machine=machine.describe(), minutes=f"{seconds / 60:.0f}", left_out=" and ".join(LEFT_OUT),
        plain=crossed[PLAIN], plain_verdict=verdict(every, PLAIN),
        chosen=crossed[LOGISTIC], chosen_verdict=verdict(every, LOGISTIC),
        last_errors=markdown(LAST, [last_line(found) for found in every]),
        near=markdown(["table", "d", "ln d", *SHOWN], [near_line(found) for found in every]),
        near_verdict=near_verdict(every), curves="\n".join(curves(found) for found in every),
    )  # fmt: skip


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_ng_jordan", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "ng-jordan.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", nargs="+", help="these tables alone; writes no page")
    parser.add_argument("--draws", type=int, default=DRAWS, help="splits; fewer than all write no page")
    return parser.parse_args()


def main() -> int:
    """Measure, and write the page."""
    chosen, start = options(), time.perf_counter()
    try:
        tables = chosen.only or [name for name in names() if name not in LEFT_OUT]
        every = list(results(tables, chosen.draws))
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)
        return 2
    text = page(every, time.perf_counter() - start)
    if chosen.only or chosen.draws < DRAWS:
        print(text)
        return 0
    chosen.page.write_text(text, encoding="utf-8")
    picture(every, chosen.page.with_suffix(".png"))
    print(f"wrote {chosen.page}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
