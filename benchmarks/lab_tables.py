"""`python -m benchmarks.lab_tables`: rebuild `docs/lab/tables.md` from public tables.

The exit code is 1 if a figure is not the expected one, 2 if the data is missing.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold

from deciban.metrics import Report, Scorecard

from . import data, lab, machine
from .table_models import (
    CANDIDATES,
    Learn,
    Predict,
    convert_text_to_objects,
    make_our_learner,
    number_columns,
    text_columns,
)

FOLDS, SEED = 10, 0
TARGET_TABLES = ("hepatitis", "soybean", "vote", "labor", "mushroom")
"""Tables with many missing cells, on which the target is tested."""
MAX_SKIPPING_COST = 0.01
"""The accuracy that skipping missing cells may cost over `TARGET_TABLES`, weighted by rows."""

PAGE = """# Real tables

Public tables with numbers, categories and missing cells, {folds}-fold cross-validation: the same stratified folds
(seed {seed}) for all models. [Beside Weka, Khiops and others](peers.md).
Written by `python -m benchmarks.lab_tables` on {date}; do not edit.

Machine: {machine}.

- *deciban*: `deciban.train` with its defaults; *number* and *binned*: with `numbers="number"` (a Gaussian per class)
  and `numbers="binned"` (supervised bins) for all columns of numbers. Missing cells are left out.
- *Gaussian + CategoricalNB*: scikit-learn's two models, on the columns of numbers and on the others, their joint
  log-probabilities added; missing cells are imputed by mean and most frequent level, levels encoded, all fitted
  on the training folds.
- *logistic regression*: the same imputation, numbers scaled, one column per level; *boosted trees*:
  `HistGradientBoostingClassifier`, for reference. Both with scikit-learn's defaults (but up to 2000 iterations).
- *always* predicts the most frequent class for every row. The last line is the mean over tables.
{sections}"""

ADULT_SECTION = """
## Adult, with its fixed split

Trained on the training file, tested on the 15 060 complete rows of the test file; the figures are error rates.
Models are trained on the 30 162 complete training rows, or, where the line says "all rows", on all 32 561, including
those with missing cells. 16.12 % is published for naive Bayes with supervised bins.
"""
MISSING_SECTION = """
## Missing cells: skipped or imputed

The same model (`numbers="number"`, independent columns, no calibration) with missing cells left out, and with missing
cells imputed by mean and most frequent level of the training folds; accuracy in {folds} folds. The target: over
{target_tables}, weighted by rows, skipping costs at most one percentage point.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with the name of its target column."""

    name: str
    frame: pd.DataFrame
    target: str

    @property
    def labels(self) -> NDArray[np.str_]:
        """The classes of the rows."""
        return self.frame[self.target].to_numpy(dtype=str)


def read_table(name: str) -> Table:
    """Read a table of the data folder; its last column is the target, an empty cell a missing value."""
    files = ("adult-train", "adult-test") if name == "adult" else (name,)
    frames = [
        pd.read_csv(data.find_file(f"tables/{file}.csv"), keep_default_na=False, na_values=[""]) for file in files
    ]
    frame = pd.concat(frames, ignore_index=True)
    return Table(name, frame, str(frame.columns[-1]))


def list_tables() -> list[str]:
    """List the names of all tables; the two files of Adult are one."""
    found = sorted({path.stem.removesuffix("-train").removesuffix("-test") for path in tables_folder().glob("*.csv")})
    if not found:
        raise data.DataMissingError(
            f"no table in {tables_folder()}. Hint: set DECIBAN_DATA to a folder with tables/*.csv"
        )
    return found


def tables_folder() -> Path:
    """Return the folder of the tables."""
    return data.data_folder() / "tables"


def splits(labels: NDArray[np.str_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield the training and test rows of each fold, the same for all models."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class of eight rows is in eight of the ten folds
        yield from StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(labels, labels)


def score(predict: Predict, test: pd.DataFrame, labels: NDArray[np.str_], classes: NDArray[np.str_]) -> Scorecard:
    """Score test rows; a class that the model has not learned has probability 0."""
    known, scores = predict(test)
    log_posterior = np.full((len(test), len(classes)), -np.inf)
    log_posterior[:, np.searchsorted(classes, known)] = scores
    return Scorecard.of(log_posterior, np.searchsorted(classes, labels), known=np.isin(classes, known))


def cross_validate(table: Table, learn: Learn) -> Report:
    """Score every row once, by a model of the other folds."""
    labels = table.labels
    classes = np.unique(labels)
    card = Scorecard.empty(len(classes))
    for train, test in splits(labels):
        predict = learn(table.frame.iloc[train], table.target)
        card += score(predict, table.frame.iloc[test], labels[test], classes)
    return card.report(classes.tolist())


def impute_before(learn: Learn) -> Learn:
    """Return a learner that first imputes missing cells by mean or most frequent level of the training rows."""

    def impute_and_learn(train: pd.DataFrame, target: str) -> Predict:
        fill = fit_imputer(train.drop(columns=target))
        predict = learn(fill(train), target)
        return lambda test: predict(fill(test))

    return impute_and_learn


def fit_imputer(features: pd.DataFrame) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return a function that imputes missing cells by statistics of these rows."""
    kinds = (number_columns(features), "mean"), (text_columns(features), "most_frequent")
    cells = convert_text_to_objects(features)
    chosen = [
        (columns, SimpleImputer(strategy=strategy, keep_empty_features=True).fit(cells[columns]))
        for columns, strategy in kinds
        if columns
    ]

    def fill(frame: pd.DataFrame) -> pd.DataFrame:
        new = frame.copy()
        for columns, imputer in chosen:
            for name, values in zip(columns, imputer.transform(convert_text_to_objects(frame[columns])).T):
                new[name] = pd.array(values).astype(
                    frame[name].dtype if name in text_columns(features) else "float64"
                )
        return new

    return fill


