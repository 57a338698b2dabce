"""Peers on text: scikit-learn's CountVectorizer with MultinomialNB, fastText and Vowpal Wabbit, in their best format.

The two programs read a file in their own format, prepared before timing. Both are given our words, lower-cased and
separated by spaces, so that Vowpal Wabbit only hashes and learns them. One that is not installed raises
`PeerMissingError`, which is noted in the report.
"""

import importlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline

from . import table_data
from .text_data import Corpus

BITS = 18
"""Bits of the hash: 2¹⁸ weights per class, Vowpal Wabbit's own default."""
WORD_PATTERN = re.compile(r"(?u)\b\w\w+\b")


class PeerMissingError(RuntimeError):
    """A peer is not installed."""


def make_scikit_learn_pipeline(**options: Any) -> Pipeline:
    """Return a pipeline of CountVectorizer and MultinomialNB."""
    return make_pipeline(CountVectorizer(**options), MultinomialNB())


class Program:
    """A learner that reads prepared files; training lines are shuffled, because it learns them one by one."""

    name: str

    def __init__(self, train: Corpus, test: Corpus) -> None:
        self.find()
        self.classes = np.unique(train.labels)
        order = np.random.default_rng(15).permutation(len(train.labels))
        self.train_file = self._prepare("train", train.take(order))
        self.test_file = self._prepare("test", test)
        self.truth = test.labels

    def find(self) -> Any:
        """Return the program, or raise `PeerMissingError`."""
        raise NotImplementedError

    def format_line(self, label: str, document: str) -> str:
        """Format a document for the program."""
        raise NotImplementedError

    def learn(self) -> None:
        """Train once on the prepared file (timed)."""
        raise NotImplementedError

    def measure_accuracy(self) -> float:
        """Return the share of test documents classified correctly."""
        raise NotImplementedError

    def scratch_file(self, name: str) -> Path:
        """Return the path of a file of this program."""
        return table_data.scratch_folder() / f"{self.name.lower().replace(' ', '-')}-{name}"

    def clean(self) -> None:
        """Remove the files of this program."""
        for path in table_data.scratch_folder().glob(self.scratch_file("*").name):
            path.unlink()

    def _prepare(self, part: str, corpus: Corpus) -> Path:
        path = self.scratch_file(f"{part}.txt")
        with path.open("w", encoding="utf-8", newline="\n") as lines:
            pairs = zip(corpus.labels.tolist(), corpus.documents)
            lines.writelines(self.format_line(label, text) + "\n" for label, text in pairs)
        return path


class FastText(Program):
    """fastText's supervised training with its tutorial's settings for accuracy, and its own number of threads.

    With its defaults (learning rate 0.1, 5 epochs, single words) on text split at spaces it reaches 11 % on
    20 Newsgroups.
    """

    name = "fastText"
    settings = ("-lr", "0.5", "-wordNgrams", "2", "-epoch", "25")

    def find(self) -> str:
        found = shutil.which("fasttext")
        if found is None:
            raise PeerMissingError("no program `fasttext`. Hint: apt-get install fasttext")
        return found

    def format_line(self, label: str, document: str) -> str:
        return f"__label__{label} {' '.join(WORD_PATTERN.findall(document.lower()))}"

    def command(self) -> list[str]:
        files = ("-input", str(self.train_file), "-output", str(self.scratch_file("model")))
        return [self.find(), "supervised", *files, *self.settings]

    def learn(self) -> None:
        subprocess.run(self.command(), check=True, capture_output=True)

    def seconds_until_saving(self) -> float:
        """Return the seconds until the last progress output of a run; then it only writes the model, twice."""
        start = last = time.perf_counter()
        with subprocess.Popen(self.command(), stderr=subprocess.PIPE) as running:
            assert running.stderr is not None
            while os.read(running.stderr.fileno(), 4096):
                last = time.perf_counter()
        return last - start

    def measure_accuracy(self) -> float:
        model = self.scratch_file("model.bin")
        done = subprocess.run(
            [self.find(), "test", model, self.test_file], check=True, capture_output=True, text=True
        )
        return float(next(line.split()[1] for line in done.stdout.splitlines() if line.startswith("P@1")))


class VowpalWabbit(Program):
    """Vowpal Wabbit: one pass of logistic regression, one against all, over hashed words."""

    name = "Vowpal Wabbit"

    @cached_property
    def run(self) -> Callable[[list[str]], object]:
        """The library in this process where it is installed, otherwise the program."""
        try:
            Workspace = importlib.import_module("vowpalwabbit").Workspace
        except ImportError:
            program = shutil.which("vw")
            if program is None:
                raise PeerMissingError("neither `vowpalwabbit` nor `vw`. Hint: pip install vowpalwabbit") from None
            return lambda arguments: subprocess.run([program, *arguments], check=True, capture_output=True)
        return lambda arguments: Workspace(arg_list=arguments).finish()

    def find(self) -> Callable[[list[str]], object]:
        return self.run

    def format_line(self, label: str, document: str) -> str:
        code = int(np.searchsorted(self.classes, label)) + 1
        return f"{code} | {' '.join(WORD_PATTERN.findall(document.lower()))}"

    def learn(self) -> None:
        self.run([*self._read(self.train_file), *self._model()])

    def measure_accuracy(self) -> float:
        model, answers = self.scratch_file("model.vw"), self.scratch_file("answers.txt")
        self.run([*self._read(self.train_file), *self._model(), "-f", str(model)])
        self.run([*self._read(self.test_file), "-t", "-i", str(model), "-p", str(answers)])
        codes = np.loadtxt(answers).astype(int)
        return float(np.mean(self.classes[codes - 1] == self.truth))

    def _read(self, path: Path) -> list[str]:
        return ["-d", str(path), "--quiet", "--no_stdin"]

    def _model(self) -> list[str]:
        return ["--oaa", str(len(self.classes)), "--loss_function", "logistic", "-b", str(BITS)]
