"""Looking after a mail store: `status`, `set`, `fit`, `tidy`, `check`, `backup`, `merge`, `export`, `import`."""

import json
import os
import shutil
import sqlite3
import stat
import threading
import time

import pytest

from deciban.mail.filter import MailFilter
from deciban.mail.store.store import Store
from tests.cli.mail_commands import EACH, mail, make_store, mbox, program
from tests.mail.spamds import make_message


@pytest.fixture(scope="module")
def taught_once(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("mail"))


@pytest.fixture
def store(taught_once, tmp_path):
    return shutil.copy(taught_once, tmp_path / "mail.db")


def done(*arguments, stdin=None):
    result = mail(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    return result


def read_status(store):
    return json.loads(done("status", "--json", "--store", store).stdout)


def test_status_names_the_store_what_it_holds_and_whether_it_is_ready(store):
    figures = read_status(store)
    assert figures["store"] == str(store)
    assert figures["messages"] == {"ham": EACH, "spam": EACH}
    assert (figures["ready"], figures["why"], figures["exists"], figures["writable"]) == (True, None, True, True)
    assert (figures["model"], figures["fit_due"], figures["tidy_due"]) == ("evidence", False, False)
    assert (figures["ham_at"], figures["spam_at"], figures["half_life_days"]) == (0.2, 0.95, None)
    assert 0 <= time.time() - figures["last_learned"] < 600
    assert 0 <= time.time() - figures["fitted"] < 600
    assert figures["bytes"] >= store.stat().st_size
    shown = done("status", "--store", store).stdout
    for words in (str(store), "30 ham, 30 spam", "ready", "yes", "ham up to p = 0.2, spam from p = 0.95"):
        assert words in " ".join(shown.split()), shown


def test_status_of_a_store_that_is_not_there_says_how_to_make_it_and_makes_none(tmp_path):
    result = done("status", "--store", tmp_path / "mail.db")
    assert "no: there is no store yet; deciban mail learn" in " ".join(result.stdout.split())
    assert read_status(tmp_path / "mail.db")["ready"] is False
    assert list(tmp_path.iterdir()) == []


def test_status_says_why_a_store_is_not_ready(tmp_path):
    box = mbox(tmp_path / "a.mbox", "ham", range(3))
    done("learn", "--ham", box, "--store", tmp_path / "mail.db")
    assert read_status(tmp_path / "mail.db")["why"] == "3 ham learned; messages of two labels at least are needed"
    spam = mbox(tmp_path / "b.mbox", "spam", range(9))
    done("learn", "--spam", spam, "--store", tmp_path / "mail.db")
    why = "3 ham, 9 spam learned; at least 5 of each label are needed"
    assert read_status(tmp_path / "mail.db")["why"] == why
    shown = mail("explain", "--store", tmp_path / "mail.db", stdin=make_message("ham", 50)).stdout
    assert why in " ".join(shown.split())


def test_status_of_a_damaged_store_is_an_error_in_words(tmp_path):
    (tmp_path / "mail.db").write_bytes(b"nothing of the kind")
    result = mail("status", "--store", tmp_path / "mail.db")
    assert result.exit_code == 1
    assert "is not a mail store" in result.stderr


def test_choices_are_kept(store):
    done(
        "set",
        "--spam-at",
        "0.999",
        "--ham-at",
        "0.01",
        "--half-life",
        "180",
        "--most-messages",
        "500",
        "--store",
        store,
    )
    figures = read_status(store)
    assert (figures["ham_at"], figures["spam_at"]) == (0.01, 0.999)
    assert (figures["half_life_days"], figures["most_messages"]) == (180, 500)
    done("set", "--half-life", "none", "--store", store)
    assert read_status(store)["half_life_days"] is None


def test_thresholds_decide_the_verdict(store):
    raw = make_message("spam", 600)
    assert program("classify", "--store", store, stdin=raw).returncode == 0
    done("set", "--spam-at", "1", "--store", store)
    assert program("classify", "--store", store, stdin=raw).returncode == 2


def test_status_says_what_is_expected_and_how_many_ham_are_missing(tmp_path):
    path = tmp_path / "mail.db"
    with MailFilter(path) as learner:
        learner.learn_all(((str(i), make_message("ham", i)) for i in range(320)), "ham", 1)
        learner.learn_all(((str(i), make_message("spam", i)) for i in range(60)), "spam", 1)
    assert read_status(path)["expected"] is None
    done("set", "--max-lost-ham", "0.01", "--store", path)
    done("fit", "--store", path)
    figures = read_status(path)
    assert figures["max_lost_ham"] == 0.01
    assert (figures["expected"]["ham"], figures["expected"]["missing_ham"]) == (320, 0)
    assert figures["expected"]["lost_bound"] <= 0.01
    done("set", "--max-lost-ham", "0.001", "--store", path)
    done("fit", "--store", path)
    words = " ".join(done("status", "--store", path).stdout.split())
    assert "of 1 000 ham: 0–10 lost, 0 unsure;" in words
    assert "missed, 0 unsure (out of fold; the folds are periods of time);" in words
    needed = "2 675 more ham are needed, 2 995 in all, to ensure at most 1 lost"
    assert needed in words
    done("set", "--max-lost-ham", "0.01", "--store", path)  # the numbers stay those of the last fit
    assert needed in " ".join(done("status", "--store", path).stdout.split())
    for changes, why in (
        (("--ham-at", "0.1"), "not measured for these thresholds; deciban mail fit measures them"),
        (("--spam-at", "0.99"), "not measured for a threshold that was set; chosen and measured after"),
        (("--model", "fisher"), "not measured for the model fisher"),
    ):
        done("set", *changes, "--store", path)
        assert f"expected {why}" in " ".join(done("status", "--store", path).stdout.split())
    done("set", "--spam-at", "auto", "--ham-at", "0.2", "--model", "evidence", "--store", path)
    assert "of 1 000 ham" in done("status", "--store", path).stdout


def test_thresholds_in_a_wrong_order_keep_no_other_setting_from_being_set(store):
    with Store(store, create=False) as held:
        held.set("ham_at", 0.97)  # as an earlier version allowed
    done("set", "--most-messages", "1000", "--store", store)
    assert read_status(store)["most_messages"] == 1000
    refused = mail("set", "--spam-at", "auto", "--store", store)
    assert refused.exit_code == 1
    assert "ham must end below where spam begins" in refused.stderr
    done("set", "--spam-at", "0.99", "--store", store)


def test_the_threshold_for_spam_can_be_set_and_left_to_the_store_again(store):
    done("set", "--spam-at", "0.99", "--store", store)
    assert read_status(store)["spam_at"] == 0.99
    done("set", "--spam-at", "auto", "--store", store)
    assert read_status(store)["spam_at"] == 0.95


@pytest.mark.parametrize("model", ["bayes", "logistic", "fisher"])
def test_another_model_is_fitted_at_once_and_classifies_from_then_on(store, model):
    done("set", "--model", model, "--store", store)
    figures = read_status(store)
    assert (figures["model"], figures["fit_due"]) == (model, False)
    line = json.loads(program("classify", "--json", "--store", store, stdin=make_message("spam", 600)).stdout)
    assert (line["model"], line["verdict"]) == (model, "spam")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "nothing to set"),
        (["--spam-at", "0.1"], 1, "ham must end below where spam begins"),
        (["--ham-at", "0.97"], 1, "thresholds 0.97 and 0.95 (which auto may choose): ham must end below"),
        (["--ham-at", "-1"], 2, "'-1' is less than 0"),
        (["--spam-at", "nan"], 2, "'nan' is neither a number nor auto"),
        (["--model", "oracle"], 1, "model 'oracle' is not known"),
        (["--half-life", "soon"], 2, "neither a number nor none"),
        (["--half-life", "0"], 2, "'0' is not above 0"),
        (["--half-life", "1e-9"], 1, "at least 1 second"),
        (["--half-life", "inf"], 2, "'inf' is not finite"),
        (["--most-messages", "0"], 2, "'0' is less than 1"),
        (["--spam-at", "0.5", "--most-messages", "-3"], 2, "'-3' is less than 1"),
    ],
    ids=range(12),
)
def test_choices_that_cannot_be_are_refused_and_nothing_is_set(store, arguments, code, words):
    before = read_status(store)
    result = mail("set", *arguments, "--store", store)
    assert result.exit_code == code
    assert words in result.stderr
    assert read_status(store) == before


