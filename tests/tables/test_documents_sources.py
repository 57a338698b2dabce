"""Documents without a table around them: a folder for each class, a file each, a line each; in any encoding."""

import gzip
import os
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from benchmarks import data
from hypothesis import given
from hypothesis import strategies as st

import deciban
from deciban.errors import InputError
from deciban.sources import document_files as documents
from deciban.sources.document_files import EVALUATION_FOLDS, interleave_classes
from deciban.sources.source import FileOptions, open_source

LONG = "so weit wie möglich\n" * 250_000
POSTS = {
    "sci/space/1": "orbit\nof the moon",
    "sci/2": "",
    "sci/3": "naïve café, 20 °C",
    "rec/b": "goal\r\nand \0 puck",
    "rec/a": LONG,
    "talk/z z": "\n",
}


def write_posts(folder, posts=POSTS, encoding="utf-8"):
    for name, text in posts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return folder


def open_path(source, format="folders", **options):
    return open_source(source, options=FileOptions(format, **options))


def rows(source, *columns):
    wanted = dict.fromkeys(columns or source.columns, "as it is")
    return [row for batch in source.batches(wanted) for row in batch.to_pylist()]


def lines(path, content, format=None, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = open_path(str(path), format, **options)
    result = [row["text"] for row in rows(source)]
    assert source.head(len(result) + 1).column("text").to_pylist() == result
    return result


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_each_file_of_a_folder_is_a_row_with_its_class_and_its_text(encoding, tmp_path):
    source = open_path(str(write_posts(tmp_path, encoding=encoding)), encoding=encoding)
    assert list(source.columns) == ["class", "text", "file"]
    assert (source.typed, source.n_rows) == (True, 6)
    found = rows(source)
    assert {row["file"]: row["text"] for row in found} == POSTS
    assert all(row["class"] == row["file"].split("/")[0] for row in found)
    assert source.head(100).to_pylist() == found
    assert source.head(2).to_pylist() == found[:2]


def test_python_takes_a_folder_by_its_format(tmp_path):
    write_posts(tmp_path)
    answers = {"roles": {"text": "category", "file": "skip"}, "judge": False}
    model = deciban.train(tmp_path, format="folders", target="class", **answers)
    assert model.classes == ["rec", "sci", "talk"]
    assert model.origin.rows_read == 6


def test_the_files_names_are_taken_for_identifiers(tmp_path):
    write_posts(tmp_path, {f"{label}/{i}": f"{label} word" for label in "ab" for i in range(20)})
    model = deciban.train(tmp_path, format="folders", target="class", roles={"text": "category"}, judge=False)
    assert model.roles["file"] == "skip"


def test_hidden_files_and_folders_without_files_are_left_out(tmp_path):
    hidden = {"sci/.DS_Store": b"\xff", ".git/config": "x", "sci/.old/1": "x", "readme": "x"}
    write_posts(tmp_path, {"sci/1": "a", "rec/1": "b", **hidden})
    (tmp_path / "empty" / "deep").mkdir(parents=True)
    assert sorted(row["file"] for row in rows(open_path(str(tmp_path)))) == ["rec/1", "sci/1"]


def test_only_the_files_of_the_head_are_read(tmp_path, monkeypatch):
    write_posts(tmp_path, {f"{label}/{i:03}": f"{label}{i}" for label in "abc" for i in range(50)})
    read = []
    read_text = documents.Decoding.read_text
    monkeypatch.setattr(
        documents.Decoding, "read_text", lambda self, path: read.append(path) or read_text(self, path)
    )
    source = open_path(str(tmp_path))
    assert source.head(7).num_rows == 7
    assert len(read) == 7
    assert len(rows(source, "class")) == 150
    assert len(read) == 7


def test_batches_are_bounded_by_bytes_and_by_files(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "BATCH_BYTES", 1000)
    monkeypatch.setattr(documents, "MAX_BATCH_FILES", 16)
    write_posts(tmp_path, {f"{'ab'[i % 2]}/{i}": "x" * (300 if i < 50 else 1) for i in range(100)})
    sizes = [len(batch) for batch in open_path(str(tmp_path)).batches({"text": "as it is"})]
    assert sum(sizes) == 100
    assert max(sizes) <= 16
    assert min(sizes[:-1]) <= 4


@given(st.lists(st.integers(1, 60), min_size=1, max_size=25))
def test_every_tenth_row_has_a_tenth_of_each_class_and_the_first_rows_have_all(sizes):
    classes = [[f"{k}/{i}" for i in range(n)] for k, n in enumerate(sizes)]
    order = interleave_classes(classes)
    assert sorted(order) == sorted(file for files in classes for file in files)
    assert order == interleave_classes(classes)
    labels = [int(file.split("/")[0]) for file in order]
    for folds in (EVALUATION_FOLDS, EVALUATION_FOLDS // 2, 2):
        counts = Counter((label, row % folds) for row, label in enumerate(labels))
        shares = [(counts[k, f], n / folds) for k, n in enumerate(sizes) for f in range(folds)]
        assert all(abs(count - share) < EVALUATION_FOLDS / folds + 1 for count, share in shares)
    assert len(set(labels[: EVALUATION_FOLDS * len(sizes)])) == len(sizes)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 10, 20])
