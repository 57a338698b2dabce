"""The posterior of a row as it is computed on paper: π times the probability of each cell, divided by the sum.

The factors come from the score forms, each from a row in which all other cells are missing: so their product,
normalised, is what the model predicts, whatever the learner. A factor of naive Bayes is also written as the quotient
of counts, or the density, that it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.formatting import format_power, format_word
from deciban.linear.fitted_model import FittedModel
from deciban.model.cell_values import format_cell_value
from deciban.model.columns import JOIN_SEPARATOR, Feature
from deciban.model.parameter_tables import (
    FeatureParameters,
    LevelParameters,
    count_words,
    find_parameters,
    find_prior_parameters,
    make_word_parameters,
)
from deciban.model.table_explanations import concatenate_blocks, read_rows, read_table_cells
from deciban.plain_json import to_plain
from deciban.scorer import vocabularies
from deciban.scores import Steps
from deciban.scores.linear import log_factorials
from deciban.scores.posterior import normalise
from deciban.sources.source import Source

if TYPE_CHECKING:
    from deciban.model.model import Model

MIN_LOG_PRODUCT = -690.0
"""ln of the product below which it is computed by logarithms: doubles end near e to the power of −708."""


BIAS = "bias"
"""The name of the factor of fitted constants."""


class Factor(NamedTuple):
    """A factor of the products of all classes: what it is of, its formula in each class, and its logarithms."""

    what: str
    column: str | None
    value: Any
    formulas: Sequence[str]
    logs: Array

    def to_dict(self, k: int) -> dict[str, Any]:
        """Return the factor of class k as JSON values."""
        names = {"what": self.what, "column": self.column, "value": self.value, "formula": self.formulas[k]}
        result: dict[str, Any] = to_plain({**names, "factor": np.exp(self.logs[k]), "ln": self.logs[k]})
        return result


@dataclass(frozen=True, eq=False)
class PosteriorArithmetic:
    """The factors of a row, the prior first, and what the model predicts.

    `predicted` differs from the normalised products by a calibration alone, which `calibration` describes.
    """

    classes: Sequence[Any]
    factors: Sequence[Factor]
    predicted: Array
    calibration: str | None = None

    @property
    def log_products(self) -> Array:
        """ln of the product of each class."""
        return np.asarray(np.sum([factor.logs for factor in self.factors], axis=0))

    @property
    def is_impossible(self) -> bool:
        """Whether every product is 0."""
        return bool(np.isneginf(self.log_products).all())

    @property
    def needs_logarithms(self) -> bool:
        """Whether a product that is not 0 is too small for a double, or nearly so."""
        logs = self.log_products
        return bool((logs[np.isfinite(logs)] < MIN_LOG_PRODUCT).any())

    @property
    def probability(self) -> Array:
        """The product of each class, divided by the sum of all; of the prior and the constants where all are 0."""
        constants = [self.factors[0], *(f for f in self.factors[1:2] if f.column is None and f.what == BIAS)]
        start = np.sum([factor.logs for factor in constants], axis=0)
        scores = start if self.is_impossible else self.log_products
        return np.asarray(np.exp(normalise(scores[None]))[0])

    def to_dict(self) -> dict[str, Any]:
        """Return the arithmetic as JSON values."""
        logs, probability = self.log_products, self.probability
        classes = [
            {
                "class": label,
                "factors": [factor.to_dict(k) for factor in self.factors],
                "product": np.exp(logs[k]),
                "ln_product": logs[k],
                "probability": probability[k],
                "predicted": self.predicted[k],
            }
            for k, label in enumerate(self.classes)
        ]
        result: dict[str, Any] = to_plain(
            {"classes": classes, "sum": np.exp(logs).sum(), "calibration": self.calibration}
        )
        return result


class Unit(NamedTuple):
    """Cells that have one factor: columns of a block's matrix, what they are, and the log ratio that ranks them."""

    block: int
    columns: list[int]
    what: str
    column: str | None
    """The name of the column; None for the dependence of all columns."""
    value: Any
    log_ratio: float
    """|ln p(x|k)/p(x|l)|, k and l the two most probable classes."""
    feature: Feature | None = None
    """The feature, where it is not joined with others, nor a word."""


def compute_by_hand(
    model: Model, source: Source, rows: int, allow_missing: bool, most: int
) -> list[PosteriorArithmetic]:
    """Return the arithmetic of the first rows; of each the `most` strongest factors, the others as one."""
    batches, parts = concatenate_blocks(read_rows(model, source, rows, allow_missing, model._make_unseen_monitor()))
    predicted = model._score(parts, "posterior")
    cells = read_table_cells(model, batches, len(predicted))
    writer = ArithmeticWriter(model)
    return [
        writer.write([part[i : i + 1] for part in parts], cells[i], predicted[i], most) for i in range(len(predicted))
    ]


