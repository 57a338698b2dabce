"""WHERE IT RUNS: engines summarise data into statistics and apply score forms to data.

They know how rows are stored and how to be fast; they know nothing of families.
"""

from deciban.engines.arrays import FEW_ROWS
from deciban.engines.bad import BadValue
from deciban.engines.dispatch import apply, summarise
from deciban.engines.fast import level_codes
from deciban.engines.labels import encode, encode_known
from deciban.engines.sparse import settled
from deciban.engines.threads import thread_count

__all__ = [
    "FEW_ROWS",
    "BadValue",
    "apply",
    "encode",
    "encode_known",
    "level_codes",
    "settled",
    "summarise",
    "thread_count",
]
