"""`python -m benchmarks.lab_dependence`: rebuild `docs/lab/dependence.md` from the real tables.

Exit code 1 if advice loses on a table by more than two standard errors, 2 if the data is absent.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import deciban

from . import data, machine
from .lab_tables import Table, markdown, names, read

FOLDS, SEED = 10, 0
TOO_MUCH = 2.0
"""Standard errors by which advice may not lose."""

PAGE = """# Is the advice any good?

`deciban.dependence` looks at one half of a table and says which columns to join or to drop; the advice is tried on
the other half, in {folds} folds of `deciban.evaluate`, the same for both models; then the other way round. Stratified
halves (seed {seed}). Written by `python -m benchmarks.lab_dependence` on {date}; do not edit.

Machine: {machine}.

Log-loss in nats; the gain is paired, row by row, ± its standard error. *Accuracy* is that of both models, in percent.

{table}
{verdict}
"""


@dataclass(frozen=True)
class Trial:
    """Advice of one half, tried on the other."""

    table: str
    advice: str
    before: deciban.Report
    after: deciban.Report

    @property
    def gain(self) -> tuple[float, float]:
        """How much smaller the log-loss is, and the standard error of that."""
        gaps = losses(self.before) - losses(self.after)
        return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))

    def line(self) -> list[str]:
        """A line of the table."""
        shares = f"{100 * self.before.accuracy:.1f} → {100 * self.after.accuracy:.1f}"
        gain = "{:+.4f} ± {:.4f}".format(*self.gain)
        figures = [f"{report.log_loss:.4f}" for report in (self.before, self.after)]
        return [self.table, self.advice, *figures, gain, shares]


def losses(report: deciban.Report) -> "np.typing.NDArray[np.float64]":
    """−ln p(truth) of every row."""
    assert report.log_proba is not None
    assert report.truth is not None
    place = {label: k for k, label in enumerate(report.classes)}
    codes = np.array([place[label] for label in report.truth])
    return np.asarray(-report.log_proba[np.arange(len(codes)), codes])


def trials(table: Table) -> Iterator[Trial | None]:
    """Both ways round; None where there is no advice."""
    halves = [
        half for _, half in StratifiedKFold(2, shuffle=True, random_state=SEED).split(table.labels, table.labels)
    ]
    for looked_at, tried in (halves, halves[::-1]):
        yield trial(table, table.frame.iloc[looked_at], table.frame.iloc[tried])


def trial(table: Table, looked_at: pd.DataFrame, tried: pd.DataFrame) -> Trial | None:
    """What one half advises, tried on the other."""
    found = deciban.dependence(looked_at, target=table.target)
    if not found.advice:
        return None
    roles = dict.fromkeys(found.drop, "skip")
    before = deciban.evaluate(tried, target=table.target, folds=FOLDS)
    after = deciban.evaluate(tried, target=table.target, folds=FOLDS, roles=roles, blocks=found.blocks)
    joined = "; ".join(shortened(block) for block in found.blocks)
    words = [f"join {joined}"] * bool(found.blocks) + [f"drop {shortened(found.drop)}"] * bool(found.drop)
    return Trial(table.name, "; ".join(words), before, after)


def shortened(columns: Sequence[str], most: int = 4) -> str:
    """A few names, and how many more there are."""
    more = len(columns) - most
    return ", ".join(columns[:most]) + (f" and {more} more" if more > 0 else "")


def page(chosen: Sequence[str]) -> tuple[str, bool]:
    """The page, and whether advice lost nowhere."""
    found: list[Trial] = []
    silent: list[str] = []
    for name in chosen:
        every = list(trials(read(name)))
        print(f"{name}: {sum(each is not None for each in every)} trials", file=sys.stderr, flush=True)
        found += [each for each in every if each is not None]
        silent += [name] * all(each is None for each in every)
    lost = [each.table for each in found if each.gain[0] < -TOO_MUCH * each.gain[1]]
    won = sum(each.gain[0] > TOO_MUCH * each.gain[1] for each in found)
    verdict = f"Of {len(found)} trials {won} gain more than two standard errors, {len(lost)} lose as much."
    if silent:
        verdict += f" No advice in either half: {', '.join(silent)}."
    head = ["table", "advice of the other half", "naive", "as advised", "gain", "accuracy"]
    text = PAGE.format(
        folds=FOLDS, seed=SEED, date=date.today().isoformat(), machine=machine.describe(),
        table=markdown(head, [each.line() for each in found]), verdict=verdict,
    )  # fmt: skip
    return text, not lost


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_dependence", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "dependence.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", nargs="+", help="these tables alone; writes no page")
    chosen = parser.parse_args()
    try:
        text, kept = page(chosen.only or names())
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)
        return 2
    if chosen.only:
        print(text)
    else:
        chosen.page.write_text(text, encoding="utf-8")
        print(f"wrote {chosen.page}", file=sys.stderr)
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
