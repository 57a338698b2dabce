"""FittedModel: score forms whose weights were fitted to rows, and the account of the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np

from deciban._typing import Array
from deciban.errors import UndefinedError
from deciban.families.family import log
from deciban.formatting import format_count, format_number
from deciban.generative import Assumption, GenerativeModel
from deciban.ledger import Ledger, Needs, Schema
from deciban.scorer import Scorer, Solved
from deciban.scores import ScoreForm
from deciban.scores.calibration import Calibration
from deciban.scores.posterior import Novelty

if TYPE_CHECKING:
    from deciban.linear.solvers.logistic import LogisticFit

LearnerName = Literal["logistic", "evidence", "boosted"]

LEARNERS: tuple[LearnerName, ...] = ("logistic", "evidence", "boosted")
"""The learners that fit score forms to rows."""

LEARNER_TITLES: Mapping[LearnerName, str] = {
    "logistic": "logistic regression",
    "evidence": "evidence regression",
    "boosted": "boosted naive Bayes",
}
"""The name of each learner in a sentence."""

Setting = float | int | str | bool | None

NO_DENSITY = (
    "{what}: this model was fitted to p(class | x) and has no p(x). "
    "Hint: naive Bayes has one, --learner bayes (learner='bayes', or an estimator such as GaussianNB)"
)

NO_SUMS = (
    "a fitted model {what}: its weights were fitted to all rows together, so they neither add nor subtract. "
    "Hint: train on all rows again; or by naive Bayes, whose ledgers add: --learner bayes (learner='bayes')"
)

IMPOSSIBLE_BIAS = -745.0
"""The bias of a class without rows: the logarithm of the least positive double."""


@dataclass(frozen=True)
class Account:
    """The learner that fitted the forms, its settings, and the result of its search.

    `objective` is the minimised sum of the `loss` −Σ w ln p(y|x) and the penalty. `separable`: without a penalty the
    loss has no minimum, and the weights were stopped on their way to infinity.
    """

    learner: LearnerName
    settings: Mapping[str, Setting] = field(default_factory=dict)
    objective: float = float("nan")
    loss: float = float("nan")
    n_iter: int = 0
    converged: bool = True
    separable: bool = False
    n_parameters: int = 0
    trust: Mapping[str, float] | None = None
    """The evidence weight of each column, by its name, in evidence regression; None for other learners."""

    @classmethod
    def of_fit(
        cls, learner: LearnerName, settings: Mapping[str, Setting], fit: LogisticFit, n_parameters: int
    ) -> Account:
        """Build the account of a logistic fit."""
        search = float(fit.objective), float(fit.loss), int(fit.n_iter), bool(fit.converged), bool(fit.separable)
        return cls(learner, settings, *search, n_parameters)

    def __str__(self) -> str:
        """Describe the fit in one line: learner, settings, number of iterations.

        >>> str(Account("logistic", {"C": 10.0, "C_chosen": True, "rows": 303}, n_iter=9))
        'logistic regression: C = 10 (chosen by cross-validation), rows = 303, 9 iterations'
        >>> str(Account("boosted", {"algorithm": "logistic", "rounds": 30, "rate": 0.3}, n_iter=12))
        'boosted naive Bayes: 12 rounds, rate 0.3'
        """
        title = LEARNER_TITLES[self.learner]
        if self.learner == "boosted":
            algorithm = self.settings.get("algorithm", "logistic")
            suffix = "" if algorithm == "logistic" else f", {algorithm}"
            rate = _format_setting(self.settings.get("rate"))
            return f"{title}: {format_count(self.n_iter, 'round')}, rate {rate}{suffix}"
        how = " (chosen by cross-validation)"
        words = [
            f"{name} = {_format_setting(value)}{how if self.settings.get(f'{name}_chosen') else ''}"
            for name, value in self.settings.items()
            if not name.endswith("_chosen") and value is not None
        ]
        words.append(format_count(self.n_iter, "iteration"))
        return f"{title}: {', '.join(words)}{'' if self.converged else '; not converged'}"

    @property
    def short(self) -> str:
        """The learner and its main setting in a few words.

        >>> Account("evidence", {"C": 0.1, "C_chosen": True, "rows": 303}).short
        'evidence, C 0.1'
        """
        if self.learner == "boosted":
            return f"boosted, {format_count(self.n_iter, 'round')}"
        return f"{self.learner}, C {_format_setting(self.settings.get('C'))}"

    @property
    def trust_text(self) -> str:
        """The evidence weight of each column, the largest first; empty for other learners.

        >>> Account("evidence", trust={"age": 0.1, "hair": 1.25}).trust_text
        'hair 1.25, age 0.10'
        """
        largest_first = sorted((self.trust or {}).items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {format_number(t, 2)}" for name, t in largest_first)


def _format_setting(value: Setting) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, eq=False)
class FittedModel(Scorer):
    """Score forms and an account of how they were fitted.

    `rows` is the weight of each class. `basis` is the naive Bayes model of the same rows, where there is
    one: it has the names of levels and words, and evidence regression weighs its evidence.
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
        """Build a model from forms, the intercept of each class (`bias`) and the weight of each class (`rows`).

        The intercept is split into the classes' log-shares of the rows, the prior, and a remainder, the bias: so an
        explanation names both, and another prior can replace that of the rows. A class without rows is impossible:
        its prior is ln 0, and no weights were fitted that could support it under another prior.
        """
        log_prior = log(rows / rows.sum())
        with np.errstate(invalid="ignore"):
            beyond = np.where(rows > 0, bias - log_prior, IMPOSSIBLE_BIAS)
        solved = Solved(rows / rows.sum(), log_prior, tuple(forms), tuple(needs), beyond)
        return cls(schema, solved, rows, account, basis)

    @property
    def naive(self) -> GenerativeModel:
        """The naive Bayes model of the same rows; UndefinedError where there is none."""
        if self.basis is None:
            self.refuse_sums("keeps no ledger of its rows")
        return self.basis

    def with_prior(self, prior: Array) -> FittedModel:
        """Return the model with this class prior in place of the classes' shares of the rows."""
        return replace(self, solved=self.solved._replace(prior=prior, log_prior=log(prior)))

    @property
    def assumption(self) -> Assumption:
        """The assumption of `naive`."""
        return self.naive.assumption

    @property
    def ledger(self) -> Ledger:
        """The ledger of `naive`."""
        return self.naive.ledger

    @property
    def outline(self) -> Schema:
        """The names of classes and features; those of levels may be left out."""
        return self.schema if self.basis is None else self.basis.outline

    @property
    def level_names(self) -> Sequence[Sequence[str]]:
        """The names of the levels, for each feature that has levels with names."""
        return super().level_names if self.basis is None else self.basis.level_names

    def require_density(self, what: str) -> None:
        """Raise UndefinedError: a fitted model has no p(x)."""
        raise UndefinedError(NO_DENSITY.format(what=what))

    def refuse_sums(self, what: str) -> NoReturn:
        """Raise UndefinedError: a fitted model has no sums to add or subtract."""
        raise UndefinedError(NO_SUMS.format(what=what))

    @property
    def n_parameters(self) -> int:
        """The number of fitted parameters."""
        return self.account.n_parameters
