"""The commands of `deciban`, and the function that runs one of them."""

import sys
from collections.abc import Sequence
from typing import Final

from deciban.cli.command_groups import WRONG_USAGE, CommandEntry, Group, to_help_option
from deciban.cli.error_handling import handle_errors
from deciban.errors import UsageError

GROUP: Final = Group(
    "deciban",
    "Classify by weighing evidence: naive Bayes, Gaussian Bayes and related models.",
    {
        "train": CommandEntry("Learn from a table, write a model file, report on it."),
        "predict": CommandEntry("Predict every row of a table."),
        "explain": CommandEntry("Explain predictions of rows."),
        "evaluate": CommandEntry("Measure the quality of a model, in folds or on other rows."),
        "compare": CommandEntry("Compare learners, and recommend one."),
        "learning": CommandEntry("Measure how much more rows would help.", "compare"),
        "dependence": CommandEntry("Measure how strongly columns depend on each other.", "compare"),
        "inspect": CommandEntry("Show the contents of a model file."),
        "telltales": CommandEntry("Show the words that distinguish classes."),
        "export": CommandEntry("Write a model as SQL, ONNX, JavaScript or JSON."),
        "plot": CommandEntry("Draw data, models, and their quality.", function="GROUP"),
        "diff": CommandEntry("Show the differences between two models.", "inspect"),
        "merge": CommandEntry("Add models up.", "train"),
        "add": CommandEntry("Learn more rows.", "train"),
        "forget": CommandEntry("Unlearn rows.", "train"),
        "calibrate": CommandEntry("Fit the calibration of a model again.", "train"),
        "sample": CommandEntry("Draw rows from a model.", "predict"),
        "serve": CommandEntry("Serve models by HTTP."),
        "studio": CommandEntry("Open pages in a browser: train, look, ask, correct."),
        "bayes": CommandEntry("Explain a test result by Bayes' theorem."),
        "example": CommandEntry("Write a small table or mailbox to try things on."),
        "mail": CommandEntry("Classify mail as spam or ham, as you label it.", "mail.commands", "GROUP"),
        "demo": CommandEntry("See deciban at work on data that needs no download."),
    },
    "  Exit codes: 0 success, 1 error, 2 wrong usage, 130 interrupted, 141 unread.\n"
    "  Begin with: deciban example patients > patients.csv",
    (
        ("-V, --version", "Show the version and exit."),
        ("--install-completion [SHELL]", "Install completion for a shell: bash, zsh, fish or powershell."),
        ("--show-completion [SHELL]", "Show completion for a shell, to copy it."),
    ),
)
"""The commands, in the order of `deciban --help`."""


def run(words: Sequence[str], group: Group = GROUP) -> int:
    """Run the command that the words of a command line name; return its exit code, or raise SystemExit."""
    name, *others = to_help_option(words)
    if group is GROUP and name == "mail":
        from deciban.cli.mail.commands import run as run_mail

        return run_mail(others)
    try:
        if name in ("", "-h", "--help"):
            print(group.format_help(), file=sys.stdout if name else sys.stderr, flush=True)
            return 0 if name else WRONG_USAGE
        if group is GROUP and name in ("-V", "--version", "--install-completion", "--show-completion"):
            return _run_option(name, *others[:1])
        found = group.find(name)
        if isinstance(found, Group):
            return run(others, found)
        values = found.parse(f"{group.name} {name}", others)
        with handle_errors(values.pop("debug")):
            return found.function(**values) or 0
    except UsageError as error:
        group.print_usage_error(name, error)
        return WRONG_USAGE


def _run_option(name: str, shell: str | None = None) -> int:
    """Print the version, or print or install the script of a shell for completion; return the exit code 0."""
    if name in ("-V", "--version"):
        from deciban import __version__

        print(f"deciban {__version__}", flush=True)
    else:
        from deciban.cli.completion import find_shell, install_script

        with handle_errors(debug=False):
            print(find_shell(shell).script if name == "--show-completion" else install_script(shell))
    return 0
