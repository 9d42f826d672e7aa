"""Copies, joined and cut tensors, and other orders of elements, against NumPy."""

from typing import Any

import numpy as np
import pytest

from host import NEW, DiopiError, Library, Out, like
from tensors import Array, bfloat16, empty

TYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]
ALL_TYPES = [*TYPES, bfloat16, "complex64", "complex128"]
SHAPES = [(), (0,), (5,), (2, 0, 3), (4, 1, 3)]


def numbers(shape: tuple[int, ...], dtype: Any = "float32", strided: bool = False) -> Array:
    """Returns different numbers, as a view with gaps if `strided`."""
    if strided and shape:
        shape = (*shape[:-1], 2 * shape[-1])
        return numbers(shape, dtype)[..., ::2]
    values = np.arange(1, 1 + int(np.prod(shape, dtype=int))).reshape(shape)
    return np.asarray((values % 2 if np.dtype(dtype) == bool else values % 100).astype(dtype))


@pytest.mark.parametrize("strided", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", ALL_TYPES)
def test_copy_converts(lib: Library, source: Any, shape: tuple[int, ...], strided: bool) -> None:
    array = numbers(shape, source, strided)
    for target in ALL_TYPES:
        is_real = np.dtype(target).kind != "c" and array.dtype.kind == "c"
        expected = (array.real if is_real else array).astype(target)
        np.testing.assert_array_equal(
            lib.call("diopiCastDtype", Out(shape, target), array), expected
        )
        out = empty(shape, target)
        lib.call("diopiCopyInp", array, out)
        np.testing.assert_array_equal(out, expected)


def test_copy_to_integers_loses_fractions(lib: Library) -> None:
    array = np.array([1.75, -1.75, 0.5, -0.5], "float32")
    assert lib.call("diopiCastDtype", Out((4,), "int32"), array).tolist() == [1, -1, 0, 0]
    assert lib.call("diopiCastDtype", Out((4,), "bool"), array).tolist() == [True] * 4


def test_copy_repeats_the_source(lib: Library) -> None:
    target = empty((2, 3), "float64")
    lib.call("diopiCopyInp", numbers((3,), "int32"), target)
    assert target.tolist() == [[1, 2, 3]] * 2
    with pytest.raises(DiopiError):
        lib.call("diopiCopyInp", numbers((4,)), target)


def test_copy_within_overlapping_memory_reads_first(lib: Library) -> None:
    whole = numbers((6,))
    lib.call("diopiCopyInp", whole[:5], whole[1:])
    assert whole.tolist() == [1, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("shape", "format_", "strides"),
    [
        ((2, 3), "Contiguous", (3, 1)),
        ((2, 3, 4, 5), "ChannelsLast", (60, 1, 15, 3)),
        ((2, 3, 4, 5, 6), "ChannelsLast3d", (360, 1, 90, 18, 3)),
        ((2, 3, 4), "ChannelsLast1d", (12, 1, 3)),
        ((), "Contiguous", ()),
    ],
)
def test_contiguous(
    lib: Library, shape: tuple[int, ...], format_: str, strides: tuple[int, ...]
) -> None:
    array = numbers(shape, strided=True)
    out = lib.call("diopiContiguous", NEW, array, format_)
    np.testing.assert_array_equal(out, array)
    assert out.strides == tuple(4 * stride for stride in strides)


def test_contiguous_preserves_an_order(lib: Library) -> None:
    array = np.asfortranarray(numbers((2, 3, 4)))
    assert lib.call("diopiContiguous", NEW, array, "Preserve").strides == array.strides
    with pytest.raises(DiopiError, match="needs 4 dimensions"):
        lib.call("diopiContiguous", NEW, array, "ChannelsLast")


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cat(lib: Library, dtype: Any, dim: int) -> None:
    parts = [numbers((2, 3), dtype), numbers((2, 3), dtype, strided=True)[::-1].copy()]
    parts.append(np.take(parts[0], [0], dim))
    parts.append(np.take(parts[0], [], dim).astype(dtype))
    expected = np.concatenate(parts, dim)
    np.testing.assert_array_equal(lib.call("diopiCat", like(expected), parts, 4, dim), expected)


def test_cat_leaves_out_empty_vectors_and_converts(lib: Library) -> None:
    parts = [numbers((2, 2)), np.zeros(0, "float32"), numbers((1, 2), "int32")]
    out = lib.call("diopiCat", Out((3, 2), "float32"), parts, 3, 0)
    assert out.tolist() == [[1, 2], [3, 4], [1, 2]]


def test_cat_of_nothing_fails_with_a_message(lib: Library) -> None:
    with pytest.raises(DiopiError, match="no tensors to concatenate"):
        lib.call("diopiCat", Out((3, 2), "float32"), [], 0, 0)


@pytest.mark.parametrize(
    ("shapes", "out", "dim"),
    [([(2, 2), (2, 3)], (4, 2), 0), ([(2, 2)], (3, 2), 0), ([(2, 2)], (2, 2), 2), ([()], (1,), 0)],
)
def test_cat_of_other_shapes_fails(lib: Library, shapes: Any, out: Any, dim: int) -> None:
    with pytest.raises(DiopiError):
        parts = [numbers(shape) for shape in shapes]
        lib.call("diopiCat", Out(out, "float32"), parts, len(parts), dim)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("shape", [(2, 3), (3, 0), (1, 1)])
def test_stack(lib: Library, dtype: Any, shape: tuple[int, ...], dim: int) -> None:
    parts = [numbers(shape, dtype), numbers(shape, dtype, strided=True)]
    expected = np.stack(parts, dim)
    np.testing.assert_array_equal(lib.call("diopiStack", like(expected), parts, 2, dim), expected)


def test_stack_of_single_numbers(lib: Library) -> None:
    parts = [np.float32(1), np.float32(2)]
    assert lib.call("diopiStack", Out((2,), "float32"), parts, 2, -1).tolist() == [1, 2]
    with pytest.raises(DiopiError):
        lib.call("diopiStack", Out((0, 2), "float32"), [], 0, 0)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize(("dim", "sizes"), [(0, [1, 3]), (-1, [2, 0, 4]), (1, [1])])
def test_split_with_sizes(lib: Library, dtype: Any, dim: int, sizes: list[int]) -> None:
    array = numbers((4, 1, 6), dtype, strided=True)
    expected = np.split(array, np.cumsum(sizes)[:-1], dim)
    outs = [like(part) for part in expected]
    parts = lib.call("diopiSplitWithSizes", outs, len(outs), array, sizes, dim)
    for part, right in zip(parts if len(sizes) > 1 else [parts], expected, strict=True):
        np.testing.assert_array_equal(part, right)


def test_split_with_other_sizes_fails(lib: Library) -> None:
    with pytest.raises(DiopiError, match="cannot be split"):
        lib.call("diopiSplitWithSizes", [Out((3,), "float32")], 1, numbers((4,)), [3], 0)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("dims", [(0, 1), (0, -1), (-2, -2)])
def test_transpose(lib: Library, dtype: Any, dims: tuple[int, int]) -> None:
    array = numbers((2, 3, 4), dtype, strided=True)
    expected = np.swapaxes(array, *dims)
    out = lib.call("diopiTranspose", Out(expected.shape, dtype), array, *dims)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("dims", [(0, 1, 2), (2, 0, 1), (-1, 0, -2)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 4)])
