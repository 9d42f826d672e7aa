"""Calls of operators that are compared with Paddle's CPU: results and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import paddle
from numpy.typing import NDArray

from host import normal, on_both

Array = NDArray[Any]


@dataclass
class Case:
    """A call of an operator."""

    compute: Callable[..., Any]
    """Takes the arguments as tensors; returns a tensor or a tuple of tensors."""
    arguments: tuple[Array, ...]
    """Floating-point and complex ones get gradients."""
    tolerance: float = 1e-5
    double: float = 1e-10
    """The tolerance for float64."""


def results(case: Case, dtype: str) -> list[Array]:
    """Returns the results of a call, and the gradients of its arguments."""
    arguments = []
    complex_type = {"float32": "complex64", "float64": "complex128"}.get(dtype, dtype)
    for array in case.arguments:
        ty = {"f": dtype, "c": complex_type}.get(array.dtype.kind)
        tensor = paddle.to_tensor(array.astype(ty) if ty else array)
        tensor.stop_gradient = ty is None
        arguments.append(tensor)
    found = case.compute(*arguments)
    outputs = found if isinstance(found, (tuple, list)) else (found,)
    total = paddle.zeros([], dtype)
    for output in outputs:
        if output.is_complex() and not output.stop_gradient:
            output = paddle.as_real(output)
        if "float" in str(output.dtype) and not output.stop_gradient:
            # Weights, so that a gradient that is the same everywhere does not hide a mistake.
            weights = paddle.to_tensor(normal(*output.shape, seed=99).astype(dtype))
            total = total + (output * weights).sum()
    if not total.stop_gradient:
        total.backward()
    gradients = [
        argument.grad.numpy()
        for argument in arguments
        if getattr(argument, "grad", None) is not None
    ]
    return [output.numpy() for output in outputs] + gradients


def check(case: Case, dtype: str) -> None:
    """Compares the results and the gradients of a call on the device and on the CPU."""
    ours, theirs = on_both(lambda: results(case, dtype))
    assert len(ours) == len(theirs)
    tolerance = case.tolerance if dtype == "float32" else case.double
    for mine, expected in zip(ours, theirs):
        assert mine.dtype == expected.dtype
        np.testing.assert_allclose(mine, expected, rtol=tolerance, atol=tolerance)
