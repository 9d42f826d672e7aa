"""Attributes that static programs take from tensors: results and gradients against Paddle's CPU.

PaddlePaddle leaves the shape of an output open if it depends on such an attribute, and its own
kernels compute it when they run. A size, position, axis or number is an `IntArray` or a `Scalar` of
a kernel. There is a case for each kernel of the device with such an attribute, and a test that none
is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray

from host import RELEASE, normal, place
from signatures import Signatures

Array = NDArray[Any]
Form = Callable[..., Any]

MATRIX = normal(4, 6)
CUBE = normal(3, 4, 5, seed=1)
IMAGES = normal(2, 4, 6, 6, seed=2)
VOLUMES = normal(2, 3, 2, 3, 4, seed=4)
UNIT = np.random.default_rng(3).random((4, 6)).astype("float32")


def number(value: float, dtype: str = "int64") -> Any:
    """Returns a tensor without dimensions, whose value a program does not know before it runs."""
    return paddle.full([], value, dtype) + paddle.zeros([], dtype)


def in_one(*values: int) -> Any:
    """Returns numbers as one tensor."""
    return paddle.concat([paddle.full([1], value, "int64") for value in values])


def in_each(*values: int) -> Any:
    """Returns numbers as a list of tensors, but for the first one."""
    return [values[0], *(paddle.full([1], value, "int32") for value in values[1:])]


def each(*values: int) -> Any:
    """Returns numbers as a list of tensors."""
    return [paddle.full([1], value, "int32") for value in values]


@dataclass
class Deferred:
    """A call with attributes from tensors."""

    compute: Callable[[Any, Form], Any]
    """Takes the argument, and a function that makes a tensor or tensors from integers."""
    argument: Array = field(default_factory=lambda: MATRIX)
    forms: tuple[Form, ...] = (in_one, each, in_each)
    """How the attribute can be given; PaddlePaddle refuses some, or crashes."""
    since: tuple[int, int] = (2, 6)
    """The first release that accepts a tensor."""
    is_differentiable: bool = True
    """False where a gradient is zero, or where that of PaddlePaddle's CPU is wrong."""


ONE: tuple[Form, ...] = (in_one,)
"""For attributes that are made with `number`, or given as one tensor."""


def step(optimizer: Any) -> Callable[[Any, Form], Any]:
    """Returns a function that steps a parameter, with numbers from tensors."""

    def compute(x: Any, _: Form) -> Any:
        start = paddle.nn.initializer.Assign(MATRIX)
        attribute = paddle.ParamAttr(initializer=start)
        weight = paddle.create_parameter([4, 6], "float32", attr=attribute)
        beta1, beta2 = (paddle.full([1], value) for value in (0.8, 0.9))
        optimizer(0.1, beta1=beta1, beta2=beta2).minimize((weight * x).sum())
        return weight

    return compute


