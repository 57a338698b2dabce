"""A ledger aligns features by name, refuses what cannot be aligned, and adds like its statistics."""

from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deciban.errors import ForgetError, InputError, SchemaError, UndefinedError
from deciban.ledger import Block, Cells, Counts, Ledger, Levels, Schema, Tallies
from tests.laws.matrix import KINDS, assert_same, freeze, rows_of


def count_ledger(classes=("ham", "spam"), names=("a", "b", "c"), total=None, weight=None):
    """A ledger of counts."""
    total = np.arange(1.0, 1 + len(classes) * 3).reshape(len(classes), 3) if total is None else np.array(total)
    rows = np.full(len(classes), 2.0) if weight is None else np.array(weight)
    return Ledger(Schema(tuple(classes), (Block("counts", 3, names),)), rows, (Counts(total, rows[:, None]),))


def level_ledger(names, levels, X):
    """A ledger of named levels, one class."""
    part = Levels.of(np.array(X), np.zeros(len(X), np.int32), None, 1)
    return Ledger(Schema(("k",), (Block("levels", len(levels), names, levels),)), np.array([float(len(X))]), (part,))


def named_counts(ledger):
    """{feature: {level: count}} of the only class."""
    (block,) = ledger.schema.blocks
    tables = ledger.parts[0].tables()
    return {
        name: {level: n for level, n in zip(levels, table[0].tolist()) if n}
        for name, levels, table in zip(block.names, block.levels, tables)
    }


def test_classes_are_united_in_order():
    both = count_ledger(("ham", "spam")) + count_ledger(("eggs", "ham"))
    assert both.schema.classes == ("eggs", "ham", "spam")
    assert both.rows.tolist() == [2, 4, 2]
    assert both.parts[0].total.tolist() == [[1, 2, 3], [5, 7, 9], [4, 5, 6]]


def test_features_are_lined_up_by_name():
    mixed = count_ledger(names=("c", "a", "b"), total=[[3, 1, 2], [6, 4, 5]])
    assert count_ledger() + mixed == count_ledger() * 2
    assert count_ledger() - mixed == count_ledger() * 0


@pytest.mark.parametrize("of", [Levels.of, Cells.of])
def test_named_levels_are_united(of):
    def ledger(levels, X):
        block = Block("levels" if of == Levels.of else "cells", 1, ("colour",), (levels,))
        part = of(np.array(X), np.zeros(len(X), np.int32), None, 1)
        return Ledger(Schema(("k",), (block,)), np.array([float(len(X))]), (part,))

    both = ledger(("red", "blue"), [[0], [1], [1]]) + ledger(("blue", "green"), [[0], [1]])
    assert both.schema.blocks[0].levels == (("blue", "green", "red"),)
    counts = both.parts[0].table if of == Levels.of else both.parts[0].count
    assert counts.tolist() == [[3, 1, 1]]


def test_named_levels_follow_their_feature_when_it_moves():
    mine = level_ledger(("x", "y"), (("p", "q"), ("r", "s")), [[0, 1]])
    theirs = level_ledger(("y", "x"), (("p", "q"), ("r", "s")), [[0, 1]])
    assert named_counts(mine + theirs) == {"x": {"p": 1, "s": 1}, "y": {"s": 1, "p": 1}}


def test_the_order_of_merging_does_not_show_in_named_levels():
    a = level_ledger(("x",), (("red", "blue"),), [[0], [1]])
    b = level_ledger(("x",), (("green", "red"),), [[0], [1]])
    assert named_counts(a + b) == named_counts(b + a) == {"x": {"red": 2, "blue": 1, "green": 1}}


NAMES = ("ash", "beech", "cedar", "elm", "fir")


@st.composite
def trees(draw):
    """Rows of two features of named levels, in two classes."""
    n = draw(st.integers(0, 8))
    return [(draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES)), draw(st.integers(0, 1))) for _ in range(n)]


def learn_trees(rows, kind):
    """The ledger of one pass over such rows: only the names that occur, in order."""
    names = [sorted({row[j] for row in rows}) for j in range(2)]
    X = np.array([[names[j].index(row[j]) for j in range(2)] for row in rows], dtype=np.int64).reshape(-1, 2)
    codes = np.array([row[2] for row in rows], dtype=np.int32)
    part = (Levels if kind == "levels" else Cells).of(X, codes, None, 2)
    block = Block(kind, 2, ("x", "y"), tuple(map(tuple, names)))
    return Ledger(Schema((0, 1), (block,)), np.bincount(codes, minlength=2).astype(float), (freeze(part),))


@pytest.mark.parametrize("kind", ["levels", "cells"])
@given(north=trees(), south=trees())
def test_named_levels_are_those_of_one_pass_however_it_is_split(kind, north, south):
    both = learn_trees(north + south, kind)
    assert learn_trees(north, kind) + learn_trees(south, kind) == both
    assert both - learn_trees(south, kind) == learn_trees(north, kind)
    assert both - learn_trees(north, kind) == learn_trees(south, kind)


