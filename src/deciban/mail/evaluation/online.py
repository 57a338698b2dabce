"""TREC's protocol: each message is judged by what came before it, then learned, as if its reader said at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from deciban.mail.evaluation.filter_metrics import FilterMetrics, apply_thresholds
from deciban.mail.evaluation.in_memory_filter import InMemoryFilter
from deciban.mail.evaluation.labelled_mail import LabelledMail
from deciban.mail.model.mail_models import USUAL_MODEL, ModelName

STRETCH: Final = 100
"""Messages of one point of the learning curve."""


UNTRAINED_LOG_ODDS: Final = -1e-12
"""The log-odds of spam while only one label is known: a message that nothing is known of is delivered."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A hundred messages on the way, the last of them the `upto`-th: how many there were and how many were wrong."""

    upto: int
    ham: int
    spam: int
    ham_wrong: int
    spam_wrong: int


@dataclass(frozen=True)
class OnlineReport:
    """All messages in order, and how it got better on the way.

    Before the first message of each label was learned, what comes counts as taken for ham: it would be delivered.
    """

    model: str
    refits: int
    figures: FilterMetrics
    curve: tuple[CurvePoint, ...]
    scores: np.ndarray
    """The log-odds of spam of each message, when it came."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        steps = [{name: getattr(step, name) for name in CurvePoint.__slots__} for step in self.curve]
        return {"model": self.model, "refits": self.refits, **self.figures.to_dict(), "curve": steps}


def evaluate_online(
    mail: LabelledMail, model: ModelName = USUAL_MODEL, progress: Callable[[int], None] | None = None
) -> OnlineReport:
    """Scorer and learn message after message, in the order of the collection."""
    taught = InMemoryFilter(mail, model)
    scores, verdicts = np.zeros(len(mail)), np.zeros(len(mail), dtype=np.int64)
    for i in range(len(mail)):
        scores[i] = taught.scores([i])[0] if taught.knows_both else UNTRAINED_LOG_ODDS
        verdicts[i] = apply_thresholds(scores[i], taught.thresholds, taught.too_few)
        taught.learn([i])
        taught.refit()
        if progress is not None:
            progress(i + 1)
    figures = FilterMetrics.of(scores, mail.codes, verdicts)
    return OnlineReport(model, taught.refits, figures, _curve(scores, mail.codes), scores)


def _curve(scores: np.ndarray, codes: np.ndarray) -> tuple[CurvePoint, ...]:
    wrong, spam = (scores >= 0) != (codes == 1), codes == 1
    found = []
    for start in range(0, len(codes), STRETCH):
        some = slice(start, start + STRETCH)
        kinds = spam[some], wrong[some]
        n, n_spam = len(kinds[0]), int(kinds[0].sum())
        spam_wrong = int((kinds[0] & kinds[1]).sum())
        found.append(CurvePoint(start + n, n - n_spam, n_spam, int(kinds[1].sum()) - spam_wrong, spam_wrong))
    return tuple(found)
