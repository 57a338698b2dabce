"""Backups, merging, text, what models found out, the journal."""

import json
import math
import os
import sqlite3
import time
from contextlib import closing

import pytest

from deciban.errors import InputError, SchemaError, StoreError
from deciban.mail.filter import MailFilter
from deciban.mail.status_figures import read_figures
from deciban.mail.store.store import Store
from deciban.mail.store.store_file import MAX_JOURNAL_LINES
from deciban.mail.store.stored_messages import StoredMessage


def entry(i: int, label: str = "ham", tokens: tuple[str, ...] = ("a",)) -> StoredMessage:
    return StoredMessage(i.to_bytes(16, "big"), label, list(tokens), float(i))


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "mail.db") as opened:
        opened.learn([entry(1, "spam", ("free", "tea")), entry(2, "ham", ("tea", "été")), entry(3, "ham", ())])
        yield opened


# Text


def test_the_text_is_as_documented(store):
    store.set("threshold", 0.9)
    lines = [json.loads(line) for line in store.export()]
    assert lines == [
        {
            "format": "deciban mail store",
            "version": 1,
            "messages": 3,
            "labels": ["spam", "ham"],
            "reading": None,
            "half_life": None,
            "origin": None,
            "settings": {"threshold": 0.9},
        },
        {"digest": f"{1:032x}", "label": "spam", "tokens": ["free", "tea"], "time": 1.0},
        {"digest": f"{2:032x}", "label": "ham", "tokens": ["tea", "été"], "time": 2.0},
        {"digest": f"{3:032x}", "label": "ham", "tokens": [], "time": 3.0},
    ]


def test_a_store_comes_back_from_its_text(store, tmp_path):
    store.set("threshold", 0.9)
    store.age(2.0)
    text = list(store.export())
    with Store(tmp_path / "again.db") as again:
        assert again.absorb_text(text) == (3, 0, ())
        assert list(again.export()) == text
        assert again.counts(["tea", "free", "été"]) == store.counts(["tea", "free", "été"])
        assert again.absorb_text(text) == (0, 3, ())


@pytest.mark.parametrize(
    ("change", "message_text"),
    [
        (lambda lines: [], "line 1: a JSON object"),
        (lambda lines: ["From someone\n"], "line 1: a JSON object"),
        (lambda lines: ['{"a": 1}\n'], "begins with"),
        (lambda lines: [lines[0].replace('"version": 1', '"version": 2'), *lines[1:]], "version 2"),
        (lambda lines: lines[:-1], "holds 2 messages, but its first line says 3"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], "line 4: a JSON object"),
        (
            lambda lines: [*lines[:-1], '{"digest": "zz", "label": "ham", "time": 1, "tokens": []}\n'],
            "line 4: a message",
        ),
        (lambda lines: [*lines[:-1], '{"digest": "00", "label": "ham", "time": 1, "tokens": []}\n'], "16 bytes"),
        (lambda lines: [*lines[:-1], lines[-1].replace("[]", '"abc"')], "not one text"),
        (lambda lines: [*lines[:-1], lines[-1].replace("[]", "[1]")], "every token must be a str"),
        (lambda lines: [*lines[:-1], lines[-1].replace("3.0", "NaN")], "finite"),
        (lambda lines: [*lines, "[1]\n"], "line 5: a JSON object"),
    ],
)
def test_a_text_that_is_not_whole_changes_nothing(store, tmp_path, change, message_text):
    with Store(tmp_path / "again.db") as again:
        with pytest.raises(InputError, match=message_text):
            again.absorb_text(change(list(store.export())))
        assert (again.totals(), again.labels()) == ({}, {})


