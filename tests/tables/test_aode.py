"""`learner="aode"`: in `train`, `evaluate`, model files, explanations, arithmetic of models and the command."""

import sqlite3

import numpy as np
import pytest

import deciban
from deciban.errors import InputError, UndefinedError
from tests.cli.terminal import call, done
from tests.tables.test_structure import TARGET, echoes, posterior


@pytest.fixture(scope="module")
def model():
    return deciban.train(echoes(), target=TARGET, learner="aode")


def test_it_learns_what_no_column_says_alone(model):
    rows = echoes()[["a", "b", "c", TARGET]]
    averaged, naive = (
        deciban.train(rows, target=TARGET, **given) for given in ({"learner": "aode"}, {"structure": "naive"})
    )
    assert (averaged.learner, naive.learner) == ("aode", "bayes")
    assert averaged.held_out.accuracy > naive.held_out.accuracy + 0.2
    assert model.structure == {}
    assert "given each other column" in str(model.describe())


def test_explanations_add_up(model):
    rows = echoes(80, seed=1)
    explanation, proba = model.explain(rows), posterior(model, rows)
    odds = 10 * np.log10(proba.max(axis=1) / proba.min(axis=1))
    np.testing.assert_allclose(explanation.total, odds, rtol=1e-9, atol=1e-9)
    sums = [sum(value for _, value in explanation.entries(i)) for i in range(len(rows))]
    np.testing.assert_allclose(sums, odds, rtol=1e-9, atol=1e-9)


def test_evaluation_is_that_of_separate_trainings():
    rows, given = echoes(), {"target": TARGET, "learner": "aode", "roles": {"x": "number", "z": "binned"}}
    cells = deciban.train(rows, **given)
    report = deciban.evaluate(rows, calibrate="none", folds=5, **given)
    for fold in range(5):
        mine = report.folds == fold
        part = deciban.train(rows[~mine], target=TARGET, like=cells, judge=False)
        assert part.learner == "aode"
        found = np.asarray(part.predict_log_proba(rows[mine]))
        np.testing.assert_allclose(report.log_proba[mine], found, rtol=1e-9, atol=1e-9)


def test_a_file_keeps_it(model, tmp_path):
    rows = echoes(50, seed=2)
    model.save(tmp_path / "m.deciban")
    back = deciban.load(tmp_path / "m.deciban")
    assert back.learner == "aode"
    assert (posterior(back, rows) == posterior(model, rows)).all()
    more = deciban.train(rows, target=TARGET, like=model, judge=False)
    np.testing.assert_allclose(posterior(back.add(rows), rows), posterior(model + more, rows), rtol=1e-9)


def test_parts_add_subtract_and_scale_exactly(model):
    rows = echoes()
    first, second = (deciban.train(r, target=TARGET, like=model, judge=False) for r in (rows[:250], rows[250:]))
    whole = deciban.train(rows, target=TARGET, like=model, judge=False)
    np.testing.assert_allclose(posterior(first + second, rows), posterior(whole, rows), rtol=1e-9)
    np.testing.assert_allclose(posterior(whole - second, rows), posterior(first, rows), rtol=1e-9)
    np.testing.assert_allclose(posterior(whole * 2.0, rows), posterior(whole + whole, rows), rtol=1e-9)
    with pytest.raises(deciban.errors.SchemaError, match="differ in dependence"):
        whole + deciban.train(rows, target=TARGET, like=model, learner="bayes", judge=False)


def test_models_of_one_column_differ_from_naive_bayes_by_the_learner():
    averaged, naive = (
        deciban.train(echoes()[["a", TARGET]], target=TARGET, learner=name, judge=False) for name in ("aode", "bayes")
    )
    with pytest.raises(deciban.errors.SchemaError, match="dependence: learner='aode' and independent columns"):
        averaged + naive


def test_rows_of_a_database_are_read(model, tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as database:
        echoes().to_sql("t", database, index=False)
    stored = deciban.train(f"sqlite:///{tmp_path}/t.db", table="t", target=TARGET, learner="aode")
    np.testing.assert_allclose(posterior(stored, echoes()), posterior(model, echoes()), rtol=1e-9)


def test_what_it_has_no_meaning_for_is_refused(model, tmp_path):
    rows = echoes()
    with pytest.raises(InputError, match=r"aode.*cannot be exported"):
        model.export("json")
    for structure in ("tan", "naive"):
        with pytest.raises(InputError, match="is for naive Bayes, not for learner='aode'"):
            deciban.train(rows, target=TARGET, learner="aode", structure=structure)
    naive = deciban.train(rows, target=TARGET, structure="naive", judge=False)
    with pytest.raises(InputError, match="needs counts of pairs"):
        deciban.train(rows, target=TARGET, learner="aode", like=naive)
    with pytest.raises(UndefinedError, match="depend on each other"):
        model.sample(3)


def test_the_command(tmp_path):
    echoes().to_csv(tmp_path / "t.csv", index=False)
    shown = done("train", tmp_path / "t.csv", "--target", TARGET, "--learner", "aode", "-o", tmp_path / "m").stdout
    assert "given each other column" in shown
    assert "averaged one-dependence estimators" in done("inspect", tmp_path / "m").stdout
    assert "dependence" in done("explain", tmp_path / "m", tmp_path / "t.csv", "--work", "--rows", "1").stdout
    refused = call("export", tmp_path / "m", "--to", "sql")
    assert refused.exit_code == 1
    assert "(--learner aode) cannot be exported" in refused.stderr


@pytest.mark.parametrize("kind", ["one column", "constant", "all missing"])
def test_odd_tables_are_learned(kind):
    tables = {
        "one column": {"a": [1.5, 2.5, 3.5, 4.5], TARGET: list("pqpq")},
        "all missing": {"a": [None, None, 1.0, 2.0], "b": [1.0, 2.0, None, None], TARGET: list("pqpq")},
        "constant": {"a": [1.0] * 6, "b": [2.0] * 5 + [3.0], "c": list("uvuvuv"), TARGET: list("pqpqpq")},
    }
    model = deciban.train(tables[kind], target=TARGET, learner="aode")
    assert model.learner == "aode"
    assert np.isfinite(np.asarray(model.predict_proba(tables[kind]))).all()
