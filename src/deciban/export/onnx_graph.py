"""A model as an ONNX graph in double precision: an input for each column; the label and the probabilities.

Numbers are doubles, NaN where they are missing; levels are texts, empty where they are missing; a part of a date is
an input of its own, COLUMN.month for instance; a text is a matrix of the counts of its words.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from deciban.errors import InputError
from deciban.export.onnx_builder import Graph, Tensor, TensorProto, check_input_name
from deciban.export.portable import Document, Term, find_line
from deciban.model.columns import split_levels
from deciban.model.output_frames import to_labels
from deciban.scores.calibration import MAX_LOG_ODDS
from deciban.scores.posterior import NEAR_ONE_LOG_PROBABILITY
from deciban.spellings import spell_level

EMPTY_LEVEL = "\0"
"""The input that stands for the level '', which some tables have: an empty text is a missing value."""

MAX_TABLE_COMBINATIONS = 1 << 22
"""Largest number of combinations of the levels of joined columns."""

ELEMENT_TYPES: Mapping[str, tuple[int, type]] = {
    "i": (TensorProto.INT64, np.int64), "u": (TensorProto.INT64, np.int64), "f": (TensorProto.DOUBLE, np.float64),
    "b": (TensorProto.BOOL, np.bool_),
}  # fmt: skip
"""The types of labels that are not texts, in ONNX and in NumPy, by the kind of their own NumPy type."""


def write_onnx(document: Document) -> bytes:
    """Return the bytes of an ONNX file with the outputs `label` and `probabilities`."""
    return OnnxWriter(document).write()


def to_array(values: Any) -> np.ndarray[Any, Any]:
    """Return nested lists as doubles; null is −∞."""
    array = np.array(values, dtype=object)
    return np.where(array == None, -np.inf, array).astype(np.float64)  # noqa: E711


def _subtract_products(value: Tensor, left: Sequence[Tensor], right: Sequence[Tensor]) -> Tensor:
    """Return a value less the products of pairs of tensors, one after the other."""
    for a, b in zip(left, right):
        value = value - a * b
    return value


class OnnxWriter:
    """The graph of one document."""

    def __init__(self, document: Document) -> None:
        self.document, self.graph, self.K = document, Graph(), len(document["classes"])
        self.features = {feature["name"]: feature for feature in document["features"]}
        self.texts = {term["feature"]: term for term in document["terms"] if term["kind"] == "text"}
        self.inputs = self._add_inputs()

    def _add_inputs(self) -> dict[str, Tensor]:
        """Add the inputs in the order of the table, by their names."""
        wanted: dict[str, tuple[int, int]] = {}
        for name, feature in self.features.items():
            if feature["kind"] == "text":
                check_input_name(name, wanted)
                wanted[name] = TensorProto.DOUBLE, len(self.texts[name]["weights"][0])
                continue
            is_number = [feature["kind"] == "number"] if "numeric" not in feature else feature["numeric"]
            names = [name] if "part" in feature else feature["columns"]
            for column, number in zip(names, is_number):
                check_input_name(column, wanted)
                wanted[column] = TensorProto.DOUBLE if number else TensorProto.STRING, 1
        return {name: self.graph.input(name, *kind) for name, kind in wanted.items()}

    def write(self) -> bytes:
        """Return the bytes of the file."""
        log_posterior = self._calibrate(self._normalise(self._add_terms()))
        labels = to_labels(self.document["classes"], self.document["target_type"])
        kind, dtype = ELEMENT_TYPES.get(labels.dtype.kind, (TensorProto.STRING, object))
        winner = self.graph.call("ArgMax", log_posterior, axis=1, keepdims=0)
        label = self.graph.call("Gather", labels.astype(dtype), winner, axis=0)
        probabilities = self.graph.call("Exp", log_posterior)
        metadata = {f"words:{name}": json.dumps(term["words"]) for name, term in self.texts.items()}
        rows: list[Any] = ["rows"]
        outputs = [
            (label, "label", int(kind), rows),
            (probabilities, "probabilities", int(TensorProto.DOUBLE), [*rows, self.K]),
        ]
        return self.graph.write(outputs, {**metadata, "classes": json.dumps(self.document["classes"])})

    # Terms

    def _add_terms(self) -> Tensor:
        """Return ln p(x, k) of each row and class, up to terms that all classes share; NaN where Python refuses."""
        groups: dict[str, list[Term]] = defaultdict(list)
        for term in self.document["terms"]:
            groups[term["kind"]].append(term)
        parts: list[Tensor] = []
        for kind, terms in groups.items():
            write = getattr(self, f"_add_{kind}")
            parts += [write(terms)] if kind in ("gaussian", "poisson", "linear", "constant") else map(write, terms)
        numbers = [feature for feature in self.features.values() if feature["kind"] == "number"]
        parts += [self._mark_refused(numbers)] if numbers else []
        parts.append(self.graph.constant(self._compute_intercept()[None, :]))
        while len(parts) > 1:  # a balanced tree
            pairs = [a + b for a, b in zip(parts[::2], parts[1::2])]
            parts = pairs + ([parts[-1]] if len(parts) % 2 else [])
        return parts[0]

    def _compute_intercept(self) -> np.ndarray[Any, Any]:
        """Return the score of each class before any feature is added: ln π_k of the calibration, if any, + bias_k."""
        prior = (self.document["calibration"] or self.document)["log_prior"]
        return to_array(prior) + to_array(self.document["bias"])

    def _get_numbers(self, names: Sequence[str]) -> Tensor:
        """Return the numbers of some features, rows × features."""
        return self.graph.concatenate([self.inputs[self.features[name]["columns"][0]] for name in names])

    def _mark_refused(self, numbers: Sequence[Any]) -> Tensor:
        """Return 0 for each row, NaN where a number is infinite, or negative and must not be."""
        x = self._get_numbers([feature["name"] for feature in numbers])
        least = np.array([[float(feature.get("minimum", -np.inf)) for feature in numbers]])
        checked = self.graph.where(x < least, np.nan, x - x)
        return self.graph.reduce("ReduceSum", self.graph.where(self.graph.is_nan(x), 0.0, checked), 1)

    def _add_constant(self, terms: Sequence[Term]) -> Tensor:
        return self.graph.constant(np.sum([to_array(term["scores"]) for term in terms], axis=0)[None, :])

    def _expand_numbers(self, terms: Sequence[Term]) -> Tensor:
        """Return the numbers of terms, rows × terms × 1."""
        return self.graph.call("Unsqueeze", self._get_numbers([term["feature"] for term in terms]), np.array([2]))

    def _sum_present(self, x: Tensor, terms: Tensor) -> Tensor:
        """Return the sum over features of terms, rows × features × classes, of which missing ones are left out."""
        present = self.graph.where(self.graph.is_nan(x), 0.0, terms)
        return self.graph.reduce("ReduceSum", present, 1, keep=False)

    def _add_gaussian(self, terms: Sequence[Term]) -> Tensor:
        g, x = self.graph, self._expand_numbers(terms)
        variance = to_array([term["variance"] for term in terms])
        floor = to_array([[term["floor"]] for term in terms])
        peak = np.maximum(-0.5 * np.log(2 * np.pi * variance), floor)
        gap = x - to_array([term["mean"] for term in terms])
        scores = g.call("Max", g.constant(peak) - gap * gap * (0.5 / variance), floor)
        if any(term["shares"] for term in terms):
            shares = np.array([term["shares"] or [1.0] * self.K for term in terms])
            with np.errstate(divide="ignore"):
                mixed = g.log_sum_exp(scores + np.log(shares), 2)
            scores = g.where(g.constant(shares == 0), mixed, scores)
        weight = np.array([[term["weight"]] for term in terms])
        if (weight != 1).any():
            impossible = np.where(weight > 0, -np.inf, 0.0)
            scores = g.where(g.call("Equal", scores, -np.inf), g.constant(impossible), scores * weight)
        offset = np.array([term["offset"] or [0.0] * self.K for term in terms])
        return self._sum_present(x, scores + offset if offset.any() else scores)

    def _add_poisson(self, terms: Sequence[Term]) -> Tensor:
        g, x = self.graph, self._expand_numbers(terms)
        rate = np.array([term["rate"] for term in terms])
        bound = np.array([[term["bound"]] for term in terms])
        log_x = g.call("Log", g.where(g.constant(0.0) < x, x, 1.0))
        deviance = x * (log_x - np.log(np.where(rate > 0, rate, 1.0))) - x + rate
        weight = np.array([[-term["weight"]] for term in terms])
        return self._sum_present(x, g.where(deviance < bound, deviance, bound) * weight)

    def _add_linear(self, terms: Sequence[Term]) -> Tensor:
        g, x = self.graph, self._get_numbers([term["feature"] for term in terms])
        low, high = np.array([term["limits"] or [-np.inf, np.inf] for term in terms]).T[:, None, :]
        limited = g.call("Min", g.call("Max", x, low), high)
        missing = g.is_nan(x)
        weights = np.array([term["weights"] for term in terms])
        offsets = np.array([term["offset"] or [0.0] * self.K for term in terms])
        scores = g.where(missing, 0.0, limited) @ weights + g.where(missing, 0.0, 1.0) @ offsets
        dead = np.array([term["impossible"] or [False] * self.K for term in terms])
        if not dead.any():
            return scores
        is_zero = g.call("Or", missing, g.call("Equal", x, 0.0))
        ruled_out = g.constant(0.0) < (g.where(is_zero, 0.0, 1.0) @ dead.astype(np.float64))
        return g.where(ruled_out, -np.inf, scores)

    def _look_up(self, scores: Any, unseen: Any, code: Tensor) -> Tensor:
        """Return the scores of codes, rows × classes: of V levels those of `scores`, of V `unseen`, of V + 1 zero."""
        table = np.concatenate(
            [to_array(scores).reshape(self.K, -1), to_array(unseen)[:, None], np.zeros((self.K, 1))], axis=1
        )
        return self.graph.call("Squeeze", self.graph.call("Gather", table.T.copy(), code, axis=0), np.array([1]))

    def _add_bins(self, term: Term) -> Tensor:
        if not term["cuts"]:
            x = self._get_numbers([term["feature"]])
            return self.graph.where(self.graph.is_nan(x), 0.0, to_array(term["scores"]).T.copy())
        return self._look_up(term["scores"], np.zeros(self.K), self._find_cell(term["feature"], term["cuts"]))

    def _add_levels(self, term: Term) -> Tensor:
        feature, levels = self.features[term["feature"]], term["levels"]
        unseen = [math.nan] * self.K if self.document["unseen"] == "error" else term["unseen"]
        is_joined = len(feature["columns"]) > 1
        code = self._combine(feature, levels) if is_joined else self._find_cell(term["feature"], levels)
        return self._look_up(term["scores"], unseen, code)

    def _add_pair(self, term: Term) -> Tensor:
        """Add the score of the cell of a feature given that of another; 0 where one is missing."""
        scores = to_array(term["scores"])
        table = np.zeros((scores.shape[1] + 1, scores.shape[2] + 1, self.K))
        table[:-1, :-1] = np.moveaxis(scores, 0, -1)
        parent = self._find_pair_cell(term["parent"], term["parent_cells"])
        code = parent * np.int64(table.shape[1]) + self._find_pair_cell(term["feature"], term["cells"])
        found = self.graph.call("Gather", table.reshape(-1, self.K), code, axis=0)
        return self.graph.call("Squeeze", found, np.array([1]))

    def _find_pair_cell(self, name: str, cells: Sequence[Any]) -> Tensor:
        """Return the number of the cell of a number or level; one more than all other levels for an unseen one."""
        term = next((term for term in self.document["terms"] if term.get("feature") == name), None)
        if term is None or "levels" not in term:
            return self._find_cell(name, cells)
        place, n = {cell: v for v, cell in enumerate(cells)}, len(cells)
        of_code = np.array([*(place.get(level, n) for level in term["levels"]), n + 1, n + 1], dtype=np.int64)
        return self.graph.call("Gather", of_code, self._find_cell(name, term["levels"]), axis=0)

    def _find_cell(self, name: str, cells: Sequence[Any]) -> Tensor:
        """Return the number of the bin among n cuts, or of the level among n, rows × 1.

        An unseen level has the number n, as the last bin, and a missing value n + 1.
        """
        g, feature, n = self.graph, self.features[name], len(cells)
        if feature["kind"] != "number":
            column = name if "part" in feature else feature["columns"][0]
            return self._encode(column, cells, feature.get("numeric", [False])[0], n, n + 1)
        x = self._get_numbers([name])
        reached = g.cast(g.call("GreaterOrEqual", x, np.array([cells], dtype=np.float64)), TensorProto.INT64)
        return g.where(g.is_nan(x), np.int64(n + 1), g.reduce("ReduceSum", reached, 1))

    def _encode(self, name: str, levels: Sequence[str], numeric: bool, unseen: int, missing: int) -> Tensor:
        """Return the number of each level, and these numbers for unseen and missing ones, rows × 1."""
        g, x = self.graph, self.inputs[name]
        if not numeric:
            known = dict.fromkeys(levels)
            spelt = {text: v for v, level in enumerate(levels) for text in spell_level(level, known)}
            codes = spelt | dict.fromkeys(["", *self.document["markers"]], missing)
            codes |= {EMPTY_LEVEL: spelt.get("", unseen)}
            keys, values = list(codes), list(codes.values())
            return g.call(
                "LabelEncoder", x, domain="ai.onnx.ml", keys_strings=keys, values_int64s=values, default_int64=unseen
            )
        if not levels:
            return g.where(g.is_nan(x), np.int64(missing), np.int64(unseen))
        same = g.cast(g.call("Equal", x, np.array([[float(level) for level in levels]])), TensorProto.INT64)
        is_known = g.constant(np.int64(0)) < g.reduce("ReduceMax", same, 1)
        code = g.where(is_known, g.call("ArgMax", same, axis=1, keepdims=1), np.int64(unseen))
        return g.where(g.is_nan(x), np.int64(missing), code)

    def _combine(self, feature: Any, levels: Sequence[str]) -> Tensor:
        """Return the number of each combination of levels; one past the last for unseen, two for missing ones."""
        g, split = self.graph, [split_levels(level) for level in levels]
        own = [list(dict.fromkeys(column)) for column in zip(*split)] or [[] for _ in feature["columns"]]
        sizes = [len(each) + 2 for each in own]
        if math.prod(sizes) > MAX_TABLE_COMBINATIONS:
            raise InputError(
                f"the columns {feature['columns']} have {math.prod(sizes)} combinations of levels, and at most "
                f"{MAX_TABLE_COMBINATIONS} can be exported to ONNX. Hint: join fewer columns"
            )
        table = np.full(sizes, len(levels), dtype=np.int64)
        for axis, size in enumerate(sizes):
            np.moveaxis(table, axis, 0)[size - 1] = len(levels) + 1
        for v, parts in enumerate(split):
            table[tuple(each.index(part) for each, part in zip(own, parts))] = v
        total = None
        for column, each, size, numeric in zip(feature["columns"], own, sizes, feature["numeric"]):
            code = self._encode(column, each, numeric, size - 2, size - 1)
            total = code if total is None else total * np.int64(size) + code
        return g.call("Gather", table.reshape(-1), total, axis=0)

    def _add_text(self, term: Term) -> Tensor:
        g, counts, words = self.graph, self.inputs[term["feature"]], self.document["words"]
        weights = to_array(term["weights"]).T.copy()
        values = counts
        if words["values"] == "presence":
            values = g.where(g.constant(0.0) < counts, 1.0, 0.0)
        elif words["values"] == "log":
            values = g.call("Log", counts + 1.0)
        if words["length"] is not None:
            total = g.reduce("ReduceSum", values if words["length"] == "l1" else values * values, 1)
            size = total if words["length"] == "l1" else g.call("Sqrt", total)
            values = values / g.where(g.constant(0.0) < size, size, 1.0)
        dead = np.isneginf(weights)
        scores = values @ np.where(dead, 0.0, weights)
        if not dead.any():
            return scores
        ruled_out = g.constant(0.0) < (values @ dead.astype(np.float64))
        return g.where(ruled_out, -np.inf, scores)

    def _add_joint_gaussian(self, term: Term) -> Tensor:
        """Add t · (−½ zᵀz − ln|L|); a missing feature has the row and column of the unit matrix in Σ = LLᵀ.

        Scores are bounded by that of the likeliest class, less the bound for each present feature.
        """
        g, d = self.graph, len(term["features"])
        covariance, mean = np.array(term["covariance"]), np.array(term["mean"])
        x = self._get_numbers(term["features"])
        far = g.is_nan(x)
        if term["limits"] is not None:
            low, high = np.array(term["limits"])[:, None, :]
            is_far = g.call("Or", x < low, g.constant(high) < x)
            far = g.call("Or", far, is_far)
        columns = [g.column(x, i) for i in range(d)]
        have = [g.column(g.where(far, 0.0, 1.0), i) for i in range(d)]
        lower: dict[tuple[int, int], Tensor] = {}
        z: list[Tensor] = []
        for j in range(d):
            row = [lower[j, m] for m in range(j)]
            own = have[j] * covariance[None, :, j, j] + (g.constant(1.0) - have[j])
            lower[j, j] = g.call("Sqrt", _subtract_products(own, row, row))
            for i in range(j + 1, d):
                entry = have[i] * have[j] * covariance[None, :, i, j]
                lower[i, j] = _subtract_products(entry, [lower[i, m] for m in range(j)], row) / lower[j, j]
            gap = g.where(g.call("Greater", have[j], 0.0), columns[j] - mean[None, :, j], 0.0)
            z.append(_subtract_products(gap, row, z) / lower[j, j])
        squares = reduce(add, [each * each for each in z])
        logs = reduce(add, [g.call("Log", lower[j, j]) for j in range(d)])
        score = squares * -0.5 - logs
        score = g.where(g.is_nan(score), -np.inf, score)  # squares overflow
        if term["bound"] is not None:
            n_present = g.reduce("ReduceSum", g.concatenate(have), 1)
            score = g.call("Max", score, g.reduce("ReduceMax", score, 1) - n_present * term["bound"])
        return score * term["weight"]

    # Posterior

    def _normalise(self, joint: Tensor) -> Tensor:
        """Return ln p(k|x); by the intercept alone where every class is impossible."""
        g = self.graph
        top = g.reduce("ReduceMax", joint, 1)
        joint = g.where(g.call("Equal", top, -np.inf), self._compute_intercept()[None, :], joint)
        return self._subtract_total(joint)

    def _subtract_total(self, scores: Tensor) -> Tensor:
        """Return scores less their log-sum-exp over the classes."""
        top = self.graph.reduce("ReduceMax", scores, 1)
        below = scores - top
        return below - self.graph.log_sum_exp(below, 1)

    def _calibrate(self, claimed: Tensor) -> Tensor:
        """Return calibrated ln p(k|x) under the present prior."""
        g, c = self.graph, self.document["calibration"]
        if c is None:
            return claimed
        slope, shifts = find_line(self.document)
        if slope is None:
            mapped = self._subtract_total(self._apply_isotonic(claimed, c["curves"]))
        else:
            mapped = claimed * slope if slope else g.where(g.is_nan(claimed), claimed, 0.0)
        moved = mapped + to_array(shifts)[None, :]
        nothing = g.call("Equal", g.reduce("ReduceMax", moved, 1), -np.inf)
        return self._subtract_total(g.where(nothing, to_array(self.document["log_prior"])[None, :], moved))

    def _apply_isotonic(self, claimed: Tensor, curves: Sequence[Any]) -> Tensor:
        """Return the scores of an isotonic map of the log-odds of each class against the others."""
        g = self.graph
        if self.K == 2:
            y = self._interpolate(self._compute_log_odds(claimed, 1), curves[0])
            return g.concatenate([self._log_sigmoid(y * -1.0), self._log_sigmoid(y)])
        bent = [self._interpolate(self._compute_log_odds(claimed, k), curve) for k, curve in enumerate(curves)]
        return g.concatenate([self._log_sigmoid(y) for y in bent])

    def _compute_log_odds(self, claimed: Tensor, k: int) -> Tensor:
        """Return the log-odds of a class against all others, within ±MAX_LOG_ODDS."""
        g = self.graph
        own = g.call("Min", g.column(claimed, k), 0.0)
        others = g.concatenate([g.column(claimed, l) for l in range(self.K) if l != k])
        near_one = own - g.log_sum_exp(others, 1)
        odds = g.where(
            g.constant(NEAR_ONE_LOG_PROBABILITY) < own,
            near_one,
            own - g.call("Log", g.constant(1.0) - g.call("Exp", own)),
        )
        return g.call("Min", g.call("Max", odds, -MAX_LOG_ODDS), MAX_LOG_ODDS)

    def _interpolate(self, x: Tensor, curve: Any) -> Tensor:
        """Return a piecewise linear function of x, constant beyond its first and last point."""
        g, claimed, true = self.graph, np.array(curve["claimed"]), np.array(curve["true"])
        slopes = np.concatenate([[0.0], np.diff(true) / np.diff(claimed), [0.0]])
        piece = g.reduce("ReduceSum", g.cast(g.call("GreaterOrEqual", x, claimed[None, :]), TensorProto.INT64), 1)
        start, height = (np.concatenate([[values[0]], values]) for values in (claimed, true))
        slope, first, base = (g.call("Gather", table, piece, axis=0) for table in (slopes, start, height))
        return base + slope * (x - first)

    def _log_sigmoid(self, x: Tensor) -> Tensor:
        """Return −ln(1 + e^−x)."""
        g = self.graph
        rest = g.call("Log", g.call("Exp", g.call("Abs", x) * -1.0) + 1.0)
        return g.call("Min", x, 0.0) - rest
