"""`python -m benchmarks.lab_calibration`: rebuild `docs/lab/calibration.md` from public tables.

The exit code is 1 if more tables are lost than allowed, 2 if the data is missing. This is the slowest of the labs:
every table is learned thousands of times.
"""

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

import deciban
from deciban.metrics import Scorecard

from . import data, machine
from .lab_tables import format_table, list_tables, read_table, score
from .table_models import Learn, Predict, as_labels, log_posterior, make_our_learner, make_predict, text_columns

REPEATS, FOLDS, INNER_FOLDS = 3, 10, 5
MAX_LOST_TABLES = 1
"""The number of tables that may be lost by more than one standard error."""

PAGE = """# Calibrated probabilities

Public tables, {repeats} × {folds}-fold cross-validation: {repeats} shuffles (seeds 0 to {last}), in each of which
every row is scored once by a model of the other folds; the same folds for all methods. Cross-validation is nested:
maps and pseudo-counts are chosen from the training folds alone.
Written by `python -m benchmarks.lab_calibration` on {date}; do not edit.

Machine: {machine}.

- *none*: `deciban.train` with independent columns (`structure="naive"`) and without calibration; *auto*: with
  `calibrate="auto"`, a map fitted to out-of-fold scores of the training rows. All methods have the same structure, so
  that calibration alone makes the difference.
- *sigmoid* and *isotonic*: scikit-learn's `CalibratedClassifierCV(deciban.NaiveBayes(), method=…, cv={inner})`: the
  same model, refitted on {inner} splits of the training rows, each with its own map, their probabilities
  averaged.
- The difference is the mean over the {all} folds, ± its standard error after Nadeau and Bengio (2003): folds share
  their training rows, so the variance of the mean is (1/{all} + 1/{rest}) times that of a fold. *Won* and *lost* are
  differences of more than one standard error.
- A true class of probability 0, which isotonic maps can give, costs 708 nats: −ln of the smallest normal double.
{sections}"""

LOSS_SECTION = """
## Log-loss before and after, in nats

{table}
`calibrate="auto"` against none: {verdict}.
"""
ERROR_SECTION = """
## Calibration error before and after

Confidence in the predicted class against accuracy, 15 bins of equal width; mean over the {repeats} shuffles.

{table}"""
CHOICE_SECTION = """
## Maps chosen by `auto`

The counts are out of {all} models of each table.

{table}"""
ALPHA_SECTION = """
## Pseudo-counts: `alpha="auto"` against α = 1

Log-loss on the tables that have columns of categories, without calibration.

{table}
`alpha="auto"` against 1: {verdict}.
"""


def calibrate_by_sklearn(method: str) -> Learn:
    """Return a learner that calibrates our model by scikit-learn."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        model = CalibratedClassifierCV(deciban.NaiveBayes(n_jobs=1), method=method, cv=INNER_FOLDS)
        model.fit(train.drop(columns=target), train[target].to_numpy(dtype=object))
        return lambda test: (as_labels(model.classes_), log_posterior(model, test.drop(columns=target)))

    return learn


def calibrate_by_auto(chosen: list[str]) -> Learn:
    """Return a learner with `calibrate="auto"` that appends the chosen map to the list."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        model = deciban.train(train, target=target, structure="naive", calibrate="auto")
        chosen.append("none" if model.calibration is None else model.calibration.method)
        return make_predict(model, target)

    return learn


UNCALIBRATED = {"structure": "naive", "calibrate": "none", "judge": False}


def make_learners(discrete: bool, chosen: list[str]) -> dict[str, Learn]:
    """Return the learners compared on a table."""
    return {
        "none": make_our_learner(**UNCALIBRATED),
        "auto": calibrate_by_auto(chosen),
        "sigmoid": calibrate_by_sklearn("sigmoid"),
        "isotonic": calibrate_by_sklearn("isotonic"),
        **({"alpha auto": make_our_learner(**UNCALIBRATED, alpha="auto")} if discrete else {}),
    }


