"""Values that are written in several ways, each with what every surface must say of it."""

import json
import math
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import deciban
from deciban.errors import InputError
from deciban.export.portable import make_document
from deciban.export.sql import SqlOptions, write_sql
from deciban.text import Documents, Words
from tests.cli.terminal import call
from tests.export.databases import numbered, run_duckdb, run_postgres, run_sqlite
from tests.export.models import SPELLINGS, flagged, posterior
from tests.export.test_onnx import run as run_onnx
from tests.export.test_onnx import to_inputs

pytestmark = pytest.mark.filterwarnings("ignore::deciban.errors.DecibanWarning")

NOTES = {"note": ["good ?", "bad", "good", "bad NA"] * 6, "mood": ["up", "down", "up", "down"] * 6}


def train(table, **options):
    return deciban.train(table, judge=False, **options)


def train_notes(**words):
    return train(NOTES, target="mood", roles={"note": "text"}, words={"tokens": "words and punctuation", **words})


def by_sql(model, rows, runner=run_duckdb, **options):
    dialect = {run_duckdb: "duckdb", run_sqlite: "sqlite"}[runner]
    sql = write_sql(make_document(model), SqlOptions(dialect, keys=["row_number"], **options))
    found = runner(sql, {"data": numbered(rows)})
    return np.array(
        [[found.column(3 + k)[i].as_py() for k in range(len(model.classes))] for i in range(rows.num_rows)]
    )


@pytest.mark.parametrize("cell", ["?", "NA"])
def test_the_words_of_a_missing_text_are_not_counted(cell):
    model = train_notes()
    rows = [{"note": [cell]}, {"note": [None]}, pa.table({"note": pa.array([cell]).dictionary_encode()})]
    for form in rows:
        np.testing.assert_allclose(posterior_of(model, form), [[0.5, 0.5]], atol=1e-12)
    bytes_below = pa.Array.from_buffers(pa.string(), 1, [pa.py_buffer(b"\0"), *pa.array(["good"]).buffers()[1:]])
    assert Documents.of(bytes_below).strings() == [""]
    np.testing.assert_allclose(posterior_of(model, pa.table({"note": bytes_below})), [[0.5, 0.5]], atol=1e-12)


@pytest.mark.parametrize("cell", ["?", "good", None])
def test_a_single_change_that_is_named_changes_the_prediction(cell):
    table = {**NOTES, "c": ["p", "q"] * 12}
    model = train(table, target="mood", roles={"note": "text", "c": "category"})
    row = {"note": cell, "c": "p"}
    schema = pa.schema([("note", pa.string()), ("c", pa.string())])
    for change in model.find_single_changes(pa.Table.from_pylist([row], schema)):
        if change.word is None:
            changed = {name: [value] for name, value in {**row, change.column: change.after}.items()}
            assert model.predict(changed)[0] == change.prediction


def posterior_of(model, rows):
    found = model.predict_proba(rows)
    return found if isinstance(found, np.ndarray) else np.column_stack([np.asarray(c) for c in found.columns])


@pytest.mark.parametrize("text", ["good İİİ", "İ", "İstanbul İzmir good", "ΑΣ ǰ good"])
@pytest.mark.parametrize("tokens", ["characters", "characters in words", "words", "whitespace"])
def test_words_are_found_in_texts_whose_lower_case_is_longer(tokens, text):
    words = Words(tokens=tokens, **({"ngrams": 3} if tokens.startswith("characters") else {"least_length": 1}))
    spans = words.spans_of(text)
    assert [token for token, _, _ in spans] == words.tokens_of(text)
    for token, a, b in spans:
        assert 0 <= a <= b <= len(text)
        assert token.strip().casefold() in text[a:b].casefold()


def test_an_empty_text_is_a_missing_category_in_onnx():
    pytest.importorskip("onnxruntime")
    model = train({"c": ["", "", "x", "x", "z", "z"] * 6, "y": ["a", "a", "b", "b", "a", "b"] * 6}, target="y",
                  roles={"c": "category"})  # fmt: skip
    expected = posterior(model, pa.table({"c": [None, "", "x"]}))
    found = run_onnx(make_document(model), {"c": np.array([[""], ["\0"], ["x"]], dtype=object)})[2]
    np.testing.assert_allclose(found, expected, atol=1e-12)


