"""`deciban mail setup`: from a mailbox to a filter that learns, by answers or by options."""

import os
import pty
import shutil
import subprocess
import sys

import pytest

from deciban.errors import InputError
from deciban.mail.sources.mailbox_search import address_to_url, find_mailboxes, is_junk_name, list_neighbours
from deciban.mail.store.store import Store
from tests.cli.mail_commands import mail, maildir, mbox
from tests.cli.terminal import call
from tests.mail import dovecot
from tests.mail.spamds import make_message

ANALYZE = shutil.which("systemd-analyze")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with a Maildir and its Junk, where nothing is written but by the command."""
    for name, value in (("HOME", tmp_path), ("XDG_CONFIG_HOME", tmp_path / ".config"), ("USER", "nobody-at-all")):
        monkeypatch.setenv(name, str(value))
    for name in ("DECIBAN_MAIL", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    maildir(tmp_path / "Maildir", "ham", range(60))
    maildir(tmp_path / "Maildir" / ".Junk", "spam", range(20))
    return tmp_path


@pytest.fixture
def crontab(tmp_path, monkeypatch):
    """A program in the place of cron's, which keeps the table in a file."""
    table, program = tmp_path / "table", tmp_path / "bin" / "crontab"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nif [ "$1" != -l ]; then cat > {table}; exit; fi\n'
        f'[ -e {table} ] || echo "no crontab for me" >&2\ncat {table} 2>/dev/null\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return table


def learned(store):
    with Store(store, create=False) as held:
        return {label: n for label, (n, _) in held.totals().items() if n}


def unit_of(home):
    return home / ".config/systemd/user/deciban-watch.service"


STORE = ".local/share/deciban/mail.db"


def test_empty_answers_accept_what_is_found(home):
    result = mail("setup", "--service", "systemd", stdin="\n\n\n")
    assert result.exit_code == 0, result.stderr
    assert (
        f"Where does your mail arrive? (A Maildir, an mbox, imaps://user@host, or a mail address) [{home}/Maildir]"
        in (result.stderr)
    )
    assert f"spam:        {home}/Maildir/.Junk" in result.stderr
    assert learned(home / STORE) == {"ham": 30, "spam": 20}  # what is in `new` nobody has seen
    assert "Verdicts" in result.stdout
    unit = unit_of(home).read_text()
    assert unit in result.stderr
    assert f"mail watch --ham {home}/Maildir --junk {home}/Maildir/.Junk --store {home / STORE}\n" in unit
    assert (
        "to start it: systemctl --user daemon-reload && systemctl --user enable --now deciban-watch" in result.stderr
    )
    assert result.stderr.index("Write this file?") > result.stderr.index("ExecStart=")


def test_options_answer_for_scripts(home):
    result = mail("setup", "--mail", home / "Maildir", "--service", "none", "--yes", "--store", home / "own.db")
    assert result.exit_code == 0, result.stderr
    assert learned(home / "own.db") == {"ham": 30, "spam": 20}
    assert not unit_of(home).exists()
    assert f"mail watch --ham {home}/Maildir" in result.stderr
    assert f"deciban mail classify {home}/Maildir --store {home}/own.db" in result.stderr


def test_a_person_at_a_terminal_is_asked(home):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "deciban.cli.main", "mail", "setup", "--service", "none"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}
    )
    os.close(theirs)
    shown, answers = b"", {b"Where does your mail arrive?": b"~/Maildir\n", b"Learn these messages?": b"yes\n"}
    try:
        while piece := os.read(ours, 1 << 12):
            shown += piece
            for question in [question for question in answers if question in shown]:
                os.write(ours, answers.pop(question))
    except OSError:
        pass
    os.close(ours)
    assert process.wait(120) == 0, shown
    assert b"Next steps:" in shown
    assert learned(home / STORE) == {"ham": 30, "spam": 20}


@pytest.mark.parametrize(("answer", "code"), [("\nn\n", 0), ("", 1), ("\n", 1)], ids=["no", "nothing", "no more"])
def test_without_a_yes_nothing_is_learned_or_written(home, answer, code):
    result = mail("setup", "--service", "systemd", stdin=answer)
    assert result.exit_code == code
    assert not (home / STORE).exists()
    assert not unit_of(home).exists()


def test_a_unit_that_is_declined_leaves_the_command_to_the_user(home):
    result = mail("setup", "--service", "systemd", stdin="\n\nn\n")
    assert result.exit_code == 0
    assert not unit_of(home).exists()
    assert "to learn from what you move:" in result.stderr


def test_a_file_that_is_there_is_replaced_only_if_asked_and_answered(home):
    unit_of(home).parent.mkdir(parents=True)
    unit_of(home).write_text("mine\n")
    result = mail("setup", "--service", "systemd", "--yes")
    assert result.exit_code == 0
    assert "left as it was" in result.stderr
    assert "systemctl" not in result.stderr
    assert "left as it was" in mail("setup", "--service", "systemd", stdin="\n\n\n").stderr
    assert unit_of(home).read_text() == "mine\n"
    assert "written" in mail("setup", "--service", "systemd", stdin="\n\ny\n").stderr
    assert unit_of(home).read_text().startswith("[Unit]")
    assert "is there already" in mail("setup", "--service", "systemd", "--yes").stderr


