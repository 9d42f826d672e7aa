"""Writes in place through views, and which kernels of Paddle's operators in place are ours.

Paddle computes an operator that a device lacks on the CPU, and gives the output new memory: what
an operator in place writes to a view would be lost without a message.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray
from paddle import _C_ops
from paddle.base import core

from host import DEVICE, RELEASE, on_both

Array = NDArray[Any]
Operation = Callable[[Any], Any]

VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "rows": lambda x: x[1:3],
    "row": lambda x: x[2],
    "column": lambda x: x[:, 1],
    "every second row": lambda x: x[::2],
    "part": lambda x: x[1:4, 2:5],
    "transposed": lambda x: x.transpose([1, 0]),
    "reshaped": lambda x: paddle.reshape(x, [3, 8]),
    "with one more dimension": lambda x: paddle.unsqueeze(x, 0),
    "flat": paddle.flatten,
    "half": lambda x: paddle.split(x, 2)[1],
    "without a dimension": lambda x: paddle.squeeze(x[1:2], 0),
    "view of a view": lambda x: x[1:].transpose([1, 0])[2:4],
}
"""Tensors that may share the memory of another one."""

SHARED_BEFORE_30 = ("whole", "reshaped", "with one more dimension", "flat", "half")
"""The views of 2.6 that share memory on a custom device: slices are copies there."""


def method(name: str, *arguments: Any) -> Operation:
    """A call of a method of tensors."""
    return lambda x: getattr(x, name)(*arguments)


def with_ones(name: str) -> Operation:
    """A call of a method with a tensor of the same shape, of numbers other than zero."""
    return lambda x: getattr(x, name)(paddle.ones_like(x) * 1.5)


UNARY = """
    abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ cos_ cosh_ digamma_ erf_ exp_ expm1_ floor_
    frac_ gammaln_ i0_ lgamma_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ reciprocal_ round_
    rsqrt_ sigmoid_ sin_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ zero_
