"""Normalisation with and without a scale and a bias, against its formula of other operators.

Paddle's CPU is no reference: its `group_norm` without a scale has a wrong gradient in some
releases.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import RELEASE, normal, on_both

Parameter = Any
"""A scale or a bias: a tensor or None."""

SHAPE = (3, 4, 5)


def composed(x: Any, axes: list[int], weight: Parameter, bias: Parameter) -> Any:
    """Normalises over some dimensions."""
    centred = x - x.mean(axes, keepdim=True)
    result = centred / paddle.sqrt((centred * centred).mean(axes, keepdim=True) + 1e-5)
    result = result if weight is None else result * weight
    return result if bias is None else result + bias


def per_channel(parameter: Parameter) -> Parameter:
    """Gives a parameter of the channels the rank of the input."""
    return None if parameter is None else parameter.reshape([-1, 1])


def in_groups(x: Any, weight: Parameter, bias: Parameter) -> Any:
    """Normalises two groups of channels."""
    grouped = composed(x.reshape([SHAPE[0], 2, -1]), [2], None, None).reshape(x.shape)
    grouped = grouped if weight is None else grouped * per_channel(weight)
    return grouped if bias is None else grouped + per_channel(bias)


def group_norm(x: Any, weight: Parameter, bias: Parameter) -> Any:
    """Calls the operator: 2.6 has no function for it."""
    if RELEASE < (3, 0):
        return paddle._C_ops.group_norm(x, weight, bias, 1e-5, 2, "NCHW")
    return F.group_norm(x, 2, 1e-5, weight, bias)


def batch_norm(x: Any, weight: Parameter, bias: Parameter) -> Any:
    """Normalises over the batch, and updates running statistics that nobody reads."""
    mean, variance = paddle.zeros([SHAPE[1]], x.dtype), paddle.ones([SHAPE[1]], x.dtype)
    return F.batch_norm(x, mean, variance, weight, bias, training=True)


Norm = Callable[[Any, Parameter, Parameter], Any]

NORMS: dict[str, tuple[int, Norm, Norm]] = {
    "layer_norm": (
        SHAPE[2],
        lambda x, w, b: F.layer_norm(x, SHAPE[2:], w, b),
        lambda x, w, b: composed(x, [2], w, b),
    ),
    "layer_norm of two dimensions": (
        SHAPE[1] * SHAPE[2],
        lambda x, w, b: F.layer_norm(x, SHAPE[1:], w, b),
        lambda x, w, b: composed(x.reshape([SHAPE[0], -1]), [1], w, b).reshape(x.shape),
    ),
    "group_norm": (SHAPE[1], group_norm, in_groups),
    "instance_norm": (
        SHAPE[1],
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5),
        lambda x, w, b: composed(x, [2], per_channel(w), per_channel(b)),
    ),
    "batch_norm": (
        SHAPE[1],
        batch_norm,
        lambda x, w, b: composed(x, [0, 2], per_channel(w), per_channel(b)),
    ),
}
"""The length of the parameters, Paddle's function, and its formula."""


def results(norm: Norm, count: int, given: str, dtype: str) -> list[Any]:
    """Returns the result, and the gradients of the input and of the parameters."""
    tensors = []
    for name, shape in (("x", SHAPE), ("weight", (count,)), ("bias", (count,))):
        if name == "x" or name in given:
            tensor = paddle.to_tensor(normal(*shape, seed=len(name)).astype(dtype))
            tensor.stop_gradient = False
            tensors.append(tensor)
        else:
            tensors.append(None)
    found = norm(*tensors)
    (found * paddle.to_tensor(normal(*SHAPE, seed=9).astype(dtype))).sum().backward()
    return [found] + [tensor.grad for tensor in tensors if tensor is not None]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("given", ["neither", "weight", "bias", "weight and bias"])
@pytest.mark.parametrize("name", NORMS)
def test_the_scale_and_the_bias_are_optional(name: str, given: str, dtype: str) -> None:
    """The gradients of what is given are those of the formula."""
    count, norm, formula = NORMS[name]
    paddle.set_device("cpu")
    wanted = [tensor.numpy() for tensor in results(formula, count, given, dtype)]
    ours, _ = on_both(lambda: results(norm, count, given, dtype))
    tolerance = 1e-5 if dtype == "float32" else 1e-11
    assert len(ours) == len(wanted)
    for mine, expected in zip(ours, wanted):
        assert str(mine.dtype) == f"paddle.{dtype}"
        np.testing.assert_allclose(mine.numpy(), expected, rtol=tolerance, atol=tolerance)
