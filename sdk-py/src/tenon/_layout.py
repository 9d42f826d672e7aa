"""Array layouts: shapes, strides in bytes, indexing and reshaping.

This module only computes; it does not access memory. A layout is a shape with one stride per dimension. The address of
the first element is stored separately, because negative strides lead to addresses before it.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import SupportsIndex, Union

    Shape = tuple[int, ...]
    ShapeLike = Union[SupportsIndex, Sequence[SupportsIndex]]
    # Type checkers know the class of `...`, for which Python 3.9 has no name.
    Part = Union[SupportsIndex, slice, ellipsis, None]  # noqa: F821
    Key = Union[Part, tuple[Part, ...]]

LARGEST = 2**63 - 1
"""The largest supported size in bytes."""


class Layout(NamedTuple):
    """A shape with its strides in bytes."""

    shape: Shape
    strides: Shape


class Runs(NamedTuple):
    """The pieces of a copy that are contiguous in both the source and the destination."""

    length: int
    """The size of each piece in bytes."""
    shape: Shape
    """The number of pieces in each dimension. Empty: there is one piece."""
    to_strides: Shape
    """The strides between pieces in the destination, in bytes."""
    from_strides: Shape
    """The strides between pieces in the source, in bytes."""


def shape_of(shape: ShapeLike, itemsize: int) -> Shape:
    """Checks a shape and converts it to a tuple. A single number means one dimension.

    Raises:
        TypeError: The argument is not a shape.
        ValueError: A length is negative, or the size exceeds the address space.
    """
    lengths = _lengths(shape)
    # A length of 0 counts as 1, because the strides of an empty array must be valid too.
    bytes = itemsize
    for length in lengths:
        if length < 0:
            raise ValueError(f"a length must not be negative, but the shape {lengths} contains {length}")
        bytes *= length or 1
    if bytes > LARGEST:
        raise ValueError(f"an array of shape {lengths} with {itemsize} bytes for each element is too large")
    return lengths


def _lengths(shape: Any) -> Shape:
    try:
        if isinstance(shape, (tuple, list)) or hasattr(shape, "__iter__"):
            return tuple(map(index, shape))
        return (index(shape),)
    except TypeError:
        raise TypeError(f"a shape must be an integer or a sequence of integers, not {shape!r}") from None


def contiguous(shape: Shape, itemsize: int) -> Shape:
    """Returns the strides of a contiguous array in row-major (C) order."""
    if len(shape) == 1:
        return (itemsize,)
    if len(shape) == 2:
        return ((shape[1] or 1) * itemsize, itemsize)
    strides = []
    for length in reversed(shape):
        strides.append(itemsize)
        itemsize *= length or 1
    return tuple(reversed(strides))


def is_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Returns True if the elements are contiguous in row-major order.

    Strides of dimensions of length 1 are ignored, and so are all strides of an empty array.
    """
    if len(shape) == 1:
        return strides[0] == itemsize or shape[0] <= 1
    if 0 in shape or strides == contiguous(shape, itemsize):
        return True
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1:
            if stride != itemsize:
                return False
            itemsize *= length
    return True


def span(shape: Shape, strides: Shape, itemsize: int) -> tuple[int, int]:
    """Returns the begin and end of the elements as byte offsets from the first element; (0, 0) if there are none."""
    if 0 in shape:
        return 0, 0
    begin, end = 0, itemsize
    for length, stride in zip(shape, strides):
        if stride < 0:
            begin += (length - 1) * stride
        else:
            end += (length - 1) * stride
    return begin, end


def indexed(shape: Shape, strides: Shape, key: Key) -> tuple[int, Layout]:
    """Applies a basic index. Returns the byte offset of the new first element, and the new layout.

    Raises:
        IndexError: An index is out of range, or there are too many indices.
        TypeError: The index is an array, a list or a mask.
    """
    parts = key if isinstance(key, tuple) else (key,)
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if taken > len(shape):
        raise IndexError(f"{taken} indices are too many for {_dimensions(len(shape))}")
    # Compared by identity, because `==` of arrays compares element by element.
    gaps = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(gaps) > 1:
        raise IndexError("an index must not contain more than one ellipsis")
    rest: tuple[Part, ...] = (slice(None),) * (len(shape) - taken)
    parts = parts[: gaps[0]] + rest + parts[gaps[0] + 1 :] if gaps else parts + rest
    offset, axis = 0, 0
    lengths: list[int] = []
    steps: list[int] = []
    for part in parts:
        if part is None:
            lengths.append(1)
            steps.append(0)
            continue
        length, stride = shape[axis], strides[axis]
        if isinstance(part, slice):
            start, stop, step = part.indices(length)
            count = len(range(start, stop, step))
            offset += start * stride
            lengths.append(count)
            steps.append(step * stride)
        else:
            offset += _place(part, length, axis) * stride
        axis += 1
    # The offset of an empty selection is 0, so that its address stays within the memory.
    return 0 if 0 in lengths else offset, Layout(tuple(lengths), tuple(steps))


def _place(part: Any, length: int, axis: int) -> int:
    if isinstance(part, bool):
        raise TypeError("a mask cannot index a buffer; use integers, slices, ... or None")
    try:
        place = index(part)
    except TypeError:
        raise TypeError(f"{type(part).__name__} cannot index a buffer; use integers, slices, ... or None") from None
    if not -length <= place < length:
        raise IndexError(out_of_range(place, length, axis))
    return place % length


def out_of_range(place: int, length: int, axis: int) -> str:
    """Returns the message for an index that is out of range."""
    return f"index {place} is out of range for dimension {axis}, which has {length} elements"


