"""The generated reference has every public name, method, command and option, and examples that are executed."""

import importlib
import inspect
import re

import pytest

import deciban
from deciban.cli.app import GROUP
from tests.docs.site import DOCS, import_from_docs

commands = import_from_docs("sphinx_pages.commands")
links = import_from_docs("sphinx_pages.links")
project_files = import_from_docs("sphinx_pages.project_files")
python_api = import_from_docs("sphinx_pages.python_api")

COMMAND_PAGES = commands.make_pages((DOCS / "cli.md").read_text())
API_PAGES = python_api.make_pages()
NAMES = sorted(set(deciban.__all__) - {"__version__"})
CLASS_EXAMPLES = {"Choice", "Comparison", "Dependence", "Explanation", "LearningCurve", "MailFilter", "Model"}
"""Classes whose own example shows their methods."""

PLOTS = [f"plots.{name}" for name in python_api.list_names("deciban.plots")]


def find(name):
    module, _, name = f"deciban.{name}".rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_page_with_all_its_public_methods(name):
    page, value = API_PAGES[f"{name}.rst"], getattr(deciban, name)
    assert f":: deciban.{name}\n" in page
    if inspect.isclass(value):
        methods = [each for each in dir(value) if not each.startswith("_") and callable(getattr(value, each, None))]
        listed = re.findall(r"(?:automethod|py:method):: (\w+)", page)
        assert set(methods) - {c for c in methods if isinstance(getattr(value, c), type)} <= set(listed)


@pytest.mark.parametrize("name", [*NAMES, *PLOTS])
def test_every_public_class_and_function_has_an_example(name):
    """The example itself is run as a doctest of its module."""
    assert ">>> " in inspect.getdoc(find(name))


@pytest.mark.parametrize("name", sorted(set(NAMES) - CLASS_EXAMPLES))
def test_every_method_has_an_example(name):
    """Methods that only raise an error, as there is no such quantity, have none."""
    cls = getattr(deciban, name)
    methods = [m for m in python_api.list_methods(cls) if python_api.is_ours(cls, m)] if inspect.isclass(cls) else []
    docs = {method: inspect.getdoc(getattr(cls, method)) for method in methods}
    assert not [m for m, doc in docs.items() if ">>> " not in doc and not doc.startswith("Raise UndefinedError")]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_listed_in_the_overview(name):
    assert re.search(
        rf"(^   |`deciban\.){name}\b", (DOCS / "reference" / "python.md").read_text(), flags=re.MULTILINE
    )


@pytest.mark.parametrize("name", [name for name, _ in commands.iterate_commands()])
def test_every_command_has_a_page_with_all_its_options(name):
    page = COMMAND_PAGES[commands.to_file(name)]
    assert page.startswith(f"# deciban {name}\n")
    command = dict(commands.iterate_commands())[name]
    for option in getattr(command, "option_names", ()):
        assert re.search(rf"^```{{option}} .*(?<![\w-]){option}\b", page, flags=re.MULTILINE), option
    for argument in getattr(command, "arguments", ()):
        if not argument.is_option:
            assert f"\n{commands.escape(argument.settings['metavar'])}\n: " in page


def test_the_commands_are_those_of_the_parser():
    assert {name for name, _ in commands.iterate_commands()} >= set(GROUP.commands)
    assert "mail learn" in dict(commands.iterate_commands())


def test_a_command_without_a_chapter_is_refused():
    with pytest.raises(LookupError, match=r"no chapter for .*'train'"):
        commands.make_pages("# The command line\n\n## predict\n\nText.\n")


def test_links_to_the_command_line_lead_to_the_page_of_the_command():
    text = "[a](../cli.md#mail-learn), [b](cli.md), [c](../../CHANGELOG.md), [d](../maths.md#evidence)"
    assert links.redirect(text) == (
        "[a](../reference/commands/mail-learn.md), [b](reference/commands/index.md), [c](/project/changelog.md), "
        "[d](../maths.md#evidence)"
    )


@pytest.mark.parametrize("page", [*COMMAND_PAGES])
def test_links_of_command_pages_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#\s]+)", COMMAND_PAGES[page]):
        if not link.startswith("http"):
            target = (DOCS / "reference" / "commands" / link).resolve()
            assert link in COMMAND_PAGES or target.exists(), link


def test_the_guide_to_reports_names_what_a_report_has():
    rows = re.findall(r"^\| (`.*?) \| ", (DOCS / "guides" / "report.md").read_text(), flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"(?<=`)\w+(?=[`(])", row)}
    assert {"accuracy", "decision_costs", "threshold"} <= named
    fields = [name for parent in deciban.Report.__mro__ for name in inspect.get_annotations(parent)]
    assert named <= {*dir(deciban.Report), *fields}
