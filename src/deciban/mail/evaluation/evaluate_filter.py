"""Evaluation of a filter on labelled mail: by splits, by cross-validation, or online in order of arrival."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban.mail.evaluation.filter_metrics import LOST_HAM_COST, FilterMetrics, Thresholds, apply_thresholds
from deciban.mail.evaluation.in_memory_filter import InMemoryFilter, choose_settings
from deciban.mail.evaluation.labelled_mail import LABELS, LabelledMail, Sizes, draw_folds, draw_split
from deciban.mail.model.mail_models import DEFAULT_MODEL
from deciban.mail.model.verdicts import Verdict
from deciban.mail.store.store_schema import ModelName

MAX_CLUES: Final = 30
"""Clues of each mistake."""

CURVE_STEP: Final = 100
"""Messages of one point of the learning curve."""

UNTRAINED_LOG_ODDS: Final = -1e-12
"""The log-odds of spam while only one label is known: a message of unknown kind is delivered."""

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Mistake:
    """A message on the wrong side of p = ½, with its verdict and clues."""

    name: str
    label: str
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        return {"path": self.name, "label": self.label, **self.verdict.to_dict()}


def find_mistakes(trained: InMemoryFilter, rows: NDArray[Any], clues: int = MAX_CLUES) -> tuple[Mistake, ...]:
    """Return the mistakes among some messages, those of largest log-odds first."""
    scores, spam = trained.scores(rows), trained.mail.codes[rows] == 1
    wrong = np.flatnonzero((scores >= 0) != spam)
    worst = wrong[np.argsort(-np.abs(scores[wrong]), kind="stable")]
    found = rows[worst].tolist()
    return tuple(
        Mistake(trained.mail.names[i], LABELS[trained.mail.codes[i]], trained.verdict(i, clues)) for i in found
    )


@dataclass(frozen=True)
class SplitReport:
    """The result of learning one part of the mail, choosing settings by another and testing by a third."""

    model: str
    sizes: Sizes
    seed: int
    tried: dict[float, float]
    """The log-loss of each α on the messages to choose by."""
    thresholds: Thresholds
    metrics: FilterMetrics
    mistakes: tuple[Mistake, ...]

    @property
    def alpha(self) -> float:
        """The α that was chosen."""
        return min(self.tried, key=lambda alpha: self.tried[alpha])

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        return {
            "model": self.model, "split": list(self.sizes), "seed": self.seed, "alpha": self.alpha,
            "tried": [{"alpha": alpha, "log_loss": loss} for alpha, loss in self.tried.items()],
            "ham_at": self.thresholds[0], "spam_at": self.thresholds[1], **self.metrics.to_dict(),
            "mistakes": [mistake.to_dict() for mistake in self.mistakes],
        }  # fmt: skip


def evaluate_split(
    mail: LabelledMail, sizes: Sizes, seed: int = 0, model: ModelName = DEFAULT_MODEL,
    lost_ham_cost: float = LOST_HAM_COST,
) -> SplitReport:  # fmt: skip
    """Learn, choose settings and test by one random split."""
    learn, choose, test = draw_split(mail.codes, sizes, seed)
    trained, tried = choose_settings(mail, learn, choose, model, lost_ham_cost)
    scores = trained.scores(test)
    metrics = FilterMetrics.compute(
        scores, mail.codes[test], apply_thresholds(scores, trained.thresholds, trained.has_too_few)
    )
    return SplitReport(model, sizes, seed, tried, trained.thresholds, metrics, find_mistakes(trained, test))


@dataclass(frozen=True)
class DrawsReport:
    """The results of many random splits."""

    draws: tuple[SplitReport, ...]

    def spread(self, of: Callable[[FilterMetrics], float]) -> tuple[float, float]:
        """Return mean and standard deviation of a metric over the draws."""
        values = [of(draw.metrics) for draw in self.draws]
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return means and standard deviations, and every draw, in the terms of JSON."""
        spread = {name: dict(zip(("mean", "deviation"), self.spread(of))) for name, of in SPREAD.items()}
        return {"draws": len(self.draws), **spread, "each": [draw.to_dict() for draw in self.draws]}


SPREAD: Final[dict[str, Callable[[FilterMetrics], float]]] = {
    "error": lambda metrics: metrics.error,
    "one_minus_auc": lambda metrics: metrics.misranked,
    "log_loss": lambda metrics: metrics.log_loss,
    "ham_lost": lambda metrics: metrics.lost,
    "spam_missed": lambda metrics: metrics.missed,
    "unsure": lambda metrics: metrics.unsure,
}