FORGED_HEADS = [
    ({"messages": -1}, "messages -1"),
    ({"messages": True}, "messages True"),
    ({"messages": None}, "messages None"),
    ({"labels": "spam"}, "a list of at most"),
    ({"labels": ["spam", 5]}, "5 cannot be a label"),
    ({"labels": ["spam", "\x1b[2J"]}, "cannot be a label"),
    ({"labels": ["spam", "spam"]}, "must be there once"),
    ({"labels": [f"l{i}" for i in range(201)]}, "at most 200"),
    ({"reading": 5}, "reading 5"),
    ({"reading": ["usual"]}, "reading"),
    ({"reading": "\ud800"}, "without lone surrogates"),
    ({"half_life": "long"}, "half-life 'long'"),
    ({"half_life": True}, "half-life True"),
    ({"half_life": 0.5}, "half-life 0.5"),
    ({"half_life": 10**400}, "half-life 1000"),
    ({"half_life": 100.0, "origin": "then"}, "time 'then'"),
    ({"half_life": 100.0, "origin": math.nan}, "time nan"),
    ({"origin": [1]}, "time"),
    ({"settings": [1]}, "settings"),
    ({"settings": {"model": 5}}, "model 5 is not known"),
    ({"settings": {"model": ["bayes"]}}, "is not known"),
    ({"settings": {"model": "oracle"}}, "model 'oracle' is not known"),
    ({"settings": {"ham_at": "low"}}, "threshold 'low'"),
    ({"settings": {"spam_at": 7}}, "threshold 7"),
    ({"settings": {"spam_at": True}}, "threshold True"),
    ({"settings": {"ham_at": 0.9, "spam_at": 0.5}}, "thresholds 0.9 and 0.5"),
    ({"settings": {"ham_at": 0.97}}, "thresholds 0.97 and 0.95"),
    ({"settings": {"most_messages": "many"}}, "most_messages 'many'"),
    ({"settings": {"most_messages": 0}}, "most_messages 0"),
    ({"settings": {"most_messages": 2**70}}, "most_messages"),
    ({"settings": {"changes": "x"}}, "'changes' is kept by the store itself"),
    ({"settings": {"watched": {}}}, "'watched' is kept by the store itself"),
    ({"settings": {"own": math.inf}}, "finite"),
    ({"settings": {"own": "\ud800"}}, "without lone surrogates"),
    ({"settings": {"own": {"\udfff": 1}}}, "without lone surrogates"),
    ({"settings": {"": 1}}, "a key has"),
    ({"surprise": 1}, "'surprise' is not known"),
]


@pytest.mark.parametrize("emptied", [True, False], ids=["empty", "filled"])
@pytest.mark.parametrize(("change", "message_text"), FORGED_HEADS)
def test_a_first_line_with_a_value_that_no_store_has_changes_nothing(store, tmp_path, change, message_text, emptied):
    head, *rest = store.export()
    text = [json.dumps({**json.loads(head), **change}) + "\n", *rest]
    with Store(tmp_path / "again.db") as again:
        if not emptied:
            again.learn([entry(7, "work", ("other",))])
        before = contents(again)
        with pytest.raises(InputError, match=message_text):
            again.absorb_text(text)
        assert contents(again) == before
    with MailFilter(tmp_path / "again.db") as mail:
        assert mail.classify(b"Subject: free tea").label == "unsure"


@pytest.mark.parametrize(
    ("change", "message_text"),
    [
        ({"label": 5}, "5 cannot be a label"),
        ({"label": ""}, "cannot be a label"),
        ({"label": "x" * 201}, "cannot be a label"),
        ({"time": None}, "a time"),
        ({"time": True}, "time True"),
        ({"time": 10**400}, "time 1000"),
        ({"tokens": {"a": 1}}, "a list of tokens"),
        ({"tokens": [["a"]]}, "every token must be a str"),
        ({"digest": "0" * 34}, "16 bytes"),
        ({"digest": 5}, "a message has a digest"),
        ({"weight": 7}, "a message has a digest"),
    ],
)
def test_a_message_with_a_value_that_none_has_changes_nothing(store, tmp_path, change, message_text):
    *before, last = store.export()
    with Store(tmp_path / "again.db") as again:
        kept = contents(again)
        with pytest.raises(InputError, match=rf"line 4.*{message_text}"):
            again.absorb_text([*before, json.dumps({**json.loads(last), **change}) + "\n"])
        assert contents(again) == kept


def contents(store):
    """Every row of every table."""
    with closing(sqlite3.connect(store.path)) as db:
        return list(db.iterdump())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "oracle"),
        ("ham_at", "x"),
        ("spam_at", 2),
        ("most_messages", 0),
        ("own", math.nan),
        ("own", "\ud800"),
        ("own", {1: 2, "a": 3}),
        ("watched", {}),
    ],
)
def test_a_setting_with_a_value_that_it_cannot_have_is_refused(store, key, value):
    before = contents(store)
    with pytest.raises(InputError):
        store.set(key, value)
    assert contents(store) == before