def test_permute(lib: Library, dtype: Any, dims: Any, shape: tuple[int, ...]) -> None:
    array = numbers(shape, dtype, strided=True)
    expected = np.transpose(array, dims)
    out = lib.call("diopiPermute", Out(expected.shape, dtype), array, dims)
    np.testing.assert_array_equal(out, expected)


def test_permute_checks_the_dimensions(lib: Library) -> None:
    array = numbers((2, 3))
    for dims, message in [((0, 0), "more than once"), ((0,), "no order"), ((0, 2), "no dimension")]:
        with pytest.raises(DiopiError, match=message):
            lib.call("diopiPermute", like(array), array, dims)
    assert lib.call("diopiPermute", Out((), "float32"), np.float32(3), ()).tolist() == 3


@pytest.mark.parametrize("dtype", ALL_TYPES)
def test_expand(lib: Library, dtype: Any) -> None:
    array = numbers((3, 1), dtype)
    out = lib.call("diopiExpand", Out((2, 3, 4), dtype), array)
    np.testing.assert_array_equal(out, np.broadcast_to(array, (2, 3, 4)))
    with pytest.raises(DiopiError):
        lib.call("diopiExpand", Out((2, 4), dtype), array)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("repeats", [(2, 3), (3, 1, 2), (0, 2)])
def test_repeat(lib: Library, dtype: Any, repeats: tuple[int, ...]) -> None:
    array = numbers((2, 3), dtype, strided=True)
    expected = np.tile(array, repeats)
    out = lib.call("diopiRepeat", like(expected), array, repeats)
    np.testing.assert_array_equal(out, expected)


def test_repeat_of_a_single_number(lib: Library) -> None:
    out = lib.call("diopiRepeat", Out((2, 2), "float32"), np.float32(4), (2, 2))
    assert out.tolist() == [[4, 4], [4, 4]]
    with pytest.raises(DiopiError, match="cannot be repeated"):
        lib.call("diopiRepeat", Out((2,), "float32"), numbers((1, 2)), (1,))


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize(
    ("shifts", "dims"), [((1,), (0,)), ((-2, 7), (1, -2)), ((5,), ()), ((0,), (1,))]
)
def test_roll(lib: Library, dtype: Any, shifts: Any, dims: Any) -> None:
    array = numbers((3, 4), dtype, strided=True)
    expected = np.roll(array, shifts, dims) if dims else np.roll(array, shifts[0])
    np.testing.assert_array_equal(lib.call("diopiRoll", like(array), array, shifts, dims), expected)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("dims", [(0,), (1, -3), (), (-1,)])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 0, 3)])
