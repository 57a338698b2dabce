"""The words of the source: no private terms in names, docstrings that stand alone, one module for each name."""

import ast
import functools
import re
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "deciban"
MODULES = sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))

PRIVATE_TERMS = frozenset(
    """
    told said heard saying sayings loud loudest voice speaker afresh anew apart settle settled beside honest crossed
    judged dealt desk desks shelf lesson lessons manners bell bells facade facades teller telling belief beliefs
    believed takers
    """.split()  # noqa: SIM905
)
PRIVATE_CLASSES = frozenset({"Later", "Moment", "Letter", "Room"})
BAD_OPENINGS = ("The same", "What", "So many", "Of ")

SHARED_NAMES = {
    "a command and the public function that it calls": {
        "compare", "dependence", "evaluate", "train", "filter", "watch",
    },
    "a picture, the command that draws it, and the figures that it shows": {
        "bayes", "boundary", "comparison", "confusion", "densities", "dependence", "digits", "evidence", "learning",
        "losses", "nomogram", "reliability", "roc", "sigmoid", "telltales",
    },
    "commands of the same name for tables and for mail": {"evaluate", "explain"},
    "a statistic, its kernel, and its leave-one-out": {
        "bags", "counts", "double_double", "grid", "levels", "moments", "scatter", "scorecard", "tallies",
    },
    "the same for the service and for the studio": {"application", "gate", "settings"},
    "the same for a terminal or a picture and for a page": {"render", "style"},
    "a result and the function that computes it": {"learning_curve", "fold_scores"},
}  # fmt: skip
"""Base names that several modules may have, and why."""


@functools.cache
def parse(module):
    return ast.parse((SOURCE / module).read_text())


def defined_names(tree):
    """Yield each name that a module defines, and its line."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno
            arguments = node.args
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                yield argument.arg, argument.lineno
        elif isinstance(node, ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, node.lineno


def parts(name):
    """Split a name at underscores and capitals, in lower case."""
    return {part.lower() for part in re.findall(r"[A-Z]?[^A-Z_]+|[A-Z]+(?![^A-Z_])", name)}


def docstrings(tree):
    """Yield each docstring and its line, those of constants and fields included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", [])
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value, statement.lineno


@pytest.mark.parametrize("module", MODULES)
def test_names_and_docstrings_use_the_terms_of_the_field(module):
    tree = parse(module)
    names = [f"line {line}: {name}" for name, line in defined_names(tree) if parts(name) & PRIVATE_TERMS]
    names += [f"line {line}: {name}" for name, line in defined_names(tree) if name in PRIVATE_CLASSES]
    openings = [f"line {line}: {text[:60]}" for text, line in docstrings(tree) if text.startswith(BAD_OPENINGS)]
    assert not names + openings
    assert not set(Path(module).stem.split("_")) & PRIVATE_TERMS


def test_the_check_finds_what_it_forbids():
    tree = ast.parse('def told_twice(beside):\n    """What is known."""\nclass HonestBell: ...\nmoments = 1')
    found = {name for name, _ in defined_names(tree) if parts(name) & PRIVATE_TERMS}
    assert found == {"told_twice", "HonestBell", "beside"}
    assert [text for text, _ in docstrings(tree) if text.startswith(BAD_OPENINGS)] == ["What is known."]


def test_modules_have_names_of_their_own():
    paths = defaultdict(list)
    for module in MODULES:
        if not module.endswith("__init__.py"):
            paths[Path(module).stem].append(module)
    allowed = set().union(*SHARED_NAMES.values())
    assert {name: found for name, found in paths.items() if len(found) > 1 and name not in allowed} == {}


def number_constants(tree):
    """Yield the name and value of each constant that a module defines as a number, in arithmetic of literals too."""
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name) and target.id.isupper() and node.value is not None:
            names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            operators = (ast.Constant, ast.BinOp, ast.UnaryOp)
            if isinstance(node.value, operators) and not names:
                value = eval(compile(ast.Expression(node.value), "<constant>", "eval"))
                if isinstance(value, (int, float)):
                    yield target.id, value


def test_the_name_of_a_constant_stands_for_one_number():
    values = defaultdict(set)
    for tree in map(parse, MODULES):
        for name, value in number_constants(tree):
            values[name].add(value)
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


@pytest.mark.parametrize("alias", ["Array", "Codes"])
def test_type_aliases_are_defined_once(alias):
    homes = [
        module
        for module in MODULES
        if any(
            isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == alias for t in node.targets)
            for node in parse(module).body
        )
    ]
    assert len(homes) == 1
