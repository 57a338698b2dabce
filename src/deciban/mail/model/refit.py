"""Refitting the weights of a store's model: when it is due, and how it is done."""

from __future__ import annotations

from enum import Enum
from typing import Final

from deciban.mail.model.mail_models import MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store
from deciban.mail.store.store_schema import ModelName

REFIT_GROWTH_FRACTION: Final = 0.15
"""A refit is due when so much of the messages of the last fit has changed."""

MIN_REFIT_CHANGES: Final = 10
"""Messages that must have changed for a refit to be due."""


class RefitResult(Enum):
    """The outcome of a refit; only FITTED is true."""

    FITTED = "the model was fitted"
    NOT_DUE = "too little has changed since the last fit"
    NO_PARAMETERS = "the model has no parameters to fit"
    TOO_FEW_MESSAGES = "there are too few messages, in all or with one label"
    INSEPARABLE = "the words of the messages do not separate the labels"

    def __bool__(self) -> bool:
        return self is RefitResult.FITTED


def is_due(store: Store, model: ModelName) -> bool:
    """Return whether a model that has parameters was never fitted, or to much fewer messages."""
    if model == "fisher":
        return False
    totals = [messages for messages, _ in store.totals().values() if messages]
    if len(totals) < 2 or sum(totals) < MIN_MESSAGES_TO_FIT or min(totals) < MIN_MESSAGES_PER_LABEL:
        return False
    fit = store.fit(model)
    if fit is None:
        return True
    return is_growth_due(store.changes() - fit.changes, fit.meta["messages"])


def is_growth_due(changes: int, fitted_to: int) -> bool:
    """Return whether so many changes since a fit to so many messages call for another fit."""
    return changes >= max(MIN_REFIT_CHANGES, REFIT_GROWTH_FRACTION * fitted_to)


def refit_store(store: Store, model: ModelName) -> RefitResult:
    """Fit a model to all messages of a store and save the fit, or return why nothing was fitted."""
    if model == "fisher":
        return RefitResult.NO_PARAMETERS
    from deciban.mail.model.weight_fitting import TrainingMessages, fit

    rows = store.rows()
    examples = TrainingMessages.from_rows(rows, store.unit(float(rows.times.max())) if len(rows.times) else 1.0)
    if examples is None:
        return RefitResult.TOO_FEW_MESSAGES
    found = fit(examples, model)
    if found is None:
        return RefitResult.INSEPARABLE
    with report_damage(store.path):
        store.save_fit(model, found.numbers, found.columns, found.parameters.to_dict(), changes=rows.changes)
    return RefitResult.FITTED