def evaluate_draws(
    mail: LabelledMail, sizes: Sizes, seeds: Sequence[int], model: ModelName = DEFAULT_MODEL,
    lost_ham_cost: float = LOST_HAM_COST, progress: Progress | None = None,
) -> DrawsReport:  # fmt: skip
    """Evaluate one random split for each seed."""
    found = []
    for seed in seeds:
        found.append(evaluate_split(mail, sizes, seed, model, lost_ham_cost))
        if progress is not None:
            progress(len(found))
    return DrawsReport(tuple(found))


@dataclass(frozen=True)
class FoldsReport:
    """The result of cross-validation: every message is scored by a filter that learned the other folds."""

    model: str
    folds: int
    seed: int
    metrics: FilterMetrics
    mistakes: tuple[Mistake, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        report = {"model": self.model, "folds": self.folds, "seed": self.seed, **self.metrics.to_dict()}
        return report | {"mistakes": [mistake.to_dict() for mistake in self.mistakes]}


def evaluate_folds(
    mail: LabelledMail,
    n_folds: int = 10,
    seed: int = 0,
    model: ModelName = DEFAULT_MODEL,
    progress: Progress | None = None,
) -> FoldsReport:
    """Cross-validate with the default α and thresholds."""
    scores, verdicts = np.zeros(len(mail)), np.zeros(len(mail), dtype=np.int64)
    mistakes: list[Mistake] = []
    for k, (learn, test) in enumerate(draw_folds(mail.codes, n_folds, seed)):
        trained = InMemoryFilter(mail, model)
        trained.learn(learn)
        trained.refit(force=True)
        scores[test] = trained.scores(test)
        verdicts[test] = apply_thresholds(scores[test], trained.thresholds, trained.has_too_few)
        mistakes += find_mistakes(trained, test)
        if progress is not None:
            progress(k + 1)
    mistakes.sort(key=lambda mistake: -abs(mistake.verdict.decibans))
    return FoldsReport(model, n_folds, seed, FilterMetrics.compute(scores, mail.codes, verdicts), tuple(mistakes))


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A hundred messages, the last of them the `upto`-th: their numbers, and the numbers of wrong ones."""

    upto: int
    ham: int
    spam: int
    ham_wrong: int
    spam_wrong: int


@dataclass(frozen=True)
class OnlineReport:
    """The result of TREC's protocol: each message is scored by those before it, then learned with its label.

    Until a message of each label was learned, messages count as taken for ham: they would be delivered.
    """

    model: str
    refits: int
    metrics: FilterMetrics
    curve: tuple[CurvePoint, ...]
    scores: np.ndarray
    """The log-odds of spam of each message on arrival."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report in the terms of JSON."""
        steps = [{name: getattr(step, name) for name in CurvePoint.__slots__} for step in self.curve]
        return {"model": self.model, "refits": self.refits, **self.metrics.to_dict(), "curve": steps}


def evaluate_online(
    mail: LabelledMail, model: ModelName = DEFAULT_MODEL, progress: Progress | None = None
) -> OnlineReport:
    """Score and learn message after message, in the order of the collection."""
    trained = InMemoryFilter(mail, model)
    scores, verdicts = np.zeros(len(mail)), np.zeros(len(mail), dtype=np.int64)
    for i in range(len(mail)):
        scores[i] = trained.scores([i])[0] if trained.has_both_labels else UNTRAINED_LOG_ODDS
        verdicts[i] = apply_thresholds(scores[i], trained.thresholds, trained.has_too_few)
        trained.learn([i])
        trained.refit()
        if progress is not None:
            progress(i + 1)
    metrics = FilterMetrics.compute(scores, mail.codes, verdicts)
    return OnlineReport(model, trained.refits, metrics, _curve(scores, mail.codes), scores)


def _curve(scores: np.ndarray, codes: np.ndarray) -> tuple[CurvePoint, ...]:
    wrong, spam = (scores >= 0) != (codes == 1), codes == 1
    found = []
    for start in range(0, len(codes), CURVE_STEP):
        some = slice(start, start + CURVE_STEP)
        is_spam, is_wrong = spam[some], wrong[some]
        n, n_spam = len(is_spam), int(is_spam.sum())
        spam_wrong = int((is_spam & is_wrong).sum())
        found.append(CurvePoint(start + n, n - n_spam, n_spam, int(is_wrong.sum()) - spam_wrong, spam_wrong))
    return tuple(found)
