"""Cases in the order of a seed, counted, with a small reproduction of every violation."""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tests.relations.cases import Case, NotApplicable
from tests.relations.exceptions import reason_of
from tests.relations.laws import LAWS
from tests.relations.settings import SETTINGS
from tests.relations.tables import TABLES, TARGET, Task
from tests.relations.transformations import TRANSFORMATIONS, check_threads

CHECKS = {line.name: line.check for line in TRANSFORMATIONS} | {"one thread or two": check_threads} | LAWS


@dataclass
class Result:
    """Counts of comparisons, and what was wrong."""

    comparisons: int = 0
    exceptions: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add the counts of other cases."""
        self.comparisons += other.comparisons
        self.exceptions.update(other.exceptions)
        self.violations += other.violations

    def __str__(self) -> str:
        return (
            f"{self.comparisons} comparisons, {len(self.violations)} violations, "
            f"{sum(self.exceptions.values())} exceptions"
        )


def run(seed: int, table: str, setting: str, relations: Iterable[str] = tuple(CHECKS)) -> Result:
    """Compare relations on a table under a setting."""
    result, case = Result(), Case(draw(table, seed), setting)
    for relation in relations:
        check(case, table, relation, seed, result)
    return result


def draw(table: str, seed: int) -> Task:
    """Draw a table."""
    return TABLES[table](_generator(seed, table))


def all_pairs(seed: int) -> Iterator[tuple[int, str, str]]:
    """Yield seeds, tables and settings for ever, all pairs in a random order before the next seed."""
    pairs = [(table, setting) for table in TABLES for setting in SETTINGS]
    while True:
        for i in _generator(seed, "order").permutation(len(pairs)):
            yield seed, *pairs[i]
        seed += 1_000_003


def check(case: Case, table: str, relation: str, seed: int, result: Result) -> None:
    """Compare one relation, and count it."""
    wrong = _failure(case, relation, seed)
    if wrong is NotApplicable:
        return
    result.comparisons += 1
    if wrong is None:
        return
    if reason := reason_of(relation, case.setting, case):
        result.exceptions[reason] += 1
        return
    result.violations.append(
        f"{table} · {case.setting} · {relation}: {wrong}\n"
        f"  python -m tests.relations --seed {seed} --table {table!r} --setting {case.setting!r} "
        f"--relation {relation!r}\n"
        f"  {describe_smaller(case, relation, seed)}"
    )


def _failure(case: Case, relation: str, seed: int) -> str | type[NotApplicable] | None:
    """Return what is wrong; an exception that the library raises is wrong too."""
    try:
        return CHECKS[relation](case, _generator(seed, relation))
    except NotApplicable:
        return NotApplicable
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def describe_smaller(case: Case, relation: str, seed: int, seconds: float = 3.0) -> str:
    """Leave out columns, then halves of the rows, while the relation is still violated, and describe what is left."""
    until = time.monotonic() + seconds
    for name in case.task.columns(lambda _: True):
        if name != case.task.options.get("weights") and len(case.task.train.columns) > 2:
            smaller = case.task.change(lambda frame, name=name: frame.drop(columns=name))
            case = _if_still_wrong(case, smaller, relation, seed, until)
    for part in (slice(None, None, 2), slice(1, None, 2)) * 3:
        smaller = replace(case.task, train=case.task.train[part].reset_index(drop=True))
        case = _if_still_wrong(case, smaller, relation, seed, until)
    train = case.task.train
    rows = train.to_csv(index=False) if train.size <= 80 else train.head(2).to_csv(index=False) + "  …"
    return f"also with {len(train)} rows of {[n for n in train if n != TARGET]}:\n{rows}"


def _if_still_wrong(case: Case, smaller: Task, relation: str, seed: int, until: float) -> Case:
    changed = Case(smaller, case.setting)
    if time.monotonic() > until or len(smaller.train) < 6:
        return case
    wrong = _failure(changed, relation, seed)
    return changed if isinstance(wrong, str) and "Error" not in wrong else case


def _generator(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])
