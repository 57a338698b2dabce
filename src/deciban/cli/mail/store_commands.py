"""Mail commands on a store: what it holds and how it is set, its maintenance, copies, and exchange between stores.

These are `deciban mail status`, `set`, `fit`, `tidy`, `check`, `backup`, `merge`, `export` and `import`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.command_groups import REFUSED
from deciban.cli.error_handling import handle_errors, print_stderr, show_spinner
from deciban.cli.files import atomic_file, check_output, print_json
from deciban.cli.mail import mail_inputs as a
from deciban.cli.mail.learn_mail import KEPT, format_inseparable, maintain_and_report, run_maintenance
from deciban.cli.mail.mail_inputs import format_counts, open_to_classify, open_to_learn, store_path
from deciban.errors import InputError, UsageError
from deciban.formatting import format_count, format_thousands, to_one_line
from deciban.mail.status_figures import DAY, describe_figures, read_figures

if TYPE_CHECKING:
    from deciban.mail.filter import MailFilter
    from deciban.mail.store.text_exchange import MergeCounts

MAX_SHOWN_DISPUTES: Final = 5
"""Number of messages with two labels that are reported one by one."""


@a.command(a.STORE, a.JSON, a.DEBUG, examples=["deciban mail status"])
def status(store: str | None, json: bool, debug: bool) -> None:
    """Show the store's file, what was learned, the model that classifies, and whether it is ready, or why not."""
    with handle_errors(debug):
        path = store_path(store)
        if path.exists():
            with open_to_classify(store) as mail:
                figures = read_figures(mail)
        else:
            reason = "there is no store yet; deciban mail learn --ham PATH --spam PATH makes it"
            figures = {"store": str(path), "exists": False, "ready": False, "why": reason, "messages": {}}
        if json:
            print_json(figures)
            return
        from deciban.cli.render import Screen

        out = Screen()
        out.print_heading(to_one_line(figures["store"]))
        entries = describe_figures(figures) if figures["exists"] else []
        out.print_pairs([*entries, ("ready", "yes" if figures["ready"] else f"no: {figures['why']}")])


@a.command(
    a.option("--model", "MODEL", "The model: evidence, bayes, logistic or fisher."),
    a.number("--ham-at", "P", "Ham up to this probability of spam.", minimum=0, maximum=1, kind=float),
    a.number(
        "--spam-at", "P", "Spam from this probability on; auto: chosen at each fit, so that --max-lost-ham is kept.",
        minimum=0, maximum=1, kind=float, word="auto",
    ),
    a.number(
        "--max-lost-ham", "RATE", "Rate of ham that may be lost, as an upper 95 % bound: 0.001 unless given.",
        minimum=1e-6, maximum=0.5, kind=float,
    ),
    a.number(
        "--half-life", "DAYS", "Days in which a message loses half its weight; none: it never does.",
        minimum=0, excluded=(0.0, math.inf), kind=float, word="none",
    ),
    a.number("--most-messages", "NUMBER", "Messages that are kept; of more, tidying unlearns the oldest.", minimum=1),
    a.STORE, a.NO_FIT, a.DEBUG,
    examples=["deciban mail set --spam-at 0.99", "deciban mail set --half-life 180 --most-messages 50000"],
)  # fmt: skip
def set_options(
    model: str | None, ham_at: float | None, spam_at: float | str | None, max_lost_ham: float | None,
    half_life: float | str | None, most_messages: int | None, store: str | None, no_fit: bool, debug: bool,
) -> None:  # fmt: skip
    """Choose the model, where ham ends and spam begins, how messages age, and how many are kept."""
    given: dict[str, Any] = {
        "ham_at": ham_at, "spam_at": spam_at, "max_lost_ham": max_lost_ham,
        "most_messages": most_messages, "model": model,
    }  # fmt: skip
    values = {key: value for key, value in given.items() if value is not None}
    if half_life is None and not values:
        raise UsageError("nothing to set. Hint: deciban mail status shows what is set")
    with handle_errors(debug, interrupted="nothing was set"), open_to_learn(store, create=True) as mail:
        from deciban.mail.store.store_schema import check_threshold_order

        with mail.store.write_transaction():  # all or none
            if "ham_at" in values or "spam_at" in values:  # stored ones may be of a version that did not check them
                low, high = (values.get(key, mail.store.setting(key)) for key in ("ham_at", "spam_at"))
                check_threshold_order(low, None if high == "auto" else high)
            for key, value in values.items():
                mail.store.set(key, None if value == "auto" else value)
            changes = [f"{key.replace('_', '-')} {value}" for key, value in values.items()]
            if half_life is not None:
                mail.store.age(None if isinstance(half_life, str) else half_life * DAY)
                changes.append(f"half-life {half_life if isinstance(half_life, str) else f'{half_life:g} days'}")
        print_stderr(f"{store_path(store)}: {', '.join(changes)}")
        if model is not None:  # another model may never have been fitted
            from deciban.mail.filter import MailFilter

            with MailFilter(mail.store, model=model) as other:
                run_maintenance(other, store, no_fit)


