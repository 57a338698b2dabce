"""`deciban mail learn`, `unlearn` and `relabel`: what is learned, once, and taken back exactly."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from deciban.mail.filter import MailFilter
from deciban.mail.store.store import Store
from tests.cli.mail_commands import EACH, command, mail, maildir, make_store, mbox, program, start_program
from tests.mail.spamds import make_message


def learned(store):
    with Store(store, create=False) as held:
        return {label: n for label, (n, _) in held.totals().items() if n}


def text_of(store):
    """All that a store holds, but for when it was learned."""
    with Store(store, create=False) as held:
        lines = [json.loads(line) for line in held.export()]
    return sorted((line["digest"], line["label"], tuple(line["tokens"])) for line in lines[1:])


def done(*arguments, stdin=None):
    result = mail(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def test_mail_is_learned_from_every_kind_of_place(tmp_path):
    store = tmp_path / "mail.db"
    packed = tmp_path / "more.mbox.gz"
    packed.write_bytes(gzip.compress(mbox(tmp_path / "more.mbox", "ham", range(10, 14)).read_bytes()))
    (tmp_path / "one.eml").write_bytes(make_message("ham", 20))
    (tmp_path / "letters").mkdir()
    for n in range(30, 33):
        (tmp_path / "letters" / f"{n}.eml").write_bytes(make_message("ham", n))
    places = [mbox(tmp_path / "ham.mbox", "ham", range(5)), packed, tmp_path / "one.eml", tmp_path / "letters"]
    result = done("learn", "--ham", *places, "--spam", maildir(tmp_path / "Junk", "spam", range(7)), "--store", store)
    assert learned(store) == {"ham": 13, "spam": 7}
    assert result.stdout == ""
    assert result.stderr.startswith("ham: 13 new\nspam: 7 new\n")
    assert result.stderr.endswith(f"{store}: 13 ham, 7 spam\n")


def test_learning_again_learns_nothing_and_says_so(tmp_path):
    store = make_store(tmp_path)
    before = text_of(store)
    figures = json.loads(done("learn", "--ham", tmp_path / "ham.mbox", "--store", store, "--json").stdout)
    assert figures["learned"] == {"ham": {"new": 0, "known": EACH, "moved": 0}}
    assert figures["messages"] == {"ham": EACH, "spam": EACH}
    assert text_of(store) == before


def test_a_message_that_was_something_else_moves(tmp_path):
    store = make_store(tmp_path)
    (tmp_path / "a.eml").write_bytes(make_message("spam", 3))
    result = done("learn", "--ham", tmp_path / "a.eml", "--store", store)
    assert "ham: 0 new, 1 moved here from another label" in result.stderr
    assert learned(store) == {"ham": EACH + 1, "spam": EACH - 1}


def test_weights_are_fitted_when_that_is_due_and_not_with_no_fit(tmp_path):
    ham, spam = mbox(tmp_path / "h.mbox", "ham", range(20)), mbox(tmp_path / "s.mbox", "spam", range(20))
    paths = ["--ham", ham, "--spam", spam]
    waits = done("learn", *paths, "--store", tmp_path / "a.db", "--no-fit")
    assert "a refit is due; run deciban mail fit --store" in waits.stderr
    fits = done("learn", *paths, "--store", tmp_path / "b.db")
    assert "evidence: refitted on 40 messages" in fits.stderr
    assert json.loads(done("learn", *paths, "--store", tmp_path / "b.db", "--json").stdout)["fitted"] is False
    assert json.loads(done("learn", *paths, "--store", tmp_path / "a.db", "--json").stdout)["fitted"] is True


def test_any_label_can_be_learned_and_keeps_its_name_for_all_paths_after_it(tmp_path):
    store = tmp_path / "mail.db"
    boxes = [mbox(tmp_path / f"{n}.mbox", "ham", range(n, n + 3)) for n in (0, 10, 20)]
    done("learn", "--label", f"work={boxes[0]}", boxes[1], "--label", f"home={boxes[2]}", "--store", store)
    assert learned(store) == {"work": 6, "home": 3}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "nothing to learn from"),
        (["--label", "work"], 2, "'work' is not NAME=PATH"),
        (["--ham", "none.mbox"], 1, "there is no such file or folder"),
        (["--label", "unsure=BOX"], 1, "a label is a word of your own"),
        (["BOX"], 2, "unexpected extra argument"),
        (["--ham", "BOX", "--spam", "BOX"], 2, "a.mbox is given both for ham and for spam"),
        (["--ham", "BOX", "--label", "work=BOX"], 2, "a.mbox is given both for ham and for work"),
        (["--ham", "imaps://joe:secret@example.org/A"], 1, "an address with a password in it is refused"),
    ],
    ids=range(8),
)
def test_what_cannot_be_learned_is_refused_with_a_way_out(tmp_path, arguments, code, words):
    box = mbox(tmp_path / "a.mbox", "ham", range(3))
    given = [argument.replace("BOX", str(box)) for argument in arguments]
    result = mail("learn", *given, "--store", tmp_path / "mail.db")
    assert result.exit_code == code
    assert words in result.stderr
    assert "secret" not in result.stderr
    assert not (tmp_path / "mail.db").exists() or learned(tmp_path / "mail.db") == {}


def test_files_are_compared_without_the_modules_of_imap(tmp_path):
    words = [str(mbox(tmp_path / f"{label}.mbox", label, range(3))) for label in ("ham", "spam")]
    script = (
        "import sys; from deciban.cli.mail.mail_inputs import refuse_same_source\n"
        "refuse_same_source({'ham': sys.argv[1:2], 'spam': sys.argv[2:]}); print('imaplib' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_a_file_whose_name_is_a_hyphen_is_not_standard_input(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mbox(tmp_path / "-", "spam", range(3))
    done("learn", "--ham", "-", "--spam", "./-", "--store", tmp_path / "mail.db", stdin=make_message("ham", 1))
    assert learned(tmp_path / "mail.db") == {"ham": 1, "spam": 3}
    result = mail("learn", "--ham", "-", "--spam", "-", "--store", tmp_path / "mail.db")
    assert "- is given both for ham and for spam" in result.stderr


def test_a_path_that_is_not_there_keeps_all_others_from_being_learned(tmp_path):
    box = mbox(tmp_path / "a.mbox", "ham", range(3))
    assert mail("learn", "--ham", box, "--spam", tmp_path / "none", "--store", tmp_path / "mail.db").exit_code == 1
    assert not (tmp_path / "mail.db").exists()


def test_an_address_with_a_password_is_refused_before_anything_is_done(tmp_path):
    store, ham = tmp_path / "mail.db", mbox(tmp_path / "ham.mbox", "ham", range(3))
    result = mail("learn", "--ham", ham, "--spam", "imaps://joe:hunter2@127.0.0.1:1/Junk", "--store", store)
    assert result.exit_code == 1
    assert "hunter2" not in result.stdout + result.stderr
    assert not store.exists()


def test_a_box_that_breaks_off_is_learned_as_far_as_it_goes_and_the_others_whole(tmp_path):
    whole = gzip.compress(mbox(tmp_path / "a.mbox", "spam", range(300)).read_bytes())
    (tmp_path / "broken.mbox.gz").write_bytes(whole[: len(whole) // 2])
    ham = mbox(tmp_path / "ham.mbox", "ham", range(5))
    store = tmp_path / "mail.db"
    result = mail("learn", "--spam", tmp_path / "broken.mbox.gz", "--ham", ham, "--store", store)
    assert result.exit_code == 1
    assert "broken.mbox.gz" in result.stderr
    assert learned(store)["ham"] == 5
    assert 50 < learned(store)["spam"] < 300


def test_a_file_that_cannot_be_a_message_stops_nobody(tmp_path):
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "noise").write_bytes(b"\xff" + os.urandom(20_000))
    (folder / "noise.eml").write_bytes(b"\xff" + os.urandom(20_000))
    (folder / "empty").write_bytes(b"")
    (folder / "good.eml").write_bytes(make_message("ham", 1))
    os.mkfifo(folder / "pipe")
    result = done("learn", "--ham", folder, "--store", tmp_path / "mail.db")
    assert "pipe: is a folder, a pipe or a device" in result.stderr
    assert f"left out 1 file that is not mail: {folder / 'noise'}" in result.stderr
    assert learned(tmp_path / "mail.db")["ham"] >= 2


def test_messages_marked_as_trashed_are_learned_only_if_asked_for(tmp_path):
    maildir(tmp_path / "In", "ham", range(4))
    name = next((tmp_path / "In" / "cur").iterdir())
    name.rename(name.with_name(name.name + "T"))
    done("learn", "--ham", tmp_path / "In", "--store", tmp_path / "a.db")
    done("learn", "--ham", tmp_path / "In", "--store", tmp_path / "b.db", "--trashed")
    assert (learned(tmp_path / "a.db"), learned(tmp_path / "b.db")) == ({"ham": 3}, {"ham": 4})


def test_folders_within_a_maildir_are_learned_only_if_asked_for(tmp_path):
    maildir(tmp_path / "In", "ham", range(4))
    maildir(tmp_path / "In" / ".Old", "ham", range(10, 13))
    done("learn", "--ham", tmp_path / "In", "--store", tmp_path / "a.db")
    done("learn", "--ham", tmp_path / "In", "--store", tmp_path / "b.db", "--subfolders")
    assert (learned(tmp_path / "a.db"), learned(tmp_path / "b.db")) == ({"ham": 4}, {"ham": 7})


def test_a_message_is_learned_from_standard_input(tmp_path):
    result = program("learn", "--spam", "-", "--store", tmp_path / "mail.db", stdin=make_message("spam", 1))
    assert result.returncode == 0
    assert learned(tmp_path / "mail.db") == {"spam": 1}


def test_the_store_is_made_where_users_data_is_and_for_its_owner_alone(tmp_path):
    box = mbox(tmp_path / "a.mbox", "ham", range(3))
    result = program("learn", "--ham", box, XDG_DATA_HOME=tmp_path / "data", DECIBAN_MAIL="")
    assert result.returncode == 0, result.stderr
    made = tmp_path / "data" / "deciban" / "mail.db"
    assert made.stat().st_mode & 0o777 == 0o600


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_learning_that_is_interrupted_keeps_what_it_had_and_is_completed_by_running_it_again(tmp_path):
    box, store = mbox(tmp_path / "a.mbox", "ham", range(30_000)), tmp_path / "mail.db"
    process = start_program("learn", "--ham", box, "--store", store)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130), err
    if process.returncode:
        assert b"the same command again completes it" in err
        assert b"Traceback" not in err


def test_a_store_that_cannot_be_written_is_an_error_in_words(tmp_path):
    box = mbox(tmp_path / "a.mbox", "ham", range(3))
    result = mail("learn", "--ham", box, "--store", box)
    assert result.exit_code == 1
    assert "is not a mail store" in result.stderr


def test_a_full_disk_is_an_error_in_words_and_leaves_what_was_there(tmp_path):
    resource = pytest.importorskip("resource")
    store = make_store(tmp_path)
    before, space = text_of(store), store.stat().st_size + 10_000
    box = mbox(tmp_path / "more.mbox", "ham", range(1000, 4000))
    process = subprocess.run(
        command("learn", "--ham", box, "--store", store), capture_output=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (space, space)),
    )  # fmt: skip
    assert process.returncode == 1
    assert process.stderr.startswith(b"error: mail store ")
    assert b"Traceback" not in process.stderr
    assert text_of(store) == before


def test_unlearning_leaves_what_would_be_there_without_the_messages(tmp_path):
    store, other = make_store(tmp_path), tmp_path / "other.db"
    extra = mbox(tmp_path / "extra.mbox", "spam", range(100, 110))
    before = text_of(store)
    done("learn", "--spam", extra, "--store", store)
    result = done("unlearn", extra, tmp_path / "extra.mbox", "--store", store)
    assert "10 unlearned, 0 not known" in result.stderr
    assert text_of(store) == before
    assert "0 unlearned, 10 not known" in done("unlearn", extra, "--store", store).stderr
    assert mail("unlearn", extra, "--store", other).exit_code == 1
    assert not other.exists()


def test_one_message_is_unlearned_from_standard_input(tmp_path):
    store = make_store(tmp_path)
    assert program("unlearn", "--store", store, stdin=make_message("ham", 2)).returncode == 0
    assert learned(store) == {"ham": EACH - 1, "spam": EACH}


def test_relabelling_moves_what_is_known_and_says_what_is_not(tmp_path):
    store = make_store(tmp_path)
    box = mbox(tmp_path / "some.mbox", "spam", [0, 1, 500])
    result = done("relabel", "--to", "ham", box, "--store", store)
    assert "2 moved to ham, 1 not known, left out" in result.stderr
    assert learned(store) == {"ham": EACH + 2, "spam": EACH - 2}
    figures = json.loads(done("relabel", "--to", "ham", box, "--store", store, "--json").stdout)
    assert (figures["moved"], figures["unknown"]) == (0, 1)


def test_relabelling_what_was_never_learned_is_refused(tmp_path):
    store = make_store(tmp_path)
    result = mail("relabel", "--to", "ham", "--store", store, stdin=make_message("spam", 500))
    assert result.exit_code == 1
    assert "Hint: deciban mail learn --label ham=PATH" in result.stderr
    assert mail("relabel", "--to", "unsure", "--store", store, stdin=make_message("spam", 5)).exit_code == 1


def test_what_was_relabelled_is_classified_as_it_is_now(tmp_path):
    store = make_store(tmp_path)
    done("relabel", "--to", "work", tmp_path / "ham.mbox", "--store", store)
    with MailFilter(store, read_only=True) as library:
        assert library.classify(make_message("ham", 900)).label == "work"


def test_on_a_terminal_a_bar_counts_messages_and_tells_the_rate(tmp_path):
    pty = pytest.importorskip("pty")

    box = mbox(tmp_path / "a.mbox", "ham", range(3000))
    reader, writer = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}

    process = subprocess.Popen(command("learn", "--ham", box, "--store", tmp_path / "m.db"), stderr=writer, env=env)
    os.close(writer)
    shown = b""
    while True:
        try:
            piece = os.read(reader, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    assert process.wait(60) == 0
    assert b"learning" in shown
    assert b"messages in " in shown
    assert b" a second" in shown


def test_an_empty_box_has_nothing_to_learn_and_says_so(tmp_path):
    box = maildir(tmp_path / "Empty", "ham", range(0))
    result = mail("learn", "--ham", box, "--store", tmp_path / "mail.db", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["learned"] == {"ham": {"new": 0, "known": 0, "moved": 0}}
