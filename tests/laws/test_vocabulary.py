"""A vocabulary is a set of words in a fixed order: merging and finding are Python's, however the hashes fall."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.ledger import Vocabulary, vocabulary
from deciban.ledger import vocabulary as vocabulary_module
from deciban.ledger.hashing import hash_word, hash_words
from tests.timing import least_seconds

anything = st.text(st.characters(codec=None), max_size=20)
few = st.sampled_from(
    ["", " ", "a", "b", "a b", " a", "a ", "a  b", "a\0", "\0", "\ud800", "ß", "😀", "long word " * 3]
)
words = st.lists(anything | few | st.text("ab ", max_size=12), max_size=40)


def hash_by_hand(word):
    """The definition, written out once more."""
    c1, c2, c3 = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93
    low, full, top = 2**63 - 1, 2**64 - 1, 2**63

    def part(p):
        n = len(p)
        if n <= 7:
            x = int.from_bytes(p, "little") + (n << 56)
            x ^= x >> 31
            x = x * c1 & low
            x ^= x >> 29
            x = x * c2 & low
            return x ^ (x >> 32)
        h = 0
        for i in range(0, n, 8):
            h = (h ^ int.from_bytes(p[i : i + 8], "little")) * c1 & full
            h ^= h >> 32
        h = (h ^ n) * c2 & full
        return (h ^ (h >> 29)) | top

    parts = [part(p) for p in word.split(b" ")]
    h = parts[0]
    for x in parts[1:]:
        h = (h * c3 + x) & full
        h = (h ^ (h >> 32)) * c1 & full
        h = h ^ (h >> 29) | top
    return h


def utf8(word):
    return word.encode("utf-8", "surrogatepass")


def sort_by_hash(words):
    return sorted(set(words), key=lambda word: (hash_by_hand(utf8(word)), utf8(word)))


@pytest.fixture(params=["hashed", "colliding", "all alike"])
def hashes(request, monkeypatch):
    """Hashes as they are, of few values, and all the same."""
    if request.param != "hashed":
        n = 3 if request.param == "colliding" else 1

        def poor(blob, offsets):
            return np.array([len(blob[a:b]) % n for a, b in pairwise(offsets.tolist())], dtype=np.uint64)

        monkeypatch.setattr(vocabulary, "hash_words", poor)
    return request.param


@given(st.lists(st.binary(max_size=40) | st.text(" ab", max_size=30).map(str.encode), max_size=60))
def test_the_hash_is_that_of_its_definition_one_by_one_and_many_at_once(many):
    offsets = np.cumsum([0, *map(len, many)], dtype=np.int64)
    at_once = hash_words(np.frombuffer(b"".join(many), dtype=np.uint8), offsets).tolist()
    assert at_once == [hash_word(word) for word in many] == [hash_by_hand(word) for word in many]


def test_a_word_of_very_many_parts_among_others_is_hashed_in_linear_time():
    """One array operation for each part took 0.7 s for 60 000 parts."""
    many = [b"ab", b"a b c"] * 20 + [b" " * 400_000]
    offsets = np.cumsum([0, *map(len, many)], dtype=np.int64)
    blob = np.frombuffer(b"".join(many), dtype=np.uint8)
    assert hash_words(blob, offsets).tolist() == [hash_by_hand(word) for word in many]
    assert least_seconds(lambda: hash_words(blob, offsets), 2.0) <= 2.0


def test_the_hash_never_changes():
    assert hash_word(b"spam") == 0x2C2570B5F614A704
    assert hash_word(b"naive bayes classifier") == 0xCD30D039808D6C40


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_hashes_without_the_top_bit_are_those_of_one_short_part_and_differ_between_words(a, b):
    x, y = hash_word(a), hash_word(b)
    assert (x < 1 << 63) == (len(a) <= 7 and b" " not in a)
    if x < 1 << 63:
        assert (x == y) == (a == b)


@given(words)
def test_words_are_there_once_in_the_order_of_their_hashes(given_words):
    v = Vocabulary.of(given_words)
    assert list(v) == sort_by_hash(given_words) == [v[i] for i in range(len(v))] == v[:]
    assert v.hashes.tolist() == [hash_by_hand(utf8(word)) for word in v]
    assert v[::-2] == list(v)[::-2]
    assert v == Vocabulary.of(reversed(given_words))
    assert hash(v) == hash(Vocabulary.of(reversed(given_words)))
    assert pickle.loads(pickle.dumps(v)) == v


@pytest.mark.usefixtures("hashes")
class TestHoweverTheHashesFall:
    @given(a=words, b=words)
    def test_union_is_that_of_sets(self, a, b):
        v, w = Vocabulary.of(a), Vocabulary.of(b)
        union, mine, theirs = v.unite(w)
        assert sorted(union) == sorted({*a, *b})
        assert union == Vocabulary.of([*a, *b]) == w.unite(v)[0]
        assert [union[i] for i in mine] == list(v)
        assert [union[i] for i in theirs] == list(w)

    @given(a=words, b=words)
    def test_places_are_those_of_a_list(self, a, b):
        v = Vocabulary.of(a)
        listed = list(v)
        expected = [listed.index(word) if word in listed else -1 for word in b]
        assert v.places(b).tolist() == expected
        assert [word in v for word in b] == [i >= 0 for i in expected]
        w = Vocabulary.of(b)
        assert v.find(w).tolist() == v.places(list(w)).tolist()

    @given(a=words, data=st.data())
    def test_taking_some_is_the_vocabulary_of_those(self, a, data):
        v = Vocabulary.of(a)
        kept = [i for i in range(len(v)) if data.draw(st.booleans())]
        assert v.take(np.array(kept, dtype=np.intp)) == Vocabulary.of([v[i] for i in kept])

    @given(a=words, b=words)
    def test_equal_are_those_of_the_same_words(self, a, b):
        v, w = Vocabulary.of(a), Vocabulary.of(b)
        assert (v == w) == (set(a) == set(b)) == (v.digest == w.digest)


def test_it_is_a_sequence_of_words():
    v = Vocabulary.of(["ham", "spam", "eggs"])
    assert len(v) == 3
    assert v[-1] == list(v)[2]
    assert v.index("spam") == list(v).index("spam")
    assert (v.count("ham"), v.count("tea"), v.count(3)) == (1, 0, 0)
    assert 3 not in v
    assert v != ["ham", "spam", "eggs"]
    with pytest.raises(IndexError, match="3 words"):
        v[3]
    with pytest.raises(ValueError, match="'tea' is not in"):
        v.index("tea")
    assert repr(Vocabulary.of(["ham"])) == "<Vocabulary of 1: 'ham'>"


def test_no_words_are_a_vocabulary():
    nothing, some = Vocabulary.of([]), Vocabulary.of(["a", "b"])
    assert list(nothing) == []
    assert nothing.places(["a"]).tolist() == [-1]
    assert nothing.unite(some)[0] == some == some.unite(nothing)[0]
    assert nothing.unite(nothing)[0] == nothing == some.take(np.zeros(0, dtype=np.intp))


def test_words_that_are_all_known_leave_the_vocabulary_as_it_is():
    large, small = Vocabulary.of("abcdef"), Vocabulary.of("ace")
    assert large.unite(small)[0] is large


def test_very_long_words_are_words():
    long = ["x" * 100_000, "x" * 99_999 + "y", "x" * 100_000 + " y", "short"]
    v = Vocabulary.of(long[:2])
    union, _, theirs = v.unite(Vocabulary.of(long[1:]))
    assert sorted(union) == sorted(long)
    assert v.places(long).tolist() == [v.index(long[0]), v.index(long[1]), -1, -1]
    assert theirs.min() >= 0


def test_byte_ranges_are_copied_and_compared_in_chunks(monkeypatch):
    monkeypatch.setattr(vocabulary_module, "SCAN_BYTES", 7)
    monkeypatch.setattr(vocabulary_module, "MAX_VECTORISED_BYTES", 9)
    many = [bytes([65 + i % 20]) * (i * 7 % 13) for i in range(50)]
    length = np.array([len(word) for word in many])
    start = np.cumsum(length) - length
    source = np.frombuffer(b"".join(many), dtype=np.uint8)
    order = np.argsort(-length, kind="stable")
    to = np.cumsum(length[order]) - length[order]
    out = np.zeros(len(source), dtype=np.uint8)
    vocabulary_module.copy_ranges(out, to, source, start[order], length[order])
    assert out.tobytes() == b"".join(many[i] for i in order)
    assert vocabulary_module.ranges_are_equal(out, to, source, start[order], length[order]).all()
    spoiled = out.copy()
    spoiled[to[3]] ^= 1
    spoiled[to[20] + length[order][20] - 1] ^= 1
    wrong = np.flatnonzero(~vocabulary_module.ranges_are_equal(spoiled, to, source, start[order], length[order]))
    assert wrong.tolist() == [3, 20]


def test_a_hundred_thousand_words_unite_at_once():
    given_words = [f"word{i * 2654435761 % 10**9}" for i in range(150_000)]
    a, b = Vocabulary.of(given_words[:100_000]), Vocabulary.of(given_words[50_000:])
    union, mine, theirs = a.unite(b)
    assert set(union) == set(given_words)
    assert np.array_equal(np.union1d(mine, theirs), np.arange(len(union)))
    assert least_seconds(lambda: a.unite(b), 1.0) <= 1.0  # 0.02 s where nothing else runs
