"""Ledgers, score forms and families as sections: all are read as written, and inconsistent ones are refused."""

from fractions import Fraction

import numpy as np
import pytest

from deciban import persistence
from deciban.errors import ModelFileError
from deciban.families.binned import Binned
from deciban.families.count_families import Multinomial
from deciban.families.family import ClassPrior
from deciban.families.gaussian import Gaussian
from deciban.families.level_families import Categorical
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import (
    Bags,
    Block,
    Cells,
    Counts,
    Grid,
    Ledger,
    Levels,
    Moments,
    Scatter,
    Schema,
    Tallies,
    Vocabulary,
)
from deciban.persistence import Section
from deciban.persistence.family_sections import read_family, write_family
from deciban.persistence.generative_models import read_scorer, write_scorer
from deciban.persistence.ledgers import (
    OPTIONAL_ARRAYS,
    read_blocks,
    read_ledger,
    write_ledger,
)
from deciban.persistence.score_forms import read_score_form, write_score_form
from deciban.scores import Diagonal, Full, Linear, Lookup, SparseLinear, Table
from deciban.scores.linear import ImpossibleValues
from deciban.scores.lookup import Steps

CODES = np.array([0, 1, 1, 0, 1], dtype=np.int32)
NUMBERS = np.array([[1.0, -2.0], [3.5, np.nan], [2.0, 8.0], [0.0, 1e-9], [7.0, 4.0]])
FAR = np.array([[1.1, -2.3], [3.5, np.nan], [2.7e8, 8.0], [0.7, 1.3e8], [7.1, 4.9]])
UNEVEN = np.array([0.1, 0.3, 0.7, 0.9, 1 / 3])
LEVELS = np.array([[0, 2], [1, -1], [1, 0], [0, 1], [2, 2]])
NAMED = (("a", "b", "ü"), ("", "x", "y"))

SPARSE = Tallies.from_counts(Counts(np.array([[0.0, 2.0, 1.5], [3.0, 1.0, 0.0]]), np.ones((2, 1)) * 2))
ONCE = Tallies.from_counts(Counts(np.array([[0.0, 2.0, 1.0], [1.0, 1.0, 0.0]]), np.ones((2, 1)) * 2))
WORDS = Vocabulary.of(["spam", "ünïcode and more", "\ud800 \0"])

LEDGERS = {
    "bags": Ledger(
        Schema(("no", "yes"), (Block("bags", 3, WORDS, reading="words, 1 to 2 of them"),)),
        np.array([2.0, 2.0]),
        (Bags(SPARSE, ONCE),),
    ),
    "hashed bags": Ledger(Schema((1, 2), (Block("bags", 3),)), np.array([2.0, 2.0]), (Bags(ONCE, ONCE),)),
    "no words": Ledger(
        Schema((1, 2), (Block("bags", 0, Vocabulary.of([])),)), np.array([2.0, 2.0]), (Bags.empty(2, 0),)
    ),
    "counts": Ledger(
        Schema(("no", "yes"), (Block("counts", 2, ("p", "q")),)),
        np.array([2.0, 3.0]),
        (Counts.of(NUMBERS.clip(0), CODES, None, 2),),
    ),
    "tallies": Ledger(
        Schema((1, 2), (Block("counts", 2, reading="[x > 0.5]"),)),
        np.array([2.0, 3.0]),
        (Tallies.from_counts(Counts(np.array([[0.0, 2.0], [3.0, 1.0]]), np.array([[1.0], [1.0]]))),),
    ),
    "levels": Ledger(Schema((False, True), (Block("levels", 2),)), np.ones(2), (Levels.of(LEVELS, CODES, None, 2),)),
    "named levels": Ledger(
        Schema((0.5, 1.5), (Block("levels", 2, ("p", "q"), NAMED),)), np.ones(2), (Levels.of(LEVELS, CODES, None, 2),)
    ),
    "cells": Ledger(Schema((1, 2), (Block("cells", 2),)), np.ones(2), (Cells.of(LEVELS, CODES, None, 2),)),
    "moments": Ledger(Schema((1, 2), (Block("moments", 2),)), np.ones(2), (Moments.of(NUMBERS, CODES, None, 2),)),
    "scatter": Ledger(Schema((1, 2), (Block("scatter", 2),)), np.ones(2), (Scatter.of(NUMBERS, CODES, None, 2),)),
    "outliers": Ledger(Schema((1, 2), (Block("moments", 2),)), np.ones(2), (Moments.of(FAR, CODES, UNEVEN, 2),)),
    "far scatter": Ledger(Schema((1, 2), (Block("scatter", 2),)), np.ones(2), (Scatter.of(FAR, CODES, UNEVEN, 2),)),
    "grid": Ledger(Schema((1, 2), (Block("grid", 2),)), np.ones(2), (Grid.of(NUMBERS, CODES, None, 2),)),
    "mixed": Ledger(
        Schema(("a", "b"), (Block("moments", 2, ("x", "y")), Block("levels", 2, ("u", "v"), NAMED))),
        np.array([2.0, 3.0]),
        (Moments.of(NUMBERS, CODES, None, 2), Levels.of(LEVELS, CODES, None, 2)),
    ),
    "nothing": Ledger(Schema(("a",), (Block("cells", 2),)), np.zeros(1), (Cells.empty(1, 2),)),
}


