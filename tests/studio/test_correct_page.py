"""Correct: a relabelled or forgotten row gives the model of the corrected table, and undo the one before."""

import ast
import csv
import io
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import deciban
from deciban.studio import corrections
from deciban.studio.command_lines import quote_query, write_python_query
from deciban.studio.corrections import find_doubtful_rows
from tests.studio.studio_client import run_steps
from tests.studio.trained_models import open_trained
from tests.tables.test_workbooks import write as write_workbook


@pytest.fixture
def trained(studio):
    """A studio with the example of patients and a model of it."""
    return open_trained(studio)


def corrected_table(studio, labels):
    """Return the open table as a mapping, with other labels of some rows; None leaves a row out."""
    data = studio.workspace.data
    table = data.read_rows(0, data.n_rows).to_pydict()
    target = studio.workspace.model.target
    for row, label in labels.items():
        table[target][row] = label
    kept = [i for i, label in enumerate(table[target]) if label is not None]
    return {name: [cells[i] for i in kept] for name, cells in table.items()}


def write_csv(path, table):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values()))
    return str(path)


def assert_same_ledger(one, other):
    for a, b in zip(one.ledger.parts, other.ledger.parts):
        for name in vars(a) if hasattr(a, "__dict__") else a.__slots__:
            x, y = getattr(a, name), getattr(b, name)
            if isinstance(x, np.ndarray) and x.dtype.kind == "f":
                assert x == pytest.approx(y, rel=1e-9, abs=1e-9, nan_ok=True), name
    assert one.ledger.rows == pytest.approx(other.ledger.rows)


@pytest.mark.parametrize("label", ["flu", None])
def test_a_correction_gives_the_model_of_the_corrected_table(trained, tmp_path, label):
    before = trained.workspace.model
    row = next(each.row for each in find_doubtful_rows(trained.workspace) if each.label != "flu")
    answer = trained.post(
        "/correct/apply", data={"row": row, "label": "forget:" if label is None else f"label:{label}"}
    )
    assert answer.status_code == 200
    path = write_csv(tmp_path / "corrected.csv", corrected_table(trained, {row: label}))
    expected = deciban.train(path, target="diagnosis", like=before, judge=False)
    assert_same_ledger(trained.workspace.model, expected)
    assert trained.workspace.model is not before


def test_undo_restores_table_model_and_report(trained):
    workspace = trained.workspace
    before = workspace.model, workspace.data, workspace.report
    first = find_doubtful_rows(workspace)[0]
    trained.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    assert workspace.data.read_rows(first.row, 1).to_pylist()[0]["diagnosis"] == first.prediction
    assert first.row not in [each.row for each in find_doubtful_rows(workspace)[:5]]
    trained.post("/correct/undo")
    assert (workspace.model, workspace.data, workspace.report) == before
    assert trained.post("/correct/undo").status_code == 409


def test_the_report_before_and_after_is_that_of_held_out_rows(trained, tmp_path):
    workspace = trained.workspace
    before = workspace.report
    first = find_doubtful_rows(workspace)[0]
    trained.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    html = trained.page("/correct")
    path = write_csv(tmp_path / "corrected.csv", corrected_table(trained, {first.row: first.prediction}))
    after = deciban.train(path, target="diagnosis", like=workspace.model).held_out
    assert workspace.report.log_loss == pytest.approx(after.log_loss)
    assert f"{before.log_loss:.4f}" in html
    assert f"{after.log_loss:.4f}" in html
    posterior = workspace.model.predict_proba({"age": [50]}, allow_missing_columns=True)
    assert np.isfinite(posterior).all()


