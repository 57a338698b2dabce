"""Text from raw strings: against CountVectorizer + MultinomialNB, fastText and Vowpal Wabbit; and memory.

Where a corpus or a peer is not there the line says so and has no verdict.
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

from . import child, memory, text_data, text_peers
from .case import Group, Line, format_mib, format_seconds
from .data import DataMissingError
from .text_data import MEGABYTE, Corpus
from .timing import agreement, alternate, clock, speed_line

ROUNDS = 5
LIST, COLUMN, BIGRAMS, PREDICT, FASTTEXT, VOWPAL = 14.0, 17.0, 30.0, 8.0, 15.0, 2.0
REPEATED = 50 * MEGABYTE
GIGABYTE = 1000 * MEGABYTE
LIMIT_MIB = 1024.0
"""What fitting a gigabyte may take beyond its ledger."""

Job = tuple[str, Callable[[], Iterator[Line]]]


def jobs(group: Group, scale: float) -> Iterator[Job]:
    """The measurements of one group, named as `python -m benchmarks --only` matches them."""
    if group == "speed":
        work: dict[str, Callable[[float], Iterator[Line]]] = {
            "list": fit_list,
            "column": fit_columns,
            "bigrams": fit_bigrams,
            "predict": predict,
            "fastText": against_fasttext,
            "Vowpal Wabbit": against_vowpal,
        }
    else:
        work = {"Parquet": parquet_memory} if group == "memory" else {}
    for name, measure in work.items():
        yield f"{group} text {name}", partial(present, group, name, partial(measure, scale))


def present(group: Group, name: str, measure: Callable[[], Iterator[Line]]) -> Iterator[Line]:
    """The lines, or one that says what is not there."""
    try:
        yield from measure()
    except (DataMissingError, text_peers.PeerMissingError) as absent:
        yield Line(group, f"text {name}", "–", "absent", None, "not measured", None, str(absent))


def ours(**words: Any) -> Any:
    """Our classifier with words read so."""
    return deciban.TextClassifier(words=deciban.Words(**words))


def learn(words: dict[str, Any], corpus: Corpus) -> Any:
    """From a list of strings to a fitted model."""
    return ours(**words).fit(*corpus)


def posts(scale: float) -> tuple[Corpus, Corpus]:
    """20 Newsgroups by date, to learn from and to be judged by."""
    parts = text_data.newsgroups()
    return parts["train"].share(scale), parts["test"].share(scale)


def compare_fits(name: str, documents: Any, corpus: Corpus, judged: list[str], target: float, **peer: Any) -> Line:
    """From documents to a fitted model; ours reads `documents`, the peer always a list of strings."""
    labels = corpus.labels
    words = {"ngrams": peer.get("ngram_range", 1)}

    def fit_ours() -> Any:
        return ours(**words).fit(documents, labels)

    def fit_peer() -> Any:
        return text_peers.scikit_learn(**peer).fit(corpus.documents, labels)

    same = agreement(fit_ours(), fit_peer(), judged)
    times = alternate(fit_ours, fit_peer, ROUNDS)
    speed = corpus.nbytes / MEGABYTE / statistics.median(times[0])
    return speed_line(name, times, target, same, f"{corpus.nbytes / MEGABYTE:.0f} MB, ours {speed:.0f} MB/s")


def fit_list(scale: float) -> Iterator[Line]:
    """20 Newsgroups from a list of strings."""
    train, test = posts(scale)
    yield compare_fits("20news list of str: fit", train.documents, train, test.documents, LIST)


def fit_columns(scale: float) -> Iterator[Line]:
    """The same from columns of Arrow and polars."""
    import polars
    import pyarrow as pa

    train, test = posts(scale)
    columns = {"Arrow": pa.array(train.documents), "polars": polars.Series("post", train.documents)}
    for kind, column in columns.items():
        yield compare_fits(f"20news {kind} column: fit", column, train, test.documents, COLUMN)


def fit_bigrams(scale: float) -> Iterator[Line]:
    """Words and pairs of words of many short sentences."""
    once = text_data.sentences()
    corpus = text_data.repeated(once, round(REPEATED * scale))
    name = f"rt-polarity ×{len(corpus.documents) // len(once.documents)}, uni + bigrams: fit"
    yield compare_fits(name, corpus.documents, corpus, once.documents, BIGRAMS, ngram_range=(1, 2))


def predict(scale: float) -> Iterator[Line]:
    """The test posts of 20 Newsgroups, from raw strings to classes."""
    train, test = posts(scale)
    models = learn({}, train), text_peers.scikit_learn().fit(*train)
    same = agreement(*models, test.documents)
    run_ours, run_peer = (partial(model.predict, test.documents) for model in models)
    yield speed_line("20news list of str: predict", alternate(run_ours, run_peer, ROUNDS), PREDICT, same)


def hits(model: Any, test: Corpus) -> float:
    """The share of documents named correctly."""
    return float(np.mean(model.predict(test.documents) == test.labels))


def program_line(
    name: str,
    times: tuple[list[float], list[float]],
    target: float | None,
    accuracies: tuple[float, float],
    note: str,
) -> Line:
    """Wall times side by side; the models are not the same, so both accuracies are told."""
    a, b = (statistics.median(side) for side in times)
    right = "test accuracy ours {:.1%}, peer {:.1%}".format(*accuracies)
    shown = "no target" if target is None else f"≥ {target:g}×"
    met = None if target is None else b / a >= target
    notes = f"median of {len(times[0])}; {note}; {right}"
    return Line("speed", name, format_seconds(a), format_seconds(b), b / a, shown, met, notes, goal=target)


def against_fasttext(scale: float) -> Iterator[Line]:
    """The same posts learned by fastText's program, from its own file."""
    train, test = posts(scale)
    program = text_peers.FastText(train, test)
    try:
        model = learn({}, train)
        program.learn()
        times = alternate(partial(learn, {}, train), program.learn, ROUNDS)
        training = format_seconds(program.until_saving())
        settings = " ".join(program.settings)
        note = f"{settings}, lines shuffled; the program's wall time, {training} of it before it saves its model"
        accuracies = hits(model, test), program.accuracy()
    finally:
        program.clean()
    yield program_line("20news, against fastText: fit", times, FASTTEXT, accuracies, note)


