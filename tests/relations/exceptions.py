"""Relations that need not hold, with the reason: the one place where a difference is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch

from tests.relations.cases import Case
from tests.relations.settings import EVALUATED, FITTED, SETTINGS


@dataclass(frozen=True)
class Allowed:
    """Relations and settings, by patterns, that may differ; `applies` says more of the case."""

    relations: tuple[str, ...]
    settings: frozenset[str]
    reason: str
    applies: Callable[[Case], bool] = lambda case: True


EVERY = frozenset(SETTINGS)

EXCEPTIONS: list[Allowed] = []


def reason_of(relation: str, setting: str, table: str, case: Case) -> str | None:
    """Return the reason why a case may differ, or None."""
    for allowed in EXCEPTIONS:
        if setting in allowed.settings and any(fnmatch(relation, name) for name in allowed.relations):
            if allowed.applies(case):
                return allowed.reason
    return None