@a.command(
    a.STORE,
    a.flag("--if-due", "Only if enough was learned since the last time."),
    a.DEBUG,
    examples=["deciban mail fit --if-due"],
)  # fmt: skip
def fit(store: str | None, if_due: bool, debug: bool) -> None:
    """Refit the weights of tokens to all messages that were learned."""
    with handle_errors(debug, interrupted="what was fitted before is kept"), open_to_learn(store) as mail:
        from deciban.mail.filter import RefitResult
        from deciban.mail.model.mail_models import MIN_MESSAGES_PER_LABEL, MIN_MESSAGES_TO_FIT

        if if_due and not mail.is_fit_due():
            print_stderr(f"{mail.model}: not due")
            return
        with show_spinner("fitting the weights of tokens …"):
            done = mail.refit(force=True)
        totals = {name: n for name, (n, _) in mail.store.totals().items() if n}
        if done:
            print_stderr(f"{mail.model}: fitted to {format_count(sum(totals.values()), 'message')}")
        elif done is RefitResult.NO_PARAMETERS:
            print_stderr("fisher: nothing to fit, it takes counts as they are")
        elif done is RefitResult.INSEPARABLE:
            raise InputError(format_inseparable(mail.model, totals))
        else:
            needed = f"{MIN_MESSAGES_TO_FIT} messages, and {MIN_MESSAGES_PER_LABEL} of each label"
            raise InputError(
                f"{mail.model}: {format_counts(totals)} learned; a fit needs {needed}. "
                "Hint: deciban mail learn --ham PATH --spam PATH"
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
        unlearned = format_count(done.unlearned, "message") if done.unlearned else "no message"
        renewed = ", all weights recomputed" if done.renewed else ""
        print_stderr(f"{store_path(store)}: {unlearned} unlearned{renewed}")


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
            print_json({"store": path, "problems": problems, "mended": mended, "left": left})
            return REFUSED if left else 0
        for problem in problems:
            print(to_one_line(problem))
        if left:
            hint = "put a backup in its place" if mended else "--mend recounts; else put a backup in its place"
            print_stderr(f"error: {path} is damaged. Hint: {hint}")
            return REFUSED
        print_stderr(f"{path}: {'mended' if mended else 'no problems found'}")
        return 0


@a.command(
    a.argument("file", metavar="FILE", type=Path, help="The copy to write."),
    a.STORE, a.DEBUG,
    examples=["deciban mail backup mail-copy.db"],
)  # fmt: skip
def backup(file: Path, store: str | None, debug: bool) -> None:
    """Copy a store as it is now, even while it is in use; an earlier copy of that name is replaced."""
    with handle_errors(debug), open_to_classify(store) as mail:
        mail.store.backup(file)
        print_stderr(f"{file}: {_format_message_count(mail)}")


@a.command(
    a.argument("others", nargs="+", metavar="OTHER", type=Path, help="Other mail stores."),
    a.STORE, a.NO_FIT, a.JSON, a.DEBUG,
    examples=["deciban mail merge laptop.db"],
)  # fmt: skip
def merge(others: Sequence[Path], store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Learn the messages of other stores; those known here under another label stay as they are, and are reported."""
    with handle_errors(debug, interrupted=KEPT), ExitStack() as opened:
        for other in others:  # one that is refused must not leave an empty store, or half of the work done
            with open_to_classify(str(other)):
                pass
        mail = opened.enter_context(open_to_learn(store, create=True))
        merged = [_report(str(other), mail.store.merge(other.expanduser()), json) for other in others]
        maintain_and_report(mail, store, no_fit, json, merged=merged)


@a.command(
    a.argument("file", nargs="?", metavar="FILE", default="-", help="The file to write; -: standard output."),
    a.STORE, a.DEBUG,
    examples=["deciban mail export mail.jsonl", "deciban mail export | gzip > mail.jsonl.gz"],
)  # fmt: skip
def export(file: str, store: str | None, debug: bool) -> None:
    """Write a store as text: JSON, a line per message. Stores of equal content give equal text."""
    with handle_errors(debug), open_to_classify(store) as mail:
        lines = mail.store.export()
        if file == "-":
            for line in lines:
                sys.stdout.buffer.write(line.encode())
            sys.stdout.buffer.flush()
            return
        _refuse_own_file(mail.store.path, file)
        check_output(file)
        with atomic_file(file, 0o600) as unfinished, unfinished.open("wb") as written:
            written.writelines(line.encode() for line in lines)
        print_stderr(f"{file}: {_format_message_count(mail)}")


@a.command(
    a.argument("file", metavar="FILE", help="The text; -: standard input."),
    a.STORE, a.NO_FIT, a.JSON, a.DEBUG,
    examples=["deciban mail import mail.jsonl", "deciban mail import - < mail.jsonl"],
)  # fmt: skip
def import_text(file: str, store: str | None, no_fit: bool, json: bool, debug: bool) -> None:
    """Learn the messages of a store's text; an empty store takes over its labels and settings too."""
    with handle_errors(debug, interrupted="nothing was learned"), TemporaryDirectory() as folder:
        from deciban.mail.store.text_exchange import check_text

        path = Path(file).expanduser()
        if file == "-" or not path.is_file():  # a pipe can be read only once, and its copy twice
            pipe = nullcontext(sys.stdin.buffer) if file == "-" else path.open("rb")
            path = Path(folder, "text")
            with pipe as source, path.open("wb") as copy:
                copyfileobj(source, copy)
        open_text = partial(path.open, encoding="utf-8", errors="replace", newline="\n")
        if not store_path(store).exists():  # a text that is refused must not leave an empty store behind
            with open_text() as lines:
                check_text(lines)
        with open_to_learn(store, create=True) as mail:
            _refuse_own_file(mail.store.path, file)
            with open_text() as lines:
                merged = mail.store.absorb_text(lines)
            maintain_and_report(mail, store, no_fit, json, merged=[_report(file, merged, json)])


def _format_message_count(mail: MailFilter) -> str:
    return format_count(sum(n for n, _ in mail.store.totals().values()), "message")


def _refuse_own_file(store: Path, file: str) -> None:
    """Refuse to read or replace the store itself, or a file that SQLite keeps next to it."""
    from deciban.mail.store.live_files import companions, is_live

    path = Path(file).expanduser()
    if is_live(path) or path.resolve() in companions(store):
        raise InputError(f"{file!r} is the store itself, or a file of it. Hint: name another file")


def _report(name: str, merged: MergeCounts, quiet: bool) -> dict[str, Any]:
    """Report the messages of another store, and return the figures for JSON."""
    disputed = [{"digest": digest.hex(), "here": here, "there": there} for digest, here, there in merged.disputed]
    if not quiet:
        counts = {"new": merged.new, "known already": merged.known}
        print_stderr(f"{name}: {format_counts(counts, {'known here under another label': len(disputed)})}")
        for message in disputed[:MAX_SHOWN_DISPUTES]:
            print_stderr(f"  {message['digest']}: {message['here']} here, {message['there']} there")
        if len(disputed) > MAX_SHOWN_DISPUTES:
            print_stderr(f"  … and {format_thousands(len(disputed) - MAX_SHOWN_DISPUTES)} more")
    return {"from": name, "new": merged.new, "known": merged.known, "disputed": disputed}
