"""Ask and Texts: answers are those of the library, whatever the row, and nothing of it becomes markup."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import deciban
from deciban.model.single_changes import find_single_changes, read_typed_row
from deciban.sources.row_views import RowRange
from deciban.studio.row_fields import choose_step, choose_typical_row, make_fields
from tests.html_fragments.parsed import parse
from tests.studio.studio_client import StudioClient
from tests.studio.trained_models import open_trained

BAD = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A studio with the example of patients and a model of it, which no test changes."""
    return open_trained(StudioClient(tmp_path_factory.mktemp("studio")).enter())


def open_table(studio, columns, target, roles=None, learner="bayes"):
    """Drop a table on the page Open and train a model of it."""
    names = list(columns)
    lines = [",".join('"' + str(cell).replace('"', '""') + '"' for cell in row) for row in zip(*columns.values())]
    head = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    assert studio.drop("table.csv", "\n".join([head, *lines]).encode()).status_code == 200
    form = {"target": target} | {f"role:{name}": role for name, role in (roles or {}).items()}
    assert studio.post("/open/roles", data=form).status_code == 200
    studio.work("/train/start", learner=learner)
    return studio


@pytest.fixture
def hostile(studio):
    """A studio whose table has markup in a column's name, in levels, in texts and in classes."""
    n = 60
    columns = {
        f"age {BAD}": [20 + i % 30 + 20 * (i % 2) for i in range(n)],
        "level": [BAD if i % 3 else "low" for i in range(n)],
        "note": [f"good {BAD} tea" if i % 2 else "bad cold coffee" for i in range(n)],
        "answer": [f"yes {BAD}" if i % 2 else f"no {BAD}" for i in range(n)],
    }
    return open_table(studio, columns, "answer", {"note": "text", "level": "category"})


