"""Evidence regression of a table: score_k(x) = b_k + Σ_j t_j ln p(x_j|k), so that repeated evidence counts once.

Each column has one evidence weight t_j, shared by all classes (attributes name it `trust`); numbers that are joined
in one Gaussian have one, and so has a text. Weight 1 everywhere and b = ln π is naive Bayes.

The words of a text are weighed first, by evidence regression of the text alone (`evidence_weights_of_words.py`): once
on all rows and once without each fold. The weight of the text as a whole is fitted to evidence of rows whose labels
its words have not seen. If words weighed on all rows were used together with evidence computed without the row's
fold, the difference of the two would reveal the label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from deciban.linear.evidence_weights_of_words import (
    HELD_OUT_ALPHA,
    INFINITE_EVIDENCE,
    EvidenceSettings,
    Smoothing,
    WordRows,
    choose_C,
    choose_smoothing,
    count_word_evidence,
    fit_word_weights,
    sample_choice_documents,
)
from deciban.linear.fitted_model import Account, FittedModel
from deciban.linear.penalty_choice import DEFAULT_C, FoldedRows
from deciban.linear.solvers.logistic_objective import count_scores, expand_to_classes
from deciban.linear.table_design import FoldDesign, fit_predictor
from deciban.scores import Full, Linear, ScoreForm, SparseLinear
from deciban.scores.form_algebra import scale_form

MAX_EVIDENCE_CELLS = 1 << 26
"""The greatest number of evidence values kept in memory: half a gigabyte. Of more rows as many as fit suffice for the
few weights."""

MAX_EVIDENCE_NATS = 1e6
"""The greatest evidence of a column in the fit: beyond it squares of the evidence would dominate all others."""


def has_one_weight(form: ScoreForm) -> bool:
    """Return whether the features of a block with this form share one weight."""
    return isinstance(form, (Full, SparseLinear))


def _count_block_weights(basis: GenerativeModel) -> list[int]:
    """Return the number of weights of each block."""
    blocks = zip(basis.solved.forms, basis.schema.blocks)
    return [1 if has_one_weight(form) else block.width for form, block in blocks]


def count_weights(basis: GenerativeModel) -> int:
    """Return the number of evidence weights."""
    return sum(_count_block_weights(basis))


def sample_evidence_rows(n: int, basis: GenerativeModel) -> NDArray[np.intp]:
    """Return the rows whose evidence is used: all, or a fixed random sample of as many as fit in memory."""
    return sample_row_numbers(n, max(1, MAX_EVIDENCE_CELLS // (count_weights(basis) * len(basis.ledger.rows))))


def find_text_weights(basis: GenerativeModel) -> list[int]:
    """Return the indices of the weights that belong to texts."""
    is_text = [block.kind == "bags" for block in basis.schema.blocks]
    return np.flatnonzero(np.repeat(is_text, _count_block_weights(basis))).tolist()


def compute_column_evidence(model: GenerativeModel, parts: Sequence[Any]) -> Array:
    """Compute ln p(x_j|k) − ln p(x_j|0) of these rows, n×d×K: a term common to all classes has no effect.

    A text has zeros, as its words are weighed separately. Evidence is clipped to ±`MAX_EVIDENCE_NATS`; where it
    is infinite because a pseudo-count is 0, an error is raised.
    """
    K = len(model.ledger.rows)
    blocks = zip(model.solved.forms, parts, model.solved.needs, model.schema.blocks)
    evidence = np.concatenate(
        [
            np.zeros((X.shape[0], 1, K)) if b.kind == "bags" else _compute_block_evidence(form, X, n, K)
            for form, X, n, b in blocks
        ],
        axis=1,
    )
    if not np.isfinite(evidence).all():
        alphas = [getattr(family, "alpha", 1.0) for family in model.assumption.families]
        if any(np.any(np.asarray(alpha) == 0) for alpha in alphas):
            raise InputError(INFINITE_EVIDENCE.format(what="value"))
        evidence = np.nan_to_num(evidence)
    return np.clip(evidence, -MAX_EVIDENCE_NATS, MAX_EVIDENCE_NATS)


def _compute_block_evidence(form: ScoreForm, X: Any, needs: Needs, K: int) -> Array:
    """Compute ln p(x_j|k) − ln p(x_j|0) of one block, n × its number of weights × K."""
    n = X.shape[0]
    out = np.zeros((n, 1 if has_one_weight(form) else X.shape[1], K))
    first = np.zeros(n, dtype=np.intp)
    for k in range(1, K):
        pieces = engines.pieces(form, X, needs, np.full(n, k), first)
        if has_one_weight(form):
            out[:, 0, k] = np.asarray(pieces.features.sum(axis=1)).reshape(-1) + sum(pieces.extras.values())
        else:
            out[:, :, k] = pieces.features
    return out


def name_weights(basis: GenerativeModel, texts: Sequence[str]) -> list[str]:
    """Return the name of each weight: a column, columns that are joined, or one of these texts."""
    words = iter(texts)
    found: list[str] = []
    for form, block in zip(basis.solved.forms, basis.schema.blocks):
        if block.kind == "bags":
            found.append(next(words))
        else:
            own = [str(name) for name in block.names or range(block.width)]
            found += [" & ".join(own)] if has_one_weight(form) else own
    return found


@dataclass(frozen=True)
class TextWeights:
    """The coefficient of each word of a text for each class (`weights`, K×V: evidence weight × evidence).

    `common` is the evidence weight common to all words, `chosen` whether C was chosen by cross-validation.
    """

    weights: Array
    common: float
    C: float
    chosen: bool
    smoothing: Smoothing

    @property
    def n_parameters(self) -> int:
        """The number of fitted parameters: an evidence weight of each word in each score, and the common one."""
        return count_scores(len(self.weights)) * self.weights.shape[1] + 1


def fit_text_weights(rows: WordRows, alpha: float, C: float | str, fold: NDArray[np.int32]) -> TextWeights:
    """Fit the weights of a text's words to these rows; the smoothing, and C where it is "auto", by these folds."""
    chosen = isinstance(C, str)
    own, seen = _keep_seen_classes(rows)
    best, smoothing = DEFAULT_C if isinstance(C, str) else float(C), Smoothing(alpha, False)
    if len(seen) > 1:
        candidates, index = [smoothing, Smoothing(alpha * HELD_OUT_ALPHA, True)], sample_choice_documents(own)
        smoothing = choose_smoothing(own.take(index), EvidenceSettings(C=best), candidates, fold[index]).smoothing
        best = choose_C(own, EvidenceSettings(C="auto"), smoothing, fold) if chosen else best
    return replace(_fit_text_weights(rows, smoothing, best), chosen=chosen)


