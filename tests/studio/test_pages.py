"""Train, Look, Compare and Take away: their results are those of the library and of the commands."""

import csv
import html
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import deciban
from deciban.studio.look_pictures import KINDS
from deciban.studio.pages import PAGES
from deciban.studio.pages.compare import make_table
from tests.metrics.test_comparison import compare_by_hits
from tests.studio.studio_client import StudioClient, run_steps
from tests.studio.trained_models import open_trained


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_every_page_has_something_to_say_before_anything_is_open(studio, page):
    html = studio.page(f"/{page}")
    assert "<h1>" in html
    assert html.count('aria-current="page"') == 1


def test_the_report_has_the_figures_of_the_library(trained):
    expected = deciban.train(trained.workspace.data.path, target="diagnosis").held_out
    html = trained.page("/train")
    assert f"{100 * expected.accuracy:.1f} %" in html.replace("\u202f", " ").replace("%", " %").replace("  %", " %")
    for line in expected.confusion.tolist():
        for n in line:
            assert f">{n:g}</td>" in html
    assert "Strongest columns" in html
    assert trained.workspace.report.accuracy == expected.accuracy


def test_a_table_without_a_target_is_sent_back_to_open(studio):
    studio.drop("numbers.csv", b"x,y\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(80)))
    assert studio.workspace.target is None
    page = studio.page("/train")
    assert "Choose the column to predict" in page
    assert "None" not in page


def test_training_is_refused_without_a_table(studio):
    assert studio.post("/train/start", data={"learner": "bayes"}).status_code == 409


def test_an_error_of_training_is_shown(studio):
    studio.drop("one.csv", b"a,class\n" + b"1,x\n2,x\n" * 30)
    studio.workspace.target = "class"
    studio.post("/train/start", data={"learner": "bayes"})
    studio.workspace.job.wait(60)
    assert studio.workspace.job.state == "failed"
    assert "one class only" in studio.get("/job").json()["error"]


def write_table(n, columns, make_row):
    return columns + "\n" + "".join(",".join(map(str, make_row(i))) + "\n" for i in range(n))


FINDINGS = {
    "code almost gives the answer away": write_table(
        200, "code,x,class", lambda i: ("AB"[i % 2], i % 7, "yn"[i % 2])
    ),
    "Only 30 rows": write_table(30, "x,class", lambda i: (i % 7, "yn"[i % 2])),
    "Few rows of some classes": write_table(400, "x,class", lambda i: (i % 7, "y" if i % 50 else "n")),
    "customer_id was left out": write_table(
        300, "customer_id,x,class", lambda i: (7919 * i % 100003, i % 7, "yn"[i % 2])
    ),
    "Not clearly better than guessing": write_table(200, "x,class", lambda i: (i * 7919 % 13, "yn"[i * 31 % 97 % 2])),
}


@pytest.mark.parametrize("expected", [*FINDINGS])
def test_findings_are_in_plain_english(studio, expected):
    studio.drop("table.csv", FINDINGS[expected].encode())
    studio.work("/train/start", learner="bayes")
    assert expected in studio.page("/train")


@pytest.mark.parametrize("name", [*KINDS])
def test_every_picture_is_inline_svg_with_download_and_code(trained, name):
    page = trained.page(f"/look?picture={name}")
    assert f'data-load="/look/picture/{name}' in page
    assert f"deciban plot {name}" in page
    picture = trained.page(f"/look/picture/{name}")
    assert picture.startswith("<svg role=")
    assert "<?xml" not in picture
    download = trained.get(f"/look/download/{name}.svg")
    assert download.headers["content-type"] == "image/svg+xml"
    assert "attachment" in download.headers["content-disposition"]


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_a_boundary_is_drawn_for_the_columns_that_are_chosen(trained):
    page = trained.page("/look?picture=boundary&x=age&y=temperature&covariance=tied")
    assert "--columns age,temperature --covariance tied" in page
    assert trained.page("/look/picture/boundary?x=age&y=temperature") != trained.page("/look/picture/boundary")


def test_a_column_with_a_comma_in_its_name_is_quoted_in_commands(studio):
    rows = "".join(f"{i % 7 + 5 * (i % 2)},{i % 5},{'yn'[i % 2]}\n" for i in range(60))
    studio.drop("t.csv", f'"a, b",c,class\n{rows}'.encode())
    studio.work("/train/start", learner="bayes")
    page = html.unescape(studio.page("/look?picture=densities&column=a,%20b"))
    assert "--columns '\"a, b\"' -o densities.svg" in page
    assert "--columns" not in studio.page("/look?picture=densities&column=d")


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_the_command_of_a_picture_draws_the_same(trained, tmp_path):
    page = trained.page("/look?picture=boundary")
    command = re.search(r"deciban plot boundary [^<]*", page)[0].replace("&#39;", "'")
    (tmp_path / "patients.csv").write_bytes(Path(trained.workspace.data.path).read_bytes())
    words = [sys.executable, "-m", "deciban", *command.split()[1:]]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    drawn = re.sub(r"<metadata>.*?</metadata>", "", (tmp_path / "boundary.svg").read_text(), flags=re.DOTALL)
    assert count_paths(drawn) == count_paths(trained.get("/look/download/boundary.svg").text)


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_the_python_of_every_picture_is_a_program(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("patients.csv").write_bytes(Path(trained.workspace.data.path).read_bytes())
    trained.workspace.model.save("patients.deciban")
    for name in ("boundary", "densities", "nomogram", "roc"):
        code = re.search(r"<pre[^>]*>(import deciban.*?)</pre>", trained.page(f"/look?picture={name}"), re.DOTALL)[1]
        exec(html.unescape(code), {})
        assert count_paths(Path(f"{name}.svg").read_text()) == count_paths(
            trained.get(f"/look/download/{name}.svg").text
        )


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_the_code_of_a_report_names_the_learner(studio):
    open_trained(studio, "iris", "logistic")
    page = html.unescape(studio.page("/look?picture=roc"))
    assert "deciban plot roc iris.csv --target species --learner logistic -o roc.svg" in page
    assert "deciban.train('iris.csv', target='species', learner='logistic')" in page
    studio.workspace.data = None
    assert "Draw it yourself" not in studio.page("/look?picture=roc")


def test_a_picture_that_the_model_has_not_is_refused_without_code(studio):
    open_trained(studio, "iris", "aode")
    for name, has_code in (("nomogram", False), ("roc", True)):
        page = html.unescape(studio.page(f"/look?picture={name}"))
        assert ("have no scale for a column" in page) is not has_code
        assert ("Draw it yourself" in page) is has_code
        assert (f"/look/download/{name}.svg" in page) is has_code


def test_a_column_of_texts_has_no_densities(studio):
    page = html.unescape(open_trained(studio, "messages").page("/look?picture=densities&column=message"))
    assert "column 'message' is text, which is not drawn" in page
    assert "Draw it yourself" not in page


def test_a_picture_is_drawn_once_the_page_is_there(studio):
    open_trained(studio, "iris")
    for name in KINDS:
        assert "Drawing …" in studio.page(f"/look?picture={name}")
    assert "pictures" not in studio.workspace.page_state


def count_paths(svg):
    return svg.count("<path"), svg.count("<use")


def test_an_unknown_picture_is_refused(trained):
    assert trained.get("/look/picture/none").status_code == 404


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_learners_are_compared_side_by_side(studio):
    studio.post("/open/example", data={"name": "iris"})
    assert "Compare learners" in studio.page("/compare")
    assert studio.work("/compare/start").next_path == "/compare"
    page = studio.page("/compare")
    assert "naive Bayes" in page
    assert "logistic" in page
    assert "Advice" in page
    assert studio.page("/compare/picture").startswith("<svg")


def test_learners_are_tagged_as_the_advice_has_it():
    found = compare_by_hits(("naive Bayes", 650, 0.6), ("logistic", 901, 0.993), ("boosted", 799, 0.75))
    assert {each.name for each in found.level} == {"logistic", "boosted"}  # boosted predicts fewer rows correctly
    tags = {line[0]: line[-1] for line in make_table(found)}
    assert tags == {"Learner": "", "naive Bayes": "", "logistic": "recommended", "boosted": ""}


def halve(studio):
    """Drop two halves of the patients one after the other, and train on each, with the roles of the first."""
    lines = (studio.workspace.settings.examples / "patients.csv").read_text().splitlines()
    models = []
    for half in (lines[1:201], lines[201:]):
        studio.drop("half.csv", "\n".join([lines[0], *half]).encode())
        roles = models[0].roles if models else {}
        studio.post("/open/roles", data={f"role:{name}": role for name, role in roles.items()})
        studio.work("/train/start", learner="bayes")
        models.append(studio.workspace.model)
    return models


def test_two_models_are_compared_and_merged(studio):
    one, two = halve(studio)
    names = list(studio.workspace.models)
    page = studio.page(f"/compare?first={names[0]}&second={names[1]}")
    assert f"{names[0]} → {names[1]}" in page
    assert "Rows of each class" in page
    studio.post("/compare/merge", data={"first": names[0], "second": names[1]})
    assert studio.workspace.model_name == "merged.deciban"
    assert studio.workspace.model.ledger == (one + two).ledger
    assert "deciban merge" in studio.workspace.steps[-1].command


def test_a_model_is_not_merged_with_itself(trained):
    answer = trained.post("/compare/merge", data={"first": "patients.deciban", "second": "patients.deciban"})
    assert answer.status_code == 400
    assert trained.workspace.model_name == "patients.deciban"


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_a_model_is_not_merged_with_another_kind(trained):
    trained.work("/train/start", learner="logistic")
    answer = trained.post("/compare/merge", data={"first": "patients.deciban", "second": "patients-logistic.deciban"})
    assert answer.status_code == 409
    assert trained.workspace.model_name == "patients-logistic.deciban"


def test_predictions_are_those_of_the_model(trained):
    answer = trained.get("/take-away/predictions")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    expected = trained.workspace.model.predict(trained.workspace.data.path).read_all().column(0).to_pylist()
    assert [row["prediction"] for row in rows] == expected
    assert {"age", "probability"} <= set(rows[0])
    assert not [path for path in trained.workspace.settings.folder.rglob("*") if path.is_file()]


@pytest.mark.thorough(reason="trains models behind pages: a second or more each")
def test_the_steps_reproduce_the_model(trained, tmp_path):
    trained.post("/open/roles", data={"role:age": "binned"})
    trained.work("/train/start", learner="evidence")
    expected = trained.workspace.model
    for name in ("steps.py", "steps.sh"):
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        (folder / name).write_text(trained.page(f"/take-away/{name}"))
        if name == "steps.py":  # the commands write the example themselves
            (folder / "patients.csv").write_bytes(Path(trained.workspace.data.path).read_bytes())
        run_steps(folder, name)
        made = deciban.load(folder / "patients-evidence.deciban")
        assert made.roles == expected.roles
        assert made.account.trust == pytest.approx(expected.account.trust)


def test_the_report_needs_no_other_file(trained):
    report = trained.page("/take-away/report.html")
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)""", report)
    assert "<script" not in report
    assert report.count("<svg") >= 4
    assert "deciban train patients.csv --target diagnosis" in report


def test_one_job_runs_at_a_time_and_can_be_stopped(studio):
    import threading

    go = threading.Event()

    def work(job):
        while not go.wait(0.01):
            job.check()
        return "/train"

    studio.workspace.start_job("Waiting", work)
    studio.post("/open/example", data={"name": "iris"})
    answer = studio.post("/train/start", data={"learner": "bayes"})
    assert answer.status_code == 409
    assert "Waiting" in answer.json()["detail"]
    studio.post("/job/stop")
    studio.workspace.job.wait(10)
    assert studio.get("/job").json()["state"] == "stopped"


def test_the_wheel_has_templates_styles_and_script():
    from hatchling.builders.wheel import WheelBuilder

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    names = {file.distribution_path for file in WheelBuilder(root).recurse_included_files()}
    for name in (
        "templates/layout.html",
        "templates/open.html",
        "static/studio.css",
        "static/studio.js",
        "static/icon.svg",
    ):
        assert f"deciban/studio/{name}" in names


def test_a_model_alone_is_opened(trained, tmp_path):
    path = tmp_path / "m.deciban"
    trained.workspace.model.save(path)
    other = StudioClient(tmp_path / "x")
    from deciban.studio.opening import open_file

    open_file(other.workspace, str(path))
    other.enter()
    for page in PAGES:
        assert other.get(f"/{page.name}").status_code == 200, page.name


def test_places_of_messages_without_a_store_are_wrong_usage(capsys):
    from deciban.cli.app import run

    assert run(["studio", "--messages", "Maildir"]) == 2
    assert "--messages is for --mail" in capsys.readouterr().err


def test_a_model_of_another_table_is_opened_and_the_table_that_does_not_fit_is_closed(trained):
    trained.post("/open/example", data={"name": "tennis"})
    page = trained.post("/compare/choose", data={"name": "patients.deciban"})
    assert page.status_code == 200
    assert trained.workspace.data is None
    assert "tennis.csv was closed" in trained.page("/train")
    for path in ("/ask", "/correct", "/take-away", "/take-away/report.html"):
        trained.page(path)


def test_a_comparison_of_a_table_that_was_replaced_meanwhile_is_dropped(studio, monkeypatch):
    table = Path(studio.workspace.settings.examples / "iris.csv").read_bytes()
    studio.drop("one.csv", table)

    def compare(source, **options):
        studio.drop("two.csv", table)  # as another page would
        return "a comparison of the first table"

    monkeypatch.setattr(deciban, "compare", compare)
    studio.work("/compare/start")
    assert studio.workspace.data.name == "two.csv"
    assert "comparison" not in studio.workspace.page_state
    assert "Compare learners" in studio.page("/compare")
