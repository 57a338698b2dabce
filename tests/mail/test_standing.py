"""A filter that stands by gives the verdicts of one that does not, whoever changes the store meanwhile."""

import random

import pytest

from deciban.mail.filter import MailFilter
from deciban.mail.model import caching_filter as standing
from deciban.mail.model.caching_filter import CachingMailFilter
from tests.mail.spamds import letter


@pytest.mark.parametrize("most", [50_000, 30], ids=["all", "few"])
def test_verdicts_are_the_same_whatever_anybody_does(tmp_path, monkeypatch, most):
    monkeypatch.setattr(standing, "MOST_KNOWN", most)
    draw = random.Random(3)
    with MailFilter(tmp_path / "mail.db") as plain, CachingMailFilter(tmp_path / "mail.db") as stands:
        for step in range(150):
            asked = letter(draw.choice(["ham", "spam"]), draw.randrange(1000))
            assert stands.classify(asked) == plain.classify(asked)
            who, what = draw.choice([plain, stands]), draw.random()
            if what < 0.4 or step < 30:
                label = draw.choice(["ham", "spam"])
                who.learn(letter(label, draw.randrange(100)), label)
            elif what < 0.5:
                who.unlearn(letter("spam", draw.randrange(100)))
            elif what < 0.55:
                who.refit(force=True)
            elif what < 0.6:
                who.store.set("spam_at", draw.uniform(0.5, 1.0))


def test_where_messages_age_they_are_weighed_as_of_now(tmp_path, monkeypatch):
    times = iter(range(0, 10_000, 100))
    monkeypatch.setattr(standing, "monotonic", lambda: next(times))
    with CachingMailFilter(tmp_path / "mail.db") as mail:
        for number in range(6):
            mail.learn(letter("ham", number), "ham")
            mail.learn(letter("spam", number), "spam")
        mail.classify(letter("spam", 9))
        first = mail._moment
        mail.classify(letter("spam", 9))
        assert mail._moment is first
        mail.store.age(86400.0)
        mail.classify(letter("spam", 9))
        second = mail._moment
        mail.classify(letter("spam", 9))
        assert second is not first
        assert mail._moment is not second
