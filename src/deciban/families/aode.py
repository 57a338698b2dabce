"""Averaged one-dependence estimators: every feature in turn is the parent of all others, and the models are averaged.

Webb, Boughton & Wang (2005), "Not so naive Bayes: aggregating one-dependence estimators". With feature i as parent

    p_i(x|k) = Π_j p(x_j|k) · Π_{j≠i} p(x_j|x_i,k)/p(x_j|k),

whose first product is that of independent features, whatever their families. So the mean over i is a correction of
independent features, as a forest is (`families/tree.py`), from the same counts of pairs.
"""

from dataclasses import dataclass

import numpy as np

from deciban.errors import UndefinedError
from deciban.families.tree import CellPairFamily, cell_shares, degrees_of_freedom, log_ratios
from deciban.ledger.pairs import Pairs
from deciban.scores.pair_form import AveragedEdges


@dataclass(frozen=True)
class Aode(CellPairFamily):
    """The mean of one-dependence models on cells, with p(b|a,k) as in `Tree`.

    A parent whose cell has few rows says nearly what independent features say: no parent has to be left out.
    """

    def solve(self, part: Pairs) -> AveragedEdges:
        """See `Family.solve`."""
        K, d, V = part.single.shape
        log_ratio, theta = np.zeros((K, d, V, d, V)), cell_shares(part)
        for i in range(d):
            for j in range(d):
                if i != j:
                    log_ratio[:, i, :, j] = log_ratios(part.pair_table(i, j), theta[:, j])
        return AveragedEdges(log_ratio)

    def log_likelihood(self, part: Pairs, solved: Pairs) -> float:
        """Refuse: the mean over parents is not a sum over pairs."""
        raise UndefinedError(
            "the likelihood of averaged one-dependence estimators does not follow from counts of pairs. "
            "Hint: evaluate(…, learner='aode') has the log-loss"
        )

    def n_parameters(self, part: Pairs) -> int:
        """Return Σ_k (V_i − 1)(V_j − 1), over all pairs: the parameters beyond those of independent features."""
        return int(degrees_of_freedom(part).sum())
