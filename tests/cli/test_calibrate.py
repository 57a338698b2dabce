"""`--calibrate` on the command line, and its report."""

import json

import pytest

import deciban
from tests.cli.terminal import PATIENTS, call, done, table


@pytest.fixture(scope="module")
def echoes(tmp_path_factory):
    """A column that says the class rather badly, five times over: far too sure of itself."""
    rows = [[v := (7 * i % 10 + 3 * (i % 2)), v, v, v, v, "ab"[i % 2]] for i in range(200)]
    return table(tmp_path_factory.mktemp("data") / "echoes.csv", "p,q,r,s,t,class", rows)


@pytest.mark.parametrize("method", ["auto", "temperature", "platt", "isotonic"])
def test_the_map_is_fitted_written_and_shown(method, echoes, tmp_path):
    out = tmp_path / "m.deciban"
    output = done("train", echoes, "--target", "class", "--calibrate", method, "-o", out).stdout
    model = deciban.load(out)
    assert method in ("auto", model.calibration.method)
    assert f"calibration  {model.calibration.method}: " in output
    assert f"calibrated ({model.calibration.method}) without it too" in " ".join(output.split())
    assert model.calibration.method in done("inspect", out).stdout
    facts = json.loads(done("inspect", out, "--json").stdout)
    assert facts["options"]["calibration"] == str(model.calibration)


def test_programs_get_it_too(echoes, tmp_path):
    arguments = ["train", echoes, "--target", "class", "--json", "-o", tmp_path / "m"]
    assert json.loads(done(*arguments, "--calibrate", "none").stdout)["calibration"] is None
    assert json.loads(done(*arguments, "--calibrate", "platt").stdout)["calibration"].startswith("platt: ")


def test_probabilities_that_are_far_off_bring_a_word_about_calibration(echoes, tmp_path):
    output = done("train", echoes, "--target", "class", "--calibrate", "none", "-o", tmp_path / "m").stdout
    assert "--calibrate auto corrects them" in " ".join(output.split())
    two = tmp_path / "two.csv"
    two.write_text("a,y\n1,u\n2,v\n")
    for path, target in ((PATIENTS, "diagnosis"), (two, "y")):
        output = done("train", path, "--target", target, "-o", tmp_path / "p").stdout
        assert "--calibrate" not in output


def test_where_no_column_tells_anything_the_report_says_so(tmp_path):
    rows = [[i % 2, "ab"[i // 2 % 2]] for i in range(40)]
    data = table(tmp_path / "one.csv", "x,class", rows)
    arguments = ["--as", "x=category", "--calibrate", "auto", "-o", tmp_path / "m"]
    output = done("train", data, "--target", "class", *arguments).stdout
    assert deciban.load(tmp_path / "m").calibration.is_constant
    assert "calibration  no better than guessing" in output
    assert (
        "no better than guessing, so their" in done("compare", data, "--target", "class", "--as", "x=category").stdout
    )


def test_inspect_shows_the_calibration_of_an_estimator(tmp_path):
    X, y = [[float(x % 7)] * 9 for x in range(140)], [int(x % 7 + x % 3 > 4) for x in range(140)]
    deciban.GaussianNB().calibrated(X, y, "platt").save(tmp_path / "m")
    assert "platt: all evidence counts" in done("inspect", tmp_path / "m").stdout


def test_a_calibrated_model_can_be_evaluated_without_being_kept(echoes):
    plain, mended = (
        json.loads(done("evaluate", echoes, "--target", "class", "--json", *more).stdout)
        for more in (["--calibrate", "none"], ["--calibrate", "platt"])
    )
    assert "calibrated (platt) without it too" in mended["measured"]
    assert mended["log_loss"] < plain["log_loss"]
    output = done("evaluate", echoes, "--target", "class", "--calibrate", "platt").stdout
    assert "calibrated (platt) without it too" in " ".join(output.split())


def test_calibrating_what_is_compared_or_trained_already_is_wrong_usage(echoes, tmp_path):
    done("train", echoes, "--target", "class", "-o", tmp_path / "m")
    for arguments in (["--target", "class", "--choose"], ["--model", tmp_path / "m"]):
        result = call("evaluate", echoes, *arguments, "--calibrate", "auto")
        assert result.exit_code == 2
        assert "--calibrate" in result.stderr


def test_an_unknown_method_is_wrong_usage(echoes, tmp_path):
    result = call("train", echoes, "--target", "class", "--calibrate", "magic", "-o", tmp_path / "m")
    assert result.exit_code == 2
    assert "magic" in result.stderr


def test_a_file_is_calibrated_again(tmp_path):
    model, out = tmp_path / "m.deciban", tmp_path / "again.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--no-judge", "-o", model)
    assert call("calibrate", model, PATIENTS).exit_code != 0
    assert deciban.load(model).calibration is None
    assert "calibrated: temperature" in done("calibrate", model, PATIENTS, "--learned", "-o", out).stderr
    assert deciban.load(out).calibration.rows == deciban.load(model).ledger.n_rows
