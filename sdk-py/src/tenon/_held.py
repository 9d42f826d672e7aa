"""Host memory that a stream still reads or writes, and that must stay until the stream has passed."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from tenon import _ending, _lifetime, _running
from tenon._native import functions

if TYPE_CHECKING:
    from tenon._memory import Borrowed, Memory, Passing
    from tenon.stream import Stream

_MOST = 32
_MOST_BYTES = 64 << 20
"""With so many pieces, or so many bytes, an event is recorded behind them: it costs more than a copy of a few KiB."""


class _Line:
    """What one stream uses, in the order in which it does."""

    __slots__ = ("bytes", "handle", "marked", "native", "session", "stream", "unmarked")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.session = stream.device._session
        self.native = self.session.handle
        self.handle = stream.handle
        self.marked: deque[tuple[int, list[object]]] = deque()
        """What is done with an event."""
        self.unmarked: list[object] = []
        """What has none yet, and is done when the whole stream is."""
        self.bytes = 0

    def add(self, memory: Memory | Borrowed | Passing) -> None:
        """Holds what work uses that is queued already."""
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
            self._let_marked_go()

    def _let_marked_go(self) -> None:
        while self.marked and functions.query_event(self.native, self.marked[0][0]):
            event, _ = self.marked.popleft()
            functions.destroy_event(self.native, event)

    def let_go(self) -> bool:
        """Lets go what the stream has passed; answers whether that was all."""
        if not _lock.acquire(blocking=False):
            # Somebody else is about to.
            return False
        try:
            self._let_marked_go()
            if self.marked or not (self.stream.closed or functions.query_stream(self.native, self.handle)):
                return False
            self.unmarked.clear()
            if _lines.get(self.stream) is self:
                del _lines[self.stream]
            return True
        finally:
            _lock.release()


_lines: dict[Stream, _Line] = {}
_lock = threading.RLock()


@_running.in_child
def _renew() -> None:
    global _lock
    _lock = threading.RLock()


def hold(stream: Stream, memory: Memory | Borrowed | Passing) -> None:
    """Keeps memory until a stream has done all that is queued on it now."""
    session = stream.device._session
    if not session.can_query:
        # Nobody would learn when it is done.
        stream.synchronize()
        return
    with _lock:
        line = _lines.get(stream)
        if line is None:
            line = _lines[stream] = _Line(stream)
            _lifetime.release_later(_lifetime.Release(session, line.let_go, line.let_go, is_memory=False))
        try:
            line.add(memory)
        except BaseException:
            # The work is queued, and what it uses must not go before it.
            stream.synchronize()
            raise


@_ending.at_shutdown
def _forget() -> None:
    _lines.clear()