def reshaped(shape: Shape, strides: Shape, itemsize: int, new: ShapeLike) -> Layout | None:
    """Returns the layout of the same elements in another shape; None if the elements would have to be moved.

    Raises:
        ValueError: The number of elements differs.
    """
    wanted = _filled(new, prod(shape), itemsize)
    if is_contiguous(shape, strides, itemsize):
        return Layout(wanted, contiguous(wanted, itemsize))
    # Merges dimensions that form a regular piece. A new dimension must not span two pieces.
    pieces = [(length, stride) for length, stride in zip(shape, strides) if length != 1]
    made: list[int] = []
    while pieces:
        have, stride = pieces.pop()
        while pieces and pieces[-1][1] == have * stride:
            have *= pieces.pop()[0]
        made.append(have)
        made.append(stride)
    return _cut(wanted, list(zip(made[::2], made[1::2])), itemsize)


def _cut(wanted: Shape, pieces: list[tuple[int, int]], itemsize: int) -> Layout | None:
    """Splits pieces into the wanted lengths, the last dimension first; None if a length would span two pieces."""
    strides: list[int] = []
    pieces = pieces[::-1]
    left, stride = pieces.pop()
    for length in reversed(wanted):
        while left == 1 and length != 1 and pieces:
            left, stride = pieces.pop()
        if left % length:
            return None
        strides.append(stride)
        left //= length
        stride *= length
    return Layout(wanted, tuple(reversed(strides)))


def _filled(new: ShapeLike, count: int, itemsize: int) -> Shape:
    """Returns a new shape with -1 replaced by the computed length."""
    lengths = list(_lengths(new))
    if lengths.count(-1) == 1:
        gap = lengths.index(-1)
        lengths[gap] = 1
        rest = prod(shape_of(lengths, itemsize))
        if rest and count % rest == 0:
            lengths[gap] = count // rest
    wanted = shape_of(lengths, itemsize)
    if prod(wanted) != count:
        raise ValueError(f"{count} elements do not match the shape {new}")
    return wanted


def transposed(shape: Shape, strides: Shape, axes: Sequence[SupportsIndex]) -> Layout:
    """Returns the layout with permuted dimensions. If `axes` is empty, the order is reversed.

    Raises:
        TypeError: An axis is not an integer.
        ValueError: The axes do not contain each dimension once.
    """
    count = len(shape)
    order = tuple(map(index, axes)) or tuple(reversed(range(count)))
    # A negative axis counts from the end. An axis out of range is kept and refused below.
    order = tuple(axis + count if -count <= axis < 0 else axis for axis in order)
    if sorted(order) != list(range(count)):
        raise ValueError(f"{tuple(axes)} does not contain each of the {_dimensions(count)} once")
    return Layout(tuple(shape[axis] for axis in order), tuple(strides[axis] for axis in order))


def resized(shape: Shape, strides: Shape, itemsize: int, wanted: int, name: str) -> Layout:
    """Returns the layout of the same bytes with another element size.

    Args:
        shape: The current shape.
        strides: The current strides.
        itemsize: The current element size in bytes.
        wanted: The new element size in bytes.
        name: The name of the new type, for messages.

    Raises:
        ValueError: The last dimension is not contiguous, or its size is not a multiple of the new element size.
    """
    is_dense = is_contiguous(shape, strides, itemsize)
    if not shape or not (is_dense or strides[-1] == itemsize or shape[-1] == 1):
        raise ValueError(f"the last dimension must be contiguous for a view as {name}")
    length = shape[-1] * itemsize
    if length % wanted or not (is_dense or all(stride % wanted == 0 for stride in strides[:-1])):
        raise ValueError(f"rows of {length} bytes are not a multiple of the size of {name}")
    lengths = (*shape[:-1], length // wanted)
    return Layout(lengths, contiguous(lengths, wanted) if is_dense else (*strides[:-1], wanted))


def runs(shape: Shape, to_strides: Shape, from_strides: Shape, itemsize: int) -> Runs:
    """Finds the longest contiguous pieces of a copy. Dimensions are sorted by the strides of the destination."""
    if 0 in shape:
        return Runs(0, (0,), (0,), (0,))
    dims = [dim for dim in zip(shape, to_strides, from_strides) if dim[0] != 1]
    # The order of the copy does not matter. Memory order gives long pieces for transposed arrays too.
    dims.sort(key=lambda dim: -abs(dim[1]))
    length = itemsize
    while dims and dims[-1][1] == dims[-1][2] == length:
        length *= dims.pop()[0]
    merged: list[tuple[int, int, int]] = []
    for count, to, source in reversed(dims):
        if merged:
            inner, inner_to, inner_from = merged[-1]
            if to == inner * inner_to and source == inner * inner_from:
                merged[-1] = (inner * count, inner_to, inner_from)
                continue
        merged.append((count, to, source))
    merged.reverse()
    counts, tos, sources = (tuple(part) for part in zip(*merged)) if merged else ((), (), ())
    return Runs(length, counts, tos, sources)


def with_longest_last(runs: Runs) -> Runs:
    """Returns the same pieces with the dimension of the most pieces last."""
    length, shape, to_strides, from_strides = runs
    order = sorted(range(len(shape)), key=shape.__getitem__)
    return Runs(
        length,
        tuple(shape[place] for place in order),
        tuple(to_strides[place] for place in order),
        tuple(from_strides[place] for place in order),
    )


def places(shape: Shape, strides: Shape) -> Iterator[int]:
    """Yields the byte offset of each element in row-major order."""
    if not shape:
        yield 0
        return
    inner = range(0, shape[-1] * strides[-1], strides[-1]) if strides[-1] else (0,) * shape[-1]
    for start in places(shape[:-1], strides[:-1]):
        for step in inner:
            yield start + step


def _dimensions(count: int) -> str:
    return "1 dimension" if count == 1 else f"{count} dimensions"
