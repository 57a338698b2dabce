"""The learners of texts compared with linear models of tf-idf: accuracy and log-loss on public corpora."""

import copy
import json
import re
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from deciban import EvidenceRegression, TextClassifier
from deciban.errors import DecibanWarning
from deciban.linear.penalty_choice import PenaltyChoice, search_C

from . import table_data, text_data
from .lab import format_percent
from .lab_peers import hash_code
from .lab_tables import format_table
from .text_data import Corpus

SEED = 0
SENTENCE_FOLDS = 10
TUNING_FOLDS = 3
"""The number of folds of the training documents by which the peer is tuned."""
MIN_PEER_C, MAX_PEER_C = 1.0, 1000.0
"""The range of C of logistic regression of tf-idf, whose best C is 3 to 300 on all of these corpora."""
MIN_PROBABILITY = 1e-15
"""The least probability in a log-loss; one of 0 has the loss of this one."""

SECTION = """
## Learners compared with linear models of tf-idf

Accuracy, and log-loss where there are probabilities, on test documents that took no part in any choice: 20 Newsgroups
(by date, headers kept), R52 (52 subjects of Reuters, title and body), R8, a third of the SMS and of the messages of
Enron1 (stratified, seed 0), and {folds} folds of the sentences of movie reviews.

"former default" is evidence regression as it was: classic words, presence, α = 1, the common weight fitted to each
document's own evidence. The default chooses smoothing and pairs of neighbours by the training documents. "tuned": C
from {least:g} to {most:g} in steps of √10, and of two classes pairs of words, by {inner} folds of the training
documents. tf-idf is that of sublinear counts. Seconds are the CPU time of fitting and predicting.
"""

DEFAULT_SECTION = """
### The default

Won, tied or lost by log-loss, in brackets the gain in nats per document with its standard error; a gain within two
standard errors is a tie.

"""

AIMS: Mapping[str, float] = {"20 Newsgroups": 0.87, "R52": 0.95, "sentences": 0.8}
"""The accuracy of the default that was aimed at, by corpus."""

NAIVE, NAIVE_PEER = "`TextClassifier()`", "CountVectorizer, MultinomialNB"
"""The learners whose CPU time is measured on short texts."""

SHORT_TEXTS, SHORT_REPETITIONS = 3400, 15
"""The number of short texts that are learned and predicted, and how often."""

DEFAULT, FORMER, TUNED = "`EvidenceRegression()`", "former default", "tf-idf, LogisticRegression, tuned"
"""The learners that the last table compares."""


def make_former_default() -> EvidenceRegression:
    """Make evidence regression with the defaults before smoothing was chosen."""
    return EvidenceRegression(C=1.0, words="classic", presence=True, alpha=1.0, held_out=False)


@dataclass
class TunedLogistic:
    """Logistic regression of tf-idf whose C, and pairs of words of two classes, are those of least held-out log-loss.

    C rises by tens, then the two values halfway on either side of the best are tried (`search_C`); each search starts
    where the one before it ended. The pairs of words of many classes are left out: scikit-learn's search moves twenty
    vectors with one number for each of them and class.
    """

    n_folds: int = TUNING_FOLDS

    def fit(self, documents: list[str], labels: NDArray[np.str_]) -> "TunedLogistic":
        """Choose by the folds, then fit to all documents."""
        found = {n: self._search(documents, labels, n) for n in ((1, 2) if len(np.unique(labels)) == 2 else (1,))}
        self.ngrams = min(found, key=lambda n: min(loss for _, loss in found[n].path))
        self.C = found[self.ngrams].C
        self._pipeline = make_pipeline(make_tfidf(self.ngrams), make_logistic(self.C))
        self._pipeline.fit(documents, labels)
        self.classes_ = self._pipeline.classes_
        return self

    def _search(self, documents: list[str], labels: NDArray[np.str_], ngrams: int) -> PenaltyChoice:
        """Search C, by documents of classes that the others of their fold have."""
        X = make_tfidf(ngrams).fit_transform(documents)
        splits = list(KFold(self.n_folds, shuffle=True, random_state=SEED).split(documents))
        splits = [(train, test[np.isin(labels[test], labels[train])]) for train, test in splits]

        def refit(f: int, C: float, before: LogisticRegression | None) -> LogisticRegression:
            model = make_logistic(C) if before is None else copy.copy(before).set_params(C=C)
            return model.fit(X[splits[f][0]], labels[splits[f][0]])

        def loss(f: int, model: LogisticRegression) -> float:
            test = splits[f][1]
            return float(compute_losses(model, model.predict_proba(X[test]), labels[test]).sum())

        return search_C(refit, loss, range(self.n_folds), MIN_PEER_C, MAX_PEER_C)

    def predict_proba(self, documents: list[str]) -> NDArray[np.float64]:
        """Return the probability of each class."""
        return np.asarray(self._pipeline.predict_proba(documents))