def test_other_numbers_of_folds_have_every_class_everywhere(n_classes):
    order = interleave_classes([[f"{k}/{i}" for i in range(400)] for k in range(n_classes)])
    for folds in (3, 4, 7, 15, 20):
        counts = Counter((file.split("/")[0], row % folds) for row, file in enumerate(order))
        assert len(counts) == n_classes * folds
        assert min(counts.values()) > 400 / folds / 3


@pytest.mark.parametrize(
    ("posts", "words"),
    [
        ({}, "has no sub-folder with files"),
        ({"1": "a"}, "has 1 file but no sub-folder with files"),
        ({"1": "a", "2": "b", "3": "c"}, r"has 3 files but no sub-folder with files, .*Hint: the folder above"),
        ({"a/.hidden": "x"}, "has no sub-folder with files"),
        ({"a/1": "fine", "b/2": b"caf\xe9!"}, r"b/2' is not in utf-8: .* at byte 3\. Hint: --encoding latin-1"),
    ],
)
def test_folders_that_hold_no_documents_are_refused_with_a_way_out(posts, words, tmp_path):
    with pytest.raises(InputError, match=words):
        rows(open_path(str(write_posts(tmp_path, posts))))


def test_what_is_no_folder_is_refused(tmp_path):
    write_posts(tmp_path, {"a/1": "x", "posts.tar.gz": "x"})
    for name, words in (
        ("posts.tar.gz", "is a file, and a folder .* Hint: unpack an archive"),
        ("post", "there is no folder"),
    ):
        with pytest.raises(InputError, match=words):
            open_path(str(tmp_path / name))
    with pytest.raises(InputError, match=r"one folder is read at a time, not 2"):
        open_path([str(tmp_path / "a"), str(tmp_path)])
    with pytest.raises(InputError, match=r"is a folder\. Hint: .*--folders \(format='folders'\)"):
        open_path(str(tmp_path), None)


def test_one_class_alone_is_too_few_to_learn_from_but_can_be_read(tmp_path):
    source = open_path(str(write_posts(tmp_path, {"spam/1": "a", "spam/2": "b"})))
    assert len(rows(source)) == 2
    with pytest.raises(InputError, match=r"one sub-folder with files only, 'spam'; .* needs two\. Hint: "):
        source.refuse_one_class()


def test_links_are_followed_unless_they_lead_nowhere_or_back(tmp_path):
    folder, other = (
        write_posts(tmp_path / "posts", {"a/1": "x"}),
        write_posts(tmp_path / "other", {"1": "y", "2": "z"}),
    )
    (folder / "b").symlink_to(other)
    assert sorted(row["file"] for row in rows(open_path(str(folder)))) == ["a/1", "b/1", "b/2"]
    for target, words in ((folder, "a link to a folder that it is in"), ("gone", "a link that leads nowhere")):
        (folder / "a" / "link").symlink_to(target)
        with pytest.raises(InputError, match=words):
            open_path(str(folder))
        (folder / "a" / "link").unlink()
    (folder / "a" / "self").symlink_to("self")
    with pytest.raises(InputError, match="self' cannot be read: too many levels"):
        open_path(str(folder))


def test_what_is_neither_file_nor_folder_is_refused(tmp_path):
    write_posts(tmp_path, {"a/1": "x"})
    os.mkfifo(tmp_path / "a" / "pipe")
    with pytest.raises(InputError, match="pipe' is neither a file nor a folder"):
        open_path(str(tmp_path))


