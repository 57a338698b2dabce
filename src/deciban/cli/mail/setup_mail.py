"""`deciban mail setup`: from a mailbox to a filter that learns by itself, question by question.

What is found is proposed, what would be written (units of systemd, lines for cron) is shown first, and no file is
replaced without a question.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from deciban.cli.error_handling import handle_errors, print_stderr
from deciban.cli.mail import mail_inputs as a
from deciban.cli.mail.learn_mail import KEPT, learn
from deciban.cli.mail.mail_inputs import open_to_classify
from deciban.cli.parser import choice
from deciban.errors import InputError
from deciban.formatting import format_count

MAX_SHOWN_FOLDERS: Final = 20
"""Number of folders that are listed where none is known to be for spam."""

PASSWORD_FILE: Final = ".config/deciban/imap-password"
"""The file in the user's home from which a unit takes the password of an IMAP account."""

PASSWORD_LINE: Final = "DECIBAN_IMAP_PASSWORD=…"

UNIT: Final = """\
[Unit]
Description=Learns from what is moved to Junk and back

[Service]
{environment}ExecStart={command}
Restart=on-failure
RestartSec=30
UMask=0077
MemoryMax=1G
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=default.target
"""
"""The unit of systemd that runs `deciban mail watch`, as in docs/guides/mail-recipes.md."""

PLAIN_WORD: Final = re.compile(r"[\w@%+=:,./~?&-]+", re.ASCII)


class Dialogue:
    """Questions on standard error and answers from standard input; with `yes` every proposal is accepted."""

    def __init__(self, yes: bool) -> None:
        self._yes = yes

    def ask(self, question: str, proposal: str, option: str) -> str:
        """Return an answer, or the proposal if it is empty; InputError with `option` as its hint if both are."""
        answer = ""
        if not self._yes:
            print_stderr(f"{question}{f' [{proposal}]' if proposal else ''}")
            answer = self._read()
        if not (answer or proposal):
            raise InputError(f"{question} There was no answer. Hint: {option} gives it")
        return answer or proposal

    def confirm(self, question: str, proposal: bool = True) -> bool:
        """Return whether the answer is yes; an empty one, and `--yes`, is the proposal."""
        if self._yes:
            return proposal
        print_stderr(f"{question} [{'Y/n' if proposal else 'y/N'}]")
        answer = self._read().lower()
        return answer.startswith("y") if answer else proposal

    def _read(self) -> str:
        line = sys.stdin.readline()
        if not line:
            raise InputError("there are no more answers, so nothing else was done. Hint: --yes accepts all proposals")
        return line.strip()


@a.command(
    a.option("--mail", "PATH", "Where mail arrives: a Maildir, an mbox, imaps://user@host, or joe@example.org."),
    a.option("--junk", "PATH", "Where spam is; unless given, it is sought by its name."),
    choice("--service", "systemd|cron|none", "What starts deciban mail watch; unless given, what this machine has."),
    a.flag("--move", "Move spam that arrives in an IMAP folder to Junk, too."),
    a.flag("--yes", "Ask nothing: accept what is found, and replace no file."),
    a.STORE, a.DEBUG,
    examples=["deciban mail setup", "deciban mail setup --mail ~/Maildir --yes"],
)  # fmt: skip
def setup(
    mail: str | None, junk: str | None, service: str | None, move: bool, yes: bool, store: str | None, debug: bool
) -> None:
    """Set a filter up: find the mail and its Junk, learn both, measure how good it is, and have it learn on.

    Questions are answered by lines on standard input; an empty line accepts what is proposed in brackets.
    """
    dialogue = Dialogue(yes)
    with handle_errors(debug, interrupted=KEPT):
        inbox = _choose_mail(mail, dialogue)
        spam = expand_home(junk or _choose_junk(inbox, dialogue))
        a.check_paths([inbox, spam])
        a.refuse_same_source({"wanted mail": [inbox], "spam": [spam]})
        command = _build_command(inbox, spam, move, store)
        print_stderr(f"wanted mail: {inbox}\nspam:        {spam}")
        if not dialogue.confirm("Learn these messages?"):
            return
        wanted = _find_read_part(inbox)
        learn.function(
            ham=wanted, spam=[spam], label=None, store=store, subfolders=False, trashed=False,
            no_fit=False, json=False, debug=debug,
        )  # fmt: skip
        _evaluate(store)
        steps = install_service(service, command, dialogue)
        option = f" --store {shlex.quote(store)}" if store else ""
        if not wanted:
            print_stderr(f"{inbox}: no message was read yet, so none was learned as ham")
            read = shlex.quote(str(Path(inbox, "cur")))
            steps.append(f"to learn wanted mail once you have read some: deciban mail learn --ham {read}{option}")
        steps.append(f"to see what new mail is: deciban mail classify {shlex.quote(inbox)}{option}")
        print_stderr("\n".join(["", "Next steps:", *(f"  {step}" for step in steps)]))