def test_rows_are_in_the_order_of_doubt_or_of_the_table(trained):
    rows = find_doubtful_rows(trained.workspace)
    assert [each.probability for each in rows] == sorted(each.probability for each in rows)
    model, data = trained.workspace.model, trained.workspace.data
    table = data.read_rows(rows[0].row, 1).to_pylist()[0]
    p = model.predict_proba(
        {name: [table[name]] for name in table if name != "diagnosis"}, allow_missing_columns=True
    )[0]
    assert rows[0].probability == pytest.approx(p[model.classes.index(rows[0].label)])
    assert f'data-row="{rows[0].row + 1}"' in trained.page("/correct")
    html = trained.page("/correct?by=order&row=41")
    assert 'data-row="41"' in html
    assert 'data-row="40"' not in html
    assert 'data-row="52"' not in html  # it has no label
    assert "row=61" in html
    assert "row=401" not in trained.page("/correct?by=order&row=381")
    assert 'data-row="1"' in trained.page("/correct?by=order&row=401")


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_a_corrected_label_is_learned_by_the_next_training(trained):
    first = find_doubtful_rows(trained.workspace)[0]
    trained.post("/correct/apply", data={"row": first.row, "label": "forget:"})
    weight = trained.workspace.model.ledger.n_rows
    trained.work("/train/start", learner="bayes")
    assert trained.workspace.model.ledger.n_rows == weight


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_another_learner_is_fitted_again(studio):
    before = open_trained(studio, "iris", "logistic").workspace.model
    first = find_doubtful_rows(studio.workspace)[0]
    studio.work("/correct/apply", row=first.row, label=f"label:{first.prediction}")
    after = studio.workspace.model
    assert after.learner == "logistic"
    assert after is not before
    (changed,) = [each for each in find_doubtful_rows(studio.workspace) if each.row == first.row]
    assert changed.label == first.prediction
    assert studio.workspace.report is after.held_out
    studio.post("/correct/undo")
    assert studio.workspace.model is before


def test_a_correction_that_makes_no_sense_changes_nothing(trained):
    before = trained.workspace.model
    refused = [
        ("", "", 400), ("1", "", 400), ("x", "label:flu", 400), ("-1", "forget:", 400), ("1", "label:gout", 400),
        ("99999", "label:flu", 409),
    ]  # fmt: skip
    for row, label, status in refused:
        assert trained.post("/correct/apply", data={"row": row, "label": label}).status_code == status
    assert trained.workspace.model is before


def test_the_label_that_a_row_has_is_refused(trained):
    first = find_doubtful_rows(trained.workspace)[0]
    answer = trained.post("/correct/apply", data={"row": first.row, "label": f"label:{first.label}"})
    assert answer.status_code == 409
    assert "already" in answer.json()["detail"]


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_another_training_begins_a_new_history(trained):
    first = find_doubtful_rows(trained.workspace)[0]
    trained.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    assert "1 correction<" in trained.page("/correct")
    trained.work("/train/start", learner="bayes")
    assert "1 correction<" not in trained.page("/correct")
    assert trained.post("/correct/undo").status_code == 409
    assert trained.workspace.data.labels == {first.row: first.prediction}


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_rows_far_down_are_listed_and_corrected(studio):
    lines = [f"{i % 9},{'ab'[i % 9 > 4]}" for i in range(5000)]
    lines[4321] = "8,a"
    studio.drop("long.csv", "\n".join(["x,class", *lines]).encode())
    studio.work("/train/start", learner="bayes")
    assert find_doubtful_rows(studio.workspace)[0].row == 4321
    assert 'data-row="4322"' in studio.page("/correct")
    studio.post("/correct/apply", data={"row": 4321, "label": "label:b"})
    assert studio.workspace.data.read_cells([4321, 3], ["x", "class"]) == {
        4321: {"x": "8", "class": "b"}, 3: {"x": "3", "class": "a"},
    }  # fmt: skip
    assert studio.workspace.model.ledger.rows.tolist() == [2779.0, 2221.0]


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
@pytest.mark.parametrize("name", ["steps.py", "steps.sh"])
def test_the_steps_reproduce_corrections_and_their_undoing(trained, tmp_path, name):
    first, second, third = find_doubtful_rows(trained.workspace)[:3]
    trained.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    trained.post("/correct/apply", data={"row": first.row, "label": "forget:"})
    trained.post("/correct/apply", data={"row": second.row, "label": "forget:"})
    trained.post("/correct/undo")
    trained.post("/correct/apply", data={"row": third.row, "label": f"label:{third.prediction}"})
    run_corrections(trained, tmp_path, name)
    assert_same_model(deciban.load(tmp_path / "patients.deciban"), trained)


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
@pytest.mark.parametrize("name", ["steps.py", "steps.sh"])
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_the_steps_reproduce_the_corrections_of_a_model_that_was_not_trained_on_the_table(
    studio, tmp_path, name, ending
):
    rows = [["x", "class"], *([str(i % 9), "ab"[i % 9 > 4]] for i in range(60)), ["8", "a"], ["7", "a"]]
    table = tmp_path / f"t.{ending}"
    if ending == "csv":
        table.write_text("".join(f"{','.join(row)}\n" for row in rows))
    else:
        write_workbook(table, t=rows)
    studio.drop(table.name, table.read_bytes())
    model = deciban.train(table, target="class", judge=False)
    (model + model).save(tmp_path / "t.deciban")
    studio.workspace.set_model(deciban.load(tmp_path / "t.deciban"), "t.deciban", None)
    for row, label in ((60, "label:b"), (61, "forget:"), (3, "forget:")):
        studio.post("/correct/apply", data={"row": row, "label": label})
    studio.post("/correct/undo")
    assert studio.workspace.model.ledger.n_rows == 2 * 62 - 1
    write_corrected(studio, tmp_path)
    steps = studio.page(f"/take-away/{name}")
    if name == "steps.py":
        steps = steps.replace("import deciban", "import deciban\nmodel = deciban.load('t.deciban')", 1)
    (tmp_path / name).write_text(steps)
    run_steps(tmp_path, name)
    assert_same_model(deciban.load(tmp_path / "t.deciban"), studio)


