"""Mail: unsure messages are found, learned and unlearned exactly, and nothing of them is markup."""

import pytest

from deciban.cli.example import unpack_mailbox
from deciban.mail.filter import MailFilter
from deciban.mail.message.message import compute_digest
from deciban.mail.sources.message_sources import read_mail
from tests.mail import dovecot
from tests.studio.studio_client import StudioClient

HOSTILE = (
    b"From: <b>Eve</b> <eve@example.org>\nSubject: <script>alert(1)</script> money & tea\nContent-Type: text/html\n\n"
    b"<html><body><h1>Claim</h1><script>alert(2)</script><img src=x onerror=alert(3)>your prize agenda</html>\n"
)


@pytest.fixture(scope="module")
def mailbox(tmp_path_factory):
    """A Maildir with one hostile message, and 12 messages of each label to learn."""
    box = tmp_path_factory.mktemp("mail") / "Maildir"
    unpack_mailbox(box)
    learned = {"ham": list(read_mail(box))[:12], "spam": list(read_mail(box / ".Junk"))[:12]}
    (box / "new" / "1700000000.M1P1.host").write_bytes(HOSTILE)
    return box, learned


@pytest.fixture
def mail(tmp_path, mailbox):
    box, learned = mailbox
    store = tmp_path / "mail.db"
    with MailFilter(store) as mail_filter:
        for label, messages in learned.items():
            for message in messages:
                mail_filter.learn(message.raw, label, message.time)
    return StudioClient(tmp_path, mail_store=store, mail_sources=(str(box),)).enter()


def classify(mail, raw):
    with MailFilter(mail.workspace.settings.mail_store) as mail_filter:
        return mail_filter.known(raw), mail_filter.classify(raw).label


def test_the_queue_holds_the_messages_of_which_the_filter_is_unsure(mail, mailbox):
    mail.page("/mail")
    mail.work("/mail/scan")
    with MailFilter(mail.workspace.settings.mail_store) as mail_filter:
        unsure = {
            compute_digest(message.raw).hex()
            for message in read_mail(mailbox[0])
            if mail_filter.known(message.raw) is None and mail_filter.classify(message.raw).label == "unsure"
        }
    assert set(mail.workspace.mail_queue.waiting) == unsure
    assert mail.workspace.mail_queue.verdicts["known"] == 12
    assert unsure


def test_one_click_learns_a_message_and_undo_unlearns_it(mail):
    mail.work("/mail/scan")
    queue = mail.workspace.mail_queue
    shown = queue.show_next()
    before = classify(mail, shown.message.raw)
    mail.post("/mail/learn", data={"message": shown.message.key, "label": "spam"})
    assert classify(mail, shown.message.raw)[0] == "spam"
    assert shown.message.key not in queue.waiting
    assert "Undo" in mail.page("/mail")
    mail.post("/mail/undo", data={"message": shown.message.key})
    assert classify(mail, shown.message.raw) == before
    assert next(iter(queue.waiting)) == shown.message.key
    assert mail.post("/mail/undo", data={"message": shown.message.key}).status_code == 409


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_messages_that_became_clear_leave_the_queue_until_an_undo(mail):
    mail.work("/mail/scan")
    queue = mail.workspace.mail_queue
    n = len(queue.waiting)
    with MailFilter(mail.workspace.settings.mail_store) as mail_filter:
        for message in read_mail(f"{mail.workspace.settings.mail_sources[0]}/.Junk"):
            mail_filter.learn(message.raw, "spam")
    first = queue.show_next()
    learned = queue.learn(first.message.key, "ham")
    queue.show_next()
    assert len(queue.waiting) + len(queue.decided) == n - 1
    queue.undo(learned.message.key)
    assert len(queue.waiting) == n


def test_nothing_of_a_message_is_markup(mail):
    mail.work("/mail/scan")
    queue, key = mail.workspace.mail_queue, compute_digest(HOSTILE).hex()
    assert key in queue.waiting
    skip = list(queue.waiting).index(key)
    html = mail.page(f"/mail?skip={skip}")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; money &amp; tea" in html
    assert "<script>alert" not in html
    assert "onerror" not in html.replace("&lt;img", "")
    assert "alert(2)" not in html
    assert "<h1>Claim" not in html
    assert "prize agenda" in html
    queue.learn(key, "spam")
    assert "<script>alert" not in mail.page("/mail")


def test_clues_are_in_words(mail):
    mail.work("/mail/scan")
    key = compute_digest(HOSTILE).hex()
    html = mail.page(f"/mail?skip={list(mail.workspace.mail_queue.waiting).index(key)}")
    assert "a web page and no plain text" in html
    assert "shape:html-only" not in html


def test_what_cannot_be_learned_is_refused(mail):
    mail.work("/mail/scan")
    key = next(iter(mail.workspace.mail_queue.waiting))
    assert mail.post("/mail/learn", data={"message": key, "label": "nonsense"}).status_code == 400
    assert mail.post("/mail/learn", data={"message": "00", "label": "ham"}).status_code == 409


def test_the_page_says_how_to_name_a_store(studio, tmp_path):
    assert "deciban studio --mail" in studio.page("/mail")
    assert studio.post("/mail/scan").status_code == 409
    missing = StudioClient(tmp_path, mail_store=tmp_path / "none.db").enter()
    assert "none.db" in missing.page("/mail")


def test_the_figures_are_those_of_mail_status(mail):
    html = mail.page("/mail")
    assert "12 ham, 12 spam" in html
    assert "ham up to p = 0.2" in html


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
@pytest.mark.skipif(dovecot.ABSENT is not None, reason=str(dovecot.ABSENT))
def test_the_queue_of_an_imap_account_is_learned_and_the_account_stays_as_it_is(tmp_path, mailbox, monkeypatch):
    store = tmp_path / "mail.db"
    with MailFilter(store) as mail_filter:
        for label, messages in mailbox[1].items():
            for message in messages:
                mail_filter.learn(message.raw, label, message.time)
    with dovecot.running() as server, server.reader() as reader:
        reader.append("INBOX", "", None, HOSTILE.replace(b"\n", b"\r\n"))
        mail = StudioClient(tmp_path, mail_store=store, mail_sources=(server.address(),)).enter()
        monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", "wrong")
        mail.post("/mail/scan")
        mail.workspace.job.wait(60)
        assert mail.workspace.job.state == "failed"
        assert "refused the login" in mail.workspace.job.error
        monkeypatch.setenv("DECIBAN_IMAP_PASSWORD", dovecot.PASSWORD)
        mail.work("/mail/scan")
        (message,) = mail.workspace.mail_queue.waiting.values()
        html = mail.page("/mail")
        assert f"/INBOX;uid={message.name.rpartition('=')[2]}" in html
        assert dovecot.PASSWORD not in html
        mail.post("/mail/learn", data={"message": message.key, "label": "spam"})
        assert classify(mail, message.raw)[0] == "spam"
        reader.select("INBOX", readonly=True)
        assert b"\\Seen" not in reader.fetch("1", "(FLAGS)")[1][0]
