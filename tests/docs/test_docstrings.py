"""The docstrings of public classes and functions: numpydoc sections that name precisely what the objects have."""

import inspect
import pydoc
import re

import pytest

import deciban

NAMES = sorted(set(deciban.__all__) - {"__version__"})
CLASSES = [name for name in NAMES if inspect.isclass(getattr(deciban, name))]
FUNCTIONS = sorted(set(NAMES) - set(CLASSES))
SECTIONS = {"Parameters", "Returns", "Attributes", "Examples"}


def sections(thing):
    """The lines of each section, by its title; a heading is a line that is underlined by as many dashes."""
    found, title = {"": []}, ""
    lines = inspect.getdoc(thing).splitlines()
    for line, below in zip(lines, [*lines[1:], ""]):
        if below and set(below) == {"-"} and len(below) == len(line):
            title = line
            found[title] = []
        elif not (line and set(line) == {"-"}):
            found[title].append(line)
    return found


def entries(lines):
    """Each entry's names, and its description."""
    found = {}
    for line in lines:
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
            found |= {name: [] for name in names}
            last = names
        elif line.strip():
            for name in last:
                found[name].append(line.strip())
    return found


def parameters(thing):
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(p.kind, "") + p.name for p in inspect.signature(thing).parameters.values()]


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_are_those_of_the_signature(name):
    thing = getattr(deciban, name)
    found = sections(thing)
    assert set(found) - {""} <= SECTIONS
    described = entries(found.get("Parameters", []))
    assert list(described) == parameters(thing)
    assert all(text and text[-1].endswith((".", "…")) for text in described.values()), described


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_say_what_they_return(name):
    found = sections(getattr(deciban, name))
    assert found["Returns"]
    assert not found.get("Attributes")


@pytest.mark.parametrize("name", CLASSES)
def test_the_attributes_are_the_public_properties(name):
    cls = getattr(deciban, name)
    found = entries(sections(cls).get("Attributes", []))
    properties = {
        each
        for each in dir(cls)
        if not each.startswith("_") and hasattr(inspect.getattr_static(cls, each), "__get__")
        and not callable(inspect.getattr_static(cls, each))
        and not isinstance(inspect.getattr_static(cls, each), (classmethod, staticmethod))
    }  # fmt: skip
    is_estimator = hasattr(cls, "fit")
    expected = {each for each in properties if each.endswith("_") or not is_estimator} - set(parameters(cls))
    if is_estimator:
        expected |= {"classes_", "n_features_in_", "feature_names_in_"}
    if cls is deciban.ParameterCount:
        expected = set()  # its fields are its parameters
    assert set(found) == expected
    assert all(found.values())


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_method_has_a_docstring(name):
    cls = getattr(deciban, name)
    bare = [
        each
        for each, method in inspect.getmembers(cls, inspect.isroutine)
        if not each.startswith("_") and not inspect.getdoc(method)
    ]
    assert not bare


@pytest.mark.parametrize("name", NAMES)
def test_help_reads_well(name):
    thing = getattr(deciban, name)
    shown = str(inspect.signature(thing))
    assert not re.search(r"<factory>|typing\.|numpy\.|deciban\.|->|'\w+ \|", shown), shown
    assert f"{name}{shown}" in pydoc.plain(pydoc.render_doc(thing))
    assert all(len(line) <= 118 for line in inspect.getdoc(thing).splitlines())


def test_shared_descriptions_are_used():
    """Every description of an estimator's argument belongs to an argument of a public estimator."""
    from dataclasses import fields

    from deciban.estimators.parameter_docs import DESCRIPTIONS

    estimators = [getattr(deciban, name) for name in CLASSES if hasattr(getattr(deciban, name), "fit")]
    assert set(DESCRIPTIONS) == {field.name for estimator in estimators for field in fields(estimator)}


@pytest.mark.parametrize("name", CLASSES)
def test_help_shows_the_constructor_without_types_in_full_length(name):
    shown = pydoc.plain(pydoc.render_doc(getattr(deciban, name)))
    found = re.findall(r"^ \|  __init__\((.*)\)", shown, flags=re.MULTILINE)
    assert not [text for text in found if "numpy." in text or "<factory>" in text or "collections." in text]
