"""`deciban example mailbox`: a Maildir that nobody wrote, always the same, in many languages, and not too easy."""

import email
import mailbox
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from email import policy
from pathlib import Path

import pytest

from deciban.cli import example
from deciban.mail.evaluation.evaluate_filter import evaluate_folds
from deciban.mail.evaluation.labelled_mail import read_labelled_mail
from deciban.mail.filter import MailFilter
from tests.cli.terminal import call, done

ROOT = Path(__file__).parents[2]
LANGUAGES = {
    "english": r"\b(the|your)\b", "german": r"\b(Sie|wir|ist|die)\b", "french": r"\b(vous|votre|les|est)\b",
    "spanish": r"\b(el|su|los|una)\b", "polish": "[łąęż]",
    "turkish": "[ğş]", "russian": "[а-я]{3}", "greek": "[α-ω]{3}",
    "arabic": "[\u0627-\u064a]{3}", "chinese": "您|[们这请吗]", "japanese": "[\u3040-\u309f]{2}",
}  # fmt: skip
"""A pattern of each language."""

OURS = re.compile(r"(?:.*\.)?example(?:\.(?:com|org|net))?|(?:192\.0\.2|198\.51\.100|203\.0\.113)\.\d+")
"""Names and numbers that are kept free for examples (RFC 2606, RFC 5737)."""


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home") / "Maildir"
    done("example", "mailbox", "--folder", folder)
    return folder