def test_flip(lib: Library, dtype: Any, dims: Any, shape: tuple[int, ...]) -> None:
    array = numbers(shape, dtype, strided=True)
    out = lib.call("diopiFlip", like(array), array, dims)
    np.testing.assert_array_equal(out, np.flip(array, dims))


def test_roll_and_flip_of_a_single_number(lib: Library) -> None:
    one = np.float32(2)
    assert lib.call("diopiRoll", Out((), "float32"), one, (3,), (0,)) == 2
    assert lib.call("diopiFlip", Out((), "float32"), one, (-1,)) == 2
    with pytest.raises(DiopiError):
        lib.call("diopiFlip", Out((2,), "float32"), numbers((2,)), (1,))


@pytest.mark.parametrize("dtype", [*TYPES, bfloat16])
@pytest.mark.parametrize("pad", [(1, 2), (0, 1, 2, 0), (-1, 1, 0, 0), (1, 0, 0, 2, 1, 1), ()])
@pytest.mark.parametrize("value", [None, 0.0, 3.0])
def test_pad_with_a_constant(lib: Library, dtype: Any, pad: Any, value: float | None) -> None:
    array = numbers((2, 3, 4), dtype, strided=True)
    widths = [(0, 0)] * (3 - len(pad) // 2)
    widths += [(pad[n], pad[n + 1]) for n in range(len(pad) - 2, -1, -2)]
    cut = tuple(slice(max(0, -before), None) for before, _ in widths)
    grown = [(max(0, before), max(0, after)) for before, after in widths]
    expected = np.pad(array[cut], grown, constant_values=np.array(value or 0).astype(dtype))
    out = lib.call("diopiPad", like(expected), array, pad, "constant", value)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "float64", bfloat16])
@pytest.mark.parametrize(
    ("mode", "numpy_mode"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
@pytest.mark.parametrize(
    ("shape", "pad"),
    [
        ((2, 3, 4), (1, 2)),
        ((3, 4), (2, 0)),
        ((1, 2, 3, 4), (1, 1, 2, 0)),
        ((2, 3, 4), (1, 0, 0, 2)),
        ((1, 2, 3, 4, 5), (2, 2, 1, 0, 0, 1)),
        ((2, 3, 4, 5), (2, 2, 1, 0, 0, 1)),
    ],
)
def test_pad_with_elements(
    lib: Library, dtype: Any, mode: str, numpy_mode: Any, shape: Any, pad: Any
) -> None:
    array = numbers(shape, dtype, strided=True)
    widths = [(0, 0)] * (len(shape) - len(pad) // 2)
    widths += [(pad[n], pad[n + 1]) for n in range(len(pad) - 2, -1, -2)]
    expected = np.pad(array, widths, numpy_mode)
    np.testing.assert_array_equal(
        lib.call("diopiPad", like(expected), array, pad, mode, None), expected
    )


def test_pad_repeats_what_is_not_cut_off(lib: Library) -> None:
    array = numbers((2, 3, 6), strided=True)
    expected = np.pad(array[:, :, 2:], [(0, 0), (2, 1), (0, 3)], "wrap")
    out = lib.call("diopiPad", like(expected), array, (-2, 3, 2, 1), "circular", None)
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(DiopiError, match="cuts off 7 of 6"):
        lib.call("diopiPad", Out((2, 3, 0), "f4"), array, (-3, -4), "circular", None)


@pytest.mark.parametrize(
    ("mode", "numpy_mode"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")]
)
def test_pad_with_truth_values(lib: Library, mode: str, numpy_mode: Any) -> None:
    array = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(bool)
    expected = np.pad(array, [(0, 0), (0, 0), (1, 2)], numpy_mode)
    out = lib.call("diopiPad", like(expected), array, (1, 2), mode, None)
    np.testing.assert_array_equal(out, expected)


def test_pad_checks_its_arguments(lib: Library) -> None:
    array = numbers((2, 3))
    for pad, mode in [((1,), "constant"), ((1, 1) * 3, "constant"), ((1, 1), "mirror")]:
        with pytest.raises(DiopiError):
            lib.call("diopiPad", Out((2, 5), "float32"), array, pad, mode, None)


@pytest.mark.parametrize("dtype", ALL_TYPES)
@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 5])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (0, 3)])
def test_triangles(lib: Library, dtype: Any, diagonal: int, shape: tuple[int, ...]) -> None:
    array = numbers(shape, dtype, strided=True)
    for name, expected in [("diopiTril", np.tril), ("diopiTriu", np.triu)]:
        out = lib.call(name, like(array), array, diagonal)
        np.testing.assert_array_equal(out, expected(array, diagonal))
    target = array.copy()
    lib.call("diopiTriuInp", target, diagonal)
    np.testing.assert_array_equal(target, np.triu(array, diagonal))


def test_triangles_need_matrices(lib: Library) -> None:
    for name in ("diopiTril", "diopiTriu"):
        with pytest.raises(DiopiError, match="no matrices"):
            lib.call(name, Out((3,), "float32"), numbers((3,)), 0)