def test_a_correction_that_was_taken_back_is_no_step(calibrated, tmp_path):
    workspace = calibrated.workspace
    workspace.model.save(tmp_path / "repeated.deciban")
    workspace.set_model(deciban.load(tmp_path / "repeated.deciban"), "repeated.deciban", None)
    before = calibrated.page("/take-away/steps.py")
    first = find_doubtful_rows(workspace)[0]
    calibrated.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    assert workspace.model.calibration.is_former
    assert calibrated.page("/take-away/steps.py") != before
    calibrated.post("/correct/undo")
    assert workspace.model.calibration is not None
    assert calibrated.page("/take-away/steps.py") == before


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_the_correction_of_a_fitted_model_from_a_file_that_was_taken_back_is_no_step(studio, tmp_path):
    """A training on the open table would replace that model, which may have learned another one."""
    workspace = open_trained(studio, "iris", "logistic").workspace
    workspace.trained_models.clear()
    before = studio.page("/take-away/steps.py")
    first = find_doubtful_rows(workspace)[0]
    studio.work("/correct/apply", row=first.row, label=f"label:{first.prediction}")
    assert "Corrected" in studio.page("/take-away/steps.py")
    studio.post("/correct/undo")
    assert studio.page("/take-away/steps.py") == before


def test_corrections_one_after_the_other_are_one_training(trained):
    """It learns all corrected labels; undo restores the one before."""
    before = trained.page("/take-away/steps.sh")
    scripts = []
    for each in find_doubtful_rows(trained.workspace)[:3]:
        trained.post("/correct/apply", data={"row": each.row, "label": "forget:"})
        scripts.append(trained.page("/take-away/steps.sh"))
        assert scripts[-1].count("--like") == 1
    assert f"# Corrected: row {each.row + 1} forgotten, after 2 other corrections\n" in scripts[-1]
    for script in [*scripts[1::-1], before]:
        trained.post("/correct/undo")
        assert trained.page("/take-away/steps.sh") == script


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
@pytest.mark.parametrize("name", ["steps.py", "steps.sh"])
@pytest.mark.parametrize(("delimiter", "blank", "decimal"), [(",", " ", "."), (";", "", ",")])
def test_the_steps_read_cells_as_the_studio_does(studio, tmp_path, name, delimiter, blank, decimal):
    """Blanks around cells, columns named by numbers, and decimal commas."""
    rows = [["1", "2", "class"]]
    for i in range(60):
        letter = blank * (i % 4 == 0) + "pqr"[i % 3] + blank * (i % 5 == 0)
        rows.append([f"{i % 9}{decimal}{i % 7}5", letter, "ab"[i % 9 > 4]])
    studio.drop("t.csv", "\n".join(map(delimiter.join, rows)).encode())
    studio.work("/train/start", learner="bayes")
    for row, label in ((3, "label:b"), (4, "forget:")):
        studio.post("/correct/apply", data={"row": row, "label": label})
    model, path = run_training(studio, tmp_path, name), studio.workspace.data.path
    expected = read_numbers(studio.workspace.model.predict_proba(path).read_all())
    assert read_numbers(model.predict_proba(path).read_all()) == pytest.approx(expected, abs=1e-12)


