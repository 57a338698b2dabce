"""Other programs that learn tables: Weka, Khiops, a reference of AODE in NumPy, and random forests of scikit-learn.

Weka and Khiops are run from an environment of their own, as Khiops needs another version of scikit-learn:

    python -m venv build/peers
    build/peers/bin/pip install khiops
    build/peers/bin/pip install --no-deps python-weka-wrapper3     # for its weka.jar, which needs Java
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from . import data
from .aode_reference import AodeReference
from .table_models import Labels, Predict, Scores, as_labels, make_text_imputer, number_columns

PEERS_FOLDER = data.ROOT / "build" / "peers"
"""The environment in which Khiops and Weka are installed."""

WEKA_CLASSIFIERS = {
    "Weka NaiveBayes -K": ["weka.classifiers.bayes.NaiveBayes", "-K"],
    "Weka NaiveBayes -D": ["weka.classifiers.bayes.NaiveBayes", "-D"],
    "Weka BayesNet TAN": [
        "weka.classifiers.bayes.BayesNet", "-D", "-Q", "weka.classifiers.bayes.net.search.local.TAN", "--",
        "-S", "BAYES", "-E", "weka.classifiers.bayes.net.estimate.SimpleEstimator", "--", "-A", "0.5",
    ],
}  # fmt: skip
"""Weka's classifiers by the names that they have on the page: class and options."""

KHIOPS_SCRIPT = """
import sys, pandas as pd
from khiops.sklearn import KhiopsClassifier
folder, n_folds = sys.argv[1], int(sys.argv[2])
for f in range(n_folds):
    train, test = (
        pd.read_csv(f"{folder}/{name}-{f}.csv", keep_default_na=False, na_values=[""]) for name in ("train", "test")
    )
    labels = train.pop("target!").astype(str)
    model = KhiopsClassifier().fit(train, labels)
    found = pd.DataFrame(model.predict_proba(test), columns=[str(label) for label in model.classes_])
    found.to_csv(f"{folder}/found-{f}.csv", index=False)
"""
"""A program that learns tables and writes the probabilities of the rows of others."""

Fold = tuple[pd.DataFrame, pd.DataFrame]
"""The training rows and the test rows of a fold."""

LearnFolds = Callable[[Sequence[Fold], str], list[Scores]]
"""A function that scores the test rows of all folds, each by a model of its training rows."""


def find_weka() -> Path | None:
    """Return the path of weka.jar; None where it is not installed."""
    return next(iter(PEERS_FOLDER.glob("lib/python*/site-packages/weka/lib/weka.jar")), None)


def explain_missing_weka() -> str:
    """Return why Weka cannot be run; an empty text where it can."""
    if shutil.which("java") is None:
        return "there is no java"
    return "" if find_weka() else f"there is no weka.jar in {PEERS_FOLDER.relative_to(data.ROOT)}"


def explain_missing_khiops() -> str:
    """Return why Khiops cannot be run; an empty text where it can."""
    is_there = any(PEERS_FOLDER.glob("lib/python*/site-packages/khiops"))
    return "" if is_there else f"khiops is not installed in {PEERS_FOLDER.relative_to(data.ROOT)}"


def format_arff(frame: pd.DataFrame, kinds: dict[str, list[str] | None]) -> str:
    """Return a table in Weka's format; `kinds` are the levels of each column, None for numbers.

    Columns and levels are numbered, so that no name has to be escaped.
    """
    head, cells = ["@relation table"], []
    for j, (name, levels) in enumerate(kinds.items()):
        if levels is None:
            head.append(f"@attribute c{j} numeric")
            cells.append(["?" if np.isnan(x) else repr(float(x)) for x in frame[name].to_numpy(dtype=float)])
        else:
            code = {level: f"v{v}" for v, level in enumerate(levels)}
            head.append(f"@attribute c{j} {{{','.join(code.values())}}}")
            cells.append(["?" if pd.isna(x) else code[str(x)] for x in frame[name]])
    return "\n".join([*head, "@data", *map(",".join, zip(*cells)), ""])


def make_weka_folds(name: str) -> LearnFolds:
    """Return a function that fits one of `WEKA_CLASSIFIERS` to all folds; the levels of all rows are declared."""

    def learn(folds: Sequence[Fold], target: str) -> list[Scores]:
        with tempfile.TemporaryDirectory() as folder:
            labels = _write_arff_folds(Path(folder), folds, target)
            java = ["java", "-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", str(find_weka())]
            source = str(Path(__file__).with_name("WekaFolds.java"))
            command = [*java, source, folder, *WEKA_CLASSIFIERS[name]]
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        return _split_scores(labels, np.array([line.split(",") for line in lines], dtype=np.float64), folds)

    return learn


def _write_arff_folds(folder: Path, folds: Sequence[Fold], target: str) -> Labels:
    """Write the rows of each fold, and return the classes."""
    every = pd.concat(folds[0])
    numbers = set(number_columns(every.drop(columns=target)))
    names = [*(str(name) for name in every.columns if name != target), target]
    kinds = {
        name: None if name in numbers else sorted({str(x) for x in every[name] if not pd.isna(x)}) for name in names
    }
    for f, (train, test) in enumerate(folds):
        (folder / f"train-{f}.arff").write_text(format_arff(train, kinds), encoding="utf-8")
        (folder / f"test-{f}.arff").write_text(format_arff(test, kinds), encoding="utf-8")
    return as_labels(kinds[target] or ())


def _split_scores(labels: Labels, shares: NDArray[np.float64], folds: Sequence[Fold]) -> list[Scores]:
    """Return ln p(k|x) of the test rows of each fold; a share of 0 counts as the least double."""
    ends = np.cumsum([len(test) for _, test in folds])
    scores = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
    return [(labels, part) for part in np.split(scores, ends[:-1])]


def learn_khiops_folds(folds: Sequence[Fold], target: str) -> list[Scores]:
    """Fit Khiops' classifier to all folds, with its defaults."""
    with tempfile.TemporaryDirectory() as folder:
        for f, (train, test) in enumerate(folds):
            train.rename(columns={target: "target!"}).to_csv(f"{folder}/train-{f}.csv", index=False)
            test.drop(columns=target).to_csv(f"{folder}/test-{f}.csv", index=False)
        programs = PEERS_FOLDER / "bin"
        own = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "KHIOPS_PROC_NUMBER": "1", "PYTHONPATH": ""}
        command = [str(programs / "python"), "-c", KHIOPS_SCRIPT, folder, str(len(folds))]
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **own})
        found = [pd.read_csv(f"{folder}/found-{f}.csv") for f in range(len(folds))]
    with np.errstate(divide="ignore"):
        return [(as_labels(each.columns), np.log(each.to_numpy())) for each in found]


def learn_aode(train: pd.DataFrame, target: str) -> Predict:
    """Fit the reference of AODE."""
    numbers = number_columns(train.drop(columns=target))
    model = AodeReference(numbers).fit(train.drop(columns=target), train[target].to_numpy(dtype=str))
    return lambda test: (as_labels(model.classes), model.predict_log_proba(test.drop(columns=target)))


def make_forest(numbers: list[str], categories: list[str]) -> Pipeline:
    """Return a random forest of imputed numbers and one column per level."""
    columns = ColumnTransformer(
        [
            ("n", SimpleImputer(keep_empty_features=True), numbers),
            ("c", make_pipeline(make_text_imputer(), OneHotEncoder(handle_unknown="ignore")), categories),
        ]
    )
    return make_pipeline(columns, RandomForestClassifier(random_state=0))
