"""How decisions are asked for on the command line: costs, thresholds, wanted precision and recall."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from deciban.metrics.report import Report
    from deciban.metrics.thresholds import DecisionCosts
    from deciban.metrics.thresholds import Threshold as Found

Cost = Annotated[
    list[str] | None,
    typer.Option(
        "--cost",
        metavar="TRUTH:CALLED=NUMBER",
        help="What it costs to call CALLED what is TRUTH: sick:healthy=20. A mistake costs 1 unless given. May be "
        "repeated.",
    ),
]
Reject = Annotated[
    float | None,
    typer.Option(
        "--reject",
        metavar="COST",
        help="What it costs not to decide: a row is left undecided where every call is expected to cost more.",
    ),
]
Threshold = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="CLASS=P",
        help="Call CLASS where its probability is at least P, and nowhere else: spam=0.98. May be repeated.",
    ),
]
RejectNovel = Annotated[
    float | None,
    typer.Option(
        "--reject-novel",
        metavar="SHARE",
        help="Leave rows undecided that are unlike anything learned, and with them SHARE of the usual ones: 0.01.",
    ),
]
Want = Annotated[
    list[str] | None,
    typer.Option(
        "--want",
        metavar="CLASS:FIGURE=P",
        help="From which probability on CLASS must be called for a precision or recall of P: spam:precision=0.99. "
        "May be repeated.",
    ),
]


@dataclass(frozen=True)
class Wishes:
    """What is asked of a report: what deciding so would have cost, and from where on to call a class."""

    cost: list[str] | None = None
    reject: float | None = None
    threshold: list[str] | None = None
    want: list[str] | None = None

    def __post_init__(self) -> None:
        """What is written wrongly is refused before any row is read."""
        parse_costs(self.cost, ())
        parse_thresholds(self.threshold, ())
        parse_wants(self.want, ())

    def decided(self, report: Report) -> DecisionCosts | None:
        """How such decisions did."""
        if not self.cost and self.reject is None and not self.threshold:
            return None
        classes = report.classes
        return report.decided(parse_costs(self.cost, classes), self.reject, parse_thresholds(self.threshold, classes))

    def wanted(self, report: Report) -> list[Found]:
        """A threshold for each wish."""
        told = parse_wants(self.want, report.classes)
        return [report.threshold(label, **{figure: share}) for label, figure, share in told]

    def to_dict(self, report: Report) -> dict[str, Any]:
        """The answers, as JSON knows them; nothing that was not asked for."""
        decided, wanted = self.decided(report), self.wanted(report)
        return ({"decision": decided.to_dict()} if decided else {}) | (
            {"wanted": [found.to_dict() for found in wanted]} if wanted else {}
        )


def parse_costs(options: Sequence[str] | None, classes: Sequence[Any]) -> dict[tuple[Any, Any], float] | None:
    """TRUTH:CALLED=NUMBER taken apart; names of classes may hold ':' and '=' themselves.

    >>> parse_costs(["sick:healthy=20", "a:b:healthy=2"], ["a:b", "healthy", "sick"])
    {('sick', 'healthy'): 20.0, ('a:b', 'healthy'): 2.0}
    """
    if not options:
        return None
    known = {str(label): label for label in classes}
    costs: dict[tuple[Any, Any], float] = {}
    for option in options:
        pair, cost = _number(option, "--cost sick:healthy=20")
        names = next((p for p in _cut(pair) if p[0] in known and p[1] in known), None) or next(_cut(pair), None)
        if names is None:
            raise typer.BadParameter(f"{option!r} is not TRUTH:CALLED=NUMBER, as in --cost sick:healthy=20")
        told = known.get(names[0], names[0]), known.get(names[1], names[1])
        if costs.setdefault(told, cost) != cost:
            raise typer.BadParameter(f"--cost gives {pair} both {costs[told]:g} and {cost:g}")
    return costs


def parse_thresholds(options: Sequence[str] | None, classes: Sequence[Any]) -> dict[Any, float] | None:
    """CLASS=P taken apart.

    >>> parse_thresholds(["3=0.9"], [3, 5])
    {3: 0.9}
    """
    if not options:
        return None
    known = {str(label): label for label in classes}
    told: dict[Any, float] = {}
    for option in options:
        name, share = _number(option, "--threshold spam=0.98")
        if told.setdefault(known.get(name, name), share) != share:
            raise typer.BadParameter(f"--threshold gives {name} both {told[known.get(name, name)]:g} and {share:g}")
    return told


def parse_wants(options: Sequence[str] | None, classes: Sequence[Any]) -> list[tuple[Any, str, float]]:
    """CLASS:precision=P or CLASS:recall=P taken apart.

    >>> parse_wants(["spam:precision=0.99"], ["ham", "spam"])
    [('spam', 'precision', 0.99)]
    """
    known = {str(label): label for label in classes}
    wants = []
    for option in options or ():
        rest, share = _number(option, "--want spam:precision=0.99")
        name, _, figure = rest.rpartition(":")
        if figure not in ("precision", "recall") or not name:
            raise typer.BadParameter(f"{option!r} is not CLASS:precision=P or CLASS:recall=P")
        wants.append((known.get(name, name), figure, share))
    return wants


def _number(option: str, example: str) -> tuple[str, float]:
    """What stands before the last '=', and the number after it."""
    name, equals, number = option.rpartition("=")
    try:
        if not equals or not name.strip():
            raise ValueError
        return name.strip(), float(number)
    except ValueError:
        raise typer.BadParameter(f"{option!r} is not as in {example}") from None


def _cut(pair: str) -> Iterator[tuple[str, str]]:
    """Every way to cut two names at a colon."""
    for i, letter in enumerate(pair):
        if letter == ":" and pair[:i].strip() and pair[i + 1 :].strip():
            yield pair[:i].strip(), pair[i + 1 :].strip()
