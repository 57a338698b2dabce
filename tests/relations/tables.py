"""Tables to learn and rows to predict, drawn from a seed: of scikit-learn, river, the data folder, and invented."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from benchmarks.data import DataMissingError, data_folder, find_file
from sklearn import datasets

TARGET = "target"
try:
    DATA: Path | None = data_folder()
except DataMissingError:
    DATA = None


@dataclass(frozen=True)
class Task:
    """Rows to learn, rows to predict, arguments of `train`, and the names that renamed classes had."""

    train: pd.DataFrame
    test: pd.DataFrame
    options: Mapping[str, Any] = field(default_factory=dict)
    class_names: Mapping[Any, Any] = field(default_factory=dict)
    as_read: Callable[[pd.DataFrame], Any] = lambda frame: frame
    """What is given to `train` and `predict_proba` in the place of a frame."""

    def change(self, function: Callable[[pd.DataFrame], pd.DataFrame], **changes: Any) -> Task:
        """Apply a function to both frames."""
        return replace(self, train=function(self.train), test=function(self.test), **changes)

    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self.train, self.test

    def columns(self, is_wanted: Callable[[pd.Series], bool]) -> list[str]:
        """List the columns, beside the target, of which the rows to learn satisfy a predicate."""
        return [name for name in self.train.columns if name != TARGET and is_wanted(self.train[name])]


def split(frame: pd.DataFrame, rng: np.random.Generator, n: int = 360, **options: Any) -> Task:
    """Draw at most n rows, three fifths of them to learn, without rows of classes that fewer than three rows have."""
    frame = frame.iloc[rng.permutation(len(frame))[:n]].reset_index(drop=True)
    cut = len(frame) * 3 // 5
    train, test = frame[:cut], frame[cut:].reset_index(drop=True)
    counts = train[TARGET].value_counts()
    known = counts.index[counts >= 3]
    return Task(
        train[train[TARGET].isin(known)].reset_index(drop=True),
        test[test[TARGET].isin(known)].reset_index(drop=True),
        options,
    )


def _of_sklearn(load: Callable[..., Any]) -> Callable[[np.random.Generator], Task]:
    def draw(rng: np.random.Generator) -> Task:
        bunch = load(as_frame=True)
        names = [f"class {name}" for name in bunch.target_names]
        return split(bunch.frame.assign(target=[names[code] for code in bunch.frame.target]), rng)

    return draw


def few_digits(rng: np.random.Generator) -> Task:
    """Draw twelve pixels of the digits 0 to 3: counts, few values, constants."""
    bunch = datasets.load_digits(n_class=4, as_frame=True)
    pixels = bunch.data.columns[rng.permutation(64)[:12]]
    return split(bunch.data[pixels].assign(target="digit " + bunch.target.astype(str)), rng)


def _of_river(name: str) -> Callable[[np.random.Generator], Task]:
    def draw(rng: np.random.Generator) -> Task:
        import river.datasets

        rows = pd.DataFrame([{**x, TARGET: f"is {y}"} for x, y in getattr(river.datasets, name)()])
        return split(rows, rng)

    return draw


def _of_data(name: str, target: str) -> Callable[[np.random.Generator], Task]:
    def draw(rng: np.random.Generator) -> Task:
        frame = pd.read_csv(find_file(f"tables/{name}")).rename(columns={target: TARGET})
        return split(frame[frame[TARGET].notna()], rng)

    return draw


def numbers(rng: np.random.Generator) -> Task:
    """Draw Gaussian, skewed and two-humped numbers of three classes, a tenth of the cells missing."""
    n = 400
    k = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame(
        {
            "height": rng.normal(170 + 8 * k, 7),
            "income": np.exp(rng.normal(8 + 0.5 * k, 0.6)),
            "phase": np.where(rng.random(n) < 0.5, -1, 1) * (1 + k) + rng.normal(0, 0.4, n),
            "noise": rng.uniform(0, 1, n),
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    return split(frame.assign(target=np.array(["low", "middle", "top"])[k]), rng, n)


def all_roles(rng: np.random.Generator) -> Task:
    """Draw a number, a count, a flag, a category, a date and a text, with cells missing, and a class of a fifth."""
    n = 500
    y = rng.random(n) < 0.2
    words = np.array(["good", "bad", "slow", "fast", "and", "tea", "milk", "now", "then", "we", "broken", "late"])
    words_of = lambda ill: rng.choice(words, 12, p=_tilt(12, 0.15 if ill else 0.0))  # noqa: E731
    frame = pd.DataFrame(
        {
            "size": rng.normal(y * 1.0, 1),
            "visits": rng.poisson(2 + 2 * y),
            "smoker": rng.random(n) < 0.3 + 0.3 * y,
            "ward": rng.choice([f"ward {c}" for c in "ABCDEF"], n, p=_tilt(6, 0.1)),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700 * 24, n) * 3600, unit="s"),
            "note": [" ".join(words_of(ill)) for ill in y],
        }
    )
    for name in ("size", "ward", "note"):
        frame[name] = frame[name].mask(rng.random(n) < 0.1)
    return split(frame.assign(target=np.where(y, "ill", "well")), rng, n)


def rare_class(rng: np.random.Generator) -> Task:
    """Draw a class of a twentieth beside levels of few rows, flags that are nearly always false, and a number."""
    n = 700
    y = rng.random(n) < 0.05
    shop = np.where(rng.random(n) < 0.9, rng.integers(0, 8, n), 8 + rng.integers(0, 60, n))
    frame = pd.DataFrame(
        {
            "shop": [f"shop {i}" for i in shop],
            "recalled": rng.random(n) < 0.02,
            "kind": rng.choice(list("pqr"), n),
            "amount": np.round(np.exp(rng.normal(3 + y, 0.7)), 2),
        }
    )
    return split(frame.assign(target=np.where(y, "bad", "fine")), rng, n)


def dependent(rng: np.random.Generator) -> Task:
    """Draw a category that follows another, and a number that follows a number: a tree predicts them better."""
    n = 600
    y = rng.random(n) < 0.4
    city = rng.integers(0, 5, n)
    zone = np.where(rng.random(n) < np.where(y, 0.5, 0.1), (city + 1) % 5, city)
    x = rng.normal(0, 1, n)
    frame = pd.DataFrame(
        {
            "city": [f"city {i}" for i in city],
            "zone": [f"zone {i}" for i in zone],
            "x": x,
            "z": np.where(y, -x, x) + rng.normal(0, 0.6, n),
        }
    )
    return split(frame.assign(target=np.where(y, "yes", "no")), rng, n)


def few_rows(rng: np.random.Generator) -> Task:
    """Draw thirty rows of two numbers and a category."""
    n = 70
    y = rng.random(n) < 0.4
    frame = pd.DataFrame({"a": rng.normal(y * 1.0, 1), "b": rng.normal(0, 1, n), "c": rng.choice(list("uvw"), n)})
    return split(frame.assign(target=np.where(y, "p", "q")), rng, n)


def _tilt(n: int, strength: float) -> np.ndarray:
    shares = 1 + strength * np.arange(n)
    return shares / shares.sum()


TABLES: dict[str, Callable[[np.random.Generator], Task]] = {
    "iris": _of_sklearn(datasets.load_iris),
    "wine": _of_sklearn(datasets.load_wine),
    "breast cancer": _of_sklearn(datasets.load_breast_cancer),
    "digits": few_digits,
    "phishing": _of_river("Phishing"),
    "numbers": numbers,
    "all roles": all_roles,
    "rare class": rare_class,
    "dependent": dependent,
    "few rows": few_rows,
}
OF_DATA = {
    "glass": ("glass.csv", "Type"),
    "heart": ("heart-c.csv", "num"),
    "hepatitis": ("hepatitis.csv", "Class"),
    "credit": ("credit-a.csv", "class"),
    "soybean": ("soybean.csv", "class"),
    "vote": ("vote.csv", "Class"),
    "diabetes": ("diabetes.csv", "class"),
    "labor": ("labor.csv", "class"),
    "adult": ("adult-train.csv", "income"),
}
if DATA is not None:
    TABLES |= {name: _of_data(*place) for name, place in OF_DATA.items()}