def _choose_mail(given: str | None, dialogue: Dialogue) -> str:
    """Return where the mail is, by the option, what is found or the answer."""
    from deciban.mail.sources.mailbox_search import address_to_url, find_mailboxes

    if given is None:
        found = find_mailboxes(Path.home())
        if len(found) > 1:
            print_stderr("\n".join(["Mailboxes on this machine:", *(f"  {path}" for path in found)]))
        question = "Where does your mail arrive? (A Maildir, an mbox, imaps://user@host, or a mail address)"
        given = dialogue.ask(question, found[0] if found else "", "--mail PATH")
    return expand_home(address_to_url(given))


def expand_home(path: str) -> str:
    """Return a path with ~ replaced by the user's home; an address on a server as it is."""
    return path if path.lower().startswith(("imap://", "imaps://")) else str(Path(path).expanduser())


def _choose_junk(inbox: str, dialogue: Dialogue) -> str:
    """Return the folder for spam: the first with a name for it, unasked, or the answer.

    The password of an IMAP account is kept in `os.environ`, for the connections that follow.
    """
    from deciban.mail.sources.imap_connection import PASSWORD, password_for
    from deciban.mail.sources.mailbox_search import is_junk_name, list_neighbours

    def keep_password(address: Any) -> str:
        os.environ[PASSWORD] = password_for(address)
        return os.environ[PASSWORD]

    folders = list_neighbours(inbox, keep_password)
    found = [path for name, path in folders if is_junk_name(name)]
    if found:
        return found[0]
    names = [path for _, path in folders[:MAX_SHOWN_FOLDERS]]
    if names:
        print_stderr("\n".join(["No folder has a name for spam. There are:", *(f"  {name}" for name in names)]))
    return dialogue.ask("Which folder has your spam?", "", "--junk PATH")


def _find_read_part(inbox: str) -> list[str]:
    """Return the part of a mailbox that its reader has seen: `cur` of a Maildir, nothing if that has no messages.

    Of any other mailbox it is the whole. New mail of a Maildir may be anything.
    """
    from deciban.mail.sources.message_sources import source_kind

    if source_kind(inbox) != "maildir":
        return [inbox]
    seen = Path(inbox, "cur")
    return [str(seen)] if any(not file.name.startswith(".") for file in seen.iterdir()) else []


def _evaluate(store: str | None) -> None:
    """Measure the filter on all messages that were learned, if there are enough."""
    from deciban.cli.mail.evaluate_mail import DEFAULT_FOLDS, show_report
    from deciban.mail.evaluation.evaluate_filter import evaluate_folds
    from deciban.mail.evaluation.labelled_mail import LabelledMail

    with open_to_classify(store) as mail:
        known = LabelledMail.from_store(mail.store)
        fewest = min(int((known.codes == code).sum()) for code in (0, 1))
        if fewest < DEFAULT_FOLDS:
            print_stderr(f"{format_count(fewest, 'message')} of one kind: too few to measure how good the filter is.")
            return
        show_report(evaluate_folds(known, model=mail.model), with_mistakes=False)
        sys.stdout.flush()


def _build_command(inbox: str, spam: str, move: bool, store: str | None) -> list[str]:
    """Return the words of the command that keeps learning, with absolute paths; refuse `move` except on IMAP.

    It is `watch` where both mailboxes are Maildirs or on IMAP, else `learn`, of a Maildir only what was read.
    """
    from deciban.mail.sources.message_sources import source_kind

    kinds = {path: source_kind(path) for path in (inbox, spam)}
    if move and set(kinds.values()) != {"imap"}:
        raise InputError(f"{inbox}: only mail on an IMAP server can be moved. Hint: leave out --move")
    ham, junk = (path if kinds[path] == "imap" else str(Path(path).absolute()) for path in (inbox, spam))
    program = shutil.which("deciban")
    words = [program] if program else [sys.executable, "-m", "deciban.cli.main"]
    if set(kinds.values()) <= {"imap", "maildir"}:
        words += ["mail", "watch", "--ham", ham, "--junk", junk, *(["--move"] if move else [])]
    else:
        read = str(Path(ham, "cur")) if kinds[inbox] == "maildir" else ham
        words += ["mail", "learn", "--ham", read, "--spam", junk, "--json"]
    return [*words, "--store", str(a.store_path(store).absolute())]


