"""Trust in a table's columns: score_k(x) = b_k + Σ_j t_j ln p(x_j|k), so that evidence told twice is counted once.

One trust for each column, shared by all classes; numbers that are joined under one bell have one, and so has a text.
Of a text each word may be trusted more or less than the text as a whole: Σ_v (t + u_kv) e_kv z_v (`evidence.py`).
Trust 1 everywhere and b = ln π is naive Bayes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.belief import Belief
from deciban.discriminative.designs import Shared, Sparse
from deciban.discriminative.evidence import evidence_of
from deciban.discriminative.learned import Learned
from deciban.discriminative.weighing import Judges, predictor
from deciban.errors import InputError
from deciban.ledger import Needs
from deciban.ledger.shuffled import shuffled
from deciban.ledger.statistic import Array
from deciban.scores import Full, Linear, Pieces, ScoreForm, SparseLinear
from deciban.scores.scaled import scaled

MOST_NUMBERS = 1 << 26
"""Evidence that is kept in memory: half a gigabyte. Of more rows as many as fit tell a few trusts as well."""

LOUDEST = 1e6
"""Nats that a column says at most to those who weigh it: beyond, squares of the evidence would drown all others."""


def together(form: ScoreForm) -> bool:
    """Whether the features of a block are trusted as one."""
    return isinstance(form, (Full, SparseLinear))


def n_trusts(basis: Belief) -> int:
    """How many trusts there are."""
    blocks = zip(basis.solved.forms, basis.schema.blocks)
    return sum(1 if together(form) else block.width for form, block in blocks)


def enough(n: int, basis: Belief) -> NDArray[np.intp]:
    """The rows whose evidence is weighed: all, or as many as fit in memory, drawn at random but always the same."""
    room = max(1, MOST_NUMBERS // (n_trusts(basis) * len(basis.ledger.rows)))
    return np.arange(n) if n <= room else np.sort(np.argsort(shuffled(np.arange(n)), kind="stable")[:room])


def heard(belief: Belief, parts: Sequence[Any]) -> Array:
    """ln p(x_j|k) − ln p(x_j|0) of these rows, n×d×K: what all classes share tells none from another."""
    blocks = zip(belief.solved.forms, parts, belief.solved.needs)
    said = np.concatenate([_heard(*block, len(belief.ledger.rows)) for block in blocks], axis=1)
    if not np.isfinite(said).all():
        _refuse_infinite(belief)
        said = np.nan_to_num(said)
    return np.clip(said, -LOUDEST, LOUDEST)


def _refuse_infinite(belief: Belief) -> None:
    families: Sequence[Any] = belief.assumption.families
    if any(np.any(np.asarray(family.alpha) == 0) for family in families if hasattr(family, "alpha")):
        raise InputError(
            "evidence without end cannot be weighed: with alpha=0 what a class never had is impossible in it. "
            "Hint: alpha > 0, or 'auto'"
        )


def _heard(form: ScoreForm, X: Any, needs: Needs, K: int) -> Array:
    n = X.shape[0]
    out = np.zeros((n, 1 if together(form) else X.shape[1], K))
    first = np.zeros(n, dtype=np.intp)
    for k in range(1, K):
        out[:, :, k] = _each_trust(form, engines.pieces(form, X, needs, np.full(n, k), first))
    return out


def _each_trust(form: ScoreForm, pieces: Pieces) -> Array:
    if not together(form):
        return np.asarray(pieces.features)
    said = np.asarray(pieces.features.sum(axis=1)).reshape(-1) + sum(pieces.extras.values())
    return np.asarray(said)[:, None]


def names(basis: Belief, texts: Sequence[str]) -> list[str]:
    """What each trust is in: a column, those that are joined, or one of these texts."""
    words = iter(texts)
    found: list[str] = []
    for form, block in zip(basis.solved.forms, basis.schema.blocks):
        if block.kind == "bags":
            found.append(next(words))
        else:
            own = [str(name) for name in block.names or range(block.width)]
            found += [" & ".join(own)] if together(form) else own
    return found


def evidence(
    basis: Belief,
    parts: Sequence[Any],
    said: Array,
    rows: Judges,
    C: float | str,
    texts: Sequence[str],
    threads: int,
) -> Learned:
    """The naive belief, with as much trust in each column as rows that it had not learned say it deserves.

    `parts` are the rows as matrices, `said` what was heard of them.
    """
    places = [b for b, block in enumerate(basis.schema.blocks) if block.kind == "bags"]
    words = [Sparse(parts[b], 1.0, 0.0, evidence_of(basis.solved.forms[b]).T) for b in places]
    found = predictor([Shared(said, 1.0), *words], rows, len(basis.ledger.rows), C, threads)
    trust = found.blocks[0]
    ends = np.cumsum([1 if together(f) else b.width for f, b in zip(basis.solved.forms, basis.schema.blocks)])
    forms = [
        scaled(form, t[0] if together(form) else t) for form, t in zip(basis.solved.forms, np.split(trust, ends[:-1]))
    ]
    for b, more in zip(places, found.blocks[1:]):
        forms[b] = Linear(forms[b].linear().weights + more, np.zeros(len(more)))
    account = found.account("evidence", len(rows.codes))
    told = dict(zip(names(basis, texts), trust.tolist()))
    account = replace(account, n_parameters=account.n_parameters + basis.n_parameters, trust=told)
    return Learned.of(basis.schema, forms, basis.solved.needs, found.bias, basis.ledger.rows, account, basis)
