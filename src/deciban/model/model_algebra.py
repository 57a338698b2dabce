"""Operations of a table model on its ledger: learn, forget, add, subtract, scale, and change class priors."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deciban.errors import InputError, SchemaError
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.linear.fitted_model import FittedModel
from deciban.model.columns import Column, Layout
from deciban.model.model_options import Options, parse_class_prior
from deciban.model.summarise_table import Progress, TableSummariser
from deciban.scores.calibration import Calibration, warn_dropped
from deciban.sources.source import Source

LIKE_HINT = "Hint: train one with the schema of the other, `deciban train … --like MODEL` (train(…, like=model))"


@dataclass(frozen=True)
class Origin:
    """The origin of a model: rows read, rows without a class, when it was made, and from which source."""

    rows_read: int = 0
    rows_without_class: int = 0
    created: str = ""
    source: str = ""

    def with_rows(self, read: int, without_class: int) -> Origin:
        """Return the origin with the numbers of rows increased, or decreased where they are negative."""
        rows = max(0, self.rows_read + read), max(0, self.rows_without_class + without_class)
        return replace(self, rows_read=rows[0], rows_without_class=rows[1])


class ModelAlgebra:
    """Sums of models: `add` and `forget` change the model; `+`, `-`, `*` and `with_priors` return a new one."""

    target: str
    weights: str | None
    columns: tuple[Column, ...]
    options: Options
    layout: Layout
    origin: Origin
    held_out: Any
    _scorer: GenerativeModel | FittedModel
    _quality: Mapping[str, Any] | None

    if TYPE_CHECKING:  # defined by the model

        @property
        def scorer(self) -> GenerativeModel | FittedModel:
            """The generative or fitted model."""
            ...

        @property
        def ledger(self) -> Ledger:
            """The sufficient statistics of the data."""
            ...

        @property
        def roles(self) -> dict[str, str]:
            """Each column's role."""
            ...

        @property
        def calibration(self) -> Calibration | None:
            """The calibration of the probabilities."""
            ...

        def _open(self, source: Any, sql: str | None, reading: Mapping[str, Any]) -> Source: ...

    def summary(
        self, source: Any, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> TableSummariser:
        """Summarise other rows in one pass, with the features of this model."""
        self._need_sums("learns no more rows, nor forgets any")
        rows = self._open(source, sql, reading)
        classes, levels = [str(label) for label in self.scorer.outline.classes], self.scorer.level_names
        summariser = TableSummariser(
            self.layout, self.scorer.assumption.needs, self.target, self.weights,
            known_classes=classes, known_levels=levels, words=self.options.words,
        )  # fmt: skip
        for _ in summariser.read(rows, progress):
            pass
        return summariser

    def add(
        self, source: Any = None, *, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> Self:
        """Learn more rows; the model becomes the one that training on all rows, with these roles, would give."""
        more = self.summary(source, sql, progress, **reading)
        self._replace_ledger(self.ledger + more.ledgers()[0])
        self.origin = self.origin.with_rows(more.n_read, more.n_without_class)
        return self

    def forget(
        self, source: Any = None, *, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> Self:
        """Unlearn rows: the model becomes the one that it would be had they never been learned.

        Whether these very rows were learned cannot be known from sums; rows that cannot have been are refused.
        """
        less = self.summary(source, sql, progress, **reading)
        self._replace_ledger(self.ledger - less.ledgers()[0])
        self.origin = self.origin.with_rows(-less.n_read, -less.n_without_class)
        return self

    def _need_sums(self, what: str, *others: ModelAlgebra) -> None:
        """Refuse an operation on ledgers where weights were fitted; `what` a fitted model does not do."""
        for model in (self, *others):
            if isinstance(model._scorer, FittedModel):
                model._scorer.refuse_sums(what)

    def _replace_ledger(self, ledger: Ledger) -> None:
        """Replace the ledger; the held-out results and calibration of the old one are dropped."""
        scorer = GenerativeModel(self._assumption(ledger), ledger)
        warn_dropped(self.calibration, "Hint: train(..., calibrate=...) with all rows fits another")
        self._scorer, self.held_out, self._quality = scorer, None, None
        self.__dict__.pop("labels", None)

    def _assumption(self, ledger: Ledger) -> Any:
        given = self.options.prior.given
        if given is not None and len(given) != len(ledger.rows):
            raise InputError(
                f"the class priors were given for {len(given)} classes, and now there are {len(ledger.rows)}. "
                f"Hint: with_priors('empirical') first"
            )
        return self.options.assumption(self.layout)

    def _copy_with(self, ledger: Ledger) -> Self:
        new = copy.copy(self)
        new.__dict__.pop("labels", None)
        new._replace_ledger(ledger)
        return new

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, ModelAlgebra):
            return NotImplemented
        self._need_sums("cannot be added to another", other)
        check_compatible(self, other)
        new = self._copy_with(self.ledger + other.ledger)
        new.origin = self.origin.with_rows(other.origin.rows_read, other.origin.rows_without_class)
        return new

    def __sub__(self, other: Self) -> Self:
        if not isinstance(other, ModelAlgebra):
            return NotImplemented
        self._need_sums("cannot be subtracted from another", other)
        check_compatible(self, other)
        new = self._copy_with(self.ledger - other.ledger)
        new.origin = self.origin.with_rows(-other.origin.rows_read, -other.origin.rows_without_class)
        return new

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        self._need_sums("cannot be scaled")
        return self._copy_with(self.ledger * factor)

    __rmul__ = __mul__

    def with_priors(self, priors: Any) -> Self:
        """Return a model with other class priors: a share for each class, or a name such as 'uniform'."""
        new = copy.copy(self)
        new.options = replace(self.options, prior=parse_class_prior(priors, self.ledger.schema.classes))
        if isinstance(self._scorer, FittedModel):
            naive = GenerativeModel(new.options.assumption(self.layout), self.ledger)
            new._scorer = replace(self._scorer.with_prior(naive.solved.prior), basis=naive)
        else:
            kept = self._scorer.calibration, self._scorer.novelty
            new._scorer = GenerativeModel(new.options.assumption(self.layout), self.ledger, *kept)
        if self.calibration is not None:
            self.calibration.shift(new._scorer.solved.log_prior)  # refused here, not at the first prediction
        new.held_out, new._quality = None, None
        return new


def check_compatible(a: ModelAlgebra, b: ModelAlgebra) -> None:
    """Refuse two models that differ in target, roles or options, naming the first difference."""
    if a.target != b.target:
        raise SchemaError(f"the two models have different targets: {a.target!r} and {b.target!r}")
    for name in (*a.roles, *b.roles):
        x, y = a.roles.get(name, "absent"), b.roles.get(name, "absent")
        if x != y and {x, y} != {"skip", "absent"}:
            raise SchemaError(f"the two models differ in column {name!r}: {x} in one, {y} in the other. {LIKE_HINT}")
    check_same_columns(a.columns, b.columns, LIKE_HINT)
    if a.layout.texts:
        a.options.words.refuse_other(b.options.words, LIKE_HINT)
    for name in ("alpha", "parameter_prior", "covariance", "unseen", "most_levels", "prior"):
        x, y = getattr(a.options, name), getattr(b.options, name)
        if x != y:
            raise SchemaError(f"the two models differ in {name}: {x!r} and {y!r}. {LIKE_HINT}")


def check_same_columns(columns: Sequence[Column], others: Sequence[Column], hint: str) -> None:
    """Refuse two models that differ in the role, date parts or block of a column that both have, naming it."""
    by_name = {column.name: column for column in others}
    for column, other in ((column, by_name.get(column.name, column)) for column in columns):
        if column.role != other.role:
            raise SchemaError(
                f"the two models differ in column {column.name!r}: {column.role} in one, {other.role} in the other. "
                f"{hint}"
            )
        if column.parts != other.parts:
            raise SchemaError(
                f"the two models split the dates of column {column.name!r} into different parts. {hint}"
            )
        if column.block != other.block:
            x, y = (", ".join(name for name in c.block if name != c.name) or "none" for c in (column, other))
            raise SchemaError(
                f"the two models join column {column.name!r} with different columns: {x} in one, {y} in the other. "
                f"{hint}"
            )
