"""`deciban mail set`: the choices that a store keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, say
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.open_store import learning, store_path

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter

EXAMPLE = a.example(
    "deciban mail set --spam-at 0.99",
    "deciban mail set --half-life 180 --most-messages 50000",
)
DAY = 86400

Weigher = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="MODEL", help="Who weighs: evidence, bayes, logistic or fisher.", show_default=False
    ),
]
HamAt = Annotated[
    float | None,
    typer.Option("--ham-at", metavar="P", help="Ham up to this probability of spam.", show_default=False),
]
SpamAt = Annotated[
    float | None,
    typer.Option("--spam-at", metavar="P", help="Spam from this probability on.", show_default=False),
]
HalfLife = Annotated[
    str | None,
    typer.Option(
        "--half-life", metavar="DAYS", help="Days in which a message loses half its weight; none: it never does.",
        show_default=False,
    ),
]  # fmt: skip
Most = Annotated[
    int | None,
    typer.Option(
        "--most-messages", metavar="NUMBER", help="Messages that are kept; of more, tidying unlearns the oldest.",
        show_default=False,
    ),
]  # fmt: skip


def command(
    model: Weigher = None, ham_at: HamAt = None, spam_at: SpamAt = None, half_life: HalfLife = None,
    most_messages: Most = None, store: o.StoreFile = None, no_fit: o.NoFit = False, debug: a.Debug = False,
) -> None:  # fmt: skip
    """Choose who weighs, where ham ends and spam begins, how messages age, and how many are kept."""
    with manners(debug, interrupted="nothing was set"):
        if all(value is None for value in (model, ham_at, spam_at, half_life, most_messages)):
            raise typer.BadParameter("nothing to set. Hint: deciban mail status shows what is set")
        seconds = None if half_life is None else given_half_life(half_life)
        with learning(store, create=True) as mail:
            with mail.store.writing():  # all or none
                said = _set(mail, model, ham_at, spam_at, most_messages)
                if half_life is not None:
                    mail.store.age(seconds)
                    said.append(f"half-life {half_life}" + ("" if seconds is None else " days"))
            say(f"{store_path(store)}: {', '.join(said)}")
            if model is not None:
                _fit_another(model, mail, store, no_fit)


def _set(
    mail: MailFilter, model: str | None, ham_at: float | None, spam_at: float | None, most: int | None
) -> list[str]:
    from deciban.mail.model.mail_models import check_model
    from deciban.mail.store.store_settings import check_threshold_order

    low, high = mail.thresholds
    low, high = low if ham_at is None else ham_at, high if spam_at is None else spam_at
    check_threshold_order(low, high)
    values: dict[str, Any] = {"ham_at": ham_at, "spam_at": spam_at, "most_messages": most}
    values["model"] = None if model is None else check_model(model)
    for key, value in values.items():
        if value is not None:
            mail.store.set(key, value)
    return [f"{key.replace('_', '-')} {value}" for key, value in values.items() if value is not None]


def given_half_life(text: str) -> float | None:
    """Days as seconds, or none.

    >>> given_half_life("0.5"), given_half_life("none")
    (43200.0, None)
    """
    if text == "none":
        return None
    try:
        return float(text) * DAY
    except ValueError:
        raise typer.BadParameter(f"--half-life {text!r} is neither a number of days nor none") from None


def _fit_another(model: str, mail: MailFilter, store: str | None, no_fit: bool) -> None:
    """Another model may never have been fitted."""
    from deciban.cli.mail.learn_messages import settle
    from deciban.mail.filter import MailFilter

    with MailFilter(mail.store, model=model) as other:
        settle(other, store, no_fit)
