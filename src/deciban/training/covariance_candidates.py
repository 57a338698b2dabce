"""Tables of nothing but numbers under every shape of covariance: the bells of `GaussianBayes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, get_args

from deciban.families.family import ClassPrior, log
from deciban.families.gaussian import Covariance, Gaussian
from deciban.ledger import Ledger
from deciban.metrics.choice import Setting
from deciban.model.columns import OPEN
from deciban.model.summarise_table import FoldAssigner, Progress
from deciban.scores.posterior import finish
from deciban.training.rescoring import Held, Ways, scores
from deciban.training.train import Trained, train_task
from deciban.validation.fold_models import ledgers_excluding_each

SHRINKAGES = (None, 0.1, 0.3, 0.5, "oas")
MOST_CELLS = 1 << 24
"""Co-moments that the ledgers of all folds and classes may have together."""


@dataclass(frozen=True)
class Shapes:
    """The ledgers of all folds but each with the co-moments of their columns, in the order of their names."""

    rests: Sequence[Ledger]
    order: Sequence[int]
    prior: ClassPrior

    @classmethod
    def of(
        cls, trained: Trained, assignment: FoldAssigner, progress: Progress | None, notes: list[str]
    ) -> Shapes | None:
        """Read a second time, for co-moments; None where there are other columns, or too many of them."""
        columns = [column for column in trained.task.columns if column.role != "skip"]
        if len(columns) < 2 or any(column.role not in ("number", *OPEN) or column.block for column in columns):
            return None
        names = tuple(sorted(column.name for column in columns))
        n_folds = len(trained.folds)
        cells = n_folds * len(trained.model.labels) * len(names) ** 2
        if cells > MOST_CELLS:
            notes.append(f"no shapes of covariance were tried: {len(names)} columns have too many pairs")
            return None
        bell: Any = "number"
        together = [replace(column, role=bell, block=names) for column in columns]
        again = train_task(replace(trained.task, columns=together), n_folds, progress, assignment)
        place = [feature.name for feature in trained.task.layout.blocks[0].features]
        order = [place.index(name) for name in names]
        return cls(list(ledgers_excluding_each(again.folds)), order, trained.model.options.prior)

    def ways(self, held: Held) -> Ways:
        """Every shape and shrinkage on the rows of one fold."""
        rest = self.rests[held.fold]
        (X,) = replace(held.rows, columns=[[held.rows.columns[0][j] for j in self.order]]).parts
        log_prior = log(self.prior.solve(rest.rows))
        for covariance, shrinkage in product(get_args(Covariance), SHRINKAGES):
            if covariance == "identity" and shrinkage is not None:
                continue
            told = {"covariance": covariance, **({} if shrinkage is None else {"shrinkage": shrinkage})}
            family = Gaussian(covariance, shrinkage)  # type: ignore[arg-type]
            part: Any = rest.parts[0] if family.paired else rest.parts[0].moments  # type: ignore[attr-defined]
            joint = scores(family, part, X) + log_prior
            yield Setting(told, "GaussianBayes"), finish(joint, log_prior, "log_posterior")[0]
