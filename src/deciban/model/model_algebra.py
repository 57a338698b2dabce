"""The algebra of table models: learning more rows, forgetting some, adding models, and other class priors."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Self

import numpy as np

from deciban.errors import InputError
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import Column, Layout
from deciban.model.model_options import (
    Options,
    Origin,
    check_compatible,
    combine_formats,
    hide_markers,
    parse_class_prior,
)
from deciban.model.summarise_table import Progress, TableSummariser
from deciban.model.table_summaries import SummaryPlan, TableSummary
from deciban.result import RenamedAttributes
from deciban.scores.calibration import Calibration, keep_calibration
from deciban.sources.distributed import distributed_base
from deciban.sources.source import FileOptions, open_source


class ModelAlgebra(RenamedAttributes):
    """A table model whose ledger can be added to and subtracted from."""

    target: str
    columns: tuple[Column, ...]
    options: Options
    origin: Origin
    weights: str | None
    held_out: Any
    _layout: Layout
    _quality: Mapping[str, Any] | None
    _scorer: GenerativeModel | FittedModel
    """The generative model with the families of the roles, or the model that was fitted to the rows."""

    @property
    def ledger(self) -> Ledger:
        """The sufficient statistics of the data."""
        return self._scorer.ledger

    @property
    def roles(self) -> dict[str, str]:
        """Each column's role."""
        return {column.name: column.role for column in self.columns}

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the probabilities, as `train(..., calibrate=...)` has fitted it."""
        return self._scorer.calibration

    def _summarise(
        self, source: Any, sql: str | None, progress: Progress | None, spark: Any, **reading: Any
    ) -> TableSummariser | TableSummary:
        """Return the statistics of other rows, read in one pass, for the features of this model."""
        self._need_sums("learns no more rows, nor forgets any")
        rows = hide_markers(self, open_source(source, sql, FileOptions.from_arguments(reading), spark))
        counted = self._layout, self._scorer.assumption.needs, self.target, self.weights
        options: Any = {"words": self.options.words, "survey": self.options.survey_weights}
        if distributed_base(rows) is not None:
            return SummaryPlan(*counted, **options).summarise_all(rows)
        classes, levels = [str(label) for label in self._scorer.outline.classes], self._scorer.level_names
        summariser = TableSummariser(*counted, known_classes=classes, known_levels=levels, **options)
        for _ in summariser.read(rows, progress):
            pass
        return summariser

    def add(
        self,
        source: Any = None,
        *,
        sql: str | None = None,
        progress: Progress | None = None,
        spark: Any = None,
        **reading: Any,
    ) -> Self:
        """Learn more rows; the model becomes the one that training on all rows, with its schema, would give.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> model.add({"sweet": [3], "fruit": ["lemon"]}).ledger.rows.tolist()
        [4.0, 3.0]
        """
        return self._update(operator.add, self._summarise(source, sql, progress, spark, **reading))

    def forget(
        self,
        source: Any = None,
        *,
        sql: str | None = None,
        progress: Progress | None = None,
        spark: Any = None,
        exact: bool = False,
        **reading: Any,
    ) -> Self:
        """Unlearn rows: the model becomes the one that training without them, with its schema, would give.

        Whether these very rows were learned cannot be known from sums; rows that cannot have been are refused. A
        calibration stays, in which the rows had a part; `exact` drops it.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> model.forget({"sweet": [1], "fruit": ["lemon"]}).ledger.rows.tolist()
        [2.0, 3.0]
        """
        self._update(operator.sub, self._summarise(source, sql, progress, spark, **reading))
        if exact:
            self._scorer = self._scorer.with_maps(calibration=None)
        return self

    def calibrate(
        self, source: Any = None, *, method: str = "auto", learned: bool = False, sql: str | None = None,
        progress: Progress | None = None, **reading: Any,
    ) -> Self:  # fmt: skip
        """Fit the calibration again, to labelled rows that the model has not learned; return the model.

        Rows that it has learned are refused, unless `learned` says so: then each is scored by the model without it.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> model.calibrate(taste, method="temperature", learned=True).calibration.rows
        6
        """
        rows = hide_markers(self, open_source(source, sql, FileOptions.from_arguments(reading)))
        import_module("deciban.training.recalibrate").recalibrate(self, rows, method, learned, progress)
        return self

    def _update(self, operation: Callable[[Any, Any], Any], rows: TableSummariser | TableSummary) -> Self:
        """Add rows to this model, or subtract them from it, in place; return the model."""
        self._replace_ledger(operation(self.ledger, rows.total_and_folds[0]))
        self.origin = self.origin.combine(operation, rows.origin())
        return self

    def _need_sums(self, what: str, *others: ModelAlgebra) -> None:
        """Refuse an operation on ledgers if this model or another has fitted weights; `what` ends the message."""
        for model in (self, *others):
            if isinstance(model._scorer, FittedModel):
                model._scorer.refuse_sums(what)

    def _replace_ledger(self, ledger: Ledger, *others: ModelAlgebra) -> None:
        """Replace the ledger; drop held-out results. Given priors must fit it.

        The calibration is that of this model or of the others, whichever was fitted on more rows.
        """
        given = self.options.prior.given
        if given is not None and len(given) != len(ledger.rows):
            raise InputError(
                f"the class priors were given for {len(given)} classes, and now there are {len(ledger.rows)}. "
                f"Hint: with_priors('empirical') first"
            )
        scorer = GenerativeModel(self.options.assumption(self._layout), ledger)
        before = [(each.calibration, each.ledger.schema.classes) for each in (self, *others)]
        log_prior = scorer.assumption.solve_log_prior(scorer.complete.rows)
        kept = keep_calibration(before, ledger.schema.classes, log_prior)
        self._scorer, self.held_out, self._quality = scorer.with_maps(calibration=kept), None, None
        self.__dict__.pop("_labels", None)

    def _copy_with(self, ledger: Ledger, *others: ModelAlgebra) -> Self:
        """Return a copy with another ledger, without held-out results; see `_replace_ledger`."""
        new = copy.copy(self)
        new._replace_ledger(ledger, *others)
        return new

    def _combine(self, operation: Callable[[Any, Any], Any], other: Self, what: str) -> Self:
        """Return the sum or difference of two models; refuse models that differ, and models with fitted weights."""
        if not isinstance(other, ModelAlgebra):
            return NotImplemented
        self._need_sums(what, other)
        check_compatible(self, other)
        others = (other,) if operation is operator.add else ()
        new = self._copy_with(operation(self.ledger, other.ledger), *others)
        new.columns = combine_formats(self.columns, other.columns)
        new._layout = Layout(new.columns)
        new.origin = self.origin.combine(operation, other.origin)
        return new

    def __add__(self, other: Self) -> Self:
        return self._combine(operator.add, other, "cannot be added to another")

    def __sub__(self, other: Self) -> Self:
        return self._combine(operator.sub, other, "cannot be subtracted from another")

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        self._need_sums("cannot be scaled")
        return self._copy_with(self.ledger * factor)

    __rmul__ = __mul__

    def with_priors(self, priors: Any) -> Self:
        """Return a model with other class priors: a share for each class, or a name such as 'uniform'.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> model.with_priors({"lemon": 0.9, "plum": 0.1}).priors
        {'lemon': 0.9, 'plum': 0.1}
        """
        new = copy.copy(self)
        new.options = replace(self.options, prior=parse_class_prior(priors, self.ledger.schema.classes))
        if isinstance(self._scorer, FittedModel):
            naive = GenerativeModel(new.options.assumption(self._layout), self.ledger)
            new._scorer = replace(self._scorer.with_prior(naive.solved.prior), basis=naive)
        else:
            kept = self._scorer.calibration, self._scorer.novelty
            new._scorer = GenerativeModel(new.options.assumption(self._layout), self.ledger, *kept)
        if self.calibration is not None:
            self.calibration.shift(new._scorer.solved.log_prior)  # refused here, not at the first prediction
        new.held_out, new._quality = None, None
        return new
