"""Inference of text columns."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import deciban
from deciban.errors import InputError
from deciban.training.task import plan

PARTS = ("order", "invoice", "parcel", "refund"), ("is", "was"), ("late", "lost", "here")
SUBJECTS = [" ".join(words) for words in product(*PARTS)]
WORDS = ["good", "dull", "fresh", "slow", "kind", "loud", "warm", "odd"]
SIGNS = "好差快慢新旧美丑"
LABELS = ["a", "b"] * (len(SUBJECTS) // 2)


def role_of(texts):
    n = len(texts)
    table = {"text": texts, "label": (["a", "b"] * n)[:n], "size": [i * 7 % 13 for i in range(n)]}
    return next(column for column in plan(table, target="label").columns if column.name == "text")


def test_short_texts_whose_words_come_back_are_texts():
    assert role_of(SUBJECTS).role == "text"


def test_names_and_numbered_things_are_identifiers():
    assert role_of([f"room {i}" for i in range(40)]).role == "skip"
    assert role_of([f"Name{i} Surname{i}" for i in range(40)]).role == "skip"
    assert role_of([f"AB-{i:06}" for i in range(40)]).role == "skip"


def test_a_long_name_without_spaces_is_left_out_with_a_word_about_it():
    column = role_of([f"https://example.com/{i:08}" for i in range(40)])
    assert (column.role, column.reason) == (
        "skip",
        "every value is different: an identifier; --as text=text reads its words",
    )


REVIEWS = {
    "English": [f"the plot was {a}, the {b} even more so, and {c}" for a in WORDS for b in WORDS for c in WORDS],
    "Chinese": [f"这个产品非常{a}我很{b}质量推荐{c}" for a in SIGNS for b in SIGNS for c in SIGNS],
}


@pytest.mark.parametrize("language", REVIEWS)
@pytest.mark.parametrize(("n_different", "times", "role"), [(512, 1, "text"), (512, 2, "text"), (128, 8, "text"),
                                                            (12, 40, "category")])  # fmt: skip
def test_long_texts_are_texts_although_they_recur(language, n_different, times, role):
    assert role_of(REVIEWS[language][:n_different] * times).role == role


def test_reviews_of_which_each_comes_twice_are_told_apart_by_their_words():
    """Half of the reviews are held out; their words are known, they themselves are not."""
    rng = np.random.default_rng(0)
    good = np.repeat(rng.random(1000) < 0.5, 2)
    reviews = [" ".join(rng.choice(WORDS[:6] if y else WORDS[2:], 9)) for y in good[::2]]
    table = {"review": np.repeat(reviews, 2), "y": np.where(good, "good", "bad")}
    model = deciban.train({name: column[:1000] for name, column in table.items()}, target="y", judge=False)
    predicted = model.predict({"review": table["review"][1000:]})
    assert (np.array(predicted) == table["y"][1000:]).mean() > 0.9


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (np.random.default_rng(0).normal(size=600).round(2), "number"),
        (np.random.default_rng(0).normal(100, 30, size=600).round(), "number"),
        (np.random.default_rng(0).permutation(np.arange(1_000_000, 1_000_600)), "skip"),
        (np.arange(600) % 12, "category"),
    ],
)
def test_texts_that_are_numbers_are_numbers_unless_they_are_codes(values, role):
    """Texts of a frame are read as the same numbers are, with a note; few different ones are levels."""
    text = [f"{value:.15g}" for value in values]
    table = {"v": text, "x": np.random.default_rng(1).normal(size=600), "y": ["a", "b"] * 300}
    settings = {"target": "y", "judge": False, "numbers": "number"}
    model = deciban.train(table, **settings)
    assert model.roles["v"] == role
    if role == "number":
        assert "--as v=category" in model.columns[0].reason
        same = deciban.train({**table, "v": [float(cell) for cell in text]}, **settings)
        np.testing.assert_allclose(model.predict_proba(table), same.predict_proba({**table, "v": values}), atol=1e-9)


@pytest.mark.parametrize("n", [3, 8, 19])
def test_what_is_named_an_identifier_and_numbers_few_rows_is_one(n):
    order = np.random.default_rng(n).permutation(n) + 1
    table = {"PassengerId": order, "stage": order, "y": (["a", "b"] * n)[:n]}
    assert deciban.train(table, target="y", judge=False).roles["PassengerId"] == "skip"
    assert deciban.train(table, target="y", judge=False).roles["stage"] != "skip"


def test_texts_are_texts_in_a_column_of_categories_too():
    texts = [f"a long text of more than four words, number {i} of many" for i in range(40)]
    assert role_of(pd.Series(texts, dtype="category").to_numpy().tolist()).role == "text"
    frame = pd.DataFrame({"text": pd.Series(texts, dtype="category"), "label": ["a", "b"] * 20})
    assert next(column for column in plan(frame, target="label").columns).role == "text"


@pytest.mark.parametrize("text", ["buy now {}", "这个产品非常好我很喜欢{}", "{}"])
def test_the_documents_of_folders_are_texts_however_short_they_are(tmp_path, text):
    for i in range(12):
        file = tmp_path / "ab"[i % 2] / f"{i}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text.format(f"{'xy'[i % 2]}{i}"))
    model = deciban.train(tmp_path, target="class", format="folders")
    assert model.roles == {"text": "text", "file": "skip"}


def test_what_is_to_be_like_another_model_has_its_words():
    table = {"text": SUBJECTS, "label": LABELS}
    model = deciban.train(table, target="label")
    with pytest.raises(InputError, match="with like= texts are read as in the other model"):
        deciban.train(table, target="label", like=model, words=deciban.Words(ngrams=2))
