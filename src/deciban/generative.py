"""GenerativeModel: a ledger under an assumption, and everything that follows from the two."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban._typing import Array, Codes
from deciban.errors import InputError, SchemaError, UndefinedError
from deciban.families.family import NO_LIKELIHOOD, ClassPrior, Family, log
from deciban.families.marginal_likelihood import best_alpha, with_alpha
from deciban.ledger import Block, Cells, Ledger, Needs, Schema
from deciban.scorer import Scorer, Solved
from deciban.scores import has_valid_numbers
from deciban.scores.calibration import Calibration
from deciban.scores.gaussian_forms import NO_COVARIANCE
from deciban.scores.posterior import Novelty

ERROR_SAMPLE_ROWS = 100_000
"""The number of rows sampled where the Bayes error can only be estimated."""

ROWS_PER_SAMPLE = 4096
"""The number of rows sampled and scored at a time."""


@dataclass(frozen=True)
class Assumption:
    """A family for each block of features, a class prior, and perhaps a ledger of pseudo-observations.

    Imagined examples are added to the real ones: they smooth every probability, and change the class prior too. With
    `auto` each model has the pseudo-counts that maximise the marginal likelihood of its ledger
    (`families/marginal_likelihood.py`). `missing` is "skip" where missing values add no evidence, "error" where they
    are refused.
    """

    families: tuple[Family, ...]
    prior: ClassPrior
    pseudo_observations: Ledger | None = None
    missing: str = "skip"
    auto: bool = False

    @property
    def needs(self) -> tuple[Needs, ...]:
        """The statistic that each block needs."""
        wanted = tuple(family.needs() for family in self.families)
        return wanted if self.missing == "skip" else tuple(replace(n, skips=False) for n in wanted)

    @property
    def probabilistic(self) -> bool:
        """Whether the scores are log-probabilities of x."""
        return all(family.probabilistic for family in self.families)

    def solve_log_prior(self, rows: Array) -> Array:
        """Return ln π_k from the weight of each class's rows; 0 where scores are no log-probabilities."""
        prior = self.prior.solve(rows)
        return np.zeros(len(prior)) if not self.probabilistic and len(prior) > 1 else log(prior)


def summarise_rows(
    assumption: Assumption,
    classes: Sequence[Any],
    names: Sequence[tuple[str, ...] | None],
    parts: Sequence[Any],
    codes: Codes,
    weight: Array | None,
    threads: int,
) -> Ledger:
    """Summarise these rows into a ledger: one matrix for each block, each row's class code, and its weight."""
    K = len(classes)
    blocks = tuple(
        Block(n.kind, X.shape[1], name, reading=n.reading) for n, X, name in zip(assumption.needs, parts, names)
    )
    rows = engines.count_rows(codes, weight, K)
    sums = [engines.summarise(n, X, codes, weight, K, threads) for n, X in zip(assumption.needs, parts)]
    return Ledger(Schema(tuple(classes), blocks), rows, tuple(sums))


