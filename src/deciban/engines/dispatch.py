"""The two verbs of every engine: summarise rows into a statistic, apply score forms to rows."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import dense as arrays
from deciban.engines.kernel_dispatch import level_codes
from deciban.ledger import Needs, Statistic
from deciban.scores import ScoreForm
from deciban.scores.posterior import Finish


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array."""
    return hasattr(X, "tocsr")


def summarise(needs: Needs, X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Statistic:
    """What the family needs to remember of these rows."""
    engine = _sparse() if is_sparse(X) else arrays
    part: Statistic = engine.summarise(needs, X, codes, weight, n_classes, threads)
    return part


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[Any],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """ln π_k + Σ ln p(x|k) over the blocks of features, finished as wanted (see `scores.finish`)."""
    if len(parts) == 1 and is_sparse(parts[0]):
        answer: NDArray[Any] = _sparse().apply(forms[0], parts[0], needs[0], log_prior, wanted, threads)
        return answer
    if any(map(is_sparse, parts)):
        from deciban.engines import hstack as beside

        return beside.apply(forms, parts, needs, log_prior, wanted, threads)
    return arrays.apply(forms, parts, needs, log_prior, wanted, threads)


def readable(X: Any, needs: Needs) -> Any:
    """Rows as score forms take them apart: level codes as whole numbers, sparse rows with each entry once."""
    if is_sparse(X):
        return _sparse().canonical(X)
    return level_codes(X) if needs.kind in ("levels", "cells") else X


def _sparse() -> ModuleType:
    """Loaded for sparse input alone."""
    from deciban.engines import sparse

    return sparse
