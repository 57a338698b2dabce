"""`python -m benchmarks.lab_text`: rebuild `docs/lab/text.md` from the public corpora.

Exit code 1 if a figure is not the expected one, 2 if the data is absent.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import naive_bayes
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from deciban import TextClassifier, Words
from deciban.errors import DecibanWarning

from . import text_data
from .case import format_seconds
from .lab import NO_EXPECTATION, Figure, expect_exactly, format_figures, format_percent, rebuild_page
from .lab_tables import format_table
from .text_data import Corpus

FOLDS, SEED = 10, 0
BATCH = 100
"""Messages of Enron-Spam that are judged, then learned, at a time."""
NEAR = 0.016
"""How far a recall may be from the published one."""
SPREAD = 0.008
"""How far ten-fold accuracy may be from the published one, whose folds are not known."""
FOUR = ("alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian")

PAGE = """# Text

Published figures for naive Bayes on public corpora, and what comes out here. Written by
`python -m benchmarks.lab_text` on {date}; do not edit.

Machine: {machine}. A dash under scikit-learn means that it has no such model, or no such protocol.
{sections}"""

NEWS = """
## 20 Newsgroups

By date, all twenty groups, headers kept, read as latin-1: learned from 11 314 posts, judged by the 7 532 later ones.
Words are CountVectorizer's default (two letters or more, lower case), counted. The figures are the share of posts
named correctly; both libraries' must be the same to the digit.
"""
WEIGHTED = """
Weighted by term frequency and inverse document frequency, in scikit-learn's order (`TfidfVectorizer`), on four groups
(alt.atheism, comp.graphics, sci.med, soc.religion.christian; scikit-learn's tutorial says 0.834); and the transformed
weights of Rennie et al. 2003 (`twcnb`) on all twenty, beside the plain models.
"""
SENTENCES = """
## Sentences of movie reviews

rt-polarity: 5331 good and 5331 bad sentences, words as they stand between spaces, presence only, α = 1, 10 stratified
folds (seed {seed}). Published by Wang & Manning 2012: 77.9 % for words, 79.0 % with pairs of words.
"""
MAILS = """
## Two mailboxes of Enron-Spam

Metsis, Androutsopoulos & Paliouras 2006: messages in order of arrival, in batches of {batch}. Each batch but the
first is judged by what was learned before, then learned (`partial_fit`). Before each, the 3000 words of most
information among those seen in 5 messages or more are selected anew, from the ledger; add-one estimates; a message
is spam where p ≥ ½. Recall over all messages judged. The four runs, {batches} batches together, took {seconds}.
"""
REUTERS = """
## Reuters, eight subjects

R8, the fixed split: 5485 stories to learn from, 2189 to be judged by. {tried} settings were compared by 5 stratified
folds (seed {seed}) of the training stories; the test stories were then opened once, for the best and, beside it, the
plain model. No figure is expected.
"""


def hits(model: Any, train: Corpus, test: Corpus) -> float:
    """The share of test documents that a model fitted on the others names correctly."""
    return float(np.mean(model.fit(*train).predict(test.documents) == test.labels))


def same_digits(known: float, peer: float) -> tuple[str, Callable[[float], bool]]:
    """A figure to reproduce to the digits given, which the peer reproduces too."""
    text, meets = expect_exactly(known)
    return text, lambda share: meets(share) and share == peer


NEWSGROUPS: dict[float, dict[str, float]] = {
    1.0: {"multinomial": 0.7728, "complement": 0.8267, "bernoulli": 0.6308},
    0.01: {"multinomial": 0.8039, "complement": 0.8001, "bernoulli": 0.7521},
}
"""Accuracy by α and event."""


def newsgroups(alphas: Sequence[float] = tuple(NEWSGROUPS)) -> Iterator[Figure]:
    """All twenty groups, counts."""
    train, test = text_data.load_newsgroups()["train"], text_data.load_newsgroups()["test"]
    counter = CountVectorizer()
    X, Z = counter.fit_transform(train.documents), counter.transform(test.documents)
    for alpha in alphas:
        for event, known in NEWSGROUPS[alpha].items():
            model = getattr(naive_bayes, f"{event.capitalize()}NB")(alpha=alpha).fit(X, train.labels)
            peer = float(np.mean(model.predict(Z) == test.labels))
            ours = hits(TextClassifier(event=event, alpha=alpha), train, test)
            text, meets = same_digits(known, peer)
            yield Figure(f'TextClassifier(event="{event}", alpha={alpha:g})', text, ours, peer, meets, format_percent)


def weighted() -> Iterator[Figure]:
    """tf-idf on four groups, and the transformed weights beside plain models on all."""
    train, test = text_data.load_newsgroups()["train"], text_data.load_newsgroups()["test"]
    few, judged = train.with_labels(FOUR), test.with_labels(FOUR)
    weigher = TfidfVectorizer()
    model = naive_bayes.MultinomialNB().fit(weigher.fit_transform(few.documents), few.labels)
    peer = float(np.mean(model.predict(weigher.transform(judged.documents)) == judged.labels))
    ours = hits(TextClassifier(weighting="tfidf"), few, judged)
    text, meets = expect_exactly(0.835, 3)
    yield Figure('TextClassifier(weighting="tfidf"), 4 groups', text, ours, peer, meets, format_percent)
    beside: tuple[dict[str, Any], ...] = ({"weighting": "twcnb"}, {"event": "complement"}, {})
    for arguments in beside:
        share = hits(TextClassifier(**arguments), train, test)
        yield Figure(f"TextClassifier({written(arguments)})", NO_EXPECTATION[0], share, None, None, format_percent)


def written(arguments: dict[str, Any]) -> str:
    """Arguments as they are typed."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()).replace("'", '"')


def sentences() -> Iterator[Figure]:
    """Ten folds of movie sentences, with words and with pairs of words too."""
    corpus = text_data.load_movie_sentences()
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(corpus.documents, corpus.labels))
    for ngrams, known in ((1, 0.779), (2, 0.790)):
        words = Words(tokens="whitespace", values="presence", ngrams=ngrams)
        ours = [hits(TextClassifier(words=words), corpus.take(i), corpus.take(j)) for i, j in splits]
        counter = CountVectorizer(token_pattern=r"\S+", binary=True, ngram_range=(1, ngrams))
        X = counter.fit_transform(corpus.documents)
        peer = [peer_hits(X, corpus.labels, i, j) for i, j in splits]
        name = f'Words(tokens="whitespace", values="presence", ngrams={ngrams})'
        text = f"{100 * known:.1f} ± {100 * SPREAD:.1f} %"
        yield Figure(name, text, float(np.mean(ours)), float(np.mean(peer)), near(known, SPREAD), format_percent)


