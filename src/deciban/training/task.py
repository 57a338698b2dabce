"""Training tasks: source, target, roles, blocks of joined columns and options, checked before the table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

from deciban._lazy import pa
from deciban.errors import InputError, did_you_mean, list_names
from deciban.families.family import ClassPrior
from deciban.ledger.schema import sort_classes
from deciban.linear import fitted_model
from deciban.model.columns import Column, Layout, check_distinct_labels, to_name
from deciban.model.model import Model
from deciban.model.model_options import Dependence, Options
from deciban.model.output_frames import INTEGER
from deciban.model.summarise_table import FoldAssigner, TableSummariser
from deciban.sources.arrow_cells import format_label
from deciban.sources.arrow_texts import from_mask
from deciban.sources.arrow_types import is_text
from deciban.sources.document_files import DocumentFiles, TextLines
from deciban.sources.markers import MISSING_MARKERS, WithoutMarkers
from deciban.sources.number_formats import get_plain_format
from deciban.sources.source import FileOptions, Source, find_column, open_source, read_spread
from deciban.text import Words
from deciban.training.column_roles import HEAD_ROWS, check_any_used, infer_roles
from deciban.training.joined_columns import NUMBER_ROLES, Blocks, check_covariance, join_columns, to_names
from deciban.training.structure import STRUCTURES, add_cells, weigh_first_rows, without_cells

if TYPE_CHECKING:
    from deciban.sources.databases.tables import DatabaseTable

GENERATIVE_LEARNERS = ("bayes", "aode")
"""The learners whose models follow from the ledger: naive Bayes, averaged one-dependence estimators."""

LEARNERS = (*GENERATIVE_LEARNERS, *fitted_model.LEARNERS, "auto")
"""The learners: generative from the ledger, discriminative from the rows, or whichever predicts best."""

PENALISED_LEARNERS = ("logistic", "evidence", "auto")
"""The learners that have a penalty, or may have one."""

OPTION_NAMES = ("alpha", "parameter_prior", "covariance", "unseen", "most_levels")
"""The arguments of `train` that are options of a model; see `Options`."""

EVIDENCE_WORDS = Words(tokens="words and punctuation", values="log", length="l2")
"""The tokenizer of texts whose words are weighed by evidence regression, where none is given."""


TABLE_PARAMETERS = """
source : path, frame, mapping, DuckDB relation, or database
    The table: a path or glob (CSV, TSV, JSON lines, Parquet, Arrow, Excel, ARFF, SQLite), a frame that exports Arrow
    (pandas, polars, pyarrow, …), a mapping of names to arrays, a DuckDB relation, or a DataFrame of Spark. Of a
    database (an address such as 'postgresql://host/name', a connection of DuckDB, SQLite or psycopg, a table of ibis)
    `table` names the table.
target : str or int
    The column to predict: its name, or its number, 1 for the first and −1 for the last.
roles : mapping of str to str, or None
    The roles of columns, {'age': 'number'}; those of the others are inferred from some of the rows.
weights : str or None
    A column with the weight of each row, a count: weight 2 is two equal rows.
survey_weights : str or None
    A column with the survey weight of each row. Their unit has no effect; the table counts as as many rows as
    would carry as much information (Kish 1965), (Σw)²/Σw² of each class.
sql : str or None
    A DuckDB query whose result is read instead of a source.
spark : SparkSession or None
    A session of Spark whose executors read the files of a path: Parquet, CSV or JSON lines.
groups : str or None
    A column: rows with the same value in it are in one fold. It is not learned from.
C : float or 'auto'
    One over the strength of the penalty of logistic and evidence regression; 'auto': by cross-validation.
keep_markers : bool
    Whether a usual marker of a missing value, such as `?` or `NA`, is a value, except among numbers; otherwise it is
    missing, and counted (`Model.origin.markers`).
progress : callable or None
    A function that is called with the number of rows read so far.
**settings
    Further arguments of `train`.
