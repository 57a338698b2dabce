"""`deciban mail status`: what was learned, and whether it is enough."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deciban.cli import options as a
from deciban.cli.error_handling import manners
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.open_store import judging, store_path
from deciban.formatting import spaced

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

EXAMPLE = a.example("deciban mail status")
DAY = 86400
UNITS = ((2 * DAY, DAY, "days"), (2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))
"""From how many seconds on they are told in which unit."""


def command(store: o.StoreFile = None, json: a.AsJson = False, debug: a.Debug = False) -> None:
    """Show the store's file, what was learned, by which model mail is judged, and whether it is ready, or why not."""
    with manners(debug):
        path = store_path(store)
        if path.exists():
            with judging(store) as mail:
                told = _figures(mail)
        else:
            told = _nothing(path)
        if json:
            from deciban.cli.output import print_json

            print_json(told)
        else:
            _show(told)


def _nothing(path: Path) -> dict[str, Any]:
    why = "there is no store yet; deciban mail learn --ham PATH --spam PATH makes it"
    return {"store": str(path), "exists": False, "ready": False, "why": why, "messages": {}}


def _figures(mail: MailFilter) -> dict[str, Any]:
    held = mail.store.status()
    ham_at, spam_at = mail.thresholds
    fit = held.fits.get(mail.model)
    why = _why_not(mail)
    return {
        "store": str(held.path), "exists": True, "ready": not why, "why": why or None,
        "messages": {name: n for name, (n, _) in held.totals.items() if n}, "tokens": held.tokens,
        "bytes": held.bytes, "writable": _is_writable(held.path), "last_learned": held.last_learned,
        "model": mail.model,
        "fitted": fit and fit.time, "fit_due": mail.is_fit_due(), "ham_at": ham_at, "spam_at": spam_at,
        "half_life_days": held.half_life and held.half_life / DAY, "most_messages": held.most_messages,
        "tidy_due": held.tidy_due,
    }  # fmt: skip


def _is_writable(path: Path) -> bool:
    """Whether it can be learned into; SQLite needs room beside the file."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _why_not(mail: MailFilter) -> str:
    """Why every verdict would be unsure; nothing if they are not."""
    from deciban.mail.model.minimum_counts import MIN_MESSAGES_PER_LABEL

    totals = {name: n for name, (n, _) in mail.store.totals().items() if n}
    held = ", ".join(f"{n} {name}" for name, n in totals.items()) or "nothing"
    if len(totals) < 2:
        return f"{held} learned; messages of two labels at least are needed"
    if min(totals.values()) < MIN_MESSAGES_PER_LABEL:
        return f"{held} learned; {MIN_MESSAGES_PER_LABEL} of each are the least to be sure by"
    return ""


def _show(told: dict[str, Any]) -> None:
    from deciban.cli.render import console, heading, one_line, pairs

    out = console()
    heading(out, one_line(told["store"]))
    entries = _in_words(told) if told["exists"] else []
    pairs(out, [*entries, ("ready", "yes" if told["ready"] else f"no: {told['why']}")])


def _in_words(told: dict[str, Any]) -> list[tuple[str, str]]:
    learned = ", ".join(f"{spaced(n)} {name}" for name, n in told["messages"].items()) or "nothing"
    fitted = f"fitted {_when(told['fitted'])}" if told["fitted"] else "nothing fitted yet"
    due = "; to be fitted anew, by deciban mail fit" if told["fit_due"] else ""
    half_life = told["half_life_days"]
    ageing = "none" if half_life is None else f"half the weight after {half_life:g} days"
    bound = f"{spaced(told['most_messages'])} messages"
    thresholds = f"ham up to p = {told['ham_at']:g}, spam from p = {told['spam_at']:g}, unsure between"
    return [
        ("learned", f"{learned}; {spaced(told['tokens'])} different words"),
        ("last learned", _when(told["last_learned"])),
        ("size", f"{told['bytes'] / 1e6:.1f} MB" + ("" if told["writable"] else ", read-only")),
        ("model", f"{told['model']}, {fitted}{due}"),
        ("thresholds", thresholds),
        ("ageing", ageing),
        ("bound", bound + ("; over it, to be kept by deciban mail tidy" if told["tidy_due"] else "")),
    ]


def _when(moment: float | None) -> str:
    """A moment by the local clock, and how long ago."""
    if moment is None:
        return "never"
    ago = max(0.0, time.time() - moment)
    unit, name = next((unit, name) for least, unit, name in UNITS if ago >= least)
    n = round(ago / unit)
    return f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(moment))}, {n} {name if n != 1 else name[:-1]} ago"
