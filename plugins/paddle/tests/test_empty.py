"""Tensors without elements, and operators in place that change the shape or the type."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import pytest

from host import DEVICE, RELEASE, on_both, python

Compute = Callable[[], Any]


def assigned(x: Any, index: Any, value: Any) -> Any:
    """Returns a tensor after an assignment to a part of it."""
    x[index] = value
    return x


ASSIGNMENTS: dict[str, Compute] = {
    "a slice": lambda: assigned(paddle.zeros([4]), slice(2, 2), paddle.ones([0])),
    "a slice of a number": lambda: assigned(paddle.zeros([4]), slice(2, 2), 1.0),
    "rows": lambda: assigned(paddle.zeros([3, 2]), slice(1, 1), paddle.ones([0, 2])),
    "an array": lambda: assigned(paddle.zeros([4]), slice(2, 2), np.ones(0, "float32")),
    "a column": lambda: assigned(paddle.zeros([0, 8]), (slice(None), 0), paddle.ones([0])),
    "a column of a number": lambda: assigned(paddle.zeros([0, 8]), (slice(None), 0), 2.0),
    "vander": lambda: paddle.vander(paddle.zeros([0]), 3, True),
}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_assignment_of_nothing_changes_nothing(name: str) -> None:
    ours, theirs = on_both(lambda: ASSIGNMENTS[name]().numpy())
    np.testing.assert_array_equal(ours, theirs)


PARTS: dict[str, Callable[[Any], Any]] = {
    "real": paddle.real,
    "imaginary": paddle.imag,
    **(
        {"joined": lambda x: paddle.imag(paddle.as_complex(paddle.as_real(x)))}
        if RELEASE >= (3, 0)
        else {}
    ),
    "conjugate": lambda x: paddle.imag(paddle.conj(x)),
}


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0,)], ids=str)
@pytest.mark.parametrize("name", PARTS)
def test_complex_numbers_without_elements_have_parts(name: str, shape: tuple[int, ...]) -> None:
    """The results have no strides in some releases."""

    def compute() -> list[Any]:
        part = PARTS[name](paddle.to_tensor(np.zeros(shape, "complex64")))
        return [part.shape, (part * 2 + part).shape]

    ours, theirs = on_both(compute)
    assert ours == theirs


if RELEASE >= (3, 3):
    # Earlier releases refuse them.
    GRADIENTS: dict[str, Callable[[Any], Any]] = {
        "rfft of no points": lambda x: paddle.real(paddle.fft.rfft(x.reshape([2, 0]))),
        "as_complex": lambda x: paddle.real(paddle.as_complex(x)),
    }

    @pytest.mark.parametrize("name", GRADIENTS)
    def test_operators_of_nothing_have_gradients(name: str) -> None:
        def compute() -> list[Any]:
            x = paddle.zeros([0, 3, 2])
            x.stop_gradient = False
            y = GRADIENTS[name](x)
            (y * y).sum().backward()
            return [y.shape, x.grad.shape]

        ours, theirs = on_both(compute)
        assert ours == theirs


BACKWARD: dict[str, str] = {
    **{name: f"paddle.{name}(x)" for name in ("abs", "exp", "tanh", "sqrt", "cumsum")},
    "transpose": "paddle.transpose(x, [1, 0])",
    "relu": "F.relu(x)",
    "softmax": "F.softmax(x)",
    "stack": "paddle.stack([x, x])",
    "tile": "paddle.tile(x, [2, 1])",
    "where": "paddle.where(x > 0, x, x * 2)",
    "cast": "x.astype('float64')",
    "clip": "paddle.clip(x, 0, 1)",
    "embedding": "F.embedding(paddle.zeros([0], 'int64'), weight)",
    "matmul": "paddle.matmul(x, weight.T)",
}
"""Operators whose gradient has no elements."""


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_backward_of_nothing_does_not_end_the_process(reduction: str) -> None:
    """2.6 raises in the reduction, as on the CPU: its backward pass would read no memory."""
    cases = "".join(
        "try:\n    weight.clear_grad()\n    x.clear_grad()\n"
        f"    ({call}).{reduction}().backward()\n"
        f"    print('ok')\nexcept ValueError:\n    print('refused')\n"
        for call in BACKWARD.values()
    )
    ran = python(
        f"""
import numpy as np, paddle, paddle.nn.functional as F
paddle.set_device({DEVICE!r})
x = paddle.to_tensor(np.zeros((0, 3), "float32"))
weight = paddle.ones([5, 3])
x.stop_gradient = weight.stop_gradient = False
{cases}"""
    )
    wanted = "refused" if RELEASE < (3, 0) else "ok"
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [wanted] * len(BACKWARD)


IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_([1, 0]),
    "reshape_": lambda x: x.reshape_([3, 2]),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "flatten_": lambda x: x.flatten_(),
    **{
        f"cast_ to {dtype}": lambda x, dtype=dtype: x.cast_(dtype)  # type: ignore[misc]
        for dtype in ("float64", "float16", "int32", "int64", "bool")
    },
    "cumsum_ in float64": lambda x: x.cumsum_(0, dtype="float64"),
    "equal_": lambda x: x.equal_(x * 1.0),
    "logical_not_": lambda x: x.logical_not_(),
}
"""Operators in place that change the shape or the type."""


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place_change_shapes_and_types(name: str) -> None:
    """2.6 passes one tensor for the input and the output."""

    def compute() -> list[Any]:
        x = paddle.to_tensor(np.arange(6, dtype="float32").reshape(2, 3))
        y = IN_PLACE[name](x)
        return [x.numpy(), y.numpy()]

    for mine, wanted in zip(*on_both(compute)):
        assert mine.dtype == wanted.dtype
        np.testing.assert_array_equal(mine, wanted)
