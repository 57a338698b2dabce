"""`python -m benchmarks.lab_text`: rebuild `docs/lab/text.md` from public corpora.

The exit code is 1 if a figure is not the expected one, 2 if the data is missing. Parts that take minutes are kept in
the folder `lab_text` of the scratch folder until the page is complete, so that an interrupted run of the
same code of the library continues; remove it to measure them again.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
from .lab_text_learners import keep_result, measure_learners, measure_short_texts, remove_kept_results
from .text_data import Corpus

FOLDS, SEED = 10, 0
BATCH_MESSAGES = 100
"""The number of messages of Enron-Spam that are scored, then learned, at a time."""
MAX_RECALL_DIFFERENCE = 0.016
"""The largest difference of a recall to the published one."""
MAX_ACCURACY_DIFFERENCE = 0.008
"""The largest difference of ten-fold accuracy to the published one, whose folds are not known."""
FOUR_GROUPS = ("alt.atheism", "comp.graphics", "sci.med", "soc.religion.christian")

PAGE = """# Text

Published figures for naive Bayes on public corpora, and their reproduction; then evidence regression and linear
models. Written by `python -m benchmarks.lab_text` on {date}; do not edit.

Machine: {machine}. A dash means that scikit-learn has no such model or protocol.
{sections}"""

NEWS_SECTION = """
## 20 Newsgroups

By date, all twenty groups, headers kept, read as latin-1: trained on 11 314 posts, tested on the 7 532 later ones.
Words are CountVectorizer's default (two letters or more, lower case), counted. The figures are accuracies; those of
both libraries must be equal to the digit.
"""
WEIGHTED_SECTION = """
Weighted by term frequency and inverse document frequency, in scikit-learn's order (`TfidfVectorizer`), on four groups
(alt.atheism, comp.graphics, sci.med, soc.religion.christian; scikit-learn's tutorial says 0.834); and the transformed
weights of Rennie et al. 2003 (`twcnb`, of test documents too) on all twenty, with the plain models for comparison.
"""
SENTENCES_SECTION = """
## Sentences of movie reviews

rt-polarity: 5331 positive and 5331 negative sentences, words between spaces, presence only, α = 1, 10 stratified
folds (seed {seed}). Published by Wang & Manning 2012: 77.9 % for words, 79.0 % with pairs of words.
"""
MAIL_SECTION = """
## Two mailboxes of Enron-Spam

Metsis, Androutsopoulos & Paliouras 2006: messages in order of arrival, in batches of {batch}. Each batch but the
first is scored by the model of the earlier batches, then learned (`partial_fit`). Before each, the 3000 words of
highest information gain among those in 5 messages or more are selected from the ledger; add-one estimates; a message
is spam where p ≥ ½. Recall over all scored messages. The four runs, {batches} batches in total, took {seconds}
of CPU time.
"""
REUTERS_SECTION = """
## Reuters, eight subjects

R8, the fixed split: 5485 stories to train, 2189 to test. {tried} settings were compared by 5 stratified
folds (seed {seed}) of the training stories; the test stories were then used once, for the best and for the
default model. No figure is expected.
"""


def fit_and_score(model: Any, train: Corpus, test: Corpus) -> float:
    """Fit to the training documents; return the accuracy on the test documents."""
    return float(np.mean(model.fit(*train).predict(test.documents) == test.labels))


def expect_equal(known: float, peer: float) -> tuple[str, Callable[[float], bool]]:
    """Expect a figure to the given digits, equal to the peer's."""
    text, meets = expect_exactly(known)
    return text, lambda share: meets(share) and share == peer


NEWSGROUPS: dict[float, dict[str, float]] = {
    1.0: {"multinomial": 0.7728, "complement": 0.8267, "bernoulli": 0.6308},
    0.01: {"multinomial": 0.8039, "complement": 0.8001, "bernoulli": 0.7521},
}
"""Known accuracies by α and event."""


def measure_newsgroups(alphas: Sequence[float] = tuple(NEWSGROUPS)) -> Iterator[Figure]:
    """Measure all twenty groups, with counts of words."""
    train, test = text_data.load_newsgroups()["train"], text_data.load_newsgroups()["test"]
    counter = CountVectorizer()
    X, Z = counter.fit_transform(train.documents), counter.transform(test.documents)
    for alpha in alphas:
        for event, known in NEWSGROUPS[alpha].items():
            model = getattr(naive_bayes, f"{event.capitalize()}NB")(alpha=alpha).fit(X, train.labels)
            peer = float(np.mean(model.predict(Z) == test.labels))
            ours = fit_and_score(TextClassifier(event=event, alpha=alpha), train, test)
            text, meets = expect_equal(known, peer)
            yield Figure(f'TextClassifier(event="{event}", alpha={alpha:g})', text, ours, peer, meets)


def measure_weightings() -> Iterator[Figure]:
    """Measure tf-idf on four groups, and the transformed weights and plain models on all."""
    train, test = text_data.load_newsgroups()["train"], text_data.load_newsgroups()["test"]
    few_train, few_test = train.with_labels(FOUR_GROUPS), test.with_labels(FOUR_GROUPS)
    vectorizer = TfidfVectorizer()
    model = naive_bayes.MultinomialNB().fit(vectorizer.fit_transform(few_train.documents), few_train.labels)
    peer = float(np.mean(model.predict(vectorizer.transform(few_test.documents)) == few_test.labels))
    ours = fit_and_score(TextClassifier(weighting="tfidf"), few_train, few_test)
    text, meets = expect_exactly(0.835, 3)
    yield Figure('TextClassifier(weighting="tfidf"), 4 groups', text, ours, peer, meets)
    others: tuple[dict[str, Any], ...] = ({"weighting": "twcnb"}, {"event": "complement"}, {})
    for arguments in others:
        share = fit_and_score(TextClassifier(**arguments), train, test)
        yield Figure(f"TextClassifier({format_arguments(arguments)})", NO_EXPECTATION[0], share)


def format_arguments(arguments: dict[str, Any]) -> str:
    """Format keyword arguments as Python code."""
    return ", ".join(f"{name}={value!r}" for name, value in arguments.items()).replace("'", '"')


def measure_sentences() -> Iterator[Figure]:
    """Measure ten folds of movie sentences, with words, and with words and pairs of words."""
    corpus = text_data.load_movie_sentences()
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(corpus.documents, corpus.labels))
    for ngrams, known in ((1, 0.779), (2, 0.790)):
        words = Words(tokens="whitespace", values="presence", ngrams=ngrams)
        ours = [fit_and_score(TextClassifier(words=words), corpus.take(i), corpus.take(j)) for i, j in splits]
        counter = CountVectorizer(token_pattern=r"\S+", binary=True, ngram_range=(1, ngrams))
        X = counter.fit_transform(corpus.documents)
        peer = [score_peer(X, corpus.labels, i, j) for i, j in splits]
        name = f'Words(tokens="whitespace", values="presence", ngrams={ngrams})'
        text = f"{100 * known:.1f} ± {100 * MAX_ACCURACY_DIFFERENCE:.1f} %"
        yield Figure(
            name, text, float(np.mean(ours)), float(np.mean(peer)), is_within(known, MAX_ACCURACY_DIFFERENCE)
        )


