"""Scorer: the methods common to all models made of score forms, whether solved from a ledger or fitted to rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array
from deciban.errors import InputError
from deciban.ledger import Needs, Schema, Vocabulary
from deciban.ledger.schema import feature_names
from deciban.scores import DECIBAN, Boundary, Conic, Explanation, ScoreForm
from deciban.scores.calibration import Calibration, calibrate_explanation
from deciban.scores.posterior import Finish, Novelty, density_per_cell, require_novelty


class Solved(NamedTuple):
    """The class prior and the score forms: all that is needed to predict."""

    prior: Array
    log_prior: Array
    forms: tuple[ScoreForm, ...]
    needs: tuple[Needs, ...]
    bias: Array | None = None
    """The constant that fitted forms add to the score of each class beyond its prior."""

    def start(self, log_prior: Array) -> Array:
        """Return the score of each class before any feature is added, under this prior."""
        return log_prior if self.bias is None else log_prior + self.bias


class Scorer(ABC):
    """Score forms and a class prior, with the predictions and explanations of rows that follow from them."""

    calibration: Calibration | None
    """The map that corrects the claimed probabilities; it is valid only for the data learned so far."""
    novelty: Novelty | None
    """The distribution of the training rows' densities, by which rows unlike all of them are recognised."""

    if TYPE_CHECKING:  # fields of one kind of scorer, computed by another

        @property
        def solved(self) -> Solved:
            """The class prior and the score forms."""

        @property
        def schema(self) -> Schema:
            """The names of classes, features and levels."""

        @property
        def rows(self) -> Array:
            """The weight of the rows of each class."""

        @property
        def n_parameters(self) -> int:
            """The number of estimated parameters."""

    @abstractmethod
    def require_density(self, what: str) -> None:
        """Raise an UndefinedError where the model has no p(x), which `what` needs; the message names it."""

    def with_maps(self, **maps: Calibration | Novelty | None) -> Self:
        """Return a copy with another calibration, novelty or both; the solved forms are shared."""
        new = object.__new__(type(self))
        vars(new).update({**vars(self), **maps})
        return new

    @property
    def outline(self) -> Schema:
        """The names of classes and features; those of levels may be left out."""
        return self.schema

    @property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels of each feature in the first block of levels; empty without block or names."""
        return next((block.levels for block in self.schema.blocks if block.kind == "levels"), None) or ()

    def scores(self, parts: Sequence[Any], wanted: Finish, threads: int) -> NDArray[Any]:
        """Compute ln p(x, k), p(k|x), argmax_k … of every row, see `scores.finish`; p(k|x) with the calibration."""
        if wanted in ("density", "typicality"):
            self.require_density("density p(x)")
        if wanted in ("observed", "typicality"):
            each = [engines.count_observed(*block) for block in zip(self.solved.forms, parts, self.solved.needs)]
            cells: Array = np.sum(each, axis=0)
            return cells if wanted == "observed" else density_per_cell(self.scores(parts, "density", threads), cells)
        if self.calibration is None or wanted in ("joint", "density"):
            return self._apply(parts, self.solved.log_prior, wanted, threads)
        # claimed under the prior of the calibration, then moved to the present prior
        claimed = engines.to_host(self._apply(parts, self.calibration.log_prior, "log_posterior", threads))
        log_posterior = self.calibration.apply(claimed.astype(np.float64, copy=False), self.solved.log_prior)
        if wanted == "winner":
            return engines.match_rows(log_posterior.argmax(axis=1), parts[0])
        return engines.match_rows(log_posterior if wanted == "log_posterior" else np.exp(log_posterior), parts[0])

    def _apply(self, parts: Sequence[Any], log_prior: Array, wanted: Finish, threads: int) -> NDArray[Any]:
        """Apply the forms to rows, without calibration."""
        solved = self.solved
        return engines.apply(solved.forms, parts, solved.needs, solved.start(log_prior), wanted, threads)

    def is_novel(self, parts: Sequence[Any], share: float, threads: int) -> NDArray[np.bool_]:
        """Return which rows have a lower density per cell than all but this share of the training rows."""
        typicality = self.scores(parts, "typicality", threads)
        return require_novelty(self.novelty).is_novel(typicality, share)

    def boundary(self) -> Boundary:
        """Return the score as weights · x + bias, for one block of features."""
        line, (slope, bias) = self.solved.forms[0].linear(), self.linear_map()
        return Boundary(slope * line.weights, slope * self.solved.start(line.bias) + bias)

    def conic(self) -> Conic:
        """Return the score as xᵀAx + weights · x + bias, for one block of features."""
        curve, (slope, bias) = self.solved.forms[0].quadratic(), self.linear_map()
        return Conic(slope * curve.A, slope * curve.weights, slope * self.solved.start(curve.bias) + bias)

    def linear_map(self) -> tuple[float, Array]:
        """Return the factor of the evidence and the constant added for each class, by a linear calibration."""
        if self.calibration is None:
            return 1.0, self.solved.log_prior
        return self.calibration.line(self.solved.log_prior)

    def explain(
        self, parts: Sequence[Any], pair: tuple[int, int] | None, labels: NDArray[Any], threads: int
    ) -> Explanation:
        """Explain each row's evidence for one class against another: winner and runner-up, or the given pair.

        Raises InputError for a model of one class.
        """
        if len(labels) < 2:
            raise InputError("an explanation compares two classes, and this model has one")
        n = parts[0].shape[0]
        log_posterior = self.scores(parts, "log_posterior", threads)
        order = np.argsort(-log_posterior, axis=1, kind="stable")
        k, l = order[:, 0], order[:, 1]
        if pair is not None:
            k, l = np.full(n, pair[0]), np.full(n, pair[1])
        explanation = self._explain_pair(parts, labels, k, l, threads)
        if self.calibration is None:
            return explanation
        log_odds = log_posterior[np.arange(n), k] - log_posterior[np.arange(n), l]
        return calibrate_explanation(explanation, self.calibration, log_odds)

    def _explain_pair(
        self, parts: Sequence[Any], labels: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp], threads: int
    ) -> Explanation:
        """Explain each row's evidence for class k against l, before any calibration."""
        # Evidence that overflows is infinite; between two classes without rows, −∞ − −∞ has no value.
        with np.errstate(over="ignore", invalid="ignore"):
            pieces = [engines.pieces(*block, k, l) for block in zip(self.solved.forms, parts, self.solved.needs)]
            prior = (self.solved.log_prior[k] - self.solved.log_prior[l]) * DECIBAN
            evidence = engines.concatenate_columns([p.features * DECIBAN for p in pieces])
            bias = self.solved.bias
            extras: dict[str, Array] = {} if bias is None else {"bias": (bias[k] - bias[l]) * DECIBAN}
            for name, value in (extra for p in pieces for extra in p.extras.items()):
                extras[name] = extras.get(name, 0.0) + value * DECIBAN
            total = prior + np.asarray(evidence.sum(axis=1)).reshape(-1) + sum(extras.values())
        return Explanation(evidence, prior, total, labels[k], labels[l], self.feature_names, extras)

    @property
    def feature_names(self) -> Sequence[str]:
        """The features' names, or their numbers where they have none."""
        return feature_names(self.outline)


def vocabularies(schema: Schema) -> list[Vocabulary | None]:
    """Return the vocabulary of each block of words; None where only hashes of the words are kept."""
    words = [block.names for block in schema.blocks if block.kind == "bags"]
    return [names if isinstance(names, Vocabulary) else None for names in words]