@dataclass(frozen=True, eq=False)
class GenerativeModel(Scorer):
    """A ledger under an assumption. It is immutable: learning more makes another."""

    assumption: Assumption
    ledger: Ledger
    calibration: Calibration | None = None
    novelty: Novelty | None = None

    def __post_init__(self) -> None:
        if self.assumption.auto:
            pairs = zip(self.assumption.families, self.ledger.effective.parts)
            families = tuple(with_alpha(family, best_alpha(family, part)) for family, part in pairs)
            object.__setattr__(self, "assumption", replace(self.assumption, families=families))

    @property
    def schema(self) -> Schema:
        """The names of classes, features and levels."""
        return self.ledger.schema

    @property
    def rows(self) -> Array:
        """The weight of the rows of each class."""
        return self.ledger.rows

    def require_density(self, what: str) -> None:
        """Raise an UndefinedError where a family is not a likelihood, as `what`, named in the message, needs p(x)."""
        if not self.assumption.probabilistic:
            raise UndefinedError(NO_LIKELIHOOD.format(what=what))

    def unsolved(self) -> "GenerativeModel":
        """Return a model whose solution follows from the ledger: the model itself, unless it is read from a file."""
        return self

    @cached_property
    def complete(self) -> Ledger:
        """The ledger with the pseudo-observations added, in effective rows where weights are survey weights."""
        pseudo = self.assumption.pseudo_observations
        if pseudo is None:
            return self.ledger.effective
        unknown = [label for label in pseudo.schema.classes if label not in self.ledger.schema.classes]
        if unknown:
            raise SchemaError(
                f"the pseudo-observations have a class that the model lacks: {unknown[0]!r}. "
                f"Hint: pseudo-observations of {list(self.ledger.schema.classes)} only"
            )
        return self.ledger.effective + pseudo

    @cached_property
    def solved(self) -> Solved:
        """The class prior and the score forms, solved once."""
        prior = self.assumption.prior.solve(self.complete.rows)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # overflow raises an error below
                forms = tuple(f.solve(part) for f, part in zip(self.assumption.families, self.complete.parts))
        except np.linalg.LinAlgError:
            raise InputError(NO_COVARIANCE) from None
        if not all(map(has_valid_numbers, forms)):
            raise InputError(
                "the model has no scores that can be computed: its numbers, weights or pseudo-counts are too "
                "large (a double holds up to 1.8e308). Hint: scale the columns, or the weights."
            )
        return Solved(prior, self.assumption.solve_log_prior(self.complete.rows), forms, self.assumption.needs)

    def log_likelihood(self, parts: Sequence[Any], codes: Codes, weight: Array | None, threads: int) -> float:
        """Compute Σ w ln p(x, y) over rows, each of which has a known class (code ≥ 0) and a weight above zero."""
        self.require_density("likelihood")
        joint = self.scores(parts, "joint", threads)[np.arange(len(codes)), codes]
        return float(joint.sum() if weight is None else np.dot(joint, weight))

    def training_log_likelihood(self) -> float:
        """Compute Σ w ln p(x, y) over the training rows, from the ledger alone."""
        self.require_density("likelihood")
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
        """Sample n rows from the model: the matrix of each block, and the class codes."""
        self.require_density("rows to draw")
        codes = rng.choice(len(self.solved.prior), size=n, p=self.solved.prior / self.solved.prior.sum())
        with np.errstate(over="ignore", invalid="ignore"):  # the families refuse parameters that are too large
            parts = [f.sample(p, codes, rng) for f, p in zip(self.assumption.families, self.complete.parts)]
        return parts, codes

    def bayes_error(self, n_draws: int, rng: np.random.Generator, threads: int) -> float:
        """Compute the least share of errors of any rule if this model is the truth: E[1 − max_k p(k|x)].

        It is exact where one block of discrete features has few combinations, else over rows sampled from the model.
        """
        self.require_density("Bayes error")
        families = self.assumption.families
        every = families[0].enumerate_rows(self.complete.parts[0]) if len(families) == 1 else None
        if every is not None:
            rows, log_times = every
            right = float(np.exp(self.scores([rows], "joint", threads).max(axis=1) + log_times).sum())
            return max(1 - right, 0.0)  # rounding may give more than 1
        if not isinstance(n_draws, (int, np.integer)) or n_draws < 1:
            raise InputError(f"n_draws must be a whole number of at least 1, not {n_draws!r}")
        total = 0.0
        for start in range(0, n_draws, ROWS_PER_SAMPLE):
            parts, _ = self.sample(min(ROWS_PER_SAMPLE, n_draws - start), rng)
            total += float(self.with_maps(calibration=None).scores(parts, "posterior", threads).max(axis=1).sum())
        return max(1 - total / n_draws, 0.0)

    @property
    def n_parameters(self) -> int:
        """The number of estimated parameters, of p(x|k) and of the class prior."""
        conditional = sum(f.n_parameters(p) for f, p in zip(self.assumption.families, self.complete.parts))
        return conditional + len(self.solved.prior) - 1