"""
BINARY = "add_ subtract_ multiply_ divide_ remainder_ floor_divide_ mod_ copysign_ hypot_ ldexp_"
OPERATIONS: dict[str, Operation] = {
    **{name: method(name) for name in UNARY.split()},
    **{name: with_ones(name) for name in BINARY.split()},
    "scale_": method("scale_", 2.0),
    "scale_ and shift": lambda x: x.scale_(2.0, 1.0, False),
    "clip_": method("clip_", -0.2, 0.3),
    "pow_": method("pow_", 2.0),
    "lerp_": lambda x: x.lerp_(paddle.ones_like(x), 0.25),
    "cumsum_": method("cumsum_", -1),
    "cumprod_": method("cumprod_", -1),
    "softmax_": lambda x: F.softmax_(x),
    "relu_": lambda x: F.relu_(x),
    "elu_": lambda x: F.elu_(x),
    "leaky_relu_": lambda x: F.leaky_relu_(x, 0.2),
    "hardtanh_": lambda x: F.hardtanh_(x),
    "thresholded_relu_": lambda x: F.thresholded_relu_(x),
    "erfinv_": lambda x: x.scale_(0.5).erfinv_(),
    "gammainc_": lambda x: x.abs_().gammainc_(paddle.ones_like(x) * 1.5),
    "gammaincc_": lambda x: x.abs_().gammaincc_(paddle.ones_like(x) * 1.5),
    "polygamma_": method("polygamma_", 1),
    "fill_": method("fill_", 3.0),
    "assign": lambda x: paddle.assign(paddle.ones_like(x) * 7, output=x),
    "assign a list": lambda x: paddle.assign(np.ones(x.shape, "float32") * 5, output=x),
    "set_value": lambda x: x.set_value(np.ones(x.shape, "float32") * 5),
    "copy_": lambda x: x.copy_(paddle.ones_like(x) * 9, True),
    "masked_fill_": lambda x: paddle.masked_fill_(x, x > 0.2, 4.0),
    "where_": lambda x: paddle.where_(x > 0.2, x, paddle.ones_like(x)),
    "an index": lambda x: x.__setitem__(0, 5.0),
    "a slice": lambda x: x.__setitem__(slice(None, None, 2), 6.0),
    "a part": lambda x: x.__setitem__(slice(1, 3), 6.0),
    "the last in each row": lambda x: x.__setitem__((..., -1), 6.0),
    "a tensor at an index": lambda x: x.__setitem__(-1, paddle.ones_like(x)[-1] * 8),
}
"""Operations that write a tensor of any shape."""

MATRICES: dict[str, Operation] = {
    "fill_diagonal_": method("fill_diagonal_", 3.0),
    "fill_diagonal_tensor_": lambda x: x.fill_diagonal_tensor_(
        paddle.arange(min(x.shape), dtype="float32"), 0, 0, 1
    ),
    "tril_": lambda x: paddle.tril_(x),
    "triu_": lambda x: paddle.triu_(x),
    "renorm_": lambda x: paddle.renorm_(x, 2.0, 0, 0.5),
    "addmm_": lambda x: paddle.addmm_(
        x, paddle.ones([x.shape[0], 2]), paddle.ones([2, x.shape[1]]), 0.5, 2.0
    ),
    "put_along_axis_": lambda x: x.put_along_axis_(
        paddle.zeros([1, x.shape[1]], "int64"), paddle.full([1, x.shape[1]], 4.0), 0
    ),
    "scatter_": lambda x: paddle.scatter_(
        x, paddle.to_tensor([1, 0]), paddle.ones([2, x.shape[1]]) * 3
    ),
    "index_add_": lambda x: paddle.index_add_(
        x, paddle.to_tensor([1, 0]), 0, paddle.ones([2, x.shape[1]]) * 3
    ),
    "index_put_": lambda x: paddle.index_put_(
        x, (paddle.to_tensor([1, 0]),), paddle.ones([2, x.shape[1]]) * 3
    ),
    "index_put_ of sums": lambda x: paddle.index_put_(
        x, (paddle.to_tensor([1, 1]),), paddle.ones([2, x.shape[1]]) * 3, True
    ),
    "index_fill_": lambda x: paddle.index_fill_(x, paddle.to_tensor([1, 0]), 0, 3.0),
}
"""Operations that write a matrix."""

OF_MATRICES = [
    view for view in VIEWS if view not in ("row", "column", "flat", "without a dimension")
]


def has(name: str) -> bool:
    """Returns True if this release has an operation."""
    return not name.endswith("_") or hasattr(paddle.Tensor, name) or hasattr(F, name)


CASES = [(name, view) for name in OPERATIONS if has(name) for view in VIEWS] + [
    (name, view)
    for name in MATRICES
    if has(name)
    for view in OF_MATRICES
    if view != "with one more dimension"
]


def assert_same_writes(operation: Operation, view: str, array: Array) -> None:
    """Compares a whole tensor and the view with those of Paddle's CPU after a write to the view."""

    def compute() -> list[Any]:
        whole = paddle.to_tensor(array)
        with paddle.no_grad():
            part = VIEWS[view](whole)
            operation(part)
        shares = RELEASE >= (3, 0) or view in SHARED_BEFORE_30
        return [part.numpy()] + ([whole.numpy()] if shares else [])

    for mine, wanted in zip(*on_both(compute)):
        assert mine.dtype == wanted.dtype
        np.testing.assert_allclose(mine, wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("operation", "view"), CASES)
def test_writes_through_views_are_those_of_the_cpu(operation: str, view: str) -> None:
    """Releases differ in which views share memory, so the CPU of the same one is the reference."""
    array = np.arange(24, dtype="float32").reshape(4, 6) * 0.1 - 0.75
    assert_same_writes((OPERATIONS | MATRICES)[operation], view, array.astype("float32"))


DRAWS = ("uniform_", "normal_", "exponential_", "bernoulli_")
"""Operations that write random numbers."""


# The halves of `split` are copies.
@pytest.mark.parametrize(
    "view", [view for view in (VIEWS if RELEASE >= (3, 0) else SHARED_BEFORE_30) if view != "half"]
)
@pytest.mark.parametrize("operation", [name for name in DRAWS if hasattr(paddle.Tensor, name)])
def test_random_numbers_are_written_through_views(operation: str, view: str) -> None:
    """All elements of the view change, and no others."""
    numbers = paddle.to_tensor(np.arange(24, dtype="float32").reshape(4, 6) + 10)
    whole = numbers.clone()
    part = VIEWS[view](whole)
    chosen = VIEWS[view](numbers).numpy()
    getattr(part, operation)()
    changed = whole.numpy() != numbers.numpy()
    np.testing.assert_array_equal(changed, np.isin(numbers.numpy(), chosen))


