"""Cases of a seed, compared on all surfaces and counted, with a small reproduction of every violation."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deciban.errors import DecibanError
from deciban.model.posterior_arithmetic import compute_by_hand
from deciban.sources.source import open_source
from tests.surfaces.cases import Case, draw_case
from tests.surfaces.exceptions import find_reason, is_refusal
from tests.surfaces.surfaces import ask_javascript, ask_service, list_surfaces, stack, sum_sql_evidence

TOLERANCE = 1e-9
"""The largest difference of two probabilities."""

BATCH_CASES = 8
"""The number of cases that one process of Node and one service answer."""


@dataclass
class Result:
    """Counts of comparisons, of exceptions by their reason, and what was wrong."""

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


def run(seeds: Iterable[int], postgres: Any = None, until: float = float("inf")) -> Result:
    """Compare the cases of some seeds, none of a batch that would begin after `until`."""
    result, batch = Result(), []
    for seed in seeds:
        if time.monotonic() > until:
            break
        batch.append(seed)
        if len(batch) == BATCH_CASES:
            run_batch(batch, postgres, result)
            batch = []
    if batch:
        run_batch(batch, postgres, result)
    return result


def run_batch(seeds: Sequence[int], postgres: Any, result: Result) -> None:
    """Compare the cases of some seeds."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as name:
        warnings.simplefilter("ignore")
        folder, cases = Path(name), []
        for seed in seeds:
            try:
                cases.append(draw_case(seed))
            except DecibanError as error:
                result.exceptions[f"no model: {find_reason('train', None, str(error)) or error}"] += 1
        expected = {case.seed: answer for case in cases if (answer := ask_python(case, result)) is not None}
        cases = [case for case in cases if case.seed in expected]
        for case in cases:
            for surface, ask in list_surfaces(postgres).items():
                try:
                    answer = ask(case, folder)
                except DecibanError as error:
                    answer = str(error)
                except Exception as error:
                    answer = f"{type(error).__name__}: {error}"
                compare(case, surface, expected[case.seed], answer, result)
            for check in (check_sql_evidence, check_explanations, check_arithmetic, check_decisions):
                try:
                    check(case, expected[case.seed], result)
                except Exception as error:
                    said = f"{check.__name__}: {type(error).__name__}: {error}\n  {case.describe()}"
                    result.violations.append(said)
        totals: dict[int, list[float]] = {}
        for seed, answer in ask_javascript(cases, folder, totals).items():
            case = next(each for each in cases if each.seed == seed)
            compare(case, "JavaScript", expected[seed], answer, result)
            check_totals(case, "JavaScript", totals.get(seed, []), case.model.explain(case.rows).total, result)
        for (surface, seed), answer in ask_service(cases, folder).items():
            case = next(each for each in cases if each.seed == seed)
            compare(case, surface, expected[seed], answer, result)


def ask_python(case: Case, result: Result) -> Any:
    """Return the posterior of all rows in Python, with which all others are compared; None if it is refused."""
    try:
        return stack(case.model.predict_proba(case.rows))
    except Exception as error:
        result.violations.append(f"Python: {type(error).__name__}: {error}\n  {case.describe()}")
        return None


def compare(case: Case, surface: str, expected: Any, answer: Any, result: Result) -> None:
    """Compare the posterior of each row, or note why a surface refuses the model."""
    if isinstance(answer, str):
        result.comparisons += 1
        reason = find_reason(surface, case, answer) if is_refusal(answer) else None
        if reason is None:
            result.violations.append(f"{surface}: {answer[:300]}\n  {case.describe()}")
        else:
            result.exceptions[reason] += 1
        return
    result.comparisons += answer.size
    for row in np.flatnonzero(~(np.abs(answer - expected) <= TOLERANCE).all(axis=1)).tolist():
        shown = f"{surface}: {answer[row].tolist()}, Python {expected[row].tolist()}\n  {case.describe(row)}"
        note(case, surface, row, shown, result)


def note(case: Case, surface: str, row: int, shown: str, result: Result) -> None:
    """Count a difference as an exception, if there is a reason, or as a violation."""
    reason = find_reason(surface, case, row)
    if reason is None:
        result.violations.append(shown)
    else:
        result.exceptions[reason] += 1


