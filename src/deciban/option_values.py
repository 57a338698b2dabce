"""Values of options, as people write them in words of a command line or in the query of a request."""

import csv
import io
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Sequence
from math import inf, isinf, isnan, nan
from typing import Any, Final, NamedTuple

from deciban.errors import UsageError
from deciban.spellings import find_level


class NumberRange(NamedTuple):
    """The values of an option: a word, or a number from `minimum` to `maximum`, without those of `excluded`."""

    kind: type = float
    minimum: float = -inf
    maximum: float = inf
    excluded: tuple[float, ...] = (-inf, inf)
    word: str | None = None

    def __str__(self) -> str:
        """Return the limits as a help text shows them; empty where there are none."""
        low = f"above {self.minimum:g}" if self.minimum in self.excluded else f"{self.minimum:g}"
        if self.maximum < inf:
            return f"{low} to {'below ' if self.maximum in self.excluded else ''}{self.maximum:g}"
        return "" if self.minimum == -inf else low if self.minimum in self.excluded else f"{low} or more"

    def parse(self, text: str) -> Any:
        """Return the value that a text stands for; raise an ArgumentTypeError where the option does not take it.

        >>> NumberRange(minimum=0, maximum=1).parse("0.5"), NumberRange(int, 1, word="all").parse("all")
        (0.5, 'all')
        """
        if text == self.word:
            return text
        try:
            value = self.kind(text)
        except ValueError:
            value = nan
        if wrong := self._find_fault(value):
            raise ArgumentTypeError(f"{text!r} {wrong}")
        return value

    def _find_fault(self, value: float) -> str:
        """Return what is wrong with a number; empty where nothing is."""
        if self.kind is int and value >= 1 << 63:
            return "is too large"
        if isnan(value):
            noun = "whole number" if self.kind is int else "number"
            return f"is not a {noun}" if self.word is None else f"is neither a {noun} nor {self.word}"
        if value < self.minimum:
            return f"is {'not above' if self.minimum in self.excluded else 'less than'} {self.minimum:g}"
        if value > self.maximum:
            return f"is more than {self.maximum:g}"
        if value not in self.excluded:
            return ""
        side = "above" if value == self.minimum else "below"
        return "is not finite" if isinf(value) else f"is not {side} {value:g}"


PROBABILITY: Final = NumberRange(minimum=0, maximum=1)


def split_list(text: str) -> list[str]:
    """Split a text at commas, and strip the parts; one that contains a comma is written in double quotes."""
    try:
        return [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise UsageError(f"{text[:80]!r} is not a list between commas: it has a line end outside of quotes") from None


def join_list(parts: Iterable[str]) -> str:
    """Join parts with commas; a part that contains a comma or quotes is written in double quotes."""
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(parts)
    return written.getvalue()


def parse_pair(text: str) -> tuple[str, str]:
    """Parse FOR,AGAINST, the names of two classes."""
    pair = split_list(text)
    if len(pair) != 2:
        raise ArgumentTypeError(f"two classes are needed, FOR,AGAINST; not {text!r}")
    return pair[0], pair[1]


def parse_prior(text: str) -> Any:
    """Return the name of a prior, or for A=0.1,B=0.9 the share of each class by its name."""
    if "=" not in text:
        return text
    return _parse_numbers(split_list(text), "--prior ill=0.1,well=0.9", str, PROBABILITY)


def parse_costs(options: Sequence[str] | None, classes: Sequence[Any]) -> dict[tuple[Any, Any], float] | None:
    """Parse TRUTH:CALLED=NUMBER, None without options; names of classes may contain ':' and '='.

    >>> parse_costs(["sick:healthy=20", "a:b:healthy=2"], ["a:b", "healthy", "sick"])
    {('sick', 'healthy'): 20.0, ('a:b', 'healthy'): 2.0}
    """
    find = _make_class_finder(classes)
    known = {str(label) for label in classes}

    def find_pair(pair: str) -> tuple[Any, Any]:
        # every way to split the text at a colon into two names
        splits = [(pair[:i].strip(), pair[i + 1 :].strip()) for i, character in enumerate(pair) if character == ":"]
        found = [names for names in splits if all(names)]
        if not found:
            raise UsageError(f"--cost {pair} is not TRUTH:CALLED=NUMBER, as in --cost sick:healthy=20")
        pairs = [(find(first), find(second)) for first, second in found]
        return next((pair for pair in pairs if known.issuperset(map(str, pair))), pairs[0])

    return _parse_numbers(options, "--cost sick:healthy=20", find_pair, NumberRange())


def parse_thresholds(options: Sequence[str] | None, classes: Sequence[Any]) -> dict[Any, float] | None:
    """Parse CLASS=P, None without options; the name of one of the classes is replaced by its label.

    >>> parse_thresholds(["3=0.9"], [3, 5])
    {3: 0.9}
    """
    return _parse_numbers(options, "--threshold spam=0.98", _make_class_finder(classes), PROBABILITY)


def _make_class_finder(classes: Sequence[Any]) -> Callable[[str], Any]:
    """Return the function that returns the label of a class that a text names, or the text."""
    known = {str(label): label for label in classes}
    return lambda name: known.get(find_level(name, known), name)


def parse_wants(options: Sequence[str] | None, classes: Sequence[Any]) -> list[tuple[Any, str, float]]:
    """Parse CLASS:precision=P or CLASS:recall=P into the class, the name of the figure, and P.

    >>> parse_wants(["spam:precision=0.99"], ["ham", "spam"])
    [('spam', 'precision', 0.99)]
    """
    find, wants = _make_class_finder(classes), []
    for option in options or ():
        target, share = _parse_number(option, "--want spam:precision=0.99", PROBABILITY._replace(excluded=(0.0,)))
        name, _, figure = target.rpartition(":")
        if figure not in ("precision", "recall") or not name:
            raise UsageError(f"{option!r} is not CLASS:precision=P or CLASS:recall=P")
        wants.append((find(name), figure, share))
    return wants


def _parse_numbers(
    options: Sequence[str] | None, example: str, find: Callable[[str], Any], allowed: NumberRange
) -> dict[Any, float] | None:
    """Return the number of each thing that `find` returns for a name; None if there are no options.

    Raises UsageError for an option of another form, and for two numbers of one thing.
    """
    numbers: dict[Any, float] = {}
    for option in options or ():
        name, number = _parse_number(option, example, allowed)
        if numbers.setdefault(find(name), number) != number:
            raise UsageError(f"{example.split()[0]} gives {name} both {numbers[find(name)]:g} and {number:g}")
    return numbers or None


def _parse_number(option: str, example: str, allowed: NumberRange) -> tuple[str, float]:
    """Return the text before the last '=', and the number after it."""
    name, equals, number = option.rpartition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option!r} is not NAME=NUMBER, as in {example}")
    try:
        return name.strip(), allowed.parse(number)
    except ArgumentTypeError as error:
        raise UsageError(f"{option!r} is not NAME=NUMBER, as in {example}: {error}") from None
