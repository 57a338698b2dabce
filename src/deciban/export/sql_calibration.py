"""Calibrated scores in SQL: temperature, Platt's and isotonic maps, then the present class prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deciban.export import sql_expressions as e
from deciban.export.portable import Document, find_line
from deciban.export.sql_expressions import Expression, Speller, Terms, exp
from deciban.export.sql_steps import QuerySteps

IMPOSSIBLE_SCORE = -1e300
"""The score of an impossible class: its probability is 0 if any other class is possible."""


def calibrate(
    document: Document, steps: QuerySteps, speller: Speller, scores: Sequence[Expression]
) -> list[Expression]:
    """Return calibrated scores under the present prior, in a step of their own; the scores without a calibration."""
    calibration = document["calibration"]
    if calibration is None:
        return list(scores)
    slope, shifts = find_line(document)
    if slope is None:
        mapped = _apply_isotonic(calibration["curves"], steps, speller, scores)
    else:
        mapped = [e.multiply(e.number(slope), score) for score in scores]
    moved = {
        f"deciban_c{k}": e.number(IMPOSSIBLE_SCORE) if shift is None else e.sum_of([score, e.constant(shift)])
        for k, (score, shift) in enumerate(zip(mapped, shifts))
    }
    return steps.let(moved)


def find_evidence_factor(document: Document, gains: Sequence[Expression], speller: Speller) -> Expression:
    """Return the factor of all evidence: the slope of a linear map, and of an isotonic one a number from 0 to 1.

    `gains` are the log-odds less those of the prior, calibrated and before calibration.
    """
    slope = 1.0 if document["calibration"] is None else find_line(document)[0]
    if slope is not None:
        return e.number(slope)
    gain, claimed = gains
    ratio = speller.least(speller.greatest([e.divide(gain, claimed), e.number(0.0)]), e.number(1.0))
    return e.when((e.compare(claimed, exp.EQ, e.number(0.0)), e.number(1.0)), otherwise=ratio)


def _apply_isotonic(
    curves: Sequence[Any], steps: QuerySteps, speller: Speller, scores: Sequence[Expression]
) -> Terms:
    """Return the scores of an isotonic map: the log-odds of each class against the others, along its curve."""
    K = len(scores)
    if K == 2:
        x = steps.let({"deciban_x": e.minus(scores[1], scores[0])})[0]
        return [None, interpolate(x, curves[0])]
    others = [[score for l, score in enumerate(scores) if l != k] for k in range(K)]
    tops = steps.let({f"deciban_t{k}": speller.greatest(each) for k, each in enumerate(others)})
    odds = {}
    for k in range(K):
        rest = speller.log(e.sum_of([speller.exp(e.minus(score, tops[k])) for score in others[k]]))
        odds[f"deciban_x{k}"] = e.minus(e.minus(scores[k], tops[k]), rest)
    curved = {f"deciban_y{k}": interpolate(x, curve) for k, (x, curve) in enumerate(zip(steps.let(odds), curves))}
    return [_log_sigmoid(speller, y) for y in steps.let(curved)]


def _log_sigmoid(speller: Speller, y: Expression) -> Expression:
    """Return −ln(1 + e^−y), without overflow."""
    rest = speller.log(e.sum_of([e.number(1.0), speller.exp(exp.Neg(this=exp.Abs(this=y)))]))
    negative = e.when((e.compare(y, exp.LT, e.number(0.0)), y), otherwise=e.number(0.0))
    return e.minus(negative, rest)


def interpolate(x: Expression, curve: Mapping[str, Sequence[float]]) -> Expression:
    """Return a piecewise linear function of x, constant beyond its first and last point."""
    claimed, true = curve["claimed"], curve["true"]
    pieces: list[Expression] = [e.number(true[0])]
    for a, b, y, z in zip(claimed, claimed[1:], true, true[1:]):
        rise = e.scale((z - y) / (b - a), e.minus(x, e.number(a)))
        pieces.append(e.sum_of([rise, e.constant(y)]))
    return e.choose_bin(x, claimed, [*pieces, e.number(true[-1])])