"""
"""The descriptions of arguments that several functions of tables have."""


@dataclass(frozen=True)
class Task:
    """A table and its target, with the columns, options and learner of a training."""

    source: Source
    target: str
    columns: Sequence[Column]
    options: Options
    weights: str | None = None
    classes: Sequence[str] | None = None
    prior: Any = None
    target_type: str = "string"
    learner: str = "bayes"
    C: float | str = "auto"
    """One over the weight of the penalty of logistic and evidence regression."""
    structure: str = "naive"
    """Whether pairs of columns are counted: "naive" no, "tan" yes, "auto" yes, and held-out rows decide on them.

    `options.dependence` says how."""
    seconds: float | None = None
    """The time that the choice of a learner may take."""
    skips_pairs: bool = False
    """Whether no forest was tried, although structure="auto": pairs of columns are not counted by a database."""

    @cached_property
    def layout(self) -> Layout:
        """The features of each block; undecided numbers are in two blocks, countable ones in three."""
        return Layout(tuple(self.columns))

    @property
    def needs_rows(self) -> bool:
        """Whether the learner needs the rows themselves, in memory; for a generative one their ledger is enough."""
        return self.learner not in GENERATIVE_LEARNERS

    @property
    def uses_rows(self) -> bool:
        """Whether rows are used, if only a sample of them: to learn from, or to choose a mixed covariance."""
        return self.needs_rows or self.options.chooses_covariance

    @property
    def declared_classes(self) -> Sequence[str] | None:
        """The classes that were given, sorted; None where they are those of the rows."""
        if self.classes is None:
            return None
        return [str(label) for label in sort_classes({format_label(label) for label in self.classes})]

    def summariser(self, n_folds: int, assign: FoldAssigner | None = None) -> TableSummariser:
        """Return an empty summariser of the table, ready to read; `assign` returns the folds of rows."""
        needs = self.options.assumption(self.layout).needs
        return TableSummariser(
            self.layout, needs, self.target, self.weights, n_folds, assign, self.declared_classes,
            words=self.options.words, survey=self.options.survey_weights,
        )  # fmt: skip


def plan(
    source: Any = None,
    *,
    target: str | int,
    roles: Mapping[str, str] | None = None,
    blocks: Blocks | str | None = None,
    like: Model | None = None,
    numbers: str | None = None,
    weights: str | None = None,
    survey_weights: str | None = None,
    classes: Sequence[str] | None = None,
    prior: Any = None,
    sql: str | None = None,
    spark: Any = None,
    learner: str | None = None,
    C: float | str = "auto",
    structure: str = "naive",
    seconds: float | None = None,
    words: Any = None,
    keep_markers: bool = False,
    unlearned: Sequence[str] = (),
    **more: Any,
) -> Task:
    """Plan the task that these arguments describe; see `train`. `unlearned` columns are not learned from.

    `more` are `OPTION_NAMES`, and the options of reading files.
    """
    has_words = words is not None
    target, unlearned = to_name(target), [to_name(name) for name in unlearned]
    weights = choose_weights(weights, survey_weights)
    roles, blocks = {to_name(name): role for name, role in (roles or {}).items()}, to_names(blocks)
    given = {name: more.pop(name) for name in OPTION_NAMES if name in more}
    reading = FileOptions.from_arguments(more)
    opened = open_source(source, sql, reading, spark)
    markers = () if keep_markers or isinstance(opened, (TextLines, DocumentFiles)) else MISSING_MARKERS
    learner, penalty = _resolve_learner(learner, C, like)
    if words is None and learner == "evidence":
        words = EVIDENCE_WORDS
    options = Options(**given, words=Words.from_argument(words), markers=markers)
    dependence = _resolve_dependence(structure, learner, like)
    given_structure, structure, skips_pairs = structure, _resolve_structure(structure, learner), False
    if options.covariance == "mixed" and learner != "bayes":
        raise InputError(
            f"covariance='mixed' is for naive Bayes, not for learner={learner!r}. Hint: 'full' or 'tied'"
        )
    if like is not None:
        options, prior = _take_options_like(like, prior)
    if structure == "auto" and like is None and is_database_table(opened):
        structure, skips_pairs = "naive", True  # pairs of columns are counted row by row
    target = find_column(opened, target, "target")
    weights = None if weights is None else find_column(opened, weights, "weights")
    if not isinstance(opened, (TextLines, DocumentFiles)):
        opened = WithoutMarkers(opened, options.markers, {target: [format_label(label) for label in classes or ()]})
    needs_head = structure != "naive" or _needs_first_rows(opened, [target, weights, *unlearned], roles, like)
    head = read_spread(opened, HEAD_ROWS if needs_head else 0)
    plain = get_plain_format(opened)
    weight = weigh_first_rows(head, target, weights, plain)
    labels = head.select([target])
    learned = labels.filter(from_mask(weight > 0)) if weight.any() else labels
    _check_labels(learned, target)
    if like is not None:
        found = _take_columns_like(like, target, roles or blocks, numbers, has_words)
        columns: Sequence[Column] = [column for column in found if column.name not in unlearned]
        argument = "learner='aode'" if learner == "aode" else f"structure={given_structure!r}"
        structure = _resolve_structure_like(like, columns, structure, learner, argument)
    else:
        leave_out = [target, *([weights] if weights else []), *unlearned]
        inferred = _infer_columns(opened, head, leave_out, roles, numbers, reading.dates, weight > 0)
        columns = join_columns(inferred, blocks, roles)
        check_covariance(options.covariance, columns)
        if structure != "naive":
            columns = add_cells(columns, head, target, weight, survey_weights is not None, plain)
    columns = columns if structure != "naive" else without_cells(columns)
    if dependence == "pairs" and not any(column.cells for column in columns):
        dependence = "forest"  # no pairs are counted: the options are those of any model of independent columns
    options = replace(options, dependence=dependence, survey_weights=survey_weights is not None)
    target_type = _find_target_type(opened, learned, target)
    return Task(
        opened, target, columns, options, weights, classes, prior, target_type, learner, penalty, structure, seconds,
        skips_pairs,
    )  # fmt: skip


def choose_weights(weights: Any, survey_weights: Any) -> str | None:
    """Return the name of the column of weights, of either kind; refuse both."""
    if weights is not None and survey_weights is not None:
        raise InputError("weights are counts of rows or survey weights, not both. Hint: leave one out")
    return to_name(survey_weights if weights is None else weights)


def _resolve_dependence(structure: Any, learner: str, like: Model | None) -> Dependence:
    """Return how columns depend on each other: as the learner or the structure says, else as in the model `like`."""
    if learner == "aode":
        return "averaged"
    is_like_pairs = structure == "auto" and like is not None and like.options.dependence == "pairs"
    return "pairs" if structure == "blocks" or is_like_pairs else "forest"


def _resolve_structure(structure: str, learner: str) -> str:
    """Check the structure, and return the one whose statistics the learner needs.

    "tan" stands for counts of pairs of columns, which blocks, AODE and the choice of a learner need too; learners of
    rows have "naive".
    """
    if structure not in STRUCTURES:
        raise InputError(f"structure must be one of {', '.join(map(repr, STRUCTURES))}, not {structure!r}")
    if structure in ("tan", "blocks") and learner != "bayes":
        raise InputError(
            f"structure={structure!r} is for naive Bayes, not for learner={learner!r}. Hint: leave one out"
        )
    if learner in ("aode", "auto") or structure == "blocks":
        return "tan"
    return "naive" if learner != "bayes" and structure == "auto" else structure


def _resolve_structure_like(
    like: Model, columns: Sequence[Column], structure: str, learner: str, argument: str
) -> str:
    """Return "tan" if pairs of the columns of another model are counted, else "naive".

    Refuse learner="auto", and "tan" (which `argument` requests) for a model that has counted no pairs.
    """
    if learner == "auto":
        raise InputError("learner='auto' chooses for a table, not for a model of like=. Hint: leave one out")
    has_cells = any(column.cells for column in columns)
    is_like_aode = learner == "aode" and like.learner == "aode"
    if structure == "tan" and not has_cells and not is_like_aode:
        raise InputError(
            f"{argument} needs counts of pairs of columns, and the model of like= has none. "
            f"Hint: leave {argument} out; structure='tan' counts the pairs of two columns or more"
        )
    return "tan" if structure != "naive" and has_cells else "naive"


def is_database_table(source: Any) -> bool:
    """Return whether a source is a table of a database; sqlglot is imported only where one was opened."""
    return type(source).__name__ == "DatabaseTable"


def find_database(source: Any) -> DatabaseTable | None:
    """Return the table of a database that a source is a view of; None for other sources.

    None too for a table whose invalid cells are to be missing: these are found by reading the rows.
    """
    found: Any = source.source if isinstance(source, WithoutMarkers) else None
    return found if is_database_table(found) else None


def _needs_first_rows(
    source: Source, leave_out: Sequence[str | None], roles: Mapping[str, str], like: Model | None
) -> bool:
    """Return whether first rows must be read to infer roles; not from a database where types and roles are known."""
    table = find_database(source)
    if table is None or not table.typed or like is not None:
        return True
    open_columns = set(table.columns) - set(leave_out) - set(roles)
    kinds = {name: table.schema.field(name).type for name in roles if name in table.columns}
    texts = any(is_text(kind) and roles[name] in NUMBER_ROLES for name, kind in kinds.items())
    return bool(open_columns) or texts or any(role.startswith("date") for role in roles.values())


def check_settings(function: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check that all settings are arguments of `train` that describe what is learned, and return them."""
    options = (*OPTION_NAMES, *(field.name for field in fields(FileOptions)))
    known = {*signature(plan).parameters, *options} - {"unlearned", "more"}
    for name in settings:
        if name not in known:
            near = did_you_mean(name, known)
            raise InputError(
                f"{function}() takes no {name!r}{near or '.'} Hint: its own arguments, or those of train()"
            )
    return settings


