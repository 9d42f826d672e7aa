"""Random shapes, strides and data types for property-based tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tensors import Array, Out, bfloat16

__all__ = ["ANY", "FLOAT", "INTEGER", "arrays", "common", "out", "shapes", "smaller", "types"]

INTEGER = [np.dtype(name) for name in ("int8", "uint8", "int16", "int32", "int64")]
FLOAT = [np.dtype("float16"), bfloat16, np.dtype("float32"), np.dtype("float64")]
ANY = [np.dtype(bool), *INTEGER, *FLOAT]

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def types(among: Sequence[Any] = ANY) -> st.SearchStrategy[np.dtype[Any]]:
    """Draws a data type."""
    return st.sampled_from([np.dtype(dtype) for dtype in among])


@st.composite
def smaller(draw: st.DrawFn, shape: Sequence[int]) -> tuple[int, ...]:
    """Draws a shape that can be broadcast to another one."""
    start = draw(st.integers(0, len(shape)))
    return tuple(1 if draw(st.booleans()) else n for n in shape[start:])


def _strides(draw: st.DrawFn, shape: Sequence[int]) -> list[int]:
    """Draws strides of elements that do not overlap: the dimensions in any order, with gaps."""
    strides, step = [0] * len(shape), draw(st.integers(1, 2))
    for dim in draw(st.permutations(range(len(shape)))):
        strides[dim] = step
        step *= max(shape[dim], 1) * draw(st.integers(1, 2))
    return strides


@st.composite
def arrays(
    draw: st.DrawFn,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    low: float = -4,
    high: float = 4,
    repeats: bool = True,
    special: bool = True,
) -> Array:
    """Draws an array with any strides.

    `repeats`: whether elements may share memory. `special`: whether infinities and NaN may occur.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if dtype.kind in "iub":
        least = max(int(low), 0) if dtype.kind in "ub" else int(low)
        numbers = rng.integers(least, int(high) + 1, shape).astype(dtype)
    else:
        elements = np.asarray(rng.uniform(low, high, shape))
        if special and elements.size and draw(st.booleans()):
            elements.flat[rng.integers(elements.size)] = rng.choice([np.nan, np.inf, -np.inf, 0])
        numbers = elements.astype(dtype)
    numbers = np.asarray(numbers, dtype)
    strides = _strides(draw, shape)
    count = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True) if n)
    memory = np.zeros(count, dtype)
    steps = [step * dtype.itemsize for step in strides]
    array = np.lib.stride_tricks.as_strided(memory, tuple(shape), steps)
    array[...] = numbers
    if repeats and array.ndim and array.shape[0] > 1 and draw(st.integers(0, 4)) == 0:
        return np.broadcast_to(array[:1], array.shape)
    return array


@st.composite
def out(draw: st.DrawFn, shape: Sequence[int], dtype: Any) -> Out:
    """Draws a place for a result, with any strides."""
    strides = _strides(draw, shape) if draw(st.booleans()) else None
    return Out(shape, dtype, strides)


_CATEGORIES = {"b": 0, "u": 1, "i": 1, "f": 2, "V": 2}


def common(*operands: Array) -> np.dtype[Any]:
    """Returns the data type in which PyTorch computes with tensors.

    Tensors without dimensions count only if no other one has a type of their category, or of a
    higher one: truth values, integers, real numbers.
    """

    def category(dtype: np.dtype[Any]) -> int:
        return _CATEGORIES[dtype.kind]

    found = np.dtype(bool)
    for group in ([it for it in operands if it.ndim], [it for it in operands if not it.ndim]):
        own = np.dtype(bool)
        for operand in group:
            own = _promoted(own, operand.dtype)
        if not any(it.ndim for it in operands) or group[:1] and group[0].ndim:
            found = _promoted(found, own)
        elif category(own) > category(found):
            found = own
    return found


def _promoted(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    halves = {bfloat16, np.dtype("float16")}
    if {one, other} == halves:
        return np.dtype("float32")
    for dtype, against in ((one, other), (other, one)):
        if dtype in FLOAT and against not in FLOAT:
            return dtype
        if dtype in halves and against in FLOAT:
            return against
    return np.promote_types(one, other)
