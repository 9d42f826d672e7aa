"""Copies between buffers of any layout: on one device, between two devices, and from and to the host.

A copy without a stream is synchronous: it waits for the streams that use either side, and then copies. A copy on a
stream is queued after earlier work on that stream. Only events of the stream show when it is done, and it is not
ordered with respect to other streams.

Contiguous elements are copied in one call. The library has no function for strided copies, so each contiguous run is
copied separately, or, where allowed and faster, all elements at once through a contiguous array on the host.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tenon import _arguments, _host, _layout
from tenon._lifecycle import host_memory, process
from tenon._memory import Passing, shown
from tenon._native import functions
from tenon.errors import InvalidArgumentError
from tenon.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from tenon.buffer import Buffer

    Move = Callable[[int, int, int], object]

_SPARSE = 4
"""A strided download fetches the whole extent if it is at most this many times the size of the elements."""


def copy(to: Buffer, source: Buffer, stream: Stream | None) -> None:
    """Copies all elements.

    Args:
        to: The destination, of the same shape and type.
        source: The source. It may overlap the destination; the result is as if it did not.
        stream: The stream on which the copy is queued, of the device of either side. None: the copy is done when this
            returns.

    Raises:
        ValueError: The shapes differ, the destination is read-only, or the stream belongs to another device.
        TypeError: The element types differ.
        InvalidHandleError: A buffer is closed.
        DeviceError: The copy failed, or work that it waited for failed.
    """
    if to._shape != source._shape or to._dtype is not source._dtype or to._readonly:
        _refuse(to, source)
    if shown:
        to, source = _unveiled(to), _unveiled(source)
    memory, other = to._memory, source._memory
    memory.check()
    other.check()
    size = to._nbytes
    if stream is not None:
        _check_stream(stream, to, source)
        if not size:
            return
        memory.uses.begin(stream)
        other.uses.begin(stream)
    else:
        if not size:
            return
        if memory.uses.pending:
            memory.uses.settle()
        if other.uses.pending:
            other.uses.settle()
    there, here = to._ptr, source._ptr
    if to._contiguous and source._contiguous:
        if there >= here + size or here >= there + size:
            if stream is None and memory.on_device is not other.on_device:
                # Fast path for the most frequent copies.
                if process.calling_back:
                    process.refuse_in_callback()
                if memory.on_device:
                    functions.memory_copy_h2d(memory.native, there, here, size)
                else:
                    functions.memory_copy_d2h(other.native, there, here, size)
            else:
                _transfer(to, source, stream)
            return
    elif not overlap(to, source):
        _transfer(to, source, stream)
        return
    if there != here or to._strides != source._strides:
        _transfer(to, _moved_away(source, stream), stream)


def between_host(buffer: Buffer, array: Any, *, upload: bool) -> bool:
    """Copies synchronously between a contiguous buffer and a contiguous host array, on a fast path.

    Args:
        buffer: The buffer.
        array: Any object; other than host arrays are not copied here.
        upload: True: copies to the buffer. False: copies from it.

    Returns:
        True if the elements were copied. False if the caller must use `copy`.
    """
    memory, size, there = buffer._memory, buffer._nbytes, buffer._ptr
    if shown or not (memory.on_device and buffer._contiguous and size) or (upload and buffer._readonly):
        return False
    view = _host.plain(array, buffer._shape, buffer._dtype)
    if view is None:
        return False
    here = _host.address_of(view)
    if here < there + size and there < here + size:
        return False
    memory.check()
    if process.calling_back:
        process.refuse_in_callback()
    if memory.uses.pending:
        memory.uses.settle()
    if upload:
        functions.memory_copy_h2d(memory.native, there, here, size)
    else:
        functions.memory_copy_d2h(memory.native, here, there, size)
    return True


def fill(buffer: Buffer, item: bytes, stream: Stream | None) -> None:
    """Sets all elements to one value.

    Args:
        buffer: The buffer.
        item: The bytes of one element.
        stream: As for `copy`.

    Raises:
        ValueError: The buffer is read-only.
    """
    if buffer.readonly:
        raise ValueError("the destination of the fill is read-only")
    if shown:
        buffer = _unveiled(buffer)
    memory = buffer._memory
    memory.check()
    if stream is not None:
        _check_stream(stream, buffer, buffer)
    if not buffer.size:
        return
    if not buffer.is_contiguous:
        copy(buffer, borrowed(item * buffer.size, buffer), stream)
        return
    if stream is None:
        memory.uses.settle()
    else:
        memory.uses.begin(stream)
    if not memory.on_device:
        # No device function fills host memory, so the host fills it after the work on the stream.
        if stream is not None:
            stream.synchronize()
        _host.fill(buffer.ptr, item, buffer.nbytes)
        return
    native, handle = buffer.device.handle, 0
    if stream is None:
        if item.count(item[0]) == len(item):
            functions.device_memory_set(native, buffer.ptr, item[0], buffer.nbytes)
            return
    else:
        handle = stream.handle
    functions.async_memory_fill(native, handle, buffer.ptr, _host.address_of(item), len(item), buffer.nbytes)
    if stream is None:
        functions.synchronize_stream(native, handle)


def _refuse(to: Buffer, source: Buffer) -> NoReturn:
    if to.shape != source.shape:
        raise ValueError(f"cannot copy the shape {source.shape} into {to.shape}")
    if to.dtype is not source.dtype:
        raise TypeError(f"cannot copy {source.dtype} into {to.dtype}: copies do not convert")
    raise ValueError("the destination of the copy is read-only")


def _unveiled(buffer: Buffer) -> Buffer:
    """Returns a buffer over the device memory if `buffer` is a host array that shares device memory.

    A copy within the device needs another function than a copy from the host, so the device must be known.
    """
    if not buffer._memory.on_device:
        for memory in list(shown.values()):
            if memory.address <= buffer._ptr < memory.address + memory.size:
                # The array keeps the memory alive, and the caller keeps the array alive.
                shape, strides = buffer._shape, buffer._strides
                return buffer._of(memory, buffer._ptr, shape, strides, buffer._dtype, buffer._readonly)
    return buffer


def _check_stream(stream: Stream, to: Buffer, source: Buffer) -> None:
    _arguments.expect(stream, Stream, "stream")
    device = stream.device
    if device is (to if to._memory.on_device else source)._memory.device:
        return
    sides = [side.device for side in (to, source) if side._memory.on_device]
    # A copy between two host arrays only waits for the stream, so any stream is accepted.
    if sides and device not in sides:
        raise InvalidArgumentError(
            f"the stream belongs to {device.name}, but the buffer belongs to {sides[0].name}", device=device.name
        )


def overlap(to: Buffer, source: Buffer) -> bool:
    """Returns True if two buffers share memory."""
    # Compares addresses for any kind of memory: a NumPy array on the host may share the memory of a buffer.
    begin, end = to._extent
    other_begin, other_end = source._extent
    return begin < other_end and other_begin < end


def _moved_away(source: Buffer, stream: Stream | None) -> Buffer:
    """Copies the elements to temporary memory."""
    if source._memory.on_device:
        apart = source.empty_like(stream=stream)
        if stream is None:
            apart._memory.uses.settle()
        _transfer(apart, source, stream)
        return apart
    if stream is not None:
        stream.synchronize()
    return _packed(source)


def _transfer(to: Buffer, source: Buffer, stream: Stream | None) -> None:
    """Copies between buffers that do not overlap. The caller has done all waiting."""
    if to.is_contiguous and source.is_contiguous:
        runs = _layout.Runs(to.nbytes, (), (), ())
    else:
        runs = _layout.runs(to.shape, to.strides, source.strides, to.dtype.itemsize)
    to_device, from_device = to._memory.on_device, source._memory.on_device
    if to_device and from_device:
        _between(to, source, runs, stream)
    elif to_device:
        _upload(to, source, runs, stream)
    elif from_device:
        _download(to, source, runs, stream)
    else:
        # No device function copies between two host arrays, so the host copies after the work on the stream.
        if stream is not None:
            stream.synchronize()
        _host.copy_runs(to.ptr, source.ptr, runs)


def _upload(to: Buffer, source: Buffer, runs: _layout.Runs, stream: Stream | None) -> None:
    if runs.shape:
        if stream is None and to._memory.host_accessible:
            _host.copy_runs(to.ptr, source.ptr, runs)
            return
        if not source.is_contiguous:
            if stream is not None and source._memory.space != "host":
                # The host reads the source now, so earlier work on the stream must be done.
                stream.synchronize()
            source = _packed(source)
            runs = _layout.runs(to.shape, to.strides, source.strides, to.dtype.itemsize)
    native = to.device.handle
    if stream is None:
        _each(partial(functions.memory_copy_h2d, native), to, source, runs)
    else:
        _each(partial(functions.async_memory_copy_h2d, native, stream.handle), to, source, runs)
        host_memory.hold(stream, source._memory)


def _download(to: Buffer, source: Buffer, runs: _layout.Runs, stream: Stream | None) -> None:
    native = source.device.handle
    if runs.shape:
        if stream is None and source._memory.host_accessible:
            _host.copy_runs(to.ptr, source.ptr, runs)
            return
        begin, end = source._extent
        if end - begin <= _SPARSE * source.nbytes:
            _fetch(to, source, stream)
            return
    if stream is None:
        _each(partial(functions.memory_copy_d2h, native), to, source, runs)
    else:
        _each(partial(functions.async_memory_copy_d2h, native, stream.handle), to, source, runs)
        host_memory.hold(stream, to._memory)


def _fetch(to: Buffer, source: Buffer, stream: Stream | None) -> None:
    """Downloads the whole extent of the elements, and selects the elements on the host."""
    begin, end = source._extent
    room = bytearray(end - begin)
    address, native = _host.address_of(room), source.device.handle
    if stream is None:
        functions.memory_copy_d2h(native, address, begin, end - begin)
    else:
        functions.async_memory_copy_d2h(native, stream.handle, address, begin, end - begin)
        stream.synchronize()
    runs = _layout.runs(to.shape, to.strides, source.strides, to.dtype.itemsize)
    _host.copy_runs(to.ptr, address + source.ptr - begin, runs)


def _between(to: Buffer, source: Buffer, runs: _layout.Runs, stream: Stream | None) -> None:
    one, other = to.device, source.device
    if one is other:
        if runs.shape and stream is None and to._memory.host_accessible:
            _host.copy_runs(to.ptr, source.ptr, runs)
        else:
            _each(_within(to, stream), to, source, runs)
    elif one._plugin == other._plugin:
        if stream is None:
            _each(partial(functions.memory_copy_p2p, one.handle, other.handle), to, source, runs)
            return
        _each(
            partial(functions.async_memory_copy_p2p, one.handle, other.handle, stream.handle),
            to,
            source,
            runs,
        )
        # The pool of the other device does not know this stream.
        away = source if stream.device is one else to
        host_memory.hold(stream, away._memory)
    else:
        # Two plugins cannot copy between each other, so the copy goes through the host.
        if stream is not None:
            stream.synchronize()
        room = borrowed(bytearray(source.nbytes), source)
        _transfer(room, source, None)
        _transfer(to, room, stream if stream is not None and stream.device is one else None)


def _within(buffer: Buffer, stream: Stream | None) -> Move:
    """Returns the function that copies bytes within the memory of a buffer."""
    if not buffer._memory.on_device:
        return _host.move
    native = buffer.device.handle
    if stream is None:
        return partial(functions.memory_copy_d2d, native)
    return partial(functions.async_memory_copy_d2d, native, stream.handle)


def _each(move: Move, to: Buffer, source: Buffer, runs: _layout.Runs) -> None:
    length, shape, to_strides, from_strides = runs
    if not shape:
        move(to.ptr, source.ptr, length)
        return
    there, here = to.ptr, source.ptr
    steps = zip(_layout.places(shape, to_strides), _layout.places(shape, from_strides))
    for to_step, from_step in steps:
        move(there + to_step, here + from_step, length)


def _packed(source: Buffer) -> Buffer:
    """Copies the elements of a host array to a new contiguous host array."""
    packed = borrowed(bytearray(source.nbytes), source)
    runs = _layout.runs(source.shape, packed.strides, source.strides, source.dtype.itemsize)
    _host.copy_runs(packed.ptr, source.ptr, runs)
    return packed


def borrowed(data: bytes | bytearray, like: Buffer) -> Buffer:
    """Returns a contiguous host buffer over bytes, with the shape and the type of another buffer."""
    memory = Passing(like.device, len(data), data)
    strides = _layout.contiguous(like.shape, like.dtype.itemsize)
    return like._of(memory, _host.address_of(data), like.shape, strides, like.dtype)
