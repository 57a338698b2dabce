"""Ledgers of words: the vocabulary grows and shrinks with what is learned, and nothing else shows of who met whom."""

from collections import Counter
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.errors import ForgetError, InputError, SchemaError
from deciban.ledger import Bags, Block, Counts, Ledger, Needs, Schema, Tallies, Vocabulary
from tests.laws.matrix import freeze

WORDS = ("ham", "spam", "eggs", "free money", "", "\0", "\ud800")
documents = st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from(WORDS), max_size=5)), max_size=6)
presence = pytest.mark.parametrize("presence", [False, True], ids=["counts", "presence"])


def tally_rows(rows, words, classes):
    """Tallies of [(class, Counter)], zeros left out."""
    total = np.zeros((len(classes), len(words)))
    for k, counts in rows:
        for word, n in counts.items():
            total[classes.index(k), words.index(word)] += n
    weight = np.array([[sum(k == label for k, _ in rows)] for label in classes], dtype=float).reshape(-1, 1)
    return Tallies.from_counts(Counts(total, weight))


def learn(texts, presence=False, classes=None, reading="words"):
    """The ledger of one pass over [(class, [word, …])]: only the words that occur."""
    classes = sorted({k for k, _ in texts}) if classes is None else list(classes)
    words = Vocabulary.of(word for _, text in texts for word in text)
    once = tally_rows([(k, Counter(set(text))) for k, text in texts], words, classes)
    bags = Bags(once if presence else tally_rows([(k, Counter(text)) for k, text in texts], words, classes), once)
    schema = Schema(tuple(classes), (Block("bags", len(words), words, reading=reading),))
    return Ledger(schema, once.weight[:, 0].copy(), (freeze(bags),))


def to_dictionary(ledger):
    """{class: {word: (occurrences, documents)}}, by hand from the arrays."""
    (block,), (part,) = ledger.schema.blocks, ledger.parts
    found = {label: {} for label in ledger.schema.classes}
    for tallies in (part.occurrences, part.documents):
        for v, word in enumerate(block.names):
            for i in range(tallies.start[v], tallies.start[v + 1]):
                found[ledger.schema.classes[tallies.class_code[i]]].setdefault(word, []).append(
                    float(tallies.total[i])
                )
    return found


@presence
@given(north=documents, south=documents)
def test_words_are_those_of_one_pass_however_it_is_split(presence, north, south):
    a, b = learn(north, presence), learn(south, presence)
    both = learn(north + south, presence)
    assert a + b == b + a == both
    assert (a + b).schema.fingerprint == both.schema.fingerprint
    assert (a + b).parts[0].presence is presence
    left = both - b
    assert left == learn(north, presence, both.schema.classes)
    assert left.parts[0].presence is presence


@presence
@given(north=documents, south=documents)
def test_sums_are_those_counted_by_hand(presence, north, south):
    expected = {k: {} for k, _ in north + south}
    for k, text in north + south:
        for word, n in Counter(text).items():
            old = expected[k].get(word, [0, 0])
            expected[k][word] = [old[0] + (1 if presence else n), old[1] + 1]
    assert to_dictionary(learn(north, presence) + learn(south, presence)) == expected


@presence
@given(north=documents, south=documents)
def test_without_keeps_all_words(presence, north, south):
    both = learn(north + south, presence)
    left = both.without(learn(south, presence))
    assert left.schema == both.schema
    assert left - left.empty() == learn(north, presence, both.schema.classes)
    assert left + learn(south, presence) == both


def test_a_word_that_was_never_learned_is_refused_by_name():
    some, other = learn([("a", ["ham", "ham"])]), learn([("a", ["spam"])])
    with pytest.raises(SchemaError, match="word 'spam' is not known"):
        some.without(other)
    with pytest.raises(ForgetError, match="the count of class 'a', word 'spam' is 0, and 1 would be taken away"):
        some - other
    with pytest.raises(ForgetError, match="the count of class 'a', word 'ham' is 2, and 3 would be taken away"):
        some - learn([("a", ["ham", "ham", "ham"])])
    twice = learn([("a", ["ham", "ham"]), ("a", [])])
    with pytest.raises(ForgetError, match="the number of documents of class 'a', word 'ham' is 1, and 2"):
        twice - learn([("a", ["ham"]), ("a", ["ham"])])


def test_texts_read_in_different_ways_do_not_add():
    with pytest.raises(SchemaError, match="one counts words, the other pairs"):
        learn([("a", ["ham"])]) + learn([("a", ["ham"])], reading="pairs")


