"""Names of levels are found where they lie, whether one or many are requested about."""

import pyarrow as pa
import pytest

from deciban.sources.arrow_cells import MAX_LINEAR_SEARCHES, LevelEncoder, LevelNames

WORDS = ["née", "", "x", "007", "long enough to be no short text"]


@pytest.fixture(params=[pa.string(), pa.large_string()], ids=str)
def known(request):
    return LevelNames(pa.array(["before", *WORDS, "after"], request.param).slice(1, len(WORDS)))


def test_it_is_a_sequence_of_its_names(known):
    assert list(known) == WORDS
    assert [known[i] for i in range(len(known))] == WORDS
    assert known[1:3] == WORDS[1:3]
    assert "x" in known
    assert "before" not in known


@pytest.mark.parametrize("times", [1, MAX_LINEAR_SEARCHES, MAX_LINEAR_SEARCHES + 2])
def test_places_are_the_same_however_often_they_are_asked_for(known, times):
    requested = ["x", "after", None, "née", "", "x"]
    for _ in range(times):
        places = known.find(requested)
    assert places == [
        WORDS.index(word) if word in WORDS else -1 if word is None else len(WORDS) for word in requested
    ]


def test_nothing_asked_is_nothing_found(known):
    assert known.find([]) == []
    assert known.find([None]) == [-1]
    assert LevelNames(pa.array([], pa.string())).find(["x"]) == [0]


@pytest.mark.parametrize("dictionary", [False, True])
def test_a_column_gets_the_codes_that_a_list_of_names_gives(known, dictionary):
    column = pa.array(["x", None, "after", "007", "x"])
    column = column.dictionary_encode() if dictionary else column
    assert (
        LevelEncoder(known).encode(column).tolist() == LevelEncoder(WORDS).encode(column).tolist() == [2, -1, 5, 3, 2]
    )


def test_one_row_with_a_dictionary_of_many_words_is_one_word():
    words = pa.array([f"w{i}" for i in range(1000)])
    row = pa.DictionaryArray.from_arrays(pa.array([7], pa.int32()), words)
    requested = []

    class Noting(LevelNames):
        def find(self, words):
            requested.extend(words)
            return super().find(words)

    assert LevelEncoder(Noting(words)).encode(row).tolist() == [7]
    assert requested == ["w7"]