def compute_out_of_fold_evidence(rows: WordRows, fitted: TextWeights, fold: NDArray[np.int32]) -> Array:
    """Compute the evidence of each row's text by words weighed without its fold, n×K; zero for rows in no fold."""
    out = np.zeros((len(rows.codes), rows.n_classes))
    for f in range(int(fold.max(initial=-1)) + 1):
        mine = np.flatnonzero(fold == f)
        others = _fit_text_weights(rows.take(np.flatnonzero(fold != f)), fitted.smoothing, fitted.C)
        out[mine] = rows.scored[mine] @ others.weights.T
    return out


def _fit_text_weights(rows: WordRows, smoothing: Smoothing, C: float) -> TextWeights:
    """Fit the coefficients of words at this C; a class without rows has zeros."""
    own, seen = _keep_seen_classes(rows)
    weights = np.zeros((rows.n_classes, rows.scored.shape[1]))
    if len(seen) < 2:
        return TextWeights(weights, 0.0, C, False, smoothing)
    evidence = count_word_evidence(own, smoothing.alpha)
    if not np.isfinite(evidence).all():
        raise InputError(INFINITE_EVIDENCE.format(what="word"))
    found = fit_word_weights(own.with_smoothing(smoothing), evidence, EvidenceSettings(C=C), C)
    weights[seen] = expand_to_classes((found.weights * evidence).T) * rows.size
    return TextWeights(weights, found.common, C, False, smoothing)


def _keep_seen_classes(rows: WordRows) -> tuple[WordRows, NDArray[np.intp]]:
    """Return the rows with codes renumbered to the classes that have rows, and the former codes of these."""
    seen, codes = np.unique(rows.codes, return_inverse=True)
    own = replace(rows, codes=codes.reshape(-1).astype(np.int32), n_classes=len(seen))
    return own, seen.astype(np.intp)


def fit_evidence_weights(
    basis: GenerativeModel,
    evidence: Array,
    rows: FoldedRows,
    C: float | str,
    texts: Mapping[str, TextWeights],
    fold_design: FoldDesign | None = None,
) -> FittedModel:
    """Fit a weight for the evidence of each column; the forms are those of naive Bayes times their weights.

    `evidence` (n×d×K) is that of these rows, texts included, by models that had not learned them; `texts` are the
    weights of the words of each text, by its name.
    """
    found = fit_predictor([Shared(evidence, 1.0)], rows, len(basis.ledger.rows), C, fold_design, prefers_default=True)
    weights, account = found.blocks[0], found.account("evidence", len(rows.codes))
    ends = np.cumsum(_count_block_weights(basis))
    forms = [
        scale_form(form, t[0] if has_one_weight(form) else t)
        for form, t in zip(basis.solved.forms, np.split(weights, ends[:-1]))
    ]
    by_column = dict(zip(name_weights(basis, list(texts)), weights.tolist()))
    text_blocks = [b for b, block in enumerate(basis.schema.blocks) if block.kind == "bags"]
    settings = dict(account.settings)
    for b, (name, text) in zip(text_blocks, texts.items()):
        forms[b] = Linear(by_column[name] * text.weights, np.zeros(len(text.weights)))
        by_column[name] *= text.common
        settings |= {f"C of {name}": text.C, f"C of {name}_chosen": text.chosen}
    n_parameters = account.n_parameters + basis.n_parameters + sum(text.n_parameters for text in texts.values())
    account = replace(account, settings=settings, n_parameters=n_parameters, trust=by_column)
    return FittedModel.of(basis.schema, forms, basis.solved.needs, found.bias, basis.ledger.rows, account, basis)


def use_unit_weights(basis: GenerativeModel, n_rows: int, texts: Sequence[str]) -> FittedModel:
    """Return the naive Bayes model with weight 1 for every column, for rows of which none can be held out."""
    weights = dict.fromkeys(name_weights(basis, texts), 1.0)
    settings = {"C": DEFAULT_C, "C_chosen": False, "rows": n_rows}
    account = Account("evidence", settings, n_parameters=len(weights) + basis.n_parameters, trust=weights)
    solved = basis.solved
    return FittedModel.of(
        basis.schema, solved.forms, solved.needs, solved.log_prior, basis.ledger.rows, account, basis
    )
