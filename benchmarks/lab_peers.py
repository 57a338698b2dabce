"""`python -m benchmarks.lab_peers`: rebuild `docs/lab/peers.md`, a comparison of our defaults with other programs.

Scores are kept in build/lab-peers, those of deciban as long as its code is unchanged; peers that are not installed
are left out, with the reason. The exit code is 1 if a target is missed, 2 if the data is missing.
"""

import argparse
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn import datasets

import deciban
from deciban.metrics import Report, Scorecard
from deciban.metrics.intervals import paired_mean

from . import data, machine
from .lab_tables import FOLDS, SEED, Table, format_table, list_tables, read_table, splits
from .table_models import Learn, make_boosted_trees, make_logistic, make_our_learner, make_peer_learner
from .table_peers import (
    WEKA_CLASSIFIERS,
    LearnFolds,
    explain_missing_khiops,
    explain_missing_weka,
    learn_aode,
    learn_khiops_folds,
    make_forest,
    make_weka_folds,
)

MAX_ROWS = 1000
"""Rows of a table, at most, unless others are given: a random sample of larger ones."""

MIN_PROBABILITY = 1e-15
"""Lower ones count as this in the log-loss: some programs write 0."""

DEFAULT, AUTO = "deciban", "deciban auto"
"""The names of the two that targets are about."""

PAGE = """# Tables: comparison with other programs

{folds}-fold cross-validation, the same stratified folds (seed {seed}) for all; of tables with more than {rows} rows
(adult, car, digits, letter, mushroom) a random sample of so many. A probability below 1e-15 counts as that.
Written by `python -m benchmarks.lab_peers` on {date}; do not edit.

Machine: {machine}.

- *deciban*: `deciban.train` with its defaults; *naive*: with `structure="naive"`; *aode*: `learner="aode"`; *auto*:
  `learner="auto"`.
- Weka's NaiveBayes, with kernels (-K), with supervised bins (-D), and BayesNet with TAN; *AODE*: an independent
  implementation (`benchmarks/aode_reference.py`) on supervised bins; Khiops with its defaults.
- scikit-learn: logistic regression on imputed and scaled numbers and one column per level, random forest on the
  same, boosted trees (`HistGradientBoostingClassifier`), all with their defaults.
- *won, tied, lost*: tables on which *deciban* has a lower log-loss, row by row, by more than two standard errors of
  the difference. *rank*: the mean rank of the log-loss among naive Bayes and its relatives ({relatives}).
{missing}{sections}"""


@dataclass(frozen=True)
class Program:
    """A program on the page: how it learns, whether it is a relative of naive Bayes, and why it cannot be run."""

    learn_folds: LearnFolds
    is_bayesian: bool
    is_ours: bool = False
    explain_missing: Callable[[], str] = str


def fold_by_fold(learn: Learn) -> LearnFolds:
    """Return a function that learns one fold after the other."""
    return lambda folds, target: [learn(train, target)(test) for train, test in folds]


PROGRAMS: dict[str, Program] = {
    DEFAULT: Program(fold_by_fold(make_our_learner()), True, True),
    AUTO: Program(fold_by_fold(make_our_learner(learner="auto")), True, True),
    "deciban aode": Program(fold_by_fold(make_our_learner(learner="aode")), True, True),
    "deciban naive": Program(fold_by_fold(make_our_learner(structure="naive")), True, True),
    **{name: Program(make_weka_folds(name), True, explain_missing=explain_missing_weka) for name in WEKA_CLASSIFIERS},
    "AODE": Program(fold_by_fold(learn_aode), True),
    "Khiops": Program(learn_khiops_folds, True, explain_missing=explain_missing_khiops),
    "logistic": Program(fold_by_fold(make_peer_learner(make_logistic)), False),
    "random forest": Program(fold_by_fold(make_peer_learner(make_forest)), False),
    "boosted trees": Program(fold_by_fold(make_peer_learner(make_boosted_trees)), False),
}
"""The programs by the names that they have on the page."""

SCIKIT_TABLES = {
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "breast_cancer": datasets.load_breast_cancer,
    "digits": datasets.load_digits,
}


def read_any_table(name: str, max_rows: int = MAX_ROWS) -> Table:
    """Return a table of the data folder or of scikit-learn, or a sample of its rows."""
    if name in SCIKIT_TABLES:
        frame = SCIKIT_TABLES[name](as_frame=True).frame
        table = Table(name, frame.assign(target=frame["target"].astype(str)), "target")
    else:
        table = read_table(name)
    if len(table.frame) <= max_rows:
        return table
    return Table(name, table.frame.sample(max_rows, random_state=SEED).reset_index(drop=True), table.target)


