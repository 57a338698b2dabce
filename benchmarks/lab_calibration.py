"""`python -m benchmarks.lab_calibration`: rebuild `docs/lab/calibration.md` from the real tables.

Exit code 1 if more tables are lost than promised, 2 if the data is absent. The longest of the labs: every table is
learned thousands of times.
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
from .lab_tables import judge, markdown, names, read
from .table_models import Learn, Predict, as_labels, log_posterior, ours, predicting, textual

REPEATS, FOLDS, INNER = 10, 10, 5
MOST_LOST = 1
"""Tables that may be lost beyond one standard error."""

PAGE = """# Honest probabilities

Public tables, {repeats} × {folds}-fold: {repeats} shuffles (seeds 0 to {last}), in each of which every row is judged
once by a model of the other folds; the same folds for everyone. Everything is nested: maps and pseudo-counts are
chosen from the training folds alone. Written by `python -m benchmarks.lab_calibration` on {date}; do not edit.

Machine: {machine}.

- *as it comes*: `deciban.train`; *auto*: with `calibrate="auto"`, a map fitted to out-of-fold scores of the training
  rows.
- *sigmoid* and *isotonic*: scikit-learn's `CalibratedClassifierCV(deciban.NaiveBayes(), method=…, cv={inner})`: the
  same model, refitted on {inner} splits of the training rows, each with a map of its own, their probabilities
  averaged.
- The difference is the mean over the {all} folds, ± its standard error after Nadeau and Bengio (2003): folds share
  their training rows, so the variance of the mean is (1/{all} + 1/{rest}) times that of a fold. *Won* and *lost* are
  differences of more than one standard error.
- A truth that was called impossible, as isotonic maps do, costs 708 nats: −ln of the least double.
{sections}"""

LOSS = """
## Log-loss before and after, in nats

{table}
`calibrate="auto"` against none: {verdict}.
"""
ERROR = """
## Calibration error before and after

Confidence in the class called against the share of hits, 15 bins of equal width; mean over the {repeats} shuffles.

{table}"""
CHOSEN = """
## What `auto` chose

Out of {all} models of each table.

{table}"""
ALPHA = """
## Pseudo-counts: `alpha="auto"` against α = 1

Log-loss on the tables that have columns of categories, not calibrated.

{table}
`alpha="auto"` against 1: {verdict}.
"""


def sklearn_calibrated(method: str) -> Learn:
    """scikit-learn's calibration around our model."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        model = CalibratedClassifierCV(deciban.NaiveBayes(n_jobs=1), method=method, cv=INNER)
        model.fit(train.drop(columns=target), train[target].to_numpy(dtype=object))
        return lambda test: (as_labels(model.classes_), log_posterior(model, test.drop(columns=target)))

    return learn


def calibrated(chosen: list[str]) -> Learn:
    """`calibrate="auto"`, noting which map it chose."""

    def learn(train: pd.DataFrame, target: str) -> Predict:
        model = deciban.train(train, target=target, calibrate="auto")
        chosen.append("none" if model.calibration is None else model.calibration.method)
        return predicting(model, target)

    return learn


def ways(discrete: bool, chosen: list[str]) -> dict[str, Learn]:
    """Who is compared on a table."""
    return {
        "as it comes": ours(judge=False),
        "auto": calibrated(chosen),
        "sigmoid": sklearn_calibrated("sigmoid"),
        "isotonic": sklearn_calibrated("isotonic"),
        **({"alpha auto": ours(judge=False, alpha="auto")} if discrete else {}),
    }


@dataclass(frozen=True)
class Shuffle:
    """One shuffle of a table: for each way the log-loss of every fold, and the calibration error of all rows."""

    losses: Mapping[str, Sequence[float]]
    errors: Mapping[str, float]
    chosen: Sequence[str]


def shuffled(name: str, seed: int) -> Shuffle:
    """Every way on the folds of one shuffle."""
    table = read(name)
    labels, chosen = table.labels, list[str]()
    classes = np.unique(labels)
    learners = ways(bool(textual(table.frame.drop(columns=table.target))), chosen)
    cards: dict[str, list[Scorecard]] = {way: [] for way in learners}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # classes of fewer rows than folds
        for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels):
            for way, learn in learners.items():
                predict = learn(table.frame.iloc[train], table.target)
                cards[way].append(judge(predict, table.frame.iloc[test], labels[test], classes))
    losses = {way: [loss(card, classes) for card in each] for way, each in cards.items()}
    errors = {way: sum(each[1:], each[0]).report(classes.tolist()).calibration_error for way, each in cards.items()}
    return Shuffle(losses, errors, chosen)


def loss(card: Scorecard, classes: NDArray[Any]) -> float:
    """The mean log-loss of a fold; a truth that was called impossible costs −ln of the least double."""
    report = card.report(classes.tolist())
    possible, impossible = report.rows - report.unknown - report.impossible, report.impossible
    finite = float(card.losses.mean[0, 0] + card.losses.rest[0, 0]) * possible
    return (finite - impossible * float(np.log(np.finfo(float).tiny))) / (possible + impossible)


@dataclass(frozen=True)
class Difference:
    """How much better one way is than another, over all folds: negative is better."""

    mean: float
    error: float

    @classmethod
    def of(cls, shuffles: Sequence[Shuffle], way: str, than: str) -> "Difference":
        """Paired, fold by fold; its error after Nadeau and Bengio."""
        gaps = np.concatenate([np.subtract(each.losses[way], each.losses[than]) for each in shuffles])
        variance = gaps.var(ddof=1) * (1 / len(gaps) + 1 / (FOLDS - 1))
        return cls(float(gaps.mean()), float(np.sqrt(variance)))

    @property
    def verdict(self) -> str:
        """Won or lost beyond one standard error, or tied."""
        return "tied" if abs(self.mean) <= self.error else "won" if self.mean < 0 else "lost"

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f} {self.verdict}"


