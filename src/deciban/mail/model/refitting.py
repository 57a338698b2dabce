"""Refits of a store: when one is due, what it saves, and why there may be none."""

from dataclasses import asdict
from enum import Enum

from deciban.errors import StoreError
from deciban.mail.model.threshold_choice import (
    CHOICE_KEY,
    GROWTH_FRACTION,
    ThresholdChoice,
    choose_thresholds,
    read_choice,
)
from deciban.mail.model.weight_fitting import (
    FittedModelName,
    TrainingMessages,
    fit,
    has_enough_messages,
    is_growth_due,
)
from deciban.mail.store.sqlite_errors import report_damage
from deciban.mail.store.store import Store
from deciban.mail.store.store_arrays import StoreRows
from deciban.mail.store.store_schema import HAM_AT, MAX_LOST_HAM, ModelName


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
    """Return whether a model has parameters, enough messages, and no fit or one since which much has changed."""
    if model == "fisher" or not has_enough_messages([n for n, _ in store.totals().values() if n]):
        return False
    fit = store.fit(model)
    return fit is None or is_growth_due(store.changes() - fit.changes, fit.meta["messages"])


def refit_store(store: Store, model: ModelName) -> RefitResult:
    """Fit a model to all messages of a store, choose thresholds, and save both; or return why nothing was fitted."""
    if model == "fisher":
        return RefitResult.NO_PARAMETERS
    rows = store.rows()
    unit = store.unit(float(rows.times.max())) if len(rows.times) else 1.0
    examples = TrainingMessages.from_rows(rows, unit)
    if examples is None:
        return RefitResult.TOO_FEW_MESSAGES
    found = fit(examples, model)
    if found is None:
        return RefitResult.INSEPARABLE
    choice = update_choice(store, rows, unit, model)
    meta = asdict(found.parameters) | ({CHOICE_KEY: choice.to_dict()} if choice else {})
    with report_damage(store.path):
        store.save_fit(model, examples.numbers, found.columns, meta, changes=rows.changes)
    return RefitResult.FITTED


def update_choice(store: Store, rows: StoreRows, unit: float, model: FittedModelName) -> ThresholdChoice | None:
    """Return the thresholds to save with a fit: new ones where the last are for other settings or much less ham."""
    ham_at, max_lost = store.setting("ham_at", HAM_AT), store.setting("max_lost_ham", MAX_LOST_HAM)
    n_ham = store.totals().get("ham", (0, 0.0))[0]
    try:
        last = read_choice(store.fit(model), store.path)
    except StoreError:  # it is replaced
        last = None
    if last and (last.ham_at, last.max_lost) == (ham_at, max_lost) and is_choice_recent(last.ham, n_ham):
        return last
    return choose_thresholds(rows, unit, model, ham_at, max_lost)


def is_choice_recent(chosen_with: int, n_ham: int) -> bool:
    """Return whether a choice by so many ham is still the one to use with so many."""
    return n_ham < (1 + GROWTH_FRACTION) * chosen_with
