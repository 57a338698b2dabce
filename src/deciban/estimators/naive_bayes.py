"""NaiveBayes: tables of numbers, counts, flags, categories, dates and texts, some cells missing, in one model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from deciban._lazy import pa
from deciban._typing import Array
from deciban.engines import thread_count
from deciban.errors import InputError, UndefinedError, renumber_rows
from deciban.estimators.check_arguments import allow, check_labels, drop_weightless_rows, parse_prior
from deciban.estimators.classifier_base import refuse_unsound_arguments
from deciban.estimators.generative_base import GenerativeClassifier, make_generator
from deciban.estimators.parameter_docs import document_estimator
from deciban.generative import Assumption
from deciban.ledger import Block, Ledger, Schema
from deciban.model.columns import Column, Layout, to_name
from deciban.model.model import Model
from deciban.model.model_options import MAX_DISTINCT_LEVELS, Options, Origin, check_same_columns
from deciban.persistence import Section
from deciban.persistence.table_models import read_columns, write_columns
from deciban.scores import Explanation
from deciban.scores.posterior import Finish
from deciban.sources.arrow_cells import to_numbers
from deciban.sources.arrow_sources import Frame
from deciban.sources.source import open_source, read_spread
from deciban.text import Words
from deciban.text.words import PRESETS
from deciban.training.cell_styles import parse_cells
from deciban.training.column_roles import HEAD_ROWS, decide, infer_roles, rule_out_counts
from deciban.training.joined_columns import join_columns, to_names
from deciban.training.task import Task

if TYPE_CHECKING:
    from deciban.families.telltales import Telltale
    from deciban.model.description import Description
    from deciban.model.parameter_tables import ParameterTable

FRAME_KINDS = ("pandas", "polars", "table", "array")
"""Kinds of frame: pandas, polars, another table with names, or an array."""

SAME_COLUMNS_HINT = "Hint: fit both with the same roles= and blocks=, NaiveBayes(roles=other.roles_)"


@document_estimator
@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayes(GenerativeClassifier):
    """Naive Bayes over a table: each column by the family of its role.

    X is a pandas, polars or pyarrow frame, a mapping of names to arrays, or an array, whose columns are x0, x1 …
    A missing cell (NaN, null) is skipped. Numbers that are joined (`blocks`) are one Gaussian with all covariances,
    flags and categories one category of their combinations.

    Examples
    --------
    >>> from deciban import NaiveBayes
    >>> patients = {"age": [61, 44, 70, 39], "pain": ["chest", "none", "chest", None]}
    >>> model = NaiveBayes(numbers="number").fit(patients, ["ill", "well", "ill", "well"])
    >>> model.predict({"age": [58, None], "pain": ["chest", "none"]}).tolist()
    ['ill', 'well']
    """

    _prior_name = "priors"
    _free_parameters = frozenset({"n_jobs", "calibrate", "roles", "blocks", "numbers", "words"})
    _dtype = np.dtype(np.float64)
    missing = "skip"
    _input_tags = {"sparse": False, "string": True, "categorical": True}

    roles: Mapping[str, str] | None = field(default=None, metadata=allow(Mapping, None))
    blocks: Sequence[Sequence[str]] | None = field(default=None, metadata=allow(list, tuple, None))
    numbers: str | None = field(default=None, metadata=allow({"number", "binned", "auto"}, None))
    alpha: float | str = field(default="auto", metadata=allow("non-negative", "auto"))
    parameter_prior: float = field(default=1.0, metadata=allow("non-negative"))
    priors: Any = field(default=None, metadata=allow("priors"))
    unseen: str = field(default="ignore", metadata=allow("unseen"))
    most_levels: int = field(default=MAX_DISTINCT_LEVELS, metadata=allow("positive integer"))
    words: Words | Mapping[str, Any] | str | None = field(
        default=None, metadata=allow(Words, Mapping, set(PRESETS), None)
    )
    calibrate: str | None = field(default=None, metadata=allow("calibrate"))
    n_jobs: int | None = field(default=None, metadata=allow("n_jobs"))

    def _options(self, n_classes: int) -> Options:
        prior, words = parse_prior(self.priors, 1.0, n_classes, scaled=False), Words.from_argument(self.words)
        alpha = self.alpha if isinstance(self.alpha, str) else float(self.alpha)
        rows, most_levels, unseen = float(self.parameter_prior), int(self.most_levels), self.unseen
        return Options(alpha, rows, unseen, most_levels, prior, words)  # type: ignore[arg-type]

    def _assumption(self, n_features: int, n_classes: int) -> Assumption:
        return self._options(n_classes).assumption(Layout(self._columns or ()))

    def _check_rows(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
        """Return a table and labels, checked; `reset`: sets names, kind of frame and target; roles are undecided."""
        table = _to_table(self, X, None if reset else self._names)
        labels = check_labels(self, y, table)
        if reset:
            self._columns: tuple[Column, ...] | None = None
            self._names: tuple[str, ...] = tuple(table.column_names)
            library = type(X).__module__.split(".")[0]
            self._kind = library if library in FRAME_KINDS else "table" if _is_frame(X) else "array"
            name = getattr(y, "name", None)
            self._target = _make_unique_name(name if isinstance(name, str) and name else "y", self._names)
        return table, labels

    def _summarise(self, X: Any, codes: NDArray[np.int32], weight: Array | None) -> Ledger:
        """Return the ledger of a table; where roles are not decided yet, it decides them, and `_columns` is set."""
        present = None if weight is None else np.flatnonzero(weight)
        X, codes, weight = drop_weightless_rows(X, codes, weight)
        options = self._options(len(self.classes_))
        source, target, weights, classes = _append_classes(X, codes, len(self.classes_), weight)
        columns = self._columns or self._infer_columns(X)
        gathering = Task(source, target, columns, options, weights, classes).summariser(1)
        gathering.n_jobs = self.n_jobs
        with renumber_rows(present):
            for _ in gathering.read(source):
                pass
        ledger, _ = gathering.total_and_folds
        if self._columns is None:
            decided, kept, _ = decide(Layout(tuple(columns)), ledger, options)
            self._columns, ledger = tuple(decided), ledger.choose(kept)
        return replace(ledger, schema=Schema(tuple(self.classes_.tolist()), ledger.schema.blocks))

    def _infer_columns(self, table: pa.Table) -> tuple[Column, ...]:
        """Return the columns with their roles, those of numbers perhaps undecided; InputError if all are skipped."""
        source = Frame(table)
        roles = {to_name(name): role for name, role in (self.roles or {}).items()}
        columns = infer_roles(source, read_spread(source, HEAD_ROWS), (), roles, self.numbers)
        countable = {column.name: column for column in columns if column.role == "countable"}
        cells = ((name, parse_cells(table[name], column)) for name, column in countable.items())
        columns = rule_out_counts(columns, [name for name, own in cells if (to_numbers(own, name) < 0).any()])
        if all(column.role == "skip" for column in columns):
            why = "; ".join(f"{column.name}: {column.reason}" for column in columns[:5])
            rows = "1 sample" if table.num_rows == 1 else f"{table.num_rows} samples"
            raise InputError(
                f"no column is left to learn from in {rows} ({why}). Hint: roles={{{columns[0].name!r}: 'number'}}"
            )
        return tuple(join_columns(columns, to_names(self.blocks), roles))

    def _model(self) -> Model:
        """Return the table model of this estimator."""
        scorer = self._check_fitted()
        options, origin = self._options(len(self.classes_)), Origin(source="a frame")
        model = Model(self._target, self._columns or (), options, scorer=scorer, origin=origin)
        model._labels = self.classes_
        return model

    def _check_input(self, X: Any) -> pa.Table:
        return _to_table(self, X, self._names)

    def _parts(self, rows: pa.Table, threads: int) -> Iterator[list[Any]]:
        return (parts for _, parts in self._model()._read_blocks(Frame(rows)))

    def _score_rows(self, rows: pa.Table, wanted: Finish) -> NDArray[Any]:
        model, threads = self._model(), thread_count(self.n_jobs)
        blocks = model._read_blocks(Frame(rows))
        return np.concatenate([model._score(parts, wanted, threads) for _, parts in blocks])

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Return n rows drawn from the model, and their classes; rows as a frame of the kind that it was fitted to.

        A mapping gives an Arrow table. Unused columns are missing, as are texts of hashed words or of n-grams.

        >>> from deciban import NaiveBayes
        >>> patients = {"age": [61, 44, 70, 39], "pain": ["chest", "none", "chest", None]}
        >>> model = NaiveBayes(numbers="number").fit(patients, ["ill", "well", "ill", "well"])
        >>> rows, classes = model.sample(2, random_state=0)
        >>> classes.shape
        (2,)
        """
        drawn = self._model().sample(n, make_generator(random_state))
        columns = {name: drawn.column(name) for name in drawn.column_names if name != self._target}
        labels = drawn.column(self._target).to_numpy().astype(self.classes_.dtype)
        return _to_frame(self._kind, self._names, columns, n), labels

    def explain(self, X: Any, classes: tuple[Any, Any] | None = None) -> Explanation:
        """Return the evidence of each column in decibans, for the winner against the runner-up or given classes.

        >>> from deciban import NaiveBayes
        >>> patients = {"age": [61, 44, 70, 39], "pain": ["chest", "none", "chest", None]}
        >>> model = NaiveBayes(numbers="number").fit(patients, ["ill", "well", "ill", "well"])
        >>> print(model.explain({"age": [58], "pain": ["chest"]}).text())
        ill rather than well
          age = 58           +37.90 dB
          pain = chest        +3.96 dB
          prior               +0.00 dB
          total              +41.86 dB  (15 300 to 1)
        """
        from deciban.model.table_explanations import explain_rows

        model = self._model()
        pair = None if classes is None else tuple(self.classes_[list(self._encode_pair(classes))].tolist())
        return explain_rows(model, Frame(self._check_input(X)), pair, None, False)

    def telltales(self, label: Any, n: int = 10, column: str | None = None) -> list[Telltale]:
        """Return the n words with the strongest evidence for a class; `column` names one of several texts.

        >>> from deciban import NaiveBayes
        >>> texts = {"note": ["chest pain", "no pain at all", "chest hurts", "all well"]}
        >>> model = NaiveBayes(roles={"note": "text"}).fit(texts, ["ill", "well", "ill", "well"])
        >>> [each.word for each in model.telltales("ill", 1)]
        ['chest']
        """
        return self._model().telltales(label, n, column)

    def table(self, column: str, most: int | None = None) -> ParameterTable:
        """Return the parameters of a column in each class, as a textbook prints them; see `Model.table`.

        >>> from deciban import NaiveBayes
        >>> patients = {"age": [61, 44, 70, 39], "pain": ["chest", "none", "chest", None]}
        >>> model = NaiveBayes(numbers="number").fit(patients, ["ill", "well", "ill", "well"])
        >>> print(model.table("age"))
        age (number) in each class
        <BLANKLINE>
        N(x; μ, σ²)
                                           ill     well
          n                                  2        2
          mean μ                          65.5     41.5
          variance Σ(x − μ)²/n           20.25     6.25
          variance σ², with the prior  17.9167  8.58333
          deviation σ                  4.23281  2.92973
        """
        return self._model().table(column, most)

    def describe(self) -> Description:
        """Return classes, priors, roles, parameters, and the strongest columns with their numbers of rows.

        >>> from deciban import NaiveBayes
        >>> patients = {"age": [61, 44, 70, 39], "pain": ["chest", "none", "chest", None]}
        >>> model = NaiveBayes(numbers="number").fit(patients, ["ill", "well", "ill", "well"])
        >>> [column.name for column in model.describe().columns]
        ['age', 'pain']
        """
        return self._model().describe()

    @property
    def roles_(self) -> dict[str, str]:
        """Each column's role, as given or inferred."""
        self._check_fitted()
        return {column.name: column.role for column in self._columns or ()}

    @property
    def alpha_(self) -> dict[str, float]:
        """The pseudo-count of each column that has one: as given, or with "auto" m of levels and bins."""
        return self._model().pseudo_counts

    @property
    def class_prior_(self) -> Array:
        """π_k, the prior probability of each class."""
        return self._check_fitted().solved.prior

    def _combine(self, other: Self, operation: Callable[[Ledger, Ledger], Ledger]) -> Ledger:
        if isinstance(other, NaiveBayes):
            self._check_fitted(), other._check_fitted()
            check_same_columns(self._columns or (), other._columns or (), SAME_COLUMNS_HINT)
            if "text" in self.roles_.values():
                words = Words.from_argument(other.words)
                Words.from_argument(self.words).refuse_other(words, "Hint: fit both with the same words=")
        return super()._combine(other, operation)

    def _write_state(self, section: Section) -> None:
        super()._write_state(section)
        section.put_texts("names", self._names).put("target", self._target).put("frame", self._kind)
        write_columns(section, self._columns or (), Words.from_argument(self.words))

    def _read_state(self, section: Section, blocks: Sequence[Block]) -> None:
        with refuse_unsound_arguments(section):
            words = Words.from_argument(self.words)
        self._columns, self._names = read_columns(section, blocks, words), tuple(section.texts("names"))
        if [column.name for column in self._columns] != list(self._names):
            section.refuse("the columns with roles are not those of the table")
        self._target, self._kind = section.text("target"), section.text("frame", among=FRAME_KINDS)
        self.n_features_in_ = len(self._names)
        if section.flag("named"):
            self.feature_names_in_ = np.array(self._names, dtype=object)

    def linear_form(self) -> NoReturn:
        """Raise UndefinedError: columns of several kinds have no common weights."""
        raise UndefinedError(
            "a model of columns of several kinds has no weights per column, nor a curve. "
            "Hint: explain(X) gives the evidence of each column; GaussianNB and BernoulliNB have a form"
        )

    def quadratic_form(self) -> NoReturn:
        """Raise UndefinedError: columns of several kinds have no quadratic form."""
        self.linear_form()


