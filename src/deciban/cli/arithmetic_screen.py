"""Parameters and arithmetic of a model on the screen, as a textbook prints them: a column for each class."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from deciban._typing import Array
from deciban.cli.render import MAX_NAME_WIDTH, Screen, shorten, to_one_line
from deciban.formatting import format_count, format_decimal, format_number, format_power, format_probability

if TYPE_CHECKING:
    from deciban.model.parameter_tables import ParameterTable
    from deciban.model.posterior_arithmetic import Factor, PosteriorArithmetic

MAX_CLASS_WIDTH = 20
"""The characters of a class that are shown."""

MAX_SHOWN_CLASSES = 12
"""The number of classes up to which the arithmetic of all is printed; of more, the most probable ones."""

QUOTIENT = re.compile(r"[\d.]+/[\d.]+")
"""A factor that is a quotient of counts."""

Line = tuple[str, Sequence[str]]
"""A name, and the text of each class."""


def show_parameters(title: str, table: ParameterTable) -> None:
    """Print the parameters of a column."""
    out = Screen()
    out.print_title(title)
    for section in table.sections():
        out.print_heading(section.title)
        print_by_class(out, table.classes, section.lines)
    for note in table.notes:
        out.print()
        out.print_line(note)


def print_by_class(out: Screen, classes: Sequence[object], lines: Sequence[Line]) -> None:
    """Print lines with a column for each class; if the screen is too narrow for all, in several tables."""
    heads = [shorten(str(label), MAX_CLASS_WIDTH) for label in classes]
    widths = [max(map(cell_len, [head, *(cells[k] for _, cells in lines)])) + 2 for k, head in enumerate(heads)]
    name_width = min(max((cell_len(to_one_line(name)) for name, _ in lines), default=0), MAX_NAME_WIDTH)
    for number, group in enumerate(_group_columns(widths, out.width - name_width - 4)):
        if number:
            out.print()
        body = [[name, *(cells[k] for k in group)] for name, cells in lines]
        out.print_table(["", *(heads[k] for k in group)], body, right=range(1, len(group) + 1))


def _group_columns(widths: Sequence[int], available: int) -> Iterator[list[int]]:
    """Yield columns in groups that fit the available width, at least one in each."""
    group: list[int] = []
    for k, width in enumerate(widths):
        if group and sum(widths[i] for i in group) + width > available:
            yield group
            group = []
        group.append(k)
    if group:
        yield group


def show_arithmetic(out: Screen, work: PosteriorArithmetic) -> None:
    """Print the factors of every class, or of the most probable of many, their products, and the probabilities."""
    shown = np.argsort(-work.log_products, kind="stable")[:MAX_SHOWN_CLASSES].tolist()
    shown = shown if len(work.classes) > MAX_SHOWN_CLASSES else sorted(shown)
    names = {k: shorten(str(work.classes[k]), MAX_CLASS_WIDTH) for k in shown}
    lines = [(f.what, [_format_factor(f, k, work.needs_logarithms) for k in shown]) for f in work.factors]
    print_by_class(out, list(names.values()), lines)
    if any(factor.what.startswith(f"{factor.column}, given ") for factor in work.factors):
        out.print_line("given: the probability of the cell given the other column's, divided by that without it")
    out.print()
    for k, name in names.items():
        product = " · ".join(_format_short(factor, k) for factor in work.factors)
        out.print_line(f"{name}: {product} = {format_power(work.log_products[k])}")
    out.print()
    if work.is_impossible:
        out.print_line("The row is impossible in every class, so its probabilities are the prior.")
    elif work.needs_logarithms:
        _show_logarithms(out, work, names)
    else:
        _show_quotients(out, np.exp(work.log_products), work, names)
    if work.calibration is not None:
        texts = _format_probabilities(work.predicted, work.log_products)
        predicted = ", ".join(f"{name} {texts[k]}" for k, name in names.items())
        out.print_line(f"calibrated ({work.calibration}): {predicted}")


def _show_quotients(out: Screen, products: Array, work: PosteriorArithmetic, names: Mapping[int, str]) -> None:
    """Print each product divided by the sum of all."""
    terms, total = [format_decimal(products[k]) for k in names], format_decimal(math.fsum(products))
    if len(products) > len(names):
        others = math.fsum(products) - math.fsum(products[list(names)])
        n_others = format_count(len(products) - len(names), "other class")
        terms.append(f"{format_decimal(max(others, 0.0))} ({n_others})")
    out.print_line(f"sum: {' + '.join(terms)} = {total}")
    texts = _format_probabilities(work.probability, work.log_products)
    for (k, name), product in zip(names.items(), terms):
        out.print_line(f"p({name} | x) = {product} / {total} = {texts[k]}")


def _show_logarithms(out: Screen, work: PosteriorArithmetic, names: Mapping[int, str]) -> None:
    """Print each product as the sum of its logarithms, and the quotients of the products by the largest one."""
    out.print_line("The products are too small for a computer's numbers, so their logarithms are added:")
    logs, largest = work.log_products, float(work.log_products.max())
    for k, name in names.items():
        terms = " ".join(_format_term(float(factor.logs[k]), first=i == 0) for i, factor in enumerate(work.factors))
        out.print_line(f"ln {name}: {terms} = {format_number(float(logs[k]), 2)}")
    out.print_line(f"each less the largest, {format_number(largest, 2)}, and as a power of e:")
    for k, name in names.items():
        below = float(logs[k]) - largest
        out.print_line(f"{name}: e^({format_number(below, 2)}) = {format_power(below)}")
    _show_quotients(out, np.exp(logs - largest), work, names)


def _format_factor(factor: Factor, k: int, with_logarithm: bool) -> str:
    """Format a factor of class k: its formula, its value, and perhaps its logarithm."""
    formula, value = factor.formulas[k], format_power(factor.logs[k])
    text = value if formula == value else f"{formula} = {value}"
    return f"{text}, ln {format_number(float(factor.logs[k]), 2)}" if with_logarithm else text


def _format_short(factor: Factor, k: int) -> str:
    """Format a factor within a product: a quotient of counts as it is, any other as a number."""
    formula = factor.formulas[k]
    return formula if QUOTIENT.fullmatch(formula) else format_power(factor.logs[k])


def _format_term(log: float, first: bool) -> str:
    """Format a logarithm within a sum."""
    text = format_number(abs(log), 2)
    return (text if log >= 0 else f"−{text}") if first else f"{'+' if log >= 0 else '−'} {text}"


def _format_probabilities(p: Array, logs: Array) -> list[str]:
    """Format the probability of each class; 1 if all others are impossible, and of small ones the first digits."""
    is_certain = sum(map(math.isfinite, logs)) == 1
    return [format_probability(x, is_certain) if x > 0.99 else format_decimal(x) for x in p.tolist()]