@pytest.mark.parametrize("kind", ["levels", "cells"])
@given(north=trees(), south=trees())
def test_without_keeps_the_schema(kind, north, south):
    both = learn_trees(north + south, kind)
    left = both.without(learn_trees(south, kind))
    assert left.schema == both.schema
    assert left - left.empty() == learn_trees(north, kind)
    assert left + learn_trees(south, kind) == both


def test_without_what_was_never_learned_is_refused_by_name():
    few, other = level_ledger(("x",), (("red",),), [[0]]), level_ledger(("x",), (("blue", "red"),), [[0], [1]])
    with pytest.raises(SchemaError, match="'blue'"):
        few.without(other)
    with pytest.raises(SchemaError, match="'eggs'"):
        count_ledger().without(count_ledger(classes=("eggs", "ham")))
    with pytest.raises(ForgetError, match="class 'ham'"):
        count_ledger().without(count_ledger() * 2)
    assert (
        count_ledger().without(count_ledger(names=("c", "a", "b"), total=[[3, 1, 2], [6, 4, 5]]))
        == count_ledger() * 0
    )


@pytest.mark.thorough(reason="many rows, classes or draws: seconds")
def test_a_million_named_levels_unite_in_seconds():
    names = [f"{i:07d}" for i in range(1_000_000)]
    halves = names[: len(names) * 2 // 3], names[len(names) // 3 :]
    a, b = (level_ledger(("x",), (tuple(half),), np.arange(len(half))[:, None]) for half in halves)
    start = process_time()
    both = a + b
    assert both.schema.blocks[0].levels == (tuple(names),)
    left = both - b
    assert process_time() - start < 20
    assert left == a


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(data=st.data())
def test_choosing_features_is_counting_them_alone(kind, data):
    rows = data.draw(rows_of(kind))
    chosen = data.draw(st.permutations(range(rows.d)))[: data.draw(st.integers(0, rows.d))]
    whole = Ledger(
        Schema(tuple(range(rows.K)), (Block("counts", rows.d, tuple("xyz"[: rows.d])), Block("counts", 3))),
        np.ones(rows.K),
        (rows.statistic(), count_ledger(classes=range(rows.K)).parts[0]),
    )
    if kind.name.startswith("cells") and 0 < len(chosen) < rows.d:
        with pytest.raises(UndefinedError, match="joint table"):
            whole.choose([chosen, []])
        return
    part = whole.choose([chosen, [2]])
    assert part.schema.blocks[-1] == Block("counts", 1)
    assert part.parts[-1].total.tolist() == whole.parts[1].total[:, 2:].tolist()
    assert len(part.parts) == 1 + bool(chosen)
    if chosen:
        alone = kind.of(rows.X[:, chosen], rows.codes, rows.weight, rows.K)
        assert part.schema.blocks[0].names == tuple("xyz"[j] for j in chosen)
        assert_same(part.parts[0], alone.to_dense() if isinstance(alone, Tallies) else alone)


def test_choosing_for_other_blocks_than_there_are_is_refused():
    with pytest.raises(InputError, match="2 entries for 1 blocks"):
        count_ledger().choose([[0], [1]])


def test_levels_with_and_without_names_are_not_mixed():
    named = level_ledger(("x",), (("red", "blue"),), [[0], [1]])
    coded = Ledger(Schema(("k",), (Block("levels", 1, ("x",)),)), named.rows, named.parts)
    with pytest.raises(SchemaError):
        named + coded


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (count_ledger(names=("a", "b", "d")), r"only in the first \['c'\], only in the second \['d'\]"),
        (count_ledger(classes=(1, 2)), r"\['ham', 'spam'\] and \[1, 2\]"),
        (
            Ledger(Schema(("ham",), (Block("moments", 3),)), np.ones(1), (Counts.empty(1, 3),)),
            "one counts counts, the other moments",
        ),
        (
            Ledger(Schema(("ham",), (Block("counts", 2),)), np.ones(1), (Counts.empty(1, 2),)),
            "one has 3 features, the other 2",
        ),
        (Ledger(Schema(("ham",), ()), np.ones(1), ()), "one has 1 blocks of features, the other 0"),
    ],
    ids=["feature names", "kinds of class", "kinds of statistic", "widths", "blocks"],
)
def test_what_cannot_be_lined_up_is_refused_naming_the_difference(other, words):
    with pytest.raises(SchemaError, match=words):
        count_ledger() + other
    with pytest.raises(SchemaError):
        other - count_ledger()


def test_a_name_that_stands_for_two_features_is_refused():
    with pytest.raises(SchemaError, match="'a'"):
        count_ledger(names=("a", "a", "b")) + count_ledger(names=("a", "b", "b"))


