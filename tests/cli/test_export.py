"""`deciban export`: the files that it writes, and what it refuses."""

import json

import pytest

import deciban
from deciban.cli.export import parse_tokens
from deciban.errors import UsageError
from tests.cli.terminal import EXAMPLES, call, done


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "tennis.deciban"
    deciban.train(EXAMPLES / "tennis.csv", target="play", judge=False).save(path)
    return path


@pytest.mark.parametrize(("target", "start"), [("sql", b"WITH"), ("onnx", b"\x08"), ("js", b"//"), ("json", b"{")])
def test_each_target_is_written_to_a_file(model, target, start, tmp_path):
    path = tmp_path / "out"
    done("export", str(model), "--to", target, "-o", str(path))
    assert path.read_bytes().startswith(start)


def test_a_json_export_predicts_as_a_model_file(model, tmp_path):
    path = tmp_path / "tennis.json"
    done("export", str(model), "--to", "json", "-o", str(path))
    assert json.loads(path.read_text())["target"] == "play"
    rows = str(EXAMPLES / "tennis.csv")
    assert done("predict", str(path), rows, "--proba").stdout == done("predict", str(model), rows, "--proba").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "onnx", "--evidence"], "--evidence is for SQL"),
        (["--to", "js", "--key", "a"], "--key is for SQL"),
        (["--to", "sql", "--classes", "yes,no"], "add --evidence"),
        (["--to", "sql", "--tokens", "words"], "names no text"),
    ],
)
def test_options_without_a_meaning_are_wrong_usage(model, arguments, message):
    result = call("export", str(model), *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_two_tables_for_one_text_are_wrong_usage():
    assert parse_tokens(["a=words", "a=words"], ["a", "b"]) == {"a": "words"}
    with pytest.raises(UsageError, match="--tokens gives a both words and others"):
        parse_tokens(["a=words", "a=others"], ["a", "b"])
