"""Keeps host memory alive while queued copies read or write it."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from tenon._lifecycle import process, resources, shutdown
from tenon._native import functions

if TYPE_CHECKING:
    from tenon._memory import Borrowed, Memory, Passing
    from tenon.stream import Stream

_MOST = 32
_MOST_BYTES = 64 << 20
"""An event is recorded after this many pieces or bytes. Not for each: an event costs more than a copy of a few KiB."""


class _StreamUses:
    """The memory that one stream uses, in the order of use."""

    __slots__ = ("bytes", "handle", "marked", "native", "session", "stream", "unmarked")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.session = stream.device._session
        self.native = self.session.handle
        self.handle = stream.handle
        self.marked: deque[tuple[int, list[object]]] = deque()
        """Events, each with the memory that is unused once the event is done."""
        self.unmarked: list[object] = []
        """Memory without an event yet. It is unused once the whole stream is done."""
        self.bytes = 0

    def add(self, memory: Memory | Borrowed | Passing) -> None:
        """Keeps memory alive that queued work uses."""
        self.unmarked.append(memory)
        self.bytes += memory.size
        if len(self.unmarked) >= _MOST or self.bytes > _MOST_BYTES:
            event = functions.create_event(self.native)
            try:
                functions.record_event(self.native, self.handle, event)
            except BaseException:
                functions.destroy_event(self.native, event)
                raise
            self.marked.append((event, self.unmarked))
            self.unmarked, self.bytes = [], 0
            self._release_marked()

    def _release_marked(self) -> None:
        while self.marked and functions.query_event(self.native, self.marked[0][0]):
            event, _ = self.marked.popleft()
            functions.destroy_event(self.native, event)

    def release_unused(self) -> bool:
        """Releases memory that the stream no longer uses. Returns True if all of it was released."""
        if not _lock.acquire(blocking=False):
            # Another thread is releasing.
            return False
        try:
            self._release_marked()
            if self.marked or not (self.stream.closed or functions.query_stream(self.native, self.handle)):
                return False
            self.unmarked.clear()
            if _uses.get(self.stream) is self:
                del _uses[self.stream]
            return True
        finally:
            _lock.release()


_uses: dict[Stream, _StreamUses] = {}
_lock = threading.RLock()


@process.in_child
def _renew() -> None:
    global _lock
    _lock = threading.RLock()


def hold(stream: Stream, memory: Memory | Borrowed | Passing) -> None:
    """Keeps memory alive until all work queued on a stream so far is done."""
    session = stream.device._session
    if not session.can_query:
        # Without queries it would be unknown when the work is done.
        stream.synchronize()
        return
    with _lock:
        uses = _uses.get(stream)
        if uses is None:
            uses = _uses[stream] = _StreamUses(stream)
            resources.release_later(
                resources.Release(session, uses.release_unused, uses.release_unused, is_memory=False)
            )
        try:
            uses.add(memory)
        except BaseException:
            # The work is queued, so its memory must stay until it is done.
            stream.synchronize()
            raise


@shutdown.at_shutdown
def _forget() -> None:
    _uses.clear()
