"""The two verbs of every engine: summarise rows into a statistic, apply score forms to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from deciban.engines import arrays, sparse
from deciban.ledger import Needs, Statistic
from deciban.ledger.statistic import Array, Codes
from deciban.scores import ScoreForm
from deciban.scores.posterior import Finish


def summarise(needs: Needs, X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Statistic:
    """What the family needs to remember of these rows."""
    engine = sparse if hasattr(X, "tocsr") else arrays
    return engine.summarise(needs, X, codes, weight, n_classes, threads)


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[Any],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """ln π_k + Σ ln p(x|k) over the blocks of features, finished as wanted (see `scores.finish`)."""
    if len(parts) == 1 and hasattr(parts[0], "tocsr"):
        return sparse.apply(forms[0], parts[0], needs[0], log_prior, wanted, threads)
    return arrays.apply(forms, parts, needs, log_prior, wanted, threads)
