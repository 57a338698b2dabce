"""A store that remembers what it was asked gives the answers of one that does not, whoever changes it meanwhile."""

import random

import pytest

from deciban.mail import remembering
from deciban.mail.remembering import RememberingStore
from deciban.mail.store import Entry, Store

WORDS = [f"w{n}" for n in range(60)]


@pytest.mark.parametrize("most", [100_000, 10], ids=["all", "few"])
def test_answers_are_those_of_the_store_whatever_others_do(tmp_path, monkeypatch, most):
    monkeypatch.setattr(remembering, "MOST_REMEMBERED", most)
    draw = random.Random(3)
    with Store(tmp_path / "mail.db") as plain, RememberingStore(tmp_path / "mail.db") as remembering_store:
        for step in range(200):
            asked = [*draw.sample(WORDS, 12), "never", "\ud800"]
            assert remembering_store.counts(asked) == plain.counts(asked)
            assert remembering_store.fit_for(asked, "evidence") == plain.fit_for(asked, "evidence")
            if draw.random() < 0.2:
                plain.learn([Entry(step.to_bytes(16), draw.choice(["ham", "spam", "work"]), draw.sample(WORDS, 9))])
            elif draw.random() < 0.1:
                plain.unlearn([draw.randrange(step + 1).to_bytes(16)])
            elif draw.random() < 0.1:
                plain.save_fit("evidence", range(5), [[draw.random() for _ in range(5)]], {"labels": []})


def test_a_moment_stays_a_moment(tmp_path):
    with Store(tmp_path / "mail.db") as other, RememberingStore(tmp_path / "mail.db") as store:
        other.learn([Entry(b"a" * 16, "ham", ["tea"])])
        with store.reading():
            assert store.counts(["tea"]) == {"tea": (1.0,)}
            other.learn([Entry(b"b" * 16, "ham", ["tea", "milk"])])
            assert store.counts(["tea", "milk"]) == {"tea": (1.0,)}
        assert store.counts(["tea", "milk"]) == {"tea": (2.0,), "milk": (1.0,)}
