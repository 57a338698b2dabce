"""`deciban mail status`: the content of a store, and whether it is enough to classify by."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.error_handling import handle_errors
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.mail_inputs import open_to_classify, store_path
from deciban.formatting import format_thousands

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

DAY: Final = 86400
"""Seconds of a day."""

TIME_UNITS: Final = ((2 * DAY, DAY, "days"), (2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))
"""Least number of seconds for which a unit is used, the seconds of the unit, and its name."""


@a.command(a.STORE, a.JSON, a.DEBUG, examples=["deciban mail status"])
def status(store: str | None, json: bool, debug: bool) -> None:
    """Show the store's file, what was learned, the model that classifies, and whether it is ready, or why not."""
    with handle_errors(debug):
        path = store_path(store)
        if path.exists():
            with open_to_classify(store) as mail:
                figures = _read_figures(mail)
        else:
            reason = "there is no store yet; deciban mail learn --ham PATH --spam PATH makes it"
            figures = {"store": str(path), "exists": False, "ready": False, "why": reason, "messages": {}}
        if json:
            from deciban.cli.output import print_json

            print_json(figures)
        else:
            _show(figures)


def _read_figures(mail: MailFilter) -> dict[str, Any]:
    held = mail.store.status()
    ham_at, spam_at = mail.thresholds
    fit = held.fits.get(mail.model)
    messages = {name: n for name, (n, _) in held.totals.items() if n}
    reason = _reason_not_ready(messages)
    return {
        "store": str(held.path), "exists": True, "ready": not reason, "why": reason or None,
        "messages": messages, "tokens": held.tokens, "bytes": held.bytes, "writable": _is_writable(held.path),
        "last_learned": held.last_learned, "model": mail.model, "fitted": fit and fit.time,
        "fit_due": mail.is_fit_due(), "ham_at": ham_at, "spam_at": spam_at,
        "half_life_days": held.half_life and held.half_life / DAY, "most_messages": held.most_messages,
        "tidy_due": held.tidy_due,
    }  # fmt: skip


def _is_writable(path: Path) -> bool:
    """Return whether a store can be learned into; SQLite makes files next to it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _reason_not_ready(messages: dict[str, int]) -> str:
    """Return why every verdict would be unsure; nothing if they are not."""
    from deciban.mail.model.token_weights import MIN_MESSAGES_PER_LABEL

    held = ", ".join(f"{n} {name}" for name, n in messages.items()) or "nothing"
    if len(messages) < 2:
        return f"{held} learned; messages of two labels at least are needed"
    if min(messages.values()) < MIN_MESSAGES_PER_LABEL:
        return f"{held} learned; at least {MIN_MESSAGES_PER_LABEL} of each label are needed"
    return ""


def _show(figures: dict[str, Any]) -> None:
    from deciban.cli.render import console, heading, pairs, to_one_line

    out = console()
    heading(out, to_one_line(figures["store"]))
    entries = _describe(figures) if figures["exists"] else []
    pairs(out, [*entries, ("ready", "yes" if figures["ready"] else f"no: {figures['why']}")])


def _describe(figures: dict[str, Any]) -> list[tuple[str, str]]:
    learned = ", ".join(f"{format_thousands(n)} {name}" for name, n in figures["messages"].items()) or "nothing"
    fitted = f"fitted {_format_time(figures['fitted'])}" if figures["fitted"] else "nothing fitted yet"
    due = "; a refit is due: deciban mail fit" if figures["fit_due"] else ""
    half_life = figures["half_life_days"]
    ageing = "none" if half_life is None else f"half the weight after {half_life:g} days"
    limit = f"{format_thousands(figures['most_messages'])} messages"
    thresholds = f"ham up to p = {figures['ham_at']:g}, spam from p = {figures['spam_at']:g}, unsure between"
    return [
        ("learned", f"{learned}; {format_thousands(figures['tokens'])} different tokens"),
        ("last learned", _format_time(figures["last_learned"])),
        ("size", f"{figures['bytes'] / 1e6:.1f} MB" + ("" if figures["writable"] else ", read-only")),
        ("model", f"{figures['model']}, {fitted}{due}"),
        ("thresholds", thresholds),
        ("ageing", ageing),
        ("size limit", limit + ("; exceeded: deciban mail tidy" if figures["tidy_due"] else "")),
    ]


def _format_time(seconds: float | None) -> str:
    """Format a time by the local clock, with how long ago it is."""
    if seconds is None:
        return "never"
    ago = max(0.0, time.time() - seconds)
    unit, name = next((unit, name) for least, unit, name in TIME_UNITS if ago >= least)
    n = round(ago / unit)
    return f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(seconds))}, {n} {name if n != 1 else name[:-1]} ago"