def check_explanations(case: Case, expected: Any, result: Result) -> None:
    """Compare the sum of all evidence with the log-odds of the two most probable classes."""
    explained = case.model.explain(case.rows)
    parts = explained.prior + explained.evidence.sum(axis=1) + sum(explained.extras.values())
    with np.errstate(all="ignore"):
        p = np.take_along_axis(expected, np.argsort(-expected, kind="stable", axis=1)[:, :2], axis=1)
        odds = 10 * np.log10(p[:, 0] / p[:, 1])
    for row in range(len(expected)):
        result.comparisons += 1
        wrong = [total for total in (parts[row], explained.total[row]) if not is_close(total, odds[row])]
        if wrong and p[row, 1] > 1e-300 and np.isfinite(explained.total[row]):
            shown = f"explain: {wrong[0]} dB, log-odds {odds[row]} dB\n  {case.describe(row)}"
            note(case, "explain", row, shown, result)


def check_totals(case: Case, surface: str, totals: Sequence[float], expected: Any, result: Result) -> None:
    """Compare the decibans of each row with those of Python."""
    for row, (ours, total) in enumerate(zip(totals, expected)):
        result.comparisons += 1
        if np.isfinite(total) and not is_close(ours, total):
            note(case, surface, row, f"{surface}: {ours} dB, Python {total} dB\n  {case.describe(row)}", result)


def check_sql_evidence(case: Case, expected: Any, result: Result) -> None:
    """Compare the evidence of each feature in SQL with that of Python, where it is a sum over features."""
    if "text" in case.roles.values() or case.options.get("learner") == "aode" or "blocks" in case.options:
        return
    explained = case.model.explain(case.rows, tuple(case.model.classes[:2]))
    try:
        found = sum_sql_evidence(case)
    except DecibanError:
        return
    check_totals(case, "DuckDB", found[:, -1], explained.total, result)
    if explained.extras or case.model.structure:
        return
    result.comparisons += found[:, :-1].size
    for row in np.flatnonzero(np.isfinite(explained.total)).tolist():
        ours, theirs = sorted(found[row, :-1]), sorted(explained.evidence[row])
        if len(ours) == len(theirs) and not np.allclose(ours, theirs, rtol=1e-6, atol=1e-6):
            note(case, "DuckDB", row, f"evidence in SQL {ours}, Python {theirs}\n  {case.describe(row)}", result)


def is_close(a: float, b: float) -> bool:
    """Return whether two log-odds are equal up to the rounding of probabilities near 1."""
    return bool(abs(a - b) <= 1e-6 * max(1.0, abs(b)))


def check_arithmetic(case: Case, expected: Any, result: Result) -> None:
    """Compare the product of all factors that `--work` shows with the posterior, before a calibration."""
    for row, work in enumerate(compute_by_hand(case.model, open_source(case.rows), case.rows.num_rows, False, 100)):
        result.comparisons += 1
        target = work.predicted if case.model.calibration is None else work.probability
        if not np.allclose(work.predicted, expected[row], rtol=0, atol=TOLERANCE) or not np.allclose(
            work.probability, target, rtol=0, atol=TOLERANCE
        ):
            shown = f"--work: {work.probability.tolist()}, Python {expected[row].tolist()}\n  {case.describe(row)}"
            note(case, "--work", row, shown, result)


def check_decisions(case: Case, expected: Any, result: Result) -> None:
    """Compare decisions with the least expected cost, computed class by class."""
    rng, classes = np.random.default_rng([case.seed, 7]), case.model.classes
    K = len(classes)
    costs = {(classes[k], classes[a]): float(rng.integers(1, 9)) for k in range(K) for a in range(K) if k != a}
    reject = float(rng.choice([0.3, 1.0, 9.0]))
    found = case.model.predict(case.rows, costs=costs, reject=reject)
    decided = found.to_pylist() if hasattr(found, "to_pylist") else list(found)
    for row, p in enumerate(expected):
        cost = [sum(p[k] * costs.get((classes[k], classes[a]), 0.0) for k in range(K)) for a in range(K)]
        order = np.sort([*cost, reject])
        result.comparisons += 1
        best = None if min(cost) > reject else classes[int(np.argmin(cost))]
        if decided[row] != best and order[1] - order[0] > TOLERANCE:
            shown = f"decision: {decided[row]!r}, by the rule {best!r} of {cost}, reject {reject}"
            result.violations.append(f"{shown}\n  {case.describe(row)}")
