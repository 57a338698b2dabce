"""Relations that need not hold, with the reason: the one place where a difference is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.relations.cases import Case
from tests.relations.settings import EVALUATED, FITTED, SETTINGS


@dataclass(frozen=True)
class Allowed:
    """Relations that may differ under some settings; `applies` says more of the case."""

    relations: tuple[str, ...]
    settings: frozenset[str]
    reason: str
    applies: Callable[[Case], bool] = lambda case: True


def _has_structure(case: Case) -> bool:
    return bool(getattr(case.base.model, "structure", None))


def _is_not_tempered(case: Case) -> bool:
    calibration = case.base.model.calibration
    return calibration is not None and calibration.method in ("platt", "isotonic")


BY_FOLDS = EVALUATED | {"logistic, C chosen", "evidence", "evidence, C chosen", "boosted"}
"""Settings in which folds of the rows decide a map, a penalty, or weights of evidence."""

EXCEPTIONS = [
    Allowed(
        ("numbers negated",), frozenset(SETTINGS) - {"Gaussian"},
        "a number at a cut, or at a quantile, is on its upper side: the other one of its negative",
    ),
    Allowed(
        ("rows permuted",), BY_FOLDS,
        "folds go by the order of rows: a map, a tree, a penalty or trust that is fitted on them differs a little",
    ),
    Allowed(
        ("weights for repeated rows",), BY_FOLDS,
        "the copies of a row lie in several folds, a row of weight 2 in one: what is fitted out of fold differs",
    ),
    Allowed(
        ("rows doubled",), BY_FOLDS,
        "the copy of a held-out row has been learned, so that the evaluation cannot see what evidence is worth",
    ),
    Allowed(
        ("rows doubled",), frozenset({"alpha 0"}),
        "without a pseudo-count a cell without a row is impossible, and narrower bins have more of them",
    ),
    Allowed(
        ("columns permuted",), frozenset({"default", "tree", "blocks"}),
        "of dependences that are equally strong, the first column's is taken", _has_structure,
    ),
    Allowed(
        ("evaluation off and on",),
        frozenset(name for name, given in SETTINGS.items() if not {"structure", "learner"} & given.keys()),
        "whether a tree is taken is decided by the evaluation; structure= decides it without",
    ),
    Allowed(
        ("a lone level of the common class",), frozenset({"aode", "tree", "blocks", "default"}),
        "the one row had other companions: a pair that its class could have had, and has not, speaks against it",
        lambda case: case.setting == "aode" or _has_structure(case),
    ),
    Allowed(
        ("an empty row has the prior",), FITTED,
        "the constant of a regression is fitted with the weights: it answers for a row of mean cells",
    ),
    Allowed(
        ("an empty row has the prior",), frozenset(SETTINGS),
        "Platt and isotonic maps bend the prior too; they are taken where they predict better", _is_not_tempered,
    ),
    Allowed(
        ("an unseen level is missing", "a declared level without a row is missing",
         "a flag's unseen value is missing"),
        frozenset({"unseen smooth"}), "asked for: an unseen level gets a pseudo-count in each class",
    ),
]  # fmt: skip


def reason_of(relation: str, setting: str, case: Case) -> str | None:
    """Return the reason why a case may differ, or None."""
    for allowed in EXCEPTIONS:
        if relation in allowed.relations and setting in allowed.settings and allowed.applies(case):
            return allowed.reason
    return None
