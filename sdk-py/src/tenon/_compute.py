"""Calls of operators: checks inputs, makes outputs, and queues the call on a stream.

The functions of `tenon.ops` are generated. Each describes its operator once with `Operator`, and calls it by one of its
methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, addressof, c_double, c_int64, c_size_t, c_ssize_t, c_void_p, cast
from operator import index
from typing import TYPE_CHECKING, Any, Union

from tenon import _arguments, copies
from tenon._native.check import failed
from tenon._native.core import (
    OperatorArgument,
    OperatorKind,
    OperatorShape,
    OperatorTensor,
    _operator_call,
    _operator_infer_shape,
    operator_supported,
)
from tenon.buffer import Buffer
from tenon.device import resolve
from tenon.dtype import DType, bool_, is_number
from tenon.dtype import dtype as dtype_of
from tenon.errors import InvalidArgumentError
from tenon.stream import Stream

if TYPE_CHECKING:
    from tenon._layout import Shape
    from tenon.device import Device
    from tenon.dtype import DTypeLike, Number

Operand = Union[Buffer, "Number"]
"""An input of an elementwise operator: a buffer, or a number for all elements."""

_TYPES = {
    "float": ("float16", "bfloat16", "float32", "float64"),
    "integer": ("int8", "int16", "int32", "int64", "uint8"),
    "bool": ("bool",),
    "complex": ("complex64", "complex128"),
}
"""The element types behind the words of the spec."""

_WORDS = {
    "float": "floating-point numbers",
    "integer": "integers",
    "bool": "booleans",
    "complex": "complex numbers",
}


class Operator:
    """An operator of the spec.

    Attributes:
        name: The name.
        types: The element types of its inputs.
    """

    __slots__ = ("_conditions", "_encoded", "_kinds", "_results", "_shapes", "_words", "name", "types")

    def __init__(
        self,
        name: str,
        types: str,
        results: str,
        kinds: str,
        *,
        conditions: Sequence[int] = (),
        shapes: str = "",
    ) -> None:
        """Describes an operator.

        Args:
            name: The name.
            types: The words for the element types, separated by spaces.
            results: The element type of each output, separated by spaces: the index of an input; a name; `elements` for
                the common type of the inputs; `any` for the caller's; `-` for an output that is not computed.
            kinds: The type of each attribute: `b`, `i`, `f` or `t`, and `I` or `F` for a list.
            conditions: The indices of inputs whose elements are booleans, whatever the type of the others.
            shapes: The outputs whose shapes the device computes, separated by spaces.
        """
        self.name = name
        self.types = frozenset(of for word in types.split() for of in _TYPES[word])
        self._words = types.split()
        self._encoded = name.encode()
        self._results = results.split()
        self._kinds = kinds
        self._conditions = conditions
        self._shapes = shapes.split()

    def elementwise(
        self, inputs: Sequence[Operand], attributes: Sequence[Any], out: Buffer | None, stream: Stream | None
    ) -> Buffer:
        """Computes an elementwise operator, with broadcasting."""
        buffers = [value for value in inputs if isinstance(value, Buffer)]
        for value in inputs:
            if not isinstance(value, Buffer) and not is_number(value):
                raise TypeError(f"{self.name}: an input must be a buffer or a number, not {_shown(value)}")
        if not buffers:
            raise TypeError(f"{self.name}: at least one input must be a buffer")
        stream = self._stream_of(buffers, stream)
        of = self._elements(inputs, buffers)
        shape: Shape = buffers[0].shape
        for other in buffers[1:]:
            shape = self._broadcast(shape, other.shape)
        tensors = [
            value
            if isinstance(value, Buffer)
            else self._number(value, bool_ if place in self._conditions else of, stream)
            for place, value in enumerate(inputs)
        ]
        result = bool_ if self._results == ["bool"] else of
        return self._run(tensors, of, [(shape, result)], attributes, out, stream)[0]

    def one(
        self,
        inputs: Sequence[Buffer | None],
        attributes: Sequence[Any],
        shapes: Sequence[Shape] | None,
        dtype: DTypeLike | None,
        out: Buffer | None,
        stream: Stream | None,
    ) -> Buffer:
        """Computes an operator with one output."""
        return self._computed(inputs, attributes, shapes, dtype, out, stream)[0]

    def several(
        self,
        inputs: Sequence[Buffer | None],
        attributes: Sequence[Any],
        shapes: Sequence[Shape] | None,
        dtype: DTypeLike | None,
        stream: Stream | None,
    ) -> tuple[Buffer, ...]:
        """Computes an operator with several outputs."""
        return tuple(self._computed(inputs, attributes, shapes, dtype, None, stream))

    def _computed(
        self,
        inputs: Sequence[Buffer | None],
        attributes: Sequence[Any],
        shapes: Sequence[Shape] | None,
        dtype: DTypeLike | None,
        out: Buffer | None,
        stream: Stream | None,
    ) -> list[Buffer]:
        for value in inputs:
            if value is not None:
                _arguments.expect(value, Buffer, f"an input of {self.name}")
        # Optional inputs come after the first one, whose element type is that of the call.
        if not inputs or inputs[0] is None:
            raise TypeError(f"{self.name}: the first input must be a Buffer, not None")
        buffers = [value for value in inputs if value is not None]
        stream = self._stream_of(buffers, stream)
        of = buffers[0].dtype
        self._expect_type(of)
        results = [self._result(word, inputs, dtype) for word in self._results if word != "-"]
        if shapes is None:
            shapes = [self._ask(output, inputs, of, attributes, stream) for output in self._shapes]
        return self._run(inputs, of, list(zip(shapes, results)), attributes, out, stream)

    def _result(self, word: str, inputs: Sequence[Buffer | None], dtype: DTypeLike | None) -> DType:
        first = inputs[0]
        assert first is not None, "_computed checks it"
        if word == "any":
            return first.dtype if dtype is None else dtype_of(dtype)
        if word.isdigit():
            like = inputs[int(word)]
            return first.dtype if like is None else like.dtype
        return dtype_of(word)

    def _elements(self, inputs: Sequence[Operand], buffers: Sequence[Buffer]) -> DType:
        """Returns the common element type of the inputs that are no conditions."""
        found: DType | None = None
        for place, value in enumerate(inputs):
            if not isinstance(value, Buffer):
                continue
            if place in self._conditions:
                if value.dtype is not bool_:
                    raise TypeError(f"{self.name}: the condition must have elements of type bool, not {value.dtype}")
            elif found is None:
                found = value.dtype
            elif value.dtype is not found:
                raise TypeError(
                    f"{self.name}: the inputs have elements of types {found} and {value.dtype}; "
                    "convert one of them with tenon.ops.cast"
                )
        if found is None:
            raise TypeError(f"{self.name}: an input other than the condition must be a buffer")
        self._expect_type(found)
        return found

    def _expect_type(self, of: DType) -> None:
        if of.name not in self.types:
            words = " and ".join(_WORDS[word] for word in self._words)
            raise TypeError(f"{self.name} takes {words}, not {of}; tenon.ops.cast converts elements")

    def _number(self, value: Number, of: DType, stream: Stream) -> Buffer:
        """Makes a buffer without dimensions of a number."""
        buffer = Buffer((), of, None, stream)
        try:
            buffer.fill(value, stream)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.name}: {error}") from None
        return buffer

    def _broadcast(self, shape: Shape, other: Shape) -> Shape:
        rank = max(len(shape), len(other))
        left, right = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(other)) + other
        if any(a != b and 1 not in (a, b) for a, b in zip(left, right)):
            raise ValueError(f"{self.name}: the shapes {shape} and {other} cannot be broadcast together")
        return tuple(b if a == 1 else a for a, b in zip(left, right))

    def _stream_of(self, buffers: Sequence[Buffer], stream: Stream | None) -> Stream:
        """Checks that the inputs are memory of one device, and returns the stream on which they are used."""
        device = buffers[0].device
        for buffer in buffers:
            buffer._memory.check()
            if buffer.space == "host":
                raise TypeError(f"{self.name}: an input is in host memory; copy it with tenon.asarray")
            if buffer.device is not device:
                raise ValueError(f"{self.name}: the inputs belong to {device.name} and {buffer.device.name}")
        if stream is None:
            return device.current_stream
        _arguments.expect(stream, Stream, "stream")
        if stream.device is not device:
            raise InvalidArgumentError(
                f"the stream belongs to {stream.device.name}, but the inputs belong to {device.name}",
                function=self.name,
                device=device.name,
            )
        return stream

    def _run(
        self,
        inputs: Sequence[Buffer | None],
        of: DType,
        results: Sequence[tuple[Shape, DType]],
        attributes: Sequence[Any],
        out: Buffer | None,
        stream: Stream,
    ) -> list[Buffer]:
        """Queues the operator, and returns its outputs."""
        aside = False
        if out is None:
            outputs = [Buffer(shape, result, None, stream) for shape, result in results]
        else:
            self._expect_out(out, results[0], stream)
            aside = any(_overlaps(out, buffer) for buffer in inputs if buffer is not None)
            outputs = [Buffer(out.shape, out.dtype, None, stream) if aside else out]
        wanted = iter(outputs)
        written = [next(wanted) if word != "-" else None for word in self._results]
        call = _Call(self, [*written, *inputs], attributes, stream)
        status = _operator_call(
            stream.device.handle, stream.handle, self._encoded, of.native, call.arguments, len(call.arguments)
        )
        if status:
            failed(status)
        if out is None:
            return outputs
        if aside:
            copies.copy(out, outputs[0], stream)
        return [out]

    def _expect_out(self, out: Buffer, result: tuple[Shape, DType], stream: Stream) -> None:
        _arguments.expect(out, Buffer, "out")
        out._memory.check()
        shape, of = result
        if out.shape != shape:
            raise ValueError(f"{self.name}: out has the shape {out.shape}, but the result has the shape {shape}")
        if out.dtype is not of:
            raise TypeError(f"{self.name}: out has elements of type {out.dtype}, but the result has type {of}")
        if out.readonly or out.space == "host":
            raise ValueError(f"{self.name}: out must be writable memory of a device")
        if out.device is not stream.device:
            raise ValueError(f"{self.name}: out belongs to {out.device.name}, not to {stream.device.name}")

    def _ask(
        self,
        output: str,
        inputs: Sequence[Buffer | None],
        of: DType,
        attributes: Sequence[Any],
        stream: Stream,
    ) -> Shape:
        """Returns the shape of an output, which the device computes."""
        call = _Call(self, inputs, attributes, stream)
        shape = OperatorShape()
        name = f"{self.name}_{output}_shape".encode()
        status = _operator_infer_shape(
            stream.device.handle, stream.handle, name, of.native, call.arguments, len(call.arguments), shape
        )
        if status:
            failed(status)
        return tuple(shape.dims[: shape.rank])


class _Call:
    """The arguments of a call, and the memory that they point to."""

    __slots__ = ("_kept", "arguments")

    def __init__(
        self, operator: Operator, tensors: Sequence[Buffer | None], attributes: Sequence[Any], stream: Stream
    ) -> None:
        self._kept: list[object] = []
        self.arguments = (OperatorArgument * (len(tensors) + len(attributes)))()
        for place, buffer in enumerate(tensors):
            if buffer is not None:
                self._tensor(self.arguments[place], buffer, stream)
        for place, (kind, value) in enumerate(zip(operator._kinds, attributes), len(tensors)):
            self._attribute(self.arguments[place], operator.name, kind, value)

    def _tensor(self, argument: OperatorArgument, buffer: Buffer, stream: Stream) -> None:
        itemsize = buffer.itemsize
        if any(stride % itemsize for stride in buffer.strides):
            buffer = buffer.copy(stream)
        buffer._memory.uses.begin(stream)
        rank = buffer.ndim
        dims = (c_size_t * rank)(*buffer.shape)
        strides = (c_ssize_t * rank)(*(stride // itemsize for stride in buffer.strides))
        tensor = OperatorTensor(
            buffer._ptr,
            buffer.dtype.native,
            rank,
            cast(dims, POINTER(c_size_t)),
            cast(strides, POINTER(c_ssize_t)),
        )
        place = c_void_p(addressof(tensor))
        argument.kind, argument.count, argument.values = OperatorKind.TENSORS, 1, addressof(place)
        self._kept += (buffer, dims, strides, tensor, place)

    def _attribute(self, argument: OperatorArgument, name: str, kind: str, value: Any) -> None:
        try:
            if kind == "t":
                values = str(value).encode()
                text = (c_int64 * (len(values) // 8 + 1)).from_buffer_copy(values.ljust(len(values) // 8 * 8 + 8))
                argument.kind, argument.count, argument.values = OperatorKind.TEXT, len(values), addressof(text)
                self._kept.append(text)
                return
            items = value if kind in "IF" else (value,)
            if kind in "fF":
                numbers = (c_double * len(items))(*map(float, items))
                argument.kind, argument.count, argument.values = OperatorKind.NUMBERS, len(items), addressof(numbers)
                self._kept.append(numbers)
                return
            whole = [int(item) if kind == "b" else index(item) for item in items]
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        if any(not -1 << 63 <= item < 1 << 63 for item in whole):
            raise OverflowError(f"{name}: an integer does not fit into 64 bits")
        integers = (c_int64 * len(whole))(*whole)
        argument.kind, argument.count, argument.values = OperatorKind.INTEGERS, len(whole), addressof(integers)
        self._kept.append(integers)


def same(x: Buffer, flatten: bool = False) -> Shape:
    """Returns the shape of an input, or one dimension with as many elements."""
    _arguments.expect(x, Buffer, "the input")
    return (x.size,) if flatten else x.shape


def axes(axis: int | Sequence[int] | None) -> Sequence[int]:
    """Returns dimensions as a list; none stands for all."""
    if axis is None:
        return ()
    return (axis,) if isinstance(axis, int) else tuple(axis)


def reduced(x: Buffer, axis: int | Sequence[int] | None, keep_dim: bool) -> Shape:
    """Returns the shape of an input without some dimensions.

    Raises:
        ValueError: There is no such dimension, or it is listed twice.
    """
    _arguments.expect(x, Buffer, "the input")
    rank = x.ndim
    gone = set()
    for one in axes(axis) or range(rank):
        number = index(one)
        if not -rank <= number < rank:
            raise ValueError(f"axis {number} is out of range for an input of {rank} dimensions")
        if number % rank in gone:
            raise ValueError(f"axis {number} is listed twice")
        gone.add(number % rank)
    lengths = enumerate(x.shape)
    if keep_dim:
        return tuple(1 if place in gone else length for place, length in lengths)
    return tuple(length for place, length in lengths if place not in gone)


def supported(name: str, dtype: DTypeLike, device: Device | str | None = None) -> bool:
    """Returns True if a device has an operator for an element type.

    Args:
        name: The name of the operator, such as `gelu`.
        dtype: The type of the elements of its first input.
        device: The device or its name. None: the current device.
    """
    return operator_supported(resolve(device).handle, name, dtype_of(dtype).native)


def _overlaps(out: Buffer, source: Buffer) -> bool:
    """Returns True if an output shares memory with an input and is not the same tensor."""
    if out._ptr == source._ptr and out.shape == source.shape and out.strides == source.strides:
        return out.dtype is not source.dtype
    return copies.overlap(out, source)


def _shown(value: object) -> str:
    if hasattr(type(value), "__array__"):
        return f"{type(value).__module__}.{type(value).__name__}; copy it to the device with tenon.asarray"
    return type(value).__name__