@pytest.mark.skipif(not ANALYZE, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit_whatever_the_names(home):
    maildir(home / 'My $mail "100%"', "ham", range(12))
    maildir(home / 'My $mail "100%"' / ".Spam", "spam", range(12))
    result = mail("setup", "--mail", home / 'My $mail "100%"', "--service", "systemd", "--yes")
    assert result.exit_code == 0, result.stderr
    arguments = ["verify", "--user", "--man=no", unit_of(home)]
    env = {**os.environ, "SYSTEMD_LOG_LEVEL": "warning", "XDG_RUNTIME_DIR": str(home)}
    done = subprocess.run([ANALYZE, *arguments], capture_output=True, text=True, env=env, check=False)
    about_it = [line for line in done.stderr.splitlines() if "deciban-watch" in line]
    assert (done.returncode, about_it) == (0, []), done.stderr


def test_a_line_for_cron_is_added_once(home, crontab):
    crontab.write_text("0 1 * * * mine\n")
    result = mail("setup", "--service", "cron", "--yes")
    assert result.exit_code == 0, result.stderr
    mine, line = crontab.read_text().splitlines()
    assert mine == "0 1 * * * mine"
    assert line.startswith("*/5 * * * * ")
    assert line.endswith(f"mail watch --ham {home}/Maildir --junk {home}/Maildir/.Junk --store {home / STORE} --once")
    assert line in result.stderr
    assert "there already" in mail("setup", "--service", "cron", "--yes").stderr
    assert len(crontab.read_text().splitlines()) == 2


def test_a_table_that_cannot_be_read_is_not_replaced(home, crontab, tmp_path):
    (tmp_path / "bin/crontab").write_text(
        '#!/bin/sh\n[ "$1" = -l ] || echo replaced > table\necho denied >&2; exit 1\n'
    )
    result = mail("setup", "--service", "cron", "--yes")
    assert result.exit_code == 1
    assert "your crontab cannot be read: denied" in result.stderr
    assert not crontab.exists()


def test_an_mbox_is_learned_every_night(home, crontab):
    box, spam = mbox(home / "INBOX", "ham", range(15)), mbox(home / "Courrier indésirable", "spam", range(15))
    result = mail("setup", "--mail", box, "--yes")
    assert result.exit_code == 0, result.stderr
    assert f"spam:        {spam}" in result.stderr
    assert crontab.read_text().startswith("40 3 * * * ")
    command = crontab.read_text().removeprefix("40 3 * * * ").strip()
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, cwd="/")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    refused = mail("setup", "--mail", box, "--service", "systemd", "--yes")
    assert refused.exit_code == 1
    assert "an mbox cannot be watched" in refused.stderr


@pytest.mark.parametrize("service", ["cron", "systemd"])
def test_moving_is_for_servers(home, service):
    result = mail("setup", "--service", service, "--move", "--yes")
    assert result.exit_code == 1
    assert "only mail on an IMAP server can be moved" in result.stderr
    assert not (home / STORE).exists()


