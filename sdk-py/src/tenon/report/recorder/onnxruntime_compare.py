"""Compares each node of a model with ONNX Runtime's CPU provider, on the same inputs.

The model runs on the CPU once, with the values between its nodes as outputs. Then each node is a model of its own,
which runs on the device with the values that the CPU has computed.
"""

from __future__ import annotations

import os
import types
from collections.abc import Iterator, Sequence
from typing import Any

RANDOM = {
    *("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform"),
    *("RandomUniformLike", "BiasDropout", "BitmaskDropout", "BitmaskBiasDropout"),
}
"""Operators whose results are random."""

CPU = "CPUExecutionProvider"

KINDS = {"float": "float32", "double": "float64"}
"""Types of elements that ONNX Runtime names in another way."""

LARGEST = 1 << 31
"""A model of more bytes cannot be made."""

LONGEST = 200
"""Characters of the attributes that are kept."""


class Comparison:
    """Runs the nodes of a model once more, on the device and on the CPU."""

    def __init__(self, onnxruntime: types.ModuleType, arrays: types.ModuleType, model: Any, places: Any) -> None:
        """Compares nothing yet.

        Args:
            onnxruntime: The module.
            arrays: The module of this folder.
            model: The path or the bytes of the model.
            places: The devices with their options, the providers, and their options, as the program has chosen them.
        """
        self.onnxruntime: Any = onnxruntime
        self.arrays = arrays
        self.source: Any = model
        self.devices, self.providers, self.provider_options = places
        self.is_over = False
        self.compared = 0
        self.operators: set[str] = set()
        self.differences: list[dict[str, Any]] = []
        self.failed: dict[str, str] = {}

    def to_json(self) -> dict[str, Any]:
        """Returns what was compared."""
        return {
            "operators": len(self.operators),
            "calls": self.compared,
            "differences": self.differences,
            "failed": self.failed,
        }

    def compare(self, names: Sequence[str] | None, inputs: dict[str, Any], results: Sequence[Any]) -> None:
        """Compares the nodes of the model for some inputs, and the results of the session."""
        self.is_over = True
        try:
            import onnx
        except ImportError:
            self.failed["the model"] = "the package onnx is missing: pip install onnx"
            return
        try:
            self.compare_with(onnx, names, inputs, results)
        except Exception as error:
            self.failed["the model"] = last_line(error)

    def compare_with(self, onnx: Any, names: Sequence[str] | None, inputs: dict[str, Any], results: Any) -> None:
        """Compares with the package onnx, which takes models apart."""
        is_path = isinstance(self.source, (str, os.PathLike))
        model = onnx.load(self.source) if is_path else onnx.load_from_string(self.source)
        graph = model.graph
        constants = {tensor.name: tensor for tensor in graph.initializer}
        outputs = [output.name for output in graph.output]
        between = [name for node in graph.node for name in node.output if name and name not in outputs]
        whole = type(model)()
        whole.CopyFrom(model)
        whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in between)
        session = self.session(whole, on_device=False)
        inputs = {name: getattr(value, "numpy", lambda value=value: value)() for name, value in inputs.items()}
        found = session.run([*outputs, *between], inputs)
        values = {**inputs, **dict(zip([*outputs, *between], found))}
        kinds = {value.name: value.type for value in (*session.get_inputs(), *session.get_outputs())}
        for node in graph.node:
            if node.op_type not in RANDOM and node.op_type != "Constant":
                label = node.name or node.output[0]
                try:
                    self.compare_node(onnx, model, node, label, constants, values, kinds)
                except Exception as error:
                    self.failed[f"{node.op_type} ({label})"] = last_line(error)
        wanted = list(names or outputs)
        if not any(node.op_type in RANDOM for node in graph.node):
            self.pair("the whole model", "as the program runs it", wanted, results, values, [*inputs], kinds, "")

    def compare_node(
        self, onnx: Any, model: Any, node: Any, label: str, constants: Any, values: Any, kinds: dict[str, str]
    ) -> None:
        """Runs a node on the device, if its provider takes it."""
        read = list(dict.fromkeys(name for name in inputs_of(node) if name in constants or name in values))
        given = [name for name in read if name not in constants]
        named = [name for name in node.output if name]
        one = onnx.ModelProto()
        one.CopyFrom(model)
        del (
            one.graph.node[:],
            one.graph.input[:],
            one.graph.output[:],
            one.graph.initializer[:],
            one.graph.value_info[:],
        )
        one.graph.node.append(node)
        one.graph.initializer.extend(constants[name] for name in read if name in constants)
        for name in given:
            kind = kinds[name]
            if not kind.startswith("tensor("):
                raise ValueError(f"its input {name} is no tensor")
            element = onnx.TensorProto.DataType.Value(kind[len("tensor(") : -1].upper())
            shape = values[name].shape
            one.graph.input.append(onnx.helper.make_tensor_value_info(name, element, shape))
        one.graph.output.extend(onnx.ValueInfoProto(name=name) for name in named)
        session = self.session(one, on_device=True)
        if not self.is_on_device(session):
            return
        results = session.run(named, {name: values[name] for name in given})
        self.operators.add(node.op_type)
        self.compared += 1
        attributes = ", ".join(onnx.helper.printable_attribute(attribute) for attribute in node.attribute)
        self.pair(node.op_type, label, named, results, values, given, kinds, attributes[:LONGEST])

    def pair(
        self,
        operator: str,
        label: str,
        names: Sequence[str],
        results: Sequence[Any],
        values: dict[str, Any],
        given: Sequence[str],
        kinds: dict[str, str],
        attributes: str,
    ) -> None:
        """Compares results with those of the CPU, and notes the first difference."""
        scale = max((self.largest(values[name], kinds.get(name, "")) for name in given), default=0.0)
        for number, (name, one) in enumerate(zip(names, results)):
            difference = self.differ(one, values[name], kinds.get(name, ""), scale)
            if difference is not None:
                inputs = [describe(values[name]) for name in given]
                about = {"operator": operator, "node": label, "output": number, "inputs": inputs}
                self.differences.append({**about, "attributes": attributes, **difference})
                return

    def differ(self, one: Any, other: Any, kind: str, scale: float) -> dict[str, Any] | None:
        """Returns in what a result differs from that of the CPU. Sequences and maps are not compared."""
        if not (hasattr(one, "dtype") and hasattr(other, "dtype")):
            return None
        if describe(one) != describe(other):
            return {"device": describe(one), "cpu": describe(other), "index": None, "largest": None}
        name = element(kind, one)
        found: dict[str, Any] | None = self.arrays.difference(number(one, name), number(other, name), name, scale)
        return found

    def largest(self, value: Any, kind: str) -> float:
        """Returns the size of the largest element of a value that is floating point."""
        if not hasattr(value, "dtype"):
            return 0.0
        name = element(kind, value)
        found: float = self.arrays.largest(number(value, name), name)
        return found

    def session(self, model: Any, on_device: bool) -> Any:
        """Makes a session that changes nothing in the model."""
        ort = self.onnxruntime
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Errors are reported.
        options.log_severity_level = 4
        providers, settings = [CPU], None
        if on_device:
            providers, settings = self.providers, self.provider_options
            for devices, chosen in self.devices:
                options.add_provider_for_devices(devices, chosen)
            options.enable_profiling = False
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        content = model.SerializeToString()
        if len(content) >= LARGEST:
            raise ValueError("the model is too large")
        return ort.InferenceSession(content, options, providers, settings)

    def is_on_device(self, session: Any) -> bool:
        """Returns whether a node of a session runs on the device. Releases before 1.24 do not tell."""
        if all(provider == CPU for provider in session.get_providers()):
            return False
        if not hasattr(session, "get_provider_graph_assignment_info"):
            return True
        return any(part.ep_name != CPU for part in session.get_provider_graph_assignment_info())


def inputs_of(node: Any) -> Iterator[str]:
    """Returns the values that a node reads, also in its subgraphs."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from inputs_of(inner)


def describe(value: Any) -> list[Any]:
    """Returns the type and the shape of a value."""
    return [str(value.dtype), list(value.shape)] if hasattr(value, "dtype") else [type(value).__name__, []]


def element(kind: str, value: Any) -> str:
    """Returns the name of the type of elements."""
    name = kind[len("tensor(") : -1] if kind.startswith("tensor(") else str(value.dtype)
    return KINDS.get(name, name)


def number(value: Any, kind: str) -> Any:
    """Returns elements with which NumPy can calculate."""
    import numpy as np

    if kind == "bfloat16" and value.dtype.kind in "uV":
        return (value.view("uint16").astype("uint32") << 16).view("float32")
    return value.astype("float32") if kind in ("float16", "bfloat16") else np.asarray(value)


def last_line(error: Exception) -> str:
    """Returns what an error says, without where it was found."""
    return (str(error).strip() or repr(error)).splitlines()[-1]
