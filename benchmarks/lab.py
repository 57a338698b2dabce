"""`python -m benchmarks.lab`: rebuild `docs/lab/digits-and-letters.md` from the real data.

Exit code 1 if a figure is not the expected one, 2 if the data is absent.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import naive_bayes
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

import deciban

from . import data, machine

Split = tuple[Any, Any, Any, Any]
"""X and y to learn from, X and y to be judged by."""

PAGE = """# Digits, letters and votes

The Gaussian and Bernoulli models on three public data sets, beside the figures known for them and beside
scikit-learn where it has the model. Written by `make lab` on {date}; do not edit.

Machine: {machine}. A dash under scikit-learn means that it has no such model.
{sections}"""

MNIST = """
## Handwritten digits

MNIST: learned from 60 000 pictures of 28×28 grey pixels (0 to 255, as they are), judged on the 10 000 test
pictures; the figures are the share of test pictures named correctly.

`binarize=127` asks of every pixel whether it is above 127. Many pixels never vary within a class: by default
GaussianNB adds 10⁻⁹ of the widest pixel's variance to every variance, which leaves those pixels an absurd
certainty; 0.1 is far better. Keeping the covariances instead of only the variances is better still, if each
class's covariance is drawn towards one common multiple of the identity (`shrinkage`); `"oas"` estimates how
far, and on these data far too little. After projecting on the 40 leading principal components (scikit-learn's
PCA, fitted on the training pictures) no shrinkage is needed.
"""
LETTER = """
## Printed letters

Letter: 16 measurements of printed capitals; learned from the first 15 000 rows, judged on the last 5 000; the
figures are the share of errors. One shared covariance makes the borders between letters flat; own covariances
bend them.
"""
VOTE = """
## Votes

