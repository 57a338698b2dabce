"""FittedModel: score forms that were fitted to tell the classes apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.families.family import log
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Ledger, Needs, Schema
from deciban.linear.fit_report import Account
from deciban.scorer import Scorer, Solved
from deciban.scores import ScoreForm
from deciban.scores.calibration import Calibration
from deciban.scores.novelty import Novelty

NO_DENSITY = (
    "{what}: this model was fitted to p(class | x) and knows nothing of p(x). "
    "Hint: naive Bayes does, --learner bayes (learner='bayes', or a facade such as GaussianNB)"
)

NO_SUMS = (
    "a fitted model {what}: its weights were fitted to all rows together, so they neither add nor come apart. "
    "Hint: train on all rows again; or by naive Bayes, whose ledgers add: --learner bayes (learner='bayes')"
)

NEVER = -745.0
"""The bias of a class without rows: ln of the least probability there is."""


@dataclass(frozen=True, eq=False)
class FittedModel(Scorer):
    """Forms, and an account of how they were fitted.

    `rows` is the weight of the rows of each class. `basis` is the naive belief about the same rows, where there is
    one: it has the names of levels and words, and its evidence is what evidence regression weighs.
    """

    schema: Schema
    solved: Solved
    rows: Array
    account: Account
    basis: GenerativeModel | None = None
    calibration: Calibration | None = None
    novelty: Novelty | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        forms: Sequence[ScoreForm],
        needs: Sequence[Needs],
        bias: Array,
        rows: Array,
        account: Account,
        basis: GenerativeModel | None = None,
    ) -> FittedModel:
        """Forms and the intercept of each class.

        The intercept is told as the classes' log-shares of the rows, the prior, and what it is beyond them, the
        bias: so an explanation names both, and other priors can be put in the place of those of the rows. A class
        without rows is impossible: ln 0 is its prior, and nothing was fitted that could speak for it under another.
        """
        log_prior = log(rows / rows.sum())
        with np.errstate(invalid="ignore"):
            beyond = np.where(rows > 0, bias - log_prior, NEVER)
        solved = Solved(rows / rows.sum(), log_prior, tuple(forms), tuple(needs), beyond)
        return cls(schema, solved, rows, account, basis)

    @property
    def naive(self) -> GenerativeModel:
        """The naive belief about the same rows."""
        if self.basis is None:
            self.need_sums("remembers nothing of its rows")
        return self.basis

    def under(self, prior: Array) -> FittedModel:
        """The same evidence under another class prior, in the place of the classes' shares of the rows."""
        return replace(self, solved=self.solved._replace(prior=prior, log_prior=log(prior)))

    @property
    def assumption(self) -> Assumption:
        """What the naive belief about the same rows assumes."""
        return self.naive.assumption

    @property
    def ledger(self) -> Ledger:
        """What the naive belief about the same rows remembers."""
        return self.naive.ledger

    @property
    def outline(self) -> Schema:
        """The names of classes and features; those of levels may be left out."""
        return self.schema if self.basis is None else self.basis.outline

    @property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels, for each feature that has levels with names."""
        return super().level_names if self.basis is None else self.basis.level_names

    def need_probability(self, what: str) -> None:
        """There is no p(x)."""
        raise UndefinedError(NO_DENSITY.format(what=what))

    def need_sums(self, what: str) -> NoReturn:
        """There are no sums."""
        raise UndefinedError(NO_SUMS.format(what=what))

    @property
    def n_parameters(self) -> int:
        """Numbers fitted."""
        return self.account.n_parameters
