"""Every regular expression of the package, how it is used, and strings that make one slow if anything does."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any, NamedTuple

import deciban
from deciban.errors import MissingExtraError
from tests.timing import least_seconds

METHODS = {"match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split"}
ANCHORED = {"match", "fullmatch"}
BASE_LENGTH, GROWTH, MAX_RATIO, ROUNDS = 4096, 8, 24, 5
NEGLIGIBLE_SECONDS = 0.003
"""Less than this for the longer string is not compared: a quadratic pattern takes a hundred times as long."""
OPTIONAL = {"pyspark", "torch", "triton"}
MAX_SECONDS = 10.0
"""Seconds after which a pattern is taken to be slow without another measurement."""


class Use(NamedTuple):
    """A pattern, where it is defined, and the methods by which the package applies it."""

    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


class TooSlow(Exception):
    """A pattern did not end within the limit."""


def modules() -> Iterator[ModuleType]:
    """All modules of the package, but for those whose optional library is not installed."""
    for found in pkgutil.walk_packages(deciban.__path__, "deciban."):
        if not found.name.endswith("__main__"):
            try:
                module = importlib.import_module(found.name)
            except (MissingExtraError, ModuleNotFoundError) as error:
                if not any(name in str(error) for name in OPTIONAL):
                    raise
            else:
                yield module


def patterns_in(value: object) -> Iterator[re.Pattern[Any]]:
    """A pattern, or those that a container or a class holds."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from patterns_in(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from patterns_in(each)
    elif isinstance(value, type) and value.__module__.startswith("deciban"):
        for each in vars(value).values():
            if isinstance(each, re.Pattern):
                yield each


def is_call_of_re(node: ast.AST) -> bool:
    """Whether a node of a module's source is a call such as re.compile(…) or re.sub(…)."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in METHODS | {"compile"}
    )


def every_use() -> tuple[list[Use], list[str]]:
    """All patterns with their uses, and the places of those that are neither literal nor kept in a module."""
    kept: dict[int, tuple[str, re.Pattern[Any]]] = {}
    literal: list[Use] = []
    methods: dict[int, set[str]] = {}
    unknown: list[str] = []
    for module in modules():
        for name, value in vars(module).items():
            for pattern in patterns_in(value):
                kept.setdefault(id(pattern), (f"{module.__name__}.{name}", pattern))
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        inside = {id(each) for top in tree.body if not _is_definition(top) for each in ast.walk(top)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                for pattern in patterns_in(vars(module).get(_name_of(node.value))):
                    methods.setdefault(id(pattern), set()).add(node.attr)
            if is_call_of_re(node):
                place = f"{module.__name__}:{node.lineno}"
                first = _constant(node.args[0], module)
                if first is None:
                    if id(node) not in inside and not isinstance(node.args[0], ast.Name):
                        unknown.append(place)
                    continue
                if id(node) not in inside or node.func.attr != "compile":
                    how = {"search"} if node.func.attr == "compile" else {node.func.attr}
                    literal.append(Use(place, re.compile(first), frozenset(how)))
    uses = [Use(name, pattern, frozenset(methods.get(key, METHODS))) for key, (name, pattern) in kept.items()]
    return [*uses, *literal], unknown


def _constant(node: ast.expr, module: ModuleType) -> str | bytes | None:
    """The text of a pattern that is a literal or the name of a module's constant; None of anything else."""
    if isinstance(node, ast.Name):
        value = vars(module).get(node.id)
        return value if isinstance(value, str | bytes) else None
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        return _name_of(node.value)
    return ""


