"""Pictures of reports on the command line: drawn by the options of the command whose figures they show."""

import matplotlib

matplotlib.use("Agg")

import pytest

import deciban
from deciban.cli.compare import learning
from deciban.cli.evaluate import evaluate
from deciban.cli.parser import without
from deciban.cli.plot import quality_pictures
from deciban.cli.plot.quality_pictures import DECISION_OPTIONS, confusion, reliability, roc
from tests.cli.terminal import PATIENTS, call, done

REPORT_PICTURES = ("confusion", "reliability", "roc")
FIRST = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def refused(*arguments, code=1):
    result = call("plot", *arguments)
    assert result.exit_code == code, result.output
    return result.stderr


@pytest.mark.parametrize(
    ("name", "ending"),
    [("confusion", ".png"), ("reliability", ".svg"), ("roc", ".pdf"), ("learning", ".svg"), ("dependence", ".png")],
)
def test_a_picture_is_written_in_the_kind_its_name_says_and_the_same_bytes_each_time(tmp_path, name, ending):
    one, two = tmp_path / f"one{ending}", tmp_path / f"two{ending}"
    for path in (one, two):
        result = done("plot", name, PATIENTS, "--target", "diagnosis", "-o", path)
        assert result.stderr.startswith(f"{path}: the ")
        assert result.stdout == ""
    assert one.read_bytes().startswith(FIRST[ending])
    assert one.read_bytes() == two.read_bytes()


def arguments(command, *excluded):
    """The arguments of a command, but those that say how figures are shown."""
    return {each.names for each in without(command.arguments, "json", "debug", *excluded)}


@pytest.mark.parametrize("command", [confusion, reliability, roc])
def test_reports_are_drawn_by_all_options_of_evaluate(command):
    assert arguments(evaluate, *DECISION_OPTIONS) <= arguments(command)


def test_learning_curves_are_drawn_by_all_options_of_learning():
    assert arguments(learning) <= arguments(quality_pictures.learning)


def test_what_is_drawn_is_what_evaluate_reports(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "deciban.cli.plot.picture_options.plots.confusion", lambda report: seen.append(report) or _blank()
    )
    options = ["--target", "diagnosis", "--as", "seen=skip", "--numbers", "number", "--folds", "5", "--alpha", "0.5"]
    done("plot", "confusion", PATIENTS, *options, "-o", tmp_path / "a.png")
    settings = {"roles": {"seen": "skip"}, "numbers": "number", "folds": 5, "alpha": 0.5}
    expected = deciban.evaluate(PATIENTS, target="diagnosis", **settings)
    assert seen[0].confusion.tolist() == expected.confusion.tolist()
    assert seen[0].log_loss == expected.log_loss


def _blank():
    from matplotlib import pyplot

    return pyplot.subplots()[1]


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_a_model_is_drawn_on_other_rows_and_two_side_by_side(tmp_path):
    plain, binned = tmp_path / "plain.deciban", tmp_path / "binned.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--numbers", "number", "-o", plain)
    done("train", PATIENTS, "--target", "diagnosis", "--numbers", "binned", "-o", binned)
    out = tmp_path / "a.png"
    for name in REPORT_PICTURES:
        assert "397 rows" in done("plot", name, PATIENTS, "--model", plain, "-o", out).stderr
    both = done("plot", "reliability", PATIENTS, "--model", plain, "--other-model", binned, "-o", out).stderr
    assert "plain.deciban and" in both
    assert both == done("plot", "reliability", PATIENTS, "--model", plain, "--beside", binned, "-o", out).stderr
    assert "--other-model is for --model" in refused(
        "reliability", PATIENTS, "--target", "diagnosis", "--other-model", plain, "-o", out, code=2
    )
    alpha = refused("roc", PATIENTS, "--model", plain, "--alpha", "2", "-o", out, code=2)
    assert "--alpha is for training" in alpha


def test_before_and_after_calibration_are_the_reports_of_training(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "deciban.cli.plot.picture_options.plots.reliability",
        lambda *reports, names: seen.append((reports, names)) or _blank(),
    )
    options = ["--target", "diagnosis", "--calibrate", "temperature", "-o", tmp_path / "a.png"]
    done("plot", "reliability", PATIENTS, *options)
    ((before, after), names) = seen[0]
    assert names == ["uncalibrated", "calibrated (temperature)"]
    assert before.log_loss == deciban.train(PATIENTS, target="diagnosis", calibrate="none").held_out.log_loss
    expected = deciban.train(PATIENTS, target="diagnosis", calibrate="temperature").held_out
    assert after.reliability.hits.tolist() == pytest.approx(expected.reliability.hits.tolist(), nan_ok=True)
    assert "--folds cannot be given" in refused("reliability", PATIENTS, *options, "--folds", "5", code=2)
    for structure in ("naive", "tan"):  # at least one is not the default
        done("plot", "reliability", PATIENTS, *options, "--structure", structure)
        expected = deciban.train(PATIENTS, target="diagnosis", structure=structure, calibrate="none").held_out
        assert seen[-1][0][0].log_loss == expected.log_loss


@pytest.mark.parametrize("name", [*REPORT_PICTURES, "learning", "dependence"])
def test_what_cannot_be_drawn_or_written_is_refused_before_anything_is_read(tmp_path, name):
    target = ["--target", "diagnosis"]
    assert "unknown kind of picture" in refused(name, PATIENTS, *target, "-o", "a.gif", code=2)
    assert "there is no folder" in refused(name, PATIENTS, *target, "-o", tmp_path / "not" / "there.png")
    out = tmp_path / "a.png"
    assert "diagnosys" in refused(name, PATIENTS, "--target", "diagnosys", "-o", out)
    assert "exactly one table is needed" in refused(name, *target, "-o", out, code=2)
    assert not out.exists()


def test_the_figure_of_a_learning_curve_is_chosen(tmp_path):
    options = ["--target", "diagnosis", "--sizes", "50,100", "--flipped", "0,0.3", "-o", tmp_path / "a.svg"]
    assert "the log-loss of 4 models" in done("plot", "learning", PATIENTS, *options, "--figure", "log-loss").stderr
    assert "log-loss on" in (tmp_path / "a.svg").read_text()
    assert "numbers between commas" in refused("learning", PATIENTS, *options, "--flipped", "many", code=2)
