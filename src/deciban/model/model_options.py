"""The options of a table model beyond the roles of its columns, its origin, and whether two models can be added."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from deciban.errors import InputError, SchemaError, list_names
from deciban.families.binned import Binned
from deciban.families.count_families import Poisson
from deciban.families.family import ClassPrior, Family, broadcast_alpha
from deciban.families.gaussian import DEFAULT_MIXING, Covariance, Gaussian
from deciban.families.level_families import Categorical, Unseen
from deciban.families.marginal_likelihood import FALLBACK_ALPHA
from deciban.families.pair_families import Aode, Tree
from deciban.families.text_family import Text
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger.extremes import Extremes
from deciban.ledger.schema import Kind
from deciban.model.columns import Column, Layout
from deciban.model.learned_rows import LearnedRows
from deciban.sources.arrow_cells import format_label
from deciban.sources.markers import WithoutMarkers
from deciban.sources.source import Source
from deciban.spellings import find_level
from deciban.text import Words

if TYPE_CHECKING:
    from deciban.model.model_algebra import ModelAlgebra

JOINT_COVARIANCES: tuple[Covariance, ...] = ("full", "tied", "mixed")
"""Types of covariance for joined numbers; the others are for numbers that are not joined."""

MAX_DISTINCT_LEVELS = 1000
"""Number of levels of a category that are distinguished; the rarer ones are counted as one."""

Dependence = Literal["forest", "pairs", "averaged"]
"""How columns that have cells depend on each other: in a forest, in pairs, or averaged over every parent (AODE)."""

DEPENDENCE_ARGUMENTS = {"forest": "structure='tan'", "pairs": "structure='blocks'", "averaged": "learner='aode'"}
"""The arguments of `train` by which columns depend on each other so, for messages."""

LIKE_HINT = "Hint: train one with the schema of the other, `deciban train … --like MODEL` (train(…, like=model))"


@dataclass(frozen=True)
class Options:
    """Pseudo-counts, priors and the tokenizer of texts.

    `alpha` is added to every count of a level, bin, rate or word. With "auto" it is 1, for levels and bins in
    proportion to the classes, whose shares are shrunk to the common ones (`families/pooled_shares.py`).
    `parameter_prior` adds so many pseudo-observations with the column's own pooled variance to every class; the
    `most_levels` most frequent levels are distinct.
    """

    alpha: float | str = "auto"
    parameter_prior: float = 1.0
    unseen: Unseen = "ignore"
    most_levels: int = MAX_DISTINCT_LEVELS
    prior: ClassPrior = field(default_factory=ClassPrior)
    words: Words = field(default_factory=Words)
    covariance: Covariance | None = None
    """The covariance of Gaussians: of joined numbers if it is full (their default), tied or mixed, else of others."""
    markers: tuple[str, ...] = ()
    """The texts that stand for a missing value in columns of any kind."""
    bounded: bool = True
    """Whether the densities of numbers are bounded from below; models of files without this option are not."""
    mixing: float | None = None
    """λ of mixed covariances, chosen by leave-one-out; None before the choice, and of other covariances."""
    shrinkage: float | None = None
    """γ of mixed covariances, chosen with λ; None: not shrunk."""
    dependence: Dependence = "forest"
    """How columns with cells depend on each other."""
    survey_weights: bool = False
    """Whether the weights of rows are survey weights, which have no unit; else they are counts of rows."""

    def __post_init__(self) -> None:
        for name in ("alpha", "parameter_prior"):
            value = getattr(self, name)
            if name == "alpha" and isinstance(value, str) and value == "auto":
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
                auto = " or 'auto'" if name == "alpha" else ""
                raise InputError(f"{name} must be a finite number ≥ 0{auto}, not {value!r}")
        if self.unseen not in ("ignore", "smooth", "error"):
            raise InputError(f"unseen must be 'ignore', 'smooth' or 'error', not {self.unseen!r}")
        if not isinstance(self.most_levels, int) or self.most_levels < 1:
            raise InputError(f"most_levels must be a whole number ≥ 1, not {self.most_levels!r}")
        for name, known in (("covariance", get_args(Covariance)), ("dependence", get_args(Dependence))):
            value = getattr(self, name)
            if value not in known and (name, value) != ("covariance", None):
                raise InputError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
        if not isinstance(self.words, Words):
            raise InputError(f"words must be deciban.Words, not {self.words!r}")

    def assumption(self, layout: Layout) -> Assumption:
        """Return the assumption with a family for each block."""
        return Assumption(tuple(self._make_family(kind, layout) for kind, _ in layout.blocks), self.prior)

    @property
    def auto(self) -> bool:
        """Whether the shares of levels and bins are shrunk to those of all classes."""
        return self.alpha == "auto"

    @property
    def pseudo_count(self) -> float:
        """The value of alpha; with "auto" Laplace's, which rates and words have, and by which roles are decided."""
        return FALLBACK_ALPHA if self.auto else float(self.alpha)

    def _choose_covariance(self, default: Covariance) -> Covariance:
        """Return the covariance of joined numbers, or of others; the option applies to one of these only."""
        applies = (self.covariance in JOINT_COVARIANCES) == (default in JOINT_COVARIANCES)
        return self.covariance if self.covariance is not None and applies else default

    @property
    def chooses_covariance(self) -> bool:
        """Whether λ and γ of mixed covariances are still to be chosen, from rows."""
        return self.covariance == "mixed" and self.mixing is None

    def _make_family(self, kind: Kind, layout: Layout) -> Family:
        match kind:
            case "moments" | "scatter":
                covariance = self._choose_covariance("full" if kind == "scatter" else "diagonal")
                family = Gaussian(covariance, prior_rows=float(self.parameter_prior), bounded=self.bounded)
                if covariance != "mixed":
                    return family
                mixing = DEFAULT_MIXING if self.mixing is None else self.mixing
                return replace(family, mixing=mixing, shrinkage=self.shrinkage, shrinkage_target="diagonal")
            case "grid":
                return Binned(self.pseudo_count, self.auto)
            case "counts":
                return Poisson(self.pseudo_count, self.bounded)
            case "pairs":
                is_averaged, pairs_only = self.dependence == "averaged", self.dependence == "pairs"
                return Aode(layout.n_cells) if is_averaged else Tree(layout.n_cells, pairs_only)
            case "bags":
                return Text(self.words.reading, alpha=self.pseudo_count)
        return Categorical(self.pseudo_count, self.unseen, holes="unseen", most=self.most_levels, pooled=self.auto)


