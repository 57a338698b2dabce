"""`python -m benchmarks.lab_tables`: rebuild `docs/lab/tables.md` from the real tables.

Exit code 1 if a figure is not the expected one, 2 if the data is absent.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold

from deciban.metrics import Report, Scorecard

from . import data, lab, machine
from .table_models import CONTESTANTS, Learn, Predict, numeric, ours, textual

FOLDS, SEED = 10, 0
HOLED = ("hepatitis", "soybean", "vote", "labor", "mushroom")
"""Tables of which many cells are missing."""
SLACK = 0.01
"""How much accuracy skipping missing cells may cost over `HOLED`, weighted by rows."""

PAGE = """# Real tables

Public tables with numbers, categories and missing cells, {folds}-fold: the same stratified folds (seed {seed}) for
everyone. Written by `python -m benchmarks.lab_tables` on {date}; do not edit.

Machine: {machine}.

- *deciban*: `deciban.train` as it comes; *number* and *binned*: with `numbers="number"` (a Gaussian for each class)
  and `numbers="binned"` (supervised bins) for all columns of numbers. Missing cells are left out.
- *Gaussian + CategoricalNB*: scikit-learn's two models, on the columns of numbers and on the others, their joint
  log-probabilities added; missing cells are imputed by mean and commonest level, levels encoded, all fitted on the
  training folds.
- *logistic regression*: the same imputation, numbers scaled, one column a level; *boosted trees*:
  `HistGradientBoostingClassifier`, for scale. Both as scikit-learn sets them (but up to 2000 iterations).
- *always* says the commonest class to every row. In the last line each table counts the same.
{sections}"""

ADULT = """
## Adult, with its fixed split

FittedModel from the training file, judged by the 15 060 complete rows of the test file; the figures are the share of
errors. The first two learn from the 30 162 complete training rows, the others from all 32 561, missing cells and all.
16.12 % is published for naive Bayes with supervised bins.
"""
MISSING = """
## Missing cells: skipped or imputed

The same model (`numbers="number"`) with missing cells left out, and with mean and commonest level of the training
folds put in their place; accuracy in {folds} folds. The target: over {holed}, weighted by rows, skipping is no worse
by more than a point.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the name of its target column."""

    name: str
    frame: pd.DataFrame
    target: str

    @property
    def labels(self) -> NDArray[np.str_]:
        """The rows' classes."""
        return self.frame[self.target].to_numpy(dtype=str)


def read(name: str) -> Table:
    """A file of the data folder; its last column is the target, an empty cell a missing value."""
    files = ("adult-train", "adult-test") if name == "adult" else (name,)
    frames = [
        pd.read_csv(data.find_file(f"tables/{file}.csv"), keep_default_na=False, na_values=[""]) for file in files
    ]
    frame = pd.concat(frames, ignore_index=True)
    return Table(name, frame, str(frame.columns[-1]))


def names() -> list[str]:
    """Every table there is; the two files of Adult are one."""
    found = sorted({path.stem.removesuffix("-train").removesuffix("-test") for path in folder().glob("*.csv")})
    if not found:
        raise data.DataMissingError(f"no table in {folder()}. Hint: set DECIBAN_DATA to a folder with tables/*.csv")
    return found


def folder() -> Path:
    """Where the tables lie."""
    return data.data_folder() / "tables"


