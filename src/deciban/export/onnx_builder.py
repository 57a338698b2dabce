"""The nodes of an ONNX graph under construction: each call of an operator returns the tensor that it computes.

Tensors of rows have a row for each row of the input; all numbers are doubles.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from deciban.errors import InputError, MissingExtraError

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    raise MissingExtraError(
        "ONNX files are written by onnx, which is not installed. Hint: pip install 'deciban[onnx]'"
    ) from None

OPSET, ML_OPSET, IR_VERSION = 18, 3, 9
"""Versions of the operators and of the file format; onnxruntime reads them since 1.14 (2023)."""

INNER_PREFIX = "deciban:"
"""The first characters of the names of all tensors that are no inputs and no outputs."""

OUTPUTS = ("label", "probabilities")
"""The names of the outputs."""


def check_input_name(name: str, others: Container[str]) -> None:
    """Refuse a name that an input cannot have."""
    is_taken = name in others or name in OUTPUTS or name.startswith(INNER_PREFIX)
    if not name or is_taken or "\0" in name:
        raise InputError(
            f"{name!r} cannot be the name of an input: it is empty, has a zero byte, or another tensor has it. "
            f"Hint: rename the column before training"
        )


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph, with the arithmetic of arrays."""

    graph: Graph
    name: str

    def __add__(self, other: Tensor | Any) -> Tensor:
        return self.graph.call("Add", self, other)

    def __sub__(self, other: Tensor | Any) -> Tensor:
        return self.graph.call("Sub", self, other)

    def __mul__(self, other: Tensor | Any) -> Tensor:
        return self.graph.call("Mul", self, other)

    def __truediv__(self, other: Tensor | Any) -> Tensor:
        return self.graph.call("Div", self, other)

    def __lt__(self, other: Tensor | Any) -> Tensor:
        return self.graph.call("Less", self, other)

    def __matmul__(self, other: Tensor | Any) -> Tensor:
        return self.graph.call("MatMul", self, other)


@dataclass
class Graph:
    """The inputs, constants and nodes of a graph."""

    inputs: list[Any] = field(default_factory=list)
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def input(self, name: str, kind: int, width: int = 1) -> Tensor:
        """Add an input with a row for each row, of this element type and width."""
        self.inputs.append(helper.make_tensor_value_info(name, kind, ["rows", width]))
        return Tensor(self, name)

    def constant(self, value: Any) -> Tensor:
        """Add an array: numbers as doubles unless they are integers or truth values, texts as texts."""
        array = np.asarray(value)
        array = array.astype(object) if array.dtype.kind in "UO" else array
        name = f"{INNER_PREFIX}constant:{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return Tensor(self, name)

    def call(self, operator: str, *inputs: Tensor | Any, domain: str = "", **attributes: Any) -> Tensor:
        """Add a node, and return what it computes; arguments that are no tensors become constants."""
        names = [(x if isinstance(x, Tensor) else self.constant(x)).name for x in inputs]
        out = f"{INNER_PREFIX}{operator}:{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, names, [out], domain=domain, **attributes))
        return Tensor(self, out)

    def where(self, condition: Tensor, a: Tensor | Any, b: Tensor | Any) -> Tensor:
        """Return a where the condition holds, else b."""
        return self.call("Where", condition, a, b)

    def is_nan(self, x: Tensor) -> Tensor:
        """Return which numbers are NaN."""
        return self.call("IsNaN", x)

    def reduce(self, operator: str, x: Tensor, axis: int, keep: bool = True) -> Tensor:
        """Return the sum or the greatest (ReduceSum, ReduceMax) along an axis, which is dropped unless `keep`."""
        return self.call(operator, x, np.array([axis]), keepdims=int(keep))

    def cast(self, x: Tensor, kind: int) -> Tensor:
        """Return x as another element type."""
        return self.call("Cast", x, to=kind)

    def column(self, x: Tensor, k: int) -> Tensor:
        """Return column k of a matrix, as a matrix of one column."""
        return self.call("Gather", x, np.array([k]), axis=1)

    def concatenate(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return matrices side by side."""
        return tensors[0] if len(tensors) == 1 else self.call("Concat", *tensors, axis=1)

    def log_sum_exp(self, x: Tensor, axis: int) -> Tensor:
        """Return ln Σ exp along an axis; −∞ where all are."""
        top = self.reduce("ReduceMax", x, axis)
        base = self.where(top < -1e306, 0.0, top)
        return base + self.call("Log", self.reduce("ReduceSum", self.call("Exp", x - base), axis))

    def write(self, outputs: Sequence[tuple[Tensor, str, int, list[Any]]], metadata: dict[str, str]) -> bytes:
        """Return the bytes of a model with these outputs: each tensor, its name, its element type and its shape."""
        nodes = [*self.nodes, *(helper.make_node("Identity", [t.name], [name]) for t, name, _, _ in outputs)]
        infos = [helper.make_tensor_value_info(name, kind, shape) for _, name, kind, shape in outputs]
        graph = helper.make_graph(nodes, "deciban", self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="deciban")
        helper.set_model_props(model, metadata)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


__all__ = ["Graph", "Tensor", "TensorProto", "check_input_name"]
