"""`deciban dependence` and `--join` in a terminal."""

import csv
import json
import re
import shlex

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


def next_command(*arguments, stdin=None):
    """The command that `deciban dependence` proposes, as words."""
    lines = done("dependence", *arguments, "--target", "class", stdin=stdin).stdout.splitlines()
    return shlex.split(next(line for line in lines if line.startswith("  deciban ")))


def test_the_command_to_try_has_the_options_that_were_given_and_reads_the_same_data(table):
    table.write_text(table.read_text().replace("a,", "größe,", 1), encoding="latin-1")
    given = ("--as", "both=skip", "--encoding", "latin-1")
    learned = ["--target", "class", "--as", "both=skip", "--join", 'größe,"b, or so"', "--structure", "naive"]
    command = next_command(table, *given)
    assert command == ["deciban", "evaluate", str(table), *learned, "--encoding", "latin-1"]
    assert json.loads(done(*command[1:], "--json").stdout)["log_loss"] < 0.1
    piped = next_command("-", *given, stdin=table.read_bytes())
    assert piped == ["deciban", "evaluate", "-", *learned, "--encoding", "latin-1"]
    query = f"""select größe, "b, or so", class from read_csv('{table}', encoding='latin-1')"""
    learned = ["--target", "class", "--join", 'größe,"b, or so"', "--structure", "naive"]
    assert next_command("--sql", query) == ["deciban", "evaluate", "--sql", query, *learned]


def test_a_date_is_skipped_where_all_its_parts_repeat_others(tmp_path):
    days = np.datetime64("2024-01-01") + np.arange(600)
    rows = [f"{day},{day},{label}" for day, label in zip(days, np.random.default_rng(0).choice(["a", "b"], 600))]
    (tmp_path / "t.csv").write_text("\n".join(["first day,last day,class", *rows]))
    found = json.loads(
        done("dependence", tmp_path / "t.csv", "--target", "class", "--as", "last day=date", "--json").stdout
    )
    parts = [f"{day}.{part}" for day in ("first day", "last day") for part in ("month", "weekday")]
    assert [feature["feature"] for feature in found["features"]] == parts  # as in training: all have one hour
    command = next_command(tmp_path / "t.csv", "--as", "last day=date")
    assert command[3:] == ["--target", "class", "--as", "last day=skip", "--structure", "naive"]
    done(*command[1:])


def test_dates_without_a_part_that_varies_are_no_features(tmp_path):
    rows = [f"2024-01-01,2024-01-01,{'xy'[i % 2]}" for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,class", *rows]))
    dates = ("--as", "a=date", "--as", "b=date")
    assert "has 0 besides 'class'" in call("dependence", tmp_path / "t.csv", "--target", "class", *dates).stderr


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
