"""Pages of the Python reference: one for each public class and function, generated from docstrings by autodoc."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from deciban.docstrings import parse_entries, split_sections

MODULES = ("deciban", "deciban.plots", "deciban.errors", "deciban.spark")
"""The modules whose names are public."""

OPERATORS = ("__add__", "__sub__", "__mul__", "__getitem__", "__len__", "__iter__")
"""Operators that are documented where a class defines them with a docstring of its own."""

LIBRARY = {"deciban.spark": "pyspark"}
"""Modules that need a library which may be missing; its names are then listed without their inherited methods."""


def list_names(module: str) -> list[str]:
    """Return the public names of a module: its `__all__`, or the classes of exceptions that it defines."""
    found = import_module(module)
    names = getattr(found, "__all__", None) or [n for n in vars(found) if _is_exception(found, n)]
    return sorted(name for name in names if not name.startswith("_"))


def _is_exception(module: ModuleType, name: str) -> bool:
    value = getattr(module, name)
    return isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == module.__name__


def list_methods(cls: type) -> list[str]:
    """Return the public methods of a class, inherited ones included, and its documented operators."""
    methods = [
        name
        for name, value in inspect.getmembers(cls)
        if not name.startswith("_") and inspect.isroutine(value) and callable(value)
    ]
    return methods + [name for name in OPERATORS if _has_own_operator(cls, name)]


def _has_own_operator(cls: type, name: str) -> bool:
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    return owner.__module__.startswith("deciban") and bool(vars(owner)[name].__doc__)


def is_ours(cls: type, method: str) -> bool:
    """Return whether a class inherits a method from deciban, and not from scikit-learn, Spark or Python."""
    value = inspect.getattr_static(cls, method)
    value = getattr(value, "__func__", value)
    return str(getattr(value, "__module__", "")).startswith("deciban")


def make_pages() -> dict[str, str]:
    """Return the pages by file name."""
    pages = {}
    for module in MODULES:
        if find_spec(LIBRARY.get(module, "deciban")) is None:
            continue
        prefix = module.removeprefix("deciban").removeprefix(".")
        if module == "deciban.errors":
            pages["errors.rst"] = make_errors_page()
            continue
        for name in list_names(module):
            value = getattr(import_module(module), name)
            page = "\n".join(describe_class(module, name, value) if isinstance(value, type) else [
                *make_heading(f"{prefix}.{name}" if prefix else name), f".. autofunction:: {module}.{name}", "",
            ])  # fmt: skip
            pages[f"{prefix}.{name}.rst" if prefix else f"{name}.rst"] = page
    return pages


def make_heading(title: str) -> list[str]:
    """Return a title with the line below it."""
    return [title, "=" * len(title), ""]


def describe_class(module: str, name: str, cls: type) -> list[str]:
    """Return the lines of the page of a class: its docstring, attributes, methods, and those of foreign bases."""
    prefix = module.removeprefix("deciban").removeprefix(".")
    lines = [*make_heading(f"{prefix}.{name}" if prefix else name), f".. autoclass:: {module}.{name}", ""]
    attributes = read_attributes(cls)
    lines += ["   .. rubric:: Attributes", ""] if attributes else []
    for attribute, text in attributes.items():
        lines += [f"   .. py:attribute:: {attribute}", "", f"      {text}", ""]
    methods = list_methods(cls)
    lines += ["   .. rubric:: Methods", ""] if methods else []
    for method in methods:
        if is_ours(cls, method):
            lines += [f"   .. automethod:: {method}", ""]
    if foreign := [method for method in methods if not is_ours(cls, method)]:
        lines += ["   .. rubric:: Methods of the base classes of scikit-learn, Spark or Python", ""]
        lines += [line for method in foreign for line in describe_foreign_method(cls, method)]
    return lines


def read_attributes(cls: type) -> dict[str, str]:
    """Return the description of each attribute, from the section of the docstring that entries replace."""
    section = split_sections(cls.__doc__ or "")[1].get("Attributes", "")
    entries = parse_entries(section) if section else {}
    return {name: " ".join(map(str.strip, entry.splitlines()[1:])) for name, entry in entries.items()}


def remove_attributes(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Remove the section of attributes from the docstring of a class, before numpydoc reads it."""
    if what == "class" and lines:
        text, sections = split_sections("\n".join(lines))
        parts = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items() if title != "Attributes"]
        lines[:] = "\n\n".join([text, *parts, ""]).splitlines()


def describe_foreign_method(cls: type, method: str) -> list[str]:
    """Return the entry of a method of another library, with the first sentence of its docstring."""
    value = getattr(cls, method)
    try:
        shown, empty = inspect.signature(value), inspect.Signature.empty
        names = [p.replace(annotation=inspect.Parameter.empty) for p in shown.parameters.values() if p.name != "self"]
        signature = str(shown.replace(parameters=names, return_annotation=empty))
    except (TypeError, ValueError):
        signature = "(…)"
    doc = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ").replace("*", r"\*").replace("`", "'")
    return [f"   .. py:method:: {method}{signature}", "", f"      {doc}", ""]


def make_errors_page() -> str:
    """Return the page of exceptions and warnings."""
    lines = [*make_heading("Errors and warnings"), ".. automodule:: deciban.errors", "   :no-members:", ""]
    for name in list_names("deciban.errors"):
        lines += [f".. autoexception:: deciban.errors.{name}", "   :show-inheritance:", ""]
    return "\n".join(lines)


def iterate_public() -> Iterator[str]:
    """Yield the full name of every public class, function, method and attribute, as the index of the site has it."""
    for module in MODULES:
        if find_spec(LIBRARY.get(module, "deciban")) is not None:
            for name in list_names(module):
                yield f"{module}.{name}"
                value = getattr(import_module(module), name)
                if isinstance(value, type) and module != "deciban.errors":
                    members = [*list_methods(value), *read_attributes(value)]
                    yield from (f"{module}.{name}.{member}" for member in members)