def test_a_mailbox_without_junk_names_the_folders_and_the_option(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    maildir(tmp_path / "Mail", "ham", range(3))
    maildir(tmp_path / "Mail" / ".Sent", "ham", range(3))
    result = mail("setup", "--mail", tmp_path / "Mail", "--yes")
    assert result.exit_code == 1
    assert "Which folder has your spam? There was no answer. Hint: --junk PATH gives it" in result.stderr
    assert f"{tmp_path}/Mail/.Sent" in result.stderr


def test_few_messages_are_learned_and_said_to_be_few(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    maildir(tmp_path / "Mail", "ham", range(20))
    maildir(tmp_path / "Mail" / ".Junk", "spam", range(3))
    result = mail("setup", "--mail", tmp_path / "Mail", "--yes", "--service", "none", "--store", tmp_path / "mail.db")
    assert result.exit_code == 0
    assert "3 messages of one kind: too few" in result.stderr


@pytest.mark.parametrize("hidden", [False, True])
def test_mail_that_nobody_has_read_is_not_learned_as_ham(home, hidden):
    inbox = home / "Maildir"
    for file in (inbox / "cur").iterdir():
        file.rename(inbox / "new" / file.name)
    if hidden:
        (inbox / "cur" / ".keep").touch()
    result = mail("setup", "--service", "none", "--yes")
    assert result.exit_code == 0, result.stderr
    assert learned(home / STORE) == {"spam": 20}
    assert f"{inbox}: no message was read yet, so none was learned as ham" in result.stderr
    assert f"to learn wanted mail once you have read some: deciban mail learn --ham {inbox}/cur" in result.stderr


def test_new_mail_of_a_maildir_is_not_learned_every_night(home, crontab):
    box = mbox(home / "spam.mbox", "spam", range(15))
    result = mail("setup", "--mail", home / "Maildir", "--junk", box, "--yes")
    assert result.exit_code == 0, result.stderr
    assert f"mail learn --ham {home}/Maildir/cur --spam {box} --json" in crontab.read_text()


def test_the_mailbox_itself_is_not_the_folder_for_spam(home):
    result = mail("setup", "--junk", home / "Maildir", "--yes", "--service", "none")
    assert result.exit_code == 2
    assert "is given both for wanted mail and for spam" in result.stderr
    assert not (home / STORE).exists()


def test_nothing_known_and_nobody_to_ask_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USER", "nobody-at-all")
    result = mail("setup", "--yes")
    assert result.exit_code == 1
    assert "Hint: --mail PATH gives it" in result.stderr


@pytest.mark.parametrize(
    "name",
    ["Junk", "INBOX.Spam", "[Gmail]/Spam", "Junk E-mail", "junk-e-mail", "Courrier indésirable", "Posta indesiderata",
     "Correo no deseado", "Lixo Eletrônico", "Ongewenste e-mail", "Skräppost", "Roskaposti", "Nevyžádaná pošta",
     "Levélszemét", "Нежелательная почта", "Спам", "垃圾邮件", "垃圾郵件", "迷惑メール", "정크 메일", "İstenmeyen",
     "Ανεπιθύμητη αλληλογραφία", "דואר זבל", "Junk.mbox", "SPAM"],
)  # fmt: skip
def test_names_for_spam_in_many_languages_are_known(name):
    assert is_junk_name(name)


@pytest.mark.parametrize(
    "name", ["INBOX", "Sent", "Trash", "Gelöscht", "Papierkorb", "Lixo", "Junkers", "", "Archive"]
)
def test_other_folders_are_not_for_spam(name):
    assert not is_junk_name(name)


def test_mailboxes_of_programs_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "nobody-at-all")
    thunderbird = tmp_path / ".thunderbird/x.default/ImapMail/imap.example.org"
    (thunderbird / "INBOX.sbd").mkdir(parents=True)
    mbox(thunderbird / "INBOX", "ham", [1])
    (thunderbird / "INBOX.msf").write_text("x")
    mbox(thunderbird / "INBOX.sbd" / "Spam", "spam", [1])
    apple = tmp_path / "Library/Mail/V10/A"
    for name in ("INBOX.mbox", "Junk.mbox"):
        (apple / name / "Data").mkdir(parents=True)
    assert find_mailboxes(tmp_path) == [str(thunderbird / "INBOX"), str(apple / "INBOX.mbox")]
    junk = [[path for name, path in list_neighbours(box) if is_junk_name(name)] for box in find_mailboxes(tmp_path)]
    assert junk == [[str(thunderbird / "INBOX.sbd" / "Spam")], [str(apple / "Junk.mbox")]]


def test_a_mail_address_names_its_server():
    assert address_to_url("joe@gmail.com") == "imaps://joe%40gmail.com@imap.gmail.com/INBOX"
    assert address_to_url("joe@example.org") == "imaps://joe%40example.org@imap.example.org/INBOX"
    for path in ("~/Maildir", "imaps://joe@example.org/INBOX", "/var/mail/joe"):
        assert address_to_url(path) == path
    with pytest.raises(InputError, match=r"accept no passwords over IMAP, only OAuth.*mail-clients\.md"):
        address_to_url("joe@Hotmail.com")


@pytest.mark.skipif(dovecot.ABSENT is not None, reason=str(dovecot.ABSENT))
@pytest.mark.parametrize("special", [True, False])
def test_junk_on_a_server_is_found_by_its_mark_or_its_name(home, monkeypatch, special):
    monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
    mark = "namespace inbox {\n mailbox Unrat {\n auto = create\n special_use = \\Junk\n }\n}\n"
    with dovecot.running(more=mark if special else "") as server, server.reader() as line:
        for name in ("Sent", "Skr&AOQ-ppost"):
            assert line.create(name)[0] == "OK"
        junk, shown = ("Unrat", "Unrat") if special else ("Skr&AOQ-ppost", "Skr%C3%A4ppost")
        for n in range(12):
            line.append("INBOX", "", None, make_message("ham", n))
            line.append(junk, "", None, make_message("spam", n))
        address = server.address().replace("/INBOX", "")
        result = mail("setup", "--mail", address, "--service", "systemd", "--move", "--yes")
        assert result.exit_code == 0, result.stderr
        assert f"/{shown}?ca=" in result.stderr
        assert learned(home / STORE) == {"ham": 12, "spam": 12}
        unit = unit_of(home).read_text()
        assert "EnvironmentFile=-%h/.config/deciban/imap-password\n" in unit
        assert "joe%%40x.org@" in unit
        assert dovecot.PASSWORD not in result.stderr + unit
        assert " --move --store " in unit
        assert "to give it the password: a line DECIBAN_IMAP_PASSWORD=…" in result.stderr


def test_help_names_every_option():
    shown = call("mail", "setup", "--help").stdout
    for option in ("--mail", "--junk", "--service", "--move", "--yes"):
        assert option in shown