cached_flags = cache(flagged)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("learned", SPELLINGS)
def test_a_flag_is_read_in_every_spelling_by_every_surface(learned, spelling, tmp_path):
    model, rows = cached_flags(learned)
    new = cached_flags(spelling)[1]
    expected = posterior(model, rows)
    np.testing.assert_allclose(posterior(model, new), expected, atol=1e-12)
    np.testing.assert_allclose(by_sql(model, new), expected, atol=1e-9)
    np.testing.assert_allclose(by_sql(model, new, run_sqlite), expected, atol=1e-9)
    pa.csv.write_csv(new, tmp_path / "new.csv")
    (tmp_path / "new.jsonl").write_text("\n".join(map(json.dumps, new.to_pylist())))
    for name in ("new.csv", "new.jsonl"):
        table = model.predict_proba(str(tmp_path / name)).read_all()
        np.testing.assert_allclose(np.column_stack([np.asarray(c) for c in table.columns]), expected, atol=1e-12)
    document = make_document(model)
    if not any(any(feature.get("numeric", ())) for feature in document["features"]):
        found = run_onnx(document, to_inputs(document, new))[2]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_letters_are_truth_values_where_all_levels_are():
    table = {"sex": ["f", "m"] * 12, "ok": ["t", "f"] * 12, "wind": ["N", "S", "E"] * 8, "y": ["a", "b"] * 12}
    model = train(table, target="y", roles=dict.fromkeys(["sex", "ok", "wind"], "category"))
    none = posterior(model, pa.table({"sex": [None], "ok": [None], "wind": [None]}))
    assert posterior(model, pa.table({"sex": ["false"], "ok": [None], "wind": ["no"]})).tolist() == none.tolist()
    assert posterior(model, pa.table({"sex": ["f"], "ok": [True], "wind": ["N"]})).tolist() == (
        posterior(model, pa.table({"sex": ["f"], "ok": ["t"], "wind": ["N"]})).tolist()
    )


CODES = [9_999_999_999, 10_000_000_000, 10_000_000_001, 123_456_789_012_345]


@pytest.mark.parametrize("learned", ["int64", "float64", "csv", "text"])
def test_levels_that_are_numbers_do_not_depend_on_the_type_of_their_cells(learned, tmp_path):
    codes = pd.DataFrame({"code": [*CODES, 7, 8] * 8, "y": ["a", "b", "a", "b", "b", "a"] * 8})
    forms = {"int64": codes, "float64": codes.astype({"code": float}), "text": codes.astype({"code": str})}
    forms["float64"].to_csv(tmp_path / "codes.csv", index=False)
    forms["csv"] = str(tmp_path / "codes.csv")
    model = train(forms[learned], target="y", roles={"code": "category"})
    expected = posterior(model, pa.table(forms["int64"].head(6)))
    assert np.abs(expected[:, 0] - 0.5).min() > 0.3
    for form in (forms["float64"], forms["text"], pa.table({"code": [f"{code}.0" for code in codes["code"]]})):
        np.testing.assert_array_equal(posterior(model, pa.table(form).slice(0, 6)), expected)
    frame = model.predict_proba(forms["csv"]).read_all().slice(0, 6)
    np.testing.assert_array_equal(np.column_stack([np.asarray(c) for c in frame.columns]), expected)
    for typed in (pa.table(forms["int64"]), pa.table(forms["text"])):
        np.testing.assert_allclose(by_sql(model, typed.slice(0, 6)), expected, atol=1e-9)


def test_one_and_one_point_nought_are_two_levels_where_both_were_learned():
    model = train({"c": ["1", "1.0", "2"] * 8, "y": ["a", "b", "a"] * 8}, target="y", roles={"c": "category"})
    rows = pa.table({"c": ["1", "1.0", "2", "2.0"]})
    expected = posterior(model, rows)
    assert expected[0, 0] > 0.5 > expected[1, 0]
    assert expected[2].tolist() == expected[3].tolist()
    np.testing.assert_allclose(by_sql(model, rows), expected, atol=1e-9)


@pytest.mark.parametrize("words", [{}, {"values": "presence"}, {"values": "log"}, {"length": "l1"}, {"length": "l2"}])
@pytest.mark.parametrize("learner", ["bayes", "evidence"])
def test_a_table_of_tokens_may_have_a_line_for_each_time_that_a_token_occurs(words, learner):
    table = {"note": ["good, good", "bad", "good tea", "bad tea"] * 5, "mood": ["up", "down", "up", "down"] * 5}
    model = train(table, target="mood", roles={"note": "text"}, words=words, learner=learner)
    text = "good tea tea tea bad"
    tokens = model.options.words.tokens_of(text)
    lines = pa.table({"row": [0] * len(tokens), "token": tokens, "count": [1] * len(tokens)})
    sql = write_sql(make_document(model), SqlOptions(keys=["row_number"], tokens={"note": "tokens"}))
    found = run_duckdb(sql, {"data": pa.table({"row_number": [0]}), "tokens": lines})
    expected = posterior(model, pa.table({"note": [text]}))[0]
    np.testing.assert_allclose([found.column(3 + k)[0].as_py() for k in range(2)], expected, atol=1e-9)


