"""The parameters of a column in each class, as a textbook prints them: counts, probabilities, means and variances.

Every estimate is given without the prior (maximum likelihood) and with it, as the model uses it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import InputError, UndefinedError, did_you_mean, list_names
from deciban.families.family import broadcast_alpha
from deciban.families.text_family import SelectedWords
from deciban.formatting import align_columns, clip_text, format_decimal, format_quotient, to_one_line
from deciban.ledger import Counts, Scatter
from deciban.ledger.statistic import divide
from deciban.linear.fitted_model import LEARNER_TITLES
from deciban.model.columns import Feature
from deciban.model.feature_summaries import BlockSummariser
from deciban.plain_json import to_plain
from deciban.result import FrameKind, Result, make_frame
from deciban.scores import Steps
from deciban.sources.arrow_cells import DATE_PARTS

if TYPE_CHECKING:
    from deciban.generative import GenerativeModel
    from deciban.model.model import Model

MAX_PRINTED_VALUES = 40
"""The number of values that are printed; a frame has all."""

MAX_PRINTED_CHARACTERS = 32
"""The number of characters of a value that are printed."""

MAX_FIGURES = 1 << 26
"""The number of classes times words up to which a table of all words is made."""


class Section(NamedTuple):
    """A part of a printed table: its title, and for each line its name and the text of each class."""

    title: str
    lines: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, eq=False)
class FeatureParameters(ABC):
    """The parameters of a feature: figures of each class and value, K×V; `n_left_out` values are left out."""

    feature: str
    values: Sequence[str]
    figures: Mapping[str, Array]
    n_left_out: int = 0

    @abstractmethod
    def sections(self) -> list[Section]:
        """Return the printed parts."""

    def _format_values(self, format_value: Callable[[int], Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
        """Return a line for each value that is printed, and one that counts the others."""
        lines = [(value, format_value(v)) for v, value in enumerate(self.values[:MAX_PRINTED_VALUES])]
        left = self.n_left_out + len(self.values) - len(lines)
        return [*lines, *([(f"… and {left} more", [""] * len(next(iter(self.figures.values()))))] if left else [])]


@dataclass(frozen=True, eq=False, kw_only=True)
class LevelParameters(FeatureParameters):
    """Counts n of levels, bins or words, of N in all, and θ = (n + a)/(N + Σa), by the formula of pseudo-counts a."""

    pseudo: Array
    added: Array
    formula: str
    alpha: float = 0.0

    @classmethod
    def of(
        cls, feature: str, values: Sequence[str], count: Array, total: Array, theta: Array, **more: Any
    ) -> LevelParameters:
        """Return the parameters from counts, K×V, and their totals, K."""
        total = np.broadcast_to(total[:, None], count.shape)
        share = divide(count, total, np.nan)
        figures = {"count": count, "total": total, "theta_ml": share, "theta": theta}
        return cls(feature=feature, values=values, figures=figures, **more)

    def write_quotient(self, k: int, v: int) -> str:
        """Return θ as the quotient of counts, "4/8"; the number where it is another, as for a class without rows."""
        n, total, theta = (float(self.figures[name][k, v]) for name in ("count", "total", "theta"))
        above, below = n + float(self.pseudo[k, v]), total + float(self.added[k, 0])
        is_quotient = below > 0 and np.isclose(above / below, theta, rtol=1e-9, atol=0)
        return format_quotient(above, below) if is_quotient else format_decimal(theta)

    def sections(self) -> list[Section]:
        """Return the counts, and θ without and with α."""
        count, total, share, theta = (self.figures[name] for name in ("count", "total", "theta_ml", "theta"))
        K = range(len(count))
        counts = self._format_values(lambda v: _format_figures(count[:, v]))
        counts += [("N", _format_figures(total[:, 0]))] if len(self.values) else []
        shares = self._format_values(
            lambda v: [_equate(format_quotient(count[k, v], total[k, v]), share[k, v]) for k in K]
        )
        sections = [Section("counts n", counts), Section("n/N, without a pseudo-count", shares)]
        if not self.added.any():
            return sections
        smoothed = self._format_values(lambda v: [_equate(self.write_quotient(k, v), theta[k, v]) for k in K])
        return [*sections, Section(self.formula, smoothed)]


@dataclass(frozen=True, eq=False)
class NumberParameters(FeatureParameters):
    """Means and variances of a number, or the covariances of one with those that it is joined with."""

    def sections(self) -> list[Section]:
        """Return a line for each parameter; of joined numbers a part for each."""
        figures = list(self.figures.values())
        if "covariance" not in self.figures:
            names = ("n", "mean μ", "variance Σ(x − μ)²/n", "variance σ², with the prior", "deviation σ")
            columns = [figure[:, 0] for figure in (*figures, np.sqrt(figures[-1]))]
            return [Section("N(x; μ, σ²)", [(name, _format_figures(each)) for name, each in zip(names, columns)])]
        titles = ("n", "mean μ", f"covariance with {self.feature}", f"covariance with {self.feature}, with the prior")
        return [self._make_section(title, figure) for title, figure in zip(titles, figures)]

    def _make_section(self, title: str, figure: Array) -> Section:
        """Return the part of one figure of all values."""
        return Section(title, self._format_values(lambda v: _format_figures(figure[:, v])))


@dataclass(frozen=True, eq=False)
class RateParameters(FeatureParameters):
    """Poisson rates of a count."""

    alpha: float = 0.0

    def sections(self) -> list[Section]:
        """Return a line for each parameter."""
        names = ("n", "Σx", "rate λ = Σx/n", f"λ = (Σx + αm)/(n + α), α = {self.alpha:g}")
        columns = (figure[:, 0] for figure in self.figures.values())
        lines = [(name, _format_figures(each)) for name, each in zip(names, columns)]
        return [Section("Poisson(x; λ), m the mean of all rows", lines)]


@dataclass(frozen=True, eq=False)
class PriorParameters(FeatureParameters):
    """The rows of each class and its prior probability."""

    def write_quotient(self, k: int) -> str:
        """Return the prior as the quotient of counts, "9/14"; the number where it is another."""
        n, total, _, prior = (float(figure[k, 0]) for figure in self.figures.values())
        is_quotient = total > 0 and np.isclose(n / total, prior, rtol=1e-9, atol=0)
        return format_quotient(n, total) if is_quotient else format_decimal(prior)

    def sections(self) -> list[Section]:
        """Return the counts, their shares and the prior."""
        n, total, share, prior = (figure[:, 0] for figure in self.figures.values())
        shares = [_equate(format_quotient(above, below), p) for above, below, p in zip(n, total, share)]
        lines = [("n", _format_figures(n)), ("n/N", shares), ("prior π", list(map(format_decimal, prior)))]
        return [Section(f"p({self.feature})", lines)]


def _format_figures(figures: Array) -> list[str]:
    """Format the figures of all classes in six digits, whole numbers in full."""
    return ["–" if np.isnan(x) else f"{x:.10g}" if float(x).is_integer() else f"{x:.6g}" for x in figures]


def _equate(quotient: str, value: float) -> str:
    """Return "3/5 = 0.6000", or the value alone."""
    text = format_decimal(float(value))
    return text if quotient == text else f"{quotient} = {text}"


@dataclass(frozen=True, eq=False, repr=False)
class ParameterTable(Result):
    """The parameters of a column for each class, as a textbook prints them; `Model.table` returns it.

    `features` has one entry, or one for each part of a date. Printing shows the tables; `to_frame` has a row for
    each value and class: `count`, `total`, `theta_ml` without and `theta` with the pseudo-count; of numbers `mean`,
    `variance_ml` and `variance`; of counts `rate_ml` and `rate`; of the target `prior`.
    """

    column: str
    role: str
    classes: tuple[Any, ...]
    features: tuple[FeatureParameters, ...]
    notes: tuple[str, ...] = ()

    def _list_columns(self) -> dict[str, list[Any]]:
        """Return the columns of the frame: a row for each feature, value and class."""
        found: dict[str, list[Any]] = {"feature": [], "value": [], "class": []}
        K = len(self.classes)
        for each in self.features:
            V = len(each.values)
            found["feature"] += [each.feature] * (K * V)
            found["value"] += [value for value in each.values for _ in range(K)]
            found["class"] += [*self.classes] * V
            for name, figure in each.figures.items():
                found.setdefault(name, []).extend(np.asarray(figure, dtype=np.float64).T.ravel().tolist())
        return found if any(found["value"]) else {name: cells for name, cells in found.items() if name != "value"}

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for each value of the column and class."""
        return make_frame(self._list_columns(), kind)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON values, `rows` as those of the frame."""
        columns = self._list_columns()
        rows = [dict(zip(columns, line)) for line in zip(*columns.values())]
        alphas = {each.feature: each.alpha for each in self.features if hasattr(each, "alpha")}
        head = {"column": self.column, "role": self.role, "classes": list(self.classes), "alpha": alphas}
        result: dict[str, Any] = to_plain({**head, "rows": rows, "notes": list(self.notes)})
        return result

    def sections(self) -> Iterator[Section]:
        """Yield the printed parts; the titles of a date name its parts."""
        for each in self.features:
            name = "" if each.feature == self.column else f"{each.feature}: "
            for section in each.sections():
                yield Section(name + section.title, section.lines)

    def __str__(self) -> str:
        parts = [f"{self.column} ({self.role}) in each class"]
        head = ["", *(to_one_line(str(label)) for label in self.classes)]
        for section in self.sections():
            lines = [[clip_text(to_one_line(name), MAX_PRINTED_CHARACTERS), *cells] for name, cells in section.lines]
            parts.append("\n".join([section.title, *(f"  {line}" for line in align_columns([head, *lines]))]))
        return "\n\n".join([*parts, *self.notes])

    __repr__ = __str__


def make_parameter_table(model: Model, column: str, most: int | None = None) -> ParameterTable:
    """Return the parameters of a column, a part of a date, or the target; of the `most` commonest values only."""
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise InputError(f"most must be a whole number ≥ 1 or None, not {most!r}")
    name, classes = str(column), tuple(model.classes)
    if name == model.target:
        return ParameterTable(name, "target", classes, (find_prior_parameters(model),))
    role, features = _find_features(model, name)
    naive = model._naive.unsolved()
    found = tuple(find_parameters(model, naive, feature, most) for feature in features)
    notes: tuple[str, ...] = ()
    if model.account is not None:
        title = LEARNER_TITLES[model.account.learner]
        notes = (f"The scores of this model are those of {title}; these are the estimates of naive Bayes.",)
    return ParameterTable(name, role, classes, found, notes)


def _find_features(model: Model, name: str) -> tuple[str, tuple[Feature, ...]]:
    """Return the role and the features of a column; refuse a name that is unknown or has no parameters."""
    for column in model.columns:
        if column.name == name:
            if not column.modelled_features:
                why = f" ({column.reason})" if column.reason else ""
                raise UndefinedError(
                    f"column {name!r} is skipped{why}, so it has no parameters. Hint: --as {name}=ROLE"
                )
            return column.role, column.modelled_features
    for feature in model._layout.features_by_block():
        if feature.name == name:
            return feature.role, (feature,)
    known = [column.name for column in model.columns if column.modelled_features]
    near = did_you_mean(name, [*known, model.target]) or "."
    raise InputError(f"the model has no column {name!r}{near} Hint: one of {list_names([*known, model.target])}")


def find_prior_parameters(model: Model) -> PriorParameters:
    """Return the rows of each class and the class prior."""
    n = model.ledger.effective.rows[:, None]
    total = np.full_like(n, n.sum())
    prior = model._scorer.solved.prior[:, None]
    figures = {"count": n, "total": total, "prior_ml": divide(n, total, np.nan), "prior": prior}
    return PriorParameters(model.target, [""], figures)


def find_parameters(
    model: Model, naive: GenerativeModel, feature: Feature, most: int | None = None
) -> FeatureParameters:
    """Return the parameters of a feature by `naive`, the unsolved naive Bayes model of the rows."""
    block = next(b for b, group in enumerate(model._layout.blocks) if feature in group.features)
    kind, features = model._layout.blocks[block]
    j, names = features.index(feature), [each.name for each in features]
    if kind == "bags":
        return _find_word_parameters(naive, block, feature.name, most)
    if kind == "moments":
        return _find_number_parameters(naive, block, j, feature.name)
    if kind == "scatter":
        return _find_covariance_parameters(naive, block, j, names)
    if kind == "counts":
        return _find_rate_parameters(naive, block, j, feature.name)
    return _find_level_parameters(BlockSummariser(naive, block, model._labels, names), j, most)


def _choose_commonest(count: Array, most: int | None) -> NDArray[np.intp]:
    """Return the indices of the `most` commonest values, the first of equals first; of all where they are no more."""
    if most is None or len(count) <= most:
        return np.arange(len(count))
    return np.argsort(-count, kind="stable")[:most]


def _find_level_parameters(summariser: BlockSummariser, j: int, most: int | None) -> LevelParameters:
    """Return the parameters of a flag, category, part of a date, or number in bins."""
    table = summariser.table(j)
    assert table is not None
    counts, total = table.counts, table.counts.sum(axis=1)
    is_one_bin = isinstance(summariser.form, Steps) and counts.shape[1] == 1
    names = ["all values"] if is_one_bin else [table.name(v).removeprefix("= ") for v in range(counts.shape[1])]
    theta, pseudo = np.exp(table.log_theta), table.pseudo
    if getattr(summariser.family, "unseen", "") == "smooth":
        unseen = divide(table.unseen, total[:, None] + table.added)
        counts, theta = np.column_stack([counts, np.zeros(len(total))]), np.column_stack([theta, unseen])
        pseudo = np.column_stack([pseudo, table.unseen])
        names.append("a value never seen")
    chosen = _choose_commonest(counts.sum(axis=0), most)
    levels = DATE_PARTS.get(table.feature.rpartition(".")[2], ())
    if set(names) <= {*levels, "a value never seen"}:  # all months and weekdays, in their order
        order = {name: v for v, name in enumerate((*levels, "a value never seen"))}
        chosen = np.array(sorted(range(len(names)), key=lambda v: order[names[v]]), dtype=np.intp)
    return LevelParameters.of(
        table.feature, [names[v] for v in chosen], counts[:, chosen], total, theta[:, chosen],
        pseudo=pseudo[:, chosen], added=table.added, formula=table.formula,
        alpha=float(broadcast_alpha(summariser.family.alpha, summariser.part.n_features)[j]),
        n_left_out=len(names) - len(chosen),
    )  # fmt: skip


def count_words(naive: GenerativeModel, block: int) -> SelectedWords:
    """Return the places of the words that a text's model keeps, and their counts."""
    family: Any = naive.assumption.families[block]
    selected: SelectedWords = family.select_words(naive.complete.parts[block])
    return selected


