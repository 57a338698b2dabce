"""The content of a store after learning, unlearning and moving messages."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from deciban.errors import ForgetError, InputError, StoreError
from deciban.mail.store import store_updates as learning
from deciban.mail.store.store import Store
from deciban.mail.store.stored_messages import LearnCounts, StoredMessage, TokenBatch, WordMemory, add_counts


def digest(i: int) -> bytes:
    return i.to_bytes(16, "little")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "mail.db") as opened:
        yield opened


A = StoredMessage(digest(1), "spam", ["free", "money", "subject:free"], 10.0)
B = StoredMessage(digest(2), "ham", ["tea", "free"], 20.0)
C = StoredMessage(digest(3), "spam", ["money", "tea"], 30.0)


def test_counts_are_messages_of_each_label_that_have_a_token(store):
    assert store.learn([A, B, C]) == LearnCounts(3, 0, 0)
    assert list(store.labels()) == ["spam", "ham"]
    assert store.totals() == {"spam": (2, 2.0), "ham": (1, 1.0)}
    assert store.counts(["tea", "free", "nobody", "money"]) == {
        "tea": (1.0, 1.0),
        "free": (1.0, 1.0),
        "money": (2.0, 0.0),
    }


def test_learning_twice_is_learning_once(store):
    store.learn([A, B])
    before = store.changes()
    assert store.learn([A, A, B]) == LearnCounts(0, 3, 0)
    assert store.totals() == {"spam": (1, 1.0), "ham": (1, 1.0)}
    assert store.changes() == before


def test_learning_under_another_label_undoes_the_first_exactly(store):
    store.learn([A, B])
    assert store.learn([A._replace(label="ham", tokens=["free", "new"])]) == LearnCounts(0, 0, 1)
    assert store.totals() == {"spam": (0, 0.0), "ham": (2, 2.0)}
    assert store.counts(["free", "money", "new", "tea"]) == {"free": (0.0, 2.0), "new": (0.0, 1.0), "tea": (0.0, 1.0)}


def test_one_batch_is_learned_as_its_messages_one_by_one(store):
    spam, ham = A, A._replace(label="ham", tokens=["else"])
    assert store.learn([spam, ham, ham, B]) == LearnCounts(2, 1, 1)
    assert store.find_label(A.digest) == "ham"
    assert store.counts(["free", "else"]) == {"free": (0.0, 1.0), "else": (0.0, 1.0)}


def test_unlearning_leaves_what_was_before(store):
    store.learn([B])
    store.learn([A, C])
    assert store.unlearn([A.digest, C.digest, A.digest, digest(9)]) == 2
    assert store.totals() == {"ham": (1, 1.0), "spam": (0, 0.0)}
    assert store.counts([*A.tokens, *B.tokens, *C.tokens]) == {"free": (1.0, 0.0), "tea": (1.0, 0.0)}
    assert store.find_label(A.digest) is None


def test_relabelling_moves_counts_and_refuses_strangers(store):
    store.learn([A, B])
    store.relabel(A.digest, "work")
    assert store.find_label(A.digest) == "work"
    assert store.totals() == {"spam": (0, 0.0), "ham": (1, 1.0), "work": (1, 1.0)}
    assert store.counts(["free"]) == {"free": (0.0, 1.0, 1.0)}
    with pytest.raises(ForgetError, match="never learned"):
        store.relabel(digest(77), "ham")


def test_a_token_counts_once_a_message(store):
    store.learn([StoredMessage(digest(1), "ham", ["a", "b", "a", "a"], 0.0)])
    assert store.counts(["a", "b"]) == {"a": (1.0,), "b": (1.0,)}
    assert store.rows().indices.tolist() == [0, 1]


def test_messages_without_tokens_and_tokens_of_any_script_are_learned(store):
    odd = ["", "subject:été", "日本語", "a\0b", "half\ud800", "'); DROP TABLE token; --", "x" * 10_000]
    store.learn([StoredMessage(digest(1), "ham", [], 0.0), StoredMessage(digest(2), "spam", odd, 0.0)])
    assert store.counts(odd) == dict.fromkeys(odd, (0.0, 1.0))
    assert store.totals() == {"ham": (1, 1.0), "spam": (1, 1.0)}
    store.unlearn([digest(2)])
    assert store.counts(odd) == {}


def test_rows_are_the_messages_in_order(store):
    store.learn([A, B, C])
    rows = store.rows()
    assert rows.label_names == ("spam", "ham")
    assert rows.labels.tolist() == [0, 1, 0]
    assert rows.times.tolist() == [10.0, 20.0, 30.0]
    assert rows.digests == [A.digest, B.digest, C.digest]
    words = store.tokens(None, None).words
    cut = [[words[j] for j in part] for part in np.split(rows.indices, rows.indptr[1:-1])]
    assert [sorted(part) for part in cut] == [sorted(e.tokens) for e in (A, B, C)]


def test_rows_of_an_empty_store_are_none(store):
    rows = store.rows()
    assert (rows.indptr.tolist(), rows.indices.tolist(), rows.label_names, rows.digests) == ([0], [], (), [])
    assert store.counts(["a"]) == {}
    assert store.totals() == {}


def test_many_tokens_are_found_whatever_their_number(store):
    words = [f"w{i}" for i in range(5000)]
    store.learn([StoredMessage(digest(1), "ham", words, 0.0)])
    store.learn([StoredMessage(digest(2), "ham", words[::7], 0.0)])
    assert store.counts(words) == {w: ((2.0,) if i % 7 == 0 else (1.0,)) for i, w in enumerate(words)}
    assert sorted(store.tokens(None, None).words) == sorted(words)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (A._replace(digest=b"short"), "16 bytes"),
        (A._replace(digest="x" * 16), "16 bytes"),
        (A._replace(label=3), "must be a str"),
        (A._replace(label=" "), "cannot be a label"),
        (A._replace(label="a\nb"), "cannot be a label"),
        (A._replace(tokens="free money"), "not one text"),
        (A._replace(tokens=["a", None]), "None: every token must be a str"),
        (A._replace(time=float("nan")), "finite"),
    ],
)
def test_what_cannot_be_learned_changes_nothing(store, entry, complaint):
    with pytest.raises(InputError, match=complaint):
        store.learn([B, entry])
    assert store.totals() == {}


def test_looking_up_loads_nothing_larger_than_numpy(tmp_path):
    with Store(tmp_path / "mail.db") as store:
        store.learn([A])
    code = f"""