@pytest.mark.parametrize("pair", [None, (0, 1), (0, 2)])
def test_evidence_in_sql_needs_the_compared_classes_alone(pair):
    table = {"c": ["p", "q", "p", "q", "p", "q", "r", "r"] * 5, "d": list("xyxxyyxy") * 5, "y": list("aabbabzz") * 5}
    model, rows = train(table, target="y", alpha=0.0), pa.table({"c": ["p", "r"], "d": ["x", "x"]})
    sql = write_sql(make_document(model), SqlOptions(keys=["row_number"], evidence=True, pair=pair))
    found = run_duckdb(sql, {"data": numbered(rows)}).to_pylist()
    explained = model.explain(rows, None if pair is None else tuple(model.classes[k] for k in pair))
    for i, row in enumerate(found):
        for name, value in zip(explained.features, explained.evidence[i]):
            ours = row[f"evidence_{name}"]
            if math.isfinite(explained.total[i]):
                assert ours == pytest.approx(value, abs=1e-9)
            else:
                assert ours is None


@pytest.mark.parametrize("learner", ["bayes", "logistic", "evidence"])
def test_numbers_next_to_zero_are_read_by_postgresql(learner, postgres):
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 100)
    table = pa.table({"x": rng.normal(k, 1) * 1e5, "n": rng.poisson(1 + k), "y": np.array(["a", "b"])[k]})
    model = train(table, target="y", learner=learner, roles={"x": "number", "n": "count"})
    rows = pa.table({"x": [5e-324, -1e-310, 1e-300, 0.0], "n": [0.0, 5e-324, 1e-300, 1e-310]})
    sql = write_sql(make_document(model), SqlOptions("postgres", keys=["row_number"]))
    found = run_postgres(postgres, sql, {"data": numbered(rows)})
    np.testing.assert_allclose(np.asarray(found.column(3), dtype=float), posterior(model, rows)[:, 0], atol=1e-9)


@pytest.mark.parametrize("learner", ["bayes", "evidence"])
def test_a_number_that_is_impossible_in_every_class_leaves_the_prior(learner):
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=100), "z": rng.normal(size=100), "y": ["a", "a", "a", "a", "b"] * 20})
    model = train(table, target="y", roles={"x": "number", "z": "number"}, parameter_prior=0.0, learner=learner)
    rows = pa.table({"x": [1e160, 1e300, -1e200], "z": [0.5] * 3})
    expected = posterior(model, rows)
    np.testing.assert_allclose(expected, np.tile([0.8, 0.2], (3, 1)), atol=0.02)
    np.testing.assert_allclose(by_sql(model, rows), expected, atol=1e-9)


@pytest.mark.parametrize("form", ["frame", "parquet", "json", "csv"])
def test_whole_numbers_are_no_dates(form, tmp_path):
    seen = np.datetime64("2024-01-01") + np.arange(100).astype("timedelta64[D]")
    model = train(pa.table({"seen": seen, "y": ["a", "b"] * 50}), target="y")
    rows = pa.table({"seen": [1_704_067_200_000_000, 1_704_067_200]})
    pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
    pa.csv.write_csv(rows, tmp_path / "rows.csv")
    (tmp_path / "rows.json").write_text("\n".join(map(json.dumps, rows.to_pylist())))
    with pytest.raises(InputError, match="date"):
        pa.table(model.predict_proba(rows if form == "frame" else str(tmp_path / f"rows.{form}")))


NAMES = {
    "Booleans": ([True, False], ["true", "True", "1", "yes"], "false"),
    "doubles": ([1.0, 2.5], ["1", "1.0"], "2.5"),
    "whole": ([1, 2], ["1", "1.0"], "2"),
    "texts": (["TRUE", "FALSE"], ["TRUE", "true", "True"], "FALSE"),
}


@pytest.mark.parametrize("kind", NAMES)
def test_classes_have_one_rule_of_names_in_all_options(kind, tmp_path):
    labels, names, other = NAMES[kind]
    path, saved = str(tmp_path / "t.parquet"), str(tmp_path / "m.deciban")
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0] * 10, "y": [labels[i % 3 == 0] for i in range(40)]})
    pyarrow.parquet.write_table(table, path)
    train(table, target="y").save(saved)
    for options in (
        ["predict", saved, path, "--prior", "{a}=0.9,{b}=0.1"],
        ["predict", saved, path, "--cost", "{a}:{b}=3"],
        ["predict", saved, path, "--threshold", "{a}=0.9"],
        ["predict", saved, path, "--cost", "{a}:{b}=3", "--reject", "0.2"],
        ["explain", saved, path, "--classes", "{a},{b}"],
        ["evaluate", path, "--target", "y", "--want", "{a}:recall=0.1"],
        ["train", path, "--target", "y", "--prior", "{a}=0.9,{b}=0.1", "--no-judge", "-o", saved + "2"],
    ):
        outputs = {call(*(o.format(a=name, b=other) for o in options)).stdout for name in names}
        assert len(outputs) == 1
        assert outputs != {""}
