"""Bad input gives a short error with a hint, and no file is written."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time

import pytest

from tests.cli.terminal import NEW, PATIENTS, call, done, program, table
from tests.thorough import thorough

DIGITS = [(i * 0.5, i % 3, "nm"[i % 2]) for i in range(60)]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    model = tmp_path_factory.mktemp("model") / "patients.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "-o", model, "--no-judge")
    return model


def refused(folder, *arguments, code=1, stdin=None):
    """The words of a refusal; nothing on stdout, no traceback, no new file."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    result = call(*arguments, stdin=stdin)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    if code == 1:
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) <= 2
    return result.stderr


def refused_training(folder, data, *more, target="y"):
    return refused(folder, "train", data, "--target", target, "-o", folder / "new.deciban", *more)


def test_a_missing_file_is_named_with_one_of_nearly_that_name(tmp_path):
    table(tmp_path / "patients.csv", "a,y", [(1, "n")])
    words = refused_training(tmp_path, tmp_path / "patient.csv")
    assert f"there is no file '{tmp_path / 'patient.csv'}'" in words
    assert f"did you mean '{tmp_path / 'patients.csv'}'?" in words


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.csv").touch()
    assert "is empty. Hint: the first line names the columns" in refused_training(tmp_path, tmp_path / "empty.csv")


def test_a_header_alone(tmp_path):
    data = table(tmp_path / "header.csv", "a,y", [])
    assert "has no rows, only a header" in refused_training(tmp_path, data)


def test_one_class_only(tmp_path):
    data = table(tmp_path / "one.csv", "a,y", [(i % 7, "yes") for i in range(30)])
    words = refused_training(tmp_path, data)
    assert "column 'y' has one class only, 'yes', in all 30 rows" in words
    assert "--classes a,b" in words
    assert "classes=" not in words


def test_a_target_that_is_not_in_the_table(tmp_path):
    words = refused_training(tmp_path, PATIENTS, target="diagnosi")
    assert "has no column 'diagnosi' for the target; did you mean 'diagnosis'?" in words


def test_without_a_target_the_columns_are_shown(tmp_path):
    words = refused(tmp_path, "train", PATIENTS, "-o", tmp_path / "new.deciban", code=2)
    assert "--target COL is missing" in words
    assert "temperature" in words


@pytest.mark.parametrize(("line", "cells"), [("1,2", 2), ("1,2,n,5", 4)])
def test_a_ragged_table_is_refused_with_the_line(tmp_path, line, cells):
    data = table(tmp_path / "ragged.csv", "a,b,y", DIGITS)
    data.write_text(data.read_text() + line + "\n1,2,n\n")
    assert f"is ragged: {cells} cells in line 62 where the header has 3" in refused_training(tmp_path, data)


def test_a_word_among_numbers_that_appears_late_is_refused_with_its_line_and_two_ways_out(tmp_path):
    data = table(tmp_path / "mixed.csv", "a,b,y", [(i * 0.5, i % 3, "nm"[i % 2]) for i in range(30_000)])
    data.write_text(data.read_text() + "twelve,1,n\n")
    words = refused_training(tmp_path, data)
    assert "column 'a'" in words
    assert "holds 'twelve' in line 30002, which is not a number" in words
    assert "--as a=category" in words
    assert "--missing 'twelve'" in words
    assert "1 " in done("train", data, "--target", "y", "--missing", "twelve", "-o", tmp_path / "m.deciban").stdout


def test_words_among_numbers_from_the_start_make_a_category(tmp_path):
    rows = [(i % 5 if i % 3 else "none", "nm"[i % 2]) for i in range(60)]
    shown = done(
        "train", table(tmp_path / "m.csv", "a,y", rows), "--target", "y", "-o", tmp_path / "m.deciban"
    ).stdout
    assert re.search(r"^  a +category", shown, re.MULTILINE)


