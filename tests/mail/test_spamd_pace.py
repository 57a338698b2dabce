"""How long a message takes through the server, one after the other and with sixteen clients for a minute."""

import statistics
import threading
import time

import pytest
from tests.mail import spamds
from tests.mail.spamds import learn_letters, letter, request, running


@pytest.mark.thorough
def test_five_milliseconds_at_the_median(tmp_path):
    learn_letters(tmp_path / "mail.db")
    with running(tmp_path / "mail.db") as server:
        took = []
        for number in range(500):
            begun = time.perf_counter()
            assert b"X-Deciban: " in server.ask(
                request("PROCESS", letter(("spam", "ham")[number % 2], 3000 + number))
            )
            took.append(time.perf_counter() - begun)
    assert statistics.median(took) < 0.005


@pytest.mark.thorough
@pytest.mark.skipif(spamds.ABSENT is not None, reason=str(spamds.ABSENT))
def test_sixteen_at_once_for_a_minute_without_an_error(tmp_path):
    learn_letters(tmp_path / "mail.db")
    end, wrong, right = time.monotonic() + 60, [], []

    def client(number):
        at = 10_000 * number
        while time.monotonic() < end:
            at += 1
            label = ("spam", "ham")[at % 2]
            message = letter(label, at)
            asked = server.spamc("-E", "-x", message=message)
            good = asked.code == (label == "spam") and asked.out.endswith(message) and len(asked.out) > len(message)
            (right if good else wrong).append(at)
            if at % 50 == 0:
                assert server.spamc("-L", label, message=message).code == 0

    with running(tmp_path / "mail.db") as server:
        threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert wrong == []
    assert len(right) > 1000
