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
    """A DataFrame whose i-th partition has the i-th of n consecutive parts of a table.

    The rows are computed: of a table that it is given, Spark makes partitions of its own.
    """
    step = -(-table.num_rows // n)
    parts = [table.slice(start, step).combine_chunks().to_batches() for start in range(0, table.num_rows, step)]
    schema = spark.createDataFrame(table.slice(0, 1)).toDF(*(f"c{i}" for i in range(table.num_columns))).schema

    def rows(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for part in parts[number]:
                    yield part.rename_columns([f"c{i}" for i in range(part.num_columns)])

    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(rows, schema).toDF(*table.column_names)
