"""What a model can do because ledgers add: learn more, forget, be added, fade, and take other class priors."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deciban.errors import InputError
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import Column, Layout
from deciban.model.compatibility import check_alike
from deciban.model.model_options import Options, class_prior
from deciban.model.summarise_table import Progress, TableSummariser
from deciban.scores.calibration import Calibration, warn_dropped
from deciban.sources.source import Source


@dataclass(frozen=True)
class Origin:
    """Where a model comes from: rows read, rows without a class, and when it was made."""

    rows_read: int = 0
    rows_without_class: int = 0
    created: str = ""
    source: str = ""

    def with_rows(self, read: int, without_class: int) -> Origin:
        """The same with so many rows more, or fewer."""
        rows = max(0, self.rows_read + read), max(0, self.rows_without_class + without_class)
        return replace(self, rows_read=rows[0], rows_without_class=rows[1])


class Algebra:
    """`add` and `forget` change a model and return it; `a + b`, `a - b`, `a * f` and `with_priors` give a new one."""

    target: str
    weights: str | None
    columns: tuple[Column, ...]
    options: Options
    layout: Layout
    origin: Origin
    held_out: Any
    _scorer: GenerativeModel | FittedModel
    _quality: Mapping[str, Any] | None

    if TYPE_CHECKING:  # what the model brings

        @property
        def scorer(self) -> GenerativeModel | FittedModel:
            """The ledger under the families that the roles name, or what was fitted to the rows."""
            ...

        @property
        def ledger(self) -> Ledger:
            """All that is remembered of the data."""
            ...

        @property
        def roles(self) -> dict[str, str]:
            """Each column's role."""
            ...

        @property
        def calibration(self) -> Calibration | None:
            """What the probabilities are mended by."""
            ...

        def _open(self, source: Any, sql: str | None, reading: Mapping[str, Any]) -> Source: ...

    def summary(
        self, source: Any, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> TableSummariser:
        """One pass over other rows, counted as this model counts."""
        self._need_sums("learns no more rows, nor forgets any")
        opened = self._open(source, sql, reading)
        classes, levels = [str(label) for label in self.scorer.outline.classes], self.scorer.level_names
        gathering = TableSummariser(
            self.layout, self.scorer.assumption.needs, self.target, self.weights,
            known_classes=classes, known_levels=levels, words=self.options.words,
        )  # fmt: skip
        for _ in gathering.read(opened, progress):
            pass
        return gathering

    def add(
        self, source: Any = None, *, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> Self:
        """Learn more rows; the model becomes what one training on all rows, with these roles, would have given."""
        more = self.summary(source, sql, progress, **reading)
        self._take(self.ledger + more.ledgers()[0])
        self.origin = self.origin.with_rows(more.n_read, more.n_without_class)
        return self

    def forget(
        self, source: Any = None, *, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> Self:
        """Unlearn rows: the model becomes what it would be had they never been learned.

        Whether these very rows were learned cannot be told from sums; what is plainly not there is refused.
        """
        less = self.summary(source, sql, progress, **reading)
        self._take(self.ledger - less.ledgers()[0])
        self.origin = self.origin.with_rows(-less.n_read, -less.n_without_class)
        return self

    def _need_sums(self, what: str, *others: Algebra) -> None:
        """Refuse what only ledgers can do where weights were fitted; `what` a fitted model does not."""
        for model in (self, *others):
            if isinstance(model._scorer, FittedModel):
                model._scorer.refuse_sums(what)

    def _take(self, ledger: Ledger) -> None:
        """Go on with another ledger, what was judged of the old one forgotten."""
        belief = GenerativeModel(self._assumption(ledger), ledger)
        warn_dropped(self.calibration, "Hint: train(..., calibrate=...) with all rows fits another")
        self._scorer, self.held_out, self._quality = belief, None, None
        self.__dict__.pop("labels", None)

    def _assumption(self, ledger: Ledger) -> Any:
        given = self.options.prior.given
        if given is not None and len(given) != len(ledger.rows):
            raise InputError(
                f"the class priors were given for {len(given)} classes, and now there are {len(ledger.rows)}. "
                f"Hint: with_priors('empirical') first"
            )
        return self.options.assumption(self.layout)

    def _with(self, ledger: Ledger) -> Self:
        new = copy.copy(self)
        new.__dict__.pop("labels", None)
        new._take(ledger)
        return new

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, Algebra):
            return NotImplemented
        self._need_sums("cannot be added to another", other)
        check_alike(self, other)
        new = self._with(self.ledger + other.ledger)
        new.origin = self.origin.with_rows(other.origin.rows_read, other.origin.rows_without_class)
        return new

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, Algebra):
            return NotImplemented
        self._need_sums("cannot be taken from another", other)
        check_alike(self, other)
        new = self._with(self.ledger - other.ledger)
        new.origin = self.origin.with_rows(-other.origin.rows_read, -other.origin.rows_without_class)
        return new

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        self._need_sums("cannot be scaled")
        return self._with(self.ledger * factor)

    __rmul__ = __mul__

    def with_priors(self, priors: Any) -> Self:
        """The same evidence under other class priors: a share for each class, or a name such as 'uniform'."""
        new = copy.copy(self)
        new.options = replace(self.options, prior=class_prior(priors, self.ledger.schema.classes))
        if isinstance(self._scorer, FittedModel):
            naive = GenerativeModel(new.options.assumption(self.layout), self.ledger)
            new._scorer = replace(self._scorer.with_prior(naive.solved.prior), basis=naive)
        else:
            told = self._scorer.calibration, self._scorer.novelty
            new._scorer = GenerativeModel(new.options.assumption(self.layout), self.ledger, *told)
        if self.calibration is not None:
            self.calibration.shift(new._scorer.solved.log_prior)  # refused here, not at the first prediction
        new.held_out, new._quality = None, None
        return new