# Merging


def test_merging_learns_what_is_new_and_tells_what_is_disputed(store, tmp_path):
    with Store(tmp_path / "other.db") as other:
        other.learn([entry(1, "ham", ("x",)), entry(2, "ham", ("tea", "été")), entry(9, "work", ("free",))])
    assert store.merge(tmp_path / "other.db") == (1, 1, ((entry(1).digest, "spam", "ham"),))
    assert store.find_label(entry(1).digest) == "spam"
    assert store.counts(["free", "x"]) == {"free": (1.0, 0.0, 1.0)}
    assert store.check() == []
    assert store.merge(tmp_path / "other.db").new == 0


def test_merging_needs_the_same_reading_of_mail(store, tmp_path):
    store.expect_reading("usual")
    with Store(tmp_path / "other.db") as other:
        other.expect_reading("letters")
        other.learn([entry(9)])
    with pytest.raises(SchemaError, match="mail read as 'usual'; this would be mail read as 'letters'"):
        store.merge(tmp_path / "other.db")
    with pytest.raises(SchemaError, match="Hint"):
        store.expect_reading("letters")
    store.expect_reading("usual")


def test_an_empty_store_takes_another_reading(tmp_path):
    with Store(tmp_path / "mail.db") as store:
        store.expect_reading("usual")
        store.expect_reading("letters")
        assert store.setting("reading") == "letters"


def test_merging_with_itself_or_with_what_is_no_store_changes_nothing(store, tmp_path):
    assert store.merge(store.path) == (0, 3, ())
    (tmp_path / "text").write_text("hello")
    for other in (tmp_path / "nowhere.db", tmp_path / "text"):
        with pytest.raises(StoreError):
            store.merge(other)
    assert store.totals() == {"spam": (1, 1.0), "ham": (2, 2.0)}


# Backups


def test_a_backup_is_the_store_as_it_was(store, tmp_path):
    before = list(store.export())
    store.backup(tmp_path / "copy.db")
    store.learn([entry(9)])
    assert sorted(name for name in os.listdir(tmp_path) if "mail" not in name) == ["copy.db"]
    with Store(tmp_path / "copy.db", create=False) as copy:
        assert list(copy.export()) == before
        assert copy.check() == []
        copy.learn([entry(10)])
        assert os.path.exists(tmp_path / "copy.db-wal")
    store.backup(tmp_path / "copy.db")
    with Store(tmp_path / "copy.db", create=False) as copy:
        assert list(copy.export()) == list(store.export())


def test_a_backup_replaces_nothing_but_a_backup(store, tmp_path):
    (tmp_path / "letter").write_text("dear")
    sqlite3.connect(tmp_path / "foreign.db").execute("CREATE TABLE a (b)").connection.close()
    (tmp_path / "link.db").symlink_to(store.path)
    for name, message_text in [
        ("letter", "not a mail store"),
        ("foreign.db", "not a mail store"),
        ("mail.db", "the store itself"),
        ("link.db", "the store itself"),
        ("nowhere/copy.db", "No such file"),
        (".", "a folder"),
    ]:
        with pytest.raises(StoreError, match=message_text):
            store.backup(tmp_path / name)
    with Store(tmp_path / "used.db") as used:
        used.learn([entry(1)])
        with pytest.raises(StoreError, match="in use"):
            store.backup(used.path)
    assert (tmp_path / "letter").read_text() == "dear"
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