INTEGERS: dict[str, Operation] = {
    **{name: method(name) for name in ("abs_", "zero_")},
    **{
        name: lambda x, name=name: getattr(x, name)(paddle.ones_like(x) * 2)  # type: ignore[misc]
        for name in ("add_", "subtract_", "multiply_", "floor_divide_", "remainder_")
    },
    "scale_": method("scale_", 2),
    "clip_": method("clip_", 3, 9),
    "fill_": method("fill_", 3),
    "assign": lambda x: paddle.assign(paddle.ones_like(x) * 7, output=x),
    "set_value": lambda x: x.set_value(np.ones(x.shape, "int64") * 5),
    "an index": lambda x: x.__setitem__(0, 5),
    "a slice": lambda x: x.__setitem__(slice(None, None, 2), 6),
}
"""Operations that write a tensor of integers."""


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("operation", INTEGERS)
def test_integers_are_written_through_views_too(operation: str, view: str) -> None:
    """Integers of 64 bits."""
    assert_same_writes(INTEGERS[operation], view, np.arange(24).reshape(4, 6) - 5)


KERNELS = {
    "assign_out": "assign",
    "assign_out__grad": "assign",
    "hardshrink_grad": "hard_shrink_grad",
}
"""Kernels of other names than their operators."""

LEFT_TO_PADDLE: dict[str, str] = {
    "shapes alone, for which Paddle has kernels of its own": """
        coalesce_tensor flatten flatten_grad lod_reset_grad nop reshape reshape_grad set
        share_data squeeze squeeze_grad unsqueeze unsqueeze_grad
    """,
    "collectives and synchronisation: nothing is to be done for one device": """
        all_reduce broadcast c_allreduce_max c_allreduce_sum c_broadcast c_identity
        c_reduce_sum c_softmax_with_cross_entropy_grad c_sync_calc_stream
        c_sync_comm_stream margin_cross_entropy_grad mp_allreduce_sum partial_allgather
        reduce sync_batch_norm sync_calc_stream
    """,
    "sparse tensors, which a custom device does not have": """
        sparse_batch_norm sparse_sync_batch_norm
    """,
    "for the GPU or another device alone: the CPU has no kernel either": """
        block_multihead_attention block_multihead_attention_xpu
        distributed_fused_lamb_init embedding_grad_add_to fp8_gemm_blockwise
        fused_multi_transformer masked_multihead_attention random_routing
    """,
    "lists of tensors, in static programs": """
        array_write
    """,
    "quantisation, which changes statistics in static programs": """
        dequantize_linear fake_quantize_dequantize_moving_average_abs_max
        fake_quantize_moving_average_abs_max fake_quantize_range_abs_max
        moving_average_abs_max_scale quantize_linear
    """,
    "gradients, whose place Paddle takes in static programs alone": """
        affine_channel_grad identity_loss_grad lu_grad sigmoid_cross_entropy_with_logits_grad
    """,
    "inputs, whose place Paddle takes in static programs alone": """
        affine_channel identity_loss lu sigmoid_cross_entropy_with_logits
    """,
}
"""Operators in place whose kernel is not ours, by the reason."""


def test_operators_in_place_have_kernels_of_ours() -> None:
    """PaddlePaddle gives what its CPU computes new memory: the write to a view would be lost."""
    kernels = core._get_registered_phi_kernels("all")
    left = {name for names in LEFT_TO_PADDLE.values() for name in names.split()}
    operators = [name[:-1] for name in dir(_C_ops) if name.endswith("_") and name[0] != "_"]
    assert len(operators) > 100
    missing = []
    for name in operators:
        places = kernels.get(KERNELS.get(name, name), [])
        if name not in left and not any(DEVICE in place for place in places):
            missing.append(name)
    assert missing == []