def test_a_column_without_a_value_is_left_out_and_one_alone_is_refused(tmp_path):
    rows = [("", i % 3, "nm"[i % 2]) for i in range(60)]
    shown = done("train", table(tmp_path / "a.csv", "a,b,y", rows), "--target", "y", "-o", tmp_path / "m").stdout
    assert re.search(r"^  a +skip +no value", shown, re.MULTILINE)
    alone = table(tmp_path / "b.csv", "a,y", [("", "nm"[i % 2]) for i in range(60)])
    assert "no column is left to learn from (a: no value)" in refused_training(tmp_path, alone)


def test_a_table_of_the_target_alone_has_nothing_to_learn_from(tmp_path):
    alone = table(tmp_path / "y.csv", "y", [("nm"[i % 2],) for i in range(60)])
    assert f"'{alone}' has no column to learn from besides 'y'\n" in refused_training(tmp_path, alone)


def test_a_table_without_rows_has_nothing_to_explain_or_draw(tmp_path, trained):
    empty = tmp_path / "empty.csv"
    empty.write_text(PATIENTS.read_text().splitlines()[0] + "\n")
    for command in (["explain"], ["plot", "evidence", "-o", tmp_path / "evidence.svg"]):
        assert refused(tmp_path, *command, trained, empty) == f"error: {empty} has no rows\n"