class ArithmeticWriter:
    """Computes the factors of single rows, each given as a matrix for each block of features."""

    def __init__(self, model: Model) -> None:
        self.model, self.scorer, self.solved = model, model._scorer, model._scorer.solved
        self.naive = None if isinstance(model._scorer, FittedModel) else model._naive.unsolved()
        self.n_classes = len(self.solved.prior)

    def write(self, parts: Sequence[Any], cells: NDArray[Any], predicted: Array, most: int) -> PosteriorArithmetic:
        """Return the factors of a row: the prior, fitted constants, the strongest cells, and all others as one."""
        parts = [engines.prepare_rows(part, needs) for part, needs in zip(parts, self.solved.needs)]
        units = self._list_units(parts, cells)
        order = sorted(range(len(units)), key=lambda i: -units[i].log_ratio)
        shown, hidden = ([units[i] for i in sorted(part)] for part in (order[:most], order[most:]))
        factors = [
            self._make_prior_factor(),
            *self._make_constant_factors(parts),
            *(self._make_cell_factor(parts, unit) for unit in shown),
        ]
        if hidden:
            factors.append(self._combine_others(parts, shown, hidden))
        by = self.scorer.calibration
        return PosteriorArithmetic(self.model.classes, factors, predicted, None if by is None else str(by.map))

    def _make_prior_factor(self) -> Factor:
        """Return the class prior; before a calibration that under which it was fitted."""
        by = self.scorer.calibration
        logs = self.solved.log_prior if by is None else by.log_prior
        formulas = list(map(format_power, logs))
        if np.array_equal(logs, self.solved.log_prior):
            parameters = find_prior_parameters(self.model)
            formulas = [parameters.write_quotient(k) for k in range(self.n_classes)]
        return Factor(f"p({self.model.target})", None, None, formulas, logs)

    def _make_constant_factors(self, parts: Sequence[Any]) -> list[Factor]:
        """Return the constants of fitted scores as one factor; naive Bayes has none."""
        logs = np.zeros(self.n_classes) if self.solved.bias is None else self.solved.bias
        logs = logs + sum(self._score(b, _keep_cells(part, [])) for b, part in enumerate(parts))
        return [Factor(BIAS, None, None, _format_powers(logs), logs)] if logs.any() else []

    def _score(self, block: int, X: Any) -> Array:
        """Return the score of each class of one row of a block."""
        form, needs = self.solved.forms[block], self.solved.needs[block]
        return np.asarray(engines.apply((form,), (X,), (needs,), np.zeros(self.n_classes), "joint", 1)[0])

    def _list_units(self, parts: Sequence[Any], cells: NDArray[Any]) -> list[Unit]:
        """Return the cells that are not missing in the order of the table, then the words, the strongest first."""
        table = [feature.name for feature in self.model._layout.features_in_table_order()]
        cell, units, words = dict(zip(table, cells)), list[tuple[int, Unit]](), list[Unit]()
        log_ratios = self._compute_log_ratios(parts)
        for b, ((kind, features), ratios) in enumerate(zip(self.model._layout.blocks, log_ratios)):
            if kind == "bags":
                words += self._list_word_units(b, parts[b], features[0], ratios)
                continue
            present = [j for j in range(len(features)) if not _is_missing(parts[b][0, j])]
            if kind == "pairs":
                names = [feature.name for feature in features]
                found = self._list_pair_units(b, names, present, ratios)
                units += [(table.index(u.column) if u.column is not None else len(table), u) for u in found]
                continue
            for group in [present] if kind == "scatter" and present else [[j] for j in present]:
                unit = _make_unit(b, group, features, cell, float(ratios[group].sum()))
                units.append((table.index(features[group[0]].name), unit))
        words.sort(key=lambda unit: -unit.log_ratio)
        return [*(unit for _, unit in sorted(units, key=lambda pair: pair[0])), *words]

    def _list_pair_units(
        self, block: int, names: Sequence[str], present: Sequence[int], log_ratios: Array
    ) -> list[Unit]:
        """Return the columns that depend on another where both have cells; of averaged dependence all as one."""
        if self.model.options.dependence == "averaged":
            unit = Unit(block, list(present), "dependence of all columns", None, None, float(log_ratios.sum()))
            return [unit] if len(present) > 1 else []
        structure = self.model.structure
        pairs = [(j, names.index(structure[names[j]])) for j in present if names[j] in structure]
        return [
            Unit(block, [j, parent], f"{names[j]}, given {names[parent]}", names[j], None, float(log_ratios[j]))
            for j, parent in pairs
            if parent in present
        ]

    def _compute_log_ratios(self, parts: Sequence[Any]) -> list[Array]:
        """Return |ln p(x_j|k)/p(x_j|l)| of each column, k and l the two most probable classes; ∞ if undefined."""
        joint = sum(self._score(b, part) for b, part in enumerate(parts)) + self.solved.log_prior
        k, l = (np.array([c]) for c in np.argsort(-joint, kind="stable")[:2])
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = [engines.pieces(*block, k, l) for block in zip(self.solved.forms, parts, self.solved.needs)]
        rows = [p.features.toarray() if engines.is_sparse(p.features) else np.asarray(p.features) for p in pieces]
        return [np.nan_to_num(np.abs(row[0]), nan=np.inf, posinf=np.inf) for row in rows]

    def _list_word_units(self, block: int, X: Any, feature: Feature, log_ratios: Array) -> list[Unit]:
        """Return the words of a text that the model knows; those without a name are named by their number."""
        texts = self.model._layout.texts
        names = vocabularies(self.scorer.outline)[texts.index(feature)]
        mute = getattr(self.solved.forms[block], "mute", None)
        units = []
        for v, times in zip(X.indices.tolist(), X.data.tolist()):
            if times and not (mute is not None and mute[v]):
                word = f"word {v}" if names is None else names[v]
                what = f"{feature.name}: {format_word(word)}" if len(texts) > 1 else format_word(word)
                units.append(Unit(block, [v], what, feature.name, word, float(log_ratios[v])))
        return units

    def _make_cell_factor(self, parts: Sequence[Any], unit: Unit) -> Factor:
        """Return the factor of a cell, of a word, or of the cells of joined numbers."""
        X = parts[unit.block]
        logs = self._score(unit.block, _keep_cells(X, unit.columns)) - self._score(unit.block, _keep_cells(X, []))
        what, formulas = unit.what, _format_powers(logs)
        if self.naive is not None:
            what, formulas = self._write_formulas(X, unit, logs)
        return Factor(what, unit.column, unit.value, formulas, logs)

    def _write_formulas(self, X: Any, unit: Unit, logs: Array) -> tuple[str, list[str]]:
        """Return what the factor is of, with the bin of a number, and its formula in each class, by naive Bayes."""
        kind = self.model._layout.blocks[unit.block].kind
        K, x = range(self.n_classes), X[0, unit.columns[0]]
        if kind == "bags":
            times = f"^{x:g}" if x != 1 else ""
            parameters = self._find_word_parameters(unit)
            return unit.what, [f"({q}){times}" if times else q for q in (parameters.write_quotient(k, 0) for k in K)]
        if kind == "pairs":
            return unit.what, list(map(format_power, logs))
        if kind == "scatter":
            return unit.what, ["N(x; μ, Σ)"] * self.n_classes
        if kind == "moments":
            return unit.what, self._write_densities(unit, x, logs)
        if kind == "counts":
            rates = self._find_parameters(unit).figures["rate"][:, 0]
            plain = x * np.log(np.where(rates > 0, rates, 1.0)) - rates - log_factorials(np.atleast_1d(x))
            return unit.what, _mark_bounded([f"Poisson({x:g}; {rate:.4g})" for rate in rates], plain, logs)
        return self._write_quotients(X, unit, logs)

    def _write_densities(self, unit: Unit, x: float, logs: Array) -> list[str]:
        """Return N(x; μ, σ²) of each class, marked where it is bounded; the value alone where a class has no rows."""
        figures = self._find_parameters(unit).figures
        n, mean, variance = (figures[name][:, 0] for name in ("count", "mean", "variance"))
        plain = -((x - mean) ** 2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)
        texts = [f"N({x:.6g}; {m:.4g}, {v:.4g})".replace("-", "−") for m, v in zip(mean, variance)]
        marked = _mark_bounded(texts, plain, logs)
        return [text if rows else format_power(log) for text, rows, log in zip(marked, n, logs)]

    def _write_quotients(self, X: Any, unit: Unit, logs: Array) -> tuple[str, list[str]]:
        """Return what the cell is, with the bin of a number, and θ of each class as a quotient of counts."""
        parameters = self._find_parameters(unit)
        assert isinstance(parameters, LevelParameters)
        form: Any = self.solved.forms[unit.block]
        j = unit.columns[0]
        v = int(form.bins(X)[0, j]) if isinstance(form, Steps) else self._find_level(unit.block, j, int(X[0, j]))
        if v < 0:
            return f"{unit.what} (never seen)", list(map(format_power, logs))
        what = f"{unit.what} ({parameters.values[v]})" if isinstance(form, Steps) else unit.what
        return what, [parameters.write_quotient(k, v) for k in range(self.n_classes)]

    def _find_parameters(self, unit: Unit) -> FeatureParameters:
        """Return the parameters of a unit's feature by naive Bayes."""
        assert self.naive is not None
        assert unit.feature is not None
        return find_parameters(self.model, self.naive, unit.feature)

    def _find_level(self, block: int, j: int, code: int) -> int:
        """Return the place of a level among those with parameters of their own; −1 if it was never seen."""
        assert self.naive is not None
        family: Any = self.naive.assumption.families[block]
        full = family.full(self.naive.complete.parts[block])
        if code >= full.sizes[j]:
            return -1
        separate = family.separate_levels(full)
        place = int(separate.column[full.offset[j] + code])
        return -1 if place < 0 else place - int(separate.counts.offset[j])

    def _find_word_parameters(self, unit: Unit) -> LevelParameters:
        """Return the parameters of one word."""
        assert self.naive is not None
        assert unit.column is not None
        counted = count_words(self.naive, unit.block)
        chosen = np.searchsorted(counted.places, unit.columns)
        return make_word_parameters(self.naive, unit.block, unit.column, [unit.value], counted, chosen)

    def _combine_others(self, parts: Sequence[Any], shown: Sequence[Unit], hidden: Sequence[Unit]) -> Factor:
        """Return the product of the factors of all cells that are not shown."""
        logs = np.zeros(self.n_classes)
        for b, X in enumerate(parts):
            empty = self._score(b, _keep_cells(X, []))
            if self.model._layout.blocks[b].kind == "pairs":  # two units may share a cell
                rows = [_keep_cells(X, unit.columns) for unit in hidden if unit.block == b]
            else:
                rows = [_drop_cells(X, [j for unit in shown if unit.block == b for j in unit.columns])]
            logs = sum((self._score(b, row) - empty for row in rows), logs)
        return Factor(f"{len(hidden)} more", None, None, list(map(format_power, logs)), logs)