def test_fitting_is_done_when_asked_for(store, tmp_path):
    assert "evidence: fitted to 60 messages" in done("fit", "--store", store).stderr
    assert "not due" in done("fit", "--if-due", "--store", store).stderr
    few = tmp_path / "few.db"
    done("learn", "--ham", mbox(tmp_path / "a.mbox", "ham", range(3)), "--store", few)
    result = mail("fit", "--store", few)
    assert result.exit_code == 1
    assert "3 ham learned; a fit needs 20 messages, and 5 of each label" in result.stderr
    done("set", "--model", "fisher", "--store", store)
    assert "nothing to fit" in done("fit", "--store", store).stderr


@pytest.mark.parametrize("model", ["evidence", "bayes"])
def test_labels_that_words_do_not_separate_are_reported_in_one_line(tmp_path, model):
    for label in ("ham", "spam"):
        (tmp_path / label).mkdir()
        for i in range(30):
            head = f"Subject: hello\nMessage-ID: <{label}{i}@a.example>\n"
            (tmp_path / label / str(i)).write_text(f"{head}\nsame words\n")
    store = tmp_path / "same.db"
    learned = done("learn", "--ham", tmp_path / "ham", "--spam", tmp_path / "spam", "--store", store)
    assert "the words of these messages do not separate the labels" in learned.stderr
    done("set", "--model", model, "--no-fit", "--store", store)
    result = mail("fit", "--store", store)
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert f"{model}: nothing fitted" in result.stderr
    assert "30 ham and 30 spam: the words of these messages do not separate the labels" in result.stderr


