"""The verbs of every engine: summarise rows into a statistic, apply score forms to rows, split scores by feature."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array, Codes
from deciban.engines import checks, dense
from deciban.engines.kernel_arrays import to_level_codes
from deciban.gpu.tensors import is_tensor
from deciban.ledger import Bags, Counts, Needs, Statistic, Tallies
from deciban.scores import Linear, Lookup, Pieces, ScoreForm, SparseLinear
from deciban.scores.posterior import Finish

OCCURRENCES = Needs("counts", signed=False, skips=False)
"""The statistic of word counts, none of which is missing."""


def is_sparse(X: Any) -> bool:
    """Return whether X is a SciPy sparse matrix or array."""
    return hasattr(X, "tocsr")


def summarise(needs: Needs, X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Statistic:
    """Summarise these rows into the statistic that a family needs."""
    engine = _gpu() if is_tensor(X) else _sparse() if is_sparse(X) else dense
    return engine.summarise(needs, X, codes, weight, n_classes, threads)


def summarise_bags(
    X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int, presence: bool = False
) -> Bags:
    """Summarise CSR rows of words into bags: counts per class, and the number of documents with each word.

    A document without a word is left out. With `presence` all stored values are 1, so both are one object.
    """
    present = np.flatnonzero(np.diff(X.indptr))
    if len(present) < X.shape[0]:
        X, codes, weight = X[present], codes[present], None if weight is None else weight[present]
    occurrences = _tally_words(X, codes, weight, n_classes, threads)
    if presence:
        return Bags(occurrences, occurrences)
    once = X.copy()
    once.data = np.ones_like(once.data)
    return Bags(occurrences, _tally_words(once, codes, weight, n_classes, threads))


def _tally_words(X: Any, codes: Codes, weight: Array | None, n_classes: int, threads: int) -> Tallies:
    """Sum each word by class, as tallies."""
    counts = summarise(OCCURRENCES, X, codes, weight, n_classes, threads)
    return Tallies.from_counts(counts) if isinstance(counts, Counts) else cast(Tallies, counts)


def apply(
    forms: Sequence[ScoreForm],
    parts: Sequence[Any],
    needs: Sequence[Needs],
    log_prior: Array,
    wanted: Finish,
    threads: int,
) -> NDArray[Any]:
    """Compute ln π_k + Σ ln p(x|k) over the blocks of features, finished as wanted (see `scores.finish`)."""
    if is_tensor(parts[0]):
        return _gpu().apply(forms, parts, needs, log_prior, wanted, threads)
    if not any(map(is_sparse, parts)):
        return dense.apply(forms, parts, needs, log_prior, wanted, threads)
    if len(parts) == 1:
        return _sparse().apply(forms[0], parts[0], needs[0], log_prior, wanted, threads)
    return _sparse().apply_mixed(forms, parts, needs, log_prior, wanted, threads)


def prepare_rows(X: Any, needs: Needs) -> Any:
    """Convert rows to what score forms read: level codes as whole numbers, sparse rows with each entry once."""
    if is_sparse(X):
        return _sparse().to_canonical_csr(X)
    return to_level_codes(X) if needs.kind in ("levels", "cells") else X


def _sparse() -> ModuleType:
    """Import the engine of sparse rows, which dense rows do not need."""
    from deciban.engines import sparse

    return sparse


def _gpu() -> ModuleType:
    """Import the engine of rows on a GPU, which needs torch."""
    from deciban.engines import gpu

    return gpu


def encode(y: Any) -> tuple[NDArray[Any], Any]:
    """Return the classes in order, and each row's index among them: of labels in a tensor, on its device."""
    return _gpu().encode(y) if is_tensor(y) else checks.encode(y)


def encode_known(y: Any, classes: NDArray[Any], hint: str = "use labels that were learned") -> Any:
    """Return each row's index among known classes; raise an error for any other label."""
    return _gpu().encode_known(y, classes, hint) if is_tensor(y) else checks.encode_known(y, classes, hint)


def match_codes(codes: Any, X: Any, n_classes: int) -> Any:
    """Return class codes: an array as `DeviceCodes` on the device of X, if X is a tensor; others as they are."""
    return _gpu().match_codes(codes, X, n_classes) if is_tensor(X) else codes