def through_a_file(section, tmp_path):
    persistence.write(tmp_path / "f", section.header, section.arrays)
    return persistence.read(tmp_path / "f").section()


@pytest.mark.parametrize("name", ["outliers", "far scatter", "moments", "scatter"])
def test_ledgers_of_files_without_low_order_parts_are_read(name, tmp_path):
    """Files of earlier versions have none."""
    section = write_ledger(LEDGERS[name])
    section.arrays = {
        n: a for n, a in section.arrays.items() if not n.endswith(("weight_rest", "m2_rest", "nt_rest"))
    }
    (part,) = read_ledger(through_a_file(section, tmp_path)).parts
    for array, values in LEDGERS[name].parts[0].arrays().items():
        if array in OPTIONAL_ARRAYS:
            assert not part.arrays()[array].any()
            assert values.any() or name in ("moments", "scatter")
        else:
            np.testing.assert_array_equal(part.arrays()[array], values)


@pytest.mark.parametrize("name", LEDGERS)
def test_ledgers_come_back(name, tmp_path):
    ledger = LEDGERS[name]
    read = read_ledger(through_a_file(write_ledger(ledger), tmp_path))
    assert read == ledger
    assert read.schema == ledger.schema
    assert [type(part) for part in read.parts] == [type(part) for part in ledger.parts]
    assert list(map(type, read.schema.classes)) == list(map(type, ledger.schema.classes))
    assert read + ledger == ledger + ledger


