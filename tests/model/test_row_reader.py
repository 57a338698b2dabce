"""Single rows, read without Arrow, have the matrices of a table of them; unusual ones are left to that."""

import numpy as np
import pytest

import deciban
from deciban.model.row_reader import RowReader
from deciban.sources.cell_rows import CellRows
from tests.tables.clinic import as_text, patients

TEXTS = ["the cat sat", "a dog ran off", "cats and dogs", "the dog sat down"]


def read_as_table(model, rows):
    (found,) = [parts for _, parts in model._read_blocks(CellRows.of(rows))]
    return found


def assert_equal_parts(model, rows):
    for one, other in zip(RowReader(model).read(rows), read_as_table(model, rows), strict=True):
        if hasattr(one, "toarray"):
            one, other = one.toarray(), other.toarray()
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.fixture(scope="module", params=["naive", "tan"])
def clinic(request):
    table = as_text(patients())
    model = deciban.train(table, target="diagnosis", judge=False, structure=request.param)
    assert (model._layout.block_index("pairs") is None) == (request.param == "naive")
    return model, table.to_pylist()


def test_every_learned_row_has_the_matrices_of_a_table(clinic):
    model, rows = clinic
    assert sum(RowReader(model).read([row]) is None for row in rows) == 0
    for row in rows:
        assert_equal_parts(model, [row])
    assert_equal_parts(model, rows[:50])


def test_texts_and_numbered_flags_have_the_matrices_of_a_table():
    rng = np.random.default_rng(1)
    rows = [
        {"note": TEXTS[i % 4], "flag": int(rng.random() < 0.5), "kind": int(rng.integers(5)), "label": "ab"[i % 2]}
        for i in range(80)
    ]
    model = deciban.train(CellRows.of(rows), target="label", judge=False, roles={"kind": "category", "note": "text"})
    assert model.roles["flag"] == "flag"
    for row in rows[:20]:
        assert_equal_parts(model, [row, {**row, "flag": float(row["flag"])}])


@pytest.mark.parametrize(
    "change",
    [
        {"age": 1000.0}, {"age": "41"}, {"age": True}, {"age": 1 << 60}, {"smoker": "Yes"}, {"smoker": " yes"},
        {"smoker": 2}, {"code": "?"}, {"admitted": "soon"}, {"admitted": "2024-13-01"}, {"visits": -1},
    ],
)  # fmt: skip
def test_unusual_cells_are_left_to_the_reading_of_tables(clinic, change):
    model, rows = clinic
    usual = next(row for row in rows if None not in row.values())
    assert RowReader(model).read([usual]) is not None
    assert RowReader(model).read([usual, {**usual, **change}]) is None


def test_a_row_without_a_column_is_left_to_the_reading_of_tables(clinic):
    model, rows = clinic
    assert RowReader(model).read([{name: cell for name, cell in rows[0].items() if name != "age"}]) is None
