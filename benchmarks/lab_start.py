"""`python -m benchmarks.lab_start`: rebuild `docs/lab/start.md` on starting logistic regression from naive Bayes.

Without the data folder only the data sets of scikit-learn are measured. The exit code is 1 if a fit did not converge,
or if the two starting points did not lead to the same objective.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import StandardScaler

from deciban import LogisticRegression

from . import data, machine, text_data
from .lab_tables import format_table

C_VALUES = (0.01, 1.0, 100.0)
"""The values of C: a strong, the default and a weak penalty."""

MAX_ITERATIONS = 2000
MAX_OBJECTIVE_GAP = 1e-6
"""The largest relative difference of two objectives that count as equal."""

SAVED_RATIO = 0.9
"""A ratio of iterations below this counts as saved, above its inverse as lost."""

PAGE = """# Starting logistic regression from naive Bayes

Logistic regression is fitted iteratively. `LogisticRegression(start="bayes")` starts at the weights of naive Bayes
instead of zero: Gaussians with a shared variance for each column of numbers, the multinomial for sparse counts, both
of which have the same linear form; the evidence is scaled by the factor that minimises the penalised loss. The table
shows the iterations over all rows to the default tolerance (`tol=1e-4`), from zero → from naive Bayes, for three
strengths of the penalty. Written by `python -m benchmarks.lab_start` on {date}; do not edit.

Machine: {machine}.

Numbers are standardised unless marked *raw*. *Seconds* are those of C = 1, including the computation of the starting
point. A fit marked † was stopped before convergence (at most {most} iterations are allowed).

{table}
{verdict}

{ends}
"""


@dataclass(frozen=True)
class StartComparison:
    """Iterations, seconds and objective of one data set at one C, from zero and from naive Bayes."""

    iterations: tuple[int, int]
    seconds: tuple[float, float]
    objective: tuple[float, float]
    converged: tuple[bool, bool]

    @property
    def gap(self) -> float:
        """The relative difference of the objectives."""
        return abs(self.objective[0] - self.objective[1]) / min(map(abs, self.objective))

    def __str__(self) -> str:
        from_zero, from_bayes = (f"{n}{'' if ended else '†'}" for n, ended in zip(self.iterations, self.converged))
        return f"{from_zero} → {from_bayes}"


DataSet = tuple[str, Any, Any]
"""A name, X and y."""


def load_bundled() -> Iterator[DataSet]:
    """Load the data sets of scikit-learn."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name.replace("_", " "), StandardScaler().fit_transform(X), y
        if name in ("wine", "breast_cancer"):
            yield f"{name.replace('_', ' ')}, raw", X, y


