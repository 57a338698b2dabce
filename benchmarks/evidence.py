"""Evidence regression of documents against scikit-learn's logistic regression of their words, from strings on."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from deciban import EvidenceRegression, Words

from . import text_data
from .case import Group, Line
from .text import hits, program_line
from .text_data import Corpus
from .timing import clock

ROUNDS = 3
"""Runs of ours; scikit-learn takes minutes and runs once."""

POSTS = 25_000
TARGET = 6.0

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """The measurements of one group, named as `python -m benchmarks --only` matches them."""
    if group == "speed":
        yield "speed evidence regression of posts", partial(posts, scale)


def repeated(corpus: Corpus, n: int) -> Corpus:
    """The posts again and again, until there are so many."""
    return corpus.take(np.resize(np.arange(len(corpus.labels)), n))


def ours() -> Any:
    """Words and pairs of words, C as it comes."""
    return EvidenceRegression(C=1.0, words=Words(ngrams=2))


def peer() -> Any:
    """The same words; C and all else as scikit-learn has them."""
    return make_pipeline(CountVectorizer(ngram_range=(1, 2)), LogisticRegression(C=1.0))


def posts(scale: float) -> Iterator[Line]:
    """Fits of posts repeated; the accuracies are those of test posts by models of the training posts alone."""
    parts = {name: part.share(scale) for name, part in text_data.newsgroups().items()}
    train, test = parts["train"], parts["test"]
    both = Corpus(train.documents + test.documents, np.concatenate([train.labels, test.labels]))
    many = repeated(both, max(2000, round(POSTS * scale)))
    accuracies = tuple(hits(make().fit(*train), test) for make in (ours, peer))
    mine = [clock(lambda: ours().fit(*many)) for _ in range(ROUNDS)]
    theirs = [clock(lambda: peer().fit(*many))]
    name = f"EvidenceRegression, {len(many.labels)} newsgroup posts, uni + bigrams, C=1: fit from strings"
    note = (
        "scikit-learn (CountVectorizer, LogisticRegression) once; judged on test posts by fits of the training posts"
    )
    yield program_line(name, (mine, theirs), TARGET, accuracies, note)  # type: ignore[arg-type]