def test_a_file_that_goes_or_may_not_be_read_is_named(tmp_path):
    source = open_path(str(write_posts(tmp_path)))
    (tmp_path / "sci" / "3").unlink()
    with pytest.raises(InputError, match="sci/3' cannot be read: no such file"):
        rows(source)
    write_posts(tmp_path)
    (tmp_path / "sci" / "3").chmod(0)
    if not os.access(tmp_path / "sci" / "3", os.R_OK):
        with pytest.raises(InputError, match="sci/3' cannot be read: permission denied"):
            rows(source)


def test_names_of_files_may_be_any_bytes(tmp_path):
    (tmp_path / "a").mkdir()
    path = os.path.join(os.fsencode(tmp_path), b"a", b"caf\xe9")
    try:
        Path(os.fsdecode(path)).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 only")
    assert rows(open_path(str(tmp_path))) == [{"class": "a", "text": "x", "file": "a/caf�"}]


def test_broken_bytes_are_replaced_if_that_is_wanted(tmp_path):
    write_posts(tmp_path, {"a/1": b"caf\xe9 \xf0\x9f", "b/1": "thé"})
    assert {row["text"] for row in rows(open_path(str(tmp_path), errors="replace"))} == {
        b"caf\xe9 \xf0\x9f".decode(errors="replace"),
        "thé",
    }
    assert {row["text"] for row in rows(open_path(str(tmp_path), encoding="latin-1"))} == {"café ð\x9f", "thÃ©"}


@pytest.mark.parametrize("format", ["folders", "text", "lines"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"encoding": "klingon"}, "encoding 'klingon' is not known. Hint: "),
        ({"encoding": "base64"}, "encoding 'base64' is not known"),
        ({"encoding": "undefined"}, "not known"),
        ({"errors": "ignore"}, "errors must be 'strict' or 'replace', not 'ignore'"),
    ],
)
def test_options_that_mean_nothing_are_refused(format, options, words, tmp_path):
    write_posts(tmp_path, {"a/1": "x"})
    with pytest.raises(InputError, match=words):
        open_path(str(tmp_path if format == "folders" else tmp_path / "a" / "1"), format, **options)


def test_tables_have_no_bytes_replaced(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,a\n")
    with pytest.raises(InputError, match=r"errors='replace' is for documents, and '.*t.csv' is read as csv. Hint: "):
        open_path(str(tmp_path / "t.csv"), None, errors="replace")


@pytest.mark.parametrize("size", [7, 16 << 20])
@given(st.lists(st.text("ab\r\0\f\v\x1c\x85\u2028é😀", max_size=8)))
def test_lines_end_at_a_line_feed_alone(size, texts):
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(documents, "BATCH_BYTES", size)
        patched.setattr(documents, "HEAD_BYTES", max(size, 5))
        content = "".join(text + "\n" for text in texts)
        expected = [text.removesuffix("\r") for text in texts]
        for encoding in ("utf-8", "utf-16", "utf-32"):
            assert lines(Path(folder) / "t.txt", content.encode(encoding), encoding=encoding) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", []),
        ("\n", [""]),
        ("a\r\n\r\nb\r\r\n", ["a", "", "b\r"]),
        ("a\nb", ["a", "b"]),
        ("a\nb\r", ["a", "b"]),
        ("a\rb", ["a\rb"]),
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),
        ("x,y\n1,2\n", ["x,y", "1,2"]),
        ('"a\n', ['"a']),
    ],
)
def test_a_text_file_is_a_document_a_line(content, expected, tmp_path):
    assert lines(tmp_path / "t.txt", content) == expected


def test_compressed_lines_are_read_and_damaged_ones_refused(tmp_path):
    text = "".join(f"line {i}\n" for i in range(50_000))
    assert lines(tmp_path / "t.txt.gz", gzip.compress(text.encode())) == text.splitlines()
    assert lines(tmp_path / "t.txt.zst", bytes(pa.compress(text.encode(), "zstd", asbytes=True))) == text.splitlines()
    for content in (b"no gzip", gzip.compress(text.encode())[:50_000]):
        with pytest.raises(InputError, match=r"t.txt.gz' cannot be read"):
            lines(tmp_path / "t.txt.gz", content)


def test_lines_of_several_files_follow_each_other(tmp_path):
    for name, content in (("a.txt", "1\n2"), ("b.txt", ""), ("c.txt", "3\n")):
        (tmp_path / name).write_text(content)
    for source in (str(tmp_path / "*.txt"), [str(tmp_path / name) for name in ("a.txt", "b.txt", "c.txt")]):
        assert [row["text"] for row in rows(open_path(source, None))] == ["1", "2", "3"]