def test_taking_away_too_much_names_the_class_and_changes_nothing():
    few, many = count_ledger(weight=[2, 2]), count_ledger(weight=[2, 3])
    before = few.rows.copy(), few.parts[0].total.copy()
    with pytest.raises(ForgetError, match="class 'spam' is 2, and 3 would be taken away"):
        few - many
    with pytest.raises(ForgetError, match="'eggs'"):
        few - count_ledger(classes=("eggs", "ham"))
    assert (few.rows == before[0]).all()
    assert (few.parts[0].total == before[1]).all()


def test_taking_away_a_class_that_no_row_has_is_nothing():
    nobody = count_ledger(classes=("eggs", "ham"), total=np.zeros((2, 3)), weight=[0, 0])
    left = count_ledger() - nobody
    assert left.schema.classes == ("eggs", "ham", "spam")
    assert left.rows.tolist() == [0, 2, 2]


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), -1e-300])
def test_scaling_by_no_weight_is_refused(factor):
    with pytest.raises(InputError, match="finite factor"):
        count_ledger() * factor


@pytest.mark.parametrize("other", ["2", None, [2], np.ones(2)])
def test_scaling_by_no_number_is_a_type_error(other):
    with pytest.raises(TypeError):
        count_ledger() * other
    with pytest.raises(TypeError):
        count_ledger() + other


@pytest.mark.parametrize(
    "two", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)], ids=lambda two: type(two).__name__
)
def test_any_plain_number_scales_from_either_side(two):
    assert two * count_ledger() == count_ledger() * two == count_ledger() + count_ledger()


def test_equal_schemas_and_only_they_have_equal_fingerprints():
    variants = [
        count_ledger(),
        count_ledger(names=None),
        count_ledger(names=("a", "c", "b")),
        count_ledger(classes=("ham", "eggs")),
        count_ledger(classes=(1, 2)),
        count_ledger(classes=("1", "2")),
        count_ledger(classes=(1.5, 2.5)),
        Ledger(Schema(("ham", "spam"), (Block("moments", 3, ("a", "b", "c")),)), np.ones(2), ()),
        Ledger(Schema(("ham", "spam"), (Block("levels", 1, ("a",), (("x", "y"),)),)), np.ones(2), ()),
        Ledger(Schema(("ham", "spam"), (Block("levels", 1, ("a",), (("y", "x"),)),)), np.ones(2), ()),
    ]
    prints = [v.schema.fingerprint for v in variants]
    assert len(set(prints)) == len(variants)
    assert count_ledger().schema.fingerprint == prints[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((0, 1), (False, True)),
        ((0, 1), (0.0, 1.0)),
        ((0, 1), tuple(np.arange(2))),
        (("ham", "spam"), tuple(np.array(["ham", "spam"]))),
    ],
)
def test_schemas_that_are_equal_have_the_same_fingerprint_and_hash(one, other):
    a, b = count_ledger(classes=one), count_ledger(classes=other)
    assert (a.schema == b.schema) == (a.schema.fingerprint == b.schema.fingerprint)
    assert a != b or hash(a) == hash(b)


def test_sparse_and_dense_counts_are_equal_and_add():
    dense = count_ledger()
    sparse = Ledger(dense.schema, dense.rows, (Tallies.from_counts(dense.parts[0]),))
    assert sparse == dense
    assert dense == sparse
    assert hash(sparse) == hash(dense)
    for a in (dense, sparse):
        for b in (dense, sparse):
            assert a + b == dense * 2
            assert a * 2 - b == dense
    assert isinstance((sparse + sparse).parts[0], Tallies)
    assert sparse != count_ledger(total=np.ones((2, 3)))


def test_empty_is_neutral_and_of_the_same_schema():
    ledger = count_ledger()
    assert ledger.empty() + ledger == ledger == ledger + ledger.empty() == ledger - ledger.empty()
    assert ledger.empty().n_rows == 0
    assert ledger - ledger == ledger.empty()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(data=st.data())
def test_ledgers_of_other_classes_add_as_their_rows_do(kind, data):
    rows = data.draw(rows_of(kind))
    names = data.draw(st.permutations("abcd"))[: rows.K]
    cut = data.draw(st.integers(0, len(rows)))
    name = kind.name.split(",")[0].split()[0].replace("indicators", "counts").replace("tallies", "counts")

    def ledger(part):
        """Only the classes that occur, in order."""
        present = sorted({names[k] for k in part.codes})
        codes = np.array([present.index(names[k]) for k in part.codes], dtype=np.int32)
        weight = np.bincount(codes, weights=part.weight, minlength=len(present)).astype(float)
        statistic = kind.of(part.X, codes, part.weight, len(present))
        return Ledger(Schema(tuple(present), (Block(name, rows.d),)), weight, (freeze(statistic),))

    first, second, whole = (
        ledger(rows.take(i)) for i in [*np.split(np.arange(len(rows)), [cut]), np.arange(len(rows))]
    )
    merged = first + second
    assert merged.schema == whole.schema
    assert_same(merged.parts[0], whole.parts[0])
    np.testing.assert_array_equal(merged.rows, whole.rows)
