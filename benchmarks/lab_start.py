"""`python -m benchmarks.lab_start`: rebuild `docs/lab/start.md`, where a start from naive Bayes saves steps.

The data folder is used if it is there; without it the sets that scikit-learn brings are measured alone. Exit code 1
if a search did not converge, or if the two starts did not end at the same objective.
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

STRENGTHS = (0.01, 1.0, 100.0)
"""The C that are tried: much, the usual, and little penalty."""

MOST_STEPS = 2000
SAME = 1e-6
"""Objectives that differ by less, relative to themselves, are the same."""

SAVED = 0.9
"""Steps from the one start below this share of those from the other count as saved."""

PAGE = """# Where to start

Logistic regression looks for its weights step by step. `LogisticRegression(start="bayes")` begins at the weights of
naive Bayes instead of at none: bells of a shared variance for each column of numbers, the multinomial for sparse
counts, both of which have the same linear form; the evidence is scaled by the one factor for which the penalised loss
is least. Here are the steps over all rows that the search then takes to the usual tolerance (`tol=1e-4`), from no
weights → from those of naive Bayes, for three strengths of the penalty. Written by `python -m benchmarks.lab_start`
on {date}; do not edit.

Machine: {machine}.

Numbers are standardised unless it says *raw*. *Seconds* are those of C = 1, the start included. A search marked † was
stopped before it had converged (at most {most} steps are allowed), so its steps are not those to the end.

{table}
{verdict}

{ends}
"""


@dataclass(frozen=True)
class Steps:
    """One data set at one strength: steps, seconds and the objective reached, from nothing and from naive Bayes."""

    taken: tuple[int, int]
    seconds: tuple[float, float]
    objective: tuple[float, float]
    converged: tuple[bool, bool]

    @property
    def gap(self) -> float:
        """The relative difference of the objectives."""
        return abs(self.objective[0] - self.objective[1]) / min(map(abs, self.objective))

    def __str__(self) -> str:
        from_zero, from_bayes = (f"{n}{'' if ended else '†'}" for n, ended in zip(self.taken, self.converged))
        return f"{from_zero} → {from_bayes}"


Set = tuple[str, Any, Any]


def bundled() -> Iterator[Set]:
    """What scikit-learn brings."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield name.replace("_", " "), StandardScaler().fit_transform(X), y
        if name in ("wine", "breast_cancer"):
            yield f"{name.replace('_', ' ')}, raw", X, y


def told_twice(copies: int = 5) -> Set:
    """Naive Bayes at its worst: every column several times over."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    noisy = np.hstack([X] * copies) * np.random.default_rng(0).lognormal(
        sigma=0.05, size=(len(X), X.shape[1] * copies)
    )
    return f"breast cancer, every column {copies} times", StandardScaler().fit_transform(noisy), y


def from_folder() -> Iterator[Set]:
    """What the data folder has: letters, votes with missing cells, digits, posts as counts and as tf-idf."""
    X, y = data.load_letter()
    yield "letter", StandardScaler().fit_transform(X), y
    yield "vote, cells missing", *data.load_vote()
    pixels, digits = data.load_mnist("t10k")
    yield "MNIST, 2000 test pictures", (pixels[:2000] / 255.0).astype(np.float32), digits[:2000]
    posts = text_data.load_newsgroups()["train"].subsample(0.25)
    counts = CountVectorizer(min_df=2, dtype=np.float64).fit_transform(posts.documents)
    yield "20 newsgroups, a quarter, counts of words", counts, np.array(posts.labels)
    yield "20 newsgroups, a quarter, tf-idf", TfidfTransformer().fit_transform(counts), np.array(posts.labels)


def everything() -> Iterator[Set]:
    """All sets that there are here."""
    yield from bundled()
    yield told_twice()
    try:
        yield from from_folder()
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)


def measured(X: Any, y: Any, C: float) -> Steps:
    """Both starts."""
    models, seconds = [], []
    for start in ("zero", "bayes"):
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models.append(LogisticRegression(C=C, start=start, max_iter=MOST_STEPS).fit(X, y))
        seconds.append(perf_counter() - began)
    zero, bayes = models
    return Steps(
        (int(zero.n_iter_[0]), int(bayes.n_iter_[0])),
        (seconds[0], seconds[1]),
        (zero.objective_, bayes.objective_),
        (zero._scorer.account.converged, bayes._scorer.account.converged),
    )


def line(some: Set, steps: Sequence[Steps]) -> list[str]:
    """A line of the table."""
    name, X, y = some
    usual = steps[STRENGTHS.index(1.0)].seconds
    shape = f"{X.shape[0]} × {X.shape[1]}", str(len(np.unique(y)))
    return [name, *shape, *map(str, steps), "{:.2f} → {:.2f}".format(*usual)]


Cases = dict[tuple[str, float], Steps]
"""By data set and C."""


def verdict(cases: Cases) -> str:
    """In how many cases steps were saved, and where least and most, of those in which both searches converged."""
    shares = {case: each.taken[1] / max(each.taken[0], 1) for case, each in cases.items() if all(each.converged)}
    saved, lost = sum(s < SAVED for s in shares.values()), sum(s > 1 / SAVED for s in shares.values())
    (best, C_best), (worst, C_worst) = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    middle = float(np.median(list(shares.values())))
    return (
        f"Of the {len(shares)} cases in which both searches converged, a tenth of the steps or more is saved in "
        f"{saved} and lost in {lost}; the median is {middle:.2f} times as many steps. Most is saved on {best} at C = "
        f"{C_best:g} ({shares[best, C_best]:.2f} times as many), least on {worst} at C = {C_worst:g} "
        f"({shares[worst, C_worst]:.2f})."
    )


def ends(cases: Cases) -> tuple[str, bool]:
    """Whether both starts end in the same place, in words, and whether that is so everywhere."""
    apart = [f"{name} at C = {C:g} ({each.gap:.0e})" for (name, C), each in cases.items() if not each.gap <= SAME]
    stopped = sum(not all(each.converged) for each in cases.values())
    words = (
        f"Objectives reached from the two starts differ by at most {max(e.gap for e in cases.values()):.0e} of them."
    )
    if apart:
        words = f"**The two starts did not reach the same objective** (relative difference): {', '.join(apart)}."
    if stopped:
        words += f" In {stopped} of {len(cases)} cases a search was stopped before it had converged."
    return words, not apart and not stopped


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_start", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "start.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    page = parser.parse_args().page
    X, y = datasets.make_classification(20_000, random_state=0)
    measured(X, y, 1.0)  # kernels are compiled before the clock runs
    lines, cases = [], Cases()
    for some in everything():
        steps = [measured(some[1], some[2], C) for C in STRENGTHS]
        cases.update({(some[0], C): each for C, each in zip(STRENGTHS, steps)})
        lines.append(line(some, steps))
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    head = ["data", "rows × columns", "classes", *(f"C = {C:g}" for C in STRENGTHS), "seconds"]
    words, sound = ends(cases)
    text = PAGE.format(
        date=date.today().isoformat(), machine=machine.describe(), table=format_table(head, lines),
        verdict=verdict(cases), ends=words, most=MOST_STEPS,
    )  # fmt: skip
    page.write_text(text, encoding="utf-8")
    print(f"wrote {page}; {words}", file=sys.stderr)
    return int(not sound)


if __name__ == "__main__":
    sys.exit(main())