def list_pseudo_counts(layout: Layout, model: GenerativeModel) -> dict[str, float]:
    """Return the pseudo-count α of each feature by its name, or m where its shares are shrunk to the common ones."""
    found: dict[str, float] = {}
    families: Sequence[Any] = model.assumption.families
    for (_, features), family, part in zip(layout.blocks, families, model.complete.parts):
        if hasattr(family, "alpha"):
            is_pooled = getattr(family, "pooled", False)
            values = family.pooling(part) if is_pooled else broadcast_alpha(family.alpha, len(features))
            found |= zip([feature.name for feature in features], values.tolist())
    return found


def parse_class_prior(given: Any, classes: tuple[Any, ...]) -> ClassPrior:
    """Return the class prior of a name (None: empirical), or of a share for each class; InputError for others."""
    if given is None or isinstance(given, ClassPrior):
        return given or ClassPrior()
    if isinstance(given, str):
        if given not in ("empirical", "smoothed", "uniform"):
            raise InputError(f"a prior is empirical, smoothed, uniform or a share for each class, not {given!r}")
        return ClassPrior(given)  # type: ignore[arg-type]
    try:
        shares = dict(given) if hasattr(given, "items") else dict(zip(classes, given, strict=True))
        names = [str(label) for label in classes]
        named = {find_level(format_label(label), names): float(share) for label, share in shares.items()}
    except (TypeError, ValueError):
        raise InputError(
            f"a prior is a name, or a share for each of the {len(classes)} classes; not {given!r}"
        ) from None
    for label in (*named, *map(str, classes)):
        if label not in named:
            raise InputError(f"no prior is given for class {label!r}. Hint: name every class")
        if label not in map(str, classes):
            shown = list_names([str(name) for name in classes])
            raise InputError(f"a prior is given for {label!r}, which is none of the classes: {shown}")
    total = sum(named.values())
    if not all(0 <= share < float("inf") for share in named.values()) or abs(total - 1) > 1e-9:
        shown = list_names([f"{label} {share:g}" for label, share in named.items()])
        raise InputError(f"the shares of the classes must be ≥ 0 and add up to 1, not {shown} (sum {total:g})")
    return ClassPrior("given", given=tuple(named[str(label)] for label in classes))


