"""Engines: they summarise data into statistics and apply score forms to data.

They depend on how rows are stored and how to be fast, not on families.
"""

from deciban.engines.checks import InvalidValueError, TooLargeError
from deciban.engines.dense import SINGLE_BLOCK_ROWS
from deciban.engines.dispatch import (
    apply,
    average_columns,
    concatenate_columns,
    count_observed,
    count_rows,
    encode,
    encode_known,
    fill_missing,
    find_highest,
    is_on_device,
    is_solved_late,
    is_sparse,
    keep_rows,
    match_codes,
    match_rows,
    pieces,
    prepare_rows,
    summarise,
    summarise_bags,
    take_classes,
    to_host,
)
from deciban.engines.threads import thread_count
from deciban.gpu.tensors import is_tensor
from deciban.kernels.execution import map_small_items, part_of_work

__all__ = [
    "SINGLE_BLOCK_ROWS",
    "InvalidValueError",
    "TooLargeError",
    "apply",
    "average_columns",
    "concatenate_columns",
    "count_observed",
    "count_rows",
    "encode",
    "encode_known",
    "fill_missing",
    "find_highest",
    "is_on_device",
    "is_solved_late",
    "is_sparse",
    "is_tensor",
    "keep_rows",
    "map_small_items",
    "match_codes",
    "match_rows",
    "part_of_work",
    "pieces",
    "prepare_rows",
    "summarise",
    "summarise_bags",
    "take_classes",
    "thread_count",
    "to_host",
]
