"""What messages that were set aside are for: the smoothing, and from where on a verdict is sure.

Smoothing is chosen by log-loss, which every message has a say in. Thresholds are chosen by what verdicts cost: a
missed spam 1, a ham that is lost `LOST_HAM`, and a message that somebody must look at because the filter is unsure
`LOOKED_AT`. Few messages say little of rare mistakes, so of equally cheap thresholds those are taken that lie nearest
to the usual ones: they move if there is a reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deciban._typing import Array
from deciban.mail.evaluation.filter_metrics import FilterMetrics, apply_thresholds, logit
from deciban.mail.evaluation.in_memory_filter import InMemoryFilter
from deciban.mail.evaluation.labelled_mail import LabelledMail
from deciban.mail.model.mail_models import ModelName
from deciban.mail.model.token_weights import ALPHA
from deciban.mail.model.weight_fitting import Settings
from deciban.mail.store.store_settings import HAM_AT, SPAM_AT

LOST_HAM: Final = 10.0
"""A ham taken for spam may never be read; a spam taken for ham is deleted at a glance."""
LOOKED_AT: Final = 0.2
"""Five messages in the folder of the unsure are as tedious as one spam among the others."""

ALPHAS: Final = (ALPHA, 0.1, 1.0)
"""The usual one first: it stays if no other is better."""
HAM_FROM: Final = (HAM_AT, 0.05, 0.1, 0.3, 0.4, 0.5)
SPAM_FROM: Final = (SPAM_AT, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98, 0.99, 0.995)

Thresholds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Costs:
    """What verdicts cost, in missed spam."""

    lost_ham: float = LOST_HAM
    looked_at: float = LOOKED_AT

    def of(self, figures: FilterMetrics) -> float:
        """All of them together."""
        return self.lost_ham * figures.lost + figures.missed + self.looked_at * figures.unsure


USUAL_COSTS: Final = Costs()


def choose_thresholds(scores: Array, codes: NDArray[np.int32], costs: Costs = USUAL_COSTS) -> Thresholds:
    """The cheapest thresholds for log-odds of spam whose truth is known.

    >>> choose_thresholds(np.array([-5.0, 2.0, 6.0]), np.array([0, 1, 1], dtype=np.int32))
    (0.2, 0.8)
    """

    def price(pair: Thresholds) -> tuple[float, float]:
        far = abs(logit(pair[0]) - logit(HAM_AT)) + abs(logit(pair[1]) - logit(SPAM_AT))
        return round(costs.of(FilterMetrics.of(scores, codes, apply_thresholds(scores, pair))), 9), far

    return min(product(HAM_FROM, SPAM_FROM), key=price)


@dataclass(frozen=True)
class Chosen:
    """A filter that learned, the log-loss of each smoothing that was tried, and the thresholds."""

    filter: InMemoryFilter
    tried: dict[float, float]
    thresholds: Thresholds


def chosen(
    mail: LabelledMail, learn: NDArray[np.intp], choose: NDArray[np.intp], model: ModelName, costs: Costs = USUAL_COSTS,
    alphas: Sequence[float] = ALPHAS,
) -> Chosen:  # fmt: skip
    """Learn some messages, with the smoothing and the thresholds that others find best."""
    found: dict[float, tuple[InMemoryFilter, Array]] = {}
    tried: dict[float, float] = {}
    for alpha in alphas if model in ("evidence", "bayes") else alphas[:1]:  # the others have no such smoothing
        made = InMemoryFilter(mail, model, Settings(alpha=alpha))
        made.learn(learn)
        made.refit(force=True)
        scores = made.scores(choose)
        found[alpha] = made, scores
        spam = mail.codes[choose] == 1
        tried[alpha] = float(np.logaddexp(0.0, np.where(spam, -scores, scores)).mean())
    best, scores = found[min(tried, key=lambda alpha: tried[alpha])]
    best.thresholds = choose_thresholds(scores, mail.codes[choose], costs)
    return Chosen(best, tried, best.thresholds)
