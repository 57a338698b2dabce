"""Documents on the command line: folders of classes, whole files, lines; read, predicted, or refused in words."""

import csv
import io

import pytest

from tests.cli.terminal import call, done

POSTS = {
    f"{label}/{i:02}": f"{word}\n"
    for label, word in (("hockey", "puck"), ("space", "orbit"), ("café", "thé"))
    for i in range(12)
}


@pytest.fixture
def posts(tmp_path, monkeypatch):
    """A folder of three classes in latin-1, which is also where the commands run."""
    for name, text in POSTS.items():
        path = tmp_path / "posts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "posts"


@pytest.fixture
def model(posts):
    """Texts taken for categories, which every model can."""
    done("train", "--folders", "posts", "--encoding", "latin-1", "--as", "text=category", "--no-judge")
    return "posts.deciban"


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def refused(*arguments, code=1, stdin=None):
    result = call(*arguments, stdin=stdin)
    assert result.exit_code == code, result.output
    return " ".join(result.stderr.replace("│", " ").split())


def test_training_on_a_folder_predicts_its_sub_folders_and_is_named_after_it(model):
    printed_output = done("inspect", model).stdout
    assert all(label in printed_output for label in ("hockey", "space", "café"))


def test_predictions_say_which_file_they_are_for(model):
    rows = table(done("predict", model, "--folders", "posts", "--encoding", "latin-1").stdout)
    assert list(rows[0]) == ["file", "prediction", "probability"]
    assert {row["file"]: row["prediction"] for row in rows} == {name: name.split("/")[0] for name in POSTS}
    kept = table(done("predict", model, "--folders", "posts", "--encoding", "latin-1", "--keep", "class").stdout)
    assert list(kept[0]) == ["class", "prediction", "probability"]
    everything = table(done("predict", model, "--folders", "posts", "--encoding", "latin-1", "--all").stdout)
    assert {row["file"]: row["text"] for row in everything} == POSTS


def test_files_and_lines_without_a_class_are_predicted(model, posts):
    rows = table(done("predict", model, "posts/space/*", "--format", "text").stdout)
    assert rows[0]["file"] == "posts/space/00"
    assert {row["prediction"] for row in rows} == {"space"}
    assert len(rows) == 12
    (posts.parent / "new.txt").write_text("puck\norbit\n")
    assert len(table(done("predict", model, "new.txt").stdout)) == 1
    assert len(table(done("predict", model, "new.txt", "--format", "lines").stdout)) == 2
    for form, n in (("lines", 2), ("text", 1)):
        rows = table(done("predict", model, "-", "--format", form, stdin="puck\norbit\n").stdout)
        assert len(rows) == n
        assert list(rows[0]) == ["prediction", "probability"]


def test_all_commands_that_read_a_table_read_a_folder(model, posts):
    folder = ("--folders", "posts", "--encoding", "latin-1")
    assert "Row 1" in done("explain", model, *folder, "--rows", "1").stdout
    assert "accuracy" in done("evaluate", "--model", model, *folder).stdout
    evaluated = done("evaluate", *folder, "--as", "text=category", "--folds", "3").stdout
    assert evaluated.startswith("class of posts, predicted for rows not learned from")
    assert "36 before and 72 now" in done("add", model, *folder, "-o", "more.deciban").stderr
    assert "72 before and 36 now" in done("forget", "more.deciban", *folder).stderr
    assert "the same" in done("diff", model, "more.deciban").stdout


def test_one_class_alone_can_be_added_but_not_be_learned_from(model, posts):
    (posts.parent / "more").mkdir()
    (posts / "space").rename(posts.parent / "more" / "space")
    assert "36 before and 48 now" in done("add", model, "--folders", "more").stderr
    for command in ("train", "evaluate"):
        words = refused(command, "--folders", "more")
        assert "'more' has one sub-folder with files only, 'space'" in words
        assert "--classes a,b" in words
        assert "classes=[" not in words


def test_broken_bytes_are_refused_with_the_options_that_help(model):
    words = refused("predict", model, "--folders", "posts")
    assert "is not in utf-8" in words
    assert "--encoding latin-1" in words
    assert "--errors replace" in words
    assert "encoding=" not in words
    rows = table(done("predict", model, "--folders", "posts", "--errors", "replace", "--all").stdout)
    assert {row["text"] for row in rows} == {"puck\n", "orbit\n", "th�\n"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["train"], 2, "exactly one table is needed: DATA, --folders DIR or --sql QUERY"),
        (["train", "a.csv", "--folders", "posts"], 2, "exactly one table is needed"),
        (["train", "--sql", "select 1", "--folders", "posts"], 2, "exactly one table is needed"),
        (["train", "--folders", "posts", "--format", "text"], 2, "--format text cannot be given"),
        (["train", "--folders", "post"], 1, "there is no folder 'post'. Hint: did you mean 'posts'?"),
        (["train", "--folders", "posts/space/00"], 1, "'posts/space/00' is a file, and a folder"),
        (["train", "--folders", "posts/space"], 1, "has 12 files but no sub-folder with files"),
        (["train", "--folders", "posts", "--encoding", "klingon"], 1, "encoding 'klingon' is not known"),
        (["train", "--folders", "posts", "--errors", "ignore"], 2, "ignore"),
        (["train", "--folders", "posts", "--encoding", "latin-1", "--target", "grup"], 1, "no column 'grup'"),
        (["train", "posts", "--target", "class"], 1, "'posts' is a folder. Hint: "),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(arguments, code, words, posts):
    assert words in refused(*arguments, code=code)


def test_a_text_file_has_one_column_and_a_folder_its_target(posts):
    (posts.parent / "new.txt").write_text("puck\norbit\n")
    assert "There are: text" in refused("train", "new.txt", code=2)
    assert "There are: text, file" in refused("train", "new.txt", "--format", "text", code=2)