def test_labels_are_not_called_inseparable_where_another_process_has_fitted_meanwhile(tmp_path, monkeypatch):
    is_fit_due = MailFilter.is_fit_due
    asked = []

    def fit_in_between(self):
        due = is_fit_due(self)
        asked.append(due)
        if len(asked) == 1:
            with MailFilter(self.store.path) as other:
                assert other.refit(force=True)
        return due

    monkeypatch.setattr(MailFilter, "is_fit_due", fit_in_between)
    boxes = [mbox(tmp_path / f"{label}.mbox", label, range(20)) for label in ("ham", "spam")]
    result = done("learn", "--ham", boxes[0], "--spam", boxes[1], "--store", tmp_path / "new.db")
    assert asked == [True, False]
    assert "nothing fitted" not in result.stderr


def test_a_bound_is_kept_by_tidying_and_at_the_end_of_learning(store, tmp_path):
    done("set", "--most-messages", "40", "--store", store)
    assert read_status(store)["tidy_due"]
    assert "20 messages unlearned" in done("tidy", "--store", store).stderr
    assert sum(read_status(store)["messages"].values()) == 40
    more = mbox(tmp_path / "more.mbox", "ham", range(100, 110))
    assert "tidied: 10 messages unlearned, the oldest" in done("learn", "--ham", more, "--store", store).stderr
    assert sum(read_status(store)["messages"].values()) == 40
    assert "no message unlearned" in done("tidy", "--store", store).stderr


def test_check_finds_nothing_in_a_good_store_and_wrong_counts_in_another(store):
    assert done("check", "--store", store).stdout == ""
    assert json.loads(done("check", "--json", "--store", store).stdout)["problems"] == []
    with sqlite3.connect(store) as db:
        db.execute("UPDATE token SET label_1 = label_1 + 1 WHERE number = 3")
    result = mail("check", "--store", store)
    assert result.exit_code == 1
    assert "its messages weigh" in result.stdout
    assert "--mend" in result.stderr
    assert "mended" in done("check", "--mend", "--store", store).stderr
    done("check", "--store", store)


def test_a_backup_is_a_store_that_says_the_same(store, tmp_path):
    done("backup", tmp_path / "copy.db", "--store", store)
    raw = make_message("spam", 700)
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    here, there = (
        program("classify", "--json", "--store", path, stdin=raw) for path in (store, tmp_path / "copy.db")
    )
    assert here.stdout == there.stdout != b""


def test_a_backup_replaces_nothing_but_backups(store, tmp_path):
    other = tmp_path / "letter.txt"
    other.write_text("dear")
    for path in (other, store):
        assert mail("backup", path, "--store", store).exit_code == 1
    assert other.read_text() == "dear"


def test_stores_are_merged_and_disputes_reported(store, tmp_path):
    other = tmp_path / "other.db"
    boxes = [mbox(tmp_path / "a.mbox", "ham", range(25, 40)), mbox(tmp_path / "b.mbox", "spam", [0, 1])]
    done("learn", "--ham", *boxes, "--store", other)
    result = done("merge", other, "--store", store)
    assert "10 new, 5 known already, 2 known here under another label" in result.stderr
    assert "spam here, ham there" in result.stderr
    assert read_status(store)["messages"] == {"ham": EACH + 10, "spam": EACH}
    figures = json.loads(done("merge", other, "--store", store, "--json").stdout)["merged"][0]
    assert (figures["new"], figures["known"], len(figures["disputed"])) == (0, 15, 2)
    before = read_status(store)
    assert mail("merge", store, other, tmp_path / "none.db", "--store", tmp_path / "new.db").exit_code == 1
    assert mail("merge", tmp_path / "none.db", "--store", store).exit_code == 1
    assert (read_status(store), (tmp_path / "new.db").exists()) == (before, False)


