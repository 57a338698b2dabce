"""Units of systemd and lines for cron that start a learning command; each is shown before it is written."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from deciban.cli.error_handling import print_stderr
from deciban.errors import InputError

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

Confirm = Callable[[str, bool], bool]
"""A function that asks a question, proposes an answer, and returns the one that is given."""


def install_service(service: str | None, words: Sequence[str], confirm: Confirm) -> list[str]:
    """Write what starts a command from time to time, and return the steps that are left to the user.

    `service` is "systemd", "cron" or "none"; None is the first of them that can start this command here.
    """
    is_watch, is_imap = "watch" in words, any(word.startswith(("imap:", "imaps:")) for word in words)
    if service is None:
        programs = {"systemctl": "systemd", "crontab": "cron"} if is_watch else {"crontab": "cron"}
        service = next((name for program, name in programs.items() if shutil.which(program)), "none")
    if service == "systemd":
        if not is_watch:
            raise InputError("an mbox cannot be watched. Hint: --service cron has it learned every night")
        start = "to start it: systemctl --user daemon-reload && systemctl --user enable --now deciban-watch"
        give = f"to give it the password: a line {PASSWORD_LINE} in ~/{PASSWORD_FILE}, then chmod 600 on that file"
        return ([give] if is_imap else []) + [start] if _write_unit(words, is_imap, confirm) else []
    if service == "cron" and _write_cron_line(words, is_watch, confirm):
        return [f"to give it the password: crontab -e, and a line {PASSWORD_LINE} above the other"] if is_imap else []
    return [f"to {'learn from what you move' if is_watch else 'learn more, now and then'}: {shlex.join(words)}"]


def _write_unit(words: Sequence[str], is_imap: bool, confirm: Confirm) -> bool:
    """Show the unit and write it to the user's folder; return whether it is there."""
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
    if not confirm(question, before is None):
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


def _write_cron_line(words: Sequence[str], is_watch: bool, confirm: Confirm) -> bool:
    """Show a line for cron and add it to the user's table; return whether it is there."""
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
    if not confirm("Add this line to your crontab?", True):
        return False
    new = "\n".join([*lines, line, ""]).encode(errors="surrogateescape")
    subprocess.run(["crontab", "-"], input=new, check=True)
    print_stderr("crontab: the line was added")
    return True
