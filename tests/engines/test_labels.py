"""Labels of every kind become places among the classes, and only known labels do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deciban.engines import encode, encode_known
from deciban.errors import InputError

OBJECTS = np.array(["b", "a", "c", "a"], dtype=object)
LABELS = {
    "ints": np.array([3, 1, 2, 1]),
    "negative ints": np.array([-3, 1, -2, 1]),
    "huge ints": np.array([2**62, -(2**62), 2**62 + 1, 2**62]),
    "neighbouring huge ints": np.array([2**62, 2**62 + 1, 2**62 - 1]),
    "huge unsigned": np.array([2**64 - 1, 2**63, 2**64 - 1], np.uint64),
    "int8 from end to end": np.array([-100, 100, 45, 100], np.int8),
    "int16 from end to end": np.array([-30000, 30000, 5], np.int16),
    "uint8": np.array([255, 0, 7], np.uint8),
    "bools": np.array([True, False, True]),
    "all true": np.array([True, True]),
    "floats": np.array([0.5, -1.5, 0.5]),
    "strings": np.array(["spam", "ham", "spam", ""]),
    "bytes": np.array([b"spam", b"ham"]),
    "objects": OBJECTS,
    "Python's long ints": np.array([2**70, 1, 2**70], dtype=object),
    "days": np.array(["2020-02-01", "2020-01-01"], dtype="datetime64[D]"),
    "one label": np.array([7]),
    "no label": np.array([], dtype=int),
}
each_kind = pytest.mark.parametrize("y", LABELS.values(), ids=list(LABELS))


@each_kind
def test_classes_are_sorted_and_codes_lead_back(y):
    classes, codes = encode(y)
    assert classes.dtype == y.dtype
    assert codes.dtype == np.int32
    assert classes.tolist() == sorted(set(y.tolist()))
    assert classes[codes].tolist() == y.tolist()


@each_kind
def test_known_labels_have_their_place(y):
    classes, codes = encode(y)
    if len(y):
        np.testing.assert_array_equal(encode_known(y, classes), codes)
        np.testing.assert_array_equal(encode_known(y[:1], classes), codes[:1])


@given(
    y=arrays(
        st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint64]), st.integers(1, 9)
    )
)
def test_any_whole_numbers_lead_back(y):
    classes, codes = encode(y)
    assert classes.tolist() == sorted(set(y.tolist()))
    assert classes[codes].tolist() == y.tolist()
    np.testing.assert_array_equal(encode_known(y, classes), codes)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([1, 2, 9], [1, 2]),
        ([0], [1, 2]),
        ([-1], [1, 2]),
        ([1.5], [1, 2]),
        ([np.nan], [1.0, 2.0]),
        (["a", "z"], ["a", "b"]),
        (["1"], [1, 2]),
        ([1], ["1", "2"]),
        ([True, False], ["False", "True"]),
        (np.array(["a", None], dtype=object), np.array(["a", "b"], dtype=object)),
        (np.array([1], dtype=object), np.array(["a", "b"], dtype=object)),
        ([2**53 + 1], [2**53, 2**53 + 2]),
    ],
    ids=str,
)
def test_an_unknown_label_is_refused_and_shown(y, classes):
    with pytest.raises(InputError, match=r"not exist in the initial classes|no common order"):
        encode_known(np.asarray(y), np.asarray(classes))


@pytest.mark.parametrize(
    ("y", "classes", "expected"),
    [
        (np.array([1.0, 2.0]), np.array([1, 2]), [0, 1]),
        (np.array([2, 1], np.int8), np.array([1, 2]), [1, 0]),
        (np.array([True, False]), np.array([0, 1]), [1, 0]),
        (np.array(["b", "a"], dtype=object), np.array(["a", "b"]), [1, 0]),
        (np.array(["b"]), np.array(["a", "b", "long"]), [1]),
        (np.array([2**62 + 1], np.uint64), np.array([2**62, 2**62 + 1]), [1]),
    ],
    ids=str,
)
def test_equal_labels_of_another_type_are_the_same_class(y, classes, expected):
    assert encode_known(y, classes).tolist() == expected


@pytest.mark.parametrize("labels", [["a", 1], ["a", None], [1, None], [(1,), "a"]], ids=str)
def test_labels_without_a_common_order_are_refused(labels):
    y = np.empty(2, dtype=object)
    y[:] = labels
    with pytest.raises(InputError, match="no common order"):
        encode(y)


@pytest.mark.parametrize("n_classes", [1, 2, 8, 9, 30])
@pytest.mark.parametrize("n", [1, 5, 1000])
@pytest.mark.parametrize("kind", ["U", "S"])
def test_texts_of_few_classes_and_of_many_are_coded_in_order(n_classes, n, kind):
    y = np.random.default_rng(n).integers(0, n_classes, n).astype(kind)
    expected, places = np.unique(y, return_inverse=True)
    classes, codes = encode(y)
    assert classes.dtype == expected.dtype
    assert classes.tolist() == expected.tolist()
    assert codes.tolist() == places.tolist()
