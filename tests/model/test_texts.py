"""Texts of a table model: explanations by word, telltales, descriptions, sampled texts, warnings, files."""

import json
import warnings
from collections import Counter
from math import log10

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban import persistence
from deciban.errors import DecibanWarning, InputError, ModelFileError, UndefinedError
from deciban.persistence.table_models import compute_fingerprint
from deciban.text import Words
from tests.tables.reviews import reviews

ROLES = {"text": "text", "stars": "number", "head": "text", "country": "category"}
MAIL = ["cheap pills, buy now", "buy cheap watches", "lunch at noon today", "the report is at noon"]
LABELS = ["spam", "spam", "ham", "ham"]


def mail_model(**settings):
    return deciban.train({"mail": MAIL, "y": LABELS}, target="y", roles={"mail": "text"}, judge=False, **settings)


def train_model(table=None, **settings):
    settings = {"roles": ROLES, "judge": False, **settings}
    return deciban.train(reviews() if table is None else table, target="verdict", **settings)


def test_a_word_says_the_ratio_of_its_smoothed_shares():
    result = mail_model().explain({"mail": ["Cheap lunch, CHEAP pills; zebra"]}, ("spam", "ham"))
    spam, ham, words = 4 + 3, 4 + 5, 12
    cheap, pills, lunch = (10 * log10(a / (spam + words) * (ham + words) / b) for a, b in ((3, 1), (2, 1), (1, 2)))
    found = [(w.column, w.word, w.times, w.start, w.end) for w in result.words()]
    assert found == [("mail", "cheap", 2, 0, 5), ("mail", "pills", 1, 19, 24), ("mail", "lunch", 1, 6, 11)]
    assert [w.decibans for w in result.words()] == pytest.approx([2 * cheap, pills, lunch])
    assert result.entries() == [
        ("mail = Cheap lunch, CHEAP pills; zebra", pytest.approx(2 * cheap + pills + lunch)),
        ("prior", pytest.approx(0)),
    ]


def test_a_text_is_one_reason_with_its_words_below():
    result = mail_model().explain({"mail": ["Buy a cheap, cheap watch.\nLunch?"]}, ("spam", "ham"))
    lines = result.text().splitlines()
    assert lines[0] == "spam rather than ham"
    assert lines[1].startswith("  mail = Buy a cheap, cheap watch. Lunch?  ")
    assert lines[2].split()[:3] == ["cheap", "2×", f"{result.words()[0].decibans:+.2f}"]
    assert lines[2].endswith("dB  Buy a [cheap], cheap watch. Lunch?")
    assert [line.split()[0] for line in lines[2:5]] == ["cheap", "buy", "lunch"]
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize("words", [{}, {"hashed": 4}, {"values": "log", "length": "l2", "ngrams": 2}])
def test_words_add_up_to_their_text_and_columns_to_the_odds(words):
    model, table = train_model(words=words), reviews(20, seed=4)
    result = model.explain(table)
    p = np.sort(np.asarray(model.predict_log_proba(table)), axis=1)
    assert np.allclose(result.total, 10 / np.log(10) * (p[:, -1] - p[:, -2]))
    assert list(result.features) == list(ROLES)
    assert np.allclose(result.evidence.sum(axis=1) + result.prior, result.total)
    for i in range(len(result)):
        for column in ("text", "head"):
            total = sum(word.decibans for word in result.words(i) if word.column == column)
            assert total == pytest.approx(result.evidence[i, list(ROLES).index(column)], abs=1e-9)


def test_single_rows_of_an_explanation_keep_their_words():
    result = train_model().explain(reviews(9, seed=4))
    assert result[3].words() == result.words(3)
    assert result[3].text() == result.text(3)
    assert len(result[2:5]) == 3
    assert result[2:5].words(-1) == result.words(4)


def test_missing_texts_say_nothing_in_an_explanation():
    result = mail_model().explain({"mail": ["buy", None]})
    assert result.words(1) == []
    assert result.entries(1) == [("prior", 0.0)]


def test_long_texts_are_shown_by_their_beginning_on_one_line():
    result = mail_model().explain({"mail": ["buy\tnow " + "and then some " * 400]})
    (name, _), _ = result.entries()
    assert name.startswith("mail = buy now and then")
    assert name.endswith("…")
    assert len(name) == len("mail = ") + 40


def test_telltales_are_the_words_that_a_class_has_and_others_have_not():
    found = train_model(reviews(600)).telltales("good", n=3, column="text")
    assert len(found) == 3
    for result in found:
        assert result.word in "lovely brilliant warm touching funny superb great stays"
        assert result.low < result.decibans < result.high
        assert result.elsewhere == result.documents_elsewhere == 0
        assert result.count >= result.documents > 20
    (best,) = mail_model().telltales("spam", n=1)
    assert best.word in ("cheap", "buy")
    assert best.decibans == pytest.approx(10 * log10((3 / 19) / (1 / 21)))


def test_telltales_ask_which_column_is_meant():
    model = train_model()
    with pytest.raises(InputError, match="2 columns of texts"):
        model.telltales("good")
    with pytest.raises(InputError, match="'stars' is not a column of texts"):
        model.telltales("good", column="stars")
    with pytest.raises(InputError, match="'fine' is none of the 2 classes"):
        model.telltales("fine", column="text")
    with pytest.raises(InputError, match="n must be"):
        model.telltales("good", n=-1, column="text")
    plain = train_model(roles={**ROLES, "text": "skip", "head": "skip"})
    with pytest.raises(UndefinedError, match="no column of texts"):
        plain.telltales("good")
    with pytest.raises(UndefinedError, match="hashed"):
        mail_model(words={"hashed": 6}).telltales("spam")