def adult_error(learn: Learn, keep_missing: bool) -> float:
    """Return the error rate on the complete rows of Adult's test file."""
    train, test = (read_table(f"adult-{part}") for part in ("train", "test"))
    learned = train.frame if keep_missing else train.frame.dropna()
    complete = test.frame.dropna()
    classes = np.unique(train.labels)
    labels = complete[test.target].to_numpy(dtype=str)
    return 1 - score(learn(learned, train.target), complete, labels, classes).report(classes.tolist()).accuracy


def measure_adult() -> Iterator[lab.Figure]:
    """Measure the figures expected of Adult's fixed split."""
    plain = {"structure": "naive", "calibrate": "none"}
    likelihood = {"numbers": "number", "parameter_prior": 0.0, "alpha": 1.0, **plain}
    expected: tuple[tuple[dict[str, object], str, Callable[[float], bool]], ...] = (
        ({"numbers": "binned", **plain}, "≤ 16.3 %", lambda error: error <= 0.163),
        (likelihood, "17.6 ± 0.1 %", lambda error: abs(error - 0.176) <= 0.001),
    )
    for options, text, meets in expected:
        name = ", ".join(f"{key}={value!r}" for key, value in options.items()).replace("'", '"')
        complete = adult_error(make_our_learner(**options), keep_missing=False)
        yield lab.Figure(f"{name}", text, complete, None, meets)
        kept = adult_error(make_our_learner(**options), keep_missing=True)
        most = f"≤ {lab.format_percent(complete + 0.002)}"
        yield lab.Figure(f"{name}; all rows", most, kept, None, partial(lab.is_at_most, complete + 0.002))


@dataclass(frozen=True, slots=True)
class MissingResult:
    """The accuracy of one model on a table with missing cells skipped, and imputed."""

    table: Table
    skipped: float
    imputed: float

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        return int(self.table.frame.isna().to_numpy().sum())


def measure_missing(chosen: Sequence[str]) -> Iterator[MissingResult]:
    """Compare skipping with imputing on every table with missing cells."""
    learn = make_our_learner(numbers="number", structure="naive", calibrate="none")
    for name in chosen:
        table = read_table(name)
        if table.frame.drop(columns=table.target).isna().to_numpy().any():
            skipped, imputed = (cross_validate(table, learner).accuracy for learner in (learn, impute_before(learn)))
            yield MissingResult(table, skipped, imputed)


def cost_of_skipping(results: Sequence[MissingResult]) -> float:
    """Return the accuracy that skipping costs over `TARGET_TABLES`, weighted by rows; negative where it gains."""
    chosen = [result for result in results if result.table.name in TARGET_TABLES]
    rows = [len(result.table.frame) for result in chosen]
    return float(np.average([result.imputed - result.skipped for result in chosen], weights=rows))


Results = Mapping[str, Mapping[str, Report]]
"""Reports by table, then by model."""


def compare_models(chosen: Sequence[str]) -> dict[str, dict[str, Report]]:
    """Cross-validate every model on every table."""
    results: dict[str, dict[str, Report]] = {}
    for name in chosen:
        table = read_table(name)
        print(f"{name}: {len(table.frame)} rows", file=sys.stderr)
        results[name] = {model: cross_validate(table, learn) for model, learn in CANDIDATES.items()}
    return results


