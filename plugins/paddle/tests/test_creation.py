"""Operators that make tensors from numbers: against Paddle's CPU, and in static programs."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import pytest

from host import is_on, on_both, place

CASES: dict[str, Callable[[], Any]] = {
    "arange": lambda: paddle.arange(2, 9, 3),
    "arange of floats": lambda: paddle.arange(0.0, 0.3, 0.1, dtype="float32"),
    "arange of float64": lambda: paddle.arange(1.0, -1.0, -0.25, dtype="float64"),
    "arange of 32-bit integers": lambda: paddle.arange(5, 0, -2, dtype="int32"),
    "arange of nothing": lambda: paddle.arange(5, 5),
    "linspace": lambda: paddle.linspace(0, 1, 7),
    "linspace of one": lambda: paddle.linspace(3, 5, 1, dtype="float64"),
    "linspace of integers": lambda: paddle.linspace(0, 10, 5, dtype="int32"),
    "logspace": lambda: paddle.logspace(0, 3, 7, base=2, dtype="float64"),
    "eye": lambda: paddle.eye(3, 5),
    "eye of integers": lambda: paddle.eye(4, dtype="int64"),
    "full": lambda: paddle.full([2, 3], 1.5),
    "full of truth values": lambda: paddle.full([2, 3], True, "bool"),
    "full of a tensor's number": lambda: paddle.full([2, 3], paddle.to_tensor(2.5)),
    "full_like": lambda: paddle.full_like(paddle.ones([2, 3]), 2**53 + 1, "int64"),
    "zeros_like": lambda: paddle.zeros_like(paddle.to_tensor([[1, 2], [3, 4]])),
    "ones_like": lambda: paddle.ones_like(paddle.ones([2, 3]), dtype="float64"),
    "tril_indices": lambda: paddle.tril_indices(4, 3, -1),
    "triu_indices": lambda: paddle.triu_indices(3, 4, 1, dtype="int32"),
    "meshgrid": lambda: paddle.meshgrid(paddle.arange(3), paddle.arange(4))[1],
    "to_tensor": lambda: paddle.to_tensor([[1.5, 2.5], [3.5, 4.5]], dtype="float64"),
}


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_cpu(name: str) -> None:
    def compute() -> tuple[bool, Any]:
        made = CASES[name]()
        return is_on(made), made.numpy()

    (on_device, ours), (_, theirs) = on_both(compute)
    # Under 2.6, an empty tensor has no place.
    assert on_device or ours.size == 0
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_static_programs_make_the_same(name: str) -> None:
    def run(where: Any) -> Any:
        paddle.enable_static()
        try:
            program = paddle.static.Program()
            with paddle.static.program_guard(program):
                made = CASES[name]()
            return paddle.static.Executor(where).run(program, fetch_list=[made])[0]
        finally:
            paddle.disable_static()

    ours, theirs = run(place()), run(paddle.CPUPlace())
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("make", [paddle.zeros, paddle.ones])
def test_static_programs_take_shapes_from_tensors(make: Callable[..., Any]) -> None:
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [-1, 3], "float32")
            made = [
                make([paddle.shape(x)[0], 2]),
                paddle.full(paddle.shape(x), 7.0),
                x.tile([2, 1]),
            ]
            made += [paddle.full_like(x, 5), paddle.eye(4) + 0 * x.sum()]
        executor = paddle.static.Executor(place())
        found = executor.run(program, {"x": np.ones([4, 3], "float32")}, fetch_list=made)
    finally:
        paddle.disable_static()
    assert [list(array.shape) for array in found] == [[4, 2], [4, 3], [8, 3], [4, 3], [4, 4]]
    np.testing.assert_array_equal(found[1], 7.0)
    np.testing.assert_array_equal(found[3], 5.0)


def test_gradient_of_what_is_overwritten_is_zero() -> None:
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    changed = x * 2
    changed.fill_(7.0)
    (changed * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 0.0)
