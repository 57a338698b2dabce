"""`deciban mail status` and `set`: the content of a store, whether it is enough to classify by, and its settings."""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.command_groups import UsageError
from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.files import print_json
from deciban.cli.mail import mail_inputs as a
from deciban.cli.mail.learn_mail import format_counts, run_maintenance
from deciban.cli.mail.mail_inputs import open_to_classify, open_to_learn, store_path
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
            print_json(figures)
        else:
            _show(figures)


def _read_figures(mail: MailFilter) -> dict[str, Any]:
    from deciban.mail.model.verdicts import explain_too_few

    held = mail.store.status()
    ham_at, spam_at = mail.thresholds
    fit = held.fits.get(mail.model)
    writable = all(
        os.access(path, os.W_OK) for path in (held.path, held.path.parent)
    )  # SQLite makes files next to it
    messages = {name: n for name, (n, _) in held.totals.items() if n}
    reason = explain_too_few(messages)
    return {
        "store": str(held.path), "exists": True, "ready": not reason, "why": reason or None,
        "messages": messages, "tokens": held.tokens, "bytes": held.bytes, "writable": writable,
        "last_learned": held.last_learned, "model": mail.model, "fitted": fit and fit.time,
        "fit_due": mail.is_fit_due(), "ham_at": ham_at, "spam_at": spam_at,
        "half_life_days": held.half_life and held.half_life / DAY, "most_messages": held.most_messages,
        "tidy_due": held.tidy_due,
    }  # fmt: skip


def _show(figures: dict[str, Any]) -> None:
    from deciban.cli.render import Screen, to_one_line

    out = Screen()
    out.print_heading(to_one_line(figures["store"]))
    entries = _describe(figures) if figures["exists"] else []
    out.print_pairs([*entries, ("ready", "yes" if figures["ready"] else f"no: {figures['why']}")])


def _describe(figures: dict[str, Any]) -> list[tuple[str, str]]:
    fitted = f"fitted {_format_time(figures['fitted'])}" if figures["fitted"] else "nothing fitted yet"
    due = "; a refit is due: deciban mail fit" if figures["fit_due"] else ""
    half_life = figures["half_life_days"]
    ageing = "none" if half_life is None else f"half the weight after {half_life:g} days"
    limit = f"{format_thousands(figures['most_messages'])} messages"
    thresholds = f"ham up to p = {figures['ham_at']:g}, spam from p = {figures['spam_at']:g}, unsure between"
    return [
        ("learned", f"{format_counts(figures['messages'])}; {format_thousands(figures['tokens'])} different tokens"),
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


def parse_half_life(text: str) -> str:
    """Check that the value of `--half-life` is a number of days or none, and return it."""
    try:
        float("0" if text == "none" else text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of days nor none") from None
    return text


@a.command(
    a.option("--model", "MODEL", "The model: evidence, bayes, logistic or fisher."),
    a.option("--ham-at", "P", "Ham up to this probability of spam.", type=float),
    a.option("--spam-at", "P", "Spam from this probability on.", type=float),
    a.option(
        "--half-life", "DAYS", "Days in which a message loses half its weight; none: it never does.",
        type=parse_half_life,
    ),
    a.option(
        "--most-messages", "NUMBER", "Messages that are kept; of more, tidying unlearns the oldest.", type=int
    ),
    a.STORE, a.NO_FIT, a.DEBUG,
    examples=["deciban mail set --spam-at 0.99", "deciban mail set --half-life 180 --most-messages 50000"],
)  # fmt: skip
def set_options(
    model: str | None, ham_at: float | None, spam_at: float | None, half_life: str | None, most_messages: int | None,
    store: str | None, no_fit: bool, debug: bool,
) -> None:  # fmt: skip
    """Choose the model, where ham ends and spam begins, how messages age, and how many are kept."""
    given: dict[str, Any] = {"ham_at": ham_at, "spam_at": spam_at, "most_messages": most_messages, "model": model}
    values = {key: value for key, value in given.items() if value is not None}
    if half_life is None and not values:
        raise UsageError("nothing to set. Hint: deciban mail status shows what is set")
    with handle_errors(debug, interrupted="nothing was set"), open_to_learn(store, create=True) as mail:
        from deciban.mail.store.store_schema import check_threshold_order

        with mail.store.write_transaction():  # all or none
            low, high = mail.thresholds
            check_threshold_order(values.get("ham_at", low), values.get("spam_at", high))
            for key, value in values.items():
                mail.store.set(key, value)
            changes = [f"{key.replace('_', '-')} {value}" for key, value in values.items()]
            if half_life is not None:
                ages = half_life != "none"
                mail.store.age(float(half_life) * DAY if ages else None)
                changes.append(f"half-life {half_life}" + (" days" if ages else ""))
        print_stderr(f"{store_path(store)}: {', '.join(changes)}")
        if model is not None:  # another model may never have been fitted
            from deciban.mail.filter import MailFilter

            with MailFilter(mail.store, model=model) as other:
                run_maintenance(other, store, no_fit)