def test_a_store_goes_through_text_and_comes_back(store, tmp_path):
    text = program("export", "--store", store).stdout
    done("export", tmp_path / "mail.jsonl", "--store", store)
    assert (tmp_path / "mail.jsonl").read_bytes() == text
    assert len(text.splitlines()) == 2 * EACH + 1
    done("import", tmp_path / "mail.jsonl", "--store", tmp_path / "a.db")
    assert program("import", "-", "--store", tmp_path / "b.db", stdin=text).returncode == 0
    assert program("export", "--store", tmp_path / "a.db").stdout == text
    assert program("export", "--store", tmp_path / "b.db").stdout == text


def test_a_text_that_was_cut_is_refused_and_nothing_learned(store, tmp_path):
    lines = program("export", "--store", store).stdout.splitlines(keepends=True)
    for bad in (lines[:-1], [*lines[:5], b"{}\n", *lines[6:]], [b"\xff\xfe\n"], []):
        result = program("import", "-", "--store", tmp_path / "new.db", stdin=b"".join(bad))
        assert result.returncode == 1
        assert b"Traceback" not in result.stderr
        assert list(tmp_path.glob("new.db*")) == []  # no empty store is left behind
    assert mail("import", tmp_path / "none.jsonl", "--store", tmp_path / "new.db").exit_code == 1
    assert list(tmp_path.glob("new.db*")) == []
    done("set", "--spam-at", "0.99", "--store", tmp_path / "new.db")
    assert program("import", "-", "--store", tmp_path / "new.db", stdin=b"".join(lines[:-1])).returncode == 1
    assert read_status(tmp_path / "new.db")["messages"] == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_text_comes_from_a_pipe_with_a_name(store, tmp_path):
    text = program("export", "--store", store).stdout
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text,))
    writer.start()
    done("import", tmp_path / "pipe", "--store", tmp_path / "new.db")
    writer.join()
    assert program("export", "--store", tmp_path / "new.db").stdout == text


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_whatever_holds_mail_is_for_its_owner_alone(store, tmp_path, umask):
    (tmp_path / "old.jsonl").write_text("{}")
    (tmp_path / "old.jsonl").chmod(0o644)
    before = os.umask(umask)
    try:
        for name in ("new.jsonl", "old.jsonl"):
            done("export", tmp_path / name, "--store", store)
        done("backup", tmp_path / "copy.db", "--store", store)
        done("import", tmp_path / "new.jsonl", "--store", tmp_path / "made.db")
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in os.listdir(tmp_path)}
    assert {name: oct(mode) for name, mode in modes.items() if mode != 0o600} == {}
    assert set(modes) >= {"new.jsonl", "old.jsonl", "copy.db", "made.db"}


def test_an_import_that_is_refused_leaves_the_store_usable(store, tmp_path):
    text = program("export", "--store", store).stdout
    (tmp_path / "bad.jsonl").write_bytes(text.replace(b'"settings": {', b'"settings": {"model": 5', 1))
    result = mail("import", tmp_path / "bad.jsonl", "--store", tmp_path / "new.db")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: line 1 (nothing was learned): model 5 is not known.")
    (tmp_path / "mail.jsonl").write_bytes(text)
    done("import", tmp_path / "mail.jsonl", "--store", tmp_path / "new.db")
    assert program("export", "--store", tmp_path / "new.db").stdout == text


def test_export_does_not_overwrite_the_store(store):
    before = store.read_bytes()
    assert mail("export", store, "--store", store).exit_code == 1
    assert store.read_bytes() == before


@pytest.mark.parametrize("name", ["unlearn", "fit", "tidy", "check", "backup x.db", "export", "explain"])
def test_commands_that_need_a_store_make_none(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = mail(*name.split(), "--store", tmp_path / "mail.db", stdin=make_message("ham", 1))
    assert result.exit_code == 1
    assert "there is no mail store" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_notes_escape_the_characters_of_file_names_that_a_terminal_would_obey(store, tmp_path):
    odd = tmp_path / "a\x1b[2J.db"
    for asked in (["backup", odd], ["export", tmp_path / "a\x1b[2J.jsonl"], ["merge", odd]):
        text = done(*asked, "--store", store).stderr
        assert "a\\u001b[2J" in text
        assert "\x1b" not in text
    for asked in (["tidy"], ["check"], ["set", "--spam-at", "0.9"]):
        text = done(*asked, "--store", odd).stderr
        assert "a\\u001b[2J.db" in text
        assert "\x1b" not in text