def _find_word_parameters(naive: GenerativeModel, block: int, name: str, most: int | None) -> LevelParameters:
    """Return the parameters of the words of a text."""
    words: Any = naive.complete.schema.blocks[block].names
    if words is None:
        raise UndefinedError("words were hashed, so there are none to name. Hint: train without hashed")
    counted = count_words(naive, block)
    chosen = _choose_commonest(counted.counted.per_feature(counted.counted.total), most)
    if counted.counted.n_classes * len(chosen) > MAX_FIGURES:
        raise InputError(f"a table of {len(chosen)} words in every class is too large. Hint: most=1000")
    values = [words[i] for i in counted.places[chosen].tolist()]
    return make_word_parameters(naive, block, name, values, counted, chosen)


def make_word_parameters(
    naive: GenerativeModel, block: int, name: str, words: Sequence[str], selected: SelectedWords,
    chosen: NDArray[np.intp],
) -> LevelParameters:  # fmt: skip
    """Return the parameters of chosen words, given by their index among the selected ones."""
    form: Any = naive.solved.forms[block]
    family: Any = naive.assumption.families[block]
    places, counted = selected
    count = counted.take_features(chosen).to_dense().total
    k, v = np.repeat(np.arange(counted.n_classes), len(chosen)), np.tile(places[chosen], counted.n_classes)
    theta = np.exp(form.weights(k, v)).reshape(count.shape)
    alpha, V = float(family.alpha), len(places)
    return LevelParameters.of(
        name, words, count, counted.per_class(counted.total), theta,
        pseudo=np.full(count.shape, alpha), added=np.full((counted.n_classes, 1), alpha * V),
        formula=f"(n + α)/(N + αV), α = {alpha:g}, V = {V:g}", alpha=alpha, n_left_out=V - len(chosen),
    )  # fmt: skip


