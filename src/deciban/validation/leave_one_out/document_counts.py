"""Which closed form a sparse block takes: documents by their event, and sparse rows of counts or flags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from deciban._typing import Array
from deciban.engines import is_sparse
from deciban.engines.sparse import to_canonical_csr
from deciban.families.bernoulli import Bernoulli
from deciban.families.complement import Complement
from deciban.families.family import Family, to_dense
from deciban.families.text_family import Text
from deciban.families.word_selection import cap_documents
from deciban.ledger import Bags, Counts, Needs
from deciban.scores import ScoreForm, SparseLinear
from deciban.validation.leave_one_out.bags import drawn, leaving
from deciban.validation.leave_one_out.rows import RowsLeftOut
from deciban.validation.leave_one_out.sparse_rows import bernoulli, complement, small_enough


def documents(
    family: Text, part: Bags, form: SparseLinear, X: Any, need: Needs, rows: RowsLeftOut, threads: int
) -> Array | None:
    """The score of each document; a word that too few other documents have is not kept without it.

    None where the most telling words are chosen, or weighed by idf: both change with every document.
    """
    if family.most is not None or family.idf or not family.alpha:
        return None
    if family.event == "multinomial":
        return drawn(family, part, form, X, need, rows, threads)
    if not small_enough(part, rows):
        return None
    kept, going = leaving(family, part, X, rows)
    if family.event == "complement":
        total = np.where(kept, part.occurrences.to_dense().total, 0.0)
        return complement(total, np.where(kept, family.alpha, 0.0), family.norm, X, going, rows)
    if not _one_weight(rows):
        return None
    counts = replace(part.documents, total=cap_documents(part.documents)).to_dense()
    present = kept[X.indices] & (X.data > 0)
    return bernoulli(counts, family.alpha, form, X, need, present, going, kept, rows, threads)


def few_entries(
    family: Family, part: Any, form: ScoreForm, X: Any, need: Needs, rows: RowsLeftOut, threads: int
) -> Array | None:
    """The score of sparse rows under complement or Bernoulli; None where all that is zero must be looked at too."""
    alpha = np.asarray(getattr(family, "alpha", 0.0), dtype=np.float64)
    if not is_sparse(X) or not (alpha > 0).all() or not small_enough(part, rows):
        return None
    if isinstance(family, Complement):
        every = np.broadcast_to(alpha, (X.shape[1],))
        X = to_canonical_csr(X)
        return complement(to_dense(part).total, every, family.norm, X, np.zeros(X.nnz, dtype=np.bool_), rows)
    if isinstance(family, Bernoulli) and family.threshold is not None and not alpha.ndim and _one_weight(rows):
        X = to_canonical_csr(X)
        counts = to_dense(part)
        if counts.weight.shape[1] > 1 or np.isnan(X.data).any() or family.threshold < 0:
            return None
        nobody, everything = np.zeros(X.nnz, dtype=np.bool_), np.ones(X.shape[1], dtype=np.bool_)
        present = np.asarray(family.threshold < X.data)
        plain = Counts(counts.total, counts.weight)
        return bernoulli(plain, float(alpha), form, X, need, present, nobody, everything, rows, threads)
    return None


def _one_weight(rows: RowsLeftOut) -> bool:
    return bool((rows.weight == rows.weight[:1]).all())