def make_tfidf(ngrams: int = 1) -> TfidfVectorizer:
    """Make tf-idf of words, up to n-grams of this length, in single precision."""
    return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, ngrams), dtype=np.float32)


def make_logistic(C: float) -> LogisticRegression:
    """Make logistic regression with this C, whose next fit starts where the last one ended.

    With tol=1e-4, the default, a search that starts near its end stops at once, and losses depend on the start.
    """
    return LogisticRegression(C=C, max_iter=1000, tol=1e-5, warm_start=True)


def compute_losses(model: Any, p: NDArray[np.float64], labels: NDArray[np.str_]) -> NDArray[np.float64]:
    """Return −ln p of the true class of each document, whose probabilities p the model gave."""
    own = p[np.arange(len(p)), np.searchsorted(model.classes_, labels)]
    return np.asarray(-np.log(np.maximum(own, MIN_PROBABILITY)))


LEARNERS: Mapping[str, Callable[[], Any]] = {
    DEFAULT: EvidenceRegression,
    FORMER: make_former_default,
    '`TextClassifier(alpha="auto", calibrate="auto")`': partial(TextClassifier, alpha="auto", calibrate="auto"),
    '`TextClassifier(weighting="twcnb")`': partial(TextClassifier, weighting="twcnb"),
    NAIVE: TextClassifier,
    NAIVE_PEER: lambda: make_pipeline(CountVectorizer(), MultinomialNB()),
    "tf-idf, LinearSVC": lambda: make_pipeline(make_tfidf(), LinearSVC()),
    TUNED: TunedLogistic,
}
"""The learners by their names in the tables."""


def load_splits() -> Iterator[tuple[str, list[tuple[Corpus, Corpus]]]]:
    """Yield the name of each corpus and its pairs of training and test documents."""
    news = text_data.load_newsgroups()
    yield "20 Newsgroups", [(news["train"], news["test"])]
    yield "R52", [(text_data.load_reuters_52("train"), text_data.load_reuters_52("test"))]
    yield "R8", [(text_data.load_reuters("train"), text_data.load_reuters("test"))]
    for name, corpus in (("SMS", text_data.load_sms()), ("Enron1", text_data.load_enron(1))):
        rows = np.arange(len(corpus.labels))
        train, test = train_test_split(rows, test_size=1 / 3, stratify=corpus.labels, random_state=SEED)
        yield name, [(corpus.take(train), corpus.take(test))]
    corpus = text_data.load_movie_sentences()
    folds = StratifiedKFold(SENTENCE_FOLDS, shuffle=True, random_state=SEED).split(corpus.documents, corpus.labels)
    yield "sentences", [(corpus.take(i), corpus.take(j)) for i, j in folds]