def test_a_model_in_place_of_a_table_is_refused_as_what_it_is(tmp_path, trained, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(trained, "model.deciban")
    assert "is a model file, not a table" in refused(tmp_path, "train", "model.deciban", "--target", "diagnosis")


def test_an_infinite_number_is_refused_with_column_and_row(tmp_path):
    data = table(tmp_path / "inf.csv", "a,b,y", [*DIGITS, ("inf", 1, "n")])
    words = refused_training(tmp_path, data)
    assert "column 'a' holds inf in row 61, which is not finite" in words
    assert words.endswith("--as a=skip\n")


@pytest.mark.thorough(reason="starts processes, or reads large files: seconds")
def test_a_million_different_values_are_learned_and_the_rare_ones_count_as_one(tmp_path):
    data = tmp_path / "many.csv"
    with data.open("w") as file:
        file.write("name,b,y\n")
        file.writelines(f"n{i},{i % 3},{'nm'[i * 7 % 5 % 2]}\n" for i in range(1_000_000))
    done("train", data, "--target", "y", "--as", "name=category", "--no-judge", "-o", tmp_path / "m.deciban")
    asked = table(tmp_path / "ask.csv", "name,b", [("n17", 1), ("nobody", 2)])
    assert len(done("predict", tmp_path / "m.deciban", asked).stdout.splitlines()) == 3


def test_two_columns_of_one_name(tmp_path):
    data = table(tmp_path / "twice.csv", "a,a,y", DIGITS)
    assert "has two columns named 'a'. Hint: rename one of them" in refused_training(tmp_path, data)


def test_names_in_any_script_and_names_like_options(tmp_path):
    rows = [(i * 0.37 % 11, "pq"[i % 2], "uvw"[i % 3], ["né", "🙂"][i % 2]) for i in range(60)]
    data = table(tmp_path / "größe 🙂.csv", 'größe 🙂,--target,"a,b=c",ÿ', rows)
    model = tmp_path / "m.deciban"
    shown = done("train", data, "--target", "ÿ", "--as", "a,b=c=category", "-o", model).stdout
    assert all(name in shown for name in ("größe 🙂", "--target", "a,b=c", "né", "🙂"))
    predicted = done("predict", model, data, "--keep", "--target").stdout.splitlines()
    assert predicted[0] == "--target,prediction,probability"
    assert predicted[2].startswith("q,🙂,0.9")
    assert "of --target" in done("train", data, "--target", "--target", "-o", model).stdout


def lacking(folder, data=NEW):
    """Patients without their temperatures."""
    cells = [line.split(",") for line in data.read_text().splitlines()]
    path = folder / "lacking.csv"
    path.write_text("\n".join(",".join(row[:3] + row[4:]) for row in cells) + "\n")
    return path


def test_a_column_that_is_missing_when_predicting_is_refused_unless_allowed(tmp_path, trained):
    data = lacking(tmp_path)
    words = refused(tmp_path, "predict", trained, data, "-o", tmp_path / "out.csv")
    assert "has no column 'temperature', which the model needs" in words
    assert "--allow-missing-columns" in words
    assert len(done("predict", trained, data, "--allow-missing-columns").stdout.splitlines()) == 7


def test_a_column_that_is_missing_when_evaluating_is_refused_unless_allowed(tmp_path, trained):
    data = lacking(tmp_path, PATIENTS)
    assert "--allow-missing-columns" in refused(tmp_path, "evaluate", data, "--model", trained)
    printed_output = json.loads(
        done("evaluate", data, "--model", trained, "--allow-missing-columns", "--json").stdout
    )
    guesses = done("predict", trained, data, "--allow-missing-columns").stdout.splitlines()[1:]
    truth = [line.rsplit(",", 1)[1] for line in data.read_text().splitlines()[1:]]
    right = [guess.split(",")[0] == label for guess, label in zip(guesses, truth) if label]
    assert printed_output["accuracy"] == pytest.approx(sum(right) / len(right))


def test_a_word_among_numbers_when_evaluating_points_to_the_training(tmp_path, trained):
    path = tmp_path / "hot.csv"
    path.write_text(PATIENTS.read_text().replace("37.1", "hot"))
    assert "Hint: in training --as" in refused(tmp_path, "evaluate", path, "--model", trained)


def test_hints_are_such_as_a_command_line_can_follow(tmp_path):
    strict, wet = tmp_path / "strict.deciban", tmp_path / "wet.csv"
    done("train", PATIENTS, "--target", "diagnosis", "--unseen", "error", "--no-judge", "-o", strict)
    wet.write_text(PATIENTS.read_text().replace(",dry,", ",wet,"))
    words = refused(tmp_path, "predict", strict, wet, "-o", tmp_path / "out.csv")
    assert "'wet', which was never learned. Hint: train with --unseen ignore" in words
    shares, plague = tmp_path / "shares.deciban", tmp_path / "plague.csv"
    prior = ("--prior", "cold=0.2,flu=0.3,pneumonia=0.5")
    done("train", PATIENTS, "--target", "diagnosis", *prior, "--no-judge", "-o", shares)
    plague.write_text(re.sub(",cold$", ",plague", PATIENTS.read_text(), flags=re.MULTILINE))
    more = refused(tmp_path, "add", shares, plague)
    assert "were given for 3 classes, and now there are 4. Hint: train with --prior empirical" in more
    assert not re.search(r"\w=|\(", (words + more).partition("Hint")[2])


def test_extra_and_reordered_columns_change_nothing(tmp_path, trained):
    cells = [line.split(",") for line in NEW.read_text().splitlines()]
    path = tmp_path / "turned.csv"
    path.write_text("\n".join(",".join([*reversed(row), "extra"]) for row in cells) + "\n")
    assert done("predict", trained, path).stdout == done("predict", trained, NEW).stdout


@pytest.mark.parametrize("keep", [[], ["--keep", "temperature"]])
def test_a_number_that_is_a_word_when_predicting_is_refused(tmp_path, trained, keep):
    path = tmp_path / "hot.csv"
    path.write_text(NEW.read_text().replace("38.7", "hot"))
    words = refused(tmp_path, "predict", trained, path, "-o", tmp_path / "out.csv", *keep)
    assert "column 'temperature'" in words
    assert "holds 'hot'" in words
    assert "which is not a number" in words
    assert "Hint: in training --as" in words or "--as" not in words
    assert "--missing 'hot'" in words
    assert "flu" in done("predict", trained, path, "--missing", "hot", *keep).stdout


def test_a_category_written_in_another_way_gives_a_warning_on_one_line(tmp_path, trained):
    path = tmp_path / "french.csv"
    path.write_text(re.sub(r"\b(yes|no)\b", lambda found: {"yes": "oui", "no": "non"}[found[0]], NEW.read_text()))
    result = done("predict", trained, path)
    lines = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert any("'headache' was seen in training" in line for line in lines)
    assert len(lines) == len(result.stderr.splitlines())
    assert len(result.stdout.splitlines()) == 7


def test_a_model_of_another_target_is_not_mixed_up(tmp_path, trained):
    other = tmp_path / "cough.deciban"
    done("train", PATIENTS, "--target", "cough", "--no-judge", "-o", other)
    out = tmp_path / "both.deciban"
    assert "different targets: 'diagnosis' and 'cough'" in refused(tmp_path, "merge", trained, other, "-o", out)
    assert "has no column 'diagnosis'" in refused(tmp_path, "evaluate", NEW, "--model", trained)
    assert "has no column 'diagnosis'" in refused(tmp_path, "add", trained, NEW, "-o", out)
    words = refused_training(tmp_path, PATIENTS, "--like", trained, target="cough")
    assert "has the target 'diagnosis', not 'cough'" in words


def test_models_that_differ_in_a_role_say_which_column_and_how_they_could_be_merged(tmp_path, trained):
    other = tmp_path / "other.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--as", "age=category", "--no-judge", "-o", other)
    words = refused(tmp_path, "merge", trained, other, "-o", tmp_path / "both.deciban")
    assert "differ in column 'age'" in words
    assert "--like MODEL" in words
    alike = tmp_path / "alike.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--like", trained, "--no-judge", "-o", alike)
    assert "794 rows together" in done("merge", trained, alike, "-o", tmp_path / "both.deciban").stderr