def repeat_columns(copies: int = 5) -> DataSet:
    """Return data with every column repeated, the worst case of naive Bayes."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    noisy = np.hstack([X] * copies) * np.random.default_rng(0).lognormal(
        sigma=0.05, size=(len(X), X.shape[1] * copies)
    )
    return f"breast cancer, every column {copies} times", StandardScaler().fit_transform(noisy), y


def load_from_folder() -> Iterator[DataSet]:
    """Load letters, votes with missing cells, digits, posts as counts and as tf-idf."""
    X, y = data.load_letter()
    yield "letter", StandardScaler().fit_transform(X), y
    yield "vote, cells missing", *data.load_vote()
    pixels, digits = data.load_mnist("t10k")
    yield "MNIST, 2000 test pictures", (pixels[:2000] / 255.0).astype(np.float32), digits[:2000]
    posts = text_data.load_newsgroups()["train"].subsample(0.25)
    counts = CountVectorizer(min_df=2, dtype=np.float64).fit_transform(posts.documents)
    yield "20 newsgroups, a quarter, counts of words", counts, np.array(posts.labels)
    yield "20 newsgroups, a quarter, tf-idf", TfidfTransformer().fit_transform(counts), np.array(posts.labels)


def load_all() -> Iterator[DataSet]:
    """Load all available data sets."""
    yield from load_bundled()
    yield repeat_columns()
    try:
        yield from load_from_folder()
    except data.DataMissingError as error:
        print(error, file=sys.stderr)


def compare_starts(X: Any, y: Any, C: float) -> StartComparison:
    """Fit from both starting points."""
    models, seconds = [], []
    for start in ("zero", "bayes"):
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(LogisticRegression(C=C, start=start, max_iter=MAX_ITERATIONS).fit(X, y))
        seconds.append(perf_counter() - began)
    zero, bayes = models
    return StartComparison(
        (int(zero.n_iter_[0]), int(bayes.n_iter_[0])),
        (seconds[0], seconds[1]),
        (zero.objective_, bayes.objective_),
        (zero._scorer.account.converged, bayes._scorer.account.converged),
    )


def format_line(data_set: DataSet, steps: Sequence[StartComparison]) -> list[str]:
    """Format a line of the table."""
    name, X, y = data_set
    seconds = steps[C_VALUES.index(1.0)].seconds
    shape = f"{X.shape[0]} × {X.shape[1]}", str(len(np.unique(y)))
    return [name, *shape, *map(str, steps), "{:.2f} → {:.2f}".format(*seconds)]


Cases = dict[tuple[str, float], StartComparison]
"""Comparisons by data set and C."""


def format_verdict(cases: Cases) -> str:
    """State in how many cases iterations were saved, and the extreme ratios, where both fits converged."""
    shares = {
        case: each.iterations[1] / max(each.iterations[0], 1) for case, each in cases.items() if all(each.converged)
    }
    saved, lost = sum(s < SAVED_RATIO for s in shares.values()), sum(s > 1 / SAVED_RATIO for s in shares.values())
    (best, C_best), (worst, C_worst) = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    middle = float(np.median(list(shares.values())))
    return (
        f"Of the {len(shares)} cases in which both fits converged, at least a tenth of the iterations is saved in "
        f"{saved} and lost in {lost}; the median ratio of iterations is {middle:.2f}. The smallest ratio is that of "
        f"{best} at C = {C_best:g} ({shares[best, C_best]:.2f}), the largest that of {worst} at C = {C_worst:g} "
        f"({shares[worst, C_worst]:.2f})."
    )


def compare_objectives(cases: Cases) -> tuple[str, bool]:
    """State whether both starting points lead to equal objectives; return also whether all do and converged."""
    different = [
        f"{name} at C = {C:g} ({each.gap:.0e})"
        for (name, C), each in cases.items()
        if not each.gap <= MAX_OBJECTIVE_GAP
    ]
    stopped = sum(not all(each.converged) for each in cases.values())
    max_gap = max(each.gap for each in cases.values())
    words = f"The objectives of the two starting points differ by at most {max_gap:.0e}, relatively."
    if different:
        names = ", ".join(different)
        words = f"**The two starting points did not reach the same objective** (relative difference): {names}."
    if stopped:
        words += f" In {stopped} of {len(cases)} cases a fit was stopped before convergence."
    return words, not different and not stopped


def main() -> int:
    """Measure and write the page; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_start", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "start.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    page = parser.parse_args().page
    X, y = datasets.make_classification(20_000, random_state=0)
    compare_starts(X, y, 1.0)  # compiles kernels before timing
    lines, cases = [], Cases()
    for data_set in load_all():
        steps = [compare_starts(data_set[1], data_set[2], C) for C in C_VALUES]
        cases.update({(data_set[0], C): each for C, each in zip(C_VALUES, steps)})
        lines.append(format_line(data_set, steps))
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    head = ["data", "rows × columns", "classes", *(f"C = {C:g}" for C in C_VALUES), "seconds"]
    words, succeeded = compare_objectives(cases)
    text = PAGE.format(
        date=date.today().isoformat(), machine=machine.describe(), table=format_table(head, lines),
        verdict=format_verdict(cases), ends=words, most=MAX_ITERATIONS,
    )  # fmt: skip
    page.write_text(text, encoding="utf-8")
    print(f"wrote {page}; {words}", file=sys.stderr)
    return int(not succeeded)


if __name__ == "__main__":
    sys.exit(main())
