"""Bayes' theorem for a diagnostic test, in numbers of people of a population."""

import math
from dataclasses import dataclass
from typing import Any

from deciban.docstrings import document
from deciban.errors import InputError
from deciban.formatting import format_short_percent, format_signed, format_thousands
from deciban.plain_json import to_plain
from deciban.result import FrameKind, make_frame
from deciban.scores.explanation import format_odds

DEFAULT_POPULATION = 10_000


@document()
@dataclass(frozen=True)
class BayesTable:
    """A test for a condition in a population: true and false positives and negatives, and the predictive values.

    Parameters
    ----------
    prior : float from 0 to 1
        The share that has the condition.
    sensitivity : float from 0 to 1
        p(positive | has it).
    specificity : float from 0 to 1
        p(negative | does not have it).
    population : int
        The number of people.

    Examples
    --------
    >>> table = BayesTable(prior=0.01, sensitivity=0.9, specificity=0.95)
    >>> round(table.true_positives, 9), round(table.false_positives, 9), round(table.positive_predictive_value, 4)
    (90.0, 495.0, 0.1538)
    """

    prior: float
    sensitivity: float
    specificity: float
    population: int = DEFAULT_POPULATION

    def __post_init__(self) -> None:
        for name in ("prior", "sensitivity", "specificity"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
                raise InputError(f"{name} must be a share from 0 to 1, not {value!r}. Hint: 5 % is 0.05")
        if isinstance(self.population, bool) or not isinstance(self.population, int) or self.population < 1:
            raise InputError(f"population must be a whole number ≥ 1, not {self.population!r}")

    @property
    def true_positives(self) -> float:
        """The number of people who have it and test positive: N·π·sensitivity."""
        return self.population * self.prior * self.sensitivity

    @property
    def false_negatives(self) -> float:
        """The number of people who have it and test negative: N·π·(1 − sensitivity)."""
        return self.population * self.prior * (1 - self.sensitivity)

    @property
    def false_positives(self) -> float:
        """The number of people who do not have it and test positive: N·(1 − π)·(1 − specificity)."""
        return self.population * (1 - self.prior) * (1 - self.specificity)

    @property
    def true_negatives(self) -> float:
        """The number of people who do not have it and test negative: N·(1 − π)·specificity."""
        return self.population * (1 - self.prior) * self.specificity

    @property
    def positive_predictive_value(self) -> float:
        """p(has it | positive); nan where nobody tests positive."""
        return _compute_share(self.true_positives, self.false_positives)

    @property
    def negative_predictive_value(self) -> float:
        """p(does not have it | negative); nan where nobody tests negative."""
        return _compute_share(self.true_negatives, self.false_negatives)

    @property
    def prior_decibans(self) -> float:
        """10·log₁₀ of the odds before the test; infinite where the prior is 0 or 1."""
        return compute_decibans(self.prior, 1 - self.prior)

    @property
    def positive_decibans(self) -> float:
        """The evidence of a positive test: 10·log₁₀[sensitivity / (1 − specificity)]."""
        return compute_decibans(self.sensitivity, 1 - self.specificity)

    @property
    def negative_decibans(self) -> float:
        """The evidence of a negative test: 10·log₁₀[(1 − sensitivity) / specificity], seldom above 0."""
        return compute_decibans(1 - self.sensitivity, self.specificity)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures (`BAYES_FIGURES`) by name; one that is undefined or infinite is None.

        >>> round(BayesTable(prior=0.01, sensitivity=0.9, specificity=0.95).to_dict()["positive_predictive_value"], 4)
        0.1538
        """
        return to_plain({name: getattr(self, name) for name in BAYES_FIGURES})

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """Return a frame with a row for those who have it and one for those who do not, by the result of the test.

        >>> BayesTable(prior=0.01, sensitivity=0.9, specificity=0.95).to_frame("arrow").column_names
        ['has_it', 'positive', 'negative']
        """
        positive, negative = [self.true_positives, self.false_positives], [self.false_negatives, self.true_negatives]
        return make_frame({"has_it": [True, False], "positive": positive, "negative": negative}, kind)

    def __str__(self) -> str:
        n, have = self.population, self.population * self.prior
        people = f"{format_people(n)} {'people' if n > 1 else 'person'}"
        positive = self.true_positives + self.false_positives
        negative = self.true_negatives + self.false_negatives
        still_have_it = _compute_share(self.false_negatives, self.true_negatives)  # 1 − NPV would lose digits
        rows = [
            ("", "positive", "negative"),
            ("with the condition", format_people(self.true_positives), format_people(self.false_negatives)),
            ("without the condition", format_people(self.false_positives), format_people(self.true_negatives)),
            ("total", format_people(positive), format_people(negative)),
        ]
        return "\n".join(
            [
                f"Of {people} {format_people(have)} have it and {format_people(n - have)} do not.",
                "",
                *(f"  {name:<22}{first:>14}{second:>14}" for name, first, second in rows),
                "",
                _describe_result("positive", self.positive_predictive_value, self.true_positives, positive),
                _describe_result("negative", still_have_it, self.false_negatives, negative),
                "",
                *self._format_evidence(),
            ]
        )

    def _format_evidence(self) -> list[str]:
        """Return the printed lines that add the evidence of the test to that of the prior."""
        lines = [f"  {'':<10}{'before':>10}{'test':>10}{'after':>10}"]
        for name, evidence in (("positive", self.positive_decibans), ("negative", self.negative_decibans)):
            after = self.prior_decibans + evidence
            numbers = "".join(f"{format_signed(value):>10}" for value in (self.prior_decibans, evidence, after))
            lines.append(f"  {name:<10}{numbers}  {format_odds(after) if math.isfinite(after) else ''}".rstrip())
        return [*lines, "  in decibans: 10 is ten to one for, −10 ten to one against."]


BAYES_FIGURES = (
    "prior", "sensitivity", "specificity", "population", "true_positives", "false_negatives", "false_positives",
    "true_negatives", "positive_predictive_value", "negative_predictive_value", "prior_decibans", "positive_decibans",
    "negative_decibans",
)  # fmt: skip


def compute_decibans(p: float, q: float) -> float:
    """Return 10·log₁₀(p/q); ∞ where only q is 0, −∞ where only p is 0, nan where both are.

    >>> compute_decibans(0.9, 0.09), compute_decibans(0.5, 0.0)
    (10.0, inf)
    """
    if p == 0 or q == 0:
        return math.nan if p == q else math.copysign(math.inf, p - q)
    return 10 * math.log10(p / q)


def _compute_share(n: float, n_others: float) -> float:
    """Return n as a share of both numbers together; nan where both are 0."""
    return n / (n + n_others) if n + n_others > 0 else math.nan


def format_people(n: float) -> str:
    """Format a number of people with separated thousands and up to two decimals, without trailing zeros.

    >>> format_people(9405.0), format_people(12.345)
    ('9 405', '12.35')
    """
    return format_thousands(n, ".2f").rstrip("0").rstrip(".")


def _describe_result(result: str, share: float, n_with: float, n: float) -> str:
    """Return a sentence on the share of those with a test result who have the condition, n_with of n."""
    if math.isnan(share):
        return f"Nobody tests {result}."
    people = f"{format_people(n_with)} of {format_people(n)}"
    return f"Of those who test {result}, {format_short_percent(share, 3)} have it: {people}."
