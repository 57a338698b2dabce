"""BELIEF: what we assume, what we remember, and everything that follows from the two."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deciban import engines
from deciban.engines.arrow.known import Known
from deciban.errors import DecibanError, InputError, SchemaError, UndefinedError
from deciban.families import written as family_files
from deciban.families.family import NO_LIKELIHOOD, Family, log
from deciban.families.prior import ClassPrior
from deciban.files import Section
from deciban.ledger import Block, Cells, Ledger, Needs, Schema
from deciban.ledger import written as ledger_files
from deciban.ledger.needs import Kind
from deciban.ledger.statistic import Array, Codes
from deciban.scores import DECIBAN, Boundary, Conic, Explanation, Linear, Lookup, Pieces, ScoreForm, SparseLinear
from deciban.scores import written as form_files
from deciban.scores.posterior import Finish

DRAWS = 100_000
"""Rows drawn where an error can only be estimated."""

DRAWN_AT_ONCE = 4096

FORMS: dict[Kind, tuple[str, ...]] = {
    "counts": ("Linear", "SparseLinear"),
    "levels": ("Lookup",),
    "moments": ("Diagonal",),
    "scatter": ("Full",),
    "cells": ("Table",),
    "grid": ("Steps",),
}
"""The score forms that what is counted may be solved into; a file that names another is not sound."""


@dataclass(frozen=True)
class Assumption:
    """A family for each block of features, a class prior, and perhaps a ledger of imagined examples.

    Imagined examples are learned beside the real ones: they smooth every probability, and move the class
    prior too.
    """

    families: tuple[Family, ...]
    prior: ClassPrior
    imagined: Ledger | None = None
    missing: str = "skip"

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
        """ln p(x, k), p(k|x), argmax_k … of every row: see `scores.finish`."""
        if wanted == "density":
            self._need_probability("density p(x)")
        return engines.apply(self.solved.forms, parts, self.solved.needs, self.solved.log_prior, wanted, threads)

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
            sure += float(self.scores(parts, "posterior", threads).max(axis=1).sum())
        return 1 - sure / n_draws

    def boundary(self) -> Boundary:
        """The score as weights · x + bias, for one block of features."""
        line = self.solved.forms[0].linear()
        return Boundary(line.weights, line.bias + self.solved.log_prior)

    def conic(self) -> Conic:
        """The score as xᵀAx + weights · x + bias, for one block of features."""
        curve = self.solved.forms[0].quadratic()
        return Conic(curve.A, curve.weights, curve.bias + self.solved.log_prior)

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
        order = np.argsort(-self.scores(parts, "log_posterior", threads), axis=1, kind="stable")
        k, l = order[:, 0], order[:, 1]
        if pair is not None:
            k, l = np.full(n, pair[0]), np.full(n, pair[1])
        pieces = [_pieces(form, X, need, k, l) for form, X, need in zip(self.solved.forms, parts, self.solved.needs)]
        return self._explained(pieces, labels, k, l)

    def _explained(
        self, pieces: Sequence[Pieces], labels: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp]
    ) -> Explanation:
        with np.errstate(invalid="ignore"):  # two classes without rows: −∞ − −∞ has no value
            prior = (self.solved.log_prior[k] - self.solved.log_prior[l]) * DECIBAN
        evidence = _side_by_side([p.features * DECIBAN for p in pieces])
        extras = {name: value * DECIBAN for p in pieces for name, value in p.extras.items()}
        with np.errstate(invalid="ignore"):
            total = prior + np.asarray(evidence.sum(axis=1)).reshape(-1) + sum(extras.values())
        return Explanation(evidence, prior, total, labels[k], labels[l], self.feature_names, extras)

    @property
    def feature_names(self) -> Sequence[str]:
        """The features' names, or their numbers where they have none."""
        blocks = self.outline.blocks
        if len(blocks) == 1:
            return blocks[0].names or Numbered(blocks[0].width)
        return [name for block in blocks for name in (block.names or Numbered(block.width))]