@cache
def hash_code() -> str:
    """Return a hash of the library's own code."""
    sources = sorted((data.ROOT / "src" / "deciban").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]


def score_table(table: Table, name: str) -> NDArray[np.float64]:
    """Return ln p(k|x) of every row by the model of the other folds, from the file that holds it if there is one."""
    program = PROGRAMS[name]
    key = f"{table.name}-{len(table.frame)}-{name}{'-' + hash_code() if program.is_ours else ''}".replace(" ", "_")
    path = data.ROOT / "build" / "lab-peers" / f"{key}.npy"
    if path.exists():
        return np.asarray(np.load(path))
    labels = table.labels
    classes = np.unique(labels)
    scores = np.full((len(labels), len(classes)), -np.inf)
    folds = list(splits(labels))
    frames = [(table.frame.iloc[train], table.frame.iloc[test]) for train, test in folds]
    for (_, test), (known, found) in zip(folds, program.learn_folds(frames, table.target)):
        scores[np.ix_(test, np.searchsorted(classes, known))] = found
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, scores)
    return scores


@dataclass(frozen=True)
class Result:
    """The report of a program on a table, and the loss of every row."""

    report: Report
    losses: NDArray[np.float64]

    @property
    def log_loss(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())


Results = Mapping[str, Mapping[str, Result]]
"""Results by table, then by program."""


def judge(table: Table, scores: NDArray[np.float64]) -> Result:
    """Return the result of ln p(k|x), limited from below."""
    classes, truth = np.unique(table.labels, return_inverse=True)
    bounded = np.maximum(scores, np.log(MIN_PROBABILITY))
    report = Scorecard.of(bounded, truth).report(classes.tolist())
    return Result(report, -bounded[np.arange(len(truth)), truth])


def measure(tables: Sequence[str], programs: Sequence[str], max_rows: int) -> dict[str, dict[str, Result]]:
    """Return the results of all programs on all tables."""
    results: dict[str, dict[str, Result]] = {}
    for name in tables:
        table, results[name] = read_any_table(name, max_rows), {}
        for program in programs:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # convergence, rare classes, columns left out
                results[name][program] = judge(table, score_table(table, program))
            print(f"{name}, {program}: {results[name][program].log_loss:.4f}", file=sys.stderr, flush=True)
    return results


def collect(results: Results, figure: Callable[[Result], float]) -> NDArray[np.float64]:
    """Return a figure of all results, tables × programs."""
    return np.array([[figure(result) for result in row.values()] for row in results.values()])


def count_outcomes(results: Results, peer: str) -> tuple[int, int, int]:
    """Return on how many tables the default won, tied and lost against a peer; see the page."""
    outcomes = []
    for row in results.values():
        gain, error = paired_mean(row[peer].losses - row[DEFAULT].losses, np.ones(len(row[peer].losses)))
        outcomes.append(0 if abs(gain) <= 2 * error else int(np.sign(gain)))
    return outcomes.count(1), outcomes.count(0), outcomes.count(-1)


def format_summary(results: Results, programs: Sequence[str]) -> str:
    """Format the section that compares the programs over all tables."""
    losses = collect(results, lambda result: result.log_loss)
    relatives = [i for i, name in enumerate(programs) if PROGRAMS[name].is_bayesian and name != AUTO]
    ranks = dict(zip(relatives, rankdata(losses[:, relatives].round(6), axis=1).mean(axis=0)))
    accuracy = collect(results, lambda result: result.report.accuracy).mean(axis=0)
    error = collect(results, lambda result: result.report.calibration_error).mean(axis=0)
    lines = []
    for i, name in enumerate(programs):
        outcomes = "" if name == DEFAULT else " / ".join(map(str, count_outcomes(results, name)))
        rank = f"{ranks[i]:.2f}" if i in ranks else ""
        medians = f"{np.median(losses[:, i]):.3f}", f"{losses[:, i].mean():.3f}"
        lines.append([name, *medians, rank, f"{100 * accuracy[i]:.2f}", f"{error[i]:.3f}", outcomes])
    head = ["", "median log-loss", "mean log-loss", "rank", "accuracy %", "ECE", "won / tied / lost"]
    return f"\n## Over {len(results)} tables\n\n{format_table(head, lines)}"


def format_by_table(title: str, results: Results, figure: Callable[[Result], float], pattern: str) -> str:
    """Format a section with a figure of every table and program."""
    lines = [[name, *(pattern.format(figure(result)) for result in row.values())] for name, row in results.items()]
    head = ["table", *next(iter(results.values()))]
    return f"\n## {title}\n\n{format_table(head, lines)}"