def files(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def parsed(paths):
    return [email.message_from_bytes(path.read_bytes(), policy=policy.default) for path in paths]


def texts(message):
    """Return the text of a message that a reader sees, by Python's own parser; what has no charset is left out."""
    found = [str(message["subject"])]
    for part in message.walk():
        known = not str(part.get_content_charset()).startswith("x-")
        if part.get_content_maintype() == "text" and known and not part.is_attachment():
            found.append(part.get_content())
    return "\n".join(found)


def defects(message):
    of_headers = [defect for value in message.values() for defect in value.defects]
    return of_headers + [defect for part in message.walk() for defect in part.defects]


def test_it_is_a_maildir_with_mail_that_was_read_mail_that_is_new_and_junk(box):
    inbox, junk = mailbox.Maildir(box, create=False), mailbox.Maildir(box / ".Junk", create=False)
    read = [message for message in inbox if message.get_subdir() == "cur"]
    assert (len(read), len(inbox) - len(read), len(junk)) == (212, 10, 158)
    assert all("S" in message.get_flags() for message in [*read, *junk])
    assert not list((box / "tmp").iterdir())


@pytest.mark.parametrize(("seed", "zone"), [("1", "UTC"), ("2", "Asia/Tokyo")])
def test_the_packed_mailbox_is_what_the_generator_writes(box, seed, zone):
    script = "import pickle, sys\nfrom docs.make_mailbox.mailbox import files\n"
    script += "sys.stdout.buffer.write(pickle.dumps(files()))"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": "C"}
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    written = {path.relative_to(box).as_posix(): path.read_bytes() for path in files(box)}
    assert written == pickle.loads(result.stdout)


def test_no_two_messages_are_the_same(box):
    assert len({path.read_bytes() for path in files(box)}) == len(files(box))


def test_messages_are_whole_but_for_some_junk_that_was_damaged_on_purpose(box):
    broken = [path for path, message in zip(files(box), parsed(files(box))) if defects(message)]
    assert 0 < len(broken) < 10
    assert all(".Junk" in path.parts for path in broken)


@pytest.mark.parametrize("folder", ["cur", ".Junk"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_is_in_messages_and_in_junk(box, folder, language):
    shown = [message for message in parsed(files(box / folder)) if re.search(LANGUAGES[language], texts(message))]
    assert len(shown) >= 3


@pytest.mark.parametrize("folder", ["cur", ".Junk"])
def test_messages_come_in_all_shapes(box, folder):
    kinds, ways, charsets = Counter(), Counter(), Counter()
    for message in parsed(files(box / folder)):
        kinds[message.get_content_type()] += 1
        for part in message.walk():
            ways[part["content-transfer-encoding"]] += 1
            charsets[part.get_content_charset()] += 1
    assert set(kinds) == {"text/plain", "text/html", "multipart/alternative", "multipart/mixed"}
    assert {"7bit", "8bit", "quoted-printable", "base64"} <= set(ways)
    assert len(charsets) >= 10


def test_messages_have_lists_answers_attachments_and_names_beyond_ascii(box):
    raw = [path.read_bytes() for path in files(box / "cur")]
    wanted = (
        b"\nList-Id: ",
        b"\nIn-Reply-To: ",
        b"\nList-Unsubscribe: ",
        b"filename*=utf-8''",
        b"\nFrom: =?",
        b"\n> ",
    )
    for what in wanted:
        assert sum(what in mail for mail in raw) >= 2, what


def test_junk_hides_words_and_pretends_where_links_lead(box):
    junk = [texts(message) for message in parsed(files(box / ".Junk"))]
    assert any("display:none" in text for text in junk)
    assert any(re.search(r'<a href="http://[^"]+">https?://', text) for text in junk)


def test_every_address_and_link_is_one_that_is_kept_free_for_examples(box):
    found = set()
    for message in parsed(files(box)):
        words = texts(message) + "\n" + "\n".join(str(value) for value in message.values())
        found |= set(re.findall(r"(?<=\w@)[\w-]+(?:\.[\w-]+)+", words)) | set(re.findall(r"(?<=://)[\w.-]+\w", words))
    assert len(found) > 50
    assert not {host for host in found if not OURS.fullmatch(host)}


def test_a_filter_of_one_half_classifies_the_other_well_but_not_all_of_it(box, tmp_path):
    learned, asked = files(box / "cur")[::2], files(box / "cur")[1::2]
    junk, more_junk = files(box / ".Junk")[::2], files(box / ".Junk")[1::2]
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn_all(((path.name, path.read_bytes()) for path in learned), "ham")
        mail.learn_all(((path.name, path.read_bytes()) for path in junk), "spam")
        mail.refit()
        ham = [mail.classify(path.read_bytes()) for path in asked]
        spam = [mail.classify(path.read_bytes()) for path in more_junk]
    right = sum(verdict.label == "ham" for verdict in ham) + sum(verdict.label == "spam" for verdict in spam)
    wrong = sum(verdict.probability >= 0.5 for verdict in ham) + sum(verdict.probability < 0.5 for verdict in spam)
    assert 0.85 * (len(ham) + len(spam)) < right < len(ham) + len(spam)
    assert 0 < wrong < 0.06 * (len(ham) + len(spam))


def test_evaluating_it_tells_of_mistakes_and_of_what_is_unsure(box):
    report = evaluate_folds(read_labelled_mail([str(box / "cur")], [str(box / ".Junk")]), 10)
    (_, lost, _), (missed, _, unsure) = report.metrics.confusion
    assert lost + missed <= 6
    assert unsure > 0
    assert 0 < report.metrics.error < 0.04
    assert len(report.mistakes) == report.metrics.ham_wrong + report.metrics.spam_wrong


def test_a_folder_that_is_not_empty_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "letter").write_text("mine")
    result = call("example", "mailbox", "--folder", tmp_path)
    assert result.exit_code == 1
    assert "is not empty" in result.stderr
    assert "Hint: --folder names another one." in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


def test_an_empty_folder_is_filled_and_a_file_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    done("example", "mailbox", "--folder", tmp_path / "empty")
    assert (tmp_path / "empty" / "cur").is_dir()
    (tmp_path / "file").write_text("mine")
    result = call("example", "mailbox", "--folder", tmp_path / "file")
    assert result.exit_code == 1
    assert "is a file" in result.stderr
    assert (tmp_path / "file").read_text() == "mine"


def test_a_mailbox_that_cannot_be_finished_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(example, "FLAG_SEPARATOR", "x" * 300)
    result = call("example", "mailbox", "--folder", tmp_path / "Maildir")
    assert result.exit_code == 1
    assert "cannot write to the folder" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_table_takes_no_folder(tmp_path):
    result = call("example", "patients", "--folder", tmp_path)
    assert result.exit_code == 2
    assert "--folder is for mailbox" in result.stderr


def test_a_table_is_written_without_loading_the_mailbox():
    script = (
        "import sys\nfrom deciban.cli.main import main\nsys.argv = ['deciban', 'example', 'new-patients']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('LOADED', [name for name in sys.modules if 'mailbox' in name or name == 'numpy'])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "LOADED []" in found.stdout


def test_the_guide_goes_from_a_maildir_to_a_filter_in_five_commands():
    chapters = re.findall(
        r"^## (\d)\. .*?```console\n\$ (.*?)\n", (ROOT / "docs/guides/mail.md").read_text(), re.M | re.S
    )
    assert [number for number, _ in chapters] == list("12345")
    assert [command.split()[:3] for _, command in chapters] == [
        ["deciban", "mail", name] for name in ("learn", "evaluate", "classify", "filter", "watch")
    ]
