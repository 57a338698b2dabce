"""`python -m benchmarks.lab_evidence`: rebuild `docs/lab/evidence.md` from the public corpora.

Exit code 1 if a figure is not the expected one, 2 if the data is absent.
"""

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline

from deciban import EvidenceRegression, TextClassifier, Words
from deciban.errors import DecibanWarning

from . import text_data
from .lab import NOTHING, Figure, percent, rebuilt, table
from .lab_tables import markdown
from .text_data import Corpus

FOLDS, SEEDS, FEWER_SEEDS = 10, range(10), range(5)
SHARE = 0.3
"""Of the mail is judged."""

MOST_ERRORS, MOST_MISRANKED = 0.008, 0.0003
"""What is promised of raw mail: the share of errors, and 1 − AUC."""

PAGE = """# Evidence regression

Naive Bayes whose words are trusted as much as they deserve (`EvidenceRegression`), beside naive Bayes and logistic
regression. Written by `python -m benchmarks.lab_evidence` on {date}; do not edit.

Machine: {machine}. Every figure is of `EvidenceRegression()` as it comes (C = 1, α = 1, presence, documents equally
long, common trust held back by 0.1) unless it says otherwise. These defaults were settled by looking at the mail and
the sentences below, seeds 0–2 and 0, at rows judged here among others, so of these the figures are a little too
friendly; of 20 Newsgroups only training posts were looked at.
{sections}"""

SENTENCES = """
## Sentences of movie reviews

rt-polarity, words and pairs of words, present or not, {folds} stratified folds, mean over seeds 0–9. Published by
Wang & Manning 2012 on their own split: 79.38 % (NBSVM). Beside it multinomial naive Bayes of the same words.
"""
NEWS = """
## 20 Newsgroups

By date, headers kept: learned from 11 314 posts, judged by the 7 532 later ones.
"""
MAIL = """
## Raw mail

SpamAssassin's corpus, {n} messages read as latin-1 with all their headers, 70 % learned and 30 % judged, stratified,
seeds 0–9: share of errors, and 1 − AUC, the share of pairs of a spam and a ham that are ranked the wrong way.
"""
WHY = """
## What makes the ranking good

Mailboxes and short messages, 70 % learned and 30 % judged, stratified, means over seeds 0–4. Logistic regression is
scikit-learn's, C = 1, of the same words, present or not. "Sureness of the longer half" is the mean of |log-odds| of
the longer half of the messages judged, over that of the shorter half.

Two things were found. As it stands, evidence regression sums up as many pieces of evidence as a message has words,
so long messages are surer of themselves, whether they are right or not; where all count for equally long, the ranking
is better on all four. A common trust, which words lean to instead of 0, is what those have that are too rare to earn
their own; `beta` draws them there afterwards, when nothing is left to weigh it by, and costs log-loss. (A third was
the search itself: one that stopped when the slope had come down to 0.3 % ranked SpamAssassin and Enron2 about twice
as badly, while errors hardly showed it. That was measured once; the search now ends by what is left to gain.)

On none of these is evidence regression ranked worse than logistic regression.
"""


def hits(model: Any, train: Corpus, test: Corpus) -> float:
    """The share of test documents that a model fitted on the others names correctly."""
    return float(np.mean(model.fit(*train).predict(test.documents) == test.labels))


def at_least(least: float, beside: float, more: float = 0.0) -> tuple[str, Callable[[float], bool]]:
    """A figure to reach, which must also pass the one beside it, by so much."""
    return f"≥ {100 * least:.1f} %", lambda share: share >= least and share > beside + more


def reaches(least: float, share: float) -> bool:
    """Whether it is as much."""
    return share >= least


def stays(most: float, share: float) -> bool:
    """Whether it is no more."""
    return share <= most


def sentences(seeds: Sequence[int] = SEEDS) -> Iterator[Figure]:
    """Ten folds of movie sentences, by scikit-learn's words and by what stands between spaces."""
    for tokens in ("words", "whitespace"):
        words = Words(tokens=tokens, ngrams=2)
        naive, ours = (of_sentences(make, seeds) for make in (naive_of(words), evidence_of(words)))
        named = f'words=Words(tokens="{tokens}", ngrams=2)'
        yield Figure(f'TextClassifier(event="boolean", {named})', NOTHING[0], naive, None, None, percent)
        known, meets = at_least(0.789, naive)
        yield Figure(f"EvidenceRegression({named})", known, ours, None, meets, percent)


def naive_of(words: Words) -> Callable[[], Any]:
    """Multinomial naive Bayes of words that are there or not."""
    return lambda: TextClassifier(event="boolean", words=words)


def evidence_of(words: Words) -> Callable[[], Any]:
    """Evidence regression as it comes."""
    return lambda: EvidenceRegression(words=words)


def of_sentences(make: Callable[[], Any], seeds: Sequence[int]) -> float:
    """Ten-fold accuracy, the mean over seeds."""
    corpus = text_data.load_movie_sentences()
    shares = []
    for seed in seeds:
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(corpus.documents, corpus.labels)
        shares += [hits(make(), corpus.take(i), corpus.take(j)) for i, j in folds]
    return float(np.mean(shares))