def list_missed_targets(results: Results, programs: Sequence[str]) -> Iterator[str]:
    """Yield the targets that are missed, each as a sentence."""
    losses = collect(results, lambda result: result.log_loss)
    median = dict(zip(programs, np.median(losses, axis=0)))
    rivals = [i for i, name in enumerate(programs) if PROGRAMS[name].is_bayesian and not PROGRAMS[name].is_ours]
    ranks = rankdata(losses[:, [programs.index(DEFAULT), *rivals]], axis=1).mean(axis=0)
    if AUTO not in median:
        yield f"that of {AUTO}, which was not measured"
    for name in programs:
        if PROGRAMS[name].is_bayesian and not PROGRAMS[name].is_ours and median[name] < median[DEFAULT]:
            yield f"the median log-loss of {name} is lower: {median[name]:.3f} against {median[DEFAULT]:.3f}"
        if AUTO in median and name in ("random forest", "boosted trees") and median[name] < median[AUTO]:
            yield f"the median log-loss of {name} is lower than that of {AUTO}: {median[name]:.3f}"
    if ranks.argmin() > 0:
        yield f"{programs[rivals[int(ranks.argmin()) - 1]]} has the first mean rank"
    error = collect(results, lambda result: result.report.calibration_error).mean(axis=0)[0]
    if error > 0.05:
        yield f"the mean calibration error is {error:.3f}"


def measure_times() -> None:
    """Print the CPU seconds of training a million rows of twenty columns with each structure."""
    rng, n = np.random.default_rng(0), 10**6
    y = rng.integers(0, 2, n)
    columns: dict[str, Any] = {f"x{j}": rng.normal(size=n) + 0.3 * y * (j % 3) for j in range(12)}
    columns |= {f"c{j}": np.array(list("abcdefgh"))[rng.integers(0, 8, n)] for j in range(8)}
    frame = pd.DataFrame({**columns, "y": np.where(y, "p", "q")})
    deciban.train(frame[:30_000], target="y", structure="tan")  # kernels are compiled
    for structure in ("naive", "auto", "tan"):
        start = time.process_time()
        deciban.train(frame, target="y", structure=structure)
        print(f"structure={structure!r}: {time.process_time() - start:.1f} s of CPU")


def main() -> int:
    """Measure and write the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_peers", description=__doc__)
    parser.add_argument("--page", type=Path, default=data.ROOT / "docs" / "lab" / "peers.md")
    parser.add_argument("--rows", type=int, default=MAX_ROWS, help="rows of a table, at most")
    parser.add_argument("--tables", metavar="NAME,…", help="some tables alone; writes no page")
    parser.add_argument("--programs", metavar="NAME,…", help="some programs alone; writes no page")
    parser.add_argument(
        "--without", metavar="NAME,…", default="", help="tables and programs that the page leaves out"
    )
    parser.add_argument("--times", action="store_true", help="print the CPU seconds of each structure instead")
    arguments = parser.parse_args()
    if arguments.times:
        measure_times()
        return 0
    reasons = {name: program.explain_missing() for name, program in PROGRAMS.items()}
    chosen = arguments.programs.split(",") if arguments.programs else list(PROGRAMS)
    reasons |= {name: "not measured" for name in arguments.without.split(",") if name}
    programs = [name for name in chosen if not reasons[name]]
    try:
        tables = arguments.tables.split(",") if arguments.tables else [*list_tables(), *SCIKIT_TABLES]
        results = measure([name for name in tables if name not in reasons], programs, arguments.rows)
    except data.DataMissingError as error:
        print(error, file=sys.stderr)
        return 2
    missed = list(list_missed_targets(results, programs)) if DEFAULT in programs else []
    sections = format_summary(results, programs) if DEFAULT in programs else ""
    sections += "\nTargets missed: " + ("; ".join(missed) if missed else "none") + ".\n"
    sections += format_by_table("Log-loss, in nats", results, lambda result: result.log_loss, "{:.3f}")
    sections += format_by_table("Accuracy", results, lambda result: result.report.accuracy, "{:.3f}")
    sections += format_by_table("Calibration error", results, lambda r: r.report.calibration_error, "{:.3f}")
    if not (arguments.tables or arguments.programs):
        absent = "".join(f"- {name} is left out: {reason}.\n" for name, reason in reasons.items() if reason)
        relatives = ", ".join(name for name in programs if PROGRAMS[name].is_bayesian and name != AUTO)
        page = PAGE.format(
            folds=FOLDS, seed=SEED, rows=arguments.rows, date=date.today().isoformat(), machine=machine.describe(),
            relatives=relatives, missing=absent, sections=sections,
        )  # fmt: skip
        arguments.page.write_text(page, encoding="utf-8")
    print(sections)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