def test_a_backup_does_not_replace_a_database_that_is_locked(store, tmp_path):
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign, isolation_level=None)) as db:
        db.execute("CREATE TABLE a (b)")
        before = foreign.read_bytes()
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="in use or cannot be read"):
            store.backup(foreign)
        db.execute("ROLLBACK")
    assert foreign.read_bytes() == before
    store.backup(tmp_path / "copy.db")
    with closing(sqlite3.connect(tmp_path / "copy.db", isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="in use or cannot be read"):
            store.backup(tmp_path / "copy.db")


def test_an_earlier_copy_that_was_learned_into_and_read_is_replaced(tmp_path):
    """Who only reads leaves an empty log beside a store: nobody has it open all the same."""
    with Store(tmp_path / "mail.db") as store:
        store.learn([entry(1)])
        store.backup(tmp_path / "copy.db")
        with Store(tmp_path / "copy.db") as copy:
            copy.learn([entry(2)])
        Store(tmp_path / "copy.db", create=False, read_only=True).close()
        assert (tmp_path / "copy.db-wal").exists()
        store.backup(tmp_path / "copy.db")
    with Store(tmp_path / "copy.db", create=False) as copy:
        assert (copy.find_label(entry(1).digest), copy.find_label(entry(2).digest)) == (entry(1).label, None)


# What models found out


def weights(store, model, words):
    found = store.tokens(words, model)
    return dict(zip(found.words, map(tuple, found.scores.tolist())))


def test_weights_of_a_model_are_found_by_word(store):
    rows = store.rows()
    words = store.tokens(None, None).words
    scores = [
        [float(len(word)) if word != "free" else 0.0 for word in words],
        [0.0 if word == "free" else 1.0 for word in words],
    ]
    store.save_fit("evidence", rows.numbers.tolist(), scores, {"bias": [0.1, -0.1]}, rows.changes)
    fit = store.fit("evidence")
    assert fit is not None
    assert (fit.model, fit.meta, fit.changes) == ("evidence", {"bias": [0.1, -0.1]}, store.changes())
    assert weights(store, "evidence", ["tea", "free", "été", "new"]) == {
        "tea": (3.0, 1.0), "free": (0.0, 0.0), "été": (3.0, 1.0)
    }  # fmt: skip
    assert store.fit("bayes") is None
    assert store.db.execute("SELECT model FROM fit").fetchall() == [("evidence",)]


def test_a_fit_replaces_the_one_before(store):
    numbers = store.rows().numbers
    store.save_fit("one", numbers, [numbers * 0 + 1.5], {})
    store.save_fit("two", numbers, [numbers * 0 + 2.5], {})
    store.save_fit("one", numbers, [numbers * 0 + 3.5], {"again": True})
    assert [weights(store, model, ["tea"]) for model in ("one", "two")] == [{"tea": (3.5,)}, {"tea": (2.5,)}]
    assert store.fit("one").meta == {"again": True}
    assert store.check() == []


def test_what_was_fitted_to_a_word_that_is_gone_is_gone(store):
    rows = store.rows()
    store.unlearn([entry(1).digest])
    store.learn([entry(8, "spam", ("other",))])  # must not be taken for "free", which had a number once
    store.save_fit("late", rows.numbers, [rows.numbers * 0 + 1.0], {}, rows.changes)
    assert weights(store, "late", ["free", "other", "tea"]) == {"other": (0.0,), "tea": (1.0,)}
    assert store.fit("late").changes < store.changes()
    store.unlearn([entry(2).digest])
    assert weights(store, "late", ["tea"]) == {}


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_weights_that_are_no_numbers_are_refused_and_the_old_ones_stay(store, bad):
    numbers = store.rows().numbers.tolist()
    store.save_fit("one", numbers, [[1.0] * len(numbers)], {})
    with pytest.raises(InputError, match="finite"):
        store.save_fit("one", numbers, [[bad] * len(numbers)], {})
    assert weights(store, "one", ["tea"]) == {"tea": (1.0,)}


# At a glance


def test_the_journal_tells_what_was_done_and_stays_short(store):
    store.unlearn([entry(3).digest])
    assert [what for _, what in store.journal()] == ["unlearned 1 message", "learned 3 messages, moved 0"]
    with store.write_transaction():
        for i in range(MAX_JOURNAL_LINES + 50):
            store.note(f"note {i}", 0)
    assert len(store.journal(10**6)) == MAX_JOURNAL_LINES


def test_the_status_tells_all_at_a_glance(store):
    figures = read_figures(MailFilter(store))
    assert (figures["store"], figures["messages"]) == (str(store.path), {"spam": 1, "ham": 2})
    assert (figures["tokens"], store.changes(), figures["half_life_days"]) == (3, 3, None)
    assert 0 <= time.time() - figures["last_learned"] < 600
    assert figures["bytes"] > 4096
    assert figures["writable"]
    assert (figures["most_messages"], figures["tidy_due"]) == (100_000, False)
    store.set("most_messages", 2)
    assert store.is_tidy_due()
    store.tidy()
    assert not store.is_tidy_due()