WRONG = [
    ("bags", "schema/blocks/0/names/hashes", lambda a: a[::-1].copy(), "order of their hashes"),
    ("bags", "schema/blocks/0/names/hashes", lambda a: np.full_like(a, 7), "not those of its words"),
    ("bags", "schema/blocks/0/names/hashes", lambda a: a + np.array([1, 0, 0]), "not those of its words"),
    ("bags", "schema/blocks/0/names/hashes", lambda a: a[:2].copy(), "shape"),
    ("bags", "schema/blocks/0/names/hashes", lambda a: a.astype(np.int32), "dtype int64"),
    ("bags", "schema/blocks/0/names/offsets", lambda a: a[:3].copy(), "shape"),
    ("bags", "schema/blocks/0/names/offsets", lambda a: a.astype(np.int32), "dtype int64"),
    ("bags", "schema/blocks/0/names/offsets", lambda a: a * 2, "should rise"),
    ("bags", "schema/blocks/0/names/offsets", lambda a: a - 1, "should rise"),
    ("bags", "schema/blocks/0/names/utf8", lambda a: a[:-1].copy(), "should rise"),
    ("bags", "schema/blocks/0/names/utf8", lambda a: np.full_like(a, 0xFF), "not UTF-8"),
    ("bags", "schema/blocks/0/names/utf8", lambda a: np.full_like(a, 0x80), "not UTF-8"),
    ("bags", "schema/blocks/0/names/utf8", lambda a: np.full_like(a, ord("a")), "not those of its words"),
    ("bags", "parts/0/documents/klass", lambda a: a[:1], "shape"),
    ("bags", "parts/0/documents/start", lambda a: a[::-1].copy(), "should rise"),
    ("bags", "parts/0/documents/total", lambda a: -a, "between"),
    ("bags", "parts/0/total", lambda a: a * np.nan, "between"),
    ("no words", "parts/0/start", lambda a: np.arange(2), "shape"),
    ("counts", "rows", lambda a: a[:1], "shape"),
    ("counts", "rows", lambda a: -a, "between"),
    ("counts", "parts/0/total", lambda a: a * np.nan, "between"),
    ("counts", "parts/0/total", lambda a: a.astype(np.float32), "dtype float64"),
    ("counts", "parts/0/weight", lambda a: a[:1], "shape"),
    ("counts", "schema/blocks/0/names/offsets", lambda a: a[::2], "names for 2 features"),
    ("tallies", "parts/0/klass", lambda a: a + 1, "between 0 and 1"),
    ("tallies", "parts/0/klass", lambda a: a * 0, "in order"),
    ("tallies", "parts/0/start", lambda a: a[::-1].copy(), "should rise"),
    ("levels", "parts/0/offset", lambda a: a * 2, "should rise"),
    ("levels", "parts/0/table", lambda a: a[:, :-1].copy(), "should rise"),
    ("named levels", "schema/blocks/0/level_starts", lambda a: np.array([0, 2, 6]), "more levels are counted"),
    ("named levels", "schema/blocks/0/levels/utf8", lambda a: np.full_like(a, ord("a")), "a level twice"),
    ("cells", "parts/0/cell", lambda a: a - 9, "between"),
    ("cells", "parts/0/cell", lambda a: a + (1 << 40), "between"),
    ("moments", "parts/0/m2", lambda a: -a - 1, "between"),
    ("moments", "parts/0/mean", lambda a: a.T[:1].copy(), "shape"),
    ("scatter", "parts/0/comoment", lambda a: -a - 1, "negative"),
    ("scatter", "parts/0/mean", lambda a: a[:, :, :1].copy(), "shape"),
    ("outliers", "parts/0/m2_rest", lambda a: a[:1].copy(), "shape"),
    ("outliers", "parts/0/m2_rest", lambda a: a + 1e3, "below the last place of m2"),
    ("outliers", "parts/0/m2_rest", lambda a: a * np.nan, "between"),
    ("outliers", "parts/0/m2_rest", lambda a: a.astype(np.float32), "dtype float64"),
    ("outliers", "parts/0/weight_rest", lambda a: a + 1.0, "below the last place of weight"),
    ("far scatter", "parts/0/comoment_rest", lambda a: a + 1e3, "below the last place of comoment"),
    ("far scatter", "parts/0/comoment_rest", lambda a: a[:, :1].copy(), "shape"),
    ("far scatter", "parts/0/weight_rest", lambda a: a * np.inf, "between"),
    ("grid", "parts/0/cell", lambda a: a[::-1].copy(), "in order"),
    ("grid", "parts/0/cell", lambda a: a * 0 + ((1 << 63) - 1), "between"),
    ("grid", "parts/0/bits", lambda a: a * 0 + 6, "between"),
    ("grid", "parts/0/bits", lambda a: a * 0 + 7, "where its bits say"),
    ("grid", "parts/0/table", lambda a: a[:, 1:].copy(), "shape"),
]


@pytest.mark.parametrize(("name", "array", "change", "why"), WRONG)
def test_arrays_that_do_not_agree_are_refused(name, array, change, why, tmp_path):
    section = write_ledger(LEDGERS[name])
    section.arrays = {**section.arrays, array: change(section.arrays[array])}
    with pytest.raises(ModelFileError, match=why):
        read_ledger(through_a_file(section, tmp_path))


@pytest.mark.parametrize(("name", "shared"), [("bags", False), ("hashed bags", True)])
def test_where_only_presence_is_counted_it_is_written_and_read_once(name, shared, tmp_path):
    section = write_ledger(LEDGERS[name])
    assert ("parts/0/documents/total" in section.arrays) is not shared
    part = read_ledger(through_a_file(section, tmp_path)).parts[0]
    assert part.presence is shared


def test_words_stay_where_they_lie_in_the_file_and_an_outline_does_not_look_at_them(tmp_path):
    section = through_a_file(write_ledger(LEDGERS["bags"]), tmp_path)
    (block,) = read_blocks(section.part("schema"), names=True)
    assert block == LEDGERS["bags"].schema.blocks[0]
    assert not any(array.flags.owndata for array in (block.names.blob, block.names.offsets, block.names.hashes))
    unread = {name: array for name, array in section.arrays.items() if "names" not in name}
    assert read_blocks(Section(section.header, unread, file="f").part("schema")) == (
        Block("bags", 3, reading="words, 1 to 2 of them"),
    )


