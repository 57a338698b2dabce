"""Score forms, posteriors, decisions, calibration and evidence in decibans.

A score form gives ln p(x|k) for rows x and classes k. This package is plain NumPy and defines every
score; kernels compute the same numbers faster.
"""

from deciban.scores.bounded_forms import BoundedDiagonal, BoundedRates, LimitedFull
from deciban.scores.explanation import DECIBAN, Explanation, Pieces
from deciban.scores.gaussian_forms import Diagonal, Full
from deciban.scores.linear import Linear, SparseLinear
from deciban.scores.lookup import Lookup, Steps, Table
from deciban.scores.pair_form import AveragedEdges, Edges
from deciban.scores.posterior import finish, log_sum_exp
from deciban.scores.score_form import Boundary, Conic, ScoreForm, has_valid_numbers

__all__ = [
    "DECIBAN",
    "AveragedEdges",
    "Boundary",
    "BoundedDiagonal",
    "BoundedRates",
    "Conic",
    "Diagonal",
    "Edges",
    "Explanation",
    "Full",
    "LimitedFull",
    "Linear",
    "Lookup",
    "Pieces",
    "ScoreForm",
    "SparseLinear",
    "Steps",
    "Table",
    "finish",
    "has_valid_numbers",
    "log_sum_exp",
]
