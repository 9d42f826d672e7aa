"""Builds compiled programs of one operator or layer, and compares the device with the CPU.

A program runs in one of three ways: as a static program by an `Executor`, compiled by
`to_static`, and saved and run by `paddle.inference`. It knows the dimensions of its inputs, or all
but the first one, or none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import inference

from host import DEVICE, name, normal, place

Array = NDArray[Any]


@dataclass
class Entry:
    """An operator or a layer, with example inputs."""

    make: Callable[[], Callable[..., Any]]
    """Returns the function of the tensors, or a layer with parameters."""
    arguments: tuple[Array, ...]
    tolerance: float = 1e-4
    is_training: bool = True
    """False for a layer that is random in a training."""
    is_differentiable: bool = True
    """False if the CPU's gradients are none, or wrong."""

    def is_constant(self, array: Array) -> bool:
        """Returns True if an argument gets no gradient."""
        return array.dtype.kind != "f" or not self.is_differentiable


class Drawn(paddle.nn.initializer.Initializer):
    """Sets parameters to numbers that are the same on each device."""

    def forward(self, var: Any, block: Any = None) -> Any:
        """Initialises a parameter."""
        values = normal(*var.shape, seed=len(var.shape)) * 0.3
        return paddle.nn.initializer.Assign(values)(var, block)

    __call__ = forward


@contextmanager
def drawn_parameters() -> Iterator[None]:
    """Makes parameters the same on each device, unless a layer asks for a constant."""
    paddle.nn.initializer.set_global_initializer(Drawn(), Drawn())
    try:
        yield
    finally:
        paddle.nn.initializer.set_global_initializer(None, None)


