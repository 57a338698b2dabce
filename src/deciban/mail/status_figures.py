"""The figures of a mail filter: what its store holds, how it is set, and what is expected of its verdicts."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from deciban.formatting import format_count, format_thousands

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

DAY: Final = 86400
"""Seconds of a day."""

TIME_UNITS: Final = ((2 * DAY, DAY, "days"), (2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))
"""Least number of seconds for which a unit is used, the seconds of the unit, and its name."""


def read_figures(mail: MailFilter) -> dict[str, Any]:
    """Return what `status` shows of a store that exists, in the terms of JSON."""
    from deciban.mail.model.verdicts import explain_too_few
    from deciban.mail.store.sqlite_errors import report_damage
    from deciban.mail.store.store_file import file_size
    from deciban.mail.store.store_schema import DEFAULT_MAX_MESSAGES, MAX_LOST_HAM

    store, path = mail.store, mail.store.path
    with store.read_transaction(report_damage):
        (ham_at, spam_at), fit, half_life = mail.thresholds, store.fit(mail.model), store.ageing.half_life
        messages = {name: n for name, (n, _) in store.totals().items() if n}
        reason, expected = explain_too_few(messages), _expect_verdicts(mail)
        return {
            "store": str(path), "exists": True, "ready": not reason, "why": reason or None,
            "messages": messages, "tokens": store.n_tokens(), "bytes": file_size(path) + file_size(f"{path}-wal"),
            "writable": all(os.access(place, os.W_OK) for place in (path, path.parent)),  # SQLite makes files there
            "last_learned": store.setting("last_learned"), "model": mail.model, "fitted": fit and fit.time,
            "fit_due": mail.is_fit_due(), "ham_at": ham_at, "spam_at": spam_at,
            "half_life_days": half_life and half_life / DAY,
            "most_messages": store.setting("most_messages", DEFAULT_MAX_MESSAGES), "tidy_due": store.is_tidy_due(),
            "expected": expected, "expected_why": _explain_unmeasured(mail) if expected is None else None,
            "max_lost_ham": store.setting("max_lost_ham", MAX_LOST_HAM),
        }  # fmt: skip


def _expect_verdicts(mail: MailFilter) -> dict[str, Any] | None:
    """Return what the last choice of thresholds says of the thresholds of now; None where it was for others."""
    from deciban.mail.model.threshold_choice import upper_bound

    choice = mail.threshold_choice
    if choice is None or (choice.ham_at, choice.spam_at) != mail.thresholds:
        return None
    rate, bound = choice.lost / max(choice.ham, 1), upper_bound(choice.lost, choice.ham)
    return {**asdict(choice), "lost_rate": rate, "lost_bound": bound, "missing_ham": choice.missing_ham}


def _explain_unmeasured(mail: MailFilter) -> str:
    """Return why it is not known what is expected of the verdicts by the thresholds of now."""
    from deciban.mail.model.threshold_choice import MIN_HAM

    if mail.model == "fisher":
        return "not measured for the model fisher"
    if mail.store.setting("spam_at") is not None:
        return "not measured for a threshold that was set; chosen and measured after deciban mail set --spam-at auto"
    if mail.threshold_choice is not None:
        return "not measured for these thresholds; deciban mail fit measures them"
    return f"not known before a fit to {MIN_HAM} ham or more"


def describe_figures(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the figures in words, each with its name, for people."""
    fitted = f"fitted {format_time(figures['fitted'])}" if figures["fitted"] else "nothing fitted yet"
    due = "; a refit is due: deciban mail fit" if figures["fit_due"] else ""
    tidying = "; tidying is due: deciban mail tidy" if figures["tidy_due"] else ""
    half_life = figures["half_life_days"]
    ageing = "none" if half_life is None else f"half the weight after {half_life:g} days"
    return [
        ("learned", f"{format_counts(figures['messages'])}; {format_thousands(figures['tokens'])} different tokens"),
        ("last learned", format_time(figures["last_learned"])),
        ("size", f"{figures['bytes'] / 1e6:.1f} MB" + ("" if figures["writable"] else ", read-only")),
        ("model", f"{figures['model']}, {fitted}{due}"),
        ("thresholds", f"ham up to p = {figures['ham_at']:g}, spam from p = {figures['spam_at']:g}, unsure between"),
        ("expected", figures["expected_why"] or _describe_expected(figures["expected"])),
        ("ageing", ageing),
        ("size limit", f"{format_count(figures['most_messages'], 'message')}{tidying}"),
    ]


def _describe_expected(expected: dict[str, Any]) -> str:
    """Return in words what becomes of a thousand ham and spam, and how many ham are missing for more certainty."""
    from deciban.mail.model.threshold_choice import required_ham

    ham, spam = max(expected["ham"], 1), max(expected["spam"], 1)
    found, bound = round(1000 * expected["lost_rate"]), math.ceil(1000 * expected["lost_bound"] - 1e-9)
    lost = str(found) if found == bound else f"{found}–{bound}"
    ham_unsure, spam_unsure = 1000 * expected["ham_unsure"] / ham, 1000 * expected["spam_unsure"] / spam
    words = f"of 1 000 ham: {lost} lost, {ham_unsure:.0f} unsure; "
    words += f"of 1 000 spam: {1000 * expected['missed'] / spam:.0f} missed, {spam_unsure:.0f} unsure"
    words += " (out of fold; the folds are periods of time)"
    missing, allowed = expected["missing_ham"], expected["max_lost"]
    if missing:
        needed = f"{format_thousands(missing)} more ham are needed, {format_thousands(required_ham(allowed))} in all"
        words += f"; {needed}, to ensure at most {1000 * allowed:g} lost"
    return words


def format_time(seconds: float | None) -> str:
    """Format a time in seconds since 1970 by the local clock, with how long ago it is; "never" for None."""
    if seconds is None:
        return "never"
    ago = max(0.0, time.time() - seconds)
    unit, name = next((unit, name) for least, unit, name in TIME_UNITS if ago >= least)
    n = round(ago / unit)
    return f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(seconds))}, {n} {name if n != 1 else name[:-1]} ago"


def format_counts(counts: Mapping[str, int], others: Mapping[str, int] | None = None, separator: str = ", ") -> str:
    """Return the number of messages of each label or kind; of `others` only those that are not 0.

    >>> format_counts({"ham": 12, "spam": 0}, {"known already": 0}), format_counts({})
    ('12 ham, 0 spam', 'nothing')
    """
    shown = {**counts, **{name: n for name, n in (others or {}).items() if n}}
    return separator.join(f"{format_thousands(n)} {name}" for name, n in shown.items()) or "nothing"
