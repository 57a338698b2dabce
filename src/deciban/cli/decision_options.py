"""The options of decisions: costs, thresholds, and the precision or recall to reach."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.command_groups import UsageError
from deciban.cli.parser import NumberRange, list_option, number

if TYPE_CHECKING:
    from deciban.metrics.ranking import DecisionCosts
    from deciban.metrics.ranking import Threshold as FoundThreshold
    from deciban.metrics.report import Report

COST: Final = list_option(
    "--cost", "TRUTH:CALLED=NUMBER",
    "The cost of predicting CALLED where the class is TRUTH: sick:healthy=20. An error costs 1 by default.",
)  # fmt: skip
REJECT: Final = number(
    "--reject", "COST",
    "The cost of no decision: a row is left undecided where every prediction has a greater expected cost.",
    kind=float,
)  # fmt: skip
THRESHOLD: Final = list_option(
    "--threshold", "CLASS=P", "Predict CLASS only where its probability is at least P: spam=0.98."
)
REJECT_NOVEL: Final = number(
    "--reject-novel", "SHARE",
    "Leave rows undecided that are unlike the training rows, and SHARE of the usual rows with them: 0.01.",
    kind=float, minimum=0, maximum=1, excluded=(1.0,),
)  # fmt: skip
WANT: Final = list_option(
    "--want", "CLASS:FIGURE=P", "Find the threshold of CLASS for a precision or recall of P: spam:precision=0.99."
)
PROBABILITY: Final = NumberRange(minimum=0, maximum=1)


@dataclass(frozen=True)
class DecisionRequests:
    """Questions to a report: the cost of decisions, and the thresholds for a precision or recall."""

    cost: list[str] | None = None
    reject: float | None = None
    threshold: list[str] | None = None
    want: list[str] | None = None

    def __post_init__(self) -> None:
        """Refuse malformed options before any row is read."""
        parse_costs(self.cost, ())
        parse_thresholds(self.threshold, ())
        parse_wants(self.want, ())

    def costs_of(self, report: Report) -> DecisionCosts | None:
        """Return the costs of the decisions; None if no option asks for them."""
        if not self.cost and self.reject is None and not self.threshold:
            return None
        classes = report.classes
        return report.decision_costs(
            parse_costs(self.cost, classes), self.reject, parse_thresholds(self.threshold, classes)
        )

    def thresholds_of(self, report: Report) -> list[FoundThreshold]:
        """Return the threshold of the report that each --want asks for."""
        wants = parse_wants(self.want, report.classes)
        return [report.threshold(label, **{figure: share}) for label, figure, share in wants]

    def to_dict(self, report: Report) -> dict[str, Any]:
        """Return the answers for JSON, without those that were not asked for."""
        costs, thresholds = self.costs_of(report), self.thresholds_of(report)
        return ({"decision": costs.to_dict()} if costs else {}) | (
            {"wanted": [found.to_dict() for found in thresholds]} if thresholds else {}
        )


def parse_costs(options: Sequence[str] | None, classes: Sequence[Any]) -> dict[tuple[Any, Any], float] | None:
    """Parse TRUTH:CALLED=NUMBER, None without options; names of classes may contain ':' and '='.

    >>> parse_costs(["sick:healthy=20", "a:b:healthy=2"], ["a:b", "healthy", "sick"])
    {('sick', 'healthy'): 20.0, ('a:b', 'healthy'): 2.0}
    """
    known = {str(label): label for label in classes}

    def find_pair(pair: str) -> tuple[Any, Any]:
        # every way to split the text at a colon into two names
        splits = [(pair[:i].strip(), pair[i + 1 :].strip()) for i, character in enumerate(pair) if character == ":"]
        found = [names for names in splits if all(names)]
        if not found:
            raise UsageError(f"--cost {pair} is not TRUTH:CALLED=NUMBER, as in --cost sick:healthy=20")
        first, second = next((names for names in found if names[0] in known and names[1] in known), found[0])
        return known.get(first, first), known.get(second, second)

    return _parse_numbers(options, "--cost sick:healthy=20", find_pair, NumberRange())


def parse_thresholds(options: Sequence[str] | None, classes: Sequence[Any]) -> dict[Any, float] | None:
    """Parse CLASS=P, None without options; the name of one of the classes is replaced by its label.

    >>> parse_thresholds(["3=0.9"], [3, 5])
    {3: 0.9}
    """
    known = {str(label): label for label in classes}
    return _parse_numbers(options, "--threshold spam=0.98", lambda name: known.get(name, name), PROBABILITY)


def parse_wants(options: Sequence[str] | None, classes: Sequence[Any]) -> list[tuple[Any, str, float]]:
    """Parse CLASS:precision=P or CLASS:recall=P into the class, the name of the figure, and P.

    >>> parse_wants(["spam:precision=0.99"], ["ham", "spam"])
    [('spam', 'precision', 0.99)]
    """
    known = {str(label): label for label in classes}
    wants = []
    for option in options or ():
        target, share = _parse_number(option, "--want spam:precision=0.99", PROBABILITY._replace(excluded=(0.0,)))
        name, _, figure = target.rpartition(":")
        if figure not in ("precision", "recall") or not name:
            raise UsageError(f"{option!r} is not CLASS:precision=P or CLASS:recall=P")
        wants.append((known.get(name, name), figure, share))
    return wants


def _parse_numbers(
    options: Sequence[str] | None, example: str, find: Callable[[str], Any], allowed: NumberRange
) -> dict[Any, float] | None:
    """Return the number of each thing that `find` returns for a name; None if there are no options."""
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
        raise UsageError(f"{option!r} is not of the form of {example}")
    try:
        return name.strip(), allowed.parse(number)
    except ArgumentTypeError as error:
        raise UsageError(f"{option!r} is not of the form of {example}: {error}") from None