def test_kept_words_and_hashed_ones_do_not_add():
    kept = learn([("a", ["ham"])])
    hashed = Ledger(Schema(("a",), (Block("bags", 1, reading="words"),)), kept.rows, kept.parts)
    for a, b in ((kept, hashed), (hashed, kept)):
        with pytest.raises(SchemaError, match="kept its words"):
            a + b
    assert (hashed + hashed).parts == (kept * 2).parts


def test_hashed_words_keep_their_places_when_they_are_forgotten():
    kept = learn([("a", ["ham"])])
    hashed = Ledger(Schema(("a",), (Block("bags", 1),)), kept.rows, kept.parts)
    assert hashed - hashed == hashed.empty()


def test_what_is_left_of_fractions_goes_with_the_last_document():
    def logs(values):
        tallies = [
            Tallies(np.array([0, 1]), np.zeros(1, np.int32), np.array([n]), np.array([[float(len(values))]]))
            for n in (sum(values), float(len(values)))
        ]
        schema = Schema(("a",), (Block("bags", 1, Vocabulary.of(["ham"])),))
        return Ledger(schema, np.array([float(len(values))]), (Bags(*tallies),))

    values = [0.1, 1e6 / 3, 0.7, 0.1]
    left = logs(values)
    for value in (values[1], values[0], values[2], values[3]):
        left = left - logs([value])
    assert list(left.schema.blocks[0].names) == []
    assert left.parts[0].occurrences.total.tolist() == []


def test_choosing_leaves_a_block_as_it_is_or_takes_some_of_its_words():
    ledger = learn([("a", ["ham", "spam", "eggs", "spam"]), ("b", ["eggs"])])
    words = ledger.schema.blocks[0].names
    assert ledger.choose([None]) == ledger
    assert ledger.choose([[]]).parts == ()
    kept = sorted([words.index("spam"), words.index("eggs")])
    assert ledger.choose([kept]) == learn([("a", ["spam", "eggs", "spam"]), ("b", ["eggs"])])
    with pytest.raises(InputError, match="rising"):
        ledger.choose([kept[::-1]])
    empty = learn([("a", [])])
    assert empty.choose([None]) == empty


def test_fingerprints_differ_between_vocabularies_and_readings():
    ledgers = [
        learn([("a", ["ham"])]),
        learn([("a", ["spam"])]),
        learn([("a", ["ham", "spam"])]),
        learn([("a", ["ham"])], reading="pairs"),
        learn([("b", ["ham"])]),
    ]
    assert len({ledger.schema.fingerprint for ledger in ledgers}) == len(ledgers)
    assert hash(ledgers[0]) == hash(learn([("a", ["ham", "ham"])]))


def test_what_reads_texts_says_how():
    assert Needs("bags", words="words, 1 to 2 of them").reading == "words, 1 to 2 of them"


@given(st.data())
def test_widened_tallies_are_those_with_features_between(data):
    d, size = data.draw(st.integers(0, 5)), data.draw(st.integers(5, 8))
    places = np.array(data.draw(st.permutations(range(size)))[:d], dtype=np.intp)
    total = np.array(data.draw(st.lists(st.integers(0, 2), min_size=2 * d, max_size=2 * d)), float).reshape(2, d)
    wide = np.zeros((2, size))
    wide[:, places] = total
    moved = Tallies.from_counts(Counts(total, np.ones((2, 1)))).map_features(places, size)
    expected = Tallies.from_counts(Counts(wide, np.ones((2, 1))))
    for name, array in expected.arrays().items():
        assert moved.arrays()[name].tolist() == array.tolist()


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_a_million_words_of_twenty_classes_are_merged_and_taken_in_seconds():
    rng = np.random.default_rng(4)
    words = [f"w{i}" for i in range(1_000_000)]

    def half(words):
        class_code = np.sort(rng.integers(0, 20, (len(words), 2), dtype=np.int32), axis=1)
        kept = np.stack([np.ones(len(words), dtype=bool), class_code[:, 0] < class_code[:, 1]], axis=1)
        start = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        twice, once = (
            Tallies(start, class_code[kept], np.full(kept.sum(), n), np.full((20, 1), 1e6)) for n in (2.0, 1.0)
        )
        schema = Schema(tuple(range(20)), (Block("bags", len(words), words),))
        return Ledger(schema, np.full(20, 1e6), (Bags(twice, once),))

    a, b = half(Vocabulary.of(words[:600_000])), half(Vocabulary.of(words[400_000:]))
    start = process_time()
    both = a + b
    left = both - b
    part = both.parts[0].take_classes(np.arange(19, -1, -1)).map_classes(np.arange(19, -1, -1), 20)
    assert process_time() - start < 20
    assert len(both.schema.blocks[0].names) == 1_000_000
    assert left == a
    assert part == both.parts[0]
    assert part.documents.class_code is part.occurrences.class_code
