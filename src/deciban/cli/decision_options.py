"""The options of decisions: costs, thresholds, and the precision or recall to reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from deciban.cli.parser import list_option, number
from deciban.option_values import parse_costs, parse_thresholds, parse_wants

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