def _mark_bounded(texts: Sequence[str], plain: Array, logs: Array) -> list[str]:
    """Return the formulas of densities, marked where the logarithm of the factor is not the plain one."""
    same = np.isclose(plain, logs, rtol=1e-9, atol=1e-9)
    return [text if is_same else f"{text}, bounded" for text, is_same in zip(texts, same)]


def _is_missing(x: Any) -> bool:
    """Return whether a number is NaN, or a level code negative."""
    return bool(np.isnan(x) if isinstance(x, np.floating) else x < 0)


def _make_unit(
    block: int, columns: list[int], features: Sequence[Feature], cells: dict[str, Any], log_ratio: float
) -> Unit:
    """Return the unit of one cell, or of several that are joined."""
    chosen = [features[j] for j in columns]
    names, values = [f.name for f in chosen], [cells[f.name] for f in chosen]
    what = ", ".join(f"{name} = {format_cell_value(value)}" for name, value in zip(names, values))
    if len(chosen) == 1:
        return Unit(block, columns, what, names[0], values[0], log_ratio, chosen[0])
    joined = JOIN_SEPARATOR.join(str(format_cell_value(value)) for value in values)
    return Unit(block, columns, what, JOIN_SEPARATOR.join(names), joined, log_ratio)


def _keep_cells(X: Any, columns: Sequence[int]) -> Any:
    """Return a row with the cells of these columns, or these words, all others missing."""
    present = X.indices if engines.is_sparse(X) else np.arange(X.shape[1])
    return _drop_cells(X, np.setdiff1d(present, columns))


def _drop_cells(X: Any, columns: Sequence[int] | NDArray[Any]) -> Any:
    """Return a row in which the cells of these columns are missing, or these words do not occur."""
    row = X.copy()
    if engines.is_sparse(X):
        row.data[np.isin(row.indices, columns)] = 0
        row.eliminate_zeros()
    elif len(columns):
        row[:, columns] = np.nan if X.dtype.kind == "f" else -1
    return row


def _format_powers(logs: Array) -> list[str]:
    """Format factors of fitted scores as powers of e."""
    return [f"e^{x:.4g}".replace("-", "−").replace("inf", "∞") for x in logs]
