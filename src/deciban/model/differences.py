"""The differences between two table models: rows, classes, priors, roles, assumptions and evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deciban.model.description import Description
    from deciban.model.model import Model

AODE_TITLE = "averaged one-dependence estimators"

MIN_DIFFERENCE_DB = 1e-6
"""The smallest difference of evidence, in decibans, that counts as a change."""


def find_differences(first: Model, second: Model) -> dict[str, Any]:
    """Return what differs between two models, by part: each value as [first, second]; equal values are absent.

    `same` is true where all statistics and assumptions are equal; `evidence` is a list, see `_compare_evidence`.
    """
    one, two = first.describe(), second.describe()
    facts, others = _describe(first, one), _describe(second, two)
    changes = {part: _find_changes(facts[part], others[part]) for part in facts}
    return {
        "same": not any(changes.values())
        and first.ledger == second.ledger
        and (first.options, first.account) == (second.options, second.account),
        **changes,
        "evidence": _compare_evidence(one, two),
    }


def _find_changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the values that differ, of both models; floats that differ by rounding only are equal."""
    both = {name: [first.get(name), second.get(name)] for name in dict.fromkeys([*first, *second])}
    return {
        name: [x, y]
        for name, (x, y) in both.items()
        if not (math.isclose(x, y, rel_tol=1e-9) if isinstance(x, float) and isinstance(y, float) else x == y)
    }


def _describe(model: Model, description: Description) -> dict[str, dict[str, Any]]:
    """Return the facts of a model that are compared; for a column of a block the names in its block."""
    learner = model.learner if model.account is None else model.account.short
    return {
        "target": {"": model.target},
        "rows": {"": description.weight},
        "class_rows": {str(share.label): share.weight for share in description.classes},
        "priors": {str(share.label): share.prior for share in description.classes},
        "roles": model.roles,
        "blocks": {column.name: ", ".join(column.block) for column in model.columns if column.block},
        "structure": model.structure,
        "options": {**describe_options(model), "learner": learner},
    }


def _compare_evidence(one: Description, two: Description) -> list[dict[str, Any]]:
    """Return the average evidence of each column in both models, the largest change first.

    `sure` is true if the intervals are disjoint.
    """
    first, second = ({s.feature: s for s in d.strongest} for d in (one, two))
    changes = []
    for name in first.keys() & second.keys():
        x, y = first[name], second[name]
        if abs(x.evidence - y.evidence) > MIN_DIFFERENCE_DB:
            disjoint = x.high < y.low or y.high < x.low
            changes.append({"column": name, "first": x.evidence, "second": y.evidence, "sure": disjoint})
    return sorted(changes, key=lambda entry: (-abs(entry["first"] - entry["second"]), entry["column"]))


def describe_options(model: Model) -> dict[str, Any]:
    """Return the assumptions of a model apart from the roles of its columns."""
    options, shares = model.options, model.options.prior.given
    return {
        **({} if model.learner == "bayes" else {"learner": str(model.account or AODE_TITLE)}),
        "alpha": options.alpha,
        "parameter_prior": options.parameter_prior,
        **{
            name: getattr(options, name)
            for name in ("covariance", "mixing", "shrinkage")
            if getattr(options, name) is not None
        },
        "unseen": options.unseen,
        **({"weights": "survey weights"} if options.survey_weights else {}),
        "most_levels": options.most_levels,
        **({"texts": options.words.reading} if model._layout.texts else {}),
        "prior": options.prior.kind if shares is None else dict(zip(map(str, model.classes), map(float, shares))),
        **({} if model.calibration is None else {"calibration": str(model.calibration)}),
    }