def peer_hits(X: Any, labels: NDArray[np.str_], train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
    """MultinomialNB's share of hits, over the words of the training rows alone."""
    met = np.flatnonzero(X[train].getnnz(axis=0))
    model = naive_bayes.MultinomialNB().fit(X[train][:, met], labels[train])
    return float(np.mean(model.predict(X[test][:, met]) == labels[test]))


def near(known: float, most: float) -> Callable[[float], bool]:
    """Within so much of the published figure."""
    return lambda share: abs(share - known) <= most


RECALLS: dict[tuple[int, str], tuple[float, float]] = {
    (1, "boolean"): (0.960, 0.953),
    (2, "boolean"): (0.967, 0.978),
    (1, "bernoulli"): (0.971, 0.932),
    (2, "bernoulli"): (0.911, 0.972),
}
"""Spam and ham recall by mailbox and event, as published."""


def mailbox(number: int, event: str) -> tuple[float, float]:
    """Recall of spam and of ham, every batch judged by what came before it and then learned."""
    words = Words(tokens="whitespace")
    model = TextClassifier(event=event, words=words, most=3000, by="information", least=5)
    corpus = text_data.load_enron(number)
    called = np.zeros(len(corpus.labels), dtype=bool)
    for start in range(0, len(called), BATCH):
        batch = slice(start, start + BATCH)
        if start:
            called[batch] = spam_probability(model, corpus.documents[batch]) >= 0.5
        model.partial_fit(corpus.documents[batch], corpus.labels[batch], classes=["ham", "spam"])
    spam, judged = corpus.labels == "spam", np.arange(len(called)) >= BATCH
    return float(called[judged & spam].mean()), float(1 - called[judged & ~spam].mean())


def spam_probability(model: Any, documents: list[str]) -> NDArray[np.float64]:
    """p(spam); some mails have none of the words selected, and need not be mentioned each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        return model.predict_proba(documents)[:, 1]


def mails(chosen: Sequence[tuple[int, str]] = tuple(RECALLS)) -> Iterator[Figure]:
    """Both mailboxes under both events."""
    for number, event in chosen:
        for kind, ours, known in zip(("spam", "ham"), mailbox(number, event), RECALLS[number, event]):
            text = f"{100 * known:.1f} ± {100 * NEAR:.1f} %"
            yield Figure(f"Enron{number}, {event}: {kind} recall", text, ours, None, near(known, NEAR), format_percent)


def settings() -> list[dict[str, list[Any]]]:
    """What is tried on Reuters: how words are counted, the event, the strength of smoothing, idf."""
    alphas = [1.0, 0.3, 0.1, 0.03, 0.01]
    readings = [Words(values=values, ngrams=n) for n in (1, 2) for values in ("counts", "log", "presence")]
    present = [Words(values="presence", ngrams=n) for n in (1, 2)]
    return [
        {"event": ["multinomial", "complement"], "words": readings, "alpha": alphas, "idf": [False, True]},
        {"event": ["bernoulli"], "words": present, "alpha": alphas},
    ]


def reuters() -> tuple[int, str]:
    """How many settings were tried, and the best of them with the test stories' verdict."""
    train = text_data.load_reuters("train")
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    search = GridSearchCV(TextClassifier(), settings(), cv=folds).fit(*train)
    means, tried = search.cv_results_["mean_test_score"], search.cv_results_["params"]
    plain = next(i for i, found in enumerate(tried) if is_plain(found))
    test = text_data.load_reuters("test")
    lines = []
    for place in (search.best_index_, plain):
        share = hits(TextClassifier(**tried[place]), train, test)
        lines.append([f"`{shown(tried[place])}`", format_percent(means[place]), format_percent(share)])
    return len(tried), format_table(["settings", "5 folds of train", "test"], lines)


def is_plain(found: dict[str, Any]) -> bool:
    """Whether these settings are the defaults."""
    return found == {"event": "multinomial", "words": Words(), "alpha": 1.0, "idf": False}


def shown(found: dict[str, Any]) -> str:
    """Settings in one line, the words by what is not as usual."""
    words = found["words"]
    read = {"values": words.values, "ngrams": words.ngrams}
    rest = {name: value for name, value in found.items() if name != "words"}
    return f"{written(rest)}, words=Words({written(read)})"


def main() -> int:
    """Measure, write the page, and say what is not as expected."""
    return rebuild_page("lab_text", "text.md", PAGE, measured, __doc__ or "")


def measured() -> tuple[str, list[Figure]]:
    """The page's sections, and the figures in them."""
    figures = [list(part()) for part in (newsgroups, weighted, sentences)]
    recalls, mailing = timed_mails()
    tried, best = reuters()
    texts = (NEWS, WEIGHTED, SENTENCES.format(seed=SEED), mailing)
    sections = "".join(f"{text}\n{format_figures(part)}" for text, part in zip(texts, [*figures, recalls]))
    sections += f"{REUTERS.format(tried=tried, seed=SEED)}\n{best}"
    return sections, [figure for part in (*figures, recalls) for figure in part]


def timed_mails() -> tuple[list[Figure], str]:
    """The mailboxes, unpacked beforehand, and the words that say how long it took."""
    batches = sum(-(-len(text_data.load_enron(number).labels) // BATCH) for number, _ in RECALLS)
    start = time.perf_counter()
    recalls = list(mails())
    seconds = format_seconds(time.perf_counter() - start)
    return recalls, MAILS.format(batch=BATCH, batches=batches, seconds=seconds)


if __name__ == "__main__":
    sys.exit(main())