@dataclass(frozen=True)
class Origin:
    """The origin of a model: rows read, rows without a class, when it was made, and from which source.

    `markers` are the numbers of cells of each column that were read as missing for each text, such as `?`.
    `extremes` has the ranges of numbers, `learned` a sketch of the rows; both are None where they are not known, as
    in files of earlier versions.
    """

    rows_read: int = 0
    rows_without_class: int = 0
    created: str = ""
    source: str = ""
    markers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    extremes: Extremes | None = field(default=None, compare=False)
    learned: LearnedRows | None = field(default=None, compare=False)

    def combine(self, operation: Callable[[Any, Any], Any], other: Origin) -> Origin:
        """Return the origin with the rows and cells of another added or subtracted; no number is negative."""

        def combine_counts(a: Mapping[str, int], b: Mapping[str, int]) -> dict[str, int]:
            counts = {name: max(0, operation(a.get(name, 0), b.get(name, 0))) for name in {**a, **b}}
            return {name: n for name, n in counts.items() if n}

        columns = {**self.markers, **other.markers}
        markers = {name: combine_counts(self.markers.get(name, {}), other.markers.get(name, {})) for name in columns}
        known = self.extremes is not None and other.extremes is not None
        return replace(
            self,
            rows_read=max(0, operation(self.rows_read, other.rows_read)),
            rows_without_class=max(0, operation(self.rows_without_class, other.rows_without_class)),
            markers={name: counts for name, counts in markers.items() if counts},
            extremes=operation(self.extremes, other.extremes) if known else None,
            learned=self.learned.combine(operation, other.learned) if self.learned and other.learned else None,
        )


def hide_markers(model: ModelAlgebra, source: Source) -> Source:
    """Return a view of a source in which the texts that a model takes for missing values are missing."""
    classes = [str(label) for label in model._scorer.outline.classes]
    return WithoutMarkers(source, model.options.markers, {model.target: classes})


def check_compatible(a: ModelAlgebra, b: ModelAlgebra) -> None:
    """Refuse two models that differ in target, roles, options or dependence, naming the first difference."""
    if a.target != b.target:
        raise SchemaError(f"the two models have different targets: {a.target!r} and {b.target!r}")
    for name in (*a.roles, *b.roles):
        x, y = a.roles.get(name, "absent"), b.roles.get(name, "absent")
        if x != y and {x, y} != {"skip", "absent"}:
            raise SchemaError(f"the two models differ in column {name!r}: {x} in one, {y} in the other. {LIKE_HINT}")
    check_same_columns(a.columns, b.columns, LIKE_HINT)
    if a._layout.texts:
        a.options.words.refuse_other(b.options.words, LIKE_HINT)
    ignored = {"words"} if a._layout.levels or a._layout.texts else {"words", "markers"}
    for name in (each.name for each in fields(Options) if each.name not in ignored):
        x, y = getattr(a.options, name), getattr(b.options, name)
        if x != y:
            x, y = map(_name_dependence, (a, b)) if name == "dependence" else map(repr, (x, y))
            raise SchemaError(f"the two models differ in {name}: {x} and {y}. {LIKE_HINT}")
    if a._layout.cells != b._layout.cells:
        raise SchemaError(f"the two models count the dependence between columns on different cells. {LIKE_HINT}")


def _name_dependence(model: ModelAlgebra) -> str:
    """Return the argument of `train` by which the columns of a model depend on each other, or that they do not."""
    dependence = model.options.dependence  # "forest" of naive Bayes too; of one column there is AODE without cells
    is_naive = dependence == "forest" and not model._layout.cells
    return "independent columns" if is_naive else DEPENDENCE_ARGUMENTS[dependence]


def combine_formats(columns: Sequence[Column], others: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns, those without a format with that of the other model, whose rows they count too."""
    formats = {column.name: column.format for column in others}
    return tuple(c if c.format is not None else replace(c, format=formats.get(c.name)) for c in columns)


def check_same_columns(columns: Sequence[Column], others: Sequence[Column], hint: str) -> None:
    """Refuse two models that differ in the role, date parts, block or format of a column that both have, naming it.

    They may differ in its cells. Where one has no format, its values were numbers or dates already.
    """
    by_name = {column.name: column for column in others}
    for column, other in ((column, by_name.get(column.name, column)) for column in columns):
        difference = ""
        if column.role != other.role:
            difference = f"differ in column {column.name!r}: {column.role} in one, {other.role} in the other"
        elif column.parts != other.parts:
            difference = f"split the dates of column {column.name!r} into different parts"
        elif column.block != other.block:
            x, y = (", ".join(name for name in c.block if name != c.name) or "none" for c in (column, other))
            difference = f"join column {column.name!r} with different columns: {x} in one, {y} in the other"
        elif column.format is not None and other.format is not None and column.format != other.format:
            difference = (
                f"read column {column.name!r} differently: {column.format} in one, {other.format} in the other"
            )
        if difference:
            raise SchemaError(f"the two models {difference}. {hint}")