def test_a_word_that_begins_within_a_character_is_refused(tmp_path):
    section = write_ledger(LEDGERS["bags"])
    offsets, at = WORDS.offsets.copy(), [word[0] for word in WORDS].index("ü")
    offsets[max(at, 1)] = offsets[at] + 1
    section.arrays = {**section.arrays, "schema/blocks/0/names/offsets": offsets}
    with pytest.raises(ModelFileError, match="not UTF-8"):
        read_ledger(through_a_file(section, tmp_path))


def test_words_of_equal_hashes_are_in_the_order_of_their_bytes(tmp_path):
    section = write_ledger(LEDGERS["bags"])
    offsets, name = np.array([0, 1, 2, 4]), "schema/blocks/0/names/"
    for utf8 in (b"baab", b"aaab"):
        words = np.frombuffer(utf8, dtype=np.uint8)
        changed = {name + "utf8": words, name + "offsets": offsets, name + "hashes": np.full(3, 7)}
        section.arrays = {**section.arrays, **changed}
        with pytest.raises(ModelFileError, match="order of their hashes, each word once"):
            read_ledger(through_a_file(section, tmp_path))


def test_a_ledger_that_would_not_be_read_is_not_written():
    bad = Ledger(Schema((1,), (Block("counts", 1),)), np.ones(1), (Counts(np.array([[np.inf]]), np.ones((1, 1))),))
    with pytest.raises(ModelFileError, match="cannot be written to a file: in parts/0, the array 'total'"):
        write_ledger(bad)


@pytest.mark.parametrize("label", [(1, 2), None, Fraction(1, 2), float("nan")])
def test_a_label_that_files_cannot_name_is_refused(label):
    with pytest.raises(ModelFileError, match="texts and numbers"):
        write_ledger(Ledger(Schema((label,), ()), np.ones(1), ()))


