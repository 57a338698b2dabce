"""The page Open: files that are dropped, examples, paths, columns with roles; hostile names and cells."""

import html
import io
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deciban.model.columns import ROLES
from deciban.studio.opening import clean_name, guess_target
from tests.studio.studio_client import StudioClient

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">'
FRUIT = "weight,colour,fruit\n" + "".join(
    f"{100 + 7 * (i % 9) + 40 * (i % 2)},{['red', 'green'][i % 3 == 0]},{['plum', 'apple'][i % 2]}\n"
    for i in range(60)
)


def write_parquet():
    table = pa.table({"weight": [1.5, 2.5, 9.0, 8.5] * 10, "fruit": ["plum", "plum", "apple", "apple"] * 10})
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("fruit.csv", FRUIT.encode(), ("weight", "colour", "fruit")),
        ("fruit.tsv", FRUIT.replace(",", "\t").encode(), ("weight", "colour", "fruit")),
        (
            "fruit.jsonl",
            b'{"weight": 1, "fruit": "plum"}\n{"weight": 2, "fruit": "apple"}\n' * 20,
            ("weight", "fruit"),
        ),
        ("fruit.parquet", write_parquet(), ("weight", "fruit")),
    ],
)
def test_a_dropped_file_is_opened_by_its_own_name(studio, name, content, columns):
    assert studio.drop(name, content).json() == {"next": "/open"}
    assert (studio.workspace.data.name, studio.workspace.data.columns) == (name, columns)
    assert studio.workspace.target == "fruit"
    page = studio.page("/open")
    assert all(column in page for column in columns)
    assert "to predict" in page


def test_the_page_shows_roles_reasons_missing_values_and_first_rows(studio):
    studio.drop("fruit.csv", FRUIT.replace("100,green", ",green").encode())
    page = studio.page("/open")
    assert "numbers; training finds out how they are distributed" in page
    assert "60 rows, 3 columns" in page
    assert "missing" in page
    assert page.count("<td>plum</td>") == 4  # among the 8 first rows


def test_an_estimated_number_of_rows_is_shown_as_one_until_all_rows_were_read(studio):
    notes = ["short"] * 10_000 + ["a longer note " * 30] * 500
    rows = "".join(f"{i % 7 + 3 * (i % 2)},{note},{'yn'[i % 2]}\n" for i, note in enumerate(notes))
    studio.drop("notes.csv", f"x,note,class\n{rows}".encode())
    for path in ("/open", "/look"):
        page = studio.page(path)
        assert re.search(r"\babout 3\d 000 rows", page, re.IGNORECASE)
        assert "10 500 rows" not in page
    studio.work("/train/start", learner="bayes")
    for path in ("/open", "/train"):
        assert "10 500 rows" in studio.page(path)
        assert "about" not in re.search(r"notes.csv</b> · ([^<]*)", studio.page(path))[1]


def test_a_role_and_the_target_are_changed_by_a_form(trained):
    assert trained.workspace.model is not None
    trained.post("/open/roles", data={"role:age": "skip"})
    assert trained.workspace.roles == {"age": "skip"}
    assert trained.workspace.model is None  # it was trained with another role
    trained.post("/open/roles", data={"target": "cough", "role:age": ""})
    assert (trained.workspace.target, trained.workspace.roles) == ("cough", {})


def test_a_wrong_role_changes_nothing(trained):
    for form in ({"role:age": "colour"}, {"role:nobody": "skip"}, {"target": "nobody"}):
        assert trained.post("/open/roles", data=form).status_code == 400
    assert trained.workspace.roles == {}
    assert trained.workspace.model is not None


def test_a_path_opens_a_table_where_it_lies(studio, tmp_path):
    path = tmp_path / "big table.csv"
    path.write_text(FRUIT)
    assert studio.post("/open/path", data={"path": str(path)}).status_code == 200
    assert studio.workspace.data.path == str(path)
    assert not list(studio.workspace.settings.folder.glob("dropped-*"))


def test_a_file_that_is_not_there_is_named(studio):
    answer = studio.post("/open/path", data={"path": "/nowhere/at-all.csv"})
    assert answer.status_code == 422
    assert "/nowhere/at-all.csv" in answer.json()["detail"]


