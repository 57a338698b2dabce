"""A kernel encodes texts as Arrow does, whatever they hold."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.kernels import execution
from deciban.sources import arrow_cells as level_encoder
from deciban.sources.arrow_cells import LevelEncoder

TEXTS = st.one_of(
    st.none(),
    st.text(max_size=5),
    st.sampled_from(["", "a", "a\0", "b" * 15, "b" * 15 + "x", "naïve café", "😀" * 3]),
)


@pytest.fixture(autouse=True)
def kernels_for_every_size(monkeypatch):
    monkeypatch.setattr(level_encoder, "STEPS_PER_TEXT", execution.MIN_KERNEL_STEPS)


def by_definition(values, known, grows):
    names, codes = list(known), []
    for value in values:
        if value is not None and value not in names and grows:
            names.append(value)
        codes.append(-1 if value is None else names.index(value) if value in names else len(names))
    return codes, names


@pytest.mark.parametrize("grows", [True, False])
@given(
    st.lists(TEXTS, min_size=1, max_size=40),
    st.lists(st.text(max_size=3), unique=True, max_size=5),
    st.integers(0, 5),
)
def test_codes_are_those_of_the_definition(grows, values, known, offset):
    names = LevelEncoder(known, grows=grows)
    array = pa.array([*["skipped"] * offset, *values], pa.string()).slice(offset)
    expected, listed = by_definition(values, known, grows)
    codes = names.encode(array)
    assert [None if c < 0 else (names.list[c] if c < len(names) else "?") for c in codes] == [
        None if c < 0 else (listed[c] if c < len(listed) else "?") for c in expected
    ]
    np.testing.assert_array_equal(names.encode(array), names.encode(array.dictionary_encode()))


def test_more_names_than_the_table_has_capacity_for():
    values = pa.array([f"n{i % 3000}" for i in range(9000)])
    names = LevelEncoder(grows=True)
    for start in range(0, 9000, 1000):
        codes = names.encode(values.slice(start, 1000))
        assert [names.list[c] for c in codes] == values.slice(start, 1000).to_pylist()
    assert len(names) == 3000