TWO = np.array([[0.5, -1.0], [2.0, 0.25]])
FORMS = {
    "linear": (Linear(TWO, np.array([0.0, 1.0])), NUMBERS),
    "barrier": (
        Linear(TWO, np.zeros(2), -TWO, 0.5, None, ImpossibleValues(np.eye(2), np.zeros((2, 2)))),
        NUMBERS,
    ),
    "counts": (Linear(TWO, np.zeros(2), -TWO, None, "log_factorial"), NUMBERS.clip(0)),
    "endless": (Linear(TWO, np.zeros(2), threshold=-np.inf), NUMBERS),
    "sparse": (
        SparseLinear(
            np.array([0, 1, 3]), np.array([1, 0, 1], np.int32), np.array([0.5, 1.0, 2.0]), np.zeros(2), np.ones(2),
            np.array([-1.0, -2.0]), np.ones(2), None, np.array([True, False]), np.array([False, True]),
        ),
        np.nan_to_num(NUMBERS.clip(0)),
    ),
    "lookup": (Lookup(np.log([[0.2, 0.8, 1.0], [1.0, 0.5, 0.5]]), np.array([0, 2, 3]), np.zeros((2, 2))), LEVELS),
    "impossible": (Lookup(np.array([[0.0, -np.inf]] * 2), np.array([0, 1, 2]), np.full((2, 2), -np.inf)), LEVELS),
    "steps": (Steps(np.array([2.0, 1.0]), np.array([0, 1, 2]), np.log([[0.2, 0.8, 0.5, 0.5]] * 2)), NUMBERS),
    "diagonal": (Diagonal(TWO, TWO**2), NUMBERS),
    "full": (Full(TWO, np.array([[[2.0, 1.0], [1.0, 3.0]]])), NUMBERS),
    "table": (Table(np.array([[0, 2], [1, 0]]), TWO**2, (3, 3), 0.5, True), LEVELS),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_score_forms_come_back(name, tmp_path):
    form, X = FORMS[name]
    read = read_score_form(through_a_file(write_score_form(form, 2), tmp_path), 2, 2)
    assert type(read) is type(form)
    assert np.array_equal(read.log_likelihoods(X), form.log_likelihoods(X))


@pytest.mark.parametrize(
    ("name", "array", "change", "why"),
    [
        ("linear", "weights", lambda a: a[:, :1].copy(), "shape"),
        ("linear", "bias", lambda a: a * np.inf, "between"),
        ("barrier", "barrier/on", lambda a: a + 1, "between"),
        ("sparse", "klass", lambda a: a + 100, "between"),
        ("sparse", "start", lambda a: a + 1, "should rise"),
        ("sparse", "hard", lambda a: a[:1], "shape"),
        ("lookup", "offset", lambda a: np.array([0, 9, 3]), "should rise"),
        ("lookup", "log_theta", lambda a: a * np.nan, "between"),
        ("steps", "cuts", lambda a: a * np.nan, "between"),
        ("steps", "start", lambda a: np.array([0, 2, 2]), "in order"),
        ("steps", "log_theta", lambda a: a[:, 1:].copy(), "shape"),
        ("diagonal", "variance", lambda a: a * 0, "between"),
        ("full", "covariance", lambda a: -a, "positive definite"),
        ("table", "sizes", lambda a: a - 2, "beyond the levels"),
        ("table", "cell", lambda a: a - 3, "between"),
    ],
)
def test_forms_that_do_not_agree_are_refused(name, array, change, why, tmp_path):
    section = write_score_form(FORMS[name][0], 2)
    section.arrays = {**section.arrays, array: change(section.arrays[array])}
    with pytest.raises(ModelFileError, match=why):
        read_score_form(through_a_file(section, tmp_path), 2, 2)


@pytest.mark.parametrize(
    "family",
    [
        Binned(0.5),
        Categorical(1.0, "smooth", (3, 4), "unseen", 7),
        Multinomial(np.array([0.5, 2.0])),
        Gaussian("tied", 0.1),
    ],
    ids=lambda family: type(family).__name__,
)
def test_families_come_back(family, tmp_path):
    read = read_family(through_a_file(write_family(family, 2), tmp_path), 2)
    assert repr(read) == repr(family)


@pytest.mark.parametrize(
    ("family", "name", "value", "why"),
    [
        (Gaussian(), "covariance", "round", "one of"),
        (Gaussian(), "prior_rows", -1, "from 0"),
        (Gaussian(), "shrinkage", 2.0, "from 0 to 1"),
        (Gaussian(), "colour", "red", "has no 'colour'"),
        (Multinomial(), "alpha", "inf", "from 0"),
        (Multinomial(), "family", "Family", "one of"),
        (Categorical(), "most", 0, "whole number"),
        (Categorical(), "min_levels", [10**9], "should be an array"),
    ],
)
def test_assumptions_that_nobody_can_make_are_refused(family, name, value, why):
    section = write_family(family, 2)
    with pytest.raises(ModelFileError, match=why):
        read_family(section.put(name, value), 2)


def test_min_levels_are_bounded():
    with pytest.raises(ModelFileError, match="min_levels"):
        write_family(Categorical(min_levels=(1 << 40,)), 1)


def test_a_model_of_several_blocks_comes_back(tmp_path):
    families = (Gaussian(prior_rows=1.0), Categorical(holes="unseen"))
    before = GenerativeModel(
        Assumption(families, ClassPrior("given", given=(0.25, 0.75)), LEDGERS["mixed"] * 0.5), LEDGERS["mixed"]
    )
    read = read_scorer(through_a_file(write_scorer(before), tmp_path))
    assert read.ledger == before.ledger
    assert read.complete == before.complete
    parts = [NUMBERS, LEVELS]
    assert np.array_equal(read.scores(parts, "posterior", 1), before.scores(parts, "posterior", 1))
    assert list(read.feature_names) == ["x", "y", "u", "v"]


def test_a_model_whose_parts_are_of_different_models_is_refused(tmp_path):
    one = write_scorer(GenerativeModel(Assumption((Gaussian(),), ClassPrior()), LEDGERS["moments"]))
    other = write_scorer(GenerativeModel(Assumption((Binned(),), ClassPrior()), LEDGERS["grid"]))
    mixed = Section({**one.header, "families": other.header["families"]}, one.arrays)
    with pytest.raises(ModelFileError, match="takes grid of x, not moments of x"):
        read_scorer(through_a_file(mixed, tmp_path))