def adversarial(pattern: re.Pattern[Any], length: int) -> Iterator[tuple[str, Any]]:
    """Strings of about a length: runs of what a pattern can repeat, after what may stand before, and near misses."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    whole, stops = _sample(tree), _stops(tree)
    units = {whole, whole[:-1], *(prefix for prefix, _ in stops), *(item for _, item in stops)}
    units |= {prefix + item for prefix, item in stops} | {prefix + 2 * item for prefix, item in stops}
    single = sorted({each for unit in units for each in unit} | set(" \n\ta0"))
    units |= set(single) | {one + other for one in single for other in single if len(single) < 12}
    starts = {"", *(prefix for prefix, _ in stops)}
    for unit in sorted(units - {""}):
        for start in sorted(starts):
            run = start + unit * (length // len(unit)) + "\0"
            if isinstance(pattern.pattern, str):
                yield f"{start[:20]!r} + {unit[:20]!r} × n", run
            else:
                yield f"{start[:20]!r} + {unit[:20]!r} × n", run.encode("latin-1", "replace")


def _stops(tree: Any, before: str = "") -> list[tuple[str, str]]:
    """For each repetition: what may stand before it, and what it repeats."""
    found = []
    for op, argument in tree:
        if op in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            item = _sample(argument[2])
            found.append((before, item))
            found += [(before + prefix, inner) for prefix, inner in _stops(argument[2])]
        elif op is constants.SUBPATTERN:
            found += [(before + prefix, inner) for prefix, inner in _stops(argument[3])]
        elif op is constants.ATOMIC_GROUP:
            found += [(before + prefix, inner) for prefix, inner in _stops(argument)]
        elif op is constants.BRANCH:
            found += [(before + prefix, inner) for way in argument[1] for prefix, inner in _stops(way)]
        before += _sample([(op, argument)])
    return found


def _sample(tree: Any) -> str:
    """A short string that a parsed pattern matches, or nearly."""
    text = ""
    for op, argument in tree:
        if op is constants.LITERAL:
            text += chr(argument)
        elif op is constants.NOT_LITERAL:
            text += "b" if argument == ord("a") else "a"
        elif op is constants.ANY:
            text += "a"
        elif op is constants.IN:
            text += _member(argument)
        elif op in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            text += _sample(argument[2]) * max(1, min(argument[0], 8))
        elif op is constants.SUBPATTERN:
            text += _sample(argument[3])
        elif op is constants.ATOMIC_GROUP:
            text += _sample(argument)
        elif op is constants.BRANCH:
            text += _sample(argument[1][0])
    return text


def _member(members: Any) -> str:
    """A character of a class."""
    for char in "a0 \n\t.-_A;:=<>\"'@/%\x80\u4e00":
        if _has(members, char):
            return char
    return next((chr(code) for code in range(0x3000) if _has(members, chr(code))), "a")


def _has(members: Any, char: str) -> bool:
    code, negated, within = ord(char), False, False
    for op, argument in members:
        if op is constants.NEGATE:
            negated = True
        elif op is constants.LITERAL:
            within |= code == argument
        elif op is constants.RANGE:
            within |= argument[0] <= code <= argument[1]
        elif op is constants.CATEGORY:
            name = str(argument).lower()
            kind = (
                char.isdigit()
                if "digit" in name
                else char.isspace()
                if "space" in name
                else char.isalnum() or char == "_"
            )
            within |= kind != ("not" in name)
    return within != negated


def seconds(use: Use, text: Any, rounds: int = ROUNDS) -> float:
    """The least CPU time of some rounds for the package's ways of applying a pattern."""
    apply = [use.pattern.finditer] if use.methods - ANCHORED else [getattr(use.pattern, name) for name in use.methods]

    def scan() -> None:
        for method in apply:
            found = method(text)
            if method.__name__ == "finditer":
                for _ in found:
                    pass

    return least_seconds(scan, 0.0, rounds)


@contextmanager
def with_limit() -> Iterator[None]:
    """A block that is ended by TooSlow when it has taken too long: no timer of CPU time, which coarsens its clock."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def slowest(use: Use) -> str:
    """The string on which a pattern's time grows too fast, if there is one, and how fast."""
    longer = dict(adversarial(use.pattern, GROWTH * BASE_LENGTH))
    for what, text in adversarial(use.pattern, BASE_LENGTH):
        try:
            with with_limit():
                if seconds(use, longer[what], 1) < NEGLIGIBLE_SECONDS:
                    continue
            with with_limit():
                short, long = seconds(use, text), seconds(use, longer[what])
        except TooSlow:
            return f"{what}: more than {MAX_SECONDS:g} s"
        if long > NEGLIGIBLE_SECONDS and long >= MAX_RATIO * short:
            return f"{what}: {short:.6f} s, then {long:.6f} s for {GROWTH} times the input"
    return ""
