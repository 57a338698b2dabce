"""`deciban mail classify` and `explain`: what messages are, and why."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from rich.cells import cell_len

from deciban.mail.filter import MailFilter
from deciban.mail.tokens.token_descriptions import describe_token
from tests.cli.mail_commands import EACH, mail, maildir, make_store, mbox, program, start_program
from tests.cli.test_terminal_output import obeyed, on_terminal
from tests.mail.spamds import make_message


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("mail"))


@pytest.mark.parametrize(("label", "code"), [("spam", 0), ("ham", 1)])
def test_the_exit_code_and_the_first_word_say_what_a_message_is(store, label, code):
    result = program("classify", "--store", store, stdin=make_message(label, 2000))
    assert result.returncode == code
    assert result.stdout.startswith(f"{label}; p=".encode())
    assert result.stdout.count(b"\n") == 1
    assert result.stderr == b""


def test_a_message_that_could_be_either_is_unsure(store):
    result = program("classify", "--store", store, stdin=b"\n\nthe and you\n")
    assert result.returncode == 2
    assert result.stdout.startswith(b"unsure; ")


def test_after_one_message_of_each_it_is_unsure_and_says_why(tmp_path):
    store = tmp_path / "mail.db"
    ham, spam = mbox(tmp_path / "h.mbox", "ham", [1]), mbox(tmp_path / "s.mbox", "spam", [1])
    assert mail("learn", "--ham", ham, "--spam", spam, "--store", store).exit_code == 0
    result = program("classify", "--store", store, "--json", stdin=make_message("spam", 2))
    assert result.returncode == 2
    assert json.loads(result.stdout)["why"] == "1 ham, 1 spam learned; at least 5 of each label are needed"


def test_a_label_that_is_neither_has_the_exit_code_of_ham(store, tmp_path):
    own = tmp_path / "mail.db"
    boxes = {name: mbox(tmp_path / f"{name}.mbox", name, range(EACH)) for name in ("ham", "spam", "both")}
    labels = [f"--label=letters={boxes['both']}", "--ham", boxes["ham"], "--spam", boxes["spam"]]
    assert mail("learn", *labels, "--store", own).exit_code == 0
    result = program("classify", "--store", own, stdin=make_message("both", 99))
    assert (result.returncode, result.stdout.split(b";")[0]) == (1, b"letters")


@pytest.mark.parametrize("more", [[], ["--json"], ["--top", "3"], ["--"]], ids=str)
def test_an_error_has_the_exit_code_3(tmp_path, more):
    result = program("classify", "--store", tmp_path / "none.db", *more, stdin=make_message("ham", 1))
    assert result.returncode == 3
    assert result.stdout == b""
    assert result.stderr.startswith(b"error: there is no mail store")
    assert b"Traceback" not in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("more", [[], ["--"]], ids=str)
def test_an_error_that_cannot_be_printed_has_the_exit_code_3_too(tmp_path, more):
    with open("/dev/full", "wb") as full:
        process = start_program("classify", "--store", tmp_path / "none.db", *more, stderr=full)
        process.communicate(make_message("ham", 1), timeout=60)
    assert process.returncode == 3


@pytest.mark.parametrize("wrong", [["--no-such-option"], ["--top", "many"], ["--store"]], ids=str)
def test_wrong_usage_is_no_verdict_either(wrong):
    assert program("classify", *wrong).returncode == 3


def test_an_error_that_is_shown_where_it_happened_is_no_verdict_either(tmp_path):
    result = program("classify", "--store", tmp_path / "none.db", "--debug", stdin=b"x")
    assert result.returncode == 3
    assert b"Traceback" in result.stderr


def test_a_damaged_store_is_an_error_in_words(store, tmp_path):
    bad = tmp_path / "bad.db"
    bad.write_bytes(store.read_bytes()[:4096] + os.urandom(store.stat().st_size - 4096))
    result = program("classify", "--store", bad, stdin=make_message("ham", 1))
    assert result.returncode == 3
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize("raw", [b"", b"\0\xff" * 4000, os.urandom(9000)], ids=["nothing", "binary", "noise"])
def test_any_bytes_have_a_verdict(store, raw):
    result = program("classify", "--store", store, stdin=raw)
    assert result.returncode in (0, 1, 2)
    assert result.stderr == b""


def test_a_long_message_is_read_to_its_end_lest_its_writer_break_off(store):
    process = start_program("classify", "--store", store)
    out, _ = process.communicate(b"Subject: x\n\n" + b"tea " * 6_000_000, timeout=60)
    assert out
    assert process.returncode in (0, 1, 2)


def test_the_store_is_named_by_the_environment_too(store):
    result = program("classify", stdin=make_message("spam", 4), DECIBAN_MAIL=store)
    assert result.returncode == 0


def test_help_for_mail_loads_neither_numbers_nor_databases():
    code = (
        "import os, sys\nfrom deciban.cli.main import main\nos._exit = sys.exit\n"
        "sys.argv = ['deciban', 'mail', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numpy', 'sqlite3', 'rich', 'deciban.cli.train') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.splitlines()[-1] == b"[]"


def test_paths_give_a_line_each_and_json_has_what_filters_of_it_need(store, tmp_path):
    box, folder = mbox(tmp_path / "new.mbox", "spam", range(50, 53)), maildir(tmp_path / "New", "ham", range(50, 52))
    lines = [
        json.loads(line) for line in mail("classify", box, folder, "--json", "--store", store).stdout.splitlines()
    ]
    assert [line["verdict"] for line in lines] == ["spam"] * 3 + ["ham"] * 2
    assert [line["path"] for line in lines[:3]] == [f"{box}:{n}" for n in (1, 2, 3)]
    assert lines[3]["path"].startswith(str(folder))
    for line in lines:
        assert {"path", "verdict", "probability", "decibans", "top"} <= set(line)
        assert len(line["top"]) == 5
    table = mail("classify", box, folder, "--store", store)
    assert table.exit_code == 0
    assert [row.split()[0] for row in table.stdout.splitlines()] == ["spam"] * 3 + ["ham"] * 2
    assert all(row.endswith(line["path"]) for row, line in zip(table.stdout.splitlines(), lines, strict=True))


HEADING = (
    "From: =?utf-8?b?5byg5Lyf?= <zhang@cn.example>\n"
    "Subject: =?utf-8?q?win=1B]0;x=07_=E2=80=AE=E5=90=83=E9=A5=AD?= =?utf-8?q?now?=\n\nclaim your million\n"
)
"""A Chinese sender, and a subject with escape sequences and a mark that reverses text."""


def test_a_folder_shows_senders_and_subjects_and_is_summed_up(store, tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    (folder / "1").write_text(HEADING)
    (folder / "2").write_bytes(make_message("ham", 300))
    (folder / "3").write_bytes(b"X-Odd: 1\n\ntea\n")
    result = mail("classify", folder, "--store", store)
    rows = [[cell.strip() for cell in line.split("\t")] for line in result.stdout.splitlines()]
    assert [len(row) for row in rows] == [6, 6, 6]
    assert rows[0][3:] == ["张伟 <zhang@cn.example>", "win ]0;x   吃饭now", str(folder / "1")]
    assert rows[1][3].endswith("@ham.example")
    assert rows[2][3:5] == ["", ""]
    assert re.fullmatch(r"3 messages: \d \w+(, \d \w+)*\n", result.stderr)
    labels = [row[0] for row in rows]
    assert all(f"{labels.count(label)} {label}" in result.stderr for label in labels)
    for line in mail("classify", folder, "--json", "--store", store).stdout.splitlines():
        assert {"path", "verdict", "probability", "decibans", "top", "from", "subject"} <= set(json.loads(line))


def test_a_model_that_is_not_fitted_or_knows_too_few_messages_says_so_once(store, tmp_path):
    (tmp_path / "a.eml").write_bytes(make_message("spam", 600))
    twice = tmp_path / "a.eml", tmp_path / "a.eml"
    warned = mail("classify", *twice, "--model", "logistic", "--store", store).stderr.splitlines()
    hint = "Hint: deciban mail set --model logistic"
    assert warned == [f"warning: model logistic knows nothing before it is fitted. {hint}", "2 messages: 2 unsure"]
    few = tmp_path / "few.db"
    assert mail("learn", "--ham", tmp_path / "a.eml", "--store", few).exit_code == 0
    assert "warning: 1 ham learned; " in mail("classify", *twice, "--store", few).stderr
    assert mail("set", "--model", "logistic", "--store", store).exit_code == 0
    unknown = mail("explain", "--store", store, stdin=b"\n\nqqq").stdout
    assert "fitted" not in unknown


def test_one_message_is_not_summed_up_and_json_is_lines_alone(store, tmp_path):
    (tmp_path / "a.eml").write_text(HEADING)
    assert mail("classify", tmp_path / "a.eml", "--store", store).stderr == ""
    result = mail("classify", tmp_path / "a.eml", tmp_path / "a.eml", "--json", "--store", store)
    assert result.stderr == ""
    figures = json.loads(result.stdout.splitlines()[0])
    assert figures["from"] == "张伟 <zhang@cn.example>"
    assert figures["subject"].startswith("win\x1b]0;x\x07")
    assert all(clue["in_words"] == describe_token(clue["token"]) for clue in figures["top"])


def test_columns_line_up_on_a_terminal_and_no_character_acts_on_it(store, tmp_path):
    folder = tmp_path / "new"
    folder.mkdir()
    for number, sender in enumerate(["张伟" * 20, "ann", "e\u0301" * 60, "\x1b[2Jx\x9b31m\u202e\r\n"]):
        text = sender.encode().decode("utf-8").replace("\r\n", "")
        (folder / str(number)).write_text(f"From: {text}\nSubject: {text}\n\ntea\n")
    shown = on_terminal("mail", "classify", folder, "--store", store, errors=False)
    assert obeyed(shown) == []
    lines = shown.splitlines()
    ends = {cell_len(line.removesuffix(str(folder / str(number)))) for number, line in enumerate(lines)}
    assert (len(lines), len(ends)) == (4, 1)
    assert "…" in lines[0]


def test_many_messages_read_by_other_processes_have_senders_too(store, tmp_path):
    box = mbox(tmp_path / "new.mbox", "spam", range(400))
    rows = [line.split("\t") for line in mail("classify", box, "--store", store).stdout.splitlines()]
    assert len(rows) == 400
    assert all(row[3].strip().endswith("@spam.example") and row[4].strip() for row in rows)


def test_json_agrees_with_the_library(store, tmp_path):
    raw = make_message("spam", 60)
    (tmp_path / "a.eml").write_bytes(raw)
    line = json.loads(mail("classify", tmp_path / "a.eml", "--json", "--top", "15", "--store", store).stdout)
    with MailFilter(store, read_only=True) as library:
        figures = library.classify(raw, clues=15).to_dict()
    assert line == {"path": str(tmp_path / "a.eml"), **json.loads(json.dumps(figures))}


def test_a_path_that_is_not_there_is_refused_before_any_is_classified(store, tmp_path):
    box = mbox(tmp_path / "new.mbox", "spam", [1])
    result = mail("classify", box, tmp_path / "none", "--store", store)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "there is no such file or folder" in result.stderr


def test_a_box_that_breaks_off_gives_what_it_holds_and_then_an_error(store, tmp_path):
    whole = gzip.compress(mbox(tmp_path / "a.mbox", "spam", range(200)).read_bytes())
    broken = tmp_path / "broken.mbox.gz"
    broken.write_bytes(whole[: len(whole) // 2])
    result = mail("classify", broken, tmp_path / "a.mbox", "--store", store)
    assert result.exit_code == 3
    assert len(result.stdout.splitlines()) > 200
    assert "broken.mbox.gz" in result.stderr


def test_a_name_that_plays_tricks_with_terminals_is_shown_without_them(store, tmp_path):
    (tmp_path / "a\x1b[2J.eml").write_bytes(make_message("ham", 1))
    assert "\x1b" not in mail("classify", tmp_path / "a\x1b[2J.eml", "--store", store).stdout


def test_ctrl_c_while_waiting_for_the_message_is_no_verdict(store):
    process = start_program("classify", "--store", store)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


@pytest.mark.parametrize("more", [[], ["--"]], ids=["quick", "long"])
def test_a_reader_who_leaves_early_gets_no_complaint_and_the_exit_code_of_other_programs(store, more):
    process = start_program("classify", "--store", store, *more)
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(make_message("ham", 1), timeout=60)
    assert (process.returncode, err) == (141, b"")


def test_classifying_changes_nothing(store):
    before = store.read_bytes()
    program("classify", "--store", store, stdin=make_message("spam", 4))
    assert store.read_bytes() == before


def test_an_explanation_adds_up_and_says_its_reasons_in_plain_words(store):
    result = mail("explain", "--json", "--top", "400", "--store", store, stdin=make_message("spam", 70))
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    clues = sum(clue["decibans"] for clue in figures["top"])
    assert figures["prior"] + clues + figures["others"] == pytest.approx(figures["decibans"])
    assert all(clue["in_words"] == describe_token(clue["token"]) for clue in figures["top"])


def test_an_explanation_shows_the_message_the_clues_and_their_sum(store, tmp_path):
    (tmp_path / "a.eml").write_bytes(make_message("spam", 71))
    shown = mail("explain", tmp_path / "a.eml", "--store", store).stdout
    for words in ("spam: p(spam) = ", "subject", "decibans", 'has "', "together", "messages learned"):
        assert words in shown, shown
    assert max(len(line) for line in shown.splitlines() if str(tmp_path) not in line) <= 100


def test_an_explanation_says_why_it_is_unsure_and_what_was_not_read(store):
    raw = b"Subject: x\n\n" + b"\n".join(b"w%06d" % n for n in range(30_000))
    shown = mail("explain", "--store", store, stdin=raw).stdout
    assert "not read: tokens after the first 20000" in shown
    shown = mail("explain", "--store", store, stdin=b"\n\nthe and you\n").stdout
    assert "unsure: p(spam) = " in shown


def test_explaining_with_a_store_of_many_labels_sets_the_likeliest_against_all_others(tmp_path):
    store = tmp_path / "mail.db"
    given = {name: (label, range(6)) for name, label in (("work", "ham"), ("home", "both"), ("spam", "spam"))}
    given["news"] = ("ham", range(6, 12))
    boxes = [f"--label={name}={mbox(tmp_path / f'{name}.mbox', *of)}" for name, of in given.items()]
    assert mail("learn", *boxes, "--store", store).exit_code == 0
    shown = mail("explain", "--store", store, stdin=make_message("spam", 80)).stdout
    assert re.search(r"^ +decibans +spam +others +what$", shown, flags=re.MULTILINE), shown


def test_a_folder_without_mail_is_the_error_that_learning_reports(store, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tennis.csv").write_text("outlook,play\nsunny,no\n" * 20)
    for verb in (["classify"], ["learn", "--ham"]):
        result = mail(*verb, folder, "--store", store)
        assert result.exit_code != 0
        assert "error: there are no messages, but 1 file that is not mail" in result.stderr