def newsgroups() -> Iterator[Figure]:
    """All twenty groups, words, and words with pairs."""
    train, test = text_data.load_newsgroups()["train"], text_data.load_newsgroups()["test"]
    for ngrams in (1, 2):
        words, named = Words(ngrams=ngrams), f"words=Words(ngrams={ngrams})"
        plain = hits(TextClassifier(words=words), train, test)
        complement = hits(TextClassifier(event="complement", words=words), train, test)
        yield Figure(f"TextClassifier({named})", NOTHING[0], plain, None, None, percent)
        yield Figure(f'TextClassifier(event="complement", {named})', NOTHING[0], complement, None, None, percent)
        least = max(plain + 0.02, complement)
        known = f"≥ {100 * least:.2f} %"
        ours = hits(EvidenceRegression(words=words), train, test)
        yield Figure(f"EvidenceRegression({named})", known, ours, None, partial(reaches, least), percent)


def split(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """Messages to learn from and to be judged by."""
    rows = np.arange(len(corpus.labels))
    return tuple(
        corpus.take(part)
        for part in train_test_split(rows, test_size=SHARE, random_state=seed, stratify=corpus.labels)
    )  # type: ignore[return-value]


def judged(model: Any, train: Corpus, test: Corpus) -> tuple[float, float, float, float]:
    """Share of errors, 1 − AUC, log-loss of spam, and how much surer the longer half of the messages is."""
    said = model.fit(*train).predict_log_proba(test.documents)
    spam = test.labels == "spam"
    p = np.exp(said[:, 1])
    odds = said[:, 1] - said[:, 0]
    length = np.array([len(text) for text in test.documents])
    longer = length > np.median(length)
    surer = np.abs(odds[longer]).mean() / np.abs(odds[~longer]).mean()
    errors, misranked = np.mean((odds > 0) != spam), 1 - roc_auc_score(spam, odds)
    return float(errors), float(misranked), float(log_loss(spam, p)), float(surer)


def small(share: float) -> str:
    """A share of next to nothing."""
    return f"{100 * share:.3f} %"


def raw_mail() -> tuple[str, list[Figure]]:
    """Every seed, and whether their mean is what was promised."""
    corpus = text_data.load_spamassassin()
    makes = (lambda: TextClassifier(event="boolean"), logistic, EvidenceRegression)
    told = np.array([[judged(make(), *split(corpus, seed))[:2] for make in makes] for seed in SEEDS])
    heads = ["seed", "naive Bayes: errors", "1 − AUC", "logistic: errors", "1 − AUC", "evidence: errors", "1 − AUC"]
    lines = [[str(seed), *map(small, row.ravel())] for seed, row in zip(SEEDS, told)]
    mean = told.mean(axis=0)
    lines.append(["mean", *map(small, mean.ravel())])
    errors, misranked = mean[-1]
    figures = [
        Figure(f"EvidenceRegression(): {what}", f"≤ {small(most)}", float(found), None, partial(stays, most), small)
        for what, most, found in (("errors", MOST_ERRORS, errors), ("1 − AUC", MOST_MISRANKED, misranked))
    ]
    return MAIL.format(n=len(corpus.labels)) + "\n" + markdown(heads, lines), figures


def logistic() -> Any:
    """scikit-learn's, of words that are there or not."""
    return make_pipeline(CountVectorizer(binary=True), LogisticRegression(max_iter=1000))


WAYS: dict[str, Callable[[], Any]] = {
    "naive Bayes": lambda: TextClassifier(event="boolean"),
    "logistic regression": logistic,
    "evidence, as it stands": lambda: EvidenceRegression(length=False, common=None),
    "… documents equally long": lambda: EvidenceRegression(common=None),
    "… and a common trust: as it comes": EvidenceRegression,
    "… `beta=0.25` in its place": lambda: EvidenceRegression(common=None, beta=0.25),
    "as it comes, `alpha=0.1`": lambda: EvidenceRegression(alpha=0.1),
    "as it comes, `C=0.1`": lambda: EvidenceRegression(C=0.1),
    "as it comes, `C=10`": lambda: EvidenceRegression(C=10.0),
}


HEADS = ["model", "errors", "1 − AUC", "log-loss", "sureness of the longer half"]


def reasons() -> str:
    """What each piece does to errors, ranking and log-loss."""
    corpora = {
        "SpamAssassin": text_data.load_spamassassin(),
        "Enron1": text_data.load_enron(1),
        "Enron2": text_data.load_enron(2),
        "SMS": text_data.load_sms(),
    }
    sections = []
    for name, corpus in corpora.items():
        lines = []
        for way, make in WAYS.items():
            told = [judged(make(), *split(corpus, seed)) for seed in FEWER_SEEDS]
            errors, misranked, loss, surer = np.mean(told, axis=0)
            lines.append([way, small(errors), small(misranked), f"{loss:.4f}", f"{surer:.2f}"])
        sections.append(f"### {name}\n\n{markdown(HEADS, lines)}")
    return WHY + "\n" + "\n".join(sections)


def measured() -> tuple[str, list[Figure]]:
    """The page's sections, and the figures in them."""
    told, news = list(sentences()), list(newsgroups())
    mail, promised = raw_mail()
    sections = (
        f"{SENTENCES.format(folds=FOLDS)}\n{table(told)}{NEWS}\n{table(news)}{mail}\n{table(promised)}{reasons()}"
    )
    return sections, [*told, *news, *promised]


def main() -> int:
    """Measure, write the page, and say what is not as expected."""
    warnings.simplefilter("ignore", DecibanWarning)  # sentences of strange words alone are a handful
    return rebuilt("lab_evidence", "evidence.md", PAGE, measured, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
