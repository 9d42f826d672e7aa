"""Where the elements of an array lie: shapes, strides in bytes, and what indexing makes of them.

Arithmetic only: nothing here knows of memory. A layout is a shape with as many strides; where its first element is goes
beside it, since negative strides lead to before it.
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
"""More bytes than this have no address."""


class Layout(NamedTuple):
    """A shape with its strides in bytes."""

    shape: Shape
    strides: Shape


class Runs(NamedTuple):
    """The pieces in which elements lie one behind the other on both sides of a copy."""

    length: int
    """Of each piece, in bytes."""
    shape: Shape
    """How many pieces there are in each direction; empty: there is one piece."""
    to_strides: Shape
    """From piece to piece where it is copied to, in bytes."""
    from_strides: Shape
    """The same where it is copied from."""


def shape_of(shape: ShapeLike, itemsize: int) -> Shape:
    """A shape as a tuple; a number stands for one dimension.

    Raises:
        TypeError: It is no shape.
        ValueError: A length is negative, or the elements have more bytes than there are addresses.
    """
    lengths = _lengths(shape)
    # An empty array has strides too, so a length of 0 hides nothing.
    bytes = itemsize
    for length in lengths:
        if length < 0:
            raise ValueError(f"a length must not be negative, but there is {length} in {lengths}")
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
        raise TypeError(f"a shape is a number or several, not {shape!r}") from None


def contiguous(shape: Shape, itemsize: int) -> Shape:
    """The strides of elements that lie one behind the other, the last index first, as in C."""
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
    """Whether the elements lie so. The stride of a dimension of one element does not count, nor do those of none."""
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
    """Where the elements begin and end, in bytes from the first element; the same twice if there are none."""
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
    """What a basic index leaves: where it begins, in bytes from the first element, and its layout.

    Raises:
        IndexError: A number is out of range, or there are too many.
        TypeError: It is no basic index, but an array, a list or a mask.
    """
    parts = key if isinstance(key, tuple) else (key,)
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if taken > len(shape):
        raise IndexError(f"{taken} indices are too many for {_dimensions(len(shape))}")
    # By identity, since the parts may be arrays, which compare element by element.
    gaps = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(gaps) > 1:
        raise IndexError("an index has one ellipsis at most")
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
    # Nothing begins where the whole does, so that no address lies outside of the memory.
    return 0 if 0 in lengths else offset, Layout(tuple(lengths), tuple(steps))


def _place(part: Any, length: int, axis: int) -> int:
    if isinstance(part, bool):
        raise TypeError("a mask cannot index a buffer; numbers, slices, ... and None can")
    try:
        place = index(part)
    except TypeError:
        raise TypeError(f"{type(part).__name__} cannot index a buffer; numbers, slices, ... and None can") from None
    if not -length <= place < length:
        raise IndexError(out_of_range(place, length, axis))
    return place % length


def out_of_range(place: int, length: int, axis: int) -> str:
    """What is said of an index that is not there."""
    return f"index {place} is out of range for dimension {axis}, which has {length} elements"


def reshaped(shape: Shape, strides: Shape, itemsize: int, new: ShapeLike) -> Layout | None:
    """The layout of the same elements in another shape; None if they would have to be moved.

    Raises:
        ValueError: The new shape has not as many elements.
    """
    wanted = _filled(new, prod(shape), itemsize)
    if is_contiguous(shape, strides, itemsize):
        return Layout(wanted, contiguous(wanted, itemsize))
    # What lies in one piece may be cut anew, and no cut may go across two pieces.
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
    """Cuts pieces, the last dimension first, into lengths."""
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
    """A new shape, in which one -1 stands for what is left."""
    lengths = list(_lengths(new))
    if lengths.count(-1) == 1:
        gap = lengths.index(-1)
        lengths[gap] = 1
        rest = prod(shape_of(lengths, itemsize))
        if rest and count % rest == 0:
            lengths[gap] = count // rest
    wanted = shape_of(lengths, itemsize)
    if prod(wanted) != count:
        raise ValueError(f"{count} elements do not fill the shape {new}")
    return wanted


def transposed(shape: Shape, strides: Shape, axes: Sequence[SupportsIndex]) -> Layout:
    """The layout with the dimensions in another order; without one, the other way round.

    Raises:
        TypeError: There is something else than numbers.
        ValueError: The order does not name each dimension once.
    """
    count = len(shape)
    order = tuple(map(index, axes)) or tuple(reversed(range(count)))
    # A place from the end counts backwards, as in an index; one that is out of range stays so.
    order = tuple(axis + count if -count <= axis < 0 else axis for axis in order)
    if sorted(order) != list(range(count)):
        raise ValueError(f"{tuple(axes)} does not name each of {_dimensions(count)} once")
    return Layout(tuple(shape[axis] for axis in order), tuple(strides[axis] for axis in order))


def resized(shape: Shape, strides: Shape, itemsize: int, wanted: int, name: str) -> Layout:
    """The layout of the same bytes as elements of another length.

    Args:
        shape: The shape as it is.
        strides: Its strides.
        itemsize: The length of an element as it is, in bytes.
        wanted: The length that it is to have.
        name: What such an element is called, for messages.

    Raises:
        ValueError: The last dimension is not contiguous, or no whole number of elements.
    """
    is_dense = is_contiguous(shape, strides, itemsize)
    if not shape or not (is_dense or strides[-1] == itemsize or shape[-1] == 1):
        raise ValueError(f"the last dimension has to be contiguous for a view as {name}")
    length = shape[-1] * itemsize
    if length % wanted or not (is_dense or all(stride % wanted == 0 for stride in strides[:-1])):
        raise ValueError(f"rows of {length} bytes are no whole number of {name}")
    lengths = (*shape[:-1], length // wanted)
    return Layout(lengths, contiguous(lengths, wanted) if is_dense else (*strides[:-1], wanted))


def runs(shape: Shape, to_strides: Shape, from_strides: Shape, itemsize: int) -> Runs:
    """Finds the longest pieces, and puts their directions in the order in which the destination lies."""
    if 0 in shape:
        return Runs(0, (0,), (0,), (0,))
    dims = [dim for dim in zip(shape, to_strides, from_strides) if dim[0] != 1]
    # A copy may go through the elements in any order; that of memory makes long pieces of transposed arrays too.
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
    """The same pieces, with the direction last in which there are the most."""
    length, shape, to_strides, from_strides = runs
    order = sorted(range(len(shape)), key=shape.__getitem__)
    return Runs(
        length,
        tuple(shape[place] for place in order),
        tuple(to_strides[place] for place in order),
        tuple(from_strides[place] for place in order),
    )


def places(shape: Shape, strides: Shape) -> Iterator[int]:
    """Where each element of a layout lies, in bytes from the first, the last index first."""
    if not shape:
        yield 0
        return
    inner = range(0, shape[-1] * strides[-1], strides[-1]) if strides[-1] else (0,) * shape[-1]
    for start in places(shape[:-1], strides[:-1]):
        for step in inner:
            yield start + step


def _dimensions(count: int) -> str:
    return "1 dimension" if count == 1 else f"{count} dimensions"