def test_cells_and_names_of_columns_are_escaped(studio):
    header = f'weight,"{HOSTILE.replace(chr(34), chr(34) * 2)}",fruit\n'
    cell = '"' + HOSTILE.replace('"', '""') + '"'
    rows = "".join(f"{i},{cell if i % 2 else 'b'},{['plum', cell][i % 2]}\n" for i in range(60))
    name = "<img src=x onerror=alert(3)>.csv"
    assert studio.drop(name, (header + rows).encode()).status_code == 200
    studio.work("/train/start", learner="bayes")
    for path in (
        "/open",
        "/train",
        "/look",
        "/look?picture=densities",
        "/compare",
        "/take-away",
        "/look/picture/densities",
    ):
        page = studio.page(path)
        assert "<script>alert" not in page, path
        assert "<img src=x" not in page, path
    report = studio.page("/take-away/report.html")
    assert "<script" not in report
    assert "<img src=x" not in report


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "..\\..\\evil.csv", "/etc/evil.csv", "a/../../evil.csv", "..", "\0evil.csv"]
)
def test_a_dropped_file_stays_in_the_studios_folder(studio, tmp_path, name):
    before = set(tmp_path.parent.rglob("*"))
    studio.drop(name, FRUIT.encode())
    new = set(tmp_path.parent.rglob("*")) - before
    assert new
    assert all(path.is_relative_to(studio.workspace.settings.folder) for path in new)


def test_names_of_dropped_files_keep_what_is_harmless():
    assert clean_name("My table (2024).csv") == "My table (2024).csv"
    assert clean_name("Größe.csv") == "Größe.csv"
    assert len(clean_name("x" * 1000 + ".csv")) <= 120


def test_a_file_that_is_too_large_is_refused_with_the_way_out(tmp_path):
    studio = StudioClient(tmp_path, max_upload_bytes=1000).enter()
    answer = studio.drop("big.csv", b"x" * 1001)
    assert answer.status_code == 413
    assert "1 kB" in answer.json()["detail"]
    assert "by its path" in answer.json()["detail"]
    unknown_length = studio.post("/open/file?name=big.csv", content=(b"x" * 100 for _ in range(20)))
    assert unknown_length.status_code == 413
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_file_that_is_no_table_is_refused_and_removed(studio, tmp_path):
    for name, content in (("a.parquet", b"not a parquet file"), ("a.csv", b""), ("b.csv", b"only,a,header\n")):
        answer = studio.drop(name, content)
        assert answer.status_code == 422, name
        assert answer.json()["detail"]
    assert studio.workspace.data is None
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_file_at_which_the_studio_fails_is_removed(studio, tmp_path, monkeypatch):
    monkeypatch.setattr("deciban.studio.pages.open.open_file", lambda *_: 1 / 0)
    assert studio.drop("a.csv", b"x,y\n1,2\n").status_code == 500
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_model_file_is_opened(trained, tmp_path):
    model = trained.get("/take-away/model").content
    other = StudioClient(tmp_path / "other").enter()
    other.workspace.settings.folder.mkdir()
    assert other.drop("patients.deciban", model).json() == {"next": "/train"}
    assert other.workspace.model.classes == trained.workspace.model.classes
    assert "Right on rows it had not seen" in other.page("/train")
    assert "<svg" in other.page("/look/picture/nomogram")


@pytest.mark.parametrize("name", ["patients", "iris", "tennis", "messages"])
def test_the_target_of_an_example_is_found(studio, name):
    studio.post("/open/example", data={"name": name})
    wanted = {"patients": "diagnosis", "iris": "species", "tennis": "play", "messages": "topic"}
    assert guess_target(studio.workspace.data)[0] == studio.workspace.target == wanted[name]


def test_an_unknown_example_is_refused(studio):
    assert studio.post("/open/example", data={"name": "../iris"}).status_code == 404


def test_messages_name_the_dropped_file_and_what_a_page_can_do(studio):
    refused = studio.drop("twice.csv", b"a,a,y\n1,2,x\n3,4,z\n").json()["detail"]
    assert refused.startswith("'twice.csv' has two columns named 'a'")
    studio.drop("alone.csv", b"y\n" + b"a\nb\n" * 20)
    assert "'alone.csv' has no column to learn from besides 'y'" in html.unescape(studio.page("/open"))
    studio.drop("alike.csv", b"x,y\n" + b"1,a\n1,b\n" * 20)
    page = html.unescape(studio.page("/open"))
    assert re.search(r"No column is left to learn from \(x: .*\). Hint: give one a role on the page Open", page)
    studio.post("/train/start", data={"learner": "bayes"})
    studio.workspace.job.wait(60)
    assert studio.get("/job").json()["error"].endswith("Hint: give one a role on the page Open")


def test_a_dropped_file_is_removed_when_its_table_is_closed(trained, tmp_path):
    def list_files():
        return sorted(path.name for path in trained.workspace.settings.folder.rglob("*") if path.is_file())

    model = trained.get("/take-away/model").content
    trained.drop("one.csv", b"x,class\n1,a\n2,b\n")
    assert list_files() == ["one.csv"]
    trained.drop("two.csv", b"x,class\n1,a\n2,b\n")
    assert list_files() == ["two.csv"]
    trained.drop("patients.deciban", model)
    assert trained.workspace.data is None
    assert list_files() == []
    trained.page("/ask")
    trained.page("/take-away/report.html")


def test_the_page_says_what_the_roles_mean(trained):
    page = trained.page("/open")
    for role, meaning in ROLES.items():
        assert f"<b>{role}</b>: {meaning}" in page
