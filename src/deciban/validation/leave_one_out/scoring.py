"""What the model of all other rows says of each row, block of features by block of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array, Codes
from deciban.engines.sparse import to_canonical_csr
from deciban.families.bernoulli import Bernoulli
from deciban.families.categorical import Categorical
from deciban.families.complement import Complement
from deciban.families.family import ClassPrior, Family, log, to_dense
from deciban.families.gaussian import Gaussian
from deciban.families.joint import Joint
from deciban.families.multinomial import Multinomial
from deciban.families.poisson import Poisson
from deciban.families.text_family import Text
from deciban.generative import GenerativeModel
from deciban.ledger import Needs
from deciban.scores import ScoreForm, finish
from deciban.scores.posterior import Finish
from deciban.validation.leave_one_out.bags import bag
from deciban.validation.leave_one_out.counts import every_class, own_class
from deciban.validation.leave_one_out.document_counts import documents, few_entries
from deciban.validation.leave_one_out.kernel_paths import quick_bells
from deciban.validation.leave_one_out.levels import categories, cells
from deciban.validation.leave_one_out.moments import bells
from deciban.validation.leave_one_out.rows import RowsLeftOut, is_left
from deciban.validation.leave_one_out.scatter import covariances


class LeftOutScores(NamedTuple):
    """What is wanted of each row, but for those that are still to be dealt with by the definition."""

    scores: Array
    todo: NDArray[np.bool_]


def left_out(
    belief: GenerativeModel, parts: Sequence[Any], codes: Codes, weight: Array | None, wanted: Finish, threads: int
) -> LeftOutScores | None:
    """Each row of weight w > 0 scored by what is believed without it; None where there is no closed form.

    `belief` has learned all these rows, and perhaps more.
    """
    if getattr(belief.assumption, "auto", False):
        return None
    if len(parts) == 1:
        quick = quick_bells(belief, parts[0], codes, weight, wanted, threads)
        if quick is not None:
            return LeftOutScores(*quick)
    n = len(codes)
    rows = RowsLeftOut(codes, np.ones(n) if weight is None else weight, np.zeros(n, dtype=np.bool_))
    rows.todo[:] = ~is_left(belief.complete.rows[codes], rows.weight)
    log_prior = _log_priors(belief, rows)
    joint = log_prior.copy()
    solved = belief.solved
    for family, part, form, X, need in zip(
        belief.assumption.families, belief.complete.parts, solved.forms, parts, solved.needs
    ):
        block = _block(family, part, form, X, need, rows, threads)
        if block is None:
            return None
        joint += block
    return LeftOutScores(finish(joint, log_prior, wanted)[0], rows.todo)


def _log_priors(belief: GenerativeModel, rows: RowsLeftOut) -> Array:
    """ln π_k without each row, n×K."""
    K, prior = len(belief.solved.prior), belief.assumption.prior
    if prior.kind in ("given", "uniform") or (not belief.assumption.probabilistic and K > 1):
        return np.broadcast_to(belief.solved.log_prior, (len(rows.codes), K)).copy()
    return log(_weights(prior, belief.complete.rows, rows))


def _weights(prior: ClassPrior, counted: Array, rows: RowsLeftOut) -> Array:
    weight = np.broadcast_to(counted, (len(rows.codes), len(counted))).copy()
    weight[np.arange(len(rows.codes)), rows.codes] -= np.where(rows.todo, 0.0, rows.weight)
    weight += prior.alpha if prior.kind == "smoothed" else 0.0
    return weight / weight.sum(axis=1, keepdims=True)


def _block(
    family: Family, part: Any, form: ScoreForm, X: Any, need: Needs, rows: RowsLeftOut, threads: int
) -> Array | None:
    """ln p(x|k) of one block of features, n×K."""
    if isinstance(family, Gaussian):
        X = X.toarray() if engines.is_sparse(X) else X
        return covariances(family, part, form, X, rows) if family.paired else bells(family, part, X, rows)  # type: ignore[arg-type]
    if isinstance(family, (Categorical, Joint)):
        levels = engines.prepare_rows(X.toarray() if engines.is_sparse(X) else X, need)
        if isinstance(family, Joint):
            return cells(family, part, form, levels, rows)  # type: ignore[arg-type]
        return categories(family, part, form, levels, rows)  # type: ignore[arg-type]
    stored = few_entries(family, part, form, X, need, rows, threads)
    if stored is not None:
        return stored
    if isinstance(family, (Poisson, Complement)):
        return every_class(family, to_dense(part), X, rows)
    if isinstance(family, Text):
        return documents(family, part, form, to_canonical_csr(X), need, rows, threads)  # type: ignore[arg-type]
    if isinstance(family, Multinomial) and engines.is_sparse(X) and np.ndim(family.alpha) == 0 and family.alpha > 0:
        return bag(family, part, form, X, need, rows, threads)
    if isinstance(family, (Bernoulli, Multinomial)):
        own = own_class(family, to_dense(part), X, rows)
        if own is None:
            return None
        score = engines.apply([form], [X], [need], np.zeros(form.n_classes), "joint", threads)
        score[np.arange(len(own)), rows.codes] = own
        return score
    return None