@dataclass(frozen=True)
class LearnerResult:
    """Whether each test document is right, its loss (None without probabilities), and the CPU time."""

    hits: NDArray[np.bool_]
    losses: NDArray[np.float64] | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the values as lists."""
        losses = None if self.losses is None else self.losses.tolist()
        return {"hits": self.hits.tolist(), "losses": losses, "seconds": self.seconds}

    @property
    def cells(self) -> list[str]:
        """The cells of a table: accuracy, log-loss, seconds."""
        loss = "–" if self.losses is None else f"{self.losses.mean():.4f}"
        return [format_percent(float(self.hits.mean())), loss, f"{self.seconds:.1f}"]


def evaluate_learner(make: Callable[[], Any], splits: list[tuple[Corpus, Corpus]]) -> LearnerResult:
    """Fit a learner to the training documents of each split, and score its test documents."""
    hits, losses, start = [], [], time.process_time()
    for train, test in splits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DecibanWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = make().fit(*train)
            if not hasattr(model, "predict_proba"):
                hits.append(model.predict(test.documents) == test.labels)
                continue
            p = model.predict_proba(test.documents)
        hits.append(model.classes_[p.argmax(axis=1)] == test.labels)
        losses.append(compute_losses(model, p, test.labels))
    seconds = time.process_time() - start
    return LearnerResult(np.concatenate(hits), np.concatenate(losses) if losses else None, seconds)


def keep_result(name: str, measure: Callable[[], Any]) -> Any:
    """Return what `measure` returns, JSON values; they are kept in a file for the run after an interrupted one.

    A hash of the library's code is in the file's name, so that results of other code are not found.
    """
    path = find_kept_folder() / f"{name}-{hash_code()}.json"
    if not path.exists():
        fresh = path.with_suffix(".new")  # an interrupted run leaves no partial file
        fresh.write_text(json.dumps(measure()), encoding="utf-8")
        fresh.replace(path)
    return json.loads(path.read_text(encoding="utf-8"))


def find_kept_folder() -> Path:
    """Return the folder of the results of an unfinished run."""
    folder = table_data.scratch_folder() / "lab_text"
    folder.mkdir(exist_ok=True)
    return folder


def remove_kept_results() -> None:
    """Remove the results that `keep_result` wrote: the page is complete."""
    shutil.rmtree(find_kept_folder())


def keep_evaluation(corpus: str, learner: str, splits: list[tuple[Corpus, Corpus]]) -> LearnerResult:
    """Evaluate a learner, or return the result of an interrupted run."""
    name = re.sub(r"\W+", "-", f"{corpus} {learner}").strip("-")
    kept = keep_result(name, lambda: evaluate_learner(LEARNERS[learner], splits).to_json())
    losses = None if kept["losses"] is None else np.array(kept["losses"])
    return LearnerResult(np.array(kept["hits"], dtype=bool), losses, kept["seconds"])


def compare_losses(new: LearnerResult, old: LearnerResult) -> str:
    """Return whether the new learner won, tied or lost by log-loss: beyond two standard errors, paired."""
    assert new.losses is not None
    assert old.losses is not None
    gain = old.losses - new.losses
    mean, error = float(gain.mean()), float(gain.std() / np.sqrt(len(gain)))
    verdict = "won" if mean > 2 * error else "lost" if mean < -2 * error else "tied"
    return f"{verdict} ({mean:+.4f} ± {error:.4f})"


def compare_default(corpus: str, results: Mapping[str, LearnerResult]) -> list[str]:
    """Return the line of a corpus: the aim, the accuracy of the default, its log-loss against two other learners."""
    new = results[DEFAULT]
    reached = float(new.hits.mean())
    aim = AIMS.get(corpus)
    verdict = "–" if aim is None else f"≥ {100 * aim:.1f} %: {'reached' if reached >= aim else 'not reached'}"
    losses = [compare_losses(new, results[other]) for other in (TUNED, FORMER)]
    return [corpus, format_percent(reached), verdict, *losses]


def measure_learners() -> str:
    """Measure all learners on all corpora; return the section."""
    limits = {"least": MIN_PEER_C, "most": MAX_PEER_C, "inner": TUNING_FOLDS}
    parts, verdicts = [SECTION.format(folds=SENTENCE_FOLDS, **limits)], []
    for name, splits in load_splits():
        results = {title: keep_evaluation(name, title, splits) for title in LEARNERS}
        lines = [[title, *result.cells] for title, result in results.items()]
        parts.append(f"\n### {name}\n\n{format_table(['learner', 'accuracy', 'log-loss', 'seconds'], lines)}")
        verdicts.append(compare_default(name, results))
        print(parts[-1], verdicts[-1], flush=True)
    head = ["corpus", "accuracy", "aim", "log-loss against tuned logistic regression", "against the former default"]
    return "".join([*parts, DEFAULT_SECTION, format_table(head, verdicts)])


SHORT_SECTION = """
## Short texts

{n} sentences of movie reviews are learned, and {n} others predicted: the CPU time of each, the least of {repeats}
repetitions, by turns.

"""


def measure_short_texts() -> str:
    """Measure the CPU time of naive Bayes of short texts, ours and scikit-learn's; return the section."""
    corpus = text_data.load_movie_sentences()
    order = np.random.default_rng(SEED).permutation(len(corpus.labels))
    train, test = corpus.take(order[:SHORT_TEXTS]), corpus.take(order[SHORT_TEXTS : 2 * SHORT_TEXTS])
    times: dict[str, list[tuple[float, float]]] = {NAIVE: [], NAIVE_PEER: []}
    for _ in range(SHORT_REPETITIONS):
        for title, found in times.items():
            found.append(time_learner(LEARNERS[title], train, test))
    lines = [
        [title, *(f"{1000 * seconds:.0f} ms" for seconds in np.min(found, axis=0))] for title, found in times.items()
    ]
    text = SHORT_SECTION.format(n=SHORT_TEXTS, repeats=SHORT_REPETITIONS)
    return text + format_table(["learner", "fit", "predict"], lines)


def time_learner(make: Callable[[], Any], train: Corpus, test: Corpus) -> tuple[float, float]:
    """Return the CPU time of fitting a learner, and of predicting the test documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        start = time.process_time()
        model = make().fit(*train)
        fitted = time.process_time()
        model.predict(test.documents)
    return fitted - start, time.process_time() - fitted