def against_vowpal(scale: float) -> Iterator[Line]:
    """The same posts learned by Vowpal Wabbit in one pass over words prepared for it."""
    train, test = posts(scale)
    program = text_peers.VowpalWabbit(train, test)
    bits = text_peers.BITS
    ways: tuple[tuple[str, dict[str, Any], float | None], ...] = (
        (f"hashed to {bits} bits", {"hashed": bits}, VOWPAL),
        ("words kept", {}, None),
    )
    try:
        program.learn()
        for way, words, target in ways:
            model = learn(words, train)
            times = alternate(partial(learn, words, train), program.learn, ROUNDS)
            note = f"one pass, logistic, {bits} bits, its words prepared"
            accuracies = hits(model, test), program.accuracy()
            yield program_line(f"20news {way}, against Vowpal Wabbit: fit", times, target, accuracies, note)
    finally:
        program.clean()


def parquet_memory(scale: float) -> Iterator[Line]:
    """The height of a whole process that trains from a gigabyte of posts in Parquet."""
    path = text_data.parquet_of_posts(round(GIGABYTE * scale))
    measured = child.run("-m", "benchmarks.text", str(path))
    height, ledger, seconds = (measured[key] for key in ("height", "ledger", "seconds"))
    limit = LIMIT_MIB + ledger
    note = f"whole process, imports included; ledger of {format_mib(ledger)}; {format_seconds(seconds)}"
    met = height < limit
    yield Line(
        "memory", "train 1 GB of posts, Parquet", format_mib(height), "–", None, "< 1 GiB + ledger", met, note
    )


def train_once(path: str) -> dict[str, float]:
    """Seconds and MiB of this process when it has trained, and MiB of the ledger that came of it."""
    found: list[Any] = []
    roles = {text_data.TEXT: "text"}
    seconds = clock(lambda: found.append(deciban.train(path, target=text_data.TARGET, roles=roles)))
    return {"height": memory.status("VmHWM"), "ledger": size_of(found[0].ledger), "seconds": seconds}


def size_of(ledger: Any) -> float:
    """MiB of the numbers and of the words they are about."""
    names = [block.names for block in ledger.schema.blocks]
    words = sum(name.nbytes for name in names if isinstance(name, Vocabulary))
    return float(ledger.nbytes + words) / 2**20


if __name__ == "__main__":
    print(json.dumps(train_once(sys.argv[1])))