def score_peer(X: Any, labels: NDArray[np.str_], train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
    """Return the accuracy of MultinomialNB, with the words of the training rows alone."""
    known_words = np.flatnonzero(X[train].getnnz(axis=0))
    model = naive_bayes.MultinomialNB().fit(X[train][:, known_words], labels[train])
    return float(np.mean(model.predict(X[test][:, known_words]) == labels[test]))


def is_within(known: float, max_difference: float) -> Callable[[float], bool]:
    """Return a test that a figure is near the published one."""
    return lambda share: abs(share - known) <= max_difference


RECALLS: dict[tuple[int, str], tuple[float, float]] = {
    (1, "boolean"): (0.960, 0.953),
    (2, "boolean"): (0.967, 0.978),
    (1, "bernoulli"): (0.971, 0.932),
    (2, "bernoulli"): (0.911, 0.972),
}
"""Published recall of spam and ham by mailbox and event."""


def measure_mailbox(number: int, event: str) -> tuple[float, float]:
    """Return the recall of spam and of ham; every batch is scored by the model of earlier ones, then learned."""
    words = Words(tokens="whitespace")
    model = TextClassifier(event=event, words=words, most=3000, by="information", least=5)
    corpus = text_data.load_enron(number)
    is_called_spam = np.zeros(len(corpus.labels), dtype=bool)
    for start in range(0, len(is_called_spam), BATCH_MESSAGES):
        batch = slice(start, start + BATCH_MESSAGES)
        if start:
            is_called_spam[batch] = spam_probability(model, corpus.documents[batch]) >= 0.5
        model.partial_fit(corpus.documents[batch], corpus.labels[batch], classes=["ham", "spam"])
    spam, scored = corpus.labels == "spam", np.arange(len(is_called_spam)) >= BATCH_MESSAGES
    return float(is_called_spam[scored & spam].mean()), float(1 - is_called_spam[scored & ~spam].mean())


def spam_probability(model: Any, documents: list[str]) -> NDArray[np.float64]:
    """Return p(spam), without warnings about messages that contain none of the selected words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DecibanWarning)
        return model.predict_proba(documents)[:, 1]


def measure_mailboxes(chosen: Sequence[tuple[int, str]] = tuple(RECALLS)) -> Iterator[Figure]:
    """Measure both mailboxes with both events."""
    for number, event in chosen:
        for kind, ours, known in zip(("spam", "ham"), measure_mailbox(number, event), RECALLS[number, event]):
            text = f"{100 * known:.1f} ± {100 * MAX_RECALL_DIFFERENCE:.1f} %"
            yield Figure(
                f"Enron{number}, {event}: {kind} recall", text, ours, None, is_within(known, MAX_RECALL_DIFFERENCE)
            )


def reuters_settings() -> list[dict[str, list[Any]]]:
    """Return the grid for Reuters: values of words, event, strength of smoothing, idf."""
    alphas = [1.0, 0.3, 0.1, 0.03, 0.01]
    readings = [Words(values=values, ngrams=n) for n in (1, 2) for values in ("counts", "log", "presence")]
    present = [Words(values="presence", ngrams=n) for n in (1, 2)]
    return [
        {"event": ["multinomial", "complement"], "words": readings, "alpha": alphas, "idf": [False, True]},
        {"event": ["bernoulli"], "words": present, "alpha": alphas},
    ]


def measure_reuters() -> tuple[int, str]:
    """Return the number of settings, and a table of the best and the default with their test accuracy."""
    train = text_data.load_reuters("train")
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    search = GridSearchCV(TextClassifier(), reuters_settings(), cv=folds).fit(*train)
    means, tried = search.cv_results_["mean_test_score"], search.cv_results_["params"]
    default = next(i for i, found in enumerate(tried) if is_default(found))
    test = text_data.load_reuters("test")
    lines = []
    for place in (search.best_index_, default):
        share = fit_and_score(TextClassifier(**tried[place]), train, test)
        lines.append([f"`{format_settings(tried[place])}`", format_percent(means[place]), format_percent(share)])
    return len(tried), format_table(["settings", "5 folds of train", "test"], lines)


def is_default(found: dict[str, Any]) -> bool:
    """Whether these settings are the defaults."""
    return found == {"event": "multinomial", "words": Words(), "alpha": 1.0, "idf": False}


def format_settings(found: dict[str, Any]) -> str:
    """Format settings in one line."""
    words = found["words"]
    read = {"values": words.values, "ngrams": words.ngrams}
    rest = {name: value for name, value in found.items() if name != "words"}
    return f"{format_arguments(rest)}, words=Words({format_arguments(read)})"


def main() -> int:
    """Rebuild the page; return the exit code."""
    code = rebuild_page("lab_text", "text.md", PAGE, measure_sections, __doc__ or "")
    if code < 2:
        remove_kept_results()
    return code


def measure_sections() -> tuple[str, list[Figure]]:
    """Measure; return the sections of the page and their figures."""
    parts = (measure_newsgroups, measure_weightings, measure_sentences)
    figures = [keep_figures(part.__name__, part)[0] for part in parts]
    batches = sum(-(-len(text_data.load_enron(number).labels) // BATCH_MESSAGES) for number, _ in RECALLS)
    recalls, seconds = keep_figures("measure_mailboxes", measure_mailboxes)  # of mailboxes that were unpacked before
    mail_section = MAIL_SECTION.format(batch=BATCH_MESSAGES, batches=batches, seconds=format_seconds(seconds))
    tried, best = keep_result("measure_reuters", measure_reuters)
    texts = (NEWS_SECTION, WEIGHTED_SECTION, SENTENCES_SECTION.format(seed=SEED), mail_section)
    sections = "".join(f"{text}\n{format_figures(part)}" for text, part in zip(texts, [*figures, recalls]))
    sections += f"{REUTERS_SECTION.format(tried=tried, seed=SEED)}\n{best}{measure_learners()}{measure_short_texts()}"
    return sections, [figure for part in (*figures, recalls) for figure in part]


def keep_figures(name: str, measure: Callable[[], Iterator[Figure]]) -> tuple[list[Figure], float]:
    """Return the figures that `measure` yields, or that an interrupted run kept, and the CPU time in seconds."""

    def measure_values() -> dict[str, Any]:
        start = time.process_time()
        values = [[each.model, each.expected, each.ours, each.peer, each.met] for each in measure()]
        return {"values": values, "seconds": time.process_time() - start}

    kept = keep_result(name, measure_values)
    figures = [
        Figure(model, expected, ours, peer, None if met is None else partial(return_verdict, met))
        for model, expected, ours, peer, met in kept["values"]
    ]
    return figures, kept["seconds"]


def return_verdict(met: bool, _: float) -> bool:
    """Return whether a figure met its expectation when it was measured."""
    return met


if __name__ == "__main__":
    sys.exit(main())