CASES: dict[str, Deferred] = {
    "slice": Deferred(lambda x, of: paddle.slice(x, [0, 1], of(1, 2), of(3, -1))),
    "slice of some rows": Deferred(lambda x, of: x[number(1) : number(3)], forms=ONE),
    "slice of all but one": Deferred(lambda x, of: x[:, : paddle.shape(x)[1] - 1], forms=ONE),
    "slice of a row": Deferred(lambda x, of: x[number(1)], forms=ONE),
    "slice of the last row": Deferred(lambda x, of: x[number(-1)], forms=ONE),
    "slice of a column": Deferred(lambda x, of: x[number(1) :, number(-1)], forms=ONE),
    "strided_slice": Deferred(
        lambda x, of: paddle.strided_slice(x, [0, 1], of(3, 0), of(0, 5), of(-1, 2))
    ),
    "strided_slice in steps": Deferred(
        lambda x, of: x[number(0) : number(4) : number(2)], forms=ONE
    ),
    # The gradient of PaddlePaddle's CPU before 3.1 is that of the wrong axis.
    "gather": Deferred(
        lambda x, of: paddle.gather(x, of(0, 2), number(1)),
        forms=ONE,
        is_differentiable=RELEASE >= (3, 1),
    ),
    "gather of rows": Deferred(lambda x, of: paddle.gather(x, of(2, 0, 1), number(0)), forms=ONE),
    "concat": Deferred(lambda x, of: paddle.concat([x, x * 2], number(1)), forms=ONE),
    "concat of the last": Deferred(lambda x, of: paddle.concat([x, x * 2], number(-1)), CUBE, ONE),
    "split": Deferred(lambda x, of: paddle.split(x, [2, 4], number(1)), forms=ONE),
    "split of sizes": Deferred(lambda x, of: paddle.split(x, of(2, 4), 1), forms=(each, in_each)),
    "split_with_num": Deferred(lambda x, of: paddle.split(x, 2, number(1)), forms=ONE),
    "expand": Deferred(lambda x, of: paddle.expand(x, of(3, -1, 6))),
    "expand_as": Deferred(
        lambda x, of: paddle.expand_as(x, paddle.concat([x, x]).reshape([2, 4, 6])), forms=ONE
    ),
    "tile": Deferred(lambda x, of: paddle.tile(x, of(2, 1, 3))),
    "crop": Deferred(lambda x, of: paddle.crop(x, of(2, 3), of(1, 2))),
    "crop of the rest": Deferred(lambda x, of: paddle.crop(x, of(2, -1), of(1, 2)), forms=(each,)),
    "sum": Deferred(lambda x, of: paddle.sum(x, of(0, 2)), CUBE),
    "sum, kept": Deferred(lambda x, of: paddle.sum(x, of(1), keepdim=True), CUBE),
    "mean": Deferred(lambda x, of: paddle.mean(x, of(0, 2)), CUBE),
    "prod": Deferred(lambda x, of: paddle.prod(x, of(1)), CUBE),
    "max": Deferred(lambda x, of: paddle.max(x, of(1)), CUBE),
    "min": Deferred(lambda x, of: paddle.min(x, of(0, -1), keepdim=True), CUBE),
    "nansum": Deferred(lambda x, of: paddle.nansum(x, of(1)), CUBE, (each,)),
    "argmax": Deferred(lambda x, of: paddle.argmax(x, number(1)), CUBE, ONE),
    "argmin": Deferred(lambda x, of: paddle.argmin(x, number(-1), keepdim=True), CUBE, ONE),
    "cumsum": Deferred(lambda x, of: paddle.cumsum(x, number(1)), CUBE, ONE),
    "topk": Deferred(lambda x, of: paddle.topk(x, number(2, "int32"), axis=0), forms=ONE),
    "roll": Deferred(lambda x, of: paddle.roll(x, of(1, -2), [0, 1]), forms=ONE),
    "pad3d": Deferred(
        lambda x, of: F.pad(x, of(1, 2, 0, 1, 2, 0).astype("int32"), data_format="NCDHW"),
        VOLUMES,
        ONE,
    ),
    "full": Deferred(lambda x, of: paddle.full(of(2, 3), 2.0) + x.sum()),
    "full of a number": Deferred(lambda x, of: paddle.full([2, 3], x.sum()) + x.sum(), forms=ONE),
    "full_with_tensor": Deferred(
        lambda x, of: paddle.full(of(2, 3), number(2.5, "float32")) + x.sum()
    ),
    "full_like": Deferred(lambda x, of: paddle.full_like(x, number(2, "float32")) + x, forms=ONE),
    "eye": Deferred(lambda x, of: paddle.eye(number(3), number(4)) + x.sum(), UNIT, ONE, (3, 0)),
    "arange": Deferred(
        lambda x, of: paddle.arange(number(1), number(9), number(2)).astype("float32") + x.sum(),
        forms=ONE,
    ),
    "uniform": Deferred(lambda x, of: paddle.uniform(of(2, 3)) * 0 + x.sum()),
    "gaussian": Deferred(lambda x, of: paddle.normal(0.0, 1.0, of(2, 3)) * 0 + x.sum()),
    "randint": Deferred(lambda x, of: paddle.randint(0, 1, of(2, 3)).astype("float32") + x.sum()),
    "one_hot": Deferred(
        lambda x, of: F.one_hot((x * 4).astype("int64"), number(5, "int32")), UNIT, ONE
    ),
    "multinomial": Deferred(lambda x, of: paddle.multinomial(x, number(3), True) * 0, UNIT, ONE),
    "conv2d_transpose": Deferred(
        lambda x, of: F.conv2d_transpose(
            x, paddle.ones([4, 2, 3, 3]) * 0.1, stride=2, output_size=of(14, 13)
        ),
        IMAGES,
        (each, in_each),
    ),
    "depthwise_conv2d_transpose": Deferred(
        lambda x, of: F.conv2d_transpose(
            x, paddle.ones([4, 1, 3, 3]) * 0.1, stride=2, groups=4, output_size=of(14, 13)
        ),
        IMAGES,
        (each, in_each),
    ),
    "pool2d": Deferred(lambda x, of: F.adaptive_avg_pool2d(x, of(3, 2)), IMAGES),
    "dropout": Deferred(lambda x, of: F.dropout(x, number(0.0, "float32")), forms=ONE),
    "scale": Deferred(lambda x, of: paddle.scale(x, number(2, "float32")), forms=ONE),
    "clip": Deferred(
        lambda x, of: paddle.clip(x, number(-0.2, "float32"), number(0.7, "float32")), forms=ONE
    ),
    "squeeze": Deferred(
        lambda x, of: paddle.squeeze(x.unsqueeze(1), number(1, "int32")), forms=ONE
    ),
    "unsqueeze": Deferred(lambda x, of: paddle.unsqueeze(x, of(0, 2))),
    "set_value": Deferred(
        lambda x, of: paddle.static.setitem(x * 1, (slice(number(1), number(3)),), 3.0), forms=ONE
    ),
    "set_value_with_tensor": Deferred(
        lambda x, of: paddle.static.setitem(x * 1, (slice(number(1), number(3)),), x[0] * 9),
        forms=ONE,
    ),
    "reshape": Deferred(lambda x, of: paddle.reshape(x, of(3, -1))),
    "empty": Deferred(lambda x, of: paddle.zeros_like(paddle.empty(of(2, 3))) + x.sum()),
    # The gradients of PaddlePaddle's CPU write beyond the end of a result of another size.
    "send_u_recv": Deferred(
        lambda x, of: paddle.geometric.send_u_recv(
            x, of(0, 1, 3), of(1, 0, 1), "max", number(3, "int32")
        ),
        forms=ONE,
        is_differentiable=False,
    ),
    "send_ue_recv": Deferred(
        lambda x, of: paddle.geometric.send_ue_recv(
            x, x[:3] * 2, of(0, 1, 3), of(1, 0, 1), "mul", "mean", number(3, "int32")
        ),
        forms=ONE,
        is_differentiable=False,
    ),
    "adam": Deferred(step(paddle.optimizer.Adam), forms=ONE, is_differentiable=False),
    "adamw": Deferred(step(paddle.optimizer.AdamW), forms=ONE, is_differentiable=False),
}

