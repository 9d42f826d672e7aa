"""Memory of buffers: ownership, the streams that use it, and its release.

Device memory comes from the stream-ordered pool of the library. Freeing it neither waits nor calls the device.
(`tenon_buffer_create` would do the same with an additional handle, which needs a second call for the address and a
table for the lookup. Python objects serve as handles already.)

Memory from the pool may still be in use by earlier work on the stream that it is allocated on, and other streams may
still use it when it is freed. So each block tracks the streams that use it. Another stream waits, on the device, for
the allocating stream. The host waits for all of them before it accesses the memory. Before the memory is freed, the
last stream waits, on the device, for the others.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from tenon._lifecycle import process, resources, shutdown
from tenon._native import core, functions
from tenon.errors import BusyError, InvalidHandleError, OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Literal

    from tenon.device import Device
    from tenon.stream import Stream

    Space = Literal["device", "pinned", "unified", "host"]

_lock = threading.RLock()
"""Held while pending streams are listed and removed. A finaliser may run meanwhile; it does not take the lock."""


@process.in_child
def _renew() -> None:
    global _lock
    _lock = threading.RLock()


class Uses:
    """The streams that use a block of memory, and its release."""

    __slots__ = ("address", "born", "device", "last", "native", "pending", "size")

    def __init__(self, device: Device, native: int, address: int, size: int, born: Stream | None) -> None:
        self.device = device
        self.native = native
        self.address = address
        self.size = size
        self.born = born
        """The allocating stream, whose earlier work may still use the memory; None once that work is done."""
        self.last = None if born is None else ref(born)
        """A weak reference to the stream that used the memory last. The block is freed in the order of this stream."""
        self.pending: dict[Stream, object] = {} if born is None else {born: born}
        """The streams that may still use the memory, each with a token that is replaced at each use."""

    def begin(self, stream: Stream) -> None:
        """Records that work on a stream will use the memory, and orders it after the allocating stream."""
        born = self.born
        if born is not None and born is not stream and stream not in self.pending:
            if born.closed or (born.device._session.can_query and born.query()):
                self.born = None
            elif stream.device is born.device:
                stream.wait_stream(born)
            else:
                born.synchronize()
        self.pending[stream] = object()
        self.last = ref(stream)

    def settle(self) -> None:
        """Waits until no stream uses the memory. In the main thread, Ctrl-C ends the wait."""
        with _lock:
            pending = list(self.pending.items())
        for stream, use in pending:
            # `Stream.close` waited for its work.
            if not stream.closed:
                stream.synchronize()
            with _lock:
                found = self.pending.pop(stream, use)
                if found is not use:
                    # Another thread has used the memory meanwhile. Keeps the newest token.
                    self.pending.setdefault(stream, found)
        self.born = None

    def order_before(self, handle: int) -> None:
        """Makes a stream of the same device, given by its handle, wait for all streams that use the memory."""
        for stream in list(self.pending):
            if stream.device is self.device:
                _wait_on_device(self.native, handle, stream)

    def free_in_order(self) -> None:
        """Frees pool memory in stream order, after all work that uses it. Does not wait."""
        last = None if self.last is None else self.last()
        # A closed stream has no work left, and a stream of another device is unknown to this pool: both use handle 0.
        handle = 0 if last is None or last.device is not self.device else last._handle or 0
        for stream in list(self.pending):
            # Streams of other devices are done, because work queued there keeps the memory alive.
            if stream is not last and stream.device is self.device:
                _wait_on_device(self.native, handle, stream)
        core.pool_free(self.native, self.address, handle)

    def free_after(self, deallocate: Callable[[int, int, int], None]) -> None:
        """Waits until no stream uses the memory, and frees it with a function of the device."""
        for stream in list(self.pending):
            if not stream.closed:
                functions.synchronize_stream(stream.device.handle, stream.handle)
        deallocate(self.native, self.address, self.size)

    def is_done(self) -> bool:
        """Returns True if it is known, without waiting, that no stream uses the memory."""
        return all(
            stream.closed or (stream.device._session.can_query and stream.query()) for stream in list(self.pending)
        )


def _wait_on_device(native: int, handle: int, stream: Stream) -> None:
    """Makes a stream wait for another one. Creates no `Resource`, because a finaliser may be running."""
    other = stream._handle
    if other is None or other == handle:
        return
    event = functions.create_event(native)
    try:
        functions.record_event(native, other, event)
        functions.stream_wait_event(native, handle, event)
    finally:
        functions.destroy_event(native, event)


class Memory(resources.Resource):
    """A block of memory that the library allocated."""

    __slots__ = ("address", "device", "exports", "host_accessible", "native", "on_device", "size", "space", "uses")

    def __init__(self, device: Device, size: int, space: Space, stream: Stream | None = None) -> None:
        """Allocates memory.

        Raises:
            OutOfMemoryError: There is not enough memory.
            UnsupportedError: The device does not support this kind of memory.
        """
        native = device.handle
        session = device._session
        self.device = device
        self.native = native
        self.size = size
        self.space: Space = space
        self.exports: set[int] = set()
        """Identifiers of the exports: arrays of other packages that refer to the memory."""
        if stream is not None:
            handle = stream.handle
            try:
                address = core.pool_allocate(native, size, handle)
            except OutOfMemoryError:
                make_room()
                address = core.pool_allocate(native, size, handle)
            self.on_device = True
            self.host_accessible = session.host_accessible
            self.uses = Uses(device, native, address, size, stream)
            self._own(session, self.uses.free_in_order, is_memory=True)
        else:
            allocate, deallocate = _HOST[space]
            # Some devices return null for a size of 0.
            size = size or 1
            try:
                address = allocate(native, size)
            except OutOfMemoryError:
                make_room()
                address = allocate(native, size)
            self.on_device = False
            self.host_accessible = True
            self.uses = Uses(device, native, address, size, None)
            self._own(session, partial(self.uses.free_after, deallocate), self.uses.is_done, is_memory=True)
        self.address = address

    def check(self) -> None:
        """Checks that the memory is not freed.

        Raises:
            InvalidHandleError: The memory was freed.
            NotInitialisedError: The process is a forked child.
        """
        if self._key not in self._live:
            # In a forked child the tables are empty although nothing was closed.
            process.refuse_in_child()
            raise InvalidHandleError("the buffer is closed", device=self.device.name)

    def close(self) -> None:
        """Frees the memory.

        Raises:
            BusyError: An array of another package refers to the memory.
        """
        if self.closed:
            return
        process.refuse_in_callback()
        refuse_if_lent(self)
        if not self.on_device:
            # Waits here, because this wait can be interrupted; the one in `free_after` cannot.
            self.uses.settle()
        release = self._take()
        if release is not None:
            release.now()


_HOST = {
    "pinned": (functions.host_memory_allocate, functions.host_memory_deallocate),
    "unified": (functions.unified_memory_allocate, functions.unified_memory_deallocate),
}


def make_room() -> None:
    """Releases returned exports and deferred resources, to free memory."""
    reclaim_all()
    resources.drain()


class Borrowed:
    """Memory of another owner. The reference to the owner keeps it alive."""

    __slots__ = (
        "address",
        "closed",
        "device",
        "exports",
        "host_accessible",
        "native",
        "on_device",
        "owner",
        "size",
        "space",
        "uses",
    )

    def __init__(self, device: Device, address: int, size: int, owner: object, *, on_device: bool = False) -> None:
        self.device = device
        self.native = device.handle if on_device else 0
        self.address = address
        self.size = size
        self.owner = owner
        self.closed = False
        self.space: Space = "device" if on_device else "host"
        self.on_device = on_device
        self.host_accessible = not on_device
        self.exports: set[int] = set()
        self.uses = Uses(device, self.native, address, size, None)

    def check(self) -> None:
        """Checks that the memory is not closed.

        Raises:
            InvalidHandleError: It is closed.
            NotInitialisedError: The process is a forked child, and the memory belongs to a device.
        """
        if self.on_device:
            process.refuse_in_child()
        if self.closed:
            raise InvalidHandleError("the buffer is closed", device=self.device.name)

    def close(self) -> None:
        """Waits for the streams that use the memory, and drops the reference to the owner.

        Raises:
            BusyError: An array of another package refers to the memory.
        """
        if self.closed:
            return
        refuse_if_lent(self)
        self.uses.settle()
        self.closed = True
        self.owner = None


class _Untracked(Uses):
    """Tracks no streams; for memory that exists only during one copy."""

    __slots__ = ()

    def begin(self, stream: Stream) -> None:
        """Does nothing: a queued copy keeps the memory alive itself."""


class Passing:
    """Host memory for the duration of one copy. It is never exported."""

    __slots__ = ("address", "device", "exports", "owner", "size")

    address: int
    exports: set[int]
    space: Space = "host"
    closed = False
    on_device = False
    host_accessible = True
    native = 0

    def __init__(self, device: Device, size: int, owner: object) -> None:
        self.device = device
        self.size = size
        self.owner = owner

    uses = _Untracked(None, 0, 0, 0, None)  # type: ignore[arg-type]

    def check(self) -> None:
        """Does nothing: the memory is always valid."""

    def close(self) -> None:
        """Does nothing."""


class Export:
    """A reference from an array of another package to memory. It keeps the memory alive."""

    __slots__ = ("__array_interface__", "__weakref__", "_memory")

    __array_interface__: dict[str, Any]

    def __init__(self, memory: Memory | Borrowed | Passing) -> None:
        self._memory = memory
        # Set operations are atomic, which matters because finalisers can run in between.
        memory.exports.add(id(self))
        _lent.add(id(self))
        if memory.on_device:
            shown[id(self)] = memory

    def __del__(self) -> None:
        shown.pop(id(self), None)
        _lent.discard(id(self))
        self._memory.exports.discard(id(self))


_lent: set[int] = set()
shown: dict[int, Memory | Borrowed | Passing] = {}
"""Device memory that arrays of other packages refer to. A copy must treat such an array as device memory."""
_reclaim: list[Callable[[], object]] = []
"""Functions that detect exports whose consumer has returned them without a call to this package."""


def reclaims(take_back: Callable[[], object]) -> Callable[[], object]:
    """Registers a function that `reclaim_all` calls before exports are counted."""
    _reclaim.append(take_back)
    return take_back


def refuse_if_lent(memory: Memory | Borrowed) -> None:
    """Raises `BusyError` if an array of another package refers to the memory."""
    if memory.exports:
        reclaim_all()
    count = len(memory.exports)
    if count:
        what = "an array or a view" if count == 1 else f"{count} arrays or views"
        raise BusyError(
            f"the buffer is shared with {what} of another package, such as NumPy: drop all references to it first",
            device=memory.device.name,
        )


@shutdown.counts_use
def reclaim_all() -> int:
    """Releases returned exports. Returns the number of arrays of other packages that still refer to memory."""
    for one in _reclaim:
        one()
    return len(_lent)
