"""`deciban mail fit`, `tidy` and `check`: what keeps a store fit for judging."""

from __future__ import annotations

from typing import Annotated

import typer

from deciban.cli import options as a
from deciban.cli.error_handling import manners, say, status
from deciban.cli.exit_codes import REFUSED
from deciban.cli.mail import mail_options as o
from deciban.cli.mail.learn_messages import no_difference
from deciban.cli.mail.open_store import judging, learning, store_path
from deciban.errors import InputError
from deciban.formatting import spaced

FIT = a.example("deciban mail fit --if-due")
TIDY = a.example("deciban mail tidy")
CHECK = a.example("deciban mail check", "deciban mail check --mend")
IfDue = Annotated[bool, typer.Option("--if-due", help="Only if enough was learned since the last time.")]
Now = Annotated[bool, typer.Option("--now", help="Weigh all messages anew too, though it is not due yet.")]
Mend = Annotated[bool, typer.Option("--mend", help="Make counts that are wrong anew, from the messages.")]


def fit(store: o.StoreFile = None, if_due: IfDue = False, debug: a.Debug = False) -> None:
    """Fit anew how far words are to be trusted, to all messages that were learned."""
    with manners(debug, interrupted="what was fitted before is kept"), learning(store) as mail:
        from deciban.mail.model.refit import RefitResult

        if if_due and not mail.is_fit_due():
            typer.echo(f"{mail.model}: not due", err=True)
            return
        with status("fitting how far words are trusted …"):
            done = mail.refit(force=True)
        totals = {name: n for name, (n, _) in mail.store.totals().items() if n}
        if done:
            typer.echo(f"{mail.model}: fitted to {spaced(sum(totals.values()))} messages", err=True)
        elif done is RefitResult.NO_PARAMETERS:
            typer.echo("fisher: nothing to fit, it takes counts as they are", err=True)
        else:
            inseparable = done is RefitResult.INSEPARABLE
            raise InputError(no_difference(mail.model, totals) if inseparable else _too_few(mail.model, totals))


def _too_few(model: str, totals: dict[str, int]) -> str:
    """Return the message for a store with too few messages to fit."""
    from deciban.mail.model.minimum_counts import MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT

    held = ", ".join(f"{n} {name}" for name, n in totals.items()) or "nothing"
    return (
        f"{model}: {held} learned; to fit it takes {MIN_MESSAGES_TO_FIT} messages, and {MIN_MESSAGES_PER_LABEL} of each label. "
        "Hint: deciban mail learn --ham PATH --spam PATH"
    )


def tidy(store: o.StoreFile = None, now: Now = False, debug: a.Debug = False) -> None:
    """Unlearn the oldest messages beyond the bound, and weigh anew where messages have aged much."""
    with manners(debug, interrupted="nothing was tidied"), learning(store) as mail:
        done = mail.store.tidy(now)
        said = f"{spaced(done.unlearned)} messages unlearned" if done.unlearned else "no message unlearned"
        say(f"{store_path(store)}: {said}{', all weighed anew' if done.renewed else ''}")


def check(store: o.StoreFile = None, mend: Mend = False, json: a.AsJson = False, debug: a.Debug = False) -> None:
    """See whether the file is whole, and whether all counts are those of its messages. Exit code 1 if not."""
    with manners(debug, interrupted="nothing was changed"):
        with learning(store) if mend else judging(store) as mail:
            found = mail.store.check()
            mended = bool(found) and mend
            if mended:
                mail.store.recount()
            left = mail.store.check() if mended else found
            path = str(store_path(store))
        if json:
            from deciban.cli.output import print_json

            print_json({"store": path, "problems": found, "mended": mended, "left": left})
        else:
            _show_problems(path, found, mended, left)
        if left:
            raise typer.Exit(REFUSED)


def _show_problems(path: str, found: list[str], mended: bool, left: list[str]) -> None:
    from deciban.cli.render import one_line

    for problem in found:
        print(one_line(problem))
    if not found:
        say(f"{path}: all is as it should be")
    elif mended and not left:
        say(f"{path}: mended")
    else:
        hint = "put a backup in its place" if mended else "--mend counts anew; else put a backup in its place"
        say(f"error: {path} is not as it should be. Hint: {hint}")