def ask(studio, row, **more):
    answer = studio.post("/ask/answer", json={"row": row, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def probabilities(html):
    table = parse(html).all("table", "db-posterior")[0]
    return {
        row.all("th")[0].text: float(row.all("td", "db-n")[0].attributes["data-p"]) for row in table.all("tr")[1:]
    }


def test_the_answer_is_that_of_the_library(trained):
    model = trained.workspace.model
    row = {
        "age": "61",
        "temperature": "38.4",
        "cough": "dry",
        "crp": "80",
        "days_ill": "4",
        "smoker": "no",
        "seen": "",
    }
    found = ask(trained, row)
    typed = {"age": [61], "temperature": [38.4], "cough": ["dry"], "crp": [80], "days_ill": [4], "smoker": ["no"]}
    expected = model.predict_proba(typed, allow_missing_columns=True)[0]
    assert list(probabilities(found["html"]).values()) == pytest.approx(expected.tolist(), rel=1e-12)
    tree = parse(found["html"])
    evidence = [
        float(cell.attributes["data-decibans"]) for cell in tree.all("table", "db-waterfall")[0].all("td", "db-n")
    ]
    assert sum(evidence[:-1]) == pytest.approx(evidence[-1])
    order = np.argsort(-expected)
    assert evidence[-1] == pytest.approx(10 * np.log10(expected[order[0]] / expected[order[1]]), abs=1e-6)


def test_evidence_can_be_for_any_class(trained):
    row = {"age": "61", "temperature": "38.4"}
    for label in trained.workspace.model.classes:
        caption = parse(ask(trained, row, favoured=label)["html"]).all("caption")[-1].text
        assert caption.startswith(f"Evidence for {label} rather than ")


def test_bars_keep_their_order_while_a_value_changes(trained):
    def names(age):
        tree = parse(ask(trained, {"age": age, "temperature": "38.4", "crp": "9", "cough": "dry"})["html"])
        return [th.text.split(" = ")[0] for th in tree.all("table", "db-waterfall")[0].all("tbody")[0].all("th")[:-1]]

    assert names("5") == names("90")


def test_the_page_shows_the_row_of_the_table_and_its_label(trained):
    row = trained.workspace.data.read_rows(2, 1).to_pylist()[0]
    html = trained.page("/ask?row=3")
    tree = parse(html.replace("<!doctype html>", "").replace('<meta charset="utf-8">', "").replace("<meta", "<br")
                 .replace("<link", "<br"))  # fmt: skip
    cells = {field.attributes["data-column"]: field for field in tree.all("div", "row-field")}
    assert set(cells) == {column.name for column in trained.workspace.model.columns if column.role != "skip"}
    for name in ("age", "temperature", "crp"):
        shown = cells[name].all("input")[-1].attributes["value"]
        assert (shown == "" and row[name] is None) or float(shown) == float(row[name])
    assert f"<b>{row['diagnosis']}</b>" in html


def test_a_row_beyond_the_last_is_the_first(trained):
    page = trained.page("/ask?row=99999")
    assert "Row 1<" in page
    assert "The table has no row 99999: this is row 1." in page
    assert "The table has no row" not in trained.page("/ask?row=2")
    assert "Row 1<" in trained.page("/ask?row=-4")
    assert "Row 1<" in trained.page("/ask?row=" + "9" * 400)


def test_a_row_that_cannot_be_read_is_not_said_to_be_missing(studio, tmp_path):
    rows = [f"{i % 9},{'ab'[i % 9 > 4]}" for i in range(60)]
    table = tmp_path / "numbers.csv"
    table.write_text("\n".join(["x,class", *rows]))
    model = deciban.train(table, target="class", roles={"x": "number"}, judge=False)
    rows[40] = "oops,a"
    studio.drop("numbers.csv", "\n".join(["x,class", *rows]).encode())
    studio.workspace.set_model(model, "numbers.deciban", None)
    answer = studio.get("/ask?row=41")
    assert answer.status_code == 422
    assert "oops" in answer.text
    assert "has no row" not in answer.text + studio.get("/ask?row=1").text


def test_two_rows_are_compared_by_the_same_evidence(trained):
    kept, row = {"age": "30", "temperature": "37.0"}, {"age": "30", "temperature": "39.5"}
    tree = parse(ask(trained, row, kept=kept)["comparison"])
    lines = {
        line.all("th")[0].text: [cell.text for cell in line.all("td")] for line in tree.all("tbody")[0].all("tr")
    }
    assert lines["temperature"][:2] == ["37", "39.5"]
    assert "age" not in lines  # it is the same in both
    difference = {name: float(lines[name][4].replace("−", "-")) for name in ("total", "temperature")}
    assert difference["total"] == pytest.approx(difference["temperature"], abs=0.02)


def test_what_would_change_the_answer_is_that_of_the_library(trained):
    row = {"age": 40, "temperature": 37.2, "cough": "none", "crp": 4, "days_ill": 2, "smoker": "no", "headache": "no"}
    html = trained.post("/ask/changes", json={"row": {name: str(cell) for name, cell in row.items()}}).json()["html"]
    expected = find_single_changes(trained.workspace.model, {name: [cell] for name, cell in row.items()})
    buttons = parse(html).all("button")
    assert [button.attributes["data-set"] for button in buttons] == [change.column for change in expected[:6]]
    assert expected


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"row": None},
        {"row": [1]},
        {"row": {"age": [1]}},
        {"row": {"age": {"x": 1}}},
        {"row": {"age": "x" * 200_000}},
    ],
)
def test_what_is_no_row_is_refused(trained, sent):
    assert trained.post("/ask/answer", json=sent).status_code == 400


def test_a_cell_that_is_no_number_is_refused_in_words(trained):
    for path in ("/ask/answer", "/ask/changes"):
        answer = trained.post(path, json={"row": {"age": "old"}})
        assert answer.status_code == 422
        assert answer.json()["detail"] == "column 'age' holds 'old', which is not a number"
    answer = trained.post("/ask/answer", json={"row": {"age": "1,5"}})
    assert answer.json()["detail"] == (
        "column 'age' holds '1,5', which is not a number. Hint: write it as the others are, such as 1000.5"
    )


def test_markup_in_the_table_is_shown_as_text(hostile):
    pages = [hostile.page(path) for path in ("/ask", "/texts", "/correct", "/train")]
    name = f"age {BAD}"
    found = ask(
        hostile, {name: "33", "level": BAD, "note": f"tea {BAD}"}, kept={name: "20", "level": "low", "note": BAD}
    )
    changes = hostile.post("/ask/changes", json={"row": {name: "33", "level": BAD, "note": BAD}}).json()["html"]
    for html in (*pages, found["html"], found["comparison"], changes):
        assert "<img src=x" not in html
    assert "&lt;img src=x" in found["html"]