16 votes of 435 members of Congress (1984), party to be guessed; 392 votes were not cast and are simply left
out, when counting and when scoring. Maximum likelihood (`alpha=0`), judged on the same rows it learned from; the
figures are the members whose party is named correctly.
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement: what was fitted, what is known, what came out."""

    model: str
    expected: str
    ours: float
    peer: float | None
    meets: Callable[[float], bool] | None
    show: Callable[[float], str]

    @property
    def met(self) -> bool | None:
        """Whether ours is the expected figure; None where nothing was expected."""
        return None if self.meets is None else self.meets(self.ours)


def percent(share: float) -> str:
    """Two digits after the point, as the expected figures have."""
    return f"{100 * share:.2f} %"


def accuracy(model: Any, split: Split) -> float:
    """The share of the second half that a model fitted on the first half names correctly."""
    X, y, X_test, y_test = split
    return float(np.mean(model.fit(X, y).predict(X_test) == y_test))


def exactly(known: float, places: int = 4) -> tuple[str, Callable[[float], bool]]:
    """A figure that must be reproduced to the digits given."""
    return f"{100 * known:.{places - 2}f} %", lambda share: round(share, places) == round(known, places)


def at_least(known: float) -> tuple[str, Callable[[float], bool]]:
    """A figure to reach or pass."""
    return f"≥ {100 * known:.1f} %", lambda share: share >= known


NOTHING: tuple[str, None] = ("–", None)


def mnist() -> Iterator[Figure]:
    """The digits."""
    split = (*data.load_mnist("train"), *data.load_mnist("t10k"))
    grey = (split[0].astype(np.float64), split[1], split[2].astype(np.float64), split[3])
    yield naive("GaussianNB", {}, exactly(0.5558), grey)
    yield naive("GaussianNB", {"var_smoothing": 0.1}, exactly(0.814, 3), grey)
    yield naive("BernoulliNB", {"binarize": 127}, exactly(0.8427), split)
    yield from shrunk(grey)
    yield projected(grey)


def naive(name: str, options: dict[str, float], known: tuple[str, Callable[[float], bool]], split: Split) -> Figure:
    """A naive model that both libraries have under one name."""
    ours, peer = (accuracy(getattr(library, name)(**options), split) for library in (deciban, naive_bayes))
    arguments = ", ".join(f"{key}={value}" for key, value in options.items())
    return Figure(f"{name}({arguments})", known[0], ours, peer, known[1], percent)


def shrunk(grey: Split) -> Iterator[Figure]:
    """Own covariances of all 784 pixels, drawn towards one common target."""
    for shrinkage, (text, meets) in ((0.5, at_least(0.955)), (0.3, NOTHING), ("oas", NOTHING)):
        model = deciban.GaussianBayes(covariance="full", shrinkage=shrinkage)
        name = f'GaussianBayes(covariance="full", shrinkage={shrinkage!r})'.replace("'", '"')
        yield Figure(name, text, accuracy(model, grey), None, meets, percent)


def projected(grey: Split) -> Figure:
    """Own covariances, unshrunk, of the 40 leading principal components."""
    axes = PCA(40, svd_solver="covariance_eigh").fit(grey[0])
    split = (axes.transform(grey[0]), grey[1], axes.transform(grey[2]), grey[3])
    text, meets = at_least(0.962)
    ours = accuracy(deciban.GaussianBayes(covariance="full"), split)
    peer = accuracy(QuadraticDiscriminantAnalysis(), split)
    return Figure('PCA to 40, then GaussianBayes(covariance="full")', text, ours, peer, meets, percent)


def letter() -> Iterator[Figure]:
    """The letters: errors, not hits."""
    X, y = data.load_letter()
    split = (X[:15_000], y[:15_000], X[15_000:], y[15_000:])
    for covariance, peer, known in (
        ("tied", LinearDiscriminantAnalysis(), 0.3024),
        ("full", QuadraticDiscriminantAnalysis(), 0.1128),
    ):
        ours = deciban.GaussianBayes(covariance=covariance)
        text, meets = exactly(known)
        errors = 1 - accuracy(ours, split), 1 - accuracy(peer, split)
        yield Figure(f'GaussianBayes(covariance="{covariance}")', text, *errors, meets, percent)


def vote() -> Iterator[Figure]:
    """The votes: members named correctly, of 435."""
    X, y = data.load_vote()
    for name, model in (
        ("BernoulliNB(alpha=0)", deciban.BernoulliNB(alpha=0)),
        ("CategoricalNB(alpha=0)", deciban.CategoricalNB(alpha=0)),
    ):
        hits = round(accuracy(model, (X, y, X, y)) * len(y))
        yield Figure(name, "393", hits, None, lambda count: count == 393, lambda count: f"{count:.0f}")


def table(figures: Sequence[Figure]) -> str:
    """The figures side by side, with a verdict where something was expected."""
    verdict = {True: "as expected", False: "**not as expected**", None: "–"}
    lines = ["| model | expected | deciban | scikit-learn | |", "|---|--:|--:|--:|---|"]
    for figure in figures:
        peer = "–" if figure.peer is None else figure.show(figure.peer)
        cells = (f"`{figure.model}`", figure.expected, figure.show(figure.ours), peer, verdict[figure.met])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def measured() -> tuple[str, list[Figure]]:
    """The page's sections, and the figures in them."""
    parts = [(MNIST, list(mnist())), (LETTER, list(letter())), (VOTE, list(vote()))]
    return "".join(f"{text}\n{table(figures)}" for text, figures in parts), [f for _, part in parts for f in part]


def rebuilt(module: str, name: str, page: str, measure: Callable[[], tuple[str, list[Figure]]], about: str) -> int:
    """Measure, write a page of `docs/lab`, and say what is not as expected: the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{module}", description=about)
    target = data.ROOT / "docs" / "lab" / name
    parser.add_argument("--page", type=Path, default=target, help="the page to write")
    path = parser.parse_args().page
    try:
        sections, figures = measure()
    except data.DataMissingError as absent:
        print(absent, file=sys.stderr)
        return 2
    today = date.today().isoformat()
    path.write_text(page.format(date=today, machine=machine.describe(), sections=sections), encoding="utf-8")
    print(sections)
    print(f"wrote {path}", file=sys.stderr)
    return int(any(figure.met is False for figure in figures))


def main() -> int:
    """Measure, write the page, and say what is not as expected."""
    return rebuilt("lab", "digits-and-letters.md", PAGE, measured, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
