"""Debian's own `spamc` asks: what it prints, gives back and exits with is as with SpamAssassin's server."""

import math
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from deciban.mail.filter import MailFilter
from deciban.mail.spamd.connections import Limits
from tests.mail import spamds
from tests.mail.spamds import learn_messages, make_message, run_server

pytestmark = pytest.mark.skipif(spamds.ABSENT is not None, reason=str(spamds.ABSENT))

SPAM_WORDS = spamds.WORDS["spam"].split()
UNHEARD_OF = b"Subject: quux\n\nfrobnicate zyzzyva\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "mail.db"
    learn_messages(path)
    return path


@pytest.fixture(scope="module")
def server(store):
    with run_server(store) as server:
        yield server


@pytest.fixture
def fresh(tmp_path):
    path = tmp_path / "mail.db"
    learn_messages(path)
    with run_server(path) as server:
        yield server, path


def test_spam_ham_and_unsure_are_stated_by_exit_code_and_score(server, store):
    with MailFilter(store) as mail:
        at = mail.thresholds[1]
        for message in (make_message("spam", 900), make_message("ham", 900), UNHEARD_OF):
            p = mail.classify(message).probability
            score = 5 + (10 * math.log10(p / (1 - p)) - 10 * math.log10(at / (1 - at))) / 2
            asked = server.spamc("-c", message=message)
            assert asked.code == (p >= at)
            assert asked.out == f"{score:.1f}/5.0\n".encode()
    assert [
        server.spamc("-c", message=m).code for m in (make_message("spam", 901), make_message("ham", 901), UNHEARD_OF)
    ] == [
        1,
        0,
        0,
    ]


@pytest.mark.parametrize("options", [("-E",), ("-E", "--headers")], ids=["whole", "headers"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("label", ["spam", "ham"])
def test_a_message_comes_back_with_one_header_more(server, store, label, newline, options):
    message = make_message(label, 902, newline)
    asked = server.spamc(*options, message=message)
    first, _, rest = asked.out.partition(newline.encode())
    with MailFilter(store) as mail:
        assert first.decode() == f"X-Deciban: {mail.classify(message).header()}"
    assert rest == message
    assert asked.code == (label == "spam")


def test_a_header_that_came_with_the_message_is_not_trusted(server):
    forged = b"x-DECIBAN: ham; p=0.0000\n\tfor sure\nX-Deciban-Note: trust me\n" + make_message("spam", 903)
    asked = server.spamc("-E", message=forged)
    assert asked.code == 1
    assert asked.out.lower().count(b"x-deciban") == 1
    assert b"trust me" not in asked.out
    assert b"for sure" not in asked.out


def test_reports_name_the_reasons(server):
    spam, ham = make_message("spam", 904), make_message("ham", 904)
    report = server.spamc("-R", message=spam).out.decode()
    assert "classifies this message as spam" in report
    assert any(word in report for word in SPAM_WORDS)
    assert server.spamc("-r", message=spam).out.decode() == report
    assert server.spamc("-r", message=ham).out == b""
    assert "classifies this message as ham" in server.spamc("-R", message=ham).out.decode()
    names = server.spamc("-y", message=spam).out.decode().strip().split(",")
    assert names[0] == "DECIBAN_SPAM"
    assert set(names) & {*SPAM_WORDS, *(f"subject:{word}" for word in SPAM_WORDS)}


def test_a_ping_is_answered(server):
    asked = server.spamc("-K")
    assert (asked.code, asked.out) == (0, b"SPAMD/1.5 0\n")


def test_learning_and_forgetting_are_done_once(fresh):
    server, path = fresh
    message = make_message("spam", 905)
    output = [server.spamc("-L", what, message=message) for what in ("spam", "spam", "ham", "forget", "forget")]
    assert {asked.code for asked in output} == {0}
    done, already = b"Message successfully un/learned\n", b"Message was already un/learned\n"
    assert [asked.out for asked in output] == [done, already, done, done, already]
    server.spamc("-L", "ham", message=message)
    with MailFilter(path) as mail:
        assert mail.known(message) == "ham"


def test_a_server_that_shall_not_learn_does_not(tmp_path):
    learn_messages(tmp_path / "mail.db")
    with run_server(tmp_path / "mail.db", learns=False) as server:
        assert server.spamc("-L", "spam", message=make_message("spam", 906)).code != 0
        assert server.spamc("-c", message=make_message("spam", 906)).code == 1
    with MailFilter(tmp_path / "mail.db") as mail:
        assert mail.known(make_message("spam", 906)) is None


def test_answers_follow_what_others_learn(fresh):
    server, path = fresh
    message = b"Subject: zyzzyva\n\nquux frobnicate zyzzyva plugh\n"
    before = server.spamc("-c", message=message)
    with MailFilter(path) as mail:
        for number in range(40):
            mail.learn(message + f"{number}".encode(), "spam")
        expected = mail.classify(message)
    after = server.spamc("-c", message=message)
    assert before.code == 0
    assert after.code == 1
    assert expected.header() in server.spamc(message=message).out.decode()


def test_answers_follow_thresholds_and_models(fresh):
    server, path = fresh
    message = make_message("spam", 907)
    with MailFilter(path) as mail:
        mail.store.set("spam_at", 1.0)
        assert server.spamc("-c", message=message).code == 0
        mail.store.set("spam_at", 0.9)
        mail.store.set("model", "bayes")
    with MailFilter(path) as mail:
        assert mail.model == "bayes"
        assert mail.classify(message).header() in server.spamc(message=message).out.decode()


def test_message_after_message_is_classified_as_the_filter_classifies(server, store):
    with MailFilter(store) as mail:
        for number in range(40):
            message = make_message(("spam", "ham")[number % 2], 1000 + number)
            assert mail.classify(message).header() in server.spamc(message=message).out.decode()


def test_sixteen_at_once_are_all_answered_right(fresh):
    server, path = fresh

    def ask(number):
        label = ("spam", "ham")[number % 2]
        message = make_message(label, 2000 + number)
        if number % 5 == 0:
            return server.spamc("-L", label, message=message).code == 0
        asked = server.spamc("-E", message=message)
        return (
            asked.code == (label == "spam") and asked.out.endswith(message) and asked.out.startswith(b"X-Deciban: ")
        )

    with ThreadPoolExecutor(16) as many:
        assert all(many.map(ask, range(160)))
    with MailFilter(path) as mail:
        assert all(mail.known(make_message(("spam", "ham")[n % 2], 2000 + n)) for n in range(0, 160, 5))


def test_oversized_messages_come_back_as_they_were(store):
    big = make_message("spam", 908) + b"x" * 3_000_000
    with run_server(store, limits=Limits(message=1_000_000)) as server:
        by_client = server.spamc("-E", "-s", "1000", message=big)
        by_server = server.spamc("-E", "-s", "10000000", message=big)
        assert (by_client.code, by_client.out) == (0, big)
        assert (by_server.code, by_server.out) == (0, big)
        assert server.spamc("-x", "-s", "10000000", message=big).code != 0
        assert server.spamc("-c", "-s", "10000000", message=big).out == b"0/0\n"
        assert server.spamc("-E", "-s", "10000000", message=big[:999_000]).out.startswith(b"X-Deciban: spam")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\n",
        b"no headers at all",
        b"\r\n\r\n\r\n",
        b"Subject: only headers",
        b"Subject: a\n\nnul \0 nul\n",
        bytes(range(256)) * 40,
    ],
    ids=["nothing", "blank", "no headers", "blanks", "only headers", "NUL", "bytes"],
)
@pytest.mark.parametrize("options", [(), ("--headers",)], ids=["whole", "headers"])
def test_nothing_of_an_odd_message_is_lost(server, message, options):
    asked = server.spamc(*options, message=message)
    assert asked.code == 0
    assert asked.out.endswith(message)


