"""The model of a table: columns with roles, a target, and the generative or fitted model that scores rows."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.docstrings import document
from deciban.formatting import format_count
from deciban.generative import GenerativeModel
from deciban.ledger import Ledger
from deciban.linear.fitted_model import Account, FittedModel
from deciban.model.columns import Column, Layout
from deciban.model.distributed_scores import explain_parts
from deciban.model.learned_ranges import bound_ranges
from deciban.model.matrices import Matrices, check_columns, invalid_cell_error, row_blocks
from deciban.model.model_algebra import ModelAlgebra
from deciban.model.model_options import Options, Origin, hide_markers, list_pseudo_counts
from deciban.model.output_frames import open_rows, predict_source, sample_table, to_labels
from deciban.model.unseen_values import UnseenColumn, UnseenValueMonitor
from deciban.scorer import Scorer, vocabularies
from deciban.scores import Explanation
from deciban.scores.posterior import REJECTED, Costs, Decision, Finish, Thresholds, build_rule
from deciban.sources.distributed import distributed_base
from deciban.sources.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from deciban.families.telltales import Telltale
    from deciban.model.description import Description
    from deciban.model.parameter_tables import ParameterTable
    from deciban.model.single_changes import SingleChange


@document()
class Model(ModelAlgebra):
    """A model of a table, made by `deciban.train` or `deciban.load`.

    `add` and `forget` change the model and return it; `+`, `-`, `*` and `with_priors` give a new one. A refused
    operation changes nothing.

    Parameters
    ----------
    target : str
        The column that is predicted.
    columns : sequence of Column
        The other columns, each with its role and the reason for it.
    options : Options
        Pseudo-counts, priors and the tokenizer of texts.
    ledger : Ledger or None
        The sufficient statistics of the data; with a scorer they are its own.
    scorer : GenerativeModel, FittedModel or None
        The model that scores rows; None: naive Bayes of the ledger.
    target_type : str
        The Arrow type of the target.
    weights : str or None
        The column with the weight of each row.
    origin : Origin or None
        The number of rows read, when, and from which source.
    held_out : Report or None
        The report on rows that were not learned.
    quality : mapping or None
        The figures of `held_out`, where the model comes from a file.

    Examples
    --------
    >>> import deciban
    >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
    >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
    >>> model.predict({"sweet": [3, 8]}).tolist(), model.predict_proba({"sweet": [4]}).round(3).tolist()
    (['lemon', 'plum'], [[0.5, 0.5]])
    >>> model.add({"sweet": [3], "fruit": ["lemon"]}).ledger.rows.tolist()
    [4.0, 3.0]
    """

    _renamed_attributes = {
        "blocks": "_read_blocks", "decide": "_decide", "labels": "_labels", "layout": "_layout",
        "matrices": "_make_matrices", "naive": "_naive", "scorer": "_scorer", "scores": "_score",
        "summary": "_summarise", "target_type": "_target_type",
    }  # fmt: skip

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
        self._layout = Layout(self.columns)
        self._target_type, self.weights = target_type, weights
        self.origin = origin or Origin()
        self.held_out, self._quality = held_out, quality
        if scorer is None:
            assert ledger is not None
            scorer = GenerativeModel(options.assumption(self._layout), ledger)
        assert isinstance(scorer, (GenerativeModel, FittedModel))
        self._scorer = scorer

    @property
    def _naive(self) -> GenerativeModel:
        """The naive Bayes model of the rows: the scorer itself, or the model that fitted weights are based on."""
        return self._scorer if isinstance(self._scorer, GenerativeModel) else self._scorer.naive

    @property
    def account(self) -> Account | None:
        """The report on the fit of weights: learner, penalty, loss and evidence weights; None for naive Bayes."""
        return self._scorer.account if isinstance(self._scorer, FittedModel) else None

    @property
    def learner(self) -> str:
        """The name of the learner: "bayes", "aode", "logistic", "evidence" or "boosted"."""
        if self.account is not None:
            return self.account.learner
        return "aode" if self.options.dependence == "averaged" else "bayes"

    @property
    def quality(self) -> Mapping[str, Any] | None:
        """The figures of `held_out`, also where the model comes from a file."""
        return self._quality if self.held_out is None else self.held_out.to_dict()

    @cached_property
    def _labels(self) -> NDArray[Any]:
        """The classes, in order, as the target column had them."""
        return to_labels([str(label) for label in self._scorer.outline.classes], self._target_type)

    @property
    def classes(self) -> list[Any]:
        """The classes, in order, as the target column had them."""
        return list(self._labels.tolist())

    @property
    def priors(self) -> dict[Any, float]:
        """The prior probability of each class."""
        return dict(zip(self.classes, self._scorer.solved.prior.tolist()))

    @property
    def pseudo_counts(self) -> dict[str, float]:
        """The pseudo-count of each column that has one: alpha, or with "auto" m of levels and bins."""
        return list_pseudo_counts(self._layout, self._naive.unsolved())

    @property
    def n_parameters(self) -> int:
        """The number of parameters that the model estimates."""
        return self._scorer.n_parameters

    @property
    def structure(self) -> dict[str, str]:
        """The column that each dependent column depends on, in a forest or in pairs; empty where there is none."""
        block = self._layout.block_index("pairs")
        if block is None or self.options.dependence == "averaged":
            return {}
        names = [feature.name for feature in self._layout.blocks[block].features]
        parent = self._naive.solved.forms[block].parent.tolist()  # type: ignore[attr-defined]
        return {name: names[p] for name, p in zip(names, parent) if p >= 0}

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The least and the greatest value learned of each column of numbers; bounds where these are unknown."""
        extremes = self.origin.extremes
        return bound_ranges(self._layout, self.ledger) if extremes is None else extremes.ranges()

    def _read_blocks(
        self, source: Source, allow_missing_columns: bool = False, monitor: UnseenValueMonitor | None = None
    ) -> Iterator[tuple[list[Any], list[Any]]]:
        """Yield the source's rows in blocks: as Arrow batches, and as the matrices of the model's blocks of features.

        Values that were never learned are refused where `unseen="error"`; else `monitor` counts them, or a warning
        follows the last block.
        """
        wanted = check_columns(source, self._layout, allow_missing_columns)
        watch = monitor or self._make_unseen_monitor(numbers=self.origin.extremes is not None)
        source, matrices = hide_markers(self, source), self._make_matrices()
        for batches in row_blocks(source, wanted, self._layout):
            parts = matrices.convert(batches)
            watch.count(batches, parts)
            if self.options.unseen == "error":
                watch.refuse_unseen(batches, parts)
            yield batches, parts
        if monitor is None:
            watch.warn()

    def _make_unseen_monitor(self, numbers: bool = False) -> UnseenValueMonitor:
        """Return a monitor of values that were not learned: of levels and texts, and on request of numbers."""
        forms = self._naive.solved.forms if self._layout.texts else ()
        return UnseenValueMonitor(self._layout, self._scorer.level_names, forms, self.ranges if numbers else None)

    def _make_matrices(self) -> Matrices:
        """Return the conversion of rows to matrices, with the levels and words that the model has learned."""
        known, words = vocabularies(self._scorer.outline) if self._layout.texts else (), self.options.words
        return Matrices.for_levels(self._layout, self._scorer.level_names, words=words, vocabularies=known)

    def _score(self, parts: Sequence[Any], wanted: Finish, threads: int | None = None) -> NDArray[Any]:
        """Return the scores of rows, see `GenerativeModel.scores`; an invalid value is reported with its column."""
        try:
            return self._scorer.scores(parts, wanted, threads or engines.thread_count(None))
        except engines.InvalidValueError as bad:
            raise invalid_cell_error(bad, self._layout, parts) from None

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

        A DataFrame of Spark, or a path with `spark`, a session, gives a DataFrame of `prediction`, `probability` and
        `decibans`, the evidence against the second class; `predict_proba` adds a column p(CLASS) for each class, and
        `explain` returns the evidence of each column. `keep` names the columns of the rows that precede these, by
        default all of a DataFrame, and none of files.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> model.predict({"sweet": [3, None, 8]}).tolist()
        ['lemon', 'lemon', 'plum']
        >>> model.predict({"sweet": [3]}, costs={("plum", "lemon"): 1e9}).tolist()
        ['plum']
        """
        rule = build_rule(self.classes, costs, reject, thresholds)
        return predict_source(self, source, sql, reading, "winner", allow_missing_columns, rule, reject_novel)

    def _decide(
        self, parts: Sequence[Any], log_posterior: NDArray[Any], rule: Decision | None, reject_novel: float | None
    ) -> NDArray[np.intp]:
        """Return the index of the class decided on for each row; −1 where it is undecided or novel."""
        codes = log_posterior.argmax(axis=1) if rule is None else rule.apply(np.exp(log_posterior))
        if reject_novel is None:
            return codes
        return np.where(self._scorer.is_novel(parts, reject_novel, engines.thread_count(None)), REJECTED, codes)

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

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> print(model.explain({"sweet": [3]}).text())
        lemon rather than plum
          sweet = 3          +26.38 dB
          prior               +0.00 dB
          total              +26.38 dB  (435 to 1)
        """
        from deciban.model.table_explanations import explain_rows

        opened = open_rows(self, source, sql, reading)
        if distributed_base(opened) is not None:
            return explain_parts(self, opened, classes, rows, allow_missing_columns, reading.get("keep"))
        return explain_rows(self, opened, classes, rows, allow_missing_columns)

    def find_single_changes(self, source: Any, row: int = 0) -> list[SingleChange]:
        """Return the smallest change of each cell of a row that flips its prediction, the smallest of all first."""
        from deciban.model.single_changes import find_single_changes

        return find_single_changes(self, source, row)

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
        monitor, reader = self._make_unseen_monitor(numbers=True), copy.copy(self)
        reader.options = replace(self.options, unseen="ignore")  # levels are listed here, not refused
        for _ in reader._read_blocks(open_rows(self, source, sql, reading), allow_missing_columns, monitor):
            pass
        return list(monitor.columns.values())

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Return n rows drawn from a naive model, as an Arrow table with the target as the last column.

        Texts are words in any order; where words overlap (n-grams) or were not kept, a text is left out.
        """
        return sample_table(self, n, np.random.default_rng(random_state))

    def telltales(self, label: Any, n: int = 10, column: str | None = None) -> list[Telltale]:
        """Return the n words with the strongest evidence for a class, in decibans, with a 90 % interval and counts.

        `column` names the column of texts where there are several.
        """
        from deciban.model.weight_summaries import find_telltales

        return find_telltales(self, label, n, column)

    def table(self, column: str, most: int | None = None) -> ParameterTable:
        """Return the parameters of a column in each class, as a textbook prints them.

        These are counts, and estimates with and without the prior: θ of values, bins and words, μ and σ² of numbers,
        λ of counts; of the target the class prior. `most` is the number of values or words, the commonest first.

        >>> import deciban
        >>> taste = {"sweet": [1, 2, 1, 8, 9, 7], "fruit": ["lemon"] * 3 + ["plum"] * 3}
        >>> model = deciban.train(taste, target="fruit", numbers="number", judge=False)
        >>> print(model.table("sweet"))
        sweet (number) in each class
        <BLANKLINE>
        N(x; μ, σ²)
                                          lemon      plum
          n                                   3         3
          mean μ                        1.33333         8
          variance Σ(x − μ)²/n         0.222222  0.666667
          variance σ², with the prior  0.277778  0.611111
          deviation σ                  0.527046  0.781736
        """
        from deciban.model.parameter_tables import make_parameter_table

        return make_parameter_table(self, column, most)

    def describe(self) -> Description:
        """Return classes, priors, roles, parameters, and the strongest columns with their numbers of rows."""
        from deciban.model.description import describe_model

        return describe_model(self)

    def save(self, path: str | Path) -> None:
        """Write the model into one file, atomically; `deciban.load` reads it."""
        import_module("deciban.persistence.table_models").save(self, path)  # by name: it is a layer above

    def export(self, to: str, path: str | Path | None = None, **options: Any) -> str | bytes:
        """Return the model as SQL, ONNX, JavaScript or JSON, and write it to a file; see `deciban.export_model`."""
        contents: str | bytes = import_module("deciban.export").export_model(self, to, path, **options)
        return contents  # the package is imported by name: it is a layer above

    def __repr__(self) -> str:
        by = "" if self.learner == "bayes" else f", {self.learner}"
        classes = f"{self.classes[:5]}{'…' if len(self.classes) > 5 else ''}"
        columns = format_count(sum(column.role != "skip" for column in self.columns), "column")
        return f"<Model: {self.target} in {classes} from {columns}{by}; weight {format_count(self.ledger.n_rows)}>"

    def _repr_html_(self) -> str:
        """Return classes, strongest columns and roles, for notebooks."""
        from deciban.model.model_html import show_in_notebook

        return show_in_notebook(self)