def test_a_line_longer_than_a_batch_is_one_document(tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "BATCH_BYTES", 1000)
    long = "ü" * 30_001
    assert lines(tmp_path / "t.txt", f"a\n{long}\nb\n{long}") == ["a", long, "b", long]


def test_the_line_of_broken_bytes_is_named(tmp_path, monkeypatch):
    content = b"one\ntwo\n" * 100 + b"caf\xe9\n" + b"three\n" * 100
    for size in (8, 16 << 20):
        monkeypatch.setattr(documents, "BATCH_BYTES", size)
        (tmp_path / "t.txt").write_bytes(content)
        with pytest.raises(InputError, match=r"t.txt' is not in utf-8: .* at byte 803, in line 201\. Hint: --enc"):
            rows(open_path(str(tmp_path / "t.txt"), None))
    result = rows(open_path(str(tmp_path / "t.txt"), None, errors="replace"))
    assert result[200]["text"] == "caf�"
    (tmp_path / "t.txt").write_bytes("a\nb".encode("utf-16") + b"c")
    with pytest.raises(
        InputError, match=r"is not in utf-16: truncated data at byte 8, in line 2\. Hint: --encoding utf-8"
    ):
        rows(open_path(str(tmp_path / "t.txt"), None, encoding="utf-16"))


def test_the_number_of_lines_is_guessed(tmp_path):
    (tmp_path / "t.txt").write_text("seven..\n" * 100_000)
    assert open_path(str(tmp_path / "t.txt"), None).n_rows == pytest.approx(100_000, rel=0.01)


def test_whole_files_are_documents_wherever_they_are(tmp_path):
    write_posts(tmp_path)
    one = open_path(str(tmp_path / "sci" / "3"), "text")
    assert (list(one.columns), one.n_rows) == (["text", "file"], 1)
    assert rows(one) == [{"text": POSTS["sci/3"], "file": str(tmp_path / "sci" / "3")}]
    every = rows(open_path(str(tmp_path / "**"), "text"))
    assert {os.path.relpath(row["file"], tmp_path): row["text"] for row in every} == POSTS
    some = open_path([str(tmp_path / name) for name in ("sci/2", "rec/b")], "text")
    assert [row["text"] for row in rows(some, "text")] == ["", POSTS["rec/b"]]
    assert some.head(1).num_rows == 1
    with pytest.raises(InputError, match="is a folder"):
        open_path(str(tmp_path / "sci"), "text")
    with pytest.raises(InputError, match="no file matches"):
        open_path(str(tmp_path / "s*"), "text")


def test_a_compressed_document_is_unpacked(tmp_path):
    write_posts(tmp_path, {"a/1.gz": gzip.compress(b"moon"), "b/1": "goal"})
    assert {row["file"]: row["text"] for row in rows(open_path(str(tmp_path)))} == {"a/1.gz": "moon", "b/1": "goal"}


def test_texts_that_stand_for_nothing_are_missing(tmp_path):
    assert lines(tmp_path / "t.txt", "a\n-\nNA\nb\n", missing=("-", "NA")) == ["a", None, None, "b"]


def test_half_a_surrogate_pair_is_refused_or_replaced(tmp_path):
    (tmp_path / "t.txt").write_bytes(b"a\n+2AA-\n")  # UTF-7 for U+D800, which is no character
    for form in ("lines", "text"):
        with pytest.raises(InputError, match="is not in utf-7: surrogates not allowed"):
            rows(open_path(str(tmp_path / "t.txt"), form, encoding="utf-7"))
        assert "?" in rows(open_path(str(tmp_path / "t.txt"), form, encoding="utf-7", errors="replace"))[-1]["text"]


@pytest.mark.corpus
def test_the_newsgroups_are_read_as_they_come(tmp_path):
    import tarfile

    try:
        path = data.find_file("20news-bydate.tar.gz")
    except data.DataMissingError as absent:
        pytest.skip(str(absent))
    with tarfile.open(path) as archive:
        members = [m for m in archive.getmembers() if re.search(r"test/(sci\.med|alt\.atheism)/", m.name)]
        archive.extractall(tmp_path, members, filter="data")
    found = rows(open_path(str(tmp_path / "20news-bydate-test"), encoding="latin-1"))
    assert Counter(row["class"] for row in found) == {"alt.atheism": 319, "sci.med": 396}
    for row in found[::50]:
        assert (tmp_path / "20news-bydate-test" / row["file"]).read_bytes() == row["text"].encode("latin-1")
