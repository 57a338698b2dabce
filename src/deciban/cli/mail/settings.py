"""`deciban mail set`: the settings that a store keeps."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.commands import UsageError
from deciban.cli.mail.learn_mail import run_maintenance
from deciban.cli.mail.mail_inputs import open_to_learn, store_path

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

SECONDS_PER_DAY: Final = 86400


def parse_half_life(text: str) -> str:
    """Check that the value of `--half-life` is a number of days or none, and return it."""
    try:
        float("0" if text == "none" else text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of days nor none") from None
    return text


@a.command(
    a.argument("--model", metavar="MODEL", help="The model: evidence, bayes, logistic or fisher."),
    a.argument("--ham-at", metavar="P", type=float, help="Ham up to this probability of spam."),
    a.argument("--spam-at", metavar="P", type=float, help="Spam from this probability on."),
    a.argument(
        "--half-life", metavar="DAYS", type=parse_half_life,
        help="Days in which a message loses half its weight; none: it never does.",
    ),
    a.argument(
        "--most-messages", metavar="NUMBER", type=int,
        help="Messages that are kept; of more, tidying unlearns the oldest.",
    ),
    a.STORE, a.NO_FIT, a.DEBUG,
    examples=["deciban mail set --spam-at 0.99", "deciban mail set --half-life 180 --most-messages 50000"],
)  # fmt: skip
def set_options(
    model: str | None, ham_at: float | None, spam_at: float | None, half_life: str | None, most_messages: int | None,
    store: str | None, no_fit: bool, debug: bool,
) -> None:  # fmt: skip
    """Choose the model, where ham ends and spam begins, how messages age, and how many are kept."""
    values: dict[str, Any] = {"ham_at": ham_at, "spam_at": spam_at, "most_messages": most_messages, "model": model}
    if half_life is None and all(value is None for value in values.values()):
        raise UsageError("nothing to set. Hint: deciban mail status shows what is set")
    with handle_errors(debug, interrupted="nothing was set"), open_to_learn(store, create=True) as mail:
        with mail.store.writing():  # all or none
            changes = _set_values(mail, {key: value for key, value in values.items() if value is not None})
            if half_life is not None:
                ages = half_life != "none"
                mail.store.age(float(half_life) * SECONDS_PER_DAY if ages else None)
                changes.append(f"half-life {half_life}" + (" days" if ages else ""))
        print_stderr(f"{store_path(store)}: {', '.join(changes)}")
        if model is not None:  # another model may never have been fitted
            from deciban.mail.filter import MailFilter

            with MailFilter(mail.store, model=model) as other:
                run_maintenance(other, store, no_fit)


def _set_values(mail: MailFilter, values: dict[str, Any]) -> list[str]:
    """Write these settings into the store, and describe them."""
    from deciban.mail.store.store_settings import check_model, check_threshold_order

    low, high = mail.thresholds
    check_threshold_order(values.get("ham_at", low), values.get("spam_at", high))
    if "model" in values:
        check_model(values["model"])
    for key, value in values.items():
        mail.store.set(key, value)
    return [f"{key.replace('_', '-')} {value}" for key, value in values.items()]