def test_models_of_different_targets_are_refused_without_warnings(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("a,b,c\n" + "x,x,u\ny,y,v\ny,x,u\n" * 40)
    options = ("--structure", "tan", "--calibrate", "temperature", "-o")
    done("train", table, "--target", "c", *options, tmp_path / "one.deciban")
    done("train", table, "--target", "a", *options, tmp_path / "two.deciban")
    words = refused(
        tmp_path, "merge", tmp_path / "one.deciban", tmp_path / "two.deciban", "-o", tmp_path / "m.deciban"
    )
    assert "different targets" in words
    assert "dropped" not in words


def test_a_table_in_place_of_a_model_and_the_other_way_round(tmp_path, trained):
    for arguments in (["predict", NEW, trained], ["inspect", NEW]):
        words = refused(tmp_path, *arguments)
        assert "not a model file" in words
        assert "Hint: MODEL is a file that deciban train writes; DATA comes after it, if at all" in words
    shutil.copy(trained, tmp_path / "m.jsonl")
    for given in (trained, tmp_path / "m.jsonl"):
        words = refused(tmp_path, "evaluate", given, "--target", "diagnosis")
        assert "is a model file, not a table. Hint: deciban evaluate takes it by --model" in words
        assert words.endswith("before DATA\n")
    for command in (["inspect", tmp_path / "none.deciban"], ["predict", tmp_path / "none.deciban", NEW]):
        assert "Hint: deciban train" in refused(tmp_path, *command)


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_read(tmp_path, trained):
    nowhere = tmp_path / "no" / "such" / "m.deciban"
    words = refused(tmp_path, "train", tmp_path / "none.csv", "--target", "y", "-o", nowhere)
    assert "there is no folder" in words
    assert "Hint: -o names another place" in words
    assert "it is a folder" in refused(tmp_path, "train", PATIENTS, "--target", "diagnosis", "-o", tmp_path)
    assert "there is no folder" in refused(tmp_path, "predict", trained, NEW, "-o", tmp_path / "no" / "out.csv")
    assert "it is not an ordinary file" in refused(
        tmp_path, "train", PATIENTS, "--target", "diagnosis", "-o", "/dev/null"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    assert "no permission" in refused(tmp_path, "train", PATIENTS, "--target", "y", "-o", tmp_path / "m.deciban")


def test_what_is_read_is_never_overwritten(tmp_path, trained):
    data = shutil.copy(PATIENTS, tmp_path / "data.csv")
    assert "so it is not overwritten" in refused(tmp_path, "train", data, "--target", "diagnosis", "-o", data)
    assert "so it is not overwritten" in refused(tmp_path, "predict", trained, data, "-o", data)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


def test_a_full_disk_leaves_the_old_file_whole_and_no_part_of_a_new_one(tmp_path, trained):
    old = shutil.copy(trained, tmp_path / "old.deciban")
    whole = old.read_bytes()
    jobs = [
        ("train", PATIENTS, "--target", "diagnosis", "--no-judge", "-o", tmp_path / "new.deciban"),
        ("add", old, PATIENTS),
        *(("predict", trained, PATIENTS, "--all", "-o", tmp_path / f"out.{e}") for e in ("csv", "jsonl", "parquet")),
    ]
    for job in jobs:
        result = program(*job, before=small_files)
        assert result.returncode == 1, (job, result)
        assert result.stderr.startswith("error: cannot write"), result.stderr
        assert "Traceback" not in result.stderr
        assert len(result.stderr.splitlines()) <= 2
        assert [path.name for path in tmp_path.iterdir()] == ["old.deciban"]
        assert old.read_bytes() == whole


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full device")
def test_a_full_disk_behind_stdout_is_noticed(trained):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "deciban.cli.main", "predict", str(trained), str(NEW)]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "error: No space left on device\n"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.csv"
    header, _, rows = PATIENTS.read_text().partition("\n")
    path.write_text(header + "\n" + rows * 2500)
    return path


@pytest.mark.parametrize("delay", [1.0, thorough(1.8, reason="works until it is interrupted: seconds")])
@pytest.mark.parametrize("what", ["train", "predict"])
def test_ctrl_c_ends_with_130_and_leaves_no_file(tmp_path, trained, large, what, delay):
    jobs = {
        "train": ("train", large, "--target", "diagnosis", "-o", tmp_path / "m.deciban"),
        "predict": ("predict", trained, large, "--all", "-o", tmp_path / "out.csv"),
    }
    process = program(*jobs[what], wait=False)
    time.sleep(delay)
    process.send_signal(2)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert err in ("interrupted: no file was written\n", "")
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_where_it_happened(tmp_path):
    result = call("train", tmp_path / "none.csv", "--target", "y", "--debug")
    assert type(result.exception).__name__ == "InputError"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "exactly one table is needed"),
        (["train", PATIENTS, "--sql", "select 1", "--target", "y"], "exactly one table is needed"),
        (["train", PATIENTS, "-", "--target", "y"], "cannot be read together"),
        (["train", PATIENTS, "--target", "diagnosis", "--as", "age"], "is not COL=ROLE"),
        (["train", PATIENTS, "--target", "diagnosis", "--prior", "flu=x"], "is not NAME=NUMBER, as in --prior"),
        (["train", PATIENTS, "--target", "diagnosis", "--numbers", "some"], "--numbers"),
        (["train", PATIENTS, "--target", "diagnosis", "--like", "m", "--alpha", "2"], "so --alpha cannot be given"),
        (["predict", "m", NEW, "-o", "out.xls"], "unknown ending"),
        (["explain", "m", NEW, "--classes", "a"], "two classes are needed"),
        (["explain", "m", NEW, "--row", "0"], "--row"),
        (["evaluate", NEW, "--model", "m", "--target", "y"], "--target is for training"),
        (["evaluate", NEW, "--target", "y", "--allow-missing-columns"], "--allow-missing-columns is for --model"),
        (["merge", "m", "-o", "c"], "two models or more"),
        (["trian"], "train"),
        (["train", "--targt", "y"], "--target"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_what_is_right(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in " ".join(refused(tmp_path, *arguments, code=2).split())


def test_a_folder_replaces_no_column_and_hive_adds_columns(tmp_path, trained):
    """A folder named temperature=41.5 used to set every row's temperature."""
    plain, named = tmp_path / "plain", tmp_path / "temperature=41.5"
    for folder in (plain, named):
        folder.mkdir()
        rows = [(36 + i % 5, "dry", i % 4) for i in range(30)]
        (folder / "n.jsonl").write_text(
            "".join(json.dumps(dict(zip(("temperature", "cough", "days_ill"), row))) + "\n" for row in rows)
        )
    predict = ("predict", trained, "--allow-missing-columns", "--proba")
    assert done(*predict, named / "n.jsonl").stdout == done(*predict, plain / "n.jsonl").stdout
    assert "'temperature' is a column of" in refused(tmp_path, *predict, named / "n.jsonl", "--hive")
    ward = tmp_path / "ward=7"
    shutil.copytree(plain, ward)
    assert done(*predict, ward / "n.jsonl", "--hive", "--keep", "ward").stdout.startswith("ward,")
    assert "--hive is for DATA" in refused(tmp_path, *predict, "--sql", "select 1", "--hive", code=2)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_that_a_format_has_no_place_for_is_refused_in_words(tmp_path, trained, ending):
    import pyarrow as pa

    when = pa.array([2**62] * 3).view(pa.timestamp("s", "Mars/Olympus"))
    data = pa.table({"temperature": [37.0, 38.0, 39.0], "when": when})
    with pa.ipc.new_file(str(tmp_path / "t.arrow"), data.schema) as writer:
        writer.write_table(data)
    words = refused(
        tmp_path, "predict", trained, tmp_path / "t.arrow", "--allow-missing-columns", "--keep", "when", "-o",
        tmp_path / f"out.{ending}",
    )  # fmt: skip
    assert "cannot be written in this format" in words
    assert "--debug" not in words


@pytest.mark.parametrize("words", [
    ["evaluate", "--folds", "loo", "--calibrate", "auto"], ["evaluate", "--folds", "loo", "--groups", "patient"],
    ["evaluate", "--groups", "diagnosis"], ["learning", "--sizes", "9999"], ["train", "--covariance", "mixed"],
    ["train", "--structure", "tan", "--learner", "logistic"], ["train", "--learner", "evidence", "--C", "inf"],
    ["train", "--join", "age"], ["train", "--join", "age,cough"], ["train", "--learner", "boosted", "--C", "1"],
    ["train", "--prior", "flu=0.7,cold=0.7,pneumonia=0.1"], ["train", "--prior", "flu=0.7,gold=0.3"],
])  # fmt: skip
def test_errors_of_commands_have_no_python(tmp_path, words):
    command, *options = words
    more = ["-o", tmp_path / "m"] if command == "train" else []
    result = call(command, PATIENTS, "--target", "diagnosis", *options, *more)
    assert result.exit_code
    assert not re.search(r"\w=['\[{]|\w=\w+[.)]|\(…|\(\.\.\.|[{\[]'", result.stderr), result.stderr


def test_warnings_of_commands_have_no_python(tmp_path):
    model = tmp_path / "m.deciban"
    done("train", PATIENTS, "--target", "diagnosis", "--calibrate", "platt", "-o", model)
    warning = done("add", model, PATIENTS).stderr
    assert "calibration kept: " in warning
    assert "fitted with the rows of then" in warning
    assert not re.search(r"\w=['\[{]|\w=\w+[.)]|\(…|\(\.\.\.|[{\[]'", warning), warning


def test_the_name_of_a_folder_is_no_file_to_write(tmp_path):
    result = call("train", PATIENTS, "--target", "diagnosis", "-o", f"{tmp_path}/models/")
    assert result.exit_code == 1
    assert "is the name of a folder" in result.stderr
    assert not (tmp_path / "models").exists()
