"""`deciban mail evaluate`: three methods, as text and as JSON; invalid options are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .test_filter import HAM, SPAM, make_messages


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("mail")
    ham = make_messages(HAM + SPAM[:3], 60, 0, "aunt@home.example")
    spam = make_messages(SPAM + HAM[:3], 40, 1, "x@win.example")
    for folder, raws in (("ham", ham), ("spam", [*spam, spam[0]])):
        (place / folder).mkdir()
        for i, raw in enumerate(raws):
            (place / folder / f"{i:03}.eml").write_bytes(raw)
    return place


def run(mail: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = ["--ham", str(mail / "ham"), "--spam", str(mail / "spam")]
    command = [sys.executable, "-m", "deciban.cli.main", "mail", "evaluate", *paths, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_lectures_experiment_for_people(mail: Path) -> None:
    done = run(mail, "--split", "60/20/20")
    assert done.returncode == 0, done.stderr
    assert "60 messages learned, 20 to choose by, 20 to test on" in done.stdout
    assert "1 of 101 messages are there more than once" in done.stderr
    for word in ("smoothing", "called ham", "errors", "1 − AUC"):
        assert word in done.stdout


@pytest.mark.thorough(reason="learns and classifies many messages: seconds")
def test_methods_of_evaluation_as_json(mail: Path) -> None:
    split = json.loads(run(mail, "--split", "60/20/20", "--model", "bayes", "--seed", "3", "--json").stdout)
    assert (split["messages"], split["ham"], split["model"], split["seed"]) == (20, 12, "bayes", 3)
    draws = json.loads(run(mail, "--split", "40/10/20", "--draws", "2", "--json").stdout)
    assert [draw["seed"] for draw in draws["each"]] == [0, 1]
    online = json.loads(run(mail, "--online", "--order", "name", "--json").stdout)
    assert (online["messages"], online["curve"][-1]["upto"]) == (100, 100)
    folds = json.loads(run(mail, "--folds", "3", "--model", "fisher", "--json").stdout)
    assert (folds["folds"], folds["ham"], folds["spam"]) == (3, 60, 40)


@pytest.mark.parametrize(
    ("wish", "code", "reason"),
    [
        (("--split", "60/20"), 2, "400/50/50"),
        (("--split", "60/20/20", "--online"), 2, "different methods"),
        (("--draws", "3"), 2, "--split"),
        (("--order", "name"), 2, "--online"),
        (("--split", "600/20/20"), 1, "needs"),
        (("--online",), 1, "--order name"),
    ],
    ids=["no split", "two ways", "draws", "order", "too many", "undated"],
)
def test_invalid_options_are_refused_with_a_hint(mail: Path, wish: tuple[str, ...], code: int, reason: str) -> None:
    done = run(mail, *wish)
    assert done.returncode == code
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_an_evaluation_without_messages_is_refused(tmp_path: Path) -> None:
    for name in ("ham", "spam"):
        (tmp_path / name).write_bytes(b"")
    done = run(tmp_path, "--online", "--order", "name")
    assert done.returncode == 1
    assert "there are no messages to evaluate on" in done.stderr
    assert "Traceback" not in done.stderr
