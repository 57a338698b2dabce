"""Inference of text columns."""

from __future__ import annotations

from itertools import product

import pandas as pd
import pytest

import deciban
from deciban.errors import InputError
from deciban.training.task import plan

PARTS = ("order", "invoice", "parcel", "refund"), ("is", "was"), ("late", "lost", "here")
SUBJECTS = [" ".join(words) for words in product(*PARTS)]
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


def test_a_text_without_spaces_is_left_out_with_a_word_about_it():
    column = role_of([f"这个产品非常好我很喜欢质量很好推荐{chr(0x4E00 + i)}" for i in range(40)])
    assert (column.role, column.reason) == (
        "skip",
        "every value is different: an identifier; --as text=text reads its words",
    )


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