import sys
from deciban.mail.store.store import Store
with Store({str(tmp_path / "mail.db")!r}, create=False) as store:
    assert store.counts(["free"]) == {{"free": (1.0,)}}
    store.totals(), store.find_label(b"a" * 16), store.ageing, store.unit()
print(sorted({{"numba", "scipy", "sklearn", "pyarrow", "duckdb"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_setting_is_kept_and_those_of_the_store_itself_are_not_touched(tmp_path):
    with Store(tmp_path / "mail.db") as store:
        store.set("threshold", {"spam": 0.9, "été": [1, 2]})
        store.set("gone", 1)
        store.set("gone", None)
        with pytest.raises(InputError, match="kept by the store itself"):
            store.set("origin", 3)
    with Store(tmp_path / "mail.db") as store:
        assert store.setting("threshold") == {"spam": 0.9, "été": [1, 2]}
        assert store.setting("gone", "none") == "none"


def test_messages_in_a_row_are_learned_as_each_by_itself(store, tmp_path):
    batch = [
        A,
        B,
        C,
        A._replace(label="ham"),
        StoredMessage(digest(4), "ham", [], 3.0),
        StoredMessage(digest(5), "spam", ["a", "a"], 3.0),
    ]
    with Store(tmp_path / "flat.db") as other:
        for known in ([], [C, StoredMessage(digest(5), "ham", ["b"], 0.0)]):
            store.learn(known)
            other.learn(known)
            learned = store.learn(batch)
            assert add_counts(other.learn_batch(TokenBatch.from_messages(batch)).values()) == learned
            assert list(other.export()) == list(store.export())
            assert other.check() == []
        known = other.learn_batch(TokenBatch.from_messages(batch[4:]))
        assert known == {"ham": LearnCounts(0, 1, 0), "spam": LearnCounts(0, 1, 0)}


def test_words_of_a_batch_that_was_not_learned_are_not_remembered(store, monkeypatch):
    messages = [StoredMessage(digest(i), "spam", ["free", f"word{i}"], 1.0) for i in range(3)]
    memory, batches = WordMemory(), [TokenBatch.from_messages([message]) for message in messages]
    store.learn_batch(batches[0], memory)
    with monkeypatch.context() as patched:
        patched.setattr(learning, "MAX_EXACT_WEIGHT", 2)
        with pytest.raises(StoreError, match="add up exactly"):
            store.learn_batch(batches[1], memory)
    for batch in batches[1:]:
        store.learn_batch(batch, memory)
    assert store.counts(["free", "word1", "word2"]) == {"free": (3.0,), "word1": (1.0,), "word2": (1.0,)}
    assert store.check() == []


@pytest.mark.parametrize(
    "change",
    [
        lambda batch: replace(batch, words=[*batch.words, "more"]),
        lambda batch: replace(batch, words=batch.words[:-1]),
        lambda batch: replace(batch, sizes=batch.sizes[:-1]),
        lambda batch: replace(batch, indices=batch.indices[:-1]),
    ],
)
def test_tokens_that_do_not_fit_to_their_messages_change_nothing(store, change):
    with pytest.raises(InputError, match=r"fit together|no word|no message"):
        store.learn_batch(change(TokenBatch.from_messages([B, C])))
    assert store.totals() == {}
