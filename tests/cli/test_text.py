"""Texts on the command line: how they are read, which words tell, why, and what is refused."""

import csv
import io
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from benchmarks import data

import deciban
from tests.cli.terminal import EXAMPLES, call, done, table
from tests.cli.test_documents import ROOT, make_guide, script
from tests.tables.reviews import as_csv, reviews

MESSAGES, NEW = EXAMPLES / "messages.csv", EXAMPLES / "new-messages.csv"
POSTS = [
    ("puck on the ice, puck in the net", "hockey"),
    ("the goalie holds the puck", "hockey"),
    ("ice and skates for the team", "hockey"),
    ("the orbit of the moon", "space"),
    ("a rocket to the moon", "space"),
    ("launch into orbit, orbit the earth", "space"),
] * 3
AS_TEXT = ("--target", "group", "--as", "length=skip", "--as", "post=text")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("messages") / "messages.deciban"
    done("train", MESSAGES, "--target", "topic", "-o", path)
    return path


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A small table with a text and a number, which is also where the commands run."""
    rows = [(f'"{text}"', i % 5, label) for i, (text, label) in enumerate(POSTS)]
    monkeypatch.chdir(tmp_path)
    return table(tmp_path / "posts.csv", "post,length,group", rows)


def refused(*arguments, code=1):
    result = call(*arguments)
    assert result.exit_code == code, result.output
    return " ".join(result.stderr.replace("│", " ").split())


def fits(text, width=80):
    """Whether all but the first line, which names a file, fits on a narrow terminal."""
    return all(len(line) <= width for line in text.splitlines()[1:])


def counted(label):
    """Words of a class and of the others, by a reading of our own."""
    here, there = Counter(), Counter()
    for text, group in POSTS:
        words = [word for word in text.replace(",", " ").split() if len(word) > 1]
        (here if group == label else there).update(words)
    return here, there


def test_training_on_a_table_with_texts_reports_the_telltales(posts):
    printed_output = done("train", posts, *AS_TEXT).stdout
    assert "deciban telltales posts.deciban" in printed_output
    lines = printed_output[printed_output.index("Telltales") :].splitlines()
    assert any(line.startswith("  hockey") and "puck" in line for line in lines)
    assert fits(printed_output)


def test_telltales_are_the_words_counted_here_and_elsewhere(posts):
    done("train", posts, *AS_TEXT)
    printed_output = json.loads(done("telltales", "posts.deciban", "--json", "-n", "4").stdout)
    assert [entry["class"] for entry in printed_output] == ["hockey", "space"]
    for entry in printed_output:
        here, there = counted(entry["class"])
        n, m, v = sum(here.values()), sum(there.values()), len(here | there)
        for word in entry["words"]:
            x, y = here[word["word"]], there[word["word"]]
            assert (word["count"], word["elsewhere"]) == (x, y)
            expected = 10 * math.log10((x + 1) / (n + v) / ((y + 1) / (m + v)))
            assert word["decibans"] == pytest.approx(expected)
            assert word["low"] < word["decibans"] < word["high"]
            assert 0 < word["documents"] <= word["count"]
        lows = [word["low"] for word in entry["words"]]
        assert lows == sorted(lows, reverse=True)


def test_telltales_show_a_table_for_each_of_a_few_classes(model):
    shown = done("telltales", model, "-n", "3").stdout
    assert fits(shown)
    assert [line for line in shown.splitlines() if line in ("billing", "delivery", "praise", "technical")]
    assert shown.count("90 % interval") == 4
    one = done("telltales", model, "--class", "praise", "--class", "praise").stdout
    assert one.count("90 % interval") == 1
    assert "billing" not in one


def test_telltales_of_many_classes_are_short(tmp_path):
    rows = [(f"word{k} other{k} word{k} and some more words", f"class {k}") for k in range(20) for _ in range(3)]
    table(tmp_path / "many.csv", "text,label", rows)
    arguments = ["train", tmp_path / "many.csv", "--target", "label", "--as", "text=text", "--no-judge"]
    done(*arguments, "-o", tmp_path / "many.deciban")
    shown = done("telltales", tmp_path / "many.deciban").stdout
    assert fits(shown)
    assert len(shown.splitlines()) <= 20 * 4 + 5
    assert "word7 " in shown
    assert "--class LABEL" in shown


def test_telltales_are_written_as_a_table(model, tmp_path):
    printed_output = json.loads(done("telltales", model, "--json").stdout)
    flat = [{"class": entry["class"], **word} for entry in printed_output for word in entry["words"]]
    rows = list(csv.DictReader(io.StringIO(done("telltales", model, "-o", "-").stdout)))
    assert [row["word"] for row in rows] == [word["word"] for word in flat]
    assert [float(row["low"]) for row in rows] == [word["low"] for word in flat]
    result = done("telltales", model, "-o", tmp_path / "words.jsonl")
    assert [json.loads(line) for line in (tmp_path / "words.jsonl").read_text().splitlines()] == flat
    assert f"{len(flat)} words of 4 classes" in result.stderr
    assert result.stdout == ""


def test_telltales_of_a_classifier_of_documents(tmp_path):
    found = deciban.TextClassifier().fit(*map(list, zip(*POSTS)))
    found.save(tmp_path / "posts.deciban")
    printed_output = json.loads(
        done("telltales", tmp_path / "posts.deciban", "--class", "space", "-n", "2", "--json").stdout
    )
    assert [word["word"] for word in printed_output[0]["words"]] == [
        word.word for word in found.telltales("space", 2)
    ]
    assert "without columns" in refused("telltales", tmp_path / "posts.deciban", "--column", "text")


def test_telltales_of_evidence_regression_have_neither_intervals_nor_counts(tmp_path):
    found, path = deciban.EvidenceRegression().fit(*map(list, zip(*POSTS))), tmp_path / "posts.deciban"
    found.save(path)
    best = found.telltales("space", 2)
    shown = done("telltales", path, "--class", "space", "-n", "2").stdout
    assert [line.split() for line in shown.splitlines() if "dB" in line][:2] == [
        [word.word, f"{word.decibans:.1f}", "dB"] for word in best
    ]
    assert not any(title in shown for title in ("interval", "times", "documents"))
    (printed_output,) = json.loads(done("telltales", path, "--class", "space", "-n", "2", "--json").stdout)
    assert [word["decibans"] for word in printed_output["words"]] == [word.decibans for word in best]
    assert {word[name] for word in printed_output["words"] for name in ("low", "count", "documents")} == {None}
    assert "2 classes" in done("plot", "telltales", path, "-n", "3", "-o", tmp_path / "words.png").stderr
    assert "without columns" in refused("telltales", path, "--column", "text")


@pytest.mark.parametrize("command", [["telltales"], ["plot", "telltales", "-o", "words.png"]])
def test_what_has_no_words_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done("train", EXAMPLES / "patients.csv", "--target", "diagnosis", "--no-judge", "-o", "patients.deciban")
    words = refused(*command, "patients.deciban")
    assert "no column of texts" in words
    assert "--as COLUMN=text" in words
    assert "deciban inspect" in words
    assert "roles=" not in words
    deciban.GaussianNB().fit([[0.0], [1.0]], ["a", "b"]).save("gauss.deciban")
    assert "GaussianNB, which has no words" in refused(*command, "gauss.deciban")
    hashed = deciban.train(MESSAGES, target="topic", words={"hashed": 10}, judge=False)
    hashed.save("hashed.deciban")
    assert "words were hashed" in refused(*command, "hashed.deciban")
    assert not Path("words.png").exists()


def test_a_class_or_column_that_is_not_there_is_refused(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = refused("telltales", model, "--class", "biling")
    assert "'biling' is none of the 4 classes; did you mean 'billing'?" in words
    assert "Hint: one of billing, delivery, praise, technical" in words
    assert "one of" in refused("telltales", model, "--class", "xyz")
    assert "--column, one of ['message']" in refused("telltales", model, "--column", "massage")
    assert "none of the 4 classes" in refused("plot", "telltales", model, "--class", "x", "-o", "a.png")
    assert "unknown ending" in refused("telltales", model, "-o", "words.doc", code=2)
    assert "unknown kind of picture" in refused("plot", "telltales", model, "-o", "words.gif", code=2)
    assert "there is no folder" in refused("plot", "telltales", model, "-o", "not/there.png")


@pytest.mark.parametrize(("ending", "begins"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_picture_is_written_the_same_twice(model, tmp_path, ending, begins):
    paths = [tmp_path / f"{name}.{ending}" for name in ("one", "two")]
    for path in paths:
        assert "4 classes" in done("plot", "telltales", model, "-n", "3", "-o", path).stderr
    one, two = (path.read_bytes() for path in paths)
    assert one.startswith(begins)
    assert one == two


def test_without_matplotlib_the_extra_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert 'pip install "deciban[plot]"' in refused("plot", "telltales", model, "-o", tmp_path / "words.png")
    assert not list(tmp_path.iterdir())


def test_a_reason_is_a_word_where_it_stands(model):
    shown = done("explain", model, NEW, "--row", "4", "--most", "20").stdout
    assert fits(shown)
    probability = deciban.load(model).predict_proba(str(NEW)).read_all()["delivery"][3].as_py()
    assert probability > 0.999
    assert float(re.search(r"delivery, probability (0\.\d+)", shown)[1]) == pytest.approx(probability, rel=1e-5)
    line = next(line for line in shown.splitlines() if line.startswith("  package"))
    assert "1×" in line
    assert "[package]" in line
    assert "amount = " in shown


def test_words_and_columns_of_an_explanation_add_up(model):
    text = list(csv.DictReader(NEW.open()))[3]["message"]
    printed_output = json.loads(done("explain", model, NEW, "--row", "4", "--json").stdout)[0]
    message = next(entry for entry in printed_output["evidence"] if entry["what"].startswith("message = "))
    assert sum(word["decibans"] for word in printed_output["words"]) == pytest.approx(message["decibans"])
    assert sum(entry["decibans"] for entry in printed_output["evidence"]) == pytest.approx(printed_output["total"])
    for word in printed_output["words"]:
        assert text[word["start"] : word["end"]].lower() == word["word"]
        assert word["column"] == "message"


def test_a_file_is_explained_by_its_name_and_words(posts, tmp_path):
    (tmp_path / "new.txt").write_text("Orbit\nthe\tmoon in \x1b[31m红色的月亮 and 日本語の文章を読む orbit!\n")
    texts = {"text": [text for text, _ in POSTS], "group": [group for _, group in POSTS]}
    deciban.train(texts, target="group", roles={"text": "text"}).save("texts.deciban")
    shown = done("explain", "texts.deciban", "new.txt", "--format", "text").stdout
    assert "Row 1  new.txt\n  space, probability" in shown
    line = next(line for line in shown.splitlines() if line.startswith("  orbit"))
    assert "2×" in line
    assert "[Orbit] the moon" in line
    assert "\x1b" not in shown
    assert json.loads(done("explain", "texts.deciban", "new.txt", "--format", "text", "--json").stdout)[0]["file"]


def test_a_text_of_unknown_words_says_so(posts):
    done("train", posts, *AS_TEXT)
    table(posts.parent / "strange.csv", "post", [["xyzzy plugh"]])
    assert "post = xyzzy plugh: no known word" in done("explain", "posts.deciban", "strange.csv").stdout


def test_several_texts_are_distinguished(posts):
    rows = [(text, text.upper(), label) for text, label in ((t.replace(",", ""), g) for t, g in POSTS)]
    table(posts.parent / "two.csv", "first,second,group", rows)
    done("train", "two.csv", "--target", "group", "--as", "first=text", "--as", "second=text")
    assert "--column, one of ['first', 'second']" in refused("telltales", "two.deciban")
    assert "puck" in done("telltales", "two.deciban", "--column", "second").stdout
    assert "second: orbit" in done("explain", "two.deciban", "two.csv", "--row", "6").stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ngrams", "2"], deciban.Words(ngrams=2)),
        (
            ["--ngrams", "2-3", "--tokens", "characters in words"],
            deciban.Words(tokens="characters in words", ngrams=(2, 3)),
        ),
        (["--tokens", "whitespace", "--presence"], deciban.Words(tokens="whitespace", values="presence")),
        (["--stop-words", "english"], deciban.Words(stop="english")),
        (["--stop-words", "stop.txt"], deciban.Words(stop=["the", "on"])),
    ],
)  # fmt: skip
def test_options_say_how_texts_are_read(options, expected, posts):
    (posts.parent / "stop.txt").write_text("The\n\non\n")
    done("train", posts, *AS_TEXT, *options, "-o", "read.deciban", "--no-judge")
    assert deciban.load("read.deciban").options.words == expected
    assert expected.reading in " ".join(done("inspect", "read.deciban").stdout.split())
    assert "accuracy" in done("evaluate", posts, *AS_TEXT, "--folds", "3", *options).stdout


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--ngrams", "0"], 2, "--ngrams takes a number from 1 to 100"),
        (["--ngrams", "101"], 2, "--ngrams takes a number from 1 to 100"),
        (["--ngrams", "3-2"], 2, "--ngrams takes"),
        (["--ngrams", "two"], 2, "not 'two'"),
        (["--tokens", "letters"], 2, "letters"),
        (["--stop-words", "none.txt"], 1, "cannot read the stop words 'none.txt': no such file or directory. Hint: "),
        (["--stop-words", "english", "--tokens", "characters"], 2, "--stop-words needs words"),
        (["--like", "MODEL", "--presence"], 2, "so --presence cannot be given"),
    ],
)
def test_readings_that_make_no_sense_are_refused(options, code, words, posts, model):
    options = [str(model) if option == "MODEL" else option for option in options]
    assert words in refused("train", posts, "--target", "group", *options, code=code)


def test_words_are_a_matter_of_training(model):
    assert "--ngrams is for training" in refused("evaluate", MESSAGES, "--model", model, "--ngrams", "2", code=2)


@pytest.mark.parametrize(("options", "span"), [((), (1, 2)), (("--ngrams", "1"), (1, 1))], ids=str)
def test_the_modern_tokenizer_counts_punctuation_and_pairs_and_further_options_change_it(
    options, span, posts, tmp_path
):
    arguments = ["train", posts, "--target", "group", "--as", "post=text", "--tokenizer", "modern", *options]
    done(*arguments, "--no-judge", "-o", tmp_path / "modern.deciban")
    words = deciban.load(tmp_path / "modern.deciban").options.words
    assert (words.tokens, words.span) == ("words and punctuation", span)


def test_a_reading_that_reads_nothing_is_warned_of(tmp_path):
    arguments = ["train", EXAMPLES / "patients.csv", "--target", "diagnosis", "--ngrams", "2", "--no-judge"]
    assert "no column was read as text" in done(*arguments, "-o", tmp_path / "p.deciban").stderr


def test_the_example_texts_are_those_of_the_script_that_makes_them():
    for name, text in script("make_messages").tables().items():
        assert (EXAMPLES / name).read_text() == text
        assert done("example", name.removesuffix(".csv")).stdout == text
        assert len(text) <= 60_000


def test_every_picture_of_a_guide_is_there():
    for guide in (ROOT / "docs" / "guides").glob("*.md"):
        for picture in make_guide.PICTURE.findall(guide.read_text()):
            assert (guide.parent / picture).read_bytes().startswith(b"\x89PNG")


@pytest.mark.corpus
@pytest.mark.thorough(reason="needs a corpus, and minutes")
def test_the_sessions_on_the_newsgroups_print_what_they_show(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "guides")
    newsgroups = script("make_newsgroups")
    try:
        monkeypatch.setenv("DECIBAN_DATA", str(data.find_file(newsgroups.ARCHIVE).parent))
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    text = newsgroups.DOCUMENT.read_text()
    assert make_guide.update_document(text, prepare=newsgroups.unpack) == text


def test_the_command_line_reads_texts_unasked(tmp_path):
    rows = reviews(missing=False).select(["text", "stars", "verdict"])
    path, model = as_csv(rows, tmp_path / "reviews.csv"), tmp_path / "reviews.deciban"
    assert "free text" in done("train", path, "--target", "verdict", "-o", model).output
    printed_output = [line.split(",")[0] for line in done("predict", model, path).stdout.splitlines()[1:]]
    assert printed_output == deciban.load(model).predict(rows).to_pylist()
    assert "stars = " in done("explain", model, path, "--rows", "1").stdout
    assert "accuracy" in done("evaluate", path, "--target", "verdict").stdout