def test_a_model_without_a_table_has_a_row_to_begin_with(studio, tmp_path):
    model = deciban.train(
        {"x": [1.5, 2.5, 3.5, 4.5] * 9, "c": ["p", "q"] * 18, "k": ["a", "b"] * 18}, target="k", judge=False
    )
    model.save(tmp_path / "m.deciban")
    studio.post("/open/path", data={"path": str(tmp_path / "m.deciban")})
    html = studio.page("/ask")
    assert "A row<" in html
    assert 'data-column="x"' in html
    assert studio.workspace.steps[-1].python == f"model = deciban.load({str(tmp_path / 'm.deciban')!r})"


def test_a_row_to_begin_with_and_sliders_bear_any_range():
    parts = {"_layout": SimpleNamespace(levels=[]), "_scorer": SimpleNamespace(level_names=[])}
    columns = [SimpleNamespace(name=name, modelled_features=(name,)) for name in "xyz"]
    ranges = {"x": (-math.inf, math.inf), "y": (1.0e308, 1.6e308), "z": (2.0, 6.0)}
    row = choose_typical_row(SimpleNamespace(columns=columns, ranges=ranges, **parts))
    assert row == {"x": None, "y": pytest.approx(1.3e308), "z": 4.0}
    assert choose_step(0.0, 5e-324) == 1.0


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_words_of_a_text_are_highlighted(studio):
    model = open_trained(studio, "messages").workspace.model
    column = model._layout.texts[0].column
    text = studio.workspace.data.read_rows(0, 1).to_pylist()[0][column]
    html = studio.post("/texts/answer", json={"column": column, "text": text}).json()["html"]
    marks = parse(html).all("mark")
    others = {name: [None] for name in model._layout.readings() if name != column}
    expected = model.explain({column: [text], **others}).documents[column].places(0)
    assert sum(float(mark.attributes["data-decibans"]) for mark in marks) == pytest.approx(
        sum(e.decibans for e in expected)
    )
    page = studio.page("/texts?row=1")
    assert page.count("<mark") >= len(marks)
    assert "Words that distinguish the classes" in page


def test_a_model_without_texts_says_so(trained):
    assert "This model reads no texts" in trained.page("/texts")
    assert trained.post("/texts/answer", json={"column": "age", "text": "x"}).status_code == 400


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_other_learners_are_asked_in_the_same_way(studio):
    model = open_trained(studio, "iris", "logistic").workspace.model
    row = dict.fromkeys(model._layout.readings(), 3.0)
    expected = model.predict_proba({name: [3.0] for name in row})[0]
    assert list(probabilities(ask(studio, row)["html"]).values()) == pytest.approx(expected.tolist(), rel=1e-9)


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_numbers_and_dates_of_other_countries_are_asked_as_the_page_shows_them(studio):
    n = 120
    columns = {
        "Datum": [f"{1 + i % 28:02}.{1 + i % 12:02}.2024" for i in range(n)],
        "Fieber": [f"{36 + i % 5},{i % 10}" for i in range(n)],
        "Preis": [f"{1 + i % 7}.{100 + 7 * i:03}" if i % 2 else f"{100 + i}" for i in range(n)],
        "Diagnose": ["Grippe" if i % 5 > 2 else "keine" for i in range(n)],
    }
    open_table(studio, columns, "Diagnose", {"Fieber": "number", "Datum": "date"})
    model, data = studio.workspace.model, studio.workspace.data
    for number in (1, 17, 100):
        fields = {
            field.name: field.value for field in make_fields(model, read_typed_row(model, data.source(), number - 1))
        }
        expected = model.predict_proba(RowRange(data.source(), number - 1, 1))
        (batch,) = expected
        assert list(probabilities(ask(studio, fields)["html"]).values()) == pytest.approx(
            [column[0].as_py() for column in batch.columns], rel=1e-9
        )


def test_the_bars_of_a_text_are_its_words_and_add_up(studio):
    model = open_trained(studio, "messages").workspace.model
    column = model._layout.texts[0].column
    html = studio.post("/texts/answer", json={"column": column, "text": "my parcel, where is my parcel?"}).json()[
        "html"
    ]
    rows = parse(html).all("table", "db-waterfall")[0].all("tbody")[0].all("tr")
    bars = {row.all("th")[0].text: float(row.all("td", "db-n")[0].attributes["data-decibans"]) for row in rows}
    total = bars.popitem()[1]
    assert "parcel (2×)" in bars
    assert sum(bars.values()) == pytest.approx(total)
