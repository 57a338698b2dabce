"""`python -m benchmarks.lab_start`: rebuild `docs/lab/start.md`, where a start from naive Bayes saves steps.

The data folder is used if it is there; without it the sets that scikit-learn brings are measured alone.
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
from .lab_tables import markdown

STRENGTHS = (0.01, 1.0, 100.0)
"""The C that are tried: much, the usual, and little penalty."""

MOST_STEPS = 2000
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

Numbers are standardised unless it says *raw*. *Seconds* are those of C = 1, the start included.

{table}
{verdict}

Both starts end in the same place: the largest difference of the two objectives, relative, is {gap:.0e}.
"""


@dataclass(frozen=True)
class Steps:
    """One data set at one strength: steps, seconds and the objective reached, from nothing and from naive Bayes."""

    taken: tuple[int, int]
    seconds: tuple[float, float]
    objective: tuple[float, float]

    @property
    def gap(self) -> float:
        """The relative difference of the objectives."""
        return abs(self.objective[0] - self.objective[1]) / abs(self.objective[0])


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
    X, y = data.letter()
    yield "letter", StandardScaler().fit_transform(X), y
    yield "vote, cells missing", *data.vote()
    pixels, digits = data.mnist("t10k")
    yield "MNIST, 2000 test pictures", (pixels[:2000] / 255.0).astype(np.float32), digits[:2000]
    posts = text_data.newsgroups()["train"].share(0.25)
    counts = CountVectorizer(min_df=2, dtype=np.float64).fit_transform(posts.documents)
    yield "20 newsgroups, a quarter, counts of words", counts, np.array(posts.labels)
    yield "20 newsgroups, a quarter, tf-idf", TfidfTransformer().fit_transform(counts), np.array(posts.labels)


def everything() -> Iterator[Set]:
    """All sets that there are here."""
    yield from bundled()
    yield told_twice()
    try:
        yield from from_folder()
    except data.DataAbsent as absent:
        print(absent, file=sys.stderr)


def measured(X: Any, y: Any, C: float) -> Steps:
    """Both starts."""
    taken, seconds, reached = [], [], []
    for start in ("zero", "bayes"):
        began = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = LogisticRegression(C=C, start=start, max_iter=MOST_STEPS).fit(X, y)
        seconds.append(perf_counter() - began)
        taken.append(int(model.n_iter_[0]))
        reached.append(model.objective_)
    return Steps((taken[0], taken[1]), (seconds[0], seconds[1]), (reached[0], reached[1]))


def line(some: Set, steps: Sequence[Steps]) -> list[str]:
    """A line of the table."""
    name, X, y = some
    usual = steps[STRENGTHS.index(1.0)].seconds
    shape = f"{X.shape[0]} × {X.shape[1]}", str(len(np.unique(y)))
    return [
        name,
        *shape,
        *(f"{a} → {b}" for a, b in (each.taken for each in steps)),
        "{:.2f} → {:.2f}".format(*usual),
    ]


def verdict(results: dict[str, list[Steps]]) -> str:
    """In how many cases steps were saved, and where least and most."""
    shares = {
        (name, C): each.taken[1] / max(each.taken[0], 1)
        for name, steps in results.items()
        for C, each in zip(STRENGTHS, steps)
    }
    saved, lost = sum(s < SAVED for s in shares.values()), sum(s > 1 / SAVED for s in shares.values())
    (best, C_best), (worst, C_worst) = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    middle = float(np.median(list(shares.values())))
    return (
        f"Of {len(shares)} cases a tenth of the steps or more is saved in {saved}, and lost in {lost}; the median is "
        f"{middle:.2f} times as many steps. Most is saved on {best} at C = {C_best:g} ({shares[best, C_best]:.2f} "
        f"times as many), least on {worst} at C = {C_worst:g} ({shares[worst, C_worst]:.2f})."
    )


def main() -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lab_start", description=__doc__)
    target = data.ROOT / "docs" / "lab" / "start.md"
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    page = parser.parse_args().page
    lines, results = [], dict[str, list[Steps]]()
    X, y = datasets.make_classification(20_000, random_state=0)
    measured(X, y, 1.0)  # kernels are compiled before the clock runs
    for some in everything():
        results[some[0]] = [measured(some[1], some[2], C) for C in STRENGTHS]
        lines.append(line(some, results[some[0]]))
        print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    head = ["data", "rows × columns", "classes", *(f"C = {C:g}" for C in STRENGTHS), "seconds"]
    gap = max(each.gap for steps in results.values() for each in steps)
    text = PAGE.format(
        date=date.today().isoformat(), machine=machine.describe(), table=markdown(head, lines),
        verdict=verdict(results), gap=gap,
    )  # fmt: skip
    page.write_text(text, encoding="utf-8")
    print(f"wrote {page}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