def test_a_description_has_the_surest_words_and_the_average_evidence_of_a_text():
    result = train_model(reviews(400)).describe()
    notes = {note.name: note for note in result.columns}
    assert (notes["text"].role, notes["text"].rows) == ("text", 400 - reviews(400).column("text").null_count)
    strongest = result.strongest[0]
    assert strongest.feature == "text"
    assert 0 < strongest.low < strongest.evidence < strongest.high
    assert {summary.label for summary in strongest.summaries} == {"good", "bad"}
    assert all(summary.value.startswith('"') and summary.low > 0 for summary in strongest.summaries)
    assert " favours " in str(result)
    json.dumps(result.to_dict(), allow_nan=False)


def test_the_average_evidence_of_a_text_is_that_of_a_document_of_average_length():
    result = mail_model().describe().strongest[0]
    bags = [
        Counter(word for t, y in zip(MAIL, LABELS) if y == k for word in t.replace(",", "").split()) for k in LABELS
    ]
    ham, spam = bags[-1], bags[0]
    counts = np.array([[bag[word] for word in sorted(ham | spam)] for bag in (ham, spam)])
    theta = (counts + 1) / (counts + 1).sum(axis=1, keepdims=True)
    gap = np.log10(theta[0] / theta[1])
    length = counts.sum(axis=1) / 2
    expected = 10 * (0.5 * length[0] * (theta[0] @ gap) - 0.5 * length[1] * (theta[1] @ gap))
    assert result.evidence == pytest.approx(expected)


@pytest.mark.parametrize("words", [{}, {"values": "presence"}])
def test_drawn_rows_have_texts_of_known_words(words):
    model = train_model(words=words)
    drawn = model.sample(300, random_state=0)
    assert drawn.column_names == [*ROLES, "verdict"]
    known = set(model.ledger.schema.blocks[-1].names)
    texts = drawn.column("text").to_pylist()
    assert {word for text in texts for word in text.split()} <= known
    again = train_model(drawn)
    learned = np.asarray(again.predict(reviews(missing=False)))
    assert (learned == np.asarray(reviews(missing=False).column("verdict"))).mean() > 0.9


@pytest.mark.parametrize(
    "words", [{"ngrams": 2}, {"hashed": 5}, {"tokens": "characters", "ngrams": 3}, {"values": "log"}]
)
def test_what_makes_no_text_is_not_drawn(words):
    assert train_model(words=words).sample(2).column_names == ["stars", "country", "verdict"]


def test_a_row_without_a_known_word_is_classified_by_the_prior_with_a_warning():
    model = mail_model()
    with pytest.warns(DecibanWarning, match="2 rows have no known word; there the class prior decides"):
        p = model.predict_proba({"mail": ["zebra", "cheap", None]})
    assert np.allclose(p[[0, 2]], 0.5)
    hashed = mail_model(words={"hashed": 10})
    with pytest.warns(DecibanWarning, match="1 row has no known word"):
        hashed.predict({"mail": ["zebra", "cheap"]})


def test_texts_in_which_no_word_is_known_are_remarked_on():
    table = reviews(30)
    unseen = table.set_column(0, "text", pa.array(["какой прекрасный день"] * 30))
    with pytest.warns(DecibanWarning, match="not one word of the 30 texts in column 'text'"):
        train_model().predict(unseen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_model().predict(table)
        train_model().predict(table.drop_columns(["text"]), allow_missing_columns=True)


@pytest.mark.parametrize("words", [{}, {"ngrams": (1, 3), "stop": "english"}, {"hashed": 7, "lower": False}])
def test_a_file_gives_the_same_model_back(words, tmp_path):
    model, table = train_model(words=words, judge=True), reviews(20, seed=4)
    model.save(tmp_path / "m")
    again = deciban.load(tmp_path / "m")
    assert again.options == model.options
    assert again.roles == model.roles
    assert np.array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.explain(table).text() == model.explain(table).text()
    assert again.ledger == model.ledger
    assert (again + model).ledger == (model * 2).ledger
    assert str(again.describe()) == str(model.describe())


def test_a_model_without_texts_writes_what_it_always_wrote(tmp_path):
    roles = {**ROLES, "text": "skip", "head": "skip"}
    model = train_model(roles=roles, words={"lower": False})
    model.save(tmp_path / "m")
    header = persistence.read(tmp_path / "m").section().header
    assert "words" not in header["options"]
    assert deciban.load(tmp_path / "m").options.words == Words()
    assert (
        compute_fingerprint(model.columns, Words())
        == header["reader"]
        == compute_fingerprint(model.columns, Words(lower=False))
    )


def rewrite_header(path, change):
    """Rewrite a file with a changed header."""
    section = persistence.read(path).section()
    change(section.header)
    persistence.write(path, section.header, section.arrays)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["options"]["words"].update(lower=False), "reading|texts are read|families"),
        (lambda h: h["options"]["words"].update(ngrams=[1, 10**9]), "from 1 to 100"),
        (lambda h: h["options"]["words"].update(hashed=5), "hashes|families|read"),
        (lambda h: h["options"]["words"].update(grams=2), "grams"),
        (lambda h: h["options"].update(words=3), "object"),
        (lambda h: h["options"].pop("words"), "fingerprint|families|read"),
        (lambda h: h["columns"][0].update(role="skip"), "columns"),
        (lambda h: h.update(reader="0" * 16), "fingerprint"),
    ],
)
def test_a_file_whose_words_do_not_agree_is_refused(change, message, tmp_path):
    train_model(words={"ngrams": 2}).save(tmp_path / "m")
    rewrite_header(tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=message):
        deciban.load(tmp_path / "m")
