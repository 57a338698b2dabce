"""procmail and maildrop, by the files that the document prints."""

import shutil
import subprocess

import pytest

from tests.mail.spamds import make_message
from tests.recipes.document import printed
from tests.recipes.homes import PROGRAM, STORE, TROUBLES, environment, messages, spoil


def procmail(home, message):
    """Deliver as a mail system does; the home is given on the command line, as procmail looks it up itself."""
    (home / ".procmailrc").write_text(printed("~/.procmailrc"))
    return deliver(["procmail", f"HOME={home}", home / ".procmailrc"], home, message)


def maildrop(home, message):
    """Deliver by maildrop, whose home can only be given in the file itself."""
    file = home / ".mailfilter"
    file.write_text(f'HOME="{home}"\n' + printed("~/.mailfilter"))
    file.chmod(0o600)
    return deliver(["maildrop", file], home, message)


def deliver(command, home, message):
    done = subprocess.run(
        command, input=message, capture_output=True, env=environment(home), cwd=home, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


PROGRAMS = [
    pytest.param(call, marks=pytest.mark.skipif(not shutil.which(call.__name__), reason=f"needs {call.__name__}"))
    for call in (procmail, maildrop)
]


@pytest.mark.parametrize("delivering", PROGRAMS)
def test_mail_is_classified_and_sorted(delivering, own):
    for label in ("ham", "spam"):
        delivering(own, make_message(label, 100))
    (ham,), (spam,) = messages(own / "Maildir"), messages(own / "Maildir/.Junk")
    for label, found in (("ham", ham), ("spam", spam)):
        first, _, rest = found.partition(b"\n")
        assert first.startswith(f"X-Deciban: {label}; p=".encode())
        assert rest == make_message(label, 100)


@pytest.mark.parametrize("delivering", PROGRAMS)
@pytest.mark.parametrize("trouble", TROUBLES)
def test_mail_passes_as_it_came_whatever_is_wrong(delivering, trouble, own):
    spoil(trouble, own / STORE, own / PROGRAM)
    delivering(own, make_message("spam", 100))
    assert messages(own / "Maildir") == [make_message("spam", 100)]
    assert messages(own / "Maildir/.Junk") == []