@dataclass(frozen=True)
class Shuffle:
    """One shuffle of a table: for each learner the log-loss of every fold, and the calibration error of all rows."""

    losses: Mapping[str, Sequence[float]]
    errors: Mapping[str, float]
    chosen: Sequence[str]


def measure_shuffle(name: str, seed: int) -> Shuffle:
    """Measure every learner on the folds of one shuffle."""
    table = read_table(name)
    labels, chosen = table.labels, list[str]()
    classes = np.unique(labels)
    learners = make_learners(bool(text_columns(table.frame.drop(columns=table.target))), chosen)
    cards: dict[str, list[Scorecard]] = {learner: [] for learner in learners}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes of fewer rows than folds
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels):
            for learner, learn in learners.items():
                predict = learn(table.frame.iloc[train], table.target)
                cards[learner].append(score(predict, table.frame.iloc[test], labels[test], classes))
    losses = {learner: [log_loss(card, classes) for card in each] for learner, each in cards.items()}
    errors = {
        learner: sum(each[1:], each[0]).report(classes.tolist()).calibration_error for learner, each in cards.items()
    }
    return Shuffle(losses, errors, chosen)


def log_loss(card: Scorecard, classes: NDArray[Any]) -> float:
    """Return the mean log-loss of a fold; a true class of probability 0 costs −ln of the smallest normal double."""
    report = card.report(classes.tolist())
    possible, impossible = report.rows - report.unknown - report.impossible, report.impossible
    finite = float(card.losses.mean[0, 0] + card.losses.rest[0, 0]) * possible
    return (finite - impossible * float(np.log(np.finfo(float).tiny))) / (possible + impossible)


@dataclass(frozen=True)
class Difference:
    """The difference in log-loss between two learners over all folds: negative is better."""

    mean: float
    error: float

    @classmethod
    def of(cls, shuffles: Sequence[Shuffle], learner: str, other: str) -> "Difference":
        """Compute the difference paired by folds, with the standard error of Nadeau and Bengio."""
        gaps = np.concatenate([np.subtract(each.losses[learner], each.losses[other]) for each in shuffles])
        variance = gaps.var(ddof=1) * (1 / len(gaps) + 1 / (FOLDS - 1))
        return cls(float(gaps.mean()), float(np.sqrt(variance)))

    @property
    def verdict(self) -> str:
        """Won or lost by more than one standard error, or tied."""
        return "tied" if abs(self.mean) <= self.error else "won" if self.mean < 0 else "lost"

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f} {self.verdict}"


Results = Mapping[str, Sequence[Shuffle]]


def measure_tables(names: Sequence[str], repeats: int) -> dict[str, list[Shuffle]]:
    """Measure all shuffles of all tables, in parallel processes."""
    results: dict[str, list[Shuffle]] = {}
    with ProcessPoolExecutor() as pool:
        futures = {name: [pool.submit(measure_shuffle, name, seed) for seed in range(repeats)] for name in names}
        for name, shuffles in futures.items():
            results[name] = [each.result() for each in shuffles]
            print(f"{name}: {Difference.of(results[name], 'auto', 'none')}", file=sys.stderr, flush=True)
    return results


def mean_loss(shuffles: Sequence[Shuffle], learner: str) -> float:
    """Return the mean log-loss over all folds."""
    return float(np.mean([each.losses[learner] for each in shuffles]))


def count_verdicts(differences: Sequence[Difference]) -> tuple[str, int]:
    """Return the numbers won, tied and lost as text, and the number lost."""
    verdicts = [difference.verdict for difference in differences]
    text = ", ".join(f"{verdicts.count(word)} {word}" for word in ("won", "tied", "lost"))
    return text, verdicts.count("lost")


CALIBRATION_LEARNERS = ("none", "auto", "sigmoid", "isotonic")


