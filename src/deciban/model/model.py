"""The model of a table: columns with roles, a target, and the generative or fitted model that scores rows."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.errors import InputError
from deciban.families.family import broadcast_alpha
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.linear.fitted_model import Account, FittedModel
from deciban.model.columns import Column, Layout
from deciban.model.learned_ranges import learned_ranges
from deciban.model.matrices import Matrices, check_columns, invalid_cell_error, row_blocks
from deciban.model.model_options import (
    Options,
    Origin,
    check_compatible,
    combine_formats,
    hide_markers,
    parse_class_prior,
)
from deciban.model.output_frames import open_rows, predict_source, to_labels
from deciban.model.summarise_table import Progress, TableSummariser
from deciban.model.unseen_values import UnseenColumn, UnseenValueMonitor
from deciban.scorer import Scorer, vocabularies
from deciban.scores import Explanation
from deciban.scores.calibration import Calibration, warn_dropped
from deciban.scores.posterior import REJECTED, Costs, Decision, Finish, Thresholds, build_rule
from deciban.sources.source import FileOptions, Source, open_source

if TYPE_CHECKING:
    from pathlib import Path

    from deciban.families.telltales import Telltale
    from deciban.model.description import Description


class Model:
    """A model of a table, made by `deciban.train` or `deciban.load`.

    `add` and `forget` change the model and return it; `+`, `-`, `*` and `with_priors` give a new one. A refused
    operation changes nothing.
    """

    def __init__(
        self,
        target: str,
        columns: Sequence[Column],
        options: Options,
        ledger: Ledger | None = None,
        *,
        scorer: Scorer | None = None,
        target_type: str = "string",
        weights: str | None = None,
        origin: Origin | None = None,
        held_out: Any = None,
        quality: Mapping[str, Any] | None = None,
    ) -> None:
        self.target, self.columns, self.options = target, tuple(columns), options
        self.layout = Layout(self.columns)
        self.target_type, self.weights = target_type, weights
        self.origin = origin or Origin()
        self.held_out, self._quality = held_out, quality
        if scorer is None:
            assert ledger is not None
            scorer = GenerativeModel(options.assumption(self.layout), ledger)
        assert isinstance(scorer, (GenerativeModel, FittedModel))
        self.scorer: GenerativeModel | FittedModel = scorer
        """The generative model with the families of the roles, or the model that was fitted to the rows."""

    @property
    def naive(self) -> GenerativeModel:
        """The naive Bayes model of the rows: the scorer itself, or the model that fitted weights are based on."""
        return self.scorer if isinstance(self.scorer, GenerativeModel) else self.scorer.naive

    @property
    def account(self) -> Account | None:
        """The report on the fit of weights: learner, penalty, loss and evidence weights; None for naive Bayes."""
        return self.scorer.account if isinstance(self.scorer, FittedModel) else None

    @property
    def learner(self) -> str:
        """The name of the learner: "bayes", "logistic", "evidence" or "boosted"."""
        return "bayes" if self.account is None else self.account.learner

    @property
    def ledger(self) -> Ledger:
        """The sufficient statistics of the data."""
        return self.scorer.ledger

    @property
    def quality(self) -> Mapping[str, Any] | None:
        """The figures of `held_out`, also where the model comes from a file."""
        return self._quality if self.held_out is None else self.held_out.to_dict()

    @property
    def roles(self) -> dict[str, str]:
        """Each column's role."""
        return {column.name: column.role for column in self.columns}

    @cached_property
    def labels(self) -> NDArray[Any]:
        """The classes, in order, as the target column had them."""
        return to_labels([str(label) for label in self.scorer.outline.classes], self.target_type)

    @property
    def classes(self) -> list[Any]:
        """The classes, in order, as the target column had them."""
        return list(self.labels.tolist())

    @property
    def priors(self) -> dict[Any, float]:
        """The prior probability of each class."""
        return dict(zip(self.classes, self.scorer.solved.prior.tolist()))

    @property
    def pseudo_counts(self) -> dict[str, float]:
        """The pseudo-count of each column that has one: alpha, or the value that alpha="auto" has chosen."""
        families: Sequence[Any] = self.scorer.assumption.families
        return {
            feature.name: float(alpha)
            for (_, features), family in zip(self.layout.blocks, families)
            if hasattr(family, "alpha")
            for feature, alpha in zip(features, broadcast_alpha(family.alpha, len(features)))
        }

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of the probabilities, as `train(..., calibrate=...)` has fitted it."""
        return self.scorer.calibration

    @property
    def n_parameters(self) -> int:
        """The number of parameters that the model estimates."""
        return self.scorer.n_parameters

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the greatest value that was learned of each column of numbers."""
        return learned_ranges(self)

    def blocks(
        self, source: Source, allow_missing_columns: bool = False, monitor: UnseenValueMonitor | None = None
    ) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield the source's rows in blocks: as Arrow batches, and as the matrices of the model's blocks of features.

        Values that were never learned are refused where `unseen="error"`; else `monitor` counts them, or a warning
        follows the last block.
        """
        wanted = check_columns(source, self.layout.readings(), allow_missing_columns)
        watch = monitor or self.unseen_monitor()
        source, matrices = hide_markers(self, source), self.matrices()
        for batches in row_blocks(source, wanted, self.layout):
            parts = matrices.convert(batches)
            watch.count(batches, parts)
            if self.options.unseen == "error":
                watch.refuse_unseen(batches, parts)
            yield batches, parts
        if monitor is None:
            watch.warn()

    def unseen_monitor(self, numbers: bool = False) -> UnseenValueMonitor:
        """Return a monitor of values that were not learned: of levels and texts, and on request of numbers."""
        forms = self.naive.solved.forms if self.layout.texts else ()
        return UnseenValueMonitor(self.layout, self.scorer.level_names, forms, self.ranges if numbers else None)

    def matrices(self) -> Matrices:
        """Return the conversion of rows to matrices, with the levels and words that the model has learned."""
        known, words = vocabularies(self.scorer.outline) if self.layout.texts else (), self.options.words
        return Matrices.for_levels(self.layout, self.scorer.level_names, words=words, vocabularies=known)

    def scores(self, parts: Sequence[Any], wanted: Finish, threads: int | None = None) -> NDArray[Any]:
        """Return the scores of rows, see `GenerativeModel.scores`; an invalid value is reported with its column."""
        try:
            return self.scorer.scores(parts, wanted, threads or engines.thread_count(None))
        except engines.InvalidValueError as bad:
            raise invalid_cell_error(bad, self.layout, parts) from None

    def predict(
        self,
        source: Any = None,
        *,
        costs: Costs | None = None,
        reject: float | None = None,
        thresholds: Thresholds | None = None,
        reject_novel: float | None = None,
        sql: str | None = None,
        allow_missing_columns: bool = False,
        **reading: Any,
    ) -> Any:
        """Return the most probable class of each row, in the source's type of frame; a stream for a file or query.

        `costs`, `reject` and `thresholds` choose the class with the least expected cost instead, see `Decision`;
        `reject_novel` is the share of usual rows that may be taken for novel. An undecided or novel row is None.
        `reading` is how a file is read, as in `train`: `encoding`, `errors`, `format`, `header`, `names`, `quote`,
        `decimal`, `hive`, and `missing`, texts that stand for a missing value. With `bad_cells="missing"` cells that
        are no numbers among numbers, or no dates among dates, are missing, with a warning.
        """
        rule = build_rule(self.classes, costs, reject, thresholds)
        return predict_source(self, source, sql, reading, "winner", allow_missing_columns, rule, reject_novel)

    def decide(
        self, parts: Sequence[Any], log_posterior: NDArray[Any], rule: Decision | None, reject_novel: float | None
    ) -> NDArray[np.intp]:
        """Return the index of the class decided on for each row; −1 where it is undecided or novel."""
        codes = log_posterior.argmax(axis=1) if rule is None else rule.apply(np.exp(log_posterior))
        if reject_novel is None:
            return codes
        return np.where(self.scorer.is_novel(parts, reject_novel, engines.thread_count(None)), REJECTED, codes)

    def predict_proba(
        self, source: Any = None, *, sql: str | None = None, allow_missing_columns: bool = False, **reading: Any
    ) -> Any:
        """Return p(k|x) of each row, a column for each class."""
        return predict_source(self, source, sql, reading, "posterior", allow_missing_columns)

    def predict_log_proba(
        self, source: Any = None, *, sql: str | None = None, allow_missing_columns: bool = False, **reading: Any
    ) -> Any:
        """Return ln p(k|x) of each row, a column for each class."""
        return predict_source(self, source, sql, reading, "log_posterior", allow_missing_columns)

    def score_samples(
        self, source: Any = None, *, sql: str | None = None, allow_missing_columns: bool = False, **reading: Any
    ) -> Any:
        """Return ln p(x) of each row: low for rows unlike all that were learned."""
        return predict_source(self, source, sql, reading, "density", allow_missing_columns)

    def explain(
        self,
        source: Any = None,
        classes: tuple[Any, Any] | None = None,
        *,
        sql: str | None = None,
        rows: int | None = None,
        allow_missing_columns: bool = False,
        **reading: Any,
    ) -> Explanation:
        """Return the evidence of each column in decibans, for the winner against the runner-up or for given classes.

        `rows` stops after that many.
        """
        from deciban.model.table_explanations import explain_rows

        return explain_rows(self, open_rows(self, source, sql, reading), classes, rows, allow_missing_columns)

    def find_unseen(
        self, source: Any = None, *, sql: str | None = None, allow_missing_columns: bool = False, **reading: Any
    ) -> list[UnseenColumn]:
        """Return the columns with values that were not learned: how many, why, and the first of them with their rows.

        These are levels never seen, numbers outside the learned range (`ranges`), and texts without a known word.

        >>> import deciban
        >>> fruit = {"taste": ["sour", "sweet"] * 6, "kind": ["lemon", "plum"] * 6}
        >>> model = deciban.train(fruit, target="kind", judge=False)
        >>> print(*model.find_unseen({"taste": ["Sour", "sweet"]}))
        'taste' has 1 value never seen in training: Sour (row 1)
        """
        monitor = self.unseen_monitor(numbers=True)
        for _ in self.blocks(open_rows(self, source, sql, reading), allow_missing_columns, monitor):
            pass
        return list(monitor.columns.values())

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Return n rows drawn from a naive model, as an Arrow table with the target as the last column.

        Texts are words in any order; where words overlap (n-grams) or were not kept, a text is left out.
        """
        from deciban.model.output_frames import sample_table

        return sample_table(self, n, np.random.default_rng(random_state))

    def telltales(self, label: Any, n: int = 10, column: str | None = None) -> list[Telltale]:
        """Return the n words with the strongest evidence for a class, in decibans, with a 90 % interval and counts.

        `column` names the column of texts where there are several.
        """
        from deciban.model.weight_summaries import find_telltales

        return find_telltales(self, label, n, column)

    def describe(self) -> Description:
        """Return classes, priors, roles, parameters, and the strongest columns with their numbers of rows."""
        from deciban.model.description import describe_model

        return describe_model(self)

    def save(self, path: str | Path) -> None:
        """Write the model into one file, atomically; `deciban.load` reads it."""
        import_module("deciban.persistence.table_models").save(self, path)  # by name: it is a layer above

    def summary(
        self, source: Any, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> TableSummariser:
        """Return the statistics of other rows, read in one pass, for the features of this model."""
        self._need_sums("learns no more rows, nor forgets any")
        rows = hide_markers(self, open_source(source, sql, FileOptions.from_arguments(reading)))
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
        return self._update(operator.add, self.summary(source, sql, progress, **reading))

    def forget(
        self, source: Any = None, *, sql: str | None = None, progress: Progress | None = None, **reading: Any
    ) -> Self:
        """Unlearn rows: the model becomes the one that it would be had they never been learned.

        Whether these very rows were learned cannot be known from sums; rows that cannot have been are refused.
        """
        return self._update(operator.sub, self.summary(source, sql, progress, **reading))

    def _update(self, operation: Callable[[Any, Any], Any], rows: TableSummariser) -> Self:
        """Add rows to this model, or subtract them from it, in place; return the model."""
        self._replace_ledger(operation(self.ledger, rows.ledgers()[0]))
        self.origin = self.origin.combine(operation, rows.origin())
        return self

    def _need_sums(self, what: str, *others: Model) -> None:
        """Refuse an operation on ledgers if this model or another has fitted weights; `what` ends the message."""
        for model in (self, *others):
            if isinstance(model.scorer, FittedModel):
                model.scorer.refuse_sums(what)

    def _replace_ledger(self, ledger: Ledger) -> None:
        """Replace the ledger; held-out results are dropped, and a calibration is, with a warning."""
        given = self.options.prior.given
        if given is not None and len(given) != len(ledger.rows):
            raise InputError(
                f"the class priors were given for {len(given)} classes, and now there are {len(ledger.rows)}. "
                f"Hint: with_priors('empirical') first"
            )
        scorer = GenerativeModel(self.options.assumption(self.layout), ledger)
        warn_dropped(self.calibration, "Hint: train(..., calibrate=...) with all rows fits another")
        self.scorer, self.held_out, self._quality = scorer, None, None
        self.__dict__.pop("labels", None)

    def _copy_with(self, ledger: Ledger) -> Self:
        new = copy.copy(self)
        new._replace_ledger(ledger)
        return new

    def _combine(self, operation: Callable[[Any, Any], Any], other: Self, what: str) -> Self:
        if not isinstance(other, Model):
            return NotImplemented
        self._need_sums(what, other)
        check_compatible(self, other)
        new = self._copy_with(operation(self.ledger, other.ledger))
        new.columns = combine_formats(self.columns, other.columns)
        new.layout = Layout(new.columns)
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
        """Return a model with other class priors: a share for each class, or a name such as 'uniform'."""
        new = copy.copy(self)
        new.options = replace(self.options, prior=parse_class_prior(priors, self.ledger.schema.classes))
        if isinstance(self.scorer, FittedModel):
            naive = GenerativeModel(new.options.assumption(self.layout), self.ledger)
            new.scorer = replace(self.scorer.with_prior(naive.solved.prior), basis=naive)
        else:
            kept = self.scorer.calibration, self.scorer.novelty
            new.scorer = GenerativeModel(new.options.assumption(self.layout), self.ledger, *kept)
        if self.calibration is not None:
            self.calibration.shift(new.scorer.solved.log_prior)  # refused here, not at the first prediction
        new.held_out, new._quality = None, None
        return new

    def __repr__(self) -> str:
        used = sum(column.role != "skip" for column in self.columns)
        by = "" if self.learner == "bayes" else f", {self.learner}"
        return (
            f"<Model: {self.target} in {self.classes[:5]}{'…' if len(self.classes) > 5 else ''} from {used} columns"
            f"{by}; weight {self.ledger.n_rows:g}>"
        )
