"""Trust in a table's columns: score_k(x) = b_k + Σ_j t_j ln p(x_j|k), so that evidence told twice is counted once.

One trust for each column, shared by all classes; numbers that are joined under one bell have one, and so has a text,
whose words are weighed first (`texts.py`). Trust 1 everywhere and b = ln π is naive Bayes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.generative import GenerativeModel
from deciban.ledger import Needs
from deciban.ledger.hashing import sample_row_numbers
from deciban.linear.design import Shared
from deciban.linear.fit_report import Account
from deciban.linear.fitted_model import FittedModel
from deciban.linear.penalty_choice import FEW_C, Judges
from deciban.linear.table_design import Honest, predictor
from deciban.linear.text_columns import Text
from deciban.scores import Full, Linear, Pieces, ScoreForm, SparseLinear
from deciban.scores.scaled import scaled

MOST_NUMBERS = 1 << 26
"""Evidence that is kept in memory: half a gigabyte. Of more rows as many as fit tell a few trusts as well."""

LOUDEST = 1e6
"""Nats that a column says at most to those who weigh it: beyond, squares of the evidence would drown all others."""


def together(form: ScoreForm) -> bool:
    """Whether the features of a block are trusted as one."""
    return isinstance(form, (Full, SparseLinear))


def n_trusts(basis: GenerativeModel) -> int:
    """How many trusts there are."""
    blocks = zip(basis.solved.forms, basis.schema.blocks)
    return sum(1 if together(form) else block.width for form, block in blocks)


def enough(n: int, basis: GenerativeModel) -> NDArray[np.intp]:
    """The rows whose evidence is weighed: all, or as many as fit in memory, drawn at random but always the same."""
    room = max(1, MOST_NUMBERS // (n_trusts(basis) * len(basis.ledger.rows)))
    return sample_row_numbers(n, room)


def text_places(basis: GenerativeModel) -> list[int]:
    """Which of the trusts are in texts."""
    kinds = zip(basis.solved.forms, basis.schema.blocks)
    each = [b.kind == "bags" for form, b in kinds for _ in range(1 if together(form) else b.width)]
    return np.flatnonzero(each).tolist()


def heard(belief: GenerativeModel, parts: Sequence[Any]) -> Array:
    """ln p(x_j|k) − ln p(x_j|0) of these rows, n×d×K: what all classes share tells none from another.

    Nothing of texts, whose words are weighed by themselves.
    """
    K = len(belief.ledger.rows)
    blocks = zip(belief.solved.forms, parts, belief.solved.needs, belief.schema.blocks)
    said = np.concatenate(
        [np.zeros((X.shape[0], 1, K)) if b.kind == "bags" else _heard(form, X, n, K) for form, X, n, b in blocks],
        axis=1,
    )
    if not np.isfinite(said).all():
        _refuse_infinite(belief)
        said = np.nan_to_num(said)
    return np.clip(said, -LOUDEST, LOUDEST)


def _refuse_infinite(belief: GenerativeModel) -> None:
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


def names(basis: GenerativeModel, texts: Sequence[str]) -> list[str]:
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
    basis: GenerativeModel,
    said: Array,
    rows: Judges,
    C: float | str,
    texts: Mapping[str, Text],
    threads: int,
    honest: Honest | None = None,
) -> FittedModel:
    """The naive belief, with as much trust in each column as rows that it had not learned say it deserves.

    `said` is what was heard of these rows, texts included.
    """
    found = predictor([Shared(said, 1.0)], rows, len(basis.ledger.rows), C, threads, honest)
    account = found.account("evidence", len(rows.codes))
    return _believed(basis, found.blocks[0], texts, found.bias, account)


def untried(basis: GenerativeModel, n_rows: int, texts: Sequence[str]) -> FittedModel:
    """The naive belief itself: where no row can be left out, nothing speaks against trust 1."""
    trust = dict.fromkeys(names(basis, texts), 1.0)
    settings = {"C": FEW_C, "C_chosen": False, "rows": n_rows}
    account = Account("evidence", settings, n_parameters=len(trust) + basis.n_parameters, trust=trust)
    solved = basis.solved
    return FittedModel.of(
        basis.schema, solved.forms, solved.needs, solved.log_prior, basis.ledger.rows, account, basis
    )


def _believed(
    basis: GenerativeModel, trust: Array, texts: Mapping[str, Text], bias: Array, account: Account
) -> FittedModel:
    """What was counted, so far as it is trusted."""
    ends = np.cumsum([1 if together(f) else b.width for f, b in zip(basis.solved.forms, basis.schema.blocks)])
    forms = [
        scaled(form, t[0] if together(form) else t) for form, t in zip(basis.solved.forms, np.split(trust, ends[:-1]))
    ]
    told = dict(zip(names(basis, list(texts)), trust.tolist()))
    places = [b for b, block in enumerate(basis.schema.blocks) if block.kind == "bags"]
    settings = dict(account.settings)
    for b, (name, text) in zip(places, texts.items()):
        forms[b] = Linear(told[name] * text.weights, np.zeros(len(text.weights)))
        told[name] *= text.common
        settings |= {f"C of {name}": text.C, f"C of {name}_chosen": text.chosen}
    n_parameters = account.n_parameters + basis.n_parameters + sum(text.n_parameters for text in texts.values())
    account = replace(account, settings=settings, n_parameters=n_parameters, trust=told)
    return FittedModel.of(basis.schema, forms, basis.solved.needs, bias, basis.ledger.rows, account, basis)