def keep_rows(X: Any, codes: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Return rows on a device, codes and weights (not None) without rows of weight zero; CSR as a torch tensor."""
    return _gpu().keep_rows(X, codes, weight)


def count_rows(codes: Any, weight: Any, n_classes: int) -> Array:
    """Return the weight of the rows of each class."""
    if not isinstance(codes, np.ndarray):
        return codes.sum_weights(weight)
    return np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)


def find_highest(X: Any) -> Array:
    """Return the highest value of each column, in host memory; NaN is left out, a cell that is not stored is 0."""
    if is_tensor(X):
        return _gpu().find_highest(X)
    return np.asarray(X.nanmax(axis=0).toarray().ravel() if is_sparse(X) else np.fmax.reduce(X, axis=0))


def average_columns(X: Any, weight: Any, skips: bool) -> Array:
    """Return the mean of each column of rows on a device, in host memory; NaN is left out (`skips`) or refused."""
    return _gpu().average_columns(X, weight, skips)


def fill_missing(X: Any, means: Array) -> Any:
    """Return rows on a device with missing cells at the mean of their column; X itself where none is missing."""
    return _gpu().fill_missing(X, means)


def is_on_device(X: Any) -> bool:
    """Return whether X is a tensor that is summarised and scored on its device: others are copied to host memory."""
    return is_tensor(X) and not _gpu().is_for_host(_gpu().to_torch(X))


def is_solved_late(X: Any) -> bool:
    """Return whether a model of these rows is solved when it is first used: rows on a device that cannot overflow.

    A solution takes from 0.2 ms to 6 ms (full covariances), as long as the sums over millions of rows there. Values
    in double precision may be too large for any solution, which `fit` has to refuse.
    """
    return is_tensor(X) and not str(X.dtype).endswith("float64")


def to_host(values: Any) -> Any:
    """Return a NumPy array, or a CSR matrix of SciPy, copied from the device where it is a tensor."""
    return _gpu().to_host(values) if is_tensor(values) else values


def match_rows(result: NDArray[Any], X: Any) -> Any:
    """Return a result that was computed in host memory on the device of X, if X is a tensor."""
    return _gpu().match_rows(result, X) if is_tensor(X) else result


def take_classes(labels: NDArray[Any], codes: Any) -> Any:
    """Return the label of each code: on the device of the codes, unless labels are texts."""
    return _gpu().take_classes(labels, codes) if is_tensor(codes) else labels[codes]


def pieces(form: ScoreForm, X: Any, needs: Needs, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
    """Split the score of class k minus that of l by feature, row by row; sparse where the rows are."""
    X = prepare_rows(X, needs)
    if is_sparse(X) and isinstance(form, Linear):
        return form.stored_pieces(X, k, l)
    if is_sparse(X) and not isinstance(form, SparseLinear):
        X = X.toarray()
    return form.pieces(X, k, l)


def concatenate_columns(matrices: Sequence[Any]) -> Any:
    """Join matrices side by side; the result is sparse if any of them is."""
    if len(matrices) == 1:
        return matrices[0]
    if not any(map(is_sparse, matrices)):
        return np.concatenate(matrices, axis=1)
    from scipy.sparse import csr_array, hstack

    return csr_array(hstack([X if is_sparse(X) else csr_array(X) for X in matrices], format="csr"))


def count_observed(form: ScoreForm, X: Any, needs: Needs) -> Array:
    """Count what carries evidence in each row: the words of a bag of words, else the features with a known value."""
    X = prepare_rows(X, needs)
    if needs.kind == "pairs":  # the features are counted in their own blocks
        return np.zeros(len(X))
    if isinstance(form, Lookup):
        return np.asarray((X >= 0) & (np.diff(form.offset) > X)).sum(axis=1).astype(np.float64)
    if needs.kind == "cells":
        return np.asarray(X >= 0).sum(axis=1).astype(np.float64)
    mute = getattr(form, "mute", None)
    is_active = None if mute is None else 1.0 - mute  # 1 for each feature with evidence, 0 for the others
    if isinstance(form, (Linear, SparseLinear)) and form.threshold is None and form.carrier is None:
        words = X.sum(axis=1) if is_active is None else X @ is_active
        return np.asarray(words, dtype=np.float64).reshape(-1)
    return _count_present(X, is_active)


def _count_present(X: Any, is_active: Array | None) -> Array:
    """Count the active features of each row that are not missing; a cell that is not stored is zero, and present."""
    total = float(X.shape[1]) if is_active is None else float(is_active.sum())
    if not is_sparse(X):
        present = ~np.isnan(X) if X.dtype.kind == "f" else np.ones(X.shape, dtype=np.bool_)
        return np.asarray(present.sum(axis=1) if is_active is None else present @ is_active, dtype=np.float64)
    row, column = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices
    missing = np.isnan(X.data) * (1.0 if is_active is None else is_active[column])
    return np.asarray(total - np.bincount(row, weights=missing, minlength=X.shape[0]), dtype=np.float64)