def _find_number_parameters(naive: GenerativeModel, block: int, j: int, name: str) -> NumberParameters:
    """Return the parameters of a Gaussian: those of the score form, and the variance of the rows alone."""
    part: Any = naive.complete.parts[block]
    form: Any = naive.solved.forms[block]
    n = np.broadcast_to(part.weight, part.mean.shape)
    columns = (n, form.mean, divide(part.m2, n, np.nan), np.broadcast_to(form.variance, n.shape))
    return NumberParameters(
        name, [""], dict(zip(("count", "mean", "variance_ml", "variance"), (each[:, [j]] for each in columns)))
    )


def _find_covariance_parameters(naive: GenerativeModel, block: int, j: int, names: Sequence[str]) -> NumberParameters:
    """Return the means of joined numbers, and their covariances with number j."""
    part = naive.complete.parts[block]
    form: Any = naive.solved.forms[block]
    assert isinstance(part, Scatter)
    n = np.broadcast_to(part.weight, part.comoment.shape)
    figures = {
        "count": n[:, j],
        "mean": np.asarray(form.mean),
        "covariance_ml": divide(part.comoment, n, np.nan)[:, j],
        "covariance": np.broadcast_to(form.covariance, n.shape)[:, j],
    }
    return NumberParameters(names[j], list(names), figures)


def _find_rate_parameters(naive: GenerativeModel, block: int, j: int, name: str) -> RateParameters:
    """Return the parameters of a Poisson rate."""
    part = naive.complete.parts[block]
    family: Any = naive.assumption.families[block]
    assert isinstance(part, Counts)
    n = np.broadcast_to(part.weight, part.total.shape)
    columns = (n, part.total, divide(part.total, n, np.nan), family.rates(part))
    figures = dict(zip(("count", "sum", "rate_ml", "rate"), (each[:, [j]] for each in columns)))
    alpha = float(broadcast_alpha(family.alpha, part.n_features)[j])
    return RateParameters(name, [""], figures, alpha=alpha)