def _to_table(estimator: Any, X: Any, names: Sequence[str] | None) -> pa.Table:
    """Return X as a table with the training columns' names; where `names` is None, X is the training table.

    Frames must have the training frame's columns, in the same order; an array's are x0, x1 … InputError without rows.
    """
    table = _from_frame(estimator, X, names is None) if _is_frame(X) else _from_array(estimator, X, names is None)
    if not table.num_rows:
        raise InputError(
            f"Found array with 0 sample(s) (shape={table.shape}) while a minimum of 1 is required by "
            f"{type(estimator).__name__}."
        )
    return table if names is None else table.rename_columns(list(names))


def _is_frame(X: Any) -> bool:
    """Return whether X has named columns: a frame, a mapping, or a structured array."""
    if isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        return getattr(X.dtype, "names", None) is not None
    return isinstance(X, Mapping) or hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns")


def _from_frame(estimator: Any, X: Any, reset: bool) -> pa.Table:
    """Return a frame as a table; its columns are set in the estimator (`reset`), or compared with those there."""
    source = open_source(X)
    if isinstance(source, Frame):
        table = source.head(source.n_rows)
    else:
        table = pa.Table.from_batches(list(source.batches(dict.fromkeys(source.columns, "as it is"))))
    named = X if type(X).__module__.startswith("pandas") else table  # only pandas has names that are not strings
    validate_data(estimator, named, skip_check_array=True, reset=reset)
    return table


