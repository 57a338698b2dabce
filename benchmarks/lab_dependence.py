"""`python -m benchmarks.lab_dependence`: rebuild `docs/lab/dependence.md` from public tables.

The exit code is 1 if advice loses on a table by more than two standard errors, 2 if the data is missing.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import deciban

from . import data, machine
from .lab_tables import Table, format_table, list_tables, read_table

FOLDS, SEED = 10, 0
MAX_LOSS_ERRORS = 2.0
"""The largest loss by advice, in standard errors."""

NAIVE: Mapping[str, Any] = {"structure": "naive", "calibrate": "none"}
STRUCTURES: Mapping[str, Mapping[str, Any]] = {
    "blocks": {"structure": "blocks", "calibrate": "none"},
    "tan": {"structure": "tan", "calibrate": "none"},
    "default, uncalibrated": {"calibrate": "none"},
    "default": {},
}
"""The settings that are compared with the advice, by the name of their column."""

PAGE = """# Does the advice of `dependence` help?

`deciban.dependence` analyses one half of a table and recommends columns to join or to drop. The advice is tested on
the other half, in {folds} folds of `deciban.evaluate`, the same for both models; then the halves are exchanged. The
halves are stratified (seed {seed}). Both models have independent columns (`structure="naive"`) and no calibration.
The last columns show what `structure` finds by itself in the tested half: pairs of columns, a forest, and the default
of `train`, without its calibration and with it.
Written by `python -m benchmarks.lab_dependence` on {date}; do not edit.

Machine: {machine}.

Log-loss in nats; the gain is paired, row by row, ± its standard error. *Accuracy* is that of the naive model and of
the advised one, in percent.

{table}
{verdict}
"""


@dataclass(frozen=True)
class Trial:
    """The advice from one half of a table, tested on the other, and what `structure` finds there by itself."""

    table: str
    advice: str
    before: deciban.Report
    after: deciban.Report | None
    """The report as advised; None without advice."""
    structures: Mapping[str, deciban.Report]
    """The reports of `STRUCTURES`."""

    @property
    def gain(self) -> tuple[float, float]:
        """The reduction of the log-loss by the advice, and its standard error."""
        assert self.after is not None
        return compare_losses(self.before, self.after)

    def format_line(self) -> list[str]:
        """Format a line of the table."""
        found = [f"{report.log_loss:.4f}" for report in self.structures.values()]
        if self.after is None:
            return [self.table, "none", f"{self.before.log_loss:.4f}", "", "", "", *found]
        shares = f"{100 * self.before.accuracy:.1f} → {100 * self.after.accuracy:.1f}"
        gain = "{:+.4f} ± {:.4f}".format(*self.gain)
        figures = [f"{report.log_loss:.4f}" for report in (self.before, self.after)]
        return [self.table, self.advice, *figures, gain, shares, *found]


def compare_losses(before: deciban.Report, after: deciban.Report) -> tuple[float, float]:
    """Return by how much the log-loss of the second report is lower, and the standard error of that."""
    gaps = row_losses(before) - row_losses(after)
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))


def count_verdicts(pairs: Sequence[tuple[deciban.Report, deciban.Report]]) -> str:
    """Return how often the second report has a lower log-loss beyond two standard errors, none, or a higher one."""
    gains = [compare_losses(*pair) for pair in pairs]
    won = sum(gain > MAX_LOSS_ERRORS * error for gain, error in gains)
    lost = sum(gain < -MAX_LOSS_ERRORS * error for gain, error in gains)
    return f"{won} won, {len(gains) - won - lost} tied, {lost} lost"


def row_losses(report: deciban.Report) -> "np.typing.NDArray[np.float64]":
    """Return −ln p(truth) of every row."""
    assert report.log_proba is not None
    assert report.truth is not None
    place = {label: k for k, label in enumerate(report.classes)}
    codes = np.array([place[label] for label in report.truth])
    return np.asarray(-report.log_proba[np.arange(len(codes)), codes])


def run_trials(table: Table) -> Iterator[Trial]:
    """Yield a trial for each half."""
    halves = [
        half for _, half in StratifiedKFold(2, shuffle=True, random_state=SEED).split(table.labels, table.labels)
    ]
    for analysed, tested in (halves, halves[::-1]):
        yield run_trial(table, table.frame.iloc[analysed], table.frame.iloc[tested])


def run_trial(table: Table, analysed: pd.DataFrame, tested: pd.DataFrame) -> Trial:
    """Test the advice from one half, if there is any, and every structure on the other."""
    found = deciban.dependence(analysed, target=table.target)
    roles = dict.fromkeys(found.drop, "skip")
    before = deciban.evaluate(tested, target=table.target, folds=FOLDS, **NAIVE)
    after = (
        deciban.evaluate(tested, target=table.target, folds=FOLDS, roles=roles, blocks=found.blocks, **NAIVE)
        if found.advice
        else None
    )
    found_alone = {
        name: deciban.evaluate(tested, target=table.target, folds=FOLDS, **settings)
        for name, settings in STRUCTURES.items()
    }
    joined = "; ".join(abbreviate(block) for block in found.blocks)
    words = [f"join {joined}"] * bool(found.blocks) + [f"drop {abbreviate(found.drop)}"] * bool(found.drop)
    return Trial(table.name, "; ".join(words), before, after, found_alone)


def abbreviate(columns: Sequence[str], max_names: int = 4) -> str:
    """Return the first names, and the number of the others."""
    more = len(columns) - max_names
    return ", ".join(columns[:max_names]) + (f" and {more} more" if more > 0 else "")


def measure_page(chosen: Sequence[str]) -> tuple[str, bool]:
    """Measure; return the page, and whether advice lost nowhere."""
    found: list[Trial] = []
    for name in chosen:
        found += run_trials(read_table(name))
        print(name, file=sys.stderr, flush=True)
    advised = [each for each in found if each.after is not None]
    lost = [each.table for each in advised if each.gain[0] < -MAX_LOSS_ERRORS * each.gain[1]]
    won = sum(each.gain[0] > MAX_LOSS_ERRORS * each.gain[1] for each in advised)
    verdict = (
        f"Of {len(advised)} halves with advice, {won} gain and {len(lost)} lose more than two standard errors. "
        f"Beyond two standard errors, on all {len(found)} halves: "
    )
    counts = {
        "pairs of columns against independent ones": [(each.before, each.structures["blocks"]) for each in found],
        "a forest against pairs": [(each.structures["blocks"], each.structures["tan"]) for each in found],
        "the default without its calibration against independent columns": [
            (each.before, each.structures["default, uncalibrated"]) for each in found
        ],
    }
    verdict += "; ".join(f"{name} {count_verdicts(pairs)}" for name, pairs in counts.items()) + "."
    head = ["table", "advice of the other half", "naive", "as advised", "gain", "accuracy", *STRUCTURES]
    text = PAGE.format(
        folds=FOLDS, seed=SEED, date=date.today().isoformat(), machine=machine.describe(),
        table=format_table(head, [each.format_line() for each in found]), verdict=verdict,
    )  # fmt: skip
    return text, not lost


def main() -> int:
    """Measure and write the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_dependence", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "dependence.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", nargs="+", help="these tables alone; writes no page")
    arguments = parser.parse_args()
    try:
        text, succeeded = measure_page(arguments.only or list_tables())
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.only:
        print(text)
    else:
        arguments.page.write_text(text, encoding="utf-8")
        print(f"wrote {arguments.page}", file=sys.stderr)
    return int(not succeeded)


if __name__ == "__main__":
    sys.exit(main())
