"""AODE in plain NumPy: an implementation that shares no code with deciban.

Webb, Boughton & Wang (2005), "Not so naive Bayes: aggregating one-dependence estimators": p(k, x) is the mean of
p(k, x_i) Π_j p(x_j | k, x_i) over the features i whose value was learned; all by an m-estimate, m = 1. Numbers are
cut by Fayyad & Irani's (1993) minimum description length, as Weka does before its own; missing values are skipped.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[np.intp]


class AodeReference:
    """Averaged one-dependence estimators of numbers, in bins, and categories."""

    def __init__(self, numbers: list[str]) -> None:
        self.numbers = numbers

    def fit(self, frame: pd.DataFrame, labels: NDArray[np.str_]) -> "AodeReference":
        """Cut the numbers, number the levels, and count all pairs of values in each class."""
        self.classes, y = np.unique(labels, return_inverse=True)
        self.codes: dict[str, Any] = {}
        for name in map(str, frame.columns):
            if name in self.numbers:
                values = frame[name].to_numpy(dtype=float)
                known = ~np.isnan(values)
                self.codes[name] = np.array(sorted(find_cuts(values[known], y[known])))
            else:
                self.codes[name] = sorted({str(x) for x in frame[name] if not pd.isna(x)})
        X, K, d = self._encode(frame), len(self.classes), frame.shape[1]
        self.sizes = np.array([len(code) + (name in self.numbers) for name, code in self.codes.items()])
        V = int(self.sizes.max())
        self.count = np.zeros((K, d, V, d, V))
        for i in range(d):
            for j in range(d):
                both = (X[:, i] >= 0) & (X[:, j] >= 0)
                place: Any = y[both], i, X[both, i], j, X[both, j]
                np.add.at(self.count, place, 1.0)
        return self

    def _encode(self, frame: pd.DataFrame) -> Codes:
        """Return the number of each cell's bin or level, −1 where it is missing or was not learned."""
        columns = []
        for name, code in self.codes.items():
            if name in self.numbers:
                values = frame[name].to_numpy(dtype=float)
                columns.append(np.where(np.isnan(values), -1, np.searchsorted(code, values, side="right")))
            else:
                place = {level: v for v, level in enumerate(code)}
                columns.append(np.array([-1 if pd.isna(x) else place.get(str(x), -1) for x in frame[name]]))
        return np.stack(columns, axis=1).astype(np.intp)

    def predict_log_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return ln p(k|x) of each row."""
        return np.array([self._score(row) for row in self._encode(frame)])

    def _score(self, row: Codes) -> NDArray[np.float64]:
        K, present = len(self.classes), np.flatnonzero(row >= 0)
        single = np.einsum("kiaia->kia", self.count)
        parents = [i for i in present if single[:, i, row[i]].sum() >= 1]
        if not parents:
            share = single.sum(axis=2).max(axis=1) + 1
            return np.asarray(np.log(share / share.sum()))
        joint = np.empty((len(parents), K))
        for p, i in enumerate(parents):
            known = single[:, i].sum()
            joint[p] = np.log((single[:, i, row[i]] + 1 / (K * self.sizes[i])) / (known + 1))
            others = [j for j in present if j != i]
            table = self.count[:, i, row[i]][:, others]
            both, given = table[:, np.arange(len(others)), row[others]], table.sum(axis=2)
            joint[p] += np.log((both + 1 / self.sizes[others]) / (given + 1)).sum(axis=1)
        score = np.logaddexp.reduce(joint, axis=0)
        return np.asarray(score - np.logaddexp.reduce(score))


def entropy(labels: Codes) -> tuple[float, int]:
    """Return the entropy of labels in bits, and how many different ones there are."""
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return float(-(share * np.log2(share)).sum()), len(share)


def find_cuts(values: NDArray[np.float64], labels: Codes) -> list[float]:
    """Return the cuts of numbers that their description length allows, found by bisection."""
    order = np.argsort(values, kind="stable")
    values, labels = values[order], labels[order]
    places = np.flatnonzero(np.diff(values)) + 1
    if not len(places):
        return []
    n, classes = len(values), np.unique(labels, return_inverse=True)[1]
    below = np.cumsum(np.eye(classes.max() + 1)[classes], axis=0)[places - 1]
    total = np.bincount(classes).astype(float)

    def weighted_entropy(count: NDArray[np.float64]) -> NDArray[np.float64]:
        size = count.sum(axis=1, keepdims=True)
        share = count / size
        return np.asarray(-(count * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1))

    best = int(places[(weighted_entropy(below) + weighted_entropy(total - below)).argmin()])
    left, right = labels[:best], labels[best:]
    (h, c), (h1, c1), (h2, c2) = entropy(labels), entropy(left), entropy(right)
    gain = h - (best * h1 + (n - best) * h2) / n
    if gain <= (np.log2(n - 1) + np.log2(3**c - 2) - (c * h - c1 * h1 - c2 * h2)) / n:
        return []
    cut = (values[best - 1] + values[best]) / 2
    return [*find_cuts(values[:best], left), float(cut), *find_cuts(values[best:], right)]
