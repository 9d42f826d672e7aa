"""Communicators: groups of processes whose devices exchange data."""

from __future__ import annotations

import contextlib
import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from tenon import _arguments, _wait
from tenon._lifecycle import handled, process
from tenon._native import core, functions
from tenon._native.types import ReduceOp
from tenon.buffer import Buffer
from tenon.errors import InvalidArgumentError
from tenon.event import other_device
from tenon.stream import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType
    from typing import Literal

    from tenon.device import Device

    Reduction = Literal["sum", "avg", "max", "min", "product"]


class Communicator(handled.Handled):
    """The membership of this process in a group of processes, each with a device.

    Rank 0 listens at an address, and the others connect to it. The constructor returns when all have come:

        communicator = tenon.Communicator("192.168.0.1:6170", rank=0, size=2)
        total = communicator.all_reduce(gradients)

    All members must call the same collectives with the same shapes and types in the same order. A collective is queued
    on a stream, by default the current stream of the device, and the call returns at once. If a member ends, leaves or
    calls something else, the streams of the others fail: the error names the member, and every later operation of the
    group fails.

    The group is left when the last reference is dropped and the work of the device is done, by `close`, or at the end
    of a `with`.

    Threads:
        Any thread may use any communicator. The program must make sure that all members call in the same order.
    """

    __slots__ = ("_name", "_rank", "_size")

    _kind = "Communicator"

    def __init__(
        self,
        address: str | None = None,
        rank: int | None = None,
        size: int | None = None,
        device: Device | str | None = None,
    ) -> None:
        """Joins a group. In the main thread, Ctrl-C ends the wait for the other processes.

        Args:
            address: `HOST:PORT` of rank 0, the same in all processes. None: the environment variables `MASTER_ADDR` and
                `MASTER_PORT`.
            rank: The rank of this process, from 0. None: the variable `RANK`.
            size: The number of processes. None: the variable `WORLD_SIZE`.
            device: The device or its name. None: the current device.

        Raises:
            InvalidArgumentError: The address is not an address, or there is no such rank.
            ValueError: An argument and its variable are missing, or the variable is not a number.
            DeviceError: The processes did not all come within `TENON_COMM_TIMEOUT`, two have the same rank, or they
                disagree about the size.
            UnsupportedError: The device has no collectives.
        """
        from tenon.device import resolve

        if address is None:
            address = f"{_variable('MASTER_ADDR', 'address')}:{_variable('MASTER_PORT', 'address')}"
        self._rank = _number("RANK", "rank") if rank is None else _arguments.size(rank, "rank")
        self._size = _number("WORLD_SIZE", "size") if size is None else _arguments.size(size, "size")
        self._device = resolve(device)
        native, plugin = self._device.handle, self._device._plugin
        joined: list[int] = []

        def join() -> None:
            joined.append(core.comm_join(native, address, self._rank, self._size))

        _wait.wait(self._device, None, join, ())
        self._handle = joined[0]
        self._own(
            self._device._session,
            partial(functions.xccl_destroy_comm, plugin, self._handle),
            self._device._session.is_idle,
        )

    @property
    def rank(self) -> int:
        """The rank of this process, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """The number of processes."""
        return self._size

    @property
    def name(self) -> str:
        """The name, which is the same in all processes.

        Raises:
            UnsupportedError: Communicators of the device have no names.
        """
        return functions.xccl_get_comm_name(self._device._plugin, self.handle)

    def all_reduce(
        self, buffer: Buffer, op: Reduction = "sum", *, out: Buffer | None = None, stream: Stream | None = None
    ) -> Buffer:
        """Combines the elements at the same index in the buffers of all processes. All get the same bits.

        Args:
            buffer: The contribution of this process.
            op: The reduction: sum, mean, maximum, minimum or product.
            out: The result, of the same shape and type; may be `buffer`. None: a new buffer.
            stream: The stream on which the work is queued. None: the current stream of the device.
        """
        call = _Call(self, stream)
        send, out = call.source(buffer), call.result(out, buffer.shape, buffer)
        call(functions.xccl_all_reduce, send.ptr, out.ptr, send.size, send.dtype.native, _reduction(op))
        return out

    def reduce(
        self,
        buffer: Buffer,
        op: Reduction = "sum",
        *,
        root: int = 0,
        out: Buffer | None = None,
        stream: Stream | None = None,
    ) -> Buffer | None:
        """Combines the elements at the same index in the buffers of all processes, for one process.

        Args:
            buffer: The contribution of this process.
            op: The reduction: sum, mean, maximum, minimum or product.
            root: The rank that gets the result.
            out: The result, of the same shape and type; may be `buffer`; used in the root only. None: a new buffer.
            stream: The stream on which the work is queued. None: the current stream of the device.

        Returns:
            The result in the root, and None in the other processes.
        """
        call = _Call(self, stream)
        send, is_root = call.source(buffer), _arguments.size(root, "root") == self._rank
        result = call.result(out, buffer.shape, buffer) if is_root else send
        call(functions.xccl_reduce, send.ptr, result.ptr, send.size, send.dtype.native, _reduction(op), root)
        return result if is_root else None

    def broadcast(self, buffer: Buffer, *, root: int = 0, stream: Stream | None = None) -> Buffer:
        """Copies the buffer of one process into the buffers of all others.

        Args:
            buffer: The data: read in the root, written in the others.
            root: The rank whose buffer is copied.
            stream: The stream on which the work is queued. None: the current stream of the device.

        Returns:
            The buffer.
        """
        call = _Call(self, stream)
        call.result(buffer, buffer.shape, buffer)
        call(functions.xccl_broadcast, buffer.ptr, buffer.size, buffer.dtype.native, _arguments.size(root, "root"))
        return buffer

    def all_gather(self, buffer: Buffer, *, out: Buffer | None = None, stream: Stream | None = None) -> Buffer:
        """Stacks the buffers of all processes in the order of the ranks.

        Args:
            buffer: The contribution of this process.
            out: The result, of the shape `(size, *buffer.shape)`. None: a new buffer.
            stream: The stream on which the work is queued. None: the current stream of the device.
        """
        call = _Call(self, stream)
        send, out = call.source(buffer), call.result(out, (self._size, *buffer.shape), buffer)
        call(functions.xccl_all_gather, send.ptr, out.ptr, send.size, send.dtype.native)
        return out

    def reduce_scatter(
        self, buffer: Buffer, op: Reduction = "sum", *, out: Buffer | None = None, stream: Stream | None = None
    ) -> Buffer:
        """Combines the elements at the same index in the buffers of all processes, and gives each process a part.

        Args:
            buffer: The contribution of this process. Its first dimension is the number of processes.
            op: The reduction: sum, mean, maximum, minimum or product.
            out: The part of this process, of the shape `buffer.shape[1:]`. None: a new buffer.
            stream: The stream on which the work is queued. None: the current stream of the device.

        Raises:
            ValueError: The first dimension is not the number of processes.
        """
        call = _Call(self, stream)
        send = call.source(buffer)
        if buffer.shape[:1] != (self._size,):
            raise ValueError(f"the first dimension must be the number of processes, {self._size}, not {buffer.shape}")
        out = call.result(out, buffer.shape[1:], buffer)
        call(functions.xccl_reduce_scatter, send.ptr, out.ptr, out.size, out.dtype.native, _reduction(op))
        return out

    def all_to_all(
        self, buffers: Sequence[Buffer], *, out: Sequence[Buffer] | None = None, stream: Stream | None = None
    ) -> list[Buffer]:
        """Sends a buffer to each process, this one included, and receives one from each.

        Args:
            buffers: The buffer for each rank. Shapes and types may differ.
            out: The buffer from each rank, of the shape and type that the rank sends. None: new ones like `buffers`.
            stream: The stream on which the work is queued. None: the current stream of the device.

        Raises:
            ValueError: There is not one buffer for each rank.
        """
        call = _Call(self, stream)
        wanted: Sequence[Buffer | None] = [None] * self._size if out is None else out
        if len(buffers) != self._size or len(wanted) != self._size:
            raise ValueError(f"one buffer is needed for each of {self._size} ranks")
        sends = [call.source(buffer) for buffer in buffers]
        results = [call.result(given, (given or like).shape, given or like) for given, like in zip(wanted, sends)]
        call(functions.xccl_all_to_all, *_exchange(sends), *_exchange(results), self._rank)
        return results

    def send(self, buffer: Buffer, to: int, *, stream: Stream | None = None) -> None:
        """Sends a buffer to a process, which receives it with `recv`. The stream may wait for the receiver.

        Args:
            buffer: The data.
            to: The rank of the receiver.
            stream: The stream on which the work is queued. None: the current stream of the device.
        """
        call = _Call(self, stream)
        send = call.source(buffer)
        call(functions.xccl_send, send.ptr, send.size, send.dtype.native, _arguments.size(to, "to"))

    def recv(self, buffer: Buffer, source: int, *, stream: Stream | None = None) -> Buffer:
        """Receives a buffer of the same shape and type from a process. The stream waits until it has arrived.

        Args:
            buffer: The place of the data.
            source: The rank of the sender.
            stream: The stream on which the work is queued. None: the current stream of the device.

        Returns:
            The buffer.
        """
        call = _Call(self, stream)
        call.result(buffer, buffer.shape, buffer)
        call(functions.xccl_recv, buffer.ptr, buffer.size, buffer.dtype.native, _arguments.size(source, "source"))
        return buffer

    @contextlib.contextmanager
    def group(self) -> Iterator[None]:
        """Starts the operations in the `with` together, so that a send and a receive do not wait for each other.

        It holds for the calls of this thread. Their buffers stay allocated until the end.
        """
        plugin = self._device._plugin
        functions.xccl_group_start(plugin)
        outer = getattr(_groups, "buffers", None)
        _groups.buffers = [] if outer is None else outer
        try:
            yield
        finally:
            try:
                functions.xccl_group_end(plugin)
            finally:
                _groups.buffers = outer

    def barrier(self, timeout: float | None = None) -> None:
        """Waits until all processes have called it, and until the earlier work on the current stream is done.

        Args:
            timeout: The longest wait in seconds. None: `TENON_COMM_TIMEOUT`.

        Raises:
            TimeoutError: Not all have come within `timeout`.
            DeviceError: A member failed.
        """
        token = Buffer((), "float32", self._device)
        token.fill(0)
        self.all_reduce(token, out=token)
        self._device.current_stream.synchronize(timeout)

    def close(self) -> None:
        """Waits for the work of the device, and leaves the group. Does nothing if the communicator is closed.

        Raises:
            DeviceError: Work of the device failed. The communicator is closed anyway.
            BusyError: The call comes from a stream callback. The communicator stays open.
        """
        if self.closed:
            return
        process.refuse_in_callback()
        try:
            self._device.synchronize()
        finally:
            release = self._take()
            self._handle = None
            if release is not None:
                release.now()

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<tenon.Communicator rank {self._rank} of {self._size} on {self._device.name}{state}>"


_groups = threading.local()
"""Has the buffers that the open groups of the thread use: their work is queued when the outermost group ends."""


class _Call:
    """A call of a collective: its stream, and the buffers that it uses."""

    __slots__ = ("_communicator", "_stream")

    def __init__(self, communicator: Communicator, stream: Stream | None) -> None:
        device = communicator.device
        if stream is None:
            stream = device.current_stream
        else:
            _arguments.expect(stream, Stream, "stream")
            if stream.device is not device:
                raise other_device("stream", stream.device, "communicator", device)
        self._communicator = communicator
        self._stream = stream

    def source(self, buffer: Buffer) -> Buffer:
        """Returns a contiguous buffer that the call reads."""
        self._expect(buffer)
        return self._used(buffer.contiguous(self._stream))

    def result(self, out: Buffer | None, shape: tuple[int, ...], like: Buffer) -> Buffer:
        """Returns a buffer that the call writes: the one that the caller gave, or a new one."""
        if out is None:
            out = Buffer(shape, like.dtype, None, self._stream)
        self._expect(out)
        if out.shape != shape or out.dtype is not like.dtype:
            wanted = f"the shape {shape} and the type {like.dtype}"
            raise ValueError(f"the result has {wanted}, not the shape {out.shape} and the type {out.dtype}")
        if out.readonly or not out.is_contiguous:
            raise ValueError("a collective writes to contiguous memory that is not read-only")
        return self._used(out)

    def _used(self, buffer: Buffer) -> Buffer:
        buffer.record_stream(self._stream)
        buffers = getattr(_groups, "buffers", None)
        if buffers is not None:
            buffers.append(buffer)
        return buffer

    def _expect(self, buffer: Buffer) -> None:
        _arguments.expect(buffer, Buffer, "the buffer of a collective")
        device = self._communicator.device
        if buffer.space == "host":
            raise TypeError("the buffer is in host memory; copy it with tenon.asarray")
        if buffer.device is not device:
            raise InvalidArgumentError(
                f"the buffer belongs to {buffer.device.name}, but the communicator belongs to {device.name}",
                device=device.name,
            )

    def __call__(self, function: Any, *arguments: Any) -> None:
        """Queues the work."""
        communicator, device = self._communicator, self._communicator.device
        functions.set_device(device.handle)
        function(device._plugin, *arguments, communicator.handle, self._stream.handle)


def _exchange(buffers: Sequence[Buffer]) -> tuple[list[int], list[int], list[int]]:
    return (
        [buffer.ptr for buffer in buffers],
        [buffer.size for buffer in buffers],
        [buffer.dtype.native for buffer in buffers],
    )


def _reduction(name: str) -> int:
    try:
        return ReduceOp[name.upper()]
    except (KeyError, AttributeError):
        known = ", ".join(op.name.lower() for op in ReduceOp)
        raise ValueError(f"there is no reduction {name!r}; there are {known}") from None


def _variable(name: str, argument: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise ValueError(f"{argument} is missing, and the environment variable {name} is not set")
    return value


def _number(name: str, argument: str) -> int:
    value = _variable(name, argument)
    if not (value.isascii() and value.isdigit()):
        raise ValueError(f"{name}={value}: expected a number")
    return int(value)
