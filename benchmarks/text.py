"""Benchmarks of raw text against CountVectorizer + MultinomialNB, fastText and Vowpal Wabbit; and memory.

Where a corpus or a peer is missing, the line names it and has no verdict.
"""

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import deciban
from deciban.ledger import Vocabulary

from . import child, machine, text_data, text_peers
from .case import Group, Job, Line, format_mib, format_seconds
from .data import DataMissingError
from .text_data import MEGABYTE, Corpus
from .timing import agreement, alternate, measure_seconds, speed_line

ROUNDS = 5
LIST_RATIO, COLUMN_RATIO, BIGRAM_RATIO, PREDICT_RATIO = 14.0, 17.0, 30.0, 8.0
FASTTEXT_RATIO, VOWPAL_RATIO = 15.0, 2.0
"""The required ratios of the peer's time to ours."""
SENTENCES_BYTES = 50 * MEGABYTE
GIGABYTE = 1000 * MEGABYTE
MAX_MIB_BEYOND_LEDGER = 1024.0
"""The memory that fitting a gigabyte may take beyond its ledger."""


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """Yield the measurements of one group."""
    if group == "speed":
        work: dict[str, Callable[[float], Iterator[Line]]] = {
            "list": compare_list,
            "column": compare_columns,
            "bigrams": compare_bigrams,
            "predict": compare_predictions,
            "fastText": compare_fasttext,
            "Vowpal Wabbit": compare_vowpal,
        }
    else:
        work = {"Parquet": measure_parquet_memory} if group == "memory" else {}
    for name, measure in work.items():
        yield f"{group} text {name}", partial(run_if_available, group, f"text {name}", partial(measure, scale))


def run_if_available(group: Group, case: str, measure: Callable[[], Iterator[Line]]) -> Iterator[Line]:
    """Yield the lines, or one of this case that names the corpus or peer that is missing."""
    try:
        yield from measure()
    except (DataMissingError, text_peers.PeerMissingError) as error:
        yield Line(group, case, "–", "absent", None, "not measured", None, str(error))


def make_classifier(**words: Any) -> Any:
    """Return our classifier with these arguments of `Words`."""
    return deciban.TextClassifier(words=deciban.Words(**words))


def fit(words: dict[str, Any], corpus: Corpus) -> Any:
    """Fit our classifier to a list of strings."""
    return make_classifier(**words).fit(*corpus)


def load_posts(scale: float) -> tuple[Corpus, Corpus]:
    """Load 20 Newsgroups by date: training and test posts."""
    parts = text_data.load_newsgroups()
    return parts["train"].subsample(scale), parts["test"].subsample(scale)


def compare_fits(name: str, documents: Any, corpus: Corpus, test: list[str], target: float, **peer: Any) -> Line:
    """Compare fits from raw documents; ours reads `documents`, the peer always a list of strings."""
    labels = corpus.labels
    words = {"ngrams": peer.get("ngram_range", 1)}

    def fit_ours() -> Any:
        return make_classifier(**words).fit(documents, labels)

    def fit_peer() -> Any:
        return text_peers.make_scikit_learn_pipeline(**peer).fit(corpus.documents, labels)

    same = agreement(fit_ours(), fit_peer(), test)
    times = alternate(fit_ours, fit_peer, ROUNDS)
    speed = corpus.nbytes / MEGABYTE / statistics.median(times[0])
    return speed_line(name, times, target, same, f"{corpus.nbytes / MEGABYTE:.0f} MB, ours {speed:.0f} MB/s")


def compare_list(scale: float) -> Iterator[Line]:
    """Compare fits of 20 Newsgroups from a list of strings."""
    train, test = load_posts(scale)
    yield compare_fits("20news list of str: fit", train.documents, train, test.documents, LIST_RATIO)


def compare_columns(scale: float) -> Iterator[Line]:
    """Compare fits of 20 Newsgroups from columns of Arrow and polars."""
    import polars
    import pyarrow as pa

    train, test = load_posts(scale)
    columns = {"Arrow": pa.array(train.documents), "polars": polars.Series("post", train.documents)}
    for kind, column in columns.items():
        yield compare_fits(f"20news {kind} column: fit", column, train, test.documents, COLUMN_RATIO)


def compare_bigrams(scale: float) -> Iterator[Line]:
    """Compare fits of words and pairs of words of many short sentences."""
    once = text_data.load_movie_sentences()
    corpus = text_data.repeat_to_size(once, round(SENTENCES_BYTES * scale))
    name = f"rt-polarity ×{len(corpus.documents) // len(once.documents)}, uni + bigrams: fit"
    yield compare_fits(name, corpus.documents, corpus, once.documents, BIGRAM_RATIO, ngram_range=(1, 2))


