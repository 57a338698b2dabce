"""`deciban mail fit`, `tidy` and `check`: maintenance of a store."""

from __future__ import annotations

from deciban.cli.error_handling import handle_errors, print_stderr, show_spinner
from deciban.cli.exit_codes import REFUSED
from deciban.cli.mail import mail_parser as a
from deciban.cli.mail.learn_mail import format_inseparable
from deciban.cli.mail.mail_inputs import open_to_classify, open_to_learn, store_path
from deciban.errors import InputError
from deciban.formatting import format_thousands


@a.command(
    a.STORE,
    a.flag("--if-due", "Only if enough was learned since the last time."),
    a.DEBUG,
    examples=["deciban mail fit --if-due"],
)  # fmt: skip
def fit(store: str | None, if_due: bool, debug: bool) -> None:
    """Refit the weights of tokens to all messages that were learned."""
    with handle_errors(debug, interrupted="what was fitted before is kept"), open_to_learn(store) as mail:
        from deciban.mail.model.weight_fitting import RefitResult

        if if_due and not mail.is_fit_due():
            print_stderr(f"{mail.model}: not due")
            return
        with show_spinner("fitting the weights of tokens …"):
            done = mail.refit(force=True)
        totals = {name: n for name, (n, _) in mail.store.totals().items() if n}
        if done:
            print_stderr(f"{mail.model}: fitted to {format_thousands(sum(totals.values()))} messages")
        elif done is RefitResult.NO_PARAMETERS:
            print_stderr("fisher: nothing to fit, it takes counts as they are")
        else:
            inseparable = done is RefitResult.INSEPARABLE
            raise InputError(
                format_inseparable(mail.model, totals) if inseparable else _format_too_few(mail.model, totals)
            )


def _format_too_few(model: str, totals: dict[str, int]) -> str:
    """Return the message for a store with too few messages to fit."""
    from deciban.mail.model.mail_models import MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT

    held = ", ".join(f"{n} {name}" for name, n in totals.items()) or "nothing"
    return (
        f"{model}: {held} learned; a fit needs {MIN_MESSAGES_TO_FIT} messages, and {MIN_MESSAGES_PER_LABEL} of each "
        "label. Hint: deciban mail learn --ham PATH --spam PATH"
    )


@a.command(
    a.STORE,
    a.flag("--now", "Recompute the weights of all messages too, though it is not due yet."),
    a.DEBUG,
    examples=["deciban mail tidy"],
)  # fmt: skip
def tidy(store: str | None, now: bool, debug: bool) -> None:
    """Unlearn the oldest messages beyond the size limit, and recompute weights where messages have aged much."""
    with handle_errors(debug, interrupted="nothing was tidied"), open_to_learn(store) as mail:
        done = mail.store.tidy(now)
        unlearned = (
            f"{format_thousands(done.unlearned)} messages unlearned" if done.unlearned else "no message unlearned"
        )
        print_stderr(f"{store_path(store)}: {unlearned}{', all weights recomputed' if done.renewed else ''}")


@a.command(
    a.STORE,
    a.flag("--mend", "Recompute counts that are wrong, from the messages."),
    a.JSON, a.DEBUG,
    examples=["deciban mail check", "deciban mail check --mend"],
)  # fmt: skip
def check(store: str | None, mend: bool, json: bool, debug: bool) -> int:
    """Check that the file is undamaged, and that all counts are those of its messages. Exit code 1 if not."""
    with handle_errors(debug, interrupted="nothing was changed"):
        with open_to_learn(store) if mend else open_to_classify(store) as mail:
            problems = mail.store.check()
            mended = bool(problems) and mend
            if mended:
                mail.store.recount()
            left = mail.store.check() if mended else problems
            path = str(store_path(store))
        if json:
            from deciban.cli.output import print_json

            print_json({"store": path, "problems": problems, "mended": mended, "left": left})
        else:
            _show_problems(path, problems, mended, left)
        return REFUSED if left else 0


def _show_problems(path: str, problems: list[str], mended: bool, left: list[str]) -> None:
    from deciban.cli.render import to_one_line

    for problem in problems:
        print(to_one_line(problem))
    if not problems:
        print_stderr(f"{path}: no problems found")
    elif mended and not left:
        print_stderr(f"{path}: mended")
    else:
        hint = "put a backup in its place" if mended else "--mend recounts; else put a backup in its place"
        print_stderr(f"error: {path} is damaged. Hint: {hint}")