def test_a_label_that_marks_a_missing_one_is_corrected(studio):
    studio.drop("t.csv", "\n".join(["x,class", *(f"{i % 9},{'ab'[i % 9 > 4]}" for i in range(60)), "7,?"]).encode())
    studio.work("/train/start", learner="bayes")
    assert studio.post("/correct/apply", data={"row": 60, "label": "label:b"}).status_code == 200
    assert studio.workspace.model.ledger.n_rows == 61


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
@pytest.mark.parametrize("name", ["steps.py", "steps.sh"])
@pytest.mark.parametrize(("classes", "learner"), [("ab", "bayes"), ("abc", "bayes"), ("ab", "logistic")])
def test_the_class_of_the_last_row_that_is_corrected_stays(studio, tmp_path, name, classes, learner):
    rows = [f"{i % 9},{i % 5},{classes[i % (len(classes) - 1)]}" for i in range(60)]
    studio.drop("t.csv", "\n".join(["x,y,class", *rows, f"9,1,{classes[-1]}"]).encode())
    studio.work("/train/start", learner=learner)
    studio.post("/correct/apply", data={"row": 60, "label": "label:a"})
    studio.workspace.job.wait(60)
    assert studio.workspace.model.classes == [*classes]
    assert run_training(studio, tmp_path, name).classes == [*classes]


def test_the_page_says_how_the_model_is_corrected(trained, tmp_path):
    again, by_row = "is trained again on the corrected table", "changes one row in it, exactly"
    page = trained.page("/correct")
    assert again in page
    assert by_row not in page
    trained.workspace.model.save(tmp_path / "patients.deciban")
    trained.workspace.set_model(deciban.load(tmp_path / "patients.deciban"), "patients.deciban", None)
    page = trained.page("/correct")
    assert again not in page
    assert by_row in page


@pytest.mark.parametrize(("limit", "value"), [("MAX_INSTANT_ROWS", 299), ("MAX_INSTANT_BYTES", 2000)])
def test_a_large_table_is_trained_again_by_a_job(calibrated, monkeypatch, limit, value):
    assert not corrections.needs_job(calibrated.workspace)
    monkeypatch.setattr(corrections, limit, value)
    assert corrections.needs_job(calibrated.workspace)


def run_corrections(studio, folder, name):
    """Run the steps in a folder with the table and the model from before; one is trained where there is none."""
    steps = studio.page(f"/take-away/{name}")
    write_corrected(studio, folder)
    data, path = studio.workspace.data, folder / "patients.deciban"
    (folder / "patients.csv").write_bytes(Path(data.path).read_bytes())
    if not path.exists():
        deciban.train(data.path, target="diagnosis").save(path)
    if name == "steps.py":
        steps = steps.replace("import deciban", "import deciban\nmodel = deciban.load('patients.deciban')", 1)
    (folder / name).write_text(steps)
    run_steps(folder, name)


def write_corrected(studio, folder):
    """Write the corrected table of the page Take away into a folder."""
    (folder / studio.workspace.data.training_name).write_bytes(studio.get("/take-away/table").content)


def assert_same_model(model, studio):
    """Assert that a model gives all rows of the open table the probabilities of the studio's model."""
    data = studio.workspace.data
    table = data.read_rows(0, data.n_rows)
    expected = read_numbers(studio.workspace.model.predict_proba(table))
    assert read_numbers(model.predict_proba(table)) == pytest.approx(expected, abs=1e-9)
    assert_same_ledger(model, studio.workspace.model)


def run_training(studio, folder, name):
    """Return the model of the steps from the training on, run in a folder with the tables."""
    (folder / studio.workspace.data.name).write_bytes(Path(studio.workspace.data.path).read_bytes())
    write_corrected(studio, folder)
    (folder / name).write_text(studio.page(f"/take-away/{name}"))
    run_steps(folder, name)
    return deciban.load(folder / studio.workspace.model_name)


def read_numbers(table):
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.fixture
def calibrated(studio):
    """A studio with a model whose columns repeat each other, so that training calibrates it."""
    lines = []
    for i in range(300):
        cells = ["ab"[(i * i % 7 > 2) ^ (i % (11 + j) == 0)] for j in range(5)]
        lines.append(",".join([*cells, "xy"[i * i % 7 > 2 + i % 3]]))
    studio.drop("repeated.csv", "\n".join(["p,q,r,s,t,class", *lines]).encode())
    studio.work("/train/start", learner="bayes")
    assert studio.workspace.model.calibration is not None
    return studio


def test_a_correction_fits_the_calibration_at_once(calibrated):
    workspace = calibrated.workspace
    first = find_doubtful_rows(workspace)[0]
    calibrated.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    model, listed = workspace.model, find_doubtful_rows(workspace)
    assert model.calibration is not None
    assert model._scorer.novelty is not None
    assert workspace.report is model.held_out
    calibration = model.calibration
    calibrated.page("/correct")
    assert (workspace.model, model.calibration) == (model, calibration)
    assert find_doubtful_rows(workspace) is listed


