"""Engines: they summarise data into statistics and apply score forms to data.

They depend on how rows are stored and how to be fast, not on families.
"""

from deciban.engines.checks import InvalidValueError, TooLargeError, encode, encode_known
from deciban.engines.dense import SINGLE_BLOCK_ROWS
from deciban.engines.dispatch import (
    apply,
    concatenate_columns,
    count_observed,
    is_sparse,
    pieces,
    prepare_rows,
    summarise,
    summarise_bags,
)
from deciban.engines.threads import thread_count
from deciban.kernels.execution import map_small_items, part_of_work

__all__ = [
    "SINGLE_BLOCK_ROWS",
    "InvalidValueError",
    "TooLargeError",
    "apply",
    "concatenate_columns",
    "count_observed",
    "encode",
    "encode_known",
    "is_sparse",
    "map_small_items",
    "part_of_work",
    "pieces",
    "prepare_rows",
    "summarise",
    "summarise_bags",
    "thread_count",
]
