"""ONNX files give the posterior and the label, by onnxruntime."""

import json

import numpy as np
import pyarrow as pa
import pytest

import deciban
from deciban.errors import InputError
from deciban.export import export_model
from deciban.export.onnx_graph import write_onnx
from deciban.export.portable import make_document
from deciban.sources.arrow_cells import DATE_PARTS, extract_date_part
from tests.export.models import CASES, HOSTILE_NAMES, ROLES, new_rows, patients, posterior, trained

onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")


def to_inputs(document, rows):
    inputs = {}
    for feature in document["features"]:
        for column, numeric in zip(feature["columns"], feature.get("numeric", [False] * 9)):
            cells = rows.column(column).combine_chunks()
            if "part" in feature:
                codes = extract_date_part(cells, feature["part"], column)
                texts = [("", *DATE_PARTS[feature["part"]])[code + 1] for code in codes]
                inputs[feature["name"]] = np.array(texts, dtype=object)[:, None]
            elif feature["kind"] == "number" or numeric:
                inputs[column] = np.array(cells.to_pylist(), dtype=float)[:, None]
            else:
                inputs[column] = np.array(["" if c is None else str(c) for c in cells.to_pylist()], dtype=object)[
                    :, None
                ]
    return inputs


def run(document, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(write_onnx(document), options, providers=["CPUExecutionProvider"])
    assert {each.name for each in session.get_inputs()} == set(inputs)
    return session, *session.run(["label", "probabilities"], inputs)


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_gives_posterior_and_label(name):
    model, rows = trained(name)
    document = make_document(model)
    _, label, p = run(document, to_inputs(document, rows))
    assert p.dtype == np.float64
    np.testing.assert_allclose(p, posterior(model, rows), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(rows).to_pylist()


@pytest.mark.parametrize("names", [HOSTILE_NAMES, ["rows", "Add", "constant", "x:0", "/", "a/b", "表", "A", "a"]])
def test_inputs_have_the_names_of_columns_whatever_these_are(names):
    """Names with quotes, newlines and commands, reserved words, other scripts, and that differ in case alone."""
    named = dict(zip(ROLES, names))
    table = patients(names=named)
    roles = {named[name]: role for name, role in ROLES.items()}
    model = deciban.train(table, target="diagnosis", roles=roles, judge=False)
    rows, document = new_rows(table), make_document(model)
    session, label, p = run(document, to_inputs(document, rows))
    expected = {name for name in named.values() if name != named["seen"]}
    assert expected | {f"{named['seen']}.{part}" for part in DATE_PARTS} == {i.name for i in session.get_inputs()}
    np.testing.assert_allclose(p, posterior(model, rows), rtol=0, atol=1e-9)
    assert label.tolist() == model.predict(rows).to_pylist()


@pytest.mark.parametrize("name", ["label", "probabilities", "deciban:constant:0", "a\0b", ""])
def test_a_name_that_no_input_can_have_is_refused(name):
    table = patients(names={"ward": name})
    roles = {name if column == "ward" else column: role for column, role in ROLES.items()}
    model = deciban.train(table, target="diagnosis", roles=roles, judge=False)
    with pytest.raises(InputError, match=r"cannot be the name of an input.*Hint: rename"):
        write_onnx(make_document(model))


@pytest.mark.parametrize("name", ["seen.weekday", "age"])
def test_two_columns_of_one_name_never_reach_an_export(name):
    """Two columns of the same name, and a column that is called as a part of a date is."""
    table = patients()
    table = table.rename_columns([name if column == "ward" else column for column in table.column_names])
    with pytest.raises(InputError, match=name):
        deciban.train(table, target="diagnosis", judge=False)


@pytest.mark.parametrize("name", ["label", 'x"; drop table data; --\n'])
def test_a_text_is_a_matrix_of_the_counts_of_its_words(name):
    notes = ["fever and cough", "no fever", "well again", "all is well, well"] * 5
    table = {name: notes, "age": [60.0, 50.0, 40.0, 30.0] * 5, "kind": ["ill", "ill", "well", "well"] * 5}
    model = deciban.train(table, target="kind", roles={name: "text"}, judge=False)
    if name == "label":
        with pytest.raises(InputError, match=r"cannot be the name of an input"):
            write_onnx(make_document(model))
        return
    rows = pa.table({name: ["fever fever", "well", None, "unknown"], "age": [1.0, None, 45.0, 45.0]})
    document = make_document(model)
    (words,) = [term["words"] for term in document["terms"] if term["kind"] == "text"]
    texts = [(cell or "").split() for cell in rows[name].to_pylist()]
    counts = np.array([[text.count(word) for word in words] for text in texts], dtype=float)
    ages = np.array(rows["age"].to_pylist(), dtype=float)[:, None]
    session, _, p = run(document, {name: counts, "age": ages})
    assert json.loads(session.get_modelmeta().custom_metadata_map[f"words:{name}"]) == words
    np.testing.assert_allclose(p, posterior(model, rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("to", ["onnx", "sql", "js", "json"])
def test_a_classifier_of_texts_is_refused_with_the_way_out(to):
    model = deciban.TextClassifier().fit(["fever", "well"] * 4, ["ill", "well"] * 4)
    with pytest.raises(InputError, match=r"a TextClassifier has no named columns.*Hint: deciban.train"):
        export_model(model, to)