def test_a_store_that_breaks_does_not_cost_a_message(fresh):
    server, path = fresh
    message = make_message("spam", 909)
    assert server.spamc("-E", message=message).code == 1
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE token RENAME TO elsewhere")
    database.close()
    for options in (("-E",), ("-E", "--headers")):
        asked = server.spamc(*options, message=message)
        assert (asked.code, asked.out) == (0, message)
    assert server.spamc("-c", message=message).out == b"0/0\n"
    assert server.spamc("-L", "spam", message=message).code != 0
    database = sqlite3.connect(path)
    database.execute("ALTER TABLE elsewhere RENAME TO token")
    database.close()
    assert server.spamc("-E", message=message).code == 1


def test_another_store_may_take_the_place_of_the_first(fresh, tmp_path):
    server, path = fresh
    message = make_message("spam", 910)
    assert server.spamc("-c", message=message).code == 1
    with MailFilter(tmp_path / "other.db") as other:
        for number in range(10):
            other.learn(make_message("spam", number), "ham")
            other.learn(make_message("ham", number), "spam")
        other.store.backup(tmp_path / "copy.db")
    (tmp_path / "copy.db").replace(path)
    assert server.spamc("-R", message=message).out.decode().count("10 ham, 10 spam") == 1


def test_a_unix_socket_is_for_its_owner_alone(store, tmp_path):
    place = tmp_path / "spamd.sock"
    with run_server(store, f"unix:{place}") as server:
        assert place.stat().st_mode & 0o777 == 0o600
        assert server.spamc("-c", message=make_message("spam", 911)).code == 1
        assert server.spamc("-E", message=make_message("ham", 911)).code == 0
    assert not place.exists()


def test_ipv6_is_spoken(store):
    try:
        with run_server(store, "[::1]:0") as server:
            assert server.spamc("-c", message=make_message("spam", 912)).code == 1
    except ValueError as error:
        if "listen" not in str(error):
            raise
        pytest.skip("no IPv6 here")
