"""Metrics of the verdicts on labelled mail, and the choice of thresholds by what verdicts cost.

A missed spam costs 1, a lost ham `LOST_HAM_COST`, and a message that somebody must look at because the filter is
unsure `UNSURE_COST`. Few messages tell little of rare mistakes, so of equally cheap thresholds those nearest to the
defaults are chosen, and none at which more ham might be lost than at the default.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.model.mail_models import logit
from deciban.mail.model.threshold_choice import HAM_CODE, SPAM_CODE, UNSURE_CODE, apply_thresholds
from deciban.mail.store.store_schema import HAM_AT, SPAM_AT
from deciban.metrics.intervals import Interval, wilson
from deciban.metrics.ranking import Curve

VERDICT_NAMES: Final = ("ham", "spam", "unsure")


@dataclass(frozen=True)
class FilterMetrics:
    """Counts and fractions; "wrong" is at p ≥ ½, where every message is either ham or spam.

    >>> scores = np.array([-3.0, 1.0, 5.0, 4.0])
    >>> metrics = FilterMetrics.compute(scores, np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1]))
    >>> metrics.confusion, metrics.error, metrics.lost, metrics.missed, metrics.unsure, metrics.misranked
    (((1, 0, 1), (0, 2, 0)), 0.25, 0, 0, 1, 0.0)
    """

    confusion: tuple[tuple[int, ...], tuple[int, ...]]
    """For ham and for spam the numbers of verdicts ham, spam and unsure."""
    ham_wrong: int
    spam_wrong: int
    misranked: float
    """1 − AUC: the fraction of pairs of a ham and a spam that are ranked wrongly; NaN if one kind is absent."""
    log_loss: float
    """In nats."""

    @classmethod
    def compute(cls, scores: Array, codes: NDArray[Any], verdicts: NDArray[Any]) -> "FilterMetrics":
        """Compute the metrics of log-odds of spam, true codes and verdict codes."""
        spam = codes == SPAM_CODE
        table = np.bincount(codes * 3 + verdicts, minlength=6).reshape(2, 3).tolist()
        wrong = (scores >= 0) != spam
        return cls(
            (tuple(table[0]), tuple(table[1])), int(wrong[~spam].sum()), int(wrong[spam].sum()),
            1.0 - Curve.from_scores(scores, spam, np.ones(len(scores))).roc_auc,
            float(log_losses(scores, spam).mean()),
        )  # fmt: skip

    @property
    def ham(self) -> int:
        """The number of ham."""
        return sum(self.confusion[HAM_CODE])

    @property
    def spam(self) -> int:
        """The number of spam."""
        return sum(self.confusion[SPAM_CODE])

    @property
    def lost(self) -> int:
        """The number of ham with the verdict spam."""
        return self.confusion[HAM_CODE][SPAM_CODE]

    @property
    def missed(self) -> int:
        """The number of spam with the verdict ham."""
        return self.confusion[SPAM_CODE][HAM_CODE]

    @property
    def unsure(self) -> int:
        """The number of messages with the verdict unsure."""
        return self.confusion[HAM_CODE][UNSURE_CODE] + self.confusion[SPAM_CODE][UNSURE_CODE]

    @property
    def error(self) -> float:
        """The fraction of messages that is wrong at p ≥ ½."""
        return (self.ham_wrong + self.spam_wrong) / (self.ham + self.spam)

    @property
    def error_interval(self) -> Interval:
        """The 95 % interval of the error by Wilson's method."""
        return wilson(self.error, self.ham + self.spam)

    @property
    def ham_recall(self) -> float:
        """The fraction of ham below p = ½."""
        return 1.0 - self.ham_wrong / self.ham if self.ham else math.nan

    @property
    def spam_recall(self) -> float:
        """The fraction of spam at p = ½ or above."""
        return 1.0 - self.spam_wrong / self.spam if self.spam else math.nan

    @property
    def lam(self) -> float:
        """TREC's logistic average of the misclassified fractions of ham and of spam, (wrong + ½) / (n + 1) each.

        lam = logit⁻¹ (½ logit hm + ½ logit sm); the ½ is added since 0 has no logit.
        """
        both = ((wrong + 0.5) / (n + 1) for wrong, n in ((self.ham_wrong, self.ham), (self.spam_wrong, self.spam)))
        return 1.0 / (1.0 + math.exp(-sum(logit(share) for share in both) / 2))

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics in the terms of JSON."""
        table = {name: dict(zip(VERDICT_NAMES, row)) for name, row in zip(VERDICT_NAMES, self.confusion)}
        return {
            "messages": self.ham + self.spam, "ham": self.ham, "spam": self.spam, "called": table,
            "ham_lost": self.lost, "spam_missed": self.missed, "unsure": self.unsure,
            "error": self.error, "error_interval": list(self.error_interval),
            "ham_misclassified": 1 - self.ham_recall, "spam_misclassified": 1 - self.spam_recall, "lam": self.lam,
            "one_minus_auc": self.misranked, "log_loss": self.log_loss,
        }  # fmt: skip


def log_losses(scores: Array, spam: NDArray[np.bool_]) -> Array:
    """Return the log-loss, in nats, of each log-odds of spam."""
    return np.logaddexp(0.0, np.where(spam, -scores, scores))


LOST_HAM_COST: Final = 10.0
"""A ham taken for spam may never be read; a spam taken for ham is deleted at a glance."""
UNSURE_COST: Final = 0.2
"""Five messages in the folder of the unsure are as tedious as one spam among the others."""

HAM_AT_CANDIDATES: Final = (HAM_AT, 0.05, 0.1, 0.3, 0.4, 0.5)
SPAM_AT_CANDIDATES: Final = (SPAM_AT, 0.97, 0.98, 0.99, 0.995)

Thresholds = tuple[float, float]


def choose_by_cost(scores: Array, codes: NDArray[np.int32], lost_ham_cost: float = LOST_HAM_COST) -> Thresholds:
    """Choose the cheapest thresholds for log-odds of spam with known labels.

    >>> choose_by_cost(np.array([-5.0, 2.0, 6.0]), np.array([0, 1, 1], dtype=np.int32))
    (0.2, 0.95)
    """

    def cost(pair: Thresholds) -> tuple[float, float]:
        metrics = FilterMetrics.compute(scores, codes, apply_thresholds(scores, pair))
        total = lost_ham_cost * metrics.lost + metrics.missed + UNSURE_COST * metrics.unsure
        distance = abs(logit(pair[0]) - logit(HAM_AT)) + abs(logit(pair[1]) - logit(SPAM_AT))
        return round(total, 9), distance

    return min(product(HAM_AT_CANDIDATES, SPAM_AT_CANDIDATES), key=cost)