class Graph(paddle.nn.Layer):
    """A function or a layer as a network.

    Functions are traced, because Paddle finds no source of a lambda in a table.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        is_layer = isinstance(function, paddle.nn.Layer)
        self.function = function if is_layer else paddle.jit.not_to_static(function)

    def forward(self, a: Any, b: Any = None, c: Any = None, d: Any = None) -> Any:
        """Calls the function with the tensors that are given."""
        return self.function(*(tensor for tensor in (a, b, c, d) if tensor is not None))


def listed(found: Any) -> list[Any]:
    """Returns the results of a function as a flat list."""
    if isinstance(found, (tuple, list)):
        return [tensor for part in found for tensor in listed(part)]
    return [found]


def is_float(tensor: Any) -> bool:
    """Returns True for a floating-point tensor, in the types of each release."""
    word = str(tensor.dtype).lower().rsplit(".", 1)[-1]
    return word.startswith(("fp", "float"))


def open_shape(shape: tuple[int, ...], dims: str, unknown: Any) -> list[Any]:
    """Returns the shape of an input as a program knows it."""
    count = {"known": 0, "batch": 1, "open": len(shape)}[dims]
    return [unknown] * min(count, len(shape)) + list(shape[count:])


def built(entry: Entry, is_training: bool) -> Callable[..., Any]:
    """Makes the function, or the layer in the wanted mode."""
    with drawn_parameters():
        function = entry.make()
    if isinstance(function, paddle.nn.Layer):
        (function.train if is_training else function.eval)()
    return function


def by_executor(entry: Entry, dims: str, device: str) -> list[Array]:
    """Runs a static program: results, and gradients of the inputs."""
    paddle.enable_static()
    try:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            tensors, feed = [], {}
            for index, array in enumerate(entry.arguments):
                shape = open_shape(array.shape, dims, -1)
                tensor = paddle.static.data(f"x{index}", shape, str(array.dtype))
                tensor.stop_gradient = entry.is_constant(array)
                tensors.append(tensor)
                feed[f"x{index}"] = array
            wanted = listed(built(entry, entry.is_training)(*tensors))
            smooth = [out for out in wanted if is_float(out) and not out.stop_gradient]
            inputs = [tensor for tensor in tensors if not tensor.stop_gradient]
            if smooth and inputs:
                total = sum((out * out).sum() for out in smooth)
                gradients = paddle.static.gradients([total], inputs)
                wanted += [gradient for gradient in gradients if gradient is not None]
            with paddle.static.scope_guard(paddle.static.Scope()):
                executor = paddle.static.Executor(paddle.CPUPlace() if device == "cpu" else place())
                executor.run(startup)
                found: list[Array] = executor.run(main, feed=feed, fetch_list=wanted)
                return found
    finally:
        paddle.disable_static()


def specs(entry: Entry, dims: str) -> list[Any]:
    """Returns what a program knows of its inputs."""
    return [
        paddle.static.InputSpec(open_shape(array.shape, dims, None), str(array.dtype))
        for array in entry.arguments
    ]


def by_compiler(entry: Entry, dims: str, device: str) -> list[Array]:
    """Runs a compiled function: results, and gradients of the inputs."""
    paddle.set_device(device)
    network = Graph(built(entry, entry.is_training))
    function = paddle.jit.to_static(network, input_spec=specs(entry, dims), full_graph=True)
    tensors = []
    for array in entry.arguments:
        tensors.append(paddle.to_tensor(array, stop_gradient=entry.is_constant(array)))
    outputs = listed(function(*tensors))
    smooth = [out for out in outputs if is_float(out) and not out.stop_gradient]
    if smooth:
        sum((out * out).sum() for out in smooth).backward()
    gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
    return [tensor.numpy() for tensor in outputs + gradients]


def by_predictor(entry: Entry, dims: str, device: str) -> list[Array]:
    """Saves a network, and runs it by `paddle.inference`."""
    paddle.set_device("cpu")
    network = Graph(built(entry, False))
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net")
        paddle.jit.save(network, path, input_spec=specs(entry, dims))
        program = f"{path}.json" if Path(f"{path}.json").exists() else f"{path}.pdmodel"
        weights = f"{path}.pdiparams"
        config = inference.Config(program, weights if Path(weights).exists() else "")
        config.disable_glog_info()
        if device != "cpu":
            config.enable_custom_device(DEVICE, 0)
        else:
            # With oneDNN, `softplus` ignores its threshold, and `float64` is summed in `float32`.
            config.disable_mkldnn()
        predictor = inference.create_predictor(config)
    for given, array in zip(predictor.get_input_names(), entry.arguments):
        handle = predictor.get_input_handle(given)
        handle.reshape(array.shape)
        handle.copy_from_cpu(array)
    predictor.run()
    return [
        predictor.get_output_handle(output).copy_to_cpu() for output in predictor.get_output_names()
    ]


WAYS: dict[str, Callable[[Entry, str, str], list[Array]]] = {
    "executor": by_executor,
    "to_static": by_compiler,
    "predictor": by_predictor,
}
"""How a program is run."""

DIMS = ("known", "batch", "open")
"""Which dimensions of its inputs a program knows: all, all but the first, none."""

CELLS = [(way, dims) for way in WAYS for dims in DIMS]
"""The cells of the net for each entry."""


def wanted(entry: Entry, way: str, dims: str) -> list[Array] | None:
    """Returns what Paddle's CPU computes; `None` if it refuses the program."""
    paddle.seed(0)
    try:
        return WAYS[way](entry, dims, "cpu")
    except Exception:  # noqa: BLE001  # Paddle refuses programs by many types.
        return None
    finally:
        paddle.disable_static()


def check(entry: Entry, way: str, dims: str, expected: list[Array]) -> None:
    """Compares what the device computes.

    Paddle's CPU may contradict itself: before 3.1, a gradient of `expand_as` is zero if the program
    does not know a shape. Then what it computes with known shapes decides.
    """
    paddle.seed(0)
    found = WAYS[way](entry, dims, name())
    try:
        compare(found, expected, entry.tolerance)
    except AssertionError:
        known = None if dims == "known" else wanted(entry, way, "known")
        if known is None:
            raise
        compare(found, known, entry.tolerance)


def compare(found: list[Array], expected: list[Array], tolerance: float) -> None:
    """Compares shapes, types and elements."""
    assert len(found) == len(expected)
    for mine, other in zip(found, expected):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
