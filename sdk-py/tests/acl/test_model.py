"""Random programs against a model: the content of the device always equals that of NumPy.

The model runs every operation at once. The device runs those of a stream in their order; the program orders streams
among themselves by events before they meet at the same memory, as every right program does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, rule
from numpy.typing import NDArray

import acl

HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = 1, 2, 3, 4
SIZES = st.integers(1, 300)


@dataclass(eq=False)
class Memory:
    """Device memory and its expected content."""

    pointer: int
    content: NDArray[Any]
    last: int = 0
    """The stream that used it last."""


@dataclass(eq=False)
class Pinned:
    """Host memory of a copy that may still be running."""

    pointer: int
    view: NDArray[Any] = field(repr=False)


class Programs(RuleBasedStateMachine):
    """A program with memory and streams."""

    memories = Bundle("memories")

    @initialize()
    def begin(self) -> None:
        assert acl.init() == acl.rt.set_device(0) == 0
        self.streams = [0] + [acl.rt.create_stream()[0] for _ in range(2)]
        self.pinned: list[Pinned] = []
        self.live: list[Memory] = []

    def teardown(self) -> None:
        assert acl.rt.synchronize_device() == 0
        for memory in self.live:
            assert (self.read(memory) == memory.content).all()
            assert acl.rt.free(memory.pointer) == 0
        for pinned in self.pinned:
            assert acl.rt.free_host(pinned.pointer) == 0
        for stream in self.streams[1:]:
            assert acl.rt.destroy_stream(stream) == 0
        assert acl.rt.reset_device(0) == acl.finalize() == 0

    def use(self, stream: int, *memories: Memory) -> None:
        """Makes `stream` wait for the streams that used the memory last."""
        for memory in memories:
            if memory.last != stream:
                event, ret = acl.rt.create_event()
                assert ret == acl.rt.record_event(event, memory.last) == 0
                assert acl.rt.stream_wait_event(stream, event) == 0
                assert acl.rt.destroy_event(event) == 0
            memory.last = stream

    def read(self, memory: Memory) -> NDArray[Any]:
        out = np.empty_like(memory.content)
        size = out.nbytes
        assert acl.rt.memcpy(out.ctypes.data, size, memory.pointer, size, DEVICE_TO_HOST) == 0
        return out

    @rule(target=memories, size=SIZES, policy=st.integers(0, 2))
    def malloc(self, size: int, policy: int) -> Memory:
        pointer, ret = acl.rt.malloc(size, policy)
        assert ret == acl.rt.memset(pointer, size, 0, size) == 0
        memory = Memory(pointer, np.zeros(size, dtype=np.uint8))
        self.live.append(memory)
        return memory

    @rule(memory=consumes(memories))
    def free(self, memory: Memory) -> None:
        assert acl.rt.synchronize_stream(memory.last) == 0
        assert (self.read(memory) == memory.content).all()
        assert acl.rt.free(memory.pointer) == 0
        self.live.remove(memory)

    @rule(memory=memories, value=st.integers(0, 255), which=st.integers(0, 2), data=st.data())
    def memset(self, memory: Memory, value: int, which: int, data: st.DataObject) -> None:
        begin = data.draw(st.integers(0, memory.content.size - 1))
        count = data.draw(st.integers(0, memory.content.size - begin))
        stream = self.streams[which]
        self.use(stream, memory)
        room = memory.content.size - begin
        assert acl.rt.memset_async(memory.pointer + begin, room, value, count, stream) == 0
        memory.content[begin : begin + count] = value

    @rule(memory=memories, which=st.integers(0, 2), data=st.data())
    def upload(self, memory: Memory, which: int, data: st.DataObject) -> None:
        size = memory.content.size
        new = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), dtype=np.uint8)
        host, ret = acl.rt.malloc_host(size)
        assert ret == 0
        view = acl.util.ptr_to_numpy(host, (size,), 2)
        view[:] = new
        self.pinned.append(Pinned(host, view))
        stream = self.streams[which]
        self.use(stream, memory)
        assert acl.rt.memcpy_async(memory.pointer, size, host, size, HOST_TO_DEVICE, stream) == 0
        memory.content[:] = new

    @rule(memory=memories, data=st.data())
    def upload_at_once(self, memory: Memory, data: st.DataObject) -> None:
        size = memory.content.size
        new = np.frombuffer(data.draw(st.binary(min_size=size, max_size=size)), dtype=np.uint8)
        assert acl.rt.synchronize_stream(memory.last) == 0
        kind = data.draw(st.sampled_from([HOST_TO_DEVICE, DEFAULT]))
        keep = new.tobytes()
        source = acl.util.bytes_to_ptr(keep)
        assert acl.rt.memcpy(memory.pointer, size, source, size, kind) == 0
        memory.content[:] = new

    @rule(source=memories, destination=memories, which=st.integers(0, 2))
    def copy(self, source: Memory, destination: Memory, which: int) -> None:
        if source is destination:
            return
        count = min(source.content.size, destination.content.size)
        stream = self.streams[which]
        self.use(stream, source, destination)
        size = destination.content.size
        kind = DEVICE_TO_DEVICE
        assert acl.rt.memcpy_async(destination.pointer, size, source.pointer, count, kind, stream) == 0
        destination.content[:count] = source.content[:count]

    @rule(memory=memories)
    def look(self, memory: Memory) -> None:
        assert acl.rt.synchronize_stream(memory.last) == 0
        assert (self.read(memory) == memory.content).all()

    @rule(which=st.integers(0, 2))
    def synchronize(self, which: int) -> None:
        assert acl.rt.synchronize_stream(self.streams[which]) == 0
        assert acl.rt.stream_query(self.streams[which]) == (0, 0)


TestPrograms = Programs.TestCase
TestPrograms.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
