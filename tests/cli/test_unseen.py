"""`predict` and `explain` name values that were not learned; `evaluate` names rows that were."""

import json

import pytest

from tests.cli.terminal import NEW, PATIENTS, call, done


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model, "--no-judge")
    return model


@pytest.fixture
def odd(tmp_path):
    """New patients, one with 375 for 37.5 and one with a cough in capitals."""
    lines = NEW.read_text().splitlines()
    names = lines[0].split(",")
    rows = [dict(zip(names, line.split(","))) for line in lines[1:]]
    rows[1]["temperature"], rows[3]["cough"] = "375", "Dry"
    path = tmp_path / "odd.csv"
    path.write_text("\n".join([lines[0], *(",".join(row.values()) for row in rows)]) + "\n")
    return path


def test_predict_sums_them_up_after_the_rows(trained, odd, tmp_path):
    result = done("predict", trained, odd)
    assert len(result.stdout.splitlines()) == 7
    warned = result.stderr.splitlines()
    assert warned[0].startswith("warning: 'temperature' has 1 value outside 3")
    assert warned[0].endswith(": 375 (row 2)")
    assert warned[1] == "warning: 'cough' has 1 value never seen in training: Dry (row 4)"
    assert result.output.index("warning") > result.output.rindex("cold")
    assert done("predict", trained, NEW).stderr == ""
    to_file = done("predict", trained, odd, "-o", tmp_path / "out.csv").stderr.splitlines()
    assert to_file[0].startswith("6 rows to ")
    assert to_file[1:] == warned


def test_the_warnings_do_not_grow_with_the_rows(trained, odd, tmp_path):
    head, *rows = odd.read_text().splitlines()
    (tmp_path / "many.csv").write_text("\n".join([head, *rows * 500]) + "\n")
    warned = done("predict", trained, tmp_path / "many.csv").stderr.splitlines()
    assert len(warned) == 2
    assert "500 cells with values outside" in warned[0]
    assert warned[0].endswith(": 375 (row 2)")


def test_explain_lists_them_below_the_row(trained, odd):
    shown = done("explain", trained, odd, "--row", "2").stdout
    line = next(line for line in shown.splitlines() if "outside" in line)
    assert line.startswith("  temperature = 375: outside 3")
    assert "  cough = Dry: never seen\n" in done("explain", trained, odd, "--row", "4").stdout
    assert done("explain", trained, odd, "--rows", "6").stderr == ""
    assert "outside" not in done("explain", trained, NEW, "--rows", "6").stdout


def test_explain_has_them_in_json(trained, odd):
    rows = json.loads(done("explain", trained, odd, "--rows", "6", "--json").stdout)
    number = rows[1]["unseen"][0]
    assert (number["column"], number["value"]) == ("temperature", "375")
    assert number["reason"].startswith("outside")
    assert 30 < number["low"] < number["high"] < 45
    assert rows[3]["unseen"] == [{"column": "cough", "value": "Dry", "reason": "never seen"}]
    assert rows[0]["unseen"] == []


def test_evaluating_the_learned_rows_says_so(trained, tmp_path):
    result = done("evaluate", PATIENTS, "--model", trained)
    assert result.stdout.startswith(f"{trained}, evaluated on the rows that it learned\n")
    assert "these 397 rows were learned by this model: the figures are not held out" in " ".join(
        result.stdout.split()
    )
    assert result.stderr == (
        "warning: these 397 rows were learned by this model: the figures are not held out. "
        "Hint: --target diagnosis without --model cross-validates\n"
    )
    assert json.loads(done("evaluate", PATIENTS, "--model", trained, "--json").stdout)["learned_share"] == 1.0
    lines = PATIENTS.read_text().splitlines()
    half = tmp_path / "half.deciban"
    (tmp_path / "half.csv").write_text("\n".join(lines[:200]) + "\n")
    done("train", tmp_path / "half.csv", "--target", "diagnosis", "-o", half, "--no-judge")
    (tmp_path / "other.csv").write_text("\n".join([lines[0], *lines[200:]]) + "\n")
    other = done("evaluate", tmp_path / "other.csv", "--model", half)
    assert "evaluated on rows that it did not learn, as far as is known" in other.stdout
    assert "learned by this model" not in other.output
    assert "evaluated on rows of which it learned some" in done("evaluate", PATIENTS, "--model", half).stdout


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(12):
        for label, words in (("space", "orbit moon rocket"), ("hockey", "puck goal ice")):
            path = tmp_path / "posts" / label / f"{i}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{words}\nnumber {i}\n")
    done("train", "--folders", "posts", "-o", "posts.deciban", "--no-judge")
    (tmp_path / "new.txt").write_text("orbit of the moon\nice\n\nrocket\n")
    (tmp_path / "59848").write_text("Subject: puck, goal\n\nice, ice\n")
    (tmp_path / "table.csv").write_text("text\norbit moon\npuck goal\n")
    (tmp_path / "table").write_text("text,more\norbit moon,1\npuck goal,2\n")
    return tmp_path


@pytest.mark.parametrize("name", ["new.txt", "59848", "new.txt.gz"])
def test_a_text_file_is_one_document_for_a_model_of_whole_files(folders, name):
    if name.endswith(".gz"):
        import gzip

        (folders / name).write_bytes(gzip.compress((folders / "new.txt").read_bytes()))
    lines = done("predict", "posts.deciban", name).stdout.splitlines()
    assert len(lines) == 2
    assert lines[0] == "file,prediction,probability"
    assert lines[1].startswith(f"{name},{'hockey' if name == '59848' else 'space'},")
    shown = done("explain", "posts.deciban", name).stdout
    assert f"Row 1  {name}" in shown
    assert "Row 2" not in shown


def test_several_files_are_a_document_each(folders):
    assert len(done("predict", "posts.deciban", "new.txt", "posts/hockey/1.txt").stdout.splitlines()) == 3
    assert len(done("predict", "posts.deciban", "posts/space/*.txt").stdout.splitlines()) == 13


@pytest.mark.parametrize(
    ("arguments", "rows"), [(["new.txt", "--format", "lines"], 4), (["table.csv"], 2), (["table"], 2)]
)
def test_tables_and_a_given_format_are_read_as_before(folders, arguments, rows):
    assert len(done("predict", "posts.deciban", *arguments).stdout.splitlines()) == rows + 1


def test_in_python_too(folders):
    import deciban

    model = deciban.load("posts.deciban")
    assert model.predict("new.txt").read_all().num_rows == 1
    assert model.predict(["new.txt", "59848"]).read_all().column("class").to_pylist() == ["space", "hockey"]
    assert len(model.explain("new.txt")) == 1
    assert model.predict("new.txt", format="lines").read_all().num_rows == 4
    lines = deciban.train(
        {"text": ["orbit moon", "puck goal"] * 20, "y": ["a", "b"] * 20},
        target="y",
        judge=False,
        roles={"text": "text"},
    )
    assert lines.predict("new.txt").read_all().num_rows == 4


def test_a_file_that_is_not_there_is_named(folders):
    result = call("predict", "posts.deciban", "absent.txt")
    assert result.exit_code == 1
    assert "there is no file 'absent.txt'" in result.stderr