def compare_predictions(scale: float) -> Iterator[Line]:
    """Compare predictions of the test posts of 20 Newsgroups from raw strings."""
    train, test = load_posts(scale)
    models = fit({}, train), text_peers.make_scikit_learn_pipeline().fit(*train)
    same = agreement(*models, test.documents)
    run_ours, run_peer = (partial(model.predict, test.documents) for model in models)
    yield speed_line("20news list of str: predict", alternate(run_ours, run_peer, ROUNDS), PREDICT_RATIO, same)


def measure_accuracy(model: Any, test: Corpus) -> float:
    """Return the share of documents classified correctly."""
    return float(np.mean(model.predict(test.documents) == test.labels))


def program_line(
    name: str,
    times: tuple[list[float], list[float]],
    target: float | None,
    accuracies: tuple[float, float],
    note: str,
) -> Line:
    """Compare wall times; the models differ, so both accuracies are reported."""
    a, b = (statistics.median(side) for side in times)
    right = "test accuracy ours {:.1%}, peer {:.1%}".format(*accuracies)
    shown = "no target" if target is None else f"≥ {target:g}×"
    met = None if target is None else b / a >= target
    notes = f"median of {len(times[0])}; {note}; {right}"
    return Line("speed", name, format_seconds(a), format_seconds(b), b / a, shown, met, notes, goal=target)


def compare_fasttext(scale: float) -> Iterator[Line]:
    """Compare fits of 20 Newsgroups with the program fastText, which reads its own file."""
    train, test = load_posts(scale)
    program = text_peers.FastText(train, test)
    try:
        model = fit({}, train)
        program.learn()
        times = alternate(partial(fit, {}, train), program.learn, ROUNDS)
        training = format_seconds(program.seconds_until_saving())
        settings = " ".join(program.settings)
        note = f"{settings}, lines shuffled; the program's wall time, {training} of it before it saves its model"
        accuracies = measure_accuracy(model, test), program.measure_accuracy()
    finally:
        program.clean()
    yield program_line("20news, against fastText: fit", times, FASTTEXT_RATIO, accuracies, note)


def compare_vowpal(scale: float) -> Iterator[Line]:
    """Compare fits of 20 Newsgroups with Vowpal Wabbit in one pass over words prepared for it."""
    train, test = load_posts(scale)
    program = text_peers.VowpalWabbit(train, test)
    bits = text_peers.BITS
    variants: tuple[tuple[str, dict[str, Any], float | None], ...] = (
        (f"hashed to {bits} bits", {"hashed": bits}, VOWPAL_RATIO),
        ("words kept", {}, None),
    )
    try:
        program.learn()
        for variant, words, target in variants:
            model = fit(words, train)
            times = alternate(partial(fit, words, train), program.learn, ROUNDS)
            note = f"one pass, logistic, {bits} bits, its words prepared"
            accuracies = measure_accuracy(model, test), program.measure_accuracy()
            yield program_line(f"20news {variant}, against Vowpal Wabbit: fit", times, target, accuracies, note)
    finally:
        program.clean()


def measure_parquet_memory(scale: float) -> Iterator[Line]:
    """Measure the peak memory of a process that trains from a gigabyte of posts in Parquet."""
    path = text_data.find_posts_file(round(GIGABYTE * scale))
    measured = child.run("-m", "benchmarks.text", str(path))
    peak, ledger, seconds = (measured[key] for key in ("peak", "ledger", "seconds"))
    note = f"whole process, imports included; ledger of {format_mib(ledger)}; {format_seconds(seconds)}"
    met = peak < MAX_MIB_BEYOND_LEDGER + ledger
    yield Line("memory", "train 1 GB of posts, Parquet", format_mib(peak), "–", None, "< 1 GiB + ledger", met, note)


def train_once(path: str) -> dict[str, float]:
    """Train; return the seconds and the peak memory of this process in MiB, and the MiB of the ledger."""
    found: list[Any] = []
    roles = {text_data.TEXT: "text"}
    seconds = measure_seconds(lambda: found.append(deciban.train(path, target=text_data.TARGET, roles=roles)))
    return {"peak": machine.read_status("VmHWM"), "ledger": ledger_mib(found[0].ledger), "seconds": seconds}


def ledger_mib(ledger: Any) -> float:
    """Return the MiB of a ledger's numbers and words."""
    names = [block.names for block in ledger.schema.blocks]
    words = sum(name.nbytes for name in names if isinstance(name, Vocabulary))
    return float(ledger.nbytes + words) / 2**20


if __name__ == "__main__":
    print(json.dumps(train_once(sys.argv[1])))