def format_losses(results: Results) -> tuple[str, int]:
    """Format the log-loss of every learner and the gain of auto; return also the number of tables lost."""
    gains = {name: Difference.of(shuffles, "auto", "none") for name, shuffles in results.items()}
    against_sigmoid = {name: Difference.of(shuffles, "auto", "sigmoid") for name, shuffles in results.items()}
    lines = [
        [
            name,
            *(f"{mean_loss(shuffles, learner):.4f}" for learner in CALIBRATION_LEARNERS),
            str(gains[name]),
            str(against_sigmoid[name]),
        ]
        for name, shuffles in results.items()
    ]
    means = np.mean(
        [[mean_loss(shuffles, learner) for learner in CALIBRATION_LEARNERS] for shuffles in results.values()], axis=0
    )
    lines.append(["*mean*", *(f"{mean:.4f}" for mean in means), "", ""])
    head = ["table", *CALIBRATION_LEARNERS, "auto − none", "auto − sigmoid"]
    words, lost = count_verdicts(list(gains.values()))
    words += f"; against scikit-learn's sigmoid: {count_verdicts(list(against_sigmoid.values()))[0]}"
    return LOSS_SECTION.format(table=format_table(head, lines), verdict=words), lost


def format_errors(results: Results) -> str:
    """Format the calibration error of every learner."""
    figures = [
        [np.mean([each.errors[learner] for each in s]) for learner in CALIBRATION_LEARNERS] for s in results.values()
    ]
    lines = [[name, *(f"{figure:.4f}" for figure in row)] for name, row in zip(results, figures)]
    lines.append(["*mean*", *(f"{mean:.4f}" for mean in np.mean(figures, axis=0))])
    return ERROR_SECTION.format(table=format_table(["table", *CALIBRATION_LEARNERS], lines), repeats=REPEATS)


def format_choices(results: Results) -> str:
    """Format how often each map was chosen."""
    maps = ("none", "temperature", "platt", "isotonic")
    chosen = {name: [choice for each in shuffles for choice in each.chosen] for name, shuffles in results.items()}
    lines = [[name, *(str(choices.count(each)) for each in maps)] for name, choices in chosen.items()]
    return CHOICE_SECTION.format(table=format_table(["table", *maps], lines), all=REPEATS * FOLDS)


def format_alphas(results: Results) -> tuple[str, int]:
    """Format the gain of choosing the pseudo-count; return also the number of tables lost."""
    discrete = {name: shuffles for name, shuffles in results.items() if "alpha auto" in shuffles[0].losses}
    gains = {name: Difference.of(shuffles, "alpha auto", "none") for name, shuffles in discrete.items()}
    lines = [
        [name, *(f"{mean_loss(shuffles, learner):.4f}" for learner in ("none", "alpha auto")), str(gains[name])]
        for name, shuffles in discrete.items()
    ]
    words, lost = count_verdicts(list(gains.values()))
    table = format_table(["table", "α = 1", 'alpha="auto"', "difference"], lines)
    return ALPHA_SECTION.format(table=table, verdict=words), lost


def format_page(results: Results) -> tuple[str, bool]:
    """Format the page; return also whether at most the allowed number of tables was lost."""
    losses, lost = format_losses(results)
    alphas, alphas_lost = format_alphas(results)
    text = PAGE.format(
        repeats=REPEATS, folds=FOLDS, last=REPEATS - 1, inner=INNER_FOLDS, all=REPEATS * FOLDS, rest=FOLDS - 1,
        date=date.today().isoformat(), machine=machine.describe(),
        sections=losses + format_errors(results) + format_choices(results) + alphas,
    )  # fmt: skip
    return text, max(lost, alphas_lost) <= MAX_LOST_TABLES


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_calibration", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "calibration.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", nargs="+", help="these tables alone; writes no page")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="shuffles; another number writes no page")
    return parser.parse_args()


def main() -> int:
    """Measure and write the page; return the exit code."""
    arguments = parse_arguments()
    try:
        results = measure_tables(arguments.only or list_tables(), arguments.repeats)
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    text, succeeded = format_page(results)
    if arguments.only or arguments.repeats != REPEATS:
        print(text)
        return int(not succeeded)
    arguments.page.write_text(text, encoding="utf-8")
    print(f"wrote {arguments.page}", file=sys.stderr)
    return int(not succeeded)


if __name__ == "__main__":
    sys.exit(main())
