"""FilterMetrics: how good the verdicts on mail were whose labels are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.metrics.intervals import Interval, wilson
from deciban.metrics.score_curves import Curve

HAM, SPAM, UNSURE_CODE = 0, 1, 2
"""What a message was apply_thresholds."""

NAMES: Final = ("ham", "spam", "unsure")


def apply_thresholds(scores: Array, thresholds: tuple[float, float], too_few: bool | NDArray[np.bool_] = False) -> Array:
    """What messages of these log-odds of spam are apply_thresholds.

    >>> apply_thresholds(np.array([-3.0, 0.0, 5.0]), (0.2, 0.95)).tolist()
    [0, 2, 1]
    """
    ham_at, spam_at = (logit(p) for p in thresholds)
    said = np.where(scores >= spam_at, SPAM, np.where(scores <= ham_at, HAM, UNSURE_CODE))
    return np.where(too_few, UNSURE_CODE, said)


@dataclass(frozen=True)
class FilterMetrics:
    """Counts and shares; "wrong" is at p ≥ ½, where every message must be ham or spam.

    >>> figures = FilterMetrics.of(np.array([-3.0, 1.0, 5.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1]))
    >>> figures.confusion, figures.error, figures.lost, figures.missed, figures.unsure, figures.misranked
    (((1, 0, 1), (0, 2, 0)), 0.25, 0, 0, 1, 0.0)
    """

    confusion: tuple[tuple[int, ...], tuple[int, ...]]
    """Of ham and of spam: how many were apply_thresholds ham, spam, unsure."""
    ham_wrong: int
    spam_wrong: int
    misranked: float
    """1 − AUC: the share of pairs of a ham and a spam that are ranked the wrong way; NaN where one kind is absent."""
    log_loss: float
    """In nats."""

    @classmethod
    def of(cls, scores: Array, codes: NDArray[Any], verdicts: NDArray[Any]) -> FilterMetrics:
        """Of log-odds of spam, true codes, and what was apply_thresholds."""
        spam = codes == SPAM
        table = np.bincount(codes * 3 + verdicts, minlength=6).reshape(2, 3).tolist()
        wrong = (scores >= 0) != spam
        losses = np.logaddexp(0.0, np.where(spam, -scores, scores))
        return cls(
            (tuple(table[0]), tuple(table[1])), int(wrong[~spam].sum()), int(wrong[spam].sum()),
            1.0 - Curve.of(scores, spam, np.ones(len(scores))).area, float(losses.mean()),
        )  # fmt: skip

    @property
    def ham(self) -> int:
        """How many messages were ham."""
        return sum(self.confusion[HAM])

    @property
    def spam(self) -> int:
        """How many were spam."""
        return sum(self.confusion[SPAM])

    @property
    def lost(self) -> int:
        """Ham that was apply_thresholds spam."""
        return self.confusion[HAM][SPAM]

    @property
    def missed(self) -> int:
        """Spam that was apply_thresholds ham."""
        return self.confusion[SPAM][HAM]

    @property
    def unsure(self) -> int:
        """Messages of either kind that were apply_thresholds neither."""
        return self.confusion[HAM][UNSURE_CODE] + self.confusion[SPAM][UNSURE_CODE]

    @property
    def error(self) -> float:
        """The share that is wrong at p ≥ ½."""
        return (self.ham_wrong + self.spam_wrong) / (self.ham + self.spam)

    @property
    def error_interval(self) -> Interval:
        """95 %, Wilson's."""
        return wilson(self.error, self.ham + self.spam)

    @property
    def ham_recall(self) -> float:
        """The share of ham that is below ½."""
        return 1.0 - self.ham_wrong / self.ham if self.ham else math.nan

    @property
    def spam_recall(self) -> float:
        """The share of spam that is ½ or above."""
        return 1.0 - self.spam_wrong / self.spam if self.spam else math.nan

    @property
    def lam(self) -> float:
        """TREC's logistic average of both shares of misclassified mail, each with half a message more of n + 1.

        lam = logit⁻¹ (½ logit hm + ½ logit sm); the half, since 0 has no logit.
        """
        both = ((wrong + 0.5) / (n + 1) for wrong, n in ((self.ham_wrong, self.ham), (self.spam_wrong, self.spam)))
        return 1.0 / (1.0 + math.exp(-sum(logit(share) for share in both) / 2))

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        table = {name: dict(zip(NAMES, row)) for name, row in zip(NAMES, self.confusion)}
        return {
            "messages": self.ham + self.spam, "ham": self.ham, "spam": self.spam, "apply_thresholds": table,
            "ham_lost": self.lost, "spam_missed": self.missed, "unsure": self.unsure,
            "error": self.error, "error_interval": list(self.error_interval),
            "ham_misclassified": 1 - self.ham_recall, "spam_misclassified": 1 - self.spam_recall, "lam": self.lam,
            "one_minus_auc": self.misranked, "log_loss": self.log_loss,
        }  # fmt: skip


def logit(p: float) -> float:
    """ln p/(1 − p)."""
    if p <= 0.0 or p >= 1.0:
        return math.copysign(math.inf, p - 0.5)
    return math.log(p) - math.log1p(-p)
