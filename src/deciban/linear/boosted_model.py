"""Boosted: many beliefs about the same rows, weighed differently, and what they come to together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.generative import GenerativeModel
from deciban.ledger import Schema
from deciban.linear.fit_report import Account
from deciban.linear.fitted_model import FittedModel
from deciban.linear.sample_weights import Algorithm
from deciban.scores import DECIBAN, Boundary, Conic, Explanation, ScoreForm, finish
from deciban.scores.posterior import Finish
from deciban.scores.scaled import scaled
from deciban.scores.sums import summed

VOTES_BEND = (
    "learners that vote have no {what}: a vote jumps where the learner changes its mind. "
    "Hint: algorithm='logistic', or 'SAMME.R', adds the learners' scores; explain(X) tells who voted for what"
)


@dataclass(frozen=True, eq=False)
class Boosted(FittedModel):
    """The learners of all rounds, in the order they came, with their shares and errors.

    Where the learners' scores are added, `solved` is their sum: one form for each block, whatever may be asked of a
    form. Where they vote its forms say nothing, and the votes are counted.
    """

    rounds: tuple[GenerativeModel, ...] = ()
    shares: Array = field(default_factory=lambda: np.zeros(0))
    errors: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def together(
        cls, schema: Schema, rounds: Sequence[GenerativeModel], shares: Array, errors: Array, rows: Array, account: Account,
        basis: GenerativeModel | None = None,
    ) -> Boosted:  # fmt: skip
        """What these rounds come to."""
        algorithm = cast(Algorithm, account.settings["algorithm"])
        if algorithm == "SAMME":
            forms, bias = [scaled(form, 0.0) for form in rounds[0].solved.forms], np.zeros(len(rows))
        else:
            weights = portions(algorithm, shares, len(rows))
            forms = [_added([b.solved.forms[i] for b in rounds], weights) for i in range(len(schema.blocks))]
            bias = np.stack([b.solved.log_prior for b in rounds]).T @ weights
        solved = FittedModel.of(schema, forms, rounds[0].solved.needs, bias, rows, account).solved
        return cls(schema, solved, rows, account, basis, rounds=tuple(rounds), shares=shares, errors=errors)

    @property
    def algorithm(self) -> Algorithm:
        """SAMME, SAMME.R or logistic."""
        return cast(Algorithm, self.account.settings["algorithm"])

    @property
    def votes(self) -> bool:
        """Whether the learners vote; otherwise their scores add up."""
        return self.algorithm == "SAMME"

    def staged(self, parts: Sequence[Any], threads: int) -> Iterator[Array]:
        """The scores of all classes after each round, n×K."""
        standing = Standing(self.algorithm, parts[0].shape[0], len(self.rows))
        for belief, share in zip(self.rounds, self.shares.tolist()):
            yield standing.after(belief, share, parts, threads)

    def _applied(self, parts: Sequence[Any], log_prior: Array, wanted: Finish, threads: int) -> NDArray[Any]:
        if not self.votes:
            return super()._applied(parts, log_prior, wanted, threads)
        *_, counted = self.staged(parts, threads)
        return finish(counted + self.solved.start(log_prior), log_prior, wanted)[0]

    def _explained(
        self, parts: Sequence[Any], labels: NDArray[Any], k: NDArray[np.intp], l: NDArray[np.intp], threads: int
    ) -> Explanation:
        """See `Scorer.explain`; where learners vote there is an entry for each round."""
        if not self.votes:
            return super()._explained(parts, labels, k, l, threads)
        said = np.stack([belief.scores(parts, "winner", threads) for belief in self.rounds], axis=1)
        names = [f"round {m}" for m in range(1, len(self.rounds) + 1)]
        with np.errstate(over="ignore", invalid="ignore"):
            each = portions("SAMME", self.shares, len(labels)) * DECIBAN
            evidence = each * (said == k[:, None]) - each * (said == l[:, None])
            start = self.solved.start(self.solved.log_prior) * DECIBAN
            prior = start[k] - start[l]
            return Explanation(evidence, prior, prior + evidence.sum(axis=1), labels[k], labels[l], names)

    def boundary(self) -> Boundary:
        """See `Scorer.boundary`."""
        if self.votes:
            raise UndefinedError(VOTES_BEND.format(what="weights"))
        return super().boundary()

    def conic(self) -> Conic:
        """See `Scorer.conic`."""
        if self.votes:
            raise UndefinedError(VOTES_BEND.format(what="quadratic form"))
        return super().conic()


class Standing:
    """How rows stand after so many rounds."""

    def __init__(self, algorithm: Algorithm, n: int, n_classes: int) -> None:
        self._algorithm, self._shares = algorithm, 0.0
        self._total: Array = np.zeros((n, n_classes))

    def after(self, belief: GenerativeModel, share: float, parts: Sequence[Any], threads: int) -> Array:
        """The scores of all classes with one learner more, n×K."""
        if self._algorithm == "SAMME":
            said = belief.scores(parts, "winner", threads)
            self._total[np.arange(len(said)), said] += share
        else:
            self._total += share * belief.scores(parts, "joint", threads)
        self._shares += share
        return self._total * unit(self._algorithm, self._shares, self._total.shape[1])


def unit(algorithm: Algorithm, shares: float, n_classes: int) -> float:
    """What a share of 1 counts for in the score, whose exponential, normalised, is the probability.

    Votes: p ∝ exp f/(K − 1), f the mean of 1 for the class voted for and −1/(K − 1) for the others, as scikit-learn
    has it. Scores: their mean, so that p is the geometric mean of the learners'. Fitted shares count as they are.
    """
    if algorithm == "logistic":
        return 1.0
    K = max(n_classes, 2)
    return (K / (K - 1) ** 2 if algorithm == "SAMME" else 1.0) / shares


def portions(algorithm: Algorithm, shares: Array, n_classes: int) -> Array:
    """What each learner counts for in the score."""
    return shares * unit(algorithm, float(shares.sum()), n_classes)


def _added(forms: Sequence[ScoreForm], shares: Array) -> ScoreForm:
    return summed([scaled(form, t) for form, t in zip(forms, shares)])
