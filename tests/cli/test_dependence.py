"""`deciban dependence` and `--join` in a terminal."""

import csv
import json
import re

import numpy as np
import pytest

from tests.cli.terminal import call, done


@pytest.fixture
def table(tmp_path):
    """Two columns that tell the class only together, one of them with a comma in its name; and one that copies."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 300))
    rows = zip(np.where(a, "x", "y"), np.where(b, "u", "v"), a + 10 * b, np.where(a ^ b, "odd", "even"))
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b, or so", "both", "class"])
        writer.writerows(rows)
    return path


def test_it_shows_pairs_and_the_command_to_try(table):
    message = done("dependence", table, "--target", "class", "--as", "both=skip").output
    assert re.search(r"a, b, or so +\d\.\d\d ± \d\.\d\d +-?0\.\d\d  < 0\.001", message)
    assert "join a, b, or so" in message
    command = next(line for line in message.splitlines() if line.strip().startswith("deciban evaluate"))
    assert "--join 'a,\"b, or so\"'" in command


def test_the_figures_as_json(table):
    found = json.loads(done("dependence", table, "--target", "class", "--json").stdout)
    assert found["unit"] == "decibans a row"
    assert [feature["feature"] for feature in found["features"]] == ["a", "b, or so", "both"]
    assert len(found["pairs"]) == 3
    assert {"conditional", "marginal", "p_value", "double_counted", "gain", "action"} <= found["pairs"][0].keys()


def test_joined_columns_are_learned_predicted_explained_and_evaluated(table, tmp_path):
    options = ("--target", "class", "--as", "both=skip", "--join", 'a,"b, or so"')
    separate = json.loads(done("evaluate", table, *options[:4], "--structure", "naive", "--json").stdout)
    joined = json.loads(done("evaluate", table, *options, "--json").stdout)
    assert joined["log_loss"] < 0.1 < separate["log_loss"]
    model = tmp_path / "m.deciban"
    message = done("train", table, *options, "-o", model).output
    assert "joined with b, or so" in message
    assert "a & b, or so = " in done("explain", model, table, "--rows", "1").output
    assert "joined with a" in done("inspect", model).output
    assert done("predict", model, table).output.count("odd") > 100
    other = tmp_path / "n.deciban"
    done("train", table, *options[:4], "-o", other)
    assert "columns that are modelled jointly" in done("diff", model, other).output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "--join", "a"], "joins two columns or more"),
        (["train", "--join", "a,c"], "'c' is to be joined, and is not a column to learn from"),
        (["train", "--join", "a,both", "--as", "both=number"], "are of different kinds"),
        (["dependence", "--as", "both=skip", "--as", "a=skip"], "needs 2 to 1000 features"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, words, table):
    name, *options = arguments
    result = call(name, table, "--target", "class", *options)
    assert result.exit_code == 1
    assert words in " ".join(result.stderr.split())


def test_a_target_must_be_named(table):
    result = call("dependence", table)
    assert result.exit_code == 2
    assert "which column is to be predicted" in " ".join(result.stderr.split())