def format_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table whose first column is text and the others figures."""
    rule = "|---|" + "--:|" * (len(head) - 1)
    return "\n".join(["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(line) + " |" for line in lines), ""])


def format_accuracies(results: Results) -> str:
    """Format the section of accuracies."""
    lines, figures = [], []
    for name, reports in results.items():
        some = next(iter(reports.values()))
        shares = [some.majority, *(report.accuracy for report in reports.values())]
        figures.append(shares)
        lines.append([name, f"{some.rows}", f"{len(some.classes)}", *(f"{100 * share:.2f}" for share in shares)])
    lines.append(["*mean*", "", "", *(f"{100 * share:.2f}" for share in np.mean(figures, axis=0))])
    head = ["table", "rows", "classes", "always", *CANDIDATES]
    return f"\n## Accuracy, in percent\n\n{format_table(head, lines)}"


def format_losses(results: Results) -> str:
    """Format the section of log-losses, the means of −ln p(truth)."""
    lines = [[name, *(format_loss(report) for report in reports.values())] for name, reports in results.items()]
    lines.append(["*mean*", *format_means(results, "log_loss")])
    return f"\n## Log-loss, in nats\n\n{format_table(['table', *CANDIDATES], lines)}"


def format_loss(report: Report) -> str:
    """Format the log-loss, or the number of rows whose true class had probability 0."""
    return f"∞ ({report.impossible} rows)" if report.impossible else f"{report.log_loss:.3f}"


def format_calibration_errors(results: Results) -> str:
    """Format the section of calibration errors."""
    lines = [
        [name, *(f"{report.calibration_error:.3f}" for report in reports.values())]
        for name, reports in results.items()
    ]
    lines.append(["*mean*", *format_means(results, "calibration_error")])
    text = "Confidence in the predicted class against accuracy, 15 bins of equal width."
    return f"\n## Calibration error\n\n{text}\n\n{format_table(['table', *CANDIDATES], lines)}"


def format_means(results: Results, figure: str) -> list[str]:
    """Format the mean over tables for each model."""
    values = [[getattr(report, figure) for report in reports.values()] for reports in results.values()]
    return [f"{value:.3f}" if np.isfinite(value) else "∞" for value in np.mean(values, axis=0)]


def format_missing(results: Sequence[MissingResult]) -> str:
    """Format the comparison of skipping and imputing, by table and over all."""
    lines = [
        [
            f"{result.table.name}{'' if result.table.name in TARGET_TABLES else ' (not in the target)'}",
            f"{len(result.table.frame)}",
            f"{result.n_missing}",
            f"{100 * result.skipped:.2f}",
            f"{100 * result.imputed:.2f}",
            f"{100 * (result.skipped - result.imputed):+.2f}",
        ]
        for result in results
    ]
    lines.append(["*over the five*", "", "", "", "", f"{-100 * cost_of_skipping(results):+.2f}"])
    head = ["table", "rows", "missing cells", "skipped", "imputed", "difference"]
    text = MISSING_SECTION.format(
        folds=FOLDS, target_tables=", ".join(TARGET_TABLES[:-1]) + f" and {TARGET_TABLES[-1]}"
    )
    return f"{text}\n{format_table(head, lines)}"


def parse_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_tables", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "tables.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    parser.add_argument("--only", metavar="TABLE", help="compare on one table; writes no page")
    return parser.parse_args()


def main() -> int:
    """Measure and write the page; return the exit code."""
    arguments = parse_arguments()
    try:
        every = [arguments.only] if arguments.only else list_tables()
        results = compare_models(every)
        figures, missing = ([], []) if arguments.only else (list(measure_adult()), list(measure_missing(every)))
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    sections = format_accuracies(results) + format_losses(results) + format_calibration_errors(results)
    if not arguments.only:
        sections += f"{ADULT_SECTION}\n{lab.format_figures(figures)}{format_missing(missing)}"
        today = date.today().isoformat()
        page = PAGE.format(folds=FOLDS, seed=SEED, date=today, machine=machine.describe(), sections=sections)
        arguments.page.write_text(page, encoding="utf-8")
        print(f"wrote {arguments.page}", file=sys.stderr)
    print(sections)
    costly = bool(missing) and cost_of_skipping(missing) > MAX_SKIPPING_COST
    return int(costly or any(figure.met is False for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
