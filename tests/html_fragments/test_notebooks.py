"""What notebooks show of results has the numbers of the results, escaped."""

import pytest

import deciban
from deciban.html_fragments.style import STYLE
from tests.html_fragments.parsed import parse

BAD = '<img src=x onerror="alert(1)">'
CLASSES = [f"yes {BAD}", f"no {BAD}"]


@pytest.fixture(scope="module")
def table():
    return {
        f"age {BAD}": [20 + i % 40 + 25 * (i % 2) for i in range(80)],
        "level": [f"{BAD}" if i % 3 else "low" for i in range(80)],
        "note": [f"good {BAD} tea" if i % 2 else "bad cold coffee" for i in range(80)],
        "answer": [CLASSES[i % 2] if i % 7 else CLASSES[0] for i in range(80)],
    }


@pytest.fixture(scope="module")
def model(table):
    return deciban.train(table, target="answer", roles={"note": "text"})


def check_escaped(html):
    tree = parse(html)
    assert not tree.all("img")
    assert tree.all("style")[0].text == STYLE
    assert "onerror" in tree.text  # the hostile text is there, as text
    return tree


def test_an_explanation_shows_its_entries_words_and_total(model, table):
    rows = {name: values[:2] for name, values in table.items()}
    explanation = model.explain(rows)
    tree = check_escaped(explanation._repr_html_())
    for row, section in enumerate(tree.all("section")):
        shown = [float(cell.attributes["data-decibans"]) for cell in section.all("td", "db-n")]
        assert shown == [*(decibans for _, decibans in explanation.entries(row)), explanation.total[row]]
        assert sum(shown[:-1]) == pytest.approx(shown[-1])
        marks = [float(mark.attributes["data-decibans"]) for mark in section.all("mark")]
        places = explanation.documents["note"].places(row)
        assert marks == [place.decibans for place in places]
        assert section.all("p", "db-text")[0].text == rows["note"][row]


def test_a_row_with_many_columns_sums_the_weak_ones():
    data = {f"x{j}": [(i * (j + 3)) % 7 + (i % 2) for i in range(60)] for j in range(20)}
    data["y"] = ["a" if i % 2 else "b" for i in range(60)]
    explanation = deciban.train(data, target="y", judge=False).explain({name: v[:1] for name, v in data.items()})
    cells = parse(explanation._repr_html_()).all("td", "db-n")
    assert len(cells) == 14  # twelve, the others, the total
    shown = [float(cell.attributes["data-decibans"]) for cell in cells]
    assert sum(shown[:-1]) == pytest.approx(explanation.total[0])


def test_a_report_shows_confusion_and_figures(model, table):
    report = deciban.evaluate(table, model=model)
    tree = check_escaped(report._repr_html_())
    lines = tree.all("table", "db-confusion")[0].all("tbody")[0].all("tr")
    assert [[float(cell.text) for cell in line.all("td")[:-1]] for line in lines] == report.confusion.tolist()
    shown = dict(zip((name.text for name in tree.all("dt")), (value.text for value in tree.all("dd"))))
    entries = dict(report.entries())
    assert {name: shown[name] for name in entries if name != "accuracy"} == {
        k: v for k, v in entries.items() if k != "accuracy"
    }
    low, high = report.accuracy_interval
    assert shown["accuracy"] == f"{100 * report.accuracy:.2f} % (95 % interval: {100 * low:.2f} to {100 * high:.2f})"


def test_a_comparison_shows_every_learner_and_the_advice(table):
    comparison = deciban.compare(table, target="answer", learners=["bayes", "logistic"], folds=3)
    tree = parse(comparison._repr_html_())
    rows = tree.all("tbody")[0].all("tr")
    assert [row.all("th")[0].text.lstrip("→≈ ") for row in rows] == comparison.names
    for row, each in zip(rows, comparison):
        assert row.all("td")[0].text.startswith(f"{100 * each.report.accuracy:.1f} ±")
    assert comparison.advice in tree.text
    bold = [row for row in rows if row.attributes.get("class") == "db-total"]
    assert [row.all("th")[0].text for row in bold] == [f"→ {comparison.best.name}"]


def test_a_model_shows_priors_quality_and_roles(model):
    tree = check_escaped(model._repr_html_())
    priors = tree.all("table", "db-posterior")[0]
    assert [float(cell.attributes["data-p"]) for cell in priors.all("td", "db-n")] == list(model.priors.values())
    assert [name.text for name in priors.all("tbody")[0].all("th")] == [str(label) for label in model.classes]
    roles = tree.all("details")[0].all("tbody")[0].all("tr")
    assert [row.all("td")[0].text for row in roles] == [column.role for column in model.columns]
    assert f"{100 * model.held_out.accuracy:.2f} %" in tree.text


def test_a_model_shows_many_rows_in_full_and_one_column_in_the_singular():
    model = 1_000_000 * deciban.train({"x": ["p", "q"] * 4, "y": ["a", "b"] * 4}, target="y", judge=False)
    assert repr(model).endswith("from 1 column; weight 8 000 000>")
    assert repr(model.ledger).startswith("<Ledger: weight 8 000 000 in 2 classes; ")
    text = parse(model._repr_html_()).text
    assert "y from 1 column, 8 000 000 rows learned" in text
    assert "1 column, 0.4 rows learned, 3 parameters" in parse((5e-8 * model)._repr_html_()).text
    assert "roles of 1 column" in text


def test_a_saved_model_shows_the_quality_of_its_file(model, tmp_path):
    path = tmp_path / "m.deciban"
    model.save(path)
    assert f"{100 * model.held_out.accuracy:.2f} %" in parse(deciban.load(path)._repr_html_()).text


def test_an_explanation_of_texts_highlights_words():
    texts, labels = ["good tea", "bad coffee", "good cake", "bad soup"] * 5, ["+", "−"] * 10
    classifier = deciban.TextClassifier().fit(texts, labels)
    explanation = classifier.explain([f"good tea {BAD}"])
    tree = parse(explanation._repr_html_())
    assert tree.all("p", "db-text")[0].text == f"good tea {BAD}"
    assert {mark.text for mark in tree.all("mark")} >= {"good", "tea"}
