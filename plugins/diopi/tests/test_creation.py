"""Creation, against NumPy."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Number, Out, like
from tensors import bfloat16, empty

TYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]
ALL_TYPES = [*TYPES, bfloat16, "complex64", "complex128"]
SHAPES = [(), (0,), (5,), (2, 0, 3), (2, 3, 4)]


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("value", [0, 3, -2.75, True])
def test_fill(lib: Library, dtype: Any, shape: tuple[int, ...], value: Any) -> None:
    if np.dtype(dtype) == np.uint8 and value == -2.75:
        value = 2.75
    target = empty(shape, dtype)
    lib.call("diopiFill", target, value)
    np.testing.assert_array_equal(target, np.full(shape, value).astype(dtype))


def test_fill_of_a_view_writes_nothing_else(lib: Library) -> None:
    whole = np.arange(24, dtype="float32").reshape(4, 6)
    expected = whole.copy()
    expected[:, ::2] = 7
    lib.call("diopiFill", whole[:, ::2], Number(7, "float32"))
    np.testing.assert_array_equal(whole, expected)


@pytest.mark.parametrize("value", [2**62 + 1, -(2**63)])
def test_fill_keeps_large_integers(lib: Library, value: int) -> None:
    target = empty((3,), "int64")
    lib.call("diopiFill", target, value)
    assert target.tolist() == [value] * 3


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_zeros_and_ones(lib: Library, dtype: Any, shape: tuple[int, ...]) -> None:
    target = empty(shape, dtype)
    lib.call("diopiZeroInp", target)
    np.testing.assert_array_equal(target, np.zeros(shape, dtype))
    for name, expected in [("diopiZeros", np.zeros), ("diopiOnes", np.ones)]:
        out = lib.call(name, Out(shape, dtype), shape)
        np.testing.assert_array_equal(out, expected(shape, dtype))


def test_zeros_of_another_shape_fail(lib: Library) -> None:
    with pytest.raises(DiopiError, match=r"\[2, 3\] instead of \[3, 2\]"):
        lib.call("diopiZeros", Out((2, 3), "float32"), (3, 2))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(0, 7, 1), (3, -8, -2), (5, 5, 1), (-4, 4, 3), (0.5, 3.25, 0.25), (2.0, -1.0, -0.5)],
)
def test_arange(lib: Library, dtype: str, start: Any, end: Any, step: Any) -> None:
    if "int" in dtype and isinstance(start, float):
        start, end, step = int(start * 4), int(end * 4), float(step * 4)
    expected = np.arange(start, end, step)
    out = lib.call("diopiArange", Out(expected.shape, dtype), start, end, step)
    np.testing.assert_array_equal(out, expected.astype(dtype))


@pytest.mark.parametrize("start", [2**53 - 9, 2**53 + 1, 2**62 + 1, -(2**63)])
def test_arange_keeps_large_integers(lib: Library, start: int) -> None:
    for step in (1, 2**55 + 1):
        expected = [start, start + step, start + 2 * step]
        out = lib.call("diopiArange", Out((3,), "int64"), start, start + 2 * step + 1, step)
        assert out.tolist() == expected
    out = lib.call("diopiArange", Out((2,), "int64"), start + 2, start, -1)
    assert out.tolist() == [start + 2, start + 1]


@pytest.mark.parametrize(("end", "step"), [(4, 0), (3, 1), (float("inf"), 1)])
def test_arange_of_another_length_fails(lib: Library, end: Any, step: Any) -> None:
    with pytest.raises(DiopiError):
        lib.call("diopiArange", Out((5,), "float32"), 0, end, step)


@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("start", "end", "steps"), [(0, 10, 11), (-3.5, 4, 7), (2, 2, 3), (1, 9, 1), (0, 1, 0)]
)
def test_linspace(lib: Library, dtype: str, start: Any, end: Any, steps: int) -> None:
    out = lib.call("diopiLinspace", Out((steps,), dtype), start, end, steps)
    expected = np.linspace(start, end, steps).astype(dtype)
    np.testing.assert_allclose(out, expected, rtol=1e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("lengths", [(3,), (2, 3), (2, 1, 4), (2, 0)])
def test_mesh_grid(lib: Library, dtype: Any, lengths: tuple[int, ...]) -> None:
    inputs = [np.arange(2 * n).astype(dtype)[::2] for n in lengths]
    outs = lib.call("diopiMeshGrid", [Out(lengths, dtype) for _ in lengths], inputs, len(lengths))
    outs = outs if isinstance(outs, tuple) else (outs,)
    for out, expected in zip(outs, np.meshgrid(*inputs, indexing="ij"), strict=True):
        np.testing.assert_array_equal(out, expected)


def test_mesh_grid_takes_single_numbers(lib: Library) -> None:
    inputs = [np.float32(3), np.arange(2, dtype="float32")]
    first, second = lib.call("diopiMeshGrid", [Out((1, 2), "float32")] * 2, inputs, 2)
    assert first.tolist() == [[3, 3]] and second.tolist() == [[0, 1]]
    with pytest.raises(DiopiError, match="no vector"):
        matrix = np.zeros((2, 2), "float32")
        lib.call("diopiMeshGrid", [like(matrix)], [matrix], 1)
