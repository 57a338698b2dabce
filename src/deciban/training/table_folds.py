"""What would have been learned without each fold, and how it judges the rows of that fold.

Everything is settled anew without the fold: bells, bins or rates too. Settled once by all rows, noise tells the
labels that it was settled by: 1000 columns of it beside 300 random labels "predicted" 87 % of them, and without the
fold 50 (measured once, by a script that is not kept; tests/tables/test_honesty.py has the latter).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.metrics import Scorecard
from deciban.model.columns import Column, Layout
from deciban.model.model_options import Options
from deciban.model.summarise_table import Rows
from deciban.scorer import Scorer, vocabularies
from deciban.scores.posterior import Finish, finish, warn_impossible
from deciban.text import Words, measured_by
from deciban.training.number_roles import decide
from deciban.training.task import Task


@dataclass(frozen=True)
class Without:
    """What is believed without one fold, and which of the features counted it uses."""

    scorer: Scorer
    kept: Sequence[Sequence[int] | None]
    rest: Ledger
    words: Words
    """How texts are read."""

    def scores(self, rows: Rows, wanted: Finish) -> NDArray[Any]:
        """Rows of the fold, with the columns of all blocks as they were counted."""
        asked = as_read(rows, self.rest, self.words)
        return self.scorer.scores(chosen_parts(asked, self.kept), wanted, engines.thread_count(None))


def as_read(rows: Rows, rest: Ledger, words: Words) -> Rows:
    """Rows as the model of these other rows reads them: the length of a text is that of the words that are known."""
    known = vocabularies(rest.schema)
    if words.length is None:
        return rows
    dense = len(rows.columns) - len(known)
    texts = [
        block if vocabulary is None else [measured_by(words, block[0], part.seen)]  # type: ignore[attr-defined]
        for vocabulary, block, part in zip(known, rows.columns[dense:], rest.parts[dense:])
    ]
    return replace(rows, columns=[*rows.columns[:dense], *texts])


def chosen_parts(rows: Rows, kept: Sequence[Sequence[int] | None]) -> list[Any]:
    """The matrices of the features that are kept of each block."""
    chosen = [
        block if index is None else [block[j] for j in index]
        for block, index in zip(rows.columns, kept)
        if index is None or len(index)
    ]
    return replace(rows, columns=chosen).parts


def settled(task: Task, options: Options, rest: Ledger, sure: Mapping[str, Column] | None = None) -> Without:
    """What is believed of these rows alone, everything that is open settled by them; but for what is `sure`."""
    columns, kept, _ = decide(task.layout, rest, options, sure)
    belief = GenerativeModel(options.assumption(Layout(tuple(columns))), rest.choose(kept))
    return Without(belief, kept, rest, options.words)


@dataclass(frozen=True)
class OutOfFold:
    """Rows scored by what is believed without their folds, and the classes that each row's belief has learned."""

    rows: Rows
    scores: NDArray[Any]
    known: NDArray[np.bool_]
    log_prior: Mapping[int, Array]
    """ln π_k without each fold."""
    cells: Array | None = None
    """How many cells of each row, or words, say something to the belief without it; where that was asked for."""

    def finished(self, wanted: Finish) -> NDArray[Any]:
        """What is wanted of joint scores; see `scores.finish`."""
        if wanted == "joint":
            return self.scores
        done: list[tuple[NDArray[np.intp], NDArray[Any]]] = []
        lost = 0
        for f, prior in self.log_prior.items():
            mine = np.flatnonzero(self.rows.fold == f)
            part, n_lost = finish(self.scores[mine], prior, wanted)
            done.append((mine, part))
            lost += n_lost
        if lost:
            warn_impossible(lost)
        return _in_order(done)

    def judged(self, log_posterior: Array) -> Scorecard:
        """How good the answers are; the rows are kept."""
        rows = self.rows
        return Scorecard.of(log_posterior, rows.codes, rows.weight, self.known, keep=True, number=rows.number)


def out_of_fold(each: Iterable[Without | None], rows: Rows, wanted: Finish, observed: bool = False) -> OutOfFold:
    """Every row scored by what is believed without its fold; rows of a fold that has no such belief are left out.

    `observed`: also how much of each row says something.
    """
    assert rows.fold is not None
    scores, known, log_prior, cells = [], [], {}, []
    for f, without in enumerate(each):
        mine = np.flatnonzero(rows.fold == f)
        if without is None or not len(mine):
            continue
        learned = without.rest.rows > 0
        scores.append((mine, without.scores(rows[mine], wanted)))
        if observed:
            cells.append((mine, without.scores(rows[mine], "observed")))
        known.append((mine, np.broadcast_to(learned, (len(mine), len(learned)))))
        log_prior[f] = without.scorer.solved.log_prior
    judged = rows[np.isin(rows.fold, list(log_prior))]
    counted = _in_order(cells) if observed else None
    return OutOfFold(judged, _in_order(scores), _in_order(known), log_prior, counted)


def _in_order(parts: Sequence[tuple[NDArray[np.intp], NDArray[Any]]]) -> NDArray[Any]:
    """The parts as one, by the places that they have."""
    if not parts:
        return np.zeros((0, 0))
    order = np.argsort(np.concatenate([place for place, _ in parts]), kind="stable")
    whole: NDArray[Any] = np.concatenate([part for _, part in parts])[order]
    return whole