def splits(labels: NDArray[np.str_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The folds: rows to learn from and rows to judge by, the same for everyone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of eight rows is in eight of the ten folds
        yield from StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(labels, labels)


def judge(predict: Predict, test: pd.DataFrame, labels: NDArray[np.str_], classes: NDArray[np.str_]) -> Scorecard:
    """Rows a model has not learned, as one scorecard; a class it has never met has no probability."""
    known, scores = predict(test)
    log_posterior = np.full((len(test), len(classes)), -np.inf)
    log_posterior[:, np.searchsorted(classes, known)] = scores
    return Scorecard.of(log_posterior, np.searchsorted(classes, labels), known=np.isin(classes, known))


def cross_validate(table: Table, learn: Learn) -> Report:
    """Every row judged once, by a model of the other folds."""
    labels = table.labels
    classes = np.unique(labels)
    card = Scorecard.empty(len(classes))
    for train, test in splits(labels):
        predict = learn(table.frame.iloc[train], table.target)
        card += judge(predict, table.frame.iloc[test], labels[test], classes)
    return card.report(classes.tolist())


def imputing(learn: Learn) -> Learn:
    """The same with missing cells filled first, by mean or commonest level of the training rows."""

    def filled_first(train: pd.DataFrame, target: str) -> Predict:
        fill = filler(train.drop(columns=target))
        predict = learn(fill(train), target)
        return lambda test: predict(fill(test))

    return filled_first


def filler(features: pd.DataFrame) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """How to fill a frame's missing cells, decided by these rows."""
    kinds = (numeric(features), "mean"), (textual(features), "most_frequent")
    chosen = [
        (columns, SimpleImputer(strategy=strategy, keep_empty_features=True).fit(plain(features[columns])))
        for columns, strategy in kinds
        if columns
    ]

    def fill(frame: pd.DataFrame) -> pd.DataFrame:
        new = frame.copy()
        for columns, imputer in chosen:
            for name, values in zip(columns, imputer.transform(plain(frame[columns])).T):
                new[name] = pd.array(values).astype(frame[name].dtype if name in textual(features) else "float64")
        return new

    return fill


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Text as objects with NaN for missing, as SimpleImputer takes them."""
    return frame if not textual(frame) else frame.astype(object).where(frame.notna(), np.nan)


def fixed_split(learn: Learn, keep_missing: bool) -> float:
    """Adult's error on the complete rows of its test file."""
    train, test = (read(f"adult-{part}") for part in ("train", "test"))
    learned = train.frame if keep_missing else train.frame.dropna()
    complete = test.frame.dropna()
    classes = np.unique(train.labels)
    labels = complete[test.target].to_numpy(dtype=str)
    return 1 - judge(learn(learned, train.target), complete, labels, classes).report(classes.tolist()).accuracy


def adult() -> Iterator[lab.Figure]:
    """The figures expected of Adult's fixed split."""
    likelihood = {"numbers": "number", "parameter_prior": 0.0, "alpha": 1.0}
    expected: tuple[tuple[dict[str, object], str, Callable[[float], bool]], ...] = (
        ({"numbers": "binned"}, "≤ 16.3 %", lambda error: error <= 0.163),
        (likelihood, "17.6 ± 0.1 %", lambda error: abs(error - 0.176) <= 0.001),
    )
    for options, text, meets in expected:
        name = ", ".join(f"{key}={value!r}" for key, value in options.items()).replace("'", '"')
        complete = fixed_split(ours(**options), keep_missing=False)
        yield lab.Figure(f"{name}", text, complete, None, meets, lab.percent)
        kept = fixed_split(ours(**options), keep_missing=True)
        most = f"≤ {lab.percent(complete + 0.002)}"
        yield lab.Figure(f"{name}; all rows", most, kept, None, no_worse_than(complete + 0.002), lab.percent)


def no_worse_than(most: float) -> Callable[[float], bool]:
    """An error to stay below."""
    return lambda error: error <= most


@dataclass(frozen=True, slots=True)
class Holes:
    """Accuracy of one model on a table with its holes, and with the holes filled."""

    table: Table
    skipped: float
    imputed: float

    @property
    def missing(self) -> int:
        """Cells without a value."""
        return int(self.table.frame.isna().to_numpy().sum())


def holes(chosen: Sequence[str]) -> Iterator[Holes]:
    """Skipping against imputing, on every table that lacks cells."""
    learn = ours(numbers="number")
    for name in chosen:
        table = read(name)
        if table.frame.drop(columns=table.target).isna().to_numpy().any():
            skipped, imputed = (cross_validate(table, way).accuracy for way in (learn, imputing(learn)))
            yield Holes(table, skipped, imputed)


def cost_of_skipping(measured: Sequence[Holes]) -> float:
    """How much accuracy skipping costs over `HOLED`, weighted by rows; negative where it gains."""
    judged = [holes for holes in measured if holes.table.name in HOLED]
    rows = [len(holes.table.frame) for holes in judged]
    return float(np.average([holes.imputed - holes.skipped for holes in judged], weights=rows))


Results = Mapping[str, Mapping[str, Report]]
"""By table, then by contestant."""


def compared(chosen: Sequence[str]) -> dict[str, dict[str, Report]]:
    """Every contestant on every table."""
    results: dict[str, dict[str, Report]] = {}
    for name in chosen:
        table = read(name)
        print(f"{name}: {len(table.frame)} rows", file=sys.stderr)
        results[name] = {who: cross_validate(table, learn) for who, learn in CONTESTANTS.items()}
    return results


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table whose first column is words and the others figures."""
    rule = "|---|" + "--:|" * (len(head) - 1)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(line) + " |" for line in lines), ""])


def accuracies(results: Results) -> str:
    """Share of rows named correctly."""
    lines, figures = [], []
    for name, reports in results.items():
        some = next(iter(reports.values()))
        shares = [some.majority, *(report.accuracy for report in reports.values())]
        figures.append(shares)
        lines.append([name, f"{some.rows}", f"{len(some.classes)}", *(f"{100 * share:.2f}" for share in shares)])
    lines.append(["*mean*", "", "", *(f"{100 * share:.2f}" for share in np.mean(figures, axis=0))])
    head = ["table", "rows", "classes", "always", *CONTESTANTS]
    return f"\n## Accuracy, in percent\n\n{markdown(head, lines)}"


def losses(results: Results) -> str:
    """Mean of −ln p(truth); infinite where a truth was given no probability."""
    lines = [[name, *(shown_loss(report) for report in reports.values())] for name, reports in results.items()]
    lines.append(["*mean*", *means(results, "log_loss")])
    return f"\n## Log-loss, in nats\n\n{markdown(['table', *CONTESTANTS], lines)}"


def shown_loss(report: Report) -> str:
    """The figure, or how often the truth had no probability."""
    return f"∞ ({report.impossible} rows)" if report.impossible else f"{report.log_loss:.3f}"


def errors(results: Results) -> str:
    """How far confidence is from accuracy."""
    lines = [
        [name, *(f"{report.calibration_error:.3f}" for report in reports.values())]
        for name, reports in results.items()
    ]
    lines.append(["*mean*", *means(results, "calibration_error")])
    text = "Confidence in the class called against the share of hits, 15 bins of equal width."
    return f"\n## Calibration error\n\n{text}\n\n{markdown(['table', *CONTESTANTS], lines)}"


def means(results: Results, figure: str) -> list[str]:
    """The mean over tables, for each contestant."""
    values = [[getattr(report, figure) for report in reports.values()] for reports in results.values()]
    return [f"{value:.3f}" if np.isfinite(value) else "∞" for value in np.mean(values, axis=0)]


def missing_section(measured: Sequence[Holes]) -> str:
    """Skipping against imputing, by table and over all."""
    lines = [
        [
            f"{holes.table.name}{'' if holes.table.name in HOLED else ' (not in the target)'}",
            f"{len(holes.table.frame)}",
            f"{holes.missing}",
            f"{100 * holes.skipped:.2f}",
            f"{100 * holes.imputed:.2f}",
            f"{100 * (holes.skipped - holes.imputed):+.2f}",
        ]
        for holes in measured
    ]
    lines.append(["*over the five*", "", "", "", "", f"{-100 * cost_of_skipping(measured):+.2f}"])
    head = ["table", "rows", "missing cells", "skipped", "imputed", "difference"]
    text = MISSING.format(folds=FOLDS, holed=", ".join(HOLED[:-1]) + f" and {HOLED[-1]}")
    return f"{text}\n{markdown(head, lines)}"


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_tables", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "tables.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", help="compare on one table; writes no page")
    return parser.parse_args()


def main() -> int:
    """Measure, write the page, and say whether the expected came out."""
    chosen = options()
    try:
        every = [chosen.only] if chosen.only else names()
        results = compared(every)
        figures, filled = ([], []) if chosen.only else (list(adult()), list(holes(every)))
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)
        return 2
    sections = accuracies(results) + losses(results) + errors(results)
    if not chosen.only:
        sections += f"{ADULT}\n{lab.table(figures)}{missing_section(filled)}"
        today = date.today().isoformat()
        page = PAGE.format(folds=FOLDS, seed=SEED, date=today, machine=machine.describe(), sections=sections)
        chosen.page.write_text(page, encoding="utf-8")
        print(f"wrote {chosen.page}", file=sys.stderr)
    print(sections)
    costly = bool(filled) and cost_of_skipping(filled) > SLACK
    return int(costly or any(figure.met is False for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