def install_service(service: str | None, words: Sequence[str], dialogue: Dialogue) -> list[str]:
    """Have systemd or cron run a command, and return the steps that are left to the user, as texts.

    `words` are the command and its arguments: `deciban mail watch …`, which systemd keeps running and cron starts
    every five minutes, or `deciban mail learn …`, which cron starts every night. `service` is "systemd", "cron" or
    "none"; None is the first of them that can run this command here. Nothing is written unless the user agrees.
    """
    is_watch, is_imap = "watch" in words, any(word.lower().startswith(("imap:", "imaps:")) for word in words)
    if service is None:
        programs = {"systemctl": "systemd", "crontab": "cron"} if is_watch else {"crontab": "cron"}
        service = next((name for program, name in programs.items() if shutil.which(program)), "none")
    if service == "systemd":
        if not is_watch:
            raise InputError("an mbox cannot be watched. Hint: --service cron has it learned every night")
        start = "to start it: systemctl --user daemon-reload && systemctl --user enable --now deciban-watch"
        give = f"to give it the password: a line {PASSWORD_LINE} in ~/{PASSWORD_FILE}, then chmod 600 on that file"
        if _write_unit(words, is_imap, dialogue):
            return [*([give] if is_imap else []), start]
    if service == "cron" and _write_cron_line(words, is_watch, dialogue):
        return [f"to give it the password: crontab -e, and a line {PASSWORD_LINE} above the other"] if is_imap else []
    return [f"to {'learn from what you move' if is_watch else 'learn more, now and then'}: {shlex.join(words)}"]


def _write_unit(words: Sequence[str], is_imap: bool, dialogue: Dialogue) -> bool:
    """Show the unit on stderr and, if confirmed, write it to the user's folder; return whether it is there now."""
    environment = f"EnvironmentFile=-%h/{PASSWORD_FILE}\n" if is_imap else ""
    text = UNIT.format(environment=environment, command=" ".join(map(quote_for_systemd, words)))
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path = config / "systemd" / "user" / "deciban-watch.service"
    before = path.read_text(errors="replace") if path.exists() else None
    if before == text:
        print_stderr(f"{path}: is there already")
        return True
    print_stderr(f"\n{path}:\n\n{text}")
    question = "Write this file?" if before is None else "Another file of that name is there. Replace it?"
    if not dialogue.confirm(question, before is None):
        print_stderr(f"{path}: {'not written' if before is None else 'left as it was'}")
        return False
    from deciban.cli.files import atomic_file

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as unfinished:
        unfinished.write_text(text)
    print_stderr(f"{path}: written")
    return True


def quote_for_systemd(word: str) -> str:
    """Return a word of a command as a unit of systemd writes it.

    >>> quote_for_systemd("imaps://joe%40x.org@x.org/INBOX"), quote_for_systemd("My $mail")
    ('imaps://joe%%40x.org@x.org/INBOX', '"My $$mail"')
    """
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("%", "%%")
    return escaped if PLAIN_WORD.fullmatch(word) else f'"{escaped}"'


def _write_cron_line(words: Sequence[str], is_watch: bool, dialogue: Dialogue) -> bool:
    """Show a line for cron and, if confirmed, add it to the user's crontab; return whether it is there now.

    The line runs `words` every five minutes with `--once` if they are those of `mail watch`, else every night.
    """
    when, more = ("*/5 * * * *", " --once") if is_watch else ("40 3 * * *", " > /dev/null")
    line = f"{when} {shlex.join(words)}{more}".replace("%", "\\%")
    if not shutil.which("crontab"):
        raise InputError("there is no crontab on this machine. Hint: --service none, or install cron")
    table = subprocess.run(["crontab", "-l"], capture_output=True, text=True, errors="surrogateescape", check=False)
    if table.returncode and "no crontab" not in table.stderr:
        raise InputError(f"your crontab cannot be read: {table.stderr.strip()}. Hint: --service none")
    lines = table.stdout.splitlines()
    if line in lines:
        print_stderr("crontab: the line is there already")
        return True
    print_stderr(f"\nA line for cron:\n\n{line}\n")
    if not dialogue.confirm("Add this line to your crontab?", True):
        return False
    new = "\n".join([*lines, line, ""]).encode(errors="surrogateescape")
    subprocess.run(["crontab", "-"], input=new, check=True)
    print_stderr("crontab: the line was added")
    return True
