"""Compares each operator of a program with PaddlePaddle's CPU kernel, on copies of its inputs."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any, Callable

RANDOM = {
    *("bernoulli", "binomial", "class_center_sample", "dirichlet", "dropout", "empty", "empty_like", "exponential"),
    *("fused_dropout_add", "gaussian", "gaussian_inplace", "gumbel_softmax", "multinomial", "normal", "poisson"),
    *("randint", "randperm", "rnn", "rrelu", "standard_gamma", "truncated_gaussian_random", "uniform"),
    *("uniform_inplace", "uniform_random_batch_size_like"),
}
"""Operators whose results are random, or are not set."""

NOT_OPERATORS = ("_", "c_", "all_", "p_", "partial_", "barrier", "run_program", "share_", "copy_to", "memcpy")
"""Beginnings of the names of functions that compute nothing, or with other processes."""

LONGEST = 200
"""Characters of the attributes that are kept."""


class Comparison:
    """Runs operators once more on PaddlePaddle's CPU."""

    def __init__(
        self,
        paddle: types.ModuleType,
        arrays: types.ModuleType,
        tell: Callable[[dict[str, Any]], None],
        pause: Callable[[bool], None],
    ) -> None:
        """Compares nothing yet.

        Args:
            paddle: The module.
            arrays: The module of this folder.
            tell: Called with the first difference of each operator.
            pause: Called with True before, and with False after work that is not the program's.
        """
        self.paddle = paddle
        self.arrays = arrays
        self.tell = tell
        self.pause = pause
        self.is_busy = False
        self.scale = 0.0
        """The largest element of the inputs."""
        self.compared: dict[str, int] = {}
        self.differing: dict[str, int] = {}
        self.failed: dict[str, str] = {}

    def install(self) -> None:
        """Replaces the functions of `paddle._C_ops` wherever PaddlePaddle has them."""
        functions = {
            id(function): (name, function)
            for name, function in vars(self.paddle._C_ops).items()
            if isinstance(function, types.BuiltinFunctionType)
            and not name.startswith(NOT_OPERATORS)
            and name.rstrip("_") not in RANDOM
        }
        wrapped = {key: self.wrap(name, function) for key, (name, function) in functions.items()}
        for module in [*sys.modules.values()]:
            if getattr(module, "__name__", "").startswith("paddle"):
                for name, value in [*vars(module).items()]:
                    if id(value) in wrapped:
                        setattr(module, name, wrapped[id(value)])

    def wrap(self, name: str, operator: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a function that calls an operator and compares its result."""

        @functools.wraps(operator)
        def call(*args: Any, **options: Any) -> Any:
            return self.call(name, operator, args, options)

        return call

    def call(self, name: str, operator: Callable[..., Any], args: Any, options: Any) -> Any:
        """Calls an operator, and compares its result if it had tensors of a custom device."""
        if self.is_busy or not self.paddle.in_dynamic_mode():
            return operator(*args, **options)
        inputs = list(self.tensors((args, options)))
        if not any(tensor.place.is_custom_place() for tensor in inputs):
            return operator(*args, **options)
        copies = None
        with self.aside(name):
            copies = self.copy((args, options))
        result = operator(*args, **options)
        if copies is not None:
            with self.aside(name) as device:
                about = self.about(args, options)
                self.scale = max((self.largest(tensor) for tensor in self.tensors(copies)), default=0.0)
                self.compare(name, operator, copies, result, about)
                if self.paddle.is_grad_enabled() and not name.endswith("_"):
                    self.compare_gradients(name, operator, self.copy((args, options)), inputs, about, device)
        return result

    def about(self, args: Any, options: Any) -> dict[str, Any]:
        """Returns the arguments of an operator for people."""
        values = [*args, *options.values()]
        attributes = ", ".join(repr(value) for value in values if not self.has_tensor(value))
        return {
            "inputs": [describe(tensor) for tensor in self.tensors(values)],
            "attributes": attributes[:LONGEST],
        }

    def compare(self, name: str, operator: Callable[..., Any], copies: Any, result: Any, about: dict[str, Any]) -> None:
        """Compares the result of an operator. An operator in place changes the copies."""
        args, options = copies
        self.paddle.set_device("cpu")
        with self.paddle.no_grad():
            expected = operator(*args, **options)
        self.pair(name, list(self.tensors(result)), list(self.tensors(expected)), about)

    def compare_gradients(
        self,
        name: str,
        operator: Callable[..., Any],
        copies: Any,
        inputs: list[Any],
        about: dict[str, Any],
        device: str,
    ) -> None:
        """Compares the gradients of an operator for random gradients of its results."""
        if all(tensor.stop_gradient for tensor in inputs):
            return
        core = self.paddle.base.core
        kind, _, number = device.partition(":")
        gradients = []
        for place in (core.CustomPlace(kind, int(number or 0)), self.paddle.CPUPlace()):
            self.paddle.set_device("cpu" if place.__class__.__name__ == "CPUPlace" else device)
            leaves: list[Any] = []
            args, options = self.leaves(copies, place, iter(inputs), leaves)
            results = [one for one in self.tensors(operator(*args, **options)) if not one.stop_gradient]
            if not results or any(describe(one)[0] not in self.arrays.TOLERANCE for one in results):
                return
            given = [self.random(one, number, place) for number, one in enumerate(results)]
            gradients.append(self.paddle.grad(results, leaves, grad_outputs=given, allow_unused=True))
        found = [(one, other) for one, other in zip(*gradients) if one is not None and other is not None]
        self.pair(f"{name}_grad", [one for one, _ in found], [other for _, other in found], about)

    def leaves(self, value: Any, place: Any, inputs: Iterator[Any], leaves: list[Any]) -> Any:
        """Copies arguments to a place; collects the tensors that have gradients where the inputs have."""
        if isinstance(value, self.paddle.Tensor):
            copied = value._copy_to(place, True) if value._is_initialized() else value
            copied.stop_gradient = next(inputs).stop_gradient
            if not copied.stop_gradient:
                leaves.append(copied)
            return copied
        if isinstance(value, dict):
            return {key: self.leaves(item, place, inputs, leaves) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)([self.leaves(item, place, inputs, leaves) for item in value])
        return value

    def random(self, like: Any, seed: int, place: Any) -> Any:
        """Returns a gradient for a result, the same on each device."""
        import numpy as np

        numbers = np.random.default_rng(seed).standard_normal(like.shape).astype("float32")
        return self.paddle.to_tensor(numbers, place=place).astype(like.dtype)

    def pair(self, name: str, results: list[Any], expected: list[Any], about: dict[str, Any]) -> None:
        """Compares results with those of the CPU."""
        self.compared[name] = self.compared.get(name, 0) + 1
        for number, (one, other) in enumerate(zip(results, expected)):
            difference = self.differ(one, other)
            if difference is None:
                continue
            self.differing[name] = self.differing.get(name, 0) + 1
            if self.differing[name] == 1:
                seed = self.paddle.base.core.default_cpu_generator().initial_seed()
                self.tell({"operator": name, "output": number, **about, **difference, "seed": seed})
            return

    def differ(self, one: Any, other: Any) -> dict[str, Any] | None:
        """Returns in what a tensor differs from that of the CPU."""
        if not (one._is_initialized() and other._is_initialized()):
            return None
        if describe(one) != describe(other):
            return {"device": describe(one), "cpu": describe(other), "index": None, "largest": None}
        found: dict[str, Any] | None = self.arrays.difference(
            self.values(one), self.values(other), describe(one)[0], self.scale
        )
        return found

    def to_json(self) -> dict[str, Any]:
        """Returns what was compared."""
        return {"compared": self.compared, "differing": self.differing, "failed": self.failed}

    # Tensors.

    def tensors(self, value: Any) -> Iterator[Any]:
        """Returns the tensors in arguments or results."""
        if isinstance(value, self.paddle.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                yield from self.tensors(item)
        elif isinstance(value, dict):
            yield from self.tensors(list(value.values()))

    def has_tensor(self, value: Any) -> bool:
        """Returns whether there is a tensor in a value."""
        return any(True for _ in self.tensors(value))

    def copy(self, value: Any) -> Any:
        """Copies the tensors in arguments to the CPU."""
        core = self.paddle.base.core
        if isinstance(value, self.paddle.Tensor):
            return self.on_cpu(value) if value._is_initialized() else value
        if isinstance(value, dict):
            return {key: self.copy(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)([self.copy(item) for item in value])
        if isinstance(value, (core.Place, core.CustomPlace)):
            return self.paddle.CPUPlace()
        return value

    def on_cpu(self, tensor: Any) -> Any:
        """Returns a copy of a tensor on the CPU, without its gradient."""
        return tensor.detach()._copy_to(self.paddle.CPUPlace(), True)

    def values(self, tensor: Any) -> Any:
        """Returns the elements of a tensor."""
        tensor = self.on_cpu(tensor)
        if describe(tensor)[0] in ("float16", "bfloat16"):
            tensor = tensor.astype("float32")
        return tensor.numpy()

    def largest(self, tensor: Any) -> float:
        """Returns the size of the largest finite element of a tensor."""
        if not tensor._is_initialized():
            return 0.0
        found: float = self.arrays.largest(self.values(tensor), describe(tensor)[0])
        return found

    def aside(self, name: str) -> Aside:
        """Returns the context in which PaddlePaddle is used for the comparison."""
        return Aside(self, name)


class Aside:
    """Keeps work of the comparison apart from that of the program, and its failures too."""

    def __init__(self, comparison: Comparison, name: str) -> None:
        self.comparison = comparison
        self.name = name
        self.device = ""

    def __enter__(self) -> str:
        """Returns the device of the program."""
        comparison = self.comparison
        comparison.pause(True)
        comparison.is_busy = True
        self.device = str(comparison.paddle.get_device())
        return self.device

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        comparison = self.comparison
        comparison.paddle.set_device(self.device)
        comparison.is_busy = False
        comparison.pause(False)
        if not isinstance(error, Exception):
            return False
        comparison.failed.setdefault(self.name, (str(error).strip() or repr(error)).splitlines()[-1])
        return True


def describe(tensor: Any) -> Sequence[Any]:
    """Returns the type and the shape of a tensor."""
    return str(tensor.dtype).rpartition(".")[2], list(tensor.shape)
