"""A caching filter gives the verdicts of one that does not cache, whoever changes the store meanwhile."""

import random

import pytest

from deciban.mail.filter import CachingMailFilter, MailFilter
from deciban.mail.model import verdicts
from tests.mail.spamds import make_message


@pytest.mark.parametrize("most", [50_000, 30], ids=["all", "few"])
def test_verdicts_are_the_same_whatever_anybody_does(tmp_path, monkeypatch, most):
    monkeypatch.setattr(CachingMailFilter, "_max_cached_tokens", most)
    draw = random.Random(3)
    with MailFilter(tmp_path / "mail.db") as plain, CachingMailFilter(tmp_path / "mail.db") as caching:
        for step in range(150):
            raw = make_message(draw.choice(["ham", "spam"]), draw.randrange(1000))
            assert caching.classify(raw) == plain.classify(raw)
            who, what = draw.choice([plain, caching]), draw.random()
            if what < 0.4 or step < 30:
                label = draw.choice(["ham", "spam"])
                who.learn(make_message(label, draw.randrange(100)), label)
            elif what < 0.5:
                who.unlearn(make_message("spam", draw.randrange(100)))
            elif what < 0.55:
                who.refit(force=True)
            elif what < 0.6:
                who.store.set("spam_at", draw.uniform(0.5, 1.0))


def test_where_messages_age_a_cached_snapshot_expires(tmp_path, monkeypatch):
    times = iter(range(0, 10_000, 100))
    monkeypatch.setattr(verdicts, "monotonic", lambda: next(times))
    with CachingMailFilter(tmp_path / "mail.db") as mail:
        for number in range(6):
            mail.learn(make_message("ham", number), "ham")
            mail.learn(make_message("spam", number), "spam")
        mail.classify(make_message("spam", 9))
        first = mail._cached
        mail.classify(make_message("spam", 9))
        assert mail._cached is first
        mail.store.age(86400.0)
        mail.classify(make_message("spam", 9))
        second = mail._cached
        mail.classify(make_message("spam", 9))
        assert second is not first
        assert mail._cached is not second
