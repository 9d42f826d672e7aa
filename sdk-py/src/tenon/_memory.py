"""Memory behind buffers: whose it is, which streams use it, and when it may go.

Memory of a device comes out of the library's pool, in the order of streams: giving it back neither
waits nor asks the device. (`tenon_buffer_create` would do the same, with a handle beside the
address, which takes a second call to ask for and a table to look it up in. Python's objects are
handles already.)

What the pool gives may still be used by work that was queued on its stream before, and work on
other streams may use it when it is given back. So memory knows the streams that use it. Another
stream waits, on the device, for the one that it was allocated on; the host waits for all of them
before it looks; and the last one waits, on the device, for the others before it is given back.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from tenon import _ending, _lifetime, _running
from tenon._native import core, functions
from tenon.errors import BusyError, InvalidHandleError, OutOfMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Literal

    from tenon.device import Device
    from tenon.stream import Stream

    Space = Literal["device", "pinned", "unified", "host"]

_lock = threading.RLock()
"""Held while streams are listed and struck out. A finaliser may run inside, and does not take it."""


@_running.in_child
def _renew() -> None:
    global _lock
    _lock = threading.RLock()


class Uses:
    """Which streams use a piece of memory, and how it is given back."""

    __slots__ = ("address", "born", "device", "last", "native", "pending", "size")

    def __init__(self, device: Device, native: int, address: int, size: int, born: Stream | None) -> None:
        self.device = device
        self.native = native
        self.address = address
        self.size = size
        self.born = born
        """The stream whose earlier work may still use the memory."""
        self.last = None if born is None else ref(born)
        """The stream that has begun to use it last, and whose blocks of the pool it joins. Not kept alive by that."""
        self.pending: dict[Stream, object] = {} if born is None else {born: born}
        """The streams that may not be done with it; with each an object that is another one after each use."""

    def begin(self, stream: Stream) -> None:
        """Notes that work on a stream is about to use the memory."""
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
        """Waits until all streams are done with it. In the main thread Ctrl-C ends the wait."""
        with _lock:
            pending = list(self.pending.items())
        for stream, use in pending:
            # Closing a stream has waited for it.
            if not stream.closed:
                stream.synchronize()
            with _lock:
                found = self.pending.pop(stream, use)
                if found is not use:
                    # Another thread has used it once more. It may have done so again since, which then counts.
                    self.pending.setdefault(stream, found)
        self.born = None

    def order_before(self, handle: int) -> None:
        """Has a stream of the same device, of which only the handle is known, wait for all that use it."""
        for stream in list(self.pending):
            if stream.device is self.device:
                _wait_on_device(self.native, handle, stream)

    def free_in_order(self) -> None:
        """Gives memory of the pool back, behind all work that uses it. Does not wait."""
        last = None if self.last is None else self.last()
        # A closed stream has no handle and no work, and one of another device none that this device knows.
        handle = 0 if last is None or last.device is not self.device else last._handle or 0
        for stream in list(self.pending):
            # Streams of other devices are done: what was queued there has kept the memory alive.
            if stream is not last and stream.device is self.device:
                _wait_on_device(self.native, handle, stream)
        core.pool_free(self.native, self.address, handle)

    def free_after(self, deallocate: Callable[[int, int, int], None]) -> None:
        """Gives memory of the device itself back, once it is not used."""
        for stream in list(self.pending):
            if not stream.closed:
                functions.synchronize_stream(stream.device.handle, stream.handle)
        deallocate(self.native, self.address, self.size)

    def is_done(self) -> bool:
        """Whether no stream uses it, as far as can be told without waiting."""
        return all(
            stream.closed or (stream.device._session.can_query and stream.query()) for stream in list(self.pending)
        )


def _wait_on_device(native: int, handle: int, stream: Stream) -> None:
    """Has a stream wait for another one, without objects that would have to be given back: a finaliser may be here."""
    other = stream._handle
    if other is None or other == handle:
        return
    event = functions.create_event(native)
    try:
        functions.record_event(native, other, event)
        functions.stream_wait_event(native, handle, event)
    finally:
        functions.destroy_event(native, event)


class Memory(_lifetime.Resource):
    """A piece of memory that the library gave."""

    __slots__ = ("address", "device", "exports", "host_accessible", "native", "on_device", "size", "space", "uses")

    def __init__(self, device: Device, size: int, space: Space, stream: Stream | None = None) -> None:
        """Allocates.

        Raises:
            OutOfMemoryError: There is not so much.
            UnsupportedError: The device has no such memory.
        """
        native = device.handle
        session = device._session
        self.device = device
        self.native = native
        self.size = size
        self.space: Space = space
        self.exports: set[int] = set()
        """Arrays of others that point into it."""
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
            # Some devices give no address for no bytes.
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
        """Sees that it is there.

        Raises:
            InvalidHandleError: It was given back.
            NotInitialisedError: This is a forked child.
        """
        if self._key not in self._live:
            # There, nobody has closed it.
            _running.refuse_in_child()
            raise InvalidHandleError("the buffer is closed", device=self.device.name)

    def close(self) -> None:
        """Gives it back.

        Raises:
            BusyError: Somebody's array points into it.
        """
        if self.closed:
            return
        _running.refuse_in_callback()
        refuse_if_lent(self)
        if not self.on_device:
            # Here a wait can be interrupted.
            self.uses.settle()
        release = self._take()
        if release is not None:
            release.now()


_HOST = {
    "pinned": (functions.host_memory_allocate, functions.host_memory_deallocate),
    "unified": (functions.unified_memory_allocate, functions.unified_memory_deallocate),
}


def make_room() -> None:
    """Gives back what others' arrays and finalisers have left."""
    reclaim_all()
    _lifetime.drain()