NEVER: dict[str, str] = {
    "adam_dense_param_sparse": "its gradient has only some rows, so that it refuses",
    "fused_adam": "it is called by a class that takes numbers",
    "merged_adam": "it is called by a class that takes numbers",
    "div_scale": "it is the quotient of a tensor and a Python number",
    "fill": "it writes in place, which static programs do not",
    "full_batch_size_like": "it takes the other dimensions as numbers",
    "index_elementwise_put": "its number is a Python number",
    "isclose": "the tolerances are Python numbers",
    "pow": "an exponent in a tensor is another operator",
    "pad": "it takes a list",
    "reverse": "PaddlePaddle takes numbers, and ends the process for a tensor",
    "frobenius_norm": "the dimensions are a list of numbers",
    "median": "the dimension is a number",
    "nanmedian": "PaddlePaddle crashes when it records where the operator was called",
    "randint_with_seed": "the name that old programs have for `randint`",
    "range": "the name that 3.2 and later have for `arange`",
    "update_loss_scaling": "the loss scaler calls it, with a truth value",
    "nansum": "a kernel since 3.3",
    "set_value_with_scalar": "the gradient of `set_value`",
}
"""Kernels with such an attribute that no program gives a tensor to, and why."""


def run(case: Deferred, form: Form, is_open: bool, where: Any) -> list[Array]:
    """Returns the results of a static program, and the gradient of the argument.

    Args:
        case: The call.
        form: How the attribute is given.
        is_open: True if the program does not know the dimensions of the argument.
        where: The place that runs it.
    """
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        shape = [-1] * case.argument.ndim if is_open else list(case.argument.shape)
        x = paddle.static.data("x", shape, "float32")
        x.stop_gradient = False
        found = case.compute(x, form)
        wanted = list(found) if isinstance(found, (tuple, list)) else [found]
        differentiable = [out for out in wanted if is_float(out) and not out.stop_gradient]
        if case.is_differentiable and differentiable:
            total = sum((out * out).sum() for out in differentiable)
            gradients = paddle.static.gradients([total], [x])
            wanted += [gradient for gradient in gradients if gradient is not None]
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor = paddle.static.Executor(where)
            executor.run(startup)
            arrays: list[Array] = executor.run(main, feed={"x": case.argument}, fetch_list=wanted)
            return arrays


