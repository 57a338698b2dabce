"""WHERE IT RUNS: engines summarise data into statistics and apply score forms to data.

They know how rows are stored and how to be fast; they know nothing of families.
"""

from deciban.engines.checks import InvalidValue, TooLarge
from deciban.engines.class_codes import encode, encode_known
from deciban.engines.dense import FEW_ROWS
from deciban.engines.dispatch import apply, is_sparse, readable, summarise
from deciban.engines.observed_cells import observed
from deciban.engines.score_terms import pieces, side_by_side
from deciban.engines.threads import thread_count
from deciban.kernels.execution import map_small_items, part_of_work

__all__ = [
    "FEW_ROWS",
    "InvalidValue",
    "TooLarge",
    "apply",
    "encode",
    "encode_known",
    "is_sparse",
    "map_small_items",
    "observed",
    "part_of_work",
    "pieces",
    "readable",
    "side_by_side",
    "summarise",
    "thread_count",
]
