"""Docstrings in numpydoc's form, completed where the object is defined: what several objects share is written once.

A class or function that is decorated by `document` has the sections Parameters, with an entry for each parameter of
its signature, and Attributes, with an entry for each public property. An entry comes from the docstring itself, from
a text of shared entries, or from the docstring of the property. As entries name the types, the signature that help
shows has names and defaults alone; annotations stay where they are.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")

SECTION_HEADING = re.compile(r"^(\w+)\n-{3,}\n", flags=re.MULTILINE)
"""A section's title, underlined."""

SECTIONS = ("Parameters", "Returns", "Attributes", "Examples")
"""The sections of a docstring, in their order."""


def document(*shared: str, attributes: str = "", only: str = "") -> Callable[[T], T]:
    """Return a decorator that completes the docstring of a class or function.

    `shared` are texts with entries of parameters, `attributes` is one with entries of attributes that are no
    properties; of the properties those are listed whose names end with `only`.
    """

    def complete(documented: T) -> T:
        if documented.__doc__:  # there is none under python -OO
            signature = _make_readable_signature(documented)
            documented.__doc__ = _complete_docstring(documented, name_parameters(signature), shared, attributes, only)
            documented.__signature__ = signature  # type: ignore[attr-defined]
            _simplify_constructor(documented, signature)
        return documented

    return complete


def _complete_docstring(
    documented: Any, names: Sequence[str], shared: Iterable[str], attributes: str, only: str
) -> str:
    """Return the docstring with all sections; a parameter without a description is left out."""
    text, sections = split_sections(documented.__doc__)
    entries: dict[str, str] = {}
    for part in (*shared, sections.get("Parameters", "")):
        entries |= parse_entries(part)
    sections["Parameters"] = "\n".join(dict.fromkeys(entries[name] for name in names if name in entries))
    if isinstance(documented, type):
        own = parse_entries(attributes) | parse_entries(sections.get("Attributes", ""))
        sections["Attributes"] = "\n".join((own | _property_entries(documented, only, {*own, *names})).values())
    parts = [f"{title}\n{'-' * len(title)}\n{sections[title]}" for title in SECTIONS if sections.get(title)]
    return "\n\n".join([text, *parts]) + "\n"


def _simplify_constructor(documented: Any, signature: inspect.Signature) -> None:
    """Give a class's own constructor, if it has one, this signature too.

    Help would show a dataclass's types in full length.
    """
    if isinstance(documented, type) and "__init__" in vars(documented):
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        constructor: Any = vars(documented)["__init__"]
        constructor.__signature__ = inspect.Signature([first, *signature.parameters.values()])


def _make_readable_signature(documented: Any) -> inspect.Signature:
    """Return the signature without annotations, and with the values of default factories."""
    factories = {f.name: f.default_factory for f in fields(documented)} if is_dataclass(documented) else {}
    empty, parameters = inspect.Parameter.empty, []
    for name, parameter in inspect.signature(documented).parameters.items():
        factory: Any = factories.get(name, MISSING)
        default = parameter.default if factory is MISSING else factory()
        parameters.append(parameter.replace(annotation=empty, default=default))
    return inspect.Signature(parameters)


def split_sections(docstring: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section, and the text of each section by its title.

    >>> split_sections("Add two.\\n\\nParameters\\n----------\\na : int\\n    A number.\\n")
    ('Add two.', {'Parameters': 'a : int\\n    A number.'})
    """
    text, *parts = SECTION_HEADING.split(inspect.cleandoc(docstring))
    return text.strip(), {title: body.strip("\n") for title, body in zip(parts[::2], parts[1::2])}


def parse_entries(section: str) -> dict[str, str]:
    """Return the entries of a section by name; several names that are separated by commas share one.

    >>> list(parse_entries("a, b : int\\n    Two numbers.\\n**more\\n    Others."))
    ['a', 'b', '**more']
    """
    found = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        for name in filter(None, re.split(r",\s*", entry.split("\n")[0].split(" :")[0])):
            found[name.strip()] = entry
    return found


def name_parameters(signature: inspect.Signature) -> list[str]:
    """Return the parameters of a signature as numpydoc names them: with the stars of *args and **settings."""
    stars: Mapping[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(parameter.kind, "") + parameter.name for parameter in signature.parameters.values()]


def _property_entries(documented: type, only: str, known: set[str]) -> dict[str, str]:
    """Return an entry for each public property that is not known yet: its name and the summary of its docstring."""
    members = {name: value for cls in reversed(documented.__mro__) for name, value in vars(cls).items()}
    found = {}
    for name, value in sorted(members.items()):
        getter = getattr(value, "fget", None) or getattr(value, "func", None)  # of a property, or a cached one
        if getter and getter.__doc__ and not name.startswith("_") and name.endswith(only) and name not in known:
            found[name] = f"{name}\n    {getter.__doc__.strip().splitlines()[0]}"
    return found
