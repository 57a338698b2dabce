"""Words by class: the definition, the kernels and scikit-learn count the same, in one go or in many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from deciban.kernels import execution
from deciban.ledger import Vocabulary
from deciban.text import Documents, WordCounter, Words, build_word_matrix, counting, shard
from tests.text.readers import READERS, any_text

readers = pytest.mark.parametrize("name", READERS)
HASHED = {"hashed": Words(hashed=4), "hashed pairs": Words(hashed=6, ngrams=2, stop=["the"])}
VALUED = {"log": Words(values="log"), "l1": Words(length="l1"), "l2 of logs": Words(values="log", length="l2")}
PRESENT = {"presence": Words(values="presence")}
SPECIFICATIONS = {name: words for name, (words, _) in READERS.items()} | HASHED | VALUED | PRESENT

documents = st.lists(st.tuples(any_text, st.integers(0, 3), st.sampled_from([1.0, 2.0, 0.5, 0.0])), max_size=8)


@pytest.fixture(params=["definition", "kernel"])
def way(request, monkeypatch):
    """Whether the definition counts, or kernels do, whatever the size."""
    by_kernel = request.param == "kernel"
    kernels = execution.load_kernels("tokenizer", execution.MIN_KERNEL_STEPS) if by_kernel else None
    monkeypatch.setattr(counting, "load_kernels", lambda name, work: kernels)
    monkeypatch.setattr(shard, "TEXT_CHUNK_BYTES", 64)
    monkeypatch.setattr(shard, "MIN_THREAD_BYTES", 1)
    return request.param


def count_all(words, texts, codes, weight=None, threads=1, parts=1):
    counter = WordCounter(words)
    for part in np.array_split(np.arange(len(texts)), parts):
        some = None if weight is None else np.asarray(weight)[part]
        counter.count(Documents([texts[i] for i in part]), np.asarray(codes, np.int32)[part], some, threads)
    return counter.bags(4)


def plain(words, texts, codes, weight=None):
    counter = counting.PlainCounter(words)
    keep = [i for i in range(len(texts)) if weight is None or weight[i] > 0]
    w = None if weight is None else np.asarray(weight)[keep]
    counter.count(Documents([texts[i] for i in keep]), np.asarray(codes, np.int32)[keep], w)
    return counter.bags(4)


@pytest.mark.parametrize("name", SPECIFICATIONS)
@settings(max_examples=60, deadline=None)
@given(rows=documents, parts=st.integers(1, 3), threads=st.integers(1, 3))
def test_kernels_count_what_the_definition_counts_in_any_parts_on_any_threads(name, rows, parts, threads):
    words = SPECIFICATIONS[name]
    texts, codes, weight = ([row[i] for row in rows] for i in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "load_kernels", lambda name, work: True)
        patch.setattr(shard, "TEXT_CHUNK_BYTES", 64)
        patch.setattr(shard, "MIN_THREAD_BYTES", 1)
        for given_weight in (None, weight):
            vocabulary, bags = count_all(words, texts, codes, given_weight, threads, parts)
            expected, sums = plain(words, texts, codes, given_weight)
            assert vocabulary == expected
            for mine, theirs in ((bags.occurrences, sums.occurrences), (bags.documents, sums.documents)):
                assert mine.start.tolist() == theirs.start.tolist()
                assert mine.class_code.tolist() == theirs.class_code.tolist()
                np.testing.assert_allclose(mine.total, theirs.total, rtol=1e-12)
                np.testing.assert_allclose(mine.weight, theirs.weight, rtol=1e-12)


@pytest.mark.parametrize("name", SPECIFICATIONS)
@settings(max_examples=60, deadline=None)
@given(asked=documents, known=documents)
def test_rows_of_known_words_are_the_same_by_kernels_and_by_definition(name, asked, known):
    words = SPECIFICATIONS[name]
    vocabulary = plain(words, [text for text, _, _ in known], [0] * len(known))[0]
    texts = Documents([text for text, _, _ in asked])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "load_kernels", lambda name, work: None)
        expected = build_word_matrix(words, vocabulary, texts)
        patch.setattr(counting, "load_kernels", lambda name, work: True)
        patch.setattr(shard, "TEXT_CHUNK_BYTES", 64)
        patch.setattr(shard, "MIN_THREAD_BYTES", 1)
        found = build_word_matrix(words, vocabulary, texts, threads=2)
    assert found.shape == expected.shape
    assert found.indptr.tolist() == expected.indptr.tolist()
    assert found.indices.tolist() == expected.indices.tolist()
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-12)


@readers
def test_the_matrix_is_that_of_countvectorizer(name, way):
    words, peer = READERS[name]
    texts = ["The cat sat on the mat", "", "to the cat: THE CAT!", "İ Σ ΑΣ the mat sat", "unknown words only"]
    expected = peer.fit(texts[:4]).transform(texts)
    vocabulary = Vocabulary.of(peer.get_feature_names_out().tolist())
    found = build_word_matrix(words, vocabulary, Documents(texts), threads=2)
    columns = vocabulary.places(peer.get_feature_names_out().tolist())
    assert (found.toarray()[:, columns] == expected.toarray()).all()


@pytest.mark.parametrize("length", ["l1", "l2"])
def test_lengths_are_those_of_scikit_learn(length, way):
    texts = ["a cat and a cat and a dog", "dog dog dog", "", "no such word"]
    peer = CountVectorizer().fit(texts[:3])
    vocabulary = Vocabulary.of(peer.get_feature_names_out().tolist())
    found = build_word_matrix(Words(length=length), vocabulary, Documents(texts)).toarray()
    expected = normalize(peer.transform(texts).astype(float), length).toarray()
    places = vocabulary.places(peer.get_feature_names_out().tolist())
    np.testing.assert_allclose(found[:, places], expected, rtol=1e-15)


def test_missing_documents_are_not_there(way):
    vocabulary, bags = count_all(Words(), ["the cat", None, "the dog"], [0, 0, 1])
    assert sorted(vocabulary) == ["cat", "dog", "the"]
    assert bags.weight[:2].tolist() == [[1.0], [1.0]]


def test_classes_that_become_one_are_counted_as_one(way):
    texts, codes = ["a bat", "the bat", "the cat", "one cat one"], np.array([0, 1, 2, 3], np.int32)
    counter = WordCounter(Words())
    counter.count(Documents(texts), codes)
    counter.merge_classes(np.array([0, 0, 1, 1], np.int32))
    counter.count(Documents(["a new bat"]), np.array([1], np.int32))
    vocabulary, bags = counter.bags(2)
    expected, sums = plain(Words(), [*texts, "a new bat"], [0, 0, 1, 1, 1])
    assert vocabulary == expected
    assert bags.occurrences.to_dense().total.tolist() == sums.occurrences.to_dense().total[:2].tolist()


def test_many_entries_are_added_up_on_the_way(monkeypatch):
    monkeypatch.setattr(counting, "load_kernels", lambda name, work: True)
    monkeypatch.setattr(shard, "MIN_COMPACTED_ENTRIES", 10)
    monkeypatch.setattr(shard, "TEXT_CHUNK_BYTES", 16)
    texts = [f"word{i % 7} word{i % 5} other" for i in range(200)]
    codes = [i % 3 for i in range(200)]
    vocabulary, bags = count_all(Words(), texts, codes, parts=40)
    expected, sums = plain(Words(), texts, codes)
    assert vocabulary == expected
    assert bags == sums
