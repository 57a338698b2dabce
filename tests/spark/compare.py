"""Comparison of ledgers, and tables as DataFrames of a number of partitions."""

import numpy as np


def assert_same_ledger(found, expected, rtol=1e-12):
    """Counts are equal, moments within a relative error of the column's scale."""
    assert found.schema == expected.schema
    np.testing.assert_array_equal(found.rows, expected.rows)
    for block, a, b in zip(expected.schema.blocks, found.parts, expected.parts):
        assert type(a) is type(b)
        for name, array in b.arrays().items():
            if block.kind not in ("moments", "scatter"):
                np.testing.assert_array_equal(a.arrays()[name], array, err_msg=f"{block.kind} {name}")
            elif not name.endswith("rest"):
                np.testing.assert_allclose(a.arrays()[name], array, rtol=rtol, err_msg=f"{block.kind} {name}")


def in_partitions(spark, table, n):
    """A DataFrame whose i-th partition has the i-th of n consecutive parts of a table."""
    step = -(-table.num_rows // n)
    parts = [spark.createDataFrame(table.slice(start, step)).coalesce(1) for start in range(0, table.num_rows, step)]
    frame = parts[0]
    for part in parts[1:]:
        frame = frame.union(part)
    return frame