def _from_array(estimator: Any, X: Any, reset: bool) -> pa.Table:
    """Return an array or a list of rows as a table of the columns x0, x1 …; `reset` as in `_from_frame`."""
    if isinstance(X, (str, os.PathLike)):
        raise InputError(f"X holds rows, and is {X!r}. Hint: deciban.train({X!r}, target=...) learns from a file")
    if isinstance(X, (list, tuple)):
        cells = np.asarray(X)  # numbers among texts stay numbers
        X = np.array(X, dtype=object) if cells.dtype.kind in "US" else cells
    cells = validate_data(estimator, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)
    return open_source({f"x{j}": cells[:, j] for j in range(cells.shape[1])}).head(len(cells))


def _append_classes(
    table: pa.Table, codes: NDArray[np.int32], n_classes: int, weight: Array | None
) -> tuple[Frame, str, str | None, list[str]]:
    """Append a column of classes and one of weights; return the table, the names of these columns, and the classes.

    A class is its number, padded with zeros so that the order of the texts is that of the numbers.
    """
    names = [f"{k:08}" for k in range(n_classes)]
    target = _make_unique_name("class", table.column_names)
    coded = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, pa.string()))
    table = table.append_column(target, coded)
    if weight is None:
        return Frame(table), target, None, names
    weights = _make_unique_name("weight", table.column_names)
    return Frame(table.append_column(weights, pa.array(weight))), target, weights, names


def _make_unique_name(name: str, names: Sequence[str]) -> str:
    """Return the name, with underscores appended until it is not among the names."""
    while name in names:
        name += "_"
    return name


def _to_frame(kind: str, names: Sequence[str], columns: Mapping[str, Any], n: int) -> Any:
    """Return columns as a frame of this kind ("table": Arrow), in the order of the names; others are missing."""
    table = pa.table({name: columns.get(name, pa.nulls(n, pa.float64())) for name in names})
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    if kind == "table":
        return table
    mixed = any(pa.types.is_string(each) or pa.types.is_temporal(each) for each in table.schema.types)
    out = np.empty((n, len(names)), dtype=object if mixed else np.float64)
    for j, column in enumerate(table.columns):
        out[:, j] = column.to_pylist() if mixed else column.to_numpy()
    return out
