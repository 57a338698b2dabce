"""Judging a filter on mail whose labels are known: learned, chosen and judged by different messages; or in folds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban.mail.evaluation.choose_thresholds import USUAL_COSTS, Costs, Thresholds, chosen
from deciban.mail.evaluation.filter_metrics import FilterMetrics, apply_thresholds
from deciban.mail.evaluation.in_memory_filter import InMemoryFilter
from deciban.mail.evaluation.labelled_mail import LABELS, LabelledMail
from deciban.mail.evaluation.message_splits import Sizes, draw_split, draw_folds
from deciban.mail.model.mail_models import USUAL_MODEL, ModelName
from deciban.mail.model.verdict import Verdict

CLUES: Final = 30
"""That a mistake is kept with."""

Told = Callable[[int], None]


@dataclass(frozen=True)
class Mistake:
    """A message on the wrong side of ½, and why it was put there."""

    name: str
    label: str
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"path": self.name, "label": self.label, **self.verdict.to_dict()}


def find_mistakes(taught: InMemoryFilter, rows: NDArray[Any], clues: int = CLUES) -> tuple[Mistake, ...]:
    """Those among some messages, the surest first."""
    scores, spam = taught.scores(rows), taught.mail.codes[rows] == 1
    wrong = np.flatnonzero((scores >= 0) != spam)
    worst = wrong[np.argsort(-np.abs(scores[wrong]), kind="stable")]
    found = rows[worst].tolist()
    return tuple(Mistake(taught.mail.names[i], LABELS[taught.mail.codes[i]], taught.verdict(i, clues)) for i in found)


@dataclass(frozen=True)
class SplitReport:
    """What came of learning one part of the mail, choosing by another and judging by a third."""

    model: str
    sizes: Sizes
    seed: int
    tried: dict[float, float]
    """Log-loss on the messages to choose by, of each smoothing."""
    thresholds: Thresholds
    figures: FilterMetrics
    mistakes: tuple[Mistake, ...]

    @property
    def alpha(self) -> float:
        """The smoothing that was chosen."""
        return min(self.tried, key=lambda alpha: self.tried[alpha])

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "model": self.model, "split": list(self.sizes), "seed": self.seed, "alpha": self.alpha,
            "tried": [{"alpha": alpha, "log_loss": loss} for alpha, loss in self.tried.items()],
            "ham_at": self.thresholds[0], "spam_at": self.thresholds[1], **self.figures.to_dict(),
            "mistakes": [mistake.to_dict() for mistake in self.mistakes],
        }  # fmt: skip


def evaluate_split(
    mail: LabelledMail, sizes: Sizes, seed: int = 0, model: ModelName = USUAL_MODEL, costs: Costs = USUAL_COSTS
) -> SplitReport:
    """One draw of the lecture's experiment."""
    learn, choose, judge = draw_split(mail.codes, sizes, seed)
    best = chosen(mail, learn, choose, model, costs)
    taught = best.filter
    scores = taught.scores(judge)
    figures = FilterMetrics.of(scores, mail.codes[judge], apply_thresholds(scores, best.thresholds, taught.too_few))
    return SplitReport(model, sizes, seed, best.tried, best.thresholds, figures, find_mistakes(taught, judge))


@dataclass(frozen=True)
class DrawsReport:
    """The same experiment over many draws."""

    draws: tuple[SplitReport, ...]

    def spread(self, of: Callable[[FilterMetrics], float]) -> tuple[float, float]:
        """Mean and standard deviation of a figure over the draws."""
        values = [of(draw.figures) for draw in self.draws]
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it: means and standard deviations, and every draw."""
        told = {name: dict(zip(("mean", "deviation"), self.spread(of))) for name, of in SPREAD.items()}
        return {"draws": len(self.draws), **told, "each": [draw.to_dict() for draw in self.draws]}


SPREAD: Final[dict[str, Callable[[FilterMetrics], float]]] = {
    "error": lambda figures: figures.error,
    "one_minus_auc": lambda figures: figures.misranked,
    "log_loss": lambda figures: figures.log_loss,
    "ham_lost": lambda figures: figures.lost,
    "spam_missed": lambda figures: figures.missed,
    "unsure": lambda figures: figures.unsure,
}


def evaluate_draws(
    mail: LabelledMail, sizes: Sizes, seeds: Sequence[int], model: ModelName = USUAL_MODEL, costs: Costs = USUAL_COSTS,
    progress: Told | None = None,
) -> DrawsReport:  # fmt: skip
    """The lecture's experiment again and again, each time with other messages."""
    found = []
    for seed in seeds:
        found.append(evaluate_split(mail, sizes, seed, model, costs))
        if progress is not None:
            progress(len(found))
    return DrawsReport(tuple(found))


@dataclass(frozen=True)
class FoldsReport:
    """Every message judged by a filter that learned all folds but its own."""

    model: str
    folds: int
    seed: int
    figures: FilterMetrics
    mistakes: tuple[Mistake, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        told = {"model": self.model, "folds": self.folds, "seed": self.seed, **self.figures.to_dict()}
        return told | {"mistakes": [mistake.to_dict() for mistake in self.mistakes]}


def evaluate_folds(
    mail: LabelledMail, n_folds: int = 10, seed: int = 0, model: ModelName = USUAL_MODEL, progress: Told | None = None
) -> FoldsReport:
    """Cross-validation with the usual smoothing and thresholds."""
    scores, verdicts = np.zeros(len(mail)), np.zeros(len(mail), dtype=np.int64)
    mistakes: list[Mistake] = []
    for k, (learn, judge) in enumerate(draw_folds(mail.codes, n_folds, seed)):
        taught = InMemoryFilter(mail, model)
        taught.learn(learn)
        taught.refit(force=True)
        scores[judge] = taught.scores(judge)
        verdicts[judge] = apply_thresholds(scores[judge], taught.thresholds, taught.too_few)
        mistakes += find_mistakes(taught, judge)
        if progress is not None:
            progress(k + 1)
    mistakes.sort(key=lambda mistake: -abs(mistake.verdict.decibans))
    return FoldsReport(model, n_folds, seed, FilterMetrics.of(scores, mail.codes, verdicts), tuple(mistakes))