def is_float(tensor: Any) -> bool:
    """Returns True for a tensor of float32, in the types of each release."""
    return str(tensor.dtype).lower().rsplit(".", 1)[-1] in ("fp32", "float32")


@pytest.mark.parametrize("name", [key for key, case in CASES.items() if case.since <= RELEASE])
def test_attributes_from_tensors_are_those_of_the_cpu(name: str) -> None:
    """In each form that PaddlePaddle's CPU accepts; one at least."""
    case, accepted = CASES[name], 0
    paddle.enable_static()
    for form in case.forms:
        for is_open in (False, True):
            try:
                wanted = run(case, form, is_open, paddle.CPUPlace())
            except Exception:  # noqa: BLE001  # PaddlePaddle refuses a form by many types.
                continue
            accepted += 1
            ours = run(case, form, is_open, place())
            assert len(ours) == len(wanted)
            for mine, other in zip(ours, wanted):
                assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
                np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
    assert accepted


def test_the_last_row_is_assigned_by_an_index_from_a_tensor() -> None:
    """As in NumPy; PaddlePaddle's CPU assigns to nothing since 3.0."""
    paddle.enable_static()
    case = Deferred(lambda x, of: paddle.static.setitem(x * 1, number(-1), 3.0))
    found = run(Deferred(case.compute, is_differentiable=False), in_one, False, place())[0]
    expected = MATRIX.copy()
    expected[-1] = 3
    np.testing.assert_array_equal(found, expected)


def test_each_kernel_with_such_an_attribute_has_a_case(signatures: dict[str, Signatures]) -> None:
    deferrable = {"attribute 13", "attribute 15"}
    kernels = {
        name
        for name, forms in signatures["device"].items()
        if any(deferrable & set(arguments) for arguments in forms)
    }
    covered = {name.split(" ")[0].rstrip(",") for name in CASES} | set(NEVER)
    suffixes = ("_raw", "_nd", "_infer", "_with_xshape")

    def stem(kernel: str) -> str:
        kernel = kernel.removesuffix("_grad")
        return next((kernel.removesuffix(end) for end in suffixes if kernel.endswith(end)), kernel)

    assert sorted(name for name in kernels if stem(name) not in covered) == []
