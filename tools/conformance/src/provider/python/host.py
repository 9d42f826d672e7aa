"""What cases share: the provider in ONNX Runtime, and how results are compared."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import models
import numpy
import onnxruntime

NAME = "tenon_check"
"""The name under which the library is registered."""

CPU = "CPUExecutionProvider"

TOLERANCE = {"float64": 1e-8, "float32": 1e-3, "float16": 2e-2}
"""The difference that is allowed, relative to the largest element. Other types must be equal."""

HEADER = "onnxruntime_ep_c_api.h"
"""The header that says what a provider does."""

OPSET = 17

Array = Any
"""An array of NumPy."""


class Skipped(Exception):
    """A case cannot be tried. The message says why."""


class Broken(Exception):
    """A promise is broken. The message says how."""


@dataclass
class Case:
    """A test case."""

    name: str
    promise: str
    source: str
    level: str
    body: Callable[[Host], None]

    @property
    def group(self) -> str:
        """The cases of a group share a process, but for those that register the library."""
        return self.name.partition(".")[0]


CASES: dict[str, Case] = {}
"""All cases, in the order in which they run."""

Body = Callable[["Host"], None]


def case(name: str, promise: str, source: str, level: str = "promised") -> Callable[[Body], Body]:
    """Adds a case."""

    def add(body: Body) -> Body:
        CASES[name] = Case(name, promise, source, level, body)
        return body

    return add


def fail(reason: str) -> NoReturn:
    """Ends a case: the promise is broken."""
    raise Broken(reason)


def require(holds: bool, reason: str) -> None:
    """Ends a case unless a condition holds."""
    if not holds:
        fail(reason)


def skip(reason: str) -> NoReturn:
    """Ends a case that cannot be tried."""
    raise Skipped(reason)


def said(error: Exception) -> str:
    """Returns what an error says, without where ONNX Runtime found it."""
    text = str(error).strip() or repr(error)
    if not type(error).__module__.startswith("onnxruntime"):
        return f"{type(error).__name__}: {text}"
    return re.split(r"\[ONNXRuntimeError\] : \d+ : \w+ : ", text)[-1].strip() or text


class Host:
    """ONNX Runtime, with the library that is tested."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.is_registered = False
        self.others = {device.ep_name for device in onnxruntime.get_ep_devices()}

    @property
    def minor(self) -> int:
        """The number of the release."""
        return int(onnxruntime.__version__.split(".")[1])

    def register(self) -> None:
        """Registers the library, unless it is."""
        if not self.is_registered:
            onnxruntime.register_execution_provider_library(NAME, self.library)
            self.is_registered = True

    def unregister(self) -> None:
        """Unregisters the library. No session must be alive."""
        gc.collect()
        onnxruntime.unregister_execution_provider_library(NAME)
        self.is_registered = False

    def devices(self) -> list[Any]:
        """Returns the devices of the library, which is registered if it is not."""
        self.register()
        listed = onnxruntime.get_ep_devices()
        return [device for device in listed if device.ep_name not in self.others]

    def device(self) -> Any:
        """Returns the first device of the library."""
        found = self.devices()
        require(bool(found), "the library lists no device on this machine")
        return found[0]

    def session(
        self,
        model: bytes,
        *,
        on_device: bool = True,
        is_optimised: bool = True,
        profile: str | None = None,
        settings: Mapping[str, str] | None = None,
        entries: Mapping[str, str] | None = None,
    ) -> Any:
        """Makes a session on the first device or on the CPU.

        Args:
            model: The model.
            on_device: Whether the provider that is tested is used.
            is_optimised: Whether ONNX Runtime may change the model.
            profile: What the name of a profile begins with.
            settings: Options of the provider.
            entries: Configuration of the session.
        """
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 1
        if profile is not None:
            options.enable_profiling = True
            options.profile_file_prefix = profile
        if not is_optimised:
            level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.graph_optimization_level = level
        for key, value in (entries or {}).items():
            options.add_session_config_entry(key, value)
        if on_device:
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
            options.add_provider_for_devices([self.device()], dict(settings or {}))
        # Some releases hide an error of the provider otherwise.
        return onnxruntime.InferenceSession(model, options, enable_fallback=0)

    def taken(self, session: Any) -> list[str] | None:
        """Returns the operators of the nodes on the device; None if the release does not tell."""
        if not hasattr(session, "get_provider_graph_assignment_info"):
            return None
        parts = session.get_provider_graph_assignment_info()
        return [node.op_type for part in parts if part.ep_name != CPU for node in part.get_nodes()]