def check_fold_settings(function: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the settings that a function has for `plan`: they name no calibration, and independent columns.

    Raise an InputError for another `calibrate` or `structure`, and return the settings without these two.
    """
    if settings.get("calibrate") not in (None, "none"):
        raise InputError(
            "models are evaluated here without a calibration. "
            "Hint: evaluate(…, calibrate='auto') evaluates model and calibration, both without the fold"
        )
    if settings.get("structure") not in (None, "naive"):
        raise InputError(
            f"models are evaluated here with independent columns, not with structure={settings['structure']!r}. "
            f"Hint: evaluate(…, structure={settings['structure']!r})"
        )
    kept = {name: value for name, value in settings.items() if name not in ("calibrate", "structure")}
    return check_settings(function, kept)


def _resolve_learner(learner: Any, C: Any, like: Model | None) -> tuple[str, float | str]:
    """Return the learner and its C: as given, else those of the model `like`, if there is one and its C was given."""
    account = None if like is None else like.account
    if learner is None and like is not None:
        learner = like.learner
    if account is not None and account.learner == learner and isinstance(C, str) and C == "auto":
        from_model: Any = account.settings.get("C")
        C = from_model if learner in PENALISED_LEARNERS and not account.settings.get("C_chosen") else C
    learner = "bayes" if learner is None else learner
    return learner, check_learner(learner, C)


def check_learner(learner: Any, C: Any) -> float | str:
    """Check the name of the learner and its C; return C as a float, or "auto"."""
    if learner not in LEARNERS:
        raise InputError(f"learner must be one of {', '.join(map(repr, LEARNERS))}, not {learner!r}")
    if isinstance(C, str) and C == "auto":
        return C
    if isinstance(C, bool) or not isinstance(C, (int, float)) or not C > 0:
        raise InputError(f"C must be a number > 0, or 'auto', not {C!r}. Hint: C=1.0")
    if float("inf") == C and learner == "evidence":
        raise InputError(f"evidence regression needs a penalty: C must be finite, not {C!r}. Hint: C=1e3")
    if learner not in PENALISED_LEARNERS:
        raise InputError(
            f"C weighs a penalty, and learner={learner!r} has none. "
            f"Hint: leave C out, or --learner logistic (learner='logistic')"
        )
    return float(C)


def _infer_columns(
    source: Source, head: Any, leave_out: Sequence[str], roles: Mapping[str, str], numbers: str | None, dates: Any,
    is_learned: Any,
) -> Sequence[Column]:  # fmt: skip
    """Return the columns with inferred or given roles; InputError if all are skipped."""
    if numbers not in (None, "number", "binned", "auto"):
        raise InputError(f"numbers must be 'number', 'binned' or 'auto', not {numbers!r}")
    columns = infer_roles(source, head, leave_out, roles, numbers, dates or "", is_learned)
    if not columns:
        raise InputError(f"{source.name} has no column to learn from besides {list_names([*map(repr, leave_out)])}")
    check_any_used(columns)
    return columns


def _take_options_like(like: Model, prior: Any) -> tuple[Options, Any]:
    """Return the options of another model, and the prior: as given, else its given class priors, by class."""
    priors = like.options.prior.given
    if priors is None:
        return like.options, prior
    named = dict(zip(like._scorer.schema.classes, priors))
    return replace(like.options, prior=ClassPrior()), named if prior is None else prior


def _take_columns_like(
    like: Model, target: str, given: Any, numbers: str | None, has_words: bool
) -> Sequence[Column]:
    """Return the columns of another model; InputError for another target, or if roles or words are given too."""
    if like.target != target:
        raise InputError(f"the model of like= has the target {like.target!r}, not {target!r}")
    if given or numbers:
        raise InputError(
            "with like= the roles are those of the other model. Hint: leave roles, blocks and numbers out"
        )
    if has_words:
        raise InputError("with like= texts are read as in the other model. Hint: leave words out")
    return [replace(column, reason="as in the model") for column in like.columns]


def _find_target_type(source: Source, head: Any, target: str) -> str:
    """Return the Arrow type of integer, boolean or floating labels, else "string"; of texts in files also int64."""
    kind = head.schema.field(target).type
    if not source.typed and is_text(kind):
        labels = head.column(target).drop_null().unique().to_pylist()
        return "int64" if labels and all(map(INTEGER.fullmatch, labels)) else "string"
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    plain = pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind)
    return str(kind) if plain else "string"


def _check_labels(head: Any, target: str) -> None:
    """Raise an error if the target is a quantity or an identifier, before the table is read."""
    if pa.types.is_nested(head.schema.field(target).type):
        raise InputError(f"column {target!r} is of type {head.schema.field(target).type}, which names no classes")
    labels = head.column(target).drop_null()
    check_distinct_labels(target, len(labels.unique()), len(labels))
