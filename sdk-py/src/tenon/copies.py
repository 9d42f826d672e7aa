"""Copies between buffers, of any layout, on one device, between two, and from and to the host.

A copy without a stream is done when it returns: it waits for the streams that use either side, and
then copies. A copy on a stream is queued behind what is queued there; nothing but the stream's
events tells when it is done, and it is not ordered against work on other streams.

Elements that lie one behind the other on both sides are copied at once. For others the library has
no function, so each piece is copied by itself, or, where that is allowed and better, all of them at
once through a contiguous array on the host.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tenon import _arguments, _held, _host, _layout, _running
from tenon._memory import Passing, shown
from tenon._native import functions
from tenon.errors import InvalidArgumentError, UnsupportedError
from tenon.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from tenon.buffer import Buffer

    Move = Callable[[int, int, int], object]

_SPARSE = 4
"""Up to how many times its elements the memory is fetched in which they lie."""
_PATTERN = 1 << 16
"""How much of a fill comes from the host, in bytes; the rest the device copies itself."""


def copy(to: Buffer, source: Buffer, stream: Stream | None) -> None:
    """Copies all elements.

    Args:
        to: Where to; of the same shape and type.
        source: Where from. The two may overlap: the outcome is as if they did not.
        stream: The stream on which it is queued, of the device of either side; None: it is done when this returns.

    Raises:
        ValueError: The shapes differ, or `to` is read-only, or the stream is of another device.
        TypeError: The types of elements differ.
        InvalidHandleError: A buffer is closed.
        DeviceError: The copy failed, or work that it waited for.
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
                # By far the most copies are these.
                if _running.calling_back:
                    _running.refuse_in_callback()
                if memory.on_device:
                    functions.memory_copy_h2d(memory.native, there, here, size)
                else:
                    functions.memory_copy_d2h(other.native, there, here, size)
            else:
                _transfer(to, source, stream)
            return
    elif not _overlap(to, source):
        _transfer(to, source, stream)
        return
    if there != here or to._strides != source._strides:
        _transfer(to, _moved_away(source, stream), stream)


