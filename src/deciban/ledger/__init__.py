"""Sufficient statistics: sums over the data per class, and the schema that names the features which they count.

This package is plain NumPy and defines every statistic; the kernels compute the same functions faster. Each statistic
adds, subtracts and scales, so that any split of the data, learned in any order, gives the statistic of one pass.
"""

from deciban.ledger.counts import Bags, Counts, Tallies
from deciban.ledger.grid import Grid
from deciban.ledger.ledger import Ledger
from deciban.ledger.levels import Cells, Levels
from deciban.ledger.moments import Moments
from deciban.ledger.pairs import Pairs
from deciban.ledger.scatter import Scatter
from deciban.ledger.schema import Block, Needs, Schema
from deciban.ledger.statistic import Statistic
from deciban.ledger.vocabulary import Vocabulary

__all__ = [
    "Bags",
    "Block",
    "Cells",
    "Counts",
    "Grid",
    "Ledger",
    "Levels",
    "Moments",
    "Needs",
    "Pairs",
    "Scatter",
    "Schema",
    "Statistic",
    "Tallies",
    "Vocabulary",
]
