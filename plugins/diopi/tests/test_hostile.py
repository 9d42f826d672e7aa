"""Tensors of a hostile host: wrong shapes and strides, and results that the host does not make.

Each call fails with a message. No memory but that of the outputs changes.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from host import NEW, DiopiError, Library, Number, Out, _scalar
from tensors import Tensors

HUGE = 1 << 40


@dataclass
class Layout:
    """What a tensor of four by four elements reports; `None`: the truth."""

    shape: Sequence[int] = (4, 4)
    strides: Sequence[int] | None = (4, 1)
    rank: int | None = None
    offset: int = 0


class Tampered:
    """The output and the operands of `diopiAdd`. A test sets the layouts that they report."""

    def __init__(self, lib: Library, tensors: Tensors) -> None:
        self.lib = lib
        self.arrays = [np.arange(16, dtype="f4").reshape(4, 4) + n for n in range(3)]
        tensors.place([(array, n == 0) for n, array in enumerate(self.arrays)])
        self._kept: list[Any] = []
        self.handles = [tensors.handle(array) for array in self.arrays]
        # The memory has guards around the elements.
        self._first = 64 // 4
        for n in range(3):
            self.set(n, Layout())

    def set(self, number: int, layout: Layout) -> None:
        lists = [
            None if numbers is None else (ctypes.c_int64 * len(numbers))(*numbers)
            for numbers in (layout.shape, layout.strides)
        ]
        self._kept += lists
        rank = len(layout.shape) if layout.rank is None else layout.rank
        set_layout = self.lib.runtime.host_set_layout
        offset = ctypes.c_int64(self._first + layout.offset)
        set_layout(ctypes.c_void_p(self.handles[number]), ctypes.c_int64(rank), *lists, offset)

    def add(self) -> None:
        one = _scalar(Number.of(1.0))
        context = self.lib.runtime.host_make_context()
        try:
            code = self.lib.function("diopiAdd")(context, *self.handles, ctypes.addressof(one))
            waited = self.lib.runtime.host_synchronize(ctypes.c_void_p(context))
            if code or waited:
                raise DiopiError(code or waited, self.lib.last_error())
        finally:
            self.lib.runtime.host_destroy_context(ctypes.c_void_p(context))


@pytest.fixture
def tampered(lib: Library) -> Iterator[Tampered]:
    with Tensors(lib.runtime) as tensors:
        yield (made := Tampered(lib, tensors))
        before = [array.copy() for array in made.arrays]
        for n in range(3):
            made.set(n, Layout())
        # Also checks that the inputs and the guards have not changed.
        tensors.read()
        for array, content in zip(made.arrays[1:], before[1:], strict=True):
            np.testing.assert_array_equal(array, content)


@pytest.mark.parametrize("number", range(3), ids=["out", "input", "other"])
@pytest.mark.parametrize(
    "layout, message",
    [
        (Layout(rank=HUGE), f"{HUGE} dimensions; at most 64"),
        (Layout(rank=65), "65 dimensions; at most 64"),
        (Layout(rank=-1), "-1 elements"),
        (Layout(shape=(1 << 20, 4)), "beyond its memory"),
        (Layout(shape=(1 << 62, 1 << 62)), "larger than the address space"),
        (Layout(shape=(-4, 4)), r"shape \[-4, 4\]"),
        (Layout(strides=(HUGE, 1)), "beyond its memory"),
        (Layout(strides=(-HUGE, 1)), "beyond its memory|larger than the address space"),
        (Layout(strides=(1 << 62, 1)), "larger than the address space"),
        (Layout(strides=(-(1 << 63), 1)), "larger than the address space"),
        (Layout(strides=(1 << 20, 1)), "beyond its memory"),
        (Layout(strides=(-(1 << 20), 1)), "beyond its memory"),
        (Layout(strides=(-100, 1)), "beyond its memory"),
        (Layout(strides=None), "is null"),
    ],
)
def test_layouts_beyond_the_memory_fail(
    tampered: Tampered, number: int, layout: Layout, message: str
) -> None:
    tampered.set(number, layout)
    with pytest.raises(DiopiError, match=message) as caught:
        tampered.add()
    assert caught.value.code == 1


@pytest.mark.parametrize("strides", [(0, 0), (1, 1), (2, 1), (3, 2), (-1, 1), (4, 0), (1, -3)])
def test_outputs_whose_elements_overlap_fail(tampered: Tampered, strides: tuple[int, int]) -> None:
    tampered.set(0, Layout(strides=strides, offset=8))
    with pytest.raises(DiopiError, match="elements lie upon one another"):
        tampered.add()


@pytest.mark.parametrize("strides", [(1, 4), (-4, 1), (5, 1), (1, -4)])
def test_outputs_with_other_strides_are_written(lib: Library, strides: tuple[int, int]) -> None:
    memory = np.zeros(64, "f4")
    steps = tuple(4 * step for step in strides)
    out = np.lib.stride_tricks.as_strided(memory[20:], (4, 4), steps)
    array = np.arange(16, dtype="f4").reshape(4, 4)
    lib.call("diopiAdd", out, array, array, 1)
    np.testing.assert_array_equal(out, 2 * array)


def test_operands_whose_elements_overlap_are_read(tampered: Tampered) -> None:
    tampered.set(1, Layout(strides=(1, 1)))
    tampered.add()


@pytest.fixture(params=["fails", "gives null", "gives another type", "gives another shape"])
def fault(lib: Library, request: pytest.FixtureRequest) -> Iterator[str]:
    names = ["fails", "gives null", "gives another type", "gives another shape"]
    lib.runtime.host_set_fault(1 + names.index(request.param))
    yield str(request.param)
    lib.runtime.host_set_fault(0)


@pytest.mark.parametrize(
    "name, arguments",
    [
        # A result that the operator makes, a temporary tensor, and a number on the device.
        ("diopiNonzero", (NEW, np.ones((2, 3), "f4"))),
        ("diopiAdd", (Out((3,), "f8"), np.ones(3, "f4"), np.ones(3, "i4"), 2)),
        ("diopiFill", (np.zeros(3, "f4"), 2.5)),
    ],
)
def test_tensors_that_the_host_does_not_make_fail(
    lib: Library, fault: str, name: str, arguments: tuple[Any, ...]
) -> None:
    if (name, fault) == ("diopiFill", "gives another shape"):
        # The operator needs a tensor without dimensions, which is the one that it gets.
        lib.call(name, *arguments)
        return
    with pytest.raises(DiopiError) as caught:
        lib.call(name, *arguments)
    assert caught.value.code == 1
    if fault != "fails":
        assert "diopiRequireTensor" in caught.value.message


@pytest.mark.parametrize("number", [1 << 31, 1 << 62, -1])
@pytest.mark.parametrize("place", range(1, 4), ids=["stride", "padding", "dilation"])
def test_windows_beyond_64_bits_fail(lib: Library, place: int, number: int) -> None:
    lists = [[2, 2], [1, 1], [0, 0], [1, 1]]
    lists[place] = [number, number]
    x, weight, out = (
        np.ones((1, 1, 4, 4), "f4"),
        np.ones((1, 1, 2, 2), "f4"),
        Out((1, 1, 3, 3), "f4"),
    )
    with pytest.raises(DiopiError, match=f"has the number {number}"):
        lib.call("diopiMaxPool2d", out, x, *lists, False)
    with pytest.raises(DiopiError, match=f"has the number {number}"):
        lib.call("diopiConvolution2d", out, x, weight, None, *lists[1:], 1)


def tall() -> Any:
    """Returns an array without elements, but with very many rows."""
    return np.empty((HUGE, 0), "f4")


@pytest.mark.parametrize(
    "name, shape, arguments",
    [
        ("Cumsum", (HUGE, 0), lambda: (tall(), 1)),
        ("Cumsum", (0, HUGE), lambda: (tall().T, 0)),
        ("Tril", (HUGE, 0), lambda: (tall(), 0)),
        ("Repeat", (HUGE, 0), lambda: (tall(), [1, 1])),
        ("Cat", (HUGE, 0), lambda: ([tall(), tall()], 2, 1)),
        ("Stack", (2, HUGE, 0), lambda: ([tall(), tall()], 2, 0)),
        ("Pad", (HUGE, 0), lambda: (tall(), [0, 0], "constant", None)),
        ("Bmm", (HUGE, 0, 0), lambda: (tall()[..., None], np.empty((HUGE, 1, 0), "f4"))),
        ("Cdist", (HUGE, 0, 0), lambda: (tall()[..., None], tall()[..., None], 2.0, None)),
    ],
)
def test_empty_tensors_of_any_shape_are_done_at_once(
    lib: Library, name: str, shape: tuple[int, ...], arguments: Any
) -> None:
    out = lib.call(f"diopi{name}", Out(shape, "f4"), *arguments())
    assert out.shape == shape


def test_empty_tensors_of_any_shape_are_sorted_at_once(lib: Library) -> None:
    outs = Out((HUGE, 0), "f4"), Out((HUGE, 0), "i8")
    assert lib.call("diopiSort", *outs, tall(), 1, False, None)[0].shape == (HUGE, 0)
    assert lib.call("diopiTopk", *outs, tall(), 0, 1, True, True)[1].shape == (HUGE, 0)