class Numbered(Sequence[str]):
    """x0, x1, x2 …, made when they are looked at."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, j: Any) -> Any:
        if isinstance(j, slice):
            return [f"x{i}" for i in range(self.length)[j]]
        return f"x{range(self.length)[j]}"


def _pieces(form: ScoreForm, X: Any, needs: Needs, k: NDArray[np.intp], l: NDArray[np.intp]) -> Pieces:
    X = engines.readable(X, needs)
    if engines.is_sparse(X) and isinstance(form, Linear):
        return form.stored_pieces(X, k, l)
    if engines.is_sparse(X) and not isinstance(form, SparseLinear):
        X = X.toarray()
    return form.pieces(X, k, l)


def _side_by_side(parts: Sequence[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


class Recalled(Belief):
    """A belief as a file has it: the ledger is looked at when it is needed, and what was solved need not be again."""

    _section: Section

    def __init__(self, assumption: Assumption, section: Section) -> None:
        vars(self).update(assumption=assumption, _section=section)
        if section.eager:  # a small file is read in full, so that it is sound from now on
            self.ledger, section.has("solved") and self.solved

    @cached_property
    def ledger(self) -> Ledger:
        """What is remembered, read when it is first asked for."""
        return ledger_files.read(self._section.part("ledger"))

    @cached_property
    def schema(self) -> Schema:
        """The names of what is counted; the sums stay unread."""
        if "ledger" in vars(self):
            return self.ledger.schema
        return ledger_files.read_schema(self._section.part("ledger").part("schema"))

    @cached_property
    def outline(self) -> Schema:
        """The names of classes and features: a million names of levels stay unread."""
        section = self._section.part("ledger")
        return Schema(ledger_files.read_classes(section), ledger_files.read_features(section))

    @cached_property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels where they lie in the file."""
        if "ledger" in vars(self):
            return super().level_names
        return [Known(names) for names in ledger_files.level_arrays(self._section.part("ledger"))]

    def afresh(self) -> Belief:
        """The same as if nothing had been solved when the file was written."""
        return Belief(self.assumption, self.ledger)

    @cached_property
    def solved(self) -> Solved:
        """What was solved when the file was written; the ledger stays unread."""
        if not self._section.has("solved"):
            return self.afresh().solved
        section, ledger = self._section.part("solved"), self._section.part("ledger")
        K, blocks = len(ledger_files.read_classes(ledger)), ledger_files.read_outline(ledger)
        forms, counted = section.parts("forms"), ledger.parts("parts")
        if not len(forms) == len(counted) == len(blocks):
            section.refuse(f"there are {len(forms)} score forms for {len(blocks)} blocks of features")
        read = tuple(_read_form(form, block, K) for form, block in zip(forms, blocks))
        for part, form, family, sums in zip(forms, read, self.assumption.families, counted):
            if isinstance(form, Lookup):
                _check_levels(part, form, family, sums)
        return Solved(*_read_priors(section, K), read, self.assumption.needs)

    def __reduce__(self) -> Any:
        return Belief, (self.assumption, self.ledger)


def written(belief: Belief) -> Section:
    """A belief as a section of a model file: assumption, ledger and, if it can be solved, what follows from them."""
    assumption, blocks = belief.assumption, belief.ledger.schema.blocks
    families = [family_files.written(f, block.width) for f, block in zip(assumption.families, blocks)]
    section = Section().put("missing", assumption.missing).add_all("families", families)
    section.add("prior", family_files.written_prior(assumption.prior))
    section.add("ledger", ledger_files.written(belief.ledger))
    if assumption.imagined is not None:
        section.add("imagined", ledger_files.written(assumption.imagined))
    with suppress(DecibanError):  # what cannot be solved now will be, or be refused, when the file is used
        section.add("solved", _written_solved(belief.solved, [block.width for block in blocks]))
    return section


def _written_solved(solved: Solved, widths: Sequence[int]) -> Section:
    section = Section().put("prior", solved.prior).put("log_prior", solved.log_prior)
    _read_priors(section, len(solved.prior))
    return section.add_all("forms", [form_files.written(form, d) for form, d in zip(solved.forms, widths)])


def _read_form(section: Section, block: Block, K: int) -> ScoreForm:
    section.text("form", among=FORMS[block.kind])
    return form_files.read(section, K, block.width)


def _check_levels(section: Section, form: Lookup, family: Any, counted: Section) -> None:
    """All levels that are counted or known to exist have scores: so a small file speaks of few."""
    sizes = np.diff(counted.wholes("offset", (len(form.offset),)))
    if (np.diff(form.offset) < np.maximum(sizes, family.min_levels or 0)).any():
        section.refuse("fewer levels have scores than were counted or are known to exist")


def _read_priors(section: Section, K: int) -> tuple[Array, Array]:
    """π and what of it is added to the scores."""
    prior = section.floats("prior", (K,), least=0, most=1)
    if abs(prior.sum() - 1) > 1e-6:
        section.refuse(f"the class prior adds up to {prior.sum():g}, not to 1")
    return prior, section.floats("log_prior", (K,), least=-np.inf)


def recalled(section: Section) -> Belief:
    """The belief of a section."""
    ledger, families = section.part("ledger"), section.parts("families")
    K, blocks = len(ledger_files.read_classes(ledger)), ledger_files.read_outline(ledger)
    if len(families) != len(blocks):
        section.refuse(f"there are {len(families)} families for {len(blocks)} blocks of features")
    read = tuple(family_files.read(family, block.width) for family, block in zip(families, blocks))
    for part, needs, block in zip(families, (family.needs() for family in read), blocks):
        if (needs.kind, needs.reading) != (block.kind, block.reading):
            part.refuse(f"it takes {needs.kind} of {needs.reading}, not {block.kind} of {block.reading}")
    imagined = ledger_files.read(section.part("imagined")) if section.has("imagined") else None
    prior = family_files.read_prior(section.part("prior"), K)
    missing = section.text("missing", among=["skip", "error"])
    return Recalled(Assumption(read, prior, imagined, missing), section)
