"""BELIEF: what we assume, what we remember, and everything that follows from the two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.errors import InputError, SchemaError, UndefinedError
from deciban.families.evidence import with_evidence
from deciban.families.family import NO_LIKELIHOOD, Family, log
from deciban.families.prior import ClassPrior
from deciban.ledger import Block, Cells, Ledger, Needs, Schema, Vocabulary
from deciban.ledger.names import feature_names
from deciban.ledger.statistic import Array, Codes
from deciban.scores import DECIBAN, Boundary, Conic, Explanation, Pieces, ScoreForm
from deciban.scores.calibration import Calibration, recalibrated
from deciban.scores.novelty import Novelty, known_novelty, standardised
from deciban.scores.posterior import Finish

DRAWS = 100_000
"""Rows drawn where an error can only be estimated."""

DRAWN_AT_ONCE = 4096


@dataclass(frozen=True)
class Assumption:
    """A family for each block of features, a class prior, and perhaps a ledger of imagined examples.

    Imagined examples are learned beside the real ones: they smooth every probability, and move the class
    prior too. With `auto` the families' pseudo-counts are open, and each belief has those that its ledger asks for
    (`families/evidence.py`).
    """

    families: tuple[Family, ...]
    prior: ClassPrior
    imagined: Ledger | None = None
    missing: str = "skip"
    auto: bool = False

    @property
    def needs(self) -> tuple[Needs, ...]:
        """What must be remembered for each block."""
        wanted = (family.needs() for family in self.families)
        return tuple(replace(n, skips=n.skips and self.missing == "skip") for n in wanted)

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are log-probabilities of x."""
        return all(family.probabilistic for family in self.families)


class Solved(NamedTuple):
    """All that is needed to predict."""

    prior: Array
    log_prior: Array
    forms: tuple[ScoreForm, ...]
    needs: tuple[Needs, ...]


def learn(
    assumption: Assumption,
    classes: Sequence[Any],
    names: Sequence[tuple[str, ...] | None],
    parts: Sequence[Any],
    codes: Codes,
    weight: Array | None,
    threads: int,
) -> Ledger:
    """The ledger of these rows: one matrix for each block, the place of each row's class, and its weight."""
    K = len(classes)
    blocks = tuple(
        Block(n.kind, X.shape[1], name, reading=n.reading) for n, X, name in zip(assumption.needs, parts, names)
    )
    rows = np.bincount(codes, weights=weight, minlength=K).astype(np.float64)
    sums = [engines.summarise(n, X, codes, weight, K, threads) for n, X in zip(assumption.needs, parts)]
    return Ledger(Schema(tuple(classes), blocks), rows, tuple(sums))