def of_arrays(
    nodes: Sequence[models.Node],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, str],
    weights: Mapping[str, Array] | None = None,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    opset: int = OPSET,
) -> bytes:
    """Returns a model whose inputs have the types and shapes of arrays.

    Args:
        nodes: The nodes.
        inputs: The arrays.
        outputs: The types of the outputs.
        weights: Inputs of nodes that never change.
        shapes: Shapes of inputs that are not those of the arrays.
        opset: The version of ONNX's operators.
    """
    given = [
        models.described(name, kind_of(array), (shapes or {}).get(name, array.shape)) for name, array in inputs.items()
    ]
    results = [models.described(name, kind, None) for name, kind in outputs.items()]
    return models.model(models.graph(nodes, given, results, weights), opset)


def kind_of(array: Array) -> str:
    """Returns the name of the type of an array."""
    return "str" if array.dtype.kind in "OUS" else str(array.dtype.name)


def chain() -> list[models.Node]:
    """Returns the nodes of `y = Relu(a + b) * a`."""
    return [
        models.Node("Add", ["a", "b"], ["sum"], name="first"),
        models.Node("Relu", ["sum"], ["positive"], name="second"),
        models.Node("Mul", ["positive", "a"], ["y"], name="third"),
    ]


def of_chain(inputs: Mapping[str, Array]) -> Array:
    """Returns what the nodes of [`chain`] compute."""
    return numpy.maximum(inputs["a"] + inputs["b"], 0) * inputs["a"]


def random(*shape: int, seed: int = 0) -> Array:
    """Returns normally distributed numbers."""
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def pair(*shape: int, seed: int = 0) -> dict[str, Array]:
    """Returns the inputs of [`chain`]."""
    return {"a": random(*shape, seed=seed), "b": random(*shape, seed=seed + 1)}


def difference(found: Array, expected: Array) -> str | None:
    """Says in what an array differs from the expected one, if it does."""
    found, expected = numpy.asarray(found), numpy.asarray(expected)
    ends = (
        f"{kind_of(found)} {list(found.shape)}",
        f"{kind_of(expected)} {list(expected.shape)}",
    )
    if ends[0] != ends[1]:
        return f"it is {ends[0]} in place of {ends[1]}"
    kind = kind_of(expected)
    if kind in TOLERANCE:
        wide = found.astype("float64"), expected.astype("float64")
        sizes = numpy.abs(wide[1])
        largest = float(numpy.max(sizes, where=numpy.isfinite(sizes), initial=0.0))
        allowed = TOLERANCE[kind] * max(largest, 1e-3)
        wrong = ~numpy.isclose(*wide, rtol=0.0, atol=allowed, equal_nan=True)
    else:
        wrong = numpy.asarray(found != expected)
    if not wrong.any():
        return None
    index = tuple(int(place) for place in numpy.argwhere(wrong)[0])
    count = int(wrong.sum())
    others = "" if count == 1 else f", and {count - 1} more of {wrong.size} elements are wrong"
    return f"element {list(index)} is {found[index]} in place of {expected[index]}{others}"


def expect(found: Array, expected: Array, what: str) -> None:
    """Ends a case if an array is not the expected one."""
    wrong = difference(found, expected)
    if wrong is not None:
        fail(f"{what}: {wrong}")
