"""The settings of `train` that are worth trying on a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from deciban.families.family import ClassPrior, log
from deciban.metrics.choice import Setting
from deciban.model.columns import OPEN
from deciban.model.model_options import Options
from deciban.scores.posterior import finish
from deciban.text.words import Values
from deciban.training.rescoring import Held, Scored, Ways
from deciban.training.task import Task

ALPHAS = (1.0, 0.01, 0.1, 0.3, 3.0, "auto")
PARAMETER_PRIORS = (1.0, 0.1, 10.0)
PRIORS = (None, "uniform")


@dataclass(frozen=True)
class Grid:
    """The settings of `train` that are tried; what the table has no use for is not varied."""

    task: Task
    options: Options
    numbers: Sequence[str | None]
    alphas: Sequence[float | str]
    parameter_priors: Sequence[float]
    priors: Sequence[str | None]
    values: Sequence[Values]

    @classmethod
    def of(cls, task: Task, options: Options, free: set[str]) -> Grid:
        """Everything that is free and matters."""
        roles = {column.role for column in task.columns}
        still_open = bool(roles & set(OPEN))
        counted = still_open or bool(roles - {"number", "skip"})
        bells = still_open or "number" in roles
        words = options.words
        presence = "words" in free and task.layout.texts and words.values == "counts" and words.length is None
        return cls(
            task,
            options,
            (None, "number", "binned") if "numbers" in free and still_open else (None,),
            ALPHAS if "alpha" in free and counted else (options.alpha,),
            PARAMETER_PRIORS if "parameter_prior" in free and bells else (options.parameter_prior,),
            PRIORS if "prior" in free else (None,),
            ("counts", "presence") if presence else (words.values,),
        )

    def _settings(self) -> Iterator[tuple[Setting, str | None, Options]]:
        """Each setting, how it takes open numbers, and its options; the usual one first, and none twice."""
        fixed = {column.role for column in self.task.columns} - {"skip", *OPEN}
        every = product(self.numbers, self.alphas, self.parameter_priors, self.priors, self.values)
        for way, alpha, rows, prior, values in every:
            if way == "number" and not fixed - {"number"} and alpha != self.alphas[0]:
                continue  # bells alone have no pseudo-count
            if way == "binned" and "number" not in fixed and rows != self.parameter_priors[0]:
                continue
            words = replace(self.options.words, values=values)
            kept = self.options.prior if prior is None else ClassPrior(prior)  # type: ignore[arg-type]
            options = replace(self.options, alpha=alpha, parameter_prior=rows, prior=kept, words=words)
            told = {
                "numbers": (way, self.numbers[0]), "alpha": (alpha, self.alphas[0]), "prior": (prior, None),
                "parameter_prior": (rows, self.parameter_priors[0]), "words": (words, self.options.words),
            }  # fmt: skip
            yield Setting({name: value for name, (value, usual) in told.items() if value != usual}), way, options

    def ways(self, held: Held) -> Ways:
        """Every setting on the rows of one fold."""
        scored = Scored(self.task, held)
        for setting, way, options in self._settings():
            log_prior = log(options.prior.solve(held.rest.rows))
            yield setting, finish(scored.joint(way, options) + log_prior, log_prior, "log_posterior")[0]