@dataclass(frozen=True, eq=False)
class Belief:
    """A ledger under an assumption. A value: learning more makes another."""

    assumption: Assumption
    ledger: Ledger
    calibration: Calibration | None = None
    """What the probabilities claimed are mended by; it belongs to what was learned so far, and to nothing else."""
    novelty: Novelty | None = None
    """How probable the rows were that were learned, to tell rows by that are like none of them."""

    def __post_init__(self) -> None:
        if self.assumption.auto:
            families = with_evidence(self.assumption.families, self.ledger.parts)
            object.__setattr__(self, "assumption", replace(self.assumption, families=families))

    def told(self, **known: Calibration | Novelty | None) -> Self:
        """The same with another calibration or novelty; what was solved stays so."""
        new = object.__new__(type(self))
        vars(new).update({**vars(self), **known})
        return new

    @property
    def schema(self) -> Schema:
        """The names of what is counted."""
        return self.ledger.schema

    @property
    def outline(self) -> Schema:
        """The names of classes and features; those of levels may be left out."""
        return self.schema

    @property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels, for each feature that has levels with names."""
        return next((block.levels for block in self.schema.blocks if block.kind == "levels"), None) or ()

    @property
    def vocabularies(self) -> list[Vocabulary | None]:
        """The words of each block of words; None where their hashes stand for them."""
        return vocabularies(self.outline)

    def afresh(self) -> Belief:
        """The same, in which everything follows from the ledger."""
        return self

    @cached_property
    def complete(self) -> Ledger:
        """What is remembered, with what is imagined."""
        imagined = self.assumption.imagined
        if imagined is None:
            return self.ledger
        strange = [label for label in imagined.schema.classes if label not in self.ledger.schema.classes]
        if strange:
            raise SchemaError(
                f"the imagined examples have a class that the model has not: {strange[0]!r}. "
                f"Hint: imagine examples of {list(self.ledger.schema.classes)} only"
            )
        return self.ledger + imagined

    @cached_property
    def solved(self) -> Solved:
        """The class prior and the score forms, solved once."""
        prior = self.assumption.prior.solve(self.complete.rows)
        try:
            forms = tuple(f.solve(part) for f, part in zip(self.assumption.families, self.complete.parts))
        except np.linalg.LinAlgError:
            raise InputError(
                "what was learned has no covariance that can be computed: its numbers are too far apart. "
                "Hint: scale the columns, or leave some out."
            ) from None
        silent = not self.assumption.probabilistic and len(prior) > 1
        return Solved(prior, np.zeros(len(prior)) if silent else log(prior), forms, self.assumption.needs)

    def scores(self, parts: Sequence[Any], wanted: Finish, threads: int) -> NDArray[Any]:
        """ln p(x, k), p(k|x), argmax_k … of every row, see `scores.finish`; p(k|x) calibrated if there is a map."""
        if wanted in ("density", "typicality"):
            self._need_probability("density p(x)")
        if wanted in ("observed", "typicality"):
            return self._observed(parts, wanted, threads)
        if self.calibration is not None and wanted not in ("joint", "density"):
            return self._calibrated(self.calibration, parts, wanted, threads)
        return engines.apply(self.solved.forms, parts, self.solved.needs, self.solved.log_prior, wanted, threads)

    def _calibrated(self, by: Calibration, parts: Sequence[Any], wanted: Finish, threads: int) -> NDArray[Any]:
        """What is wanted of the calibrated ln p(k|x): claimed under the prior of the map, moved to that of today."""
        claimed = engines.apply(self.solved.forms, parts, self.solved.needs, by.log_prior, "log_posterior", threads)
        log_posterior = by.apply(claimed, self.solved.log_prior)
        if wanted == "winner":
            return log_posterior.argmax(axis=1)
        return log_posterior if wanted == "log_posterior" else np.exp(log_posterior)

    def _observed(self, parts: Sequence[Any], wanted: Finish, threads: int) -> Array:
        """How many cells of each row say something, or words, and how probable the row is for each of them."""
        each = [engines.observed(*block) for block in zip(self.solved.forms, parts, self.solved.needs)]
        cells: Array = np.sum(each, axis=0)
        return cells if wanted == "observed" else standardised(self.scores(parts, "density", threads), cells)

    def novel(self, parts: Sequence[Any], share: float, threads: int) -> NDArray[np.bool_]:
        """Which rows are less probable, a cell, than all but this share of the rows that were learned."""
        typicality = self.scores(parts, "typicality", threads)
        return known_novelty(self.novelty).novel(typicality, share)

    def _need_probability(self, what: str) -> None:
        if not self.assumption.probabilistic:
            raise UndefinedError(NO_LIKELIHOOD.format(what=what))

    def log_likelihood(self, parts: Sequence[Any], codes: Codes, weight: Array | None, threads: int) -> float:
        """Σ w ln p(x, y) over rows with known classes and weights above zero."""
        self._need_probability("likelihood")
        joint = self.scores(parts, "joint", threads)[np.arange(len(codes)), codes]
        return float(joint.sum() if weight is None else np.dot(joint, weight))

    def training_log_likelihood(self) -> float:
        """Σ w ln p(x, y) over the rows that were learned, from the ledger alone."""
        self._need_probability("likelihood")
        if any(
            isinstance(p, Cells) and not np.allclose(p.count.sum(axis=1), self.ledger.rows) for p in self.ledger.parts
        ):
            raise UndefinedError(
                "rows with missing values are in no cell of the joint table, so the ledger alone does not give their "
                "likelihood. Hint: log_likelihood(X, y) computes it from the rows."
            )
        seen = self.ledger.rows > 0
        prior = float((self.ledger.rows[seen] * self.solved.log_prior[seen]).sum())
        blocks = zip(self.assumption.families, self.ledger.parts, self.complete.parts)
        return prior + sum(family.log_likelihood(part, solved) for family, part, solved in blocks)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[list[NDArray[Any]], NDArray[np.intp]]:
        """n rows drawn from the model: the matrix of each block, and the classes' places."""
        self._need_probability("rows to draw")
        codes = rng.choice(len(self.solved.prior), size=n, p=self.solved.prior / self.solved.prior.sum())
        parts = [f.sample(p, codes, rng) for f, p in zip(self.assumption.families, self.complete.parts)]
        return parts, codes

    def bayes_error(self, n_draws: int, rng: np.random.Generator, threads: int) -> float:
        """The least error any rule can have if this model is the truth: E[1 − max_k p(k|x)].

        Exact where one block of discrete features has few combinations, else over rows drawn from the model.
        """
        self._need_probability("Bayes error")
        every = self.assumption.families[0].every_row(self.complete.parts[0])
        if every is not None and len(self.assumption.families) == 1:
            rows, log_times = every
            return float(1 - np.exp(self.scores([rows], "joint", threads).max(axis=1) + log_times).sum())
        sure = 0.0
        for start in range(0, n_draws, DRAWN_AT_ONCE):
            parts, _ = self.sample(min(DRAWN_AT_ONCE, n_draws - start), rng)
            sure += float(self.told(calibration=None).scores(parts, "posterior", threads).max(axis=1).sum())
        return 1 - sure / n_draws

    def boundary(self) -> Boundary:
        """The score as weights · x + bias, for one block of features."""
        line, (slope, bias) = self.solved.forms[0].linear(), self._line()
        return Boundary(slope * line.weights, slope * line.bias + bias)

    def conic(self) -> Conic:
        """The score as xᵀAx + weights · x + bias, for one block of features."""
        curve, (slope, bias) = self.solved.forms[0].quadratic(), self._line()
        return Conic(slope * curve.A, slope * curve.weights, slope * curve.bias + bias)

    def _line(self) -> tuple[float, Array]:
        """What the evidence is multiplied by, and what is added to it for each class."""
        if self.calibration is None:
            return 1.0, self.solved.log_prior
        return self.calibration.line(self.solved.log_prior)

    @property
    def n_parameters(self) -> int:
        """Numbers estimated: of p(x|k) and of the class prior."""
        conditional = sum(f.n_parameters(p) for f, p in zip(self.assumption.families, self.complete.parts))
        return conditional + len(self.solved.prior) - 1

    def explain(
        self, parts: Sequence[Any], pair: tuple[int, int] | None, labels: NDArray[Any], threads: int
    ) -> Explanation:
        """Each row's evidence for one class against another: winner and runner-up, or the given pair."""
        if len(labels) < 2:
            raise InputError("an explanation compares two classes, and this model has one")
        n = parts[0].shape[0]
        log_posterior = self.scores(parts, "log_posterior", threads)
        order = np.argsort(-log_posterior, axis=1, kind="stable")
        k, l = order[:, 0], order[:, 1]
        if pair is not None:
            k, l = np.full(n, pair[0]), np.full(n, pair[1])
        pieces = [engines.pieces(*block, k, l) for block in zip(self.solved.forms, parts, self.solved.needs)]
        told = self._explained(pieces, labels, k, l)
        if self.calibration is None:
            return told
        log_odds = log_posterior[np.arange(n), k] - log_posterior[np.arange(n), l]
        return recalibrated(told, self.calibration, self.solved.log_prior, k, l, log_odds)

    def _explained(
        self, pieces: Sequence[Pieces], labels: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]
    ) -> Explanation:
        with np.errstate(invalid="ignore"):  # two classes without rows: −∞ − −∞ has no value
            prior = (self.solved.log_prior[k] - self.solved.log_prior[l]) * DECIBAN
        evidence = engines.side_by_side([p.features * DECIBAN for p in pieces])
        extras: dict[str, Array] = {}
        for name, value in (extra for p in pieces for extra in p.extras.items()):
            extras[name] = extras.get(name, 0.0) + value * DECIBAN
        with np.errstate(invalid="ignore"):
            total = prior + np.asarray(evidence.sum(axis=1)).reshape(-1) + sum(extras.values())
        return Explanation(evidence, prior, total, labels[k], labels[l], self.feature_names, extras)

    @property
    def feature_names(self) -> Sequence[str]:
        """The features' names, or their numbers where they have none."""
        return feature_names(self.outline)


def vocabularies(schema: Schema) -> list[Vocabulary | None]:
    """The words of each block of words; None where their hashes stand for them."""
    words = [block.names for block in schema.blocks if block.kind == "bags"]
    return [names if isinstance(names, Vocabulary) else None for names in words]