Results = Mapping[str, Sequence[Shuffle]]


def measured(chosen: Sequence[str], repeats: int) -> dict[str, list[Shuffle]]:
    """All shuffles of all tables, two at a time."""
    results: dict[str, list[Shuffle]] = {}
    with ProcessPoolExecutor() as pool:
        asked = {name: [pool.submit(shuffled, name, seed) for seed in range(repeats)] for name in chosen}
        for name, shuffles in asked.items():
            results[name] = [each.result() for each in shuffles]
            print(f"{name}: {Difference.of(results[name], 'auto', 'as it comes')}", file=sys.stderr, flush=True)
    return results


def mean_loss(shuffles: Sequence[Shuffle], way: str) -> float:
    """Over all folds."""
    return float(np.mean([each.losses[way] for each in shuffles]))


def tally(differences: Sequence[Difference]) -> tuple[str, int]:
    """Won, tied and lost in words, and how many are lost."""
    told = [difference.verdict for difference in differences]
    return ", ".join(f"{told.count(word)} {word}" for word in ("won", "tied", "lost")), told.count("lost")


CALIBRATED = ("as it comes", "auto", "sigmoid", "isotonic")


def loss_section(results: Results) -> tuple[str, int]:
    """Log-loss of every way, and what auto gains."""
    gains = {name: Difference.of(shuffles, "auto", "as it comes") for name, shuffles in results.items()}
    beside = {name: Difference.of(shuffles, "auto", "sigmoid") for name, shuffles in results.items()}
    lines = [
        [name, *(f"{mean_loss(shuffles, way):.4f}" for way in CALIBRATED), str(gains[name]), str(beside[name])]
        for name, shuffles in results.items()
    ]
    means = np.mean([[mean_loss(shuffles, way) for way in CALIBRATED] for shuffles in results.values()], axis=0)
    lines.append(["*mean*", *(f"{mean:.4f}" for mean in means), "", ""])
    head = ["table", *CALIBRATED, "auto − as it comes", "auto − sigmoid"]
    words, lost = tally(list(gains.values()))
    words += f"; against scikit-learn's sigmoid: {tally(list(beside.values()))[0]}"
    return LOSS.format(table=markdown(head, lines), verdict=words), lost


def error_section(results: Results) -> str:
    """Calibration error of every way."""
    figures = [[np.mean([each.errors[way] for each in s]) for way in CALIBRATED] for s in results.values()]
    lines = [[name, *(f"{figure:.4f}" for figure in row)] for name, row in zip(results, figures)]
    lines.append(["*mean*", *(f"{mean:.4f}" for mean in np.mean(figures, axis=0))])
    return ERROR.format(table=markdown(["table", *CALIBRATED], lines), repeats=REPEATS)


def chosen_section(results: Results) -> str:
    """How often each map was chosen."""
    maps = ("none", "temperature", "platt", "isotonic")
    told = {name: [choice for each in shuffles for choice in each.chosen] for name, shuffles in results.items()}
    lines = [[name, *(str(choices.count(each)) for each in maps)] for name, choices in told.items()]
    return CHOSEN.format(table=markdown(["table", *maps], lines), all=REPEATS * FOLDS)


def alpha_section(results: Results) -> tuple[str, int]:
    """What choosing the pseudo-count gains."""
    discrete = {name: shuffles for name, shuffles in results.items() if "alpha auto" in shuffles[0].losses}
    gains = {name: Difference.of(shuffles, "alpha auto", "as it comes") for name, shuffles in discrete.items()}
    lines = [
        [name, *(f"{mean_loss(shuffles, way):.4f}" for way in ("as it comes", "alpha auto")), str(gains[name])]
        for name, shuffles in discrete.items()
    ]
    words, lost = tally(list(gains.values()))
    table = markdown(["table", "α = 1", 'alpha="auto"', "difference"], lines)
    return ALPHA.format(table=table, verdict=words), lost


def page(results: Results) -> tuple[str, bool]:
    """The whole page, and whether no more was lost than promised."""
    losses, lost = loss_section(results)
    alphas, alphas_lost = alpha_section(results)
    text = PAGE.format(
        repeats=REPEATS, folds=FOLDS, last=REPEATS - 1, inner=INNER, all=REPEATS * FOLDS, rest=FOLDS - 1,
        date=date.today().isoformat(), machine=machine.describe(),
        sections=losses + error_section(results) + chosen_section(results) + alphas,
    )  # fmt: skip
    return text, max(lost, alphas_lost) <= MOST_LOST


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_calibration", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "calibration.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", nargs="+", help="these tables alone; writes no page")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="shuffles; fewer than all write no page")
    return parser.parse_args()


def main() -> int:
    """Measure, write the page, and say whether the promise is kept."""
    chosen = options()
    try:
        results = measured(chosen.only or names(), chosen.repeats)
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)
        return 2
    text, kept = page(results)
    if chosen.only or chosen.repeats < REPEATS:
        print(text)
        return int(not kept)
    chosen.page.write_text(text, encoding="utf-8")
    print(f"wrote {chosen.page}", file=sys.stderr)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
