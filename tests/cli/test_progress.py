"""A progress bar counts what it names, and ends at the number that there is."""

import io
from unittest.mock import patch

import pytest

import deciban
from deciban.cli import error_handling
from deciban.cli.inputs import TableInput
from deciban.cli.mail import mail_inputs
from deciban.cli.mail.commands import run as run_mail
from deciban.sources.source import FileOptions
from tests.cli.mail_commands import mbox
from tests.cli.terminal import PATIENTS


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """The last state of every stage of the bars that are shown: what is done, the number, its name, and the total."""
    stages = []
    make = error_handling.make_progress_bar

    def make_recording_bar():
        bar = make()
        update = bar.update

        def record(task, **values):
            update(task, **values)
            state = bar.tasks[0]
            stage = (state.description, int(state.completed), state.fields["things"], state.total)
            same = stages and stages[-1][0] == stage[0] and stages[-1][1] <= stage[1]
            stages[-1:] = [stage] if same else [*stages[-1:], stage]

        bar.update = record
        return bar

    monkeypatch.setattr(error_handling, "make_progress_bar", make_recording_bar)
    monkeypatch.setattr(mail_inputs, "PROGRESS_SECONDS", 0.0)
    return stages


def on_terminal():
    """A context in which standard error is a terminal; pytest replaces the stream after fixtures."""
    return patch("sys.stderr", Terminal())


def count_rows(doing):
    return error_handling.progress(TableInput([str(PATIENTS)], "patients", None, FileOptions()), doing)


def test_a_table_is_counted_in_rows(shown):
    with on_terminal(), count_rows("learning") as rows:
        deciban.evaluate(PATIENTS, target="diagnosis", progress=rows)
    assert [stage[0:3] for stage in shown] in (
        [("learning", 400, "rows"), ("evaluating", 400, "rows")],
        [("learning", 400, "rows")],  # a second pass in a single batch is not seen to begin
    )


def test_a_comparison_is_counted_in_models(shown):
    with on_terminal(), count_rows("learning") as rows:
        deciban.compare(
            PATIENTS, target="diagnosis", learners=["bayes", "tied"], folds=3, draws=2, sizes=[20, 80], progress=rows
        )
    assert shown[-1] == ("comparing", 2 * (3 + 2 * 2), "models", 2 * (3 + 2 * 2))


def test_a_function_that_counts_rows_is_not_told_of_models():
    numbers = []
    deciban.compare(PATIENTS, target="diagnosis", learners=["bayes"], folds=3, curve=False, progress=numbers.append)
    assert numbers == [400]


@pytest.fixture
def mailbox(tmp_path):
    boxes = {label: mbox(tmp_path / label, label, range(12)) for label in ("ham", "spam")}
    return [word for label, box in boxes.items() for word in (f"--{label}", str(box))]


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (["evaluate", "--folds", "4"], ("classifying", 4, "folds", 4)),
        (["evaluate", "--split", "12/6/6", "--draws", "3"], ("classifying", 3, "draws", 3)),
        (["evaluate", "--online"], ("classifying", 24, "messages", 24)),
    ],
    ids=["folds", "draws", "online"],
)
def test_mail_is_counted_in_what_is_done(shown, mailbox, words, last):
    with on_terminal():
        assert run_mail([*words, *mailbox]) == 0
    assert shown[-1] == last


def test_a_file_of_many_messages_is_not_counted_as_one(shown, tmp_path):
    box, store = str(mbox(tmp_path / "box", "ham", range(7))), str(tmp_path / "mail.db")
    with on_terminal():
        assert run_mail(["learn", "--ham", box, "--store", store]) == 0
        assert shown[-1][:3] == ("learning", 7, "messages")
        assert run_mail(["classify", box, "--store", store]) == 0
    assert shown[-1][:3] == ("classifying", 7, "messages")


def test_a_rate_below_ten_is_not_rounded_to_whole_things():
    assert error_handling.format_rate(0.25, "models") == "0.25 models/s"
    assert error_handling.format_rate(12345.6, "rows") == "12,346 rows/s"
    assert error_handling.format_rate(None, "rows") == error_handling.format_rate(0.0, "rows") == ""
