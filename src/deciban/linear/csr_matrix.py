"""A sparse matrix by rows in plain NumPy, with the few operations that fits to mail need.

SciPy's csr_array does the same, but takes 0.2 s to import, and more room on a disk than all else that a mail filter
needs. Sums are in the order of SciPy's, so they have the same bits.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array


@dataclass(frozen=True)
class CsrMatrix:
    """Row i has the values data[indptr[i] : indptr[i + 1]] in the columns `indices` of that range; others are zero.

    >>> X = CsrMatrix(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 2]), np.array([0, 2, 3]), 3)
    >>> X.toarray().tolist(), (X @ np.array([1.0, 1.0, 10.0])).tolist(), X.T.toarray().tolist()
    ([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]], [21.0, 30.0], [[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]])
    """

    data: Array
    indices: NDArray[np.integer[Any]]
    indptr: NDArray[np.integer[Any]]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.indptr) - 1, self.width

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return len(self.data)

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The row of each stored value."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def _by_column(self) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.int32]]:
        """The order of the stored values by column, their rows in that order, and where each column begins."""
        order = np.argsort(self.indices, kind="stable")
        counts = np.bincount(self.indices, minlength=self.width)
        return order, self.rows[order], np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def with_data(self, data: Array) -> Self:
        """Return the matrix with other values in the same places; what was computed of the places is kept."""
        changed = replace(self, data=data)
        computed = {name: value for name, value in vars(self).items() if name in ("rows", "_by_column")}
        vars(changed).update(computed)
        return changed

    def __matmul__(self, other: Array) -> Array:
        if other.ndim == 2:
            return np.stack([self @ column for column in np.ascontiguousarray(other.T)], axis=1)
        sums = np.bincount(self.rows, self.data * other[self.indices], self.shape[0])
        return np.asarray(sums, dtype=np.float64)  # those of no stored values are integers

    def __getitem__(self, wanted: slice) -> Self:
        """Return the rows from the slice's start to its stop; its step is not used."""
        begin, end, _ = wanted.indices(self.shape[0])
        at = slice(self.indptr[begin], self.indptr[end])
        pointer = self.indptr[begin : end + 1] - self.indptr[begin]
        return replace(self, data=self.data[at], indices=self.indices[at], indptr=pointer)

    @property
    def T(self) -> Self:
        """The transposed matrix, by rows too."""
        order, rows, pointer = self._by_column
        return replace(self, data=self.data[order], indices=rows, indptr=pointer, width=self.shape[0])

    def tocsr(self) -> Self:
        """Return the matrix itself, as SciPy's method of this name does for a matrix by rows."""
        return self

    def astype(self, dtype: type, copy: bool = True) -> Self:
        """Return the matrix with values of another type; the same matrix if it has that type and `copy` is False."""
        return self if not copy and self.data.dtype == dtype else replace(self, data=self.data.astype(dtype))

    def toarray(self) -> Array:
        """Return the dense matrix; no column may be stored twice in a row."""
        dense = np.zeros(self.shape)
        dense[self.rows, self.indices] = self.data
        return dense

    def take_columns(self, columns: NDArray[np.intp]) -> Self:
        """Return some columns, given by their numbers in ascending order."""
        place = np.full(self.width, -1, dtype=np.int32)
        place[columns] = np.arange(len(columns), dtype=np.int32)
        kept = place[self.indices] >= 0
        sizes = np.bincount(self.rows[kept], minlength=self.shape[0])
        pointer = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return replace(
            self, data=self.data[kept], indices=place[self.indices[kept]], indptr=pointer, width=len(columns)
        )