class Borrowed:
    """Memory that is somebody else's, and stays as long as its owner does."""

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
        """Sees that the owner was not let go.

        Raises:
            InvalidHandleError: It was.
            NotInitialisedError: This is a forked child, and it is memory of a device.
        """
        if self.on_device:
            _running.refuse_in_child()
        if self.closed:
            raise InvalidHandleError("the buffer is closed", device=self.device.name)

    def close(self) -> None:
        """Lets the owner go.

        Raises:
            BusyError: Somebody's array points into the memory.
        """
        if self.closed:
            return
        refuse_if_lent(self)
        self.uses.settle()
        self.closed = True
        self.owner = None


class _Untracked(Uses):
    """What is known of memory that nobody can ask about."""

    __slots__ = ()

    def begin(self, stream: Stream) -> None:
        """Notes nothing: a queued copy keeps the memory by itself."""


class Passing:
    """Memory of the host for the time of one copy, which is never shown to anybody."""

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
        """It is there."""

    def close(self) -> None:
        """Does nothing."""


class Export:
    """Held by somebody else's array as long as it points into memory, which it keeps alive."""

    __slots__ = ("__array_interface__", "__weakref__", "_memory")

    __array_interface__: dict[str, Any]

    def __init__(self, memory: Memory | Borrowed | Passing) -> None:
        self._memory = memory
        # Operations of sets are one step each, which matters where finalisers run in between.
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
"""Memory of devices that arrays of others point into: such an array is not one on the host."""
_reclaim: list[Callable[[], object]] = []
"""What takes back arrays that were dropped without telling."""


def reclaims(take_back: Callable[[], object]) -> Callable[[], object]:
    """Has a function called before it matters whether memory is lent."""
    _reclaim.append(take_back)
    return take_back


def refuse_if_lent(memory: Memory | Borrowed) -> None:
    """Raises `BusyError` if somebody else's array points into memory."""
    if memory.exports:
        reclaim_all()
    count = len(memory.exports)
    if count:
        what = "an array or a view" if count == 1 else f"{count} arrays or views"
        raise BusyError(
            f"{what} of somebody else's, such as NumPy's, still points into the buffer: drop it first",
            device=memory.device.name,
        )


@_ending.counts_use
def reclaim_all() -> int:
    """Takes back what can be; answers how many arrays of others still point into memory."""
    for one in _reclaim:
        one()
    return len(_lent)