def between_host(buffer: Buffer, array: Any, *, upload: bool) -> bool:
    """Copies between a buffer and an array of the host, if nothing is queued and both are plain, which most are.

    Args:
        buffer: The buffer.
        array: What may be such an array.
        upload: Whether the copy goes to the buffer.

    Returns:
        Whether that was so; else the copy is left to `copy`, which sees to everything.
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
    if _running.calling_back:
        _running.refuse_in_callback()
    if memory.uses.pending:
        memory.uses.settle()
    if upload:
        functions.memory_copy_h2d(memory.native, there, here, size)
    else:
        functions.memory_copy_d2h(memory.native, here, there, size)
    return True


def fill(buffer: Buffer, item: bytes, stream: Stream | None) -> None:
    """Writes one element to all places.

    Args:
        buffer: The buffer, which is not read-only.
        item: The bytes of the element.
        stream: As with `copy`.
    """
    if buffer.readonly:
        raise ValueError("the memory that is filled is read-only")
    memory = buffer._memory
    memory.check()
    if stream is not None:
        _check_stream(stream, buffer, buffer)
    if not buffer.size:
        return
    if not buffer.is_contiguous:
        copy(buffer, borrowed(item * buffer.size, buffer), stream)
        return
    if stream is None and memory.on_device:
        memory.uses.settle()
        if item.count(item[0]) == len(item):
            functions.device_memory_set(buffer.device.handle, buffer.ptr, item[0], buffer.nbytes)
            return
    # What is there already is copied behind itself, twice as much each time.
    count = min(buffer.size, _PATTERN // len(item))
    pattern = borrowed(item * count, buffer, flat=True)
    if stream is not None and memory.on_device:
        pattern = _pinned(pattern)
    copy(buffer.ravel()[:count], pattern, stream)
    done = pattern.nbytes
    move = _within(buffer, stream)
    while done < buffer.nbytes:
        size = min(done, buffer.nbytes - done)
        move(buffer.ptr + done, buffer.ptr, size)
        done += size


def _refuse(to: Buffer, source: Buffer) -> NoReturn:
    if to.shape != source.shape:
        raise ValueError(f"cannot copy the shape {source.shape} into {to.shape}")
    if to.dtype is not source.dtype:
        raise TypeError(f"cannot copy {source.dtype} into {to.dtype}: copies do not convert")
    raise ValueError("the memory that is copied to is read-only")


def _unveiled(buffer: Buffer) -> Buffer:
    """The same buffer; over memory of a device, if it is an array of the host over such memory.

    Devices mind: a copy from the host is not one within the device.
    """
    if not buffer._memory.on_device:
        for memory in list(shown.values()):
            if memory.address <= buffer._ptr < memory.address + memory.size:
                # The array keeps the memory, and is kept by who called.
                shape, strides = buffer._shape, buffer._strides
                return buffer._of(memory, buffer._ptr, shape, strides, buffer._dtype, buffer._readonly)
    return buffer


def _check_stream(stream: Stream, to: Buffer, source: Buffer) -> None:
    _arguments.expect(stream, Stream, "stream")
    device = stream.device
    if device is (to if to._memory.on_device else source)._memory.device:
        return
    sides = [side.device for side in (to, source) if side._memory.on_device]
    # Between two arrays on the host the stream is only waited for.
    if sides and device not in sides:
        raise InvalidArgumentError(
            f"the stream is of {device.name}, but the buffer of {sides[0].name}", device=device.name
        )


def _overlap(to: Buffer, source: Buffer) -> bool:
    # By address, whatever the memory: host memory may be that of a buffer, which NumPy shows.
    begin, end = to._extent
    other_begin, other_end = source._extent
    return begin < other_end and other_begin < end


def _moved_away(source: Buffer, stream: Stream | None) -> Buffer:
    """The same elements in memory of their own."""
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
    """Copies between buffers that do not overlap and are ready."""
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
        # No device moves memory of the host, so the host does, when the stream has come to it.
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
                # It is read now, not when the stream comes to it.
                stream.synchronize()
            source = _packed(source)
            runs = _layout.runs(to.shape, to.strides, source.strides, to.dtype.itemsize)
    native = to.device.handle
    if stream is None:
        _each(partial(functions.memory_copy_h2d, native), to, source, runs)
    else:
        _each(partial(functions.async_memory_copy_h2d, native, stream.handle), to, source, runs)
        _held.hold(stream, source._memory)


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
        _held.hold(stream, to._memory)


def _fetch(to: Buffer, source: Buffer, stream: Stream | None) -> None:
    """Copies the memory in which the elements lie, and picks them on the host."""
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
        # The other device's pool knows nothing of this stream.
        away = source if stream.device is one else to
        _held.hold(stream, away._memory)
    else:
        # Plugins do not know each other.
        if stream is not None:
            stream.synchronize()
        room = borrowed(bytearray(source.nbytes), source)
        _transfer(room, source, None)
        _transfer(to, room, stream if stream is not None and stream.device is one else None)


def _within(buffer: Buffer, stream: Stream | None) -> Move:
    """What moves bytes from one place of a buffer's memory to another."""
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
    """The elements of an array on the host, one behind the other, in memory of their own."""
    packed = borrowed(bytearray(source.nbytes), source)
    runs = _layout.runs(source.shape, packed.strides, source.strides, source.dtype.itemsize)
    _host.copy_runs(packed.ptr, source.ptr, runs)
    return packed


def _pinned(source: Buffer) -> Buffer:
    """The same in pinned memory, if the device has any: from other memory a queued copy would wait for its turn."""
    try:
        pinned = source.__class__(source.shape, source.dtype, source.device, space="pinned")
    except UnsupportedError:
        return source
    _host.move(pinned.ptr, source.ptr, source.nbytes)
    return pinned


def borrowed(data: bytes | bytearray, like: Buffer, *, flat: bool = False) -> Buffer:
    """Bytes as a contiguous buffer on the host, in the shape of another buffer or in a row."""
    itemsize = like.dtype.itemsize
    shape = (len(data) // itemsize,) if flat else like.shape
    memory = Passing(like.device, len(data), data)
    return like._of(memory, _host.address_of(data), shape, _layout.contiguous(shape, itemsize), like.dtype)