@pytest.mark.parametrize("name", ["steps.py", "steps.sh"])
def test_the_steps_reproduce_the_calibration(calibrated, tmp_path, name):
    first, second = find_doubtful_rows(calibrated.workspace)[:2]
    calibrated.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    calibrated.post("/correct/apply", data={"row": second.row, "label": "forget:"})
    model = run_training(calibrated, tmp_path, name)
    assert model.calibration is not None
    assert_same_model(model, calibrated)


def test_the_corrected_table_is_taken_away(trained):
    first, second = find_doubtful_rows(trained.workspace)[:2]
    assert "/take-away/table" not in trained.page("/take-away")
    trained.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    trained.post("/correct/apply", data={"row": second.row, "label": "forget:"})
    assert "/take-away/table" in trained.page("/take-away")
    answer = trained.get("/take-away/table")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    original = list(csv.DictReader(Path(trained.workspace.data.path).read_text().splitlines()))
    original[first.row]["diagnosis"], original[second.row]["diagnosis"] = first.prediction, ""
    assert rows == original
    assert "patients-corrected.csv" in answer.headers["content-disposition"]
    assert "patients-corrected.csv" in trained.page("/look?picture=learning")


def test_a_label_with_line_breaks_stays_within_its_comment(studio):
    lines = [f"{i % 7},{['a', chr(34) + 'b' + chr(10) + 'touch hostile' + chr(34)][i % 7 > 3]}" for i in range(60)]
    studio.drop("lines.csv", "\n".join(["x,class", *lines]).encode())
    studio.work("/train/start", learner="bayes")
    studio.post("/correct/apply", data={"row": "0", "label": "label:b\ntouch hostile"})
    assert studio.workspace.data.labels == {0: "b\ntouch hostile"}
    assert studio.workspace.steps[-1].title == "Corrected: row 1 relabelled b touch hostile"
    for name in ("steps.sh", "steps.py"):
        comments = [line for line in studio.page(f"/take-away/{name}").splitlines() if "Corrected" in line]
        assert comments == ["# Corrected: row 1 relabelled b touch hostile"]


def test_a_correction_of_a_page_that_is_out_of_date_is_refused(trained):
    first = find_doubtful_rows(trained.workspace)[0]
    correction = {"row": first.row, "label": f"label:{first.prediction}", "version": trained.workspace.version}
    assert f'name="version" value="{trained.workspace.version}"' in trained.page("/correct")
    open_trained(trained, "patients")  # in another tab
    answer = trained.post("/correct/apply", data=correction)
    assert answer.status_code == 409
    assert "load the page again" in answer.json()["detail"]
    assert not trained.workspace.data.labels


def test_a_correction_that_waits_for_another_change_is_refused(trained):
    workspace, first = trained.workspace, find_doubtful_rows(trained.workspace)[0]
    correction = {"row": first.row, "label": "forget:", "version": workspace.version}
    with ThreadPoolExecutor() as pool, workspace.lock:
        answer = pool.submit(trained.post, "/correct/apply", data=correction)
        time.sleep(0.3)
        workspace.version += 1
    assert answer.result().status_code == 409
    assert not workspace.data.labels


def test_no_correction_is_proposed_for_a_label_that_the_model_expects(trained):
    rows = find_doubtful_rows(trained.workspace)
    page = trained.page(f"/correct?row={len(rows)}")
    assert rows[-1].label == rows[-1].prediction
    assert '<option value="" selected>choose …</option>' in page
    assert f'<option value="label:{rows[0].prediction}" selected>' in trained.page("/correct")


@pytest.mark.parametrize("text", ['it\'s "x" $(touch a) `touch b` \\\\ $HOME', "wow!", 'end"', "two\nlines", "\\"])
def test_queries_are_quoted_for_shell_and_python(text):
    done = subprocess.run(["sh", "-c", f"printf %s {quote_query(text)}"], capture_output=True, text=True, check=True)
    assert done.stdout == text
    assert ast.literal_eval(write_python_query(text)) == text


def test_one_dependence_estimators_are_corrected_exactly_too(studio):
    before = open_trained(studio, "patients", "aode").workspace.model
    first = find_doubtful_rows(studio.workspace)[0]
    studio.post("/correct/apply", data={"row": first.row, "label": f"label:{first.prediction}"})
    expected = deciban.train(studio.workspace.data.table, target="diagnosis", like=before, judge=False)
    assert studio.workspace.model.learner == "aode"
    assert_same_ledger(studio.workspace.model, expected)
