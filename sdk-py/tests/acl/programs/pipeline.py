"""A pipeline of three streams: upload, copy, download. Events order the streams and measure time."""

import numpy as np
from sample import (
    ACL_EVENT_SYNC,
    ACL_EVENT_TIME_LINE,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    AclResource,
    check_ret,
    malloc,
    malloc_host,
)

import acl

BATCHES = 60
SLOTS = 3
LENGTH = 1 << 14


class Slot:
    """The buffers of one batch in the pipeline, and the events of its progress."""

    def __init__(self):
        self.size = LENGTH * 4
        self.sent = malloc_host(self.size)
        self.received = malloc_host(self.size)
        self.uploaded = malloc(self.size)
        self.moved = malloc(self.size)
        self.events = {}
        for name in ("uploaded", "moved", "received"):
            self.events[name], ret = acl.rt.create_event_ex_with_flag(ACL_EVENT_SYNC)
            check_ret("acl.rt.create_event_ex_with_flag", ret)
        self.batch = None

    def view(self, address):
        return acl.util.ptr_to_numpy(address, (LENGTH,), 11)

    def release(self):
        for event in self.events.values():
            check_ret("acl.rt.destroy_event", acl.rt.destroy_event(event))
        for pointer in (self.uploaded, self.moved):
            check_ret("acl.rt.free", acl.rt.free(pointer))
        for pointer in (self.sent, self.received):
            check_ret("acl.rt.free_host", acl.rt.free_host(pointer))


class Pipeline:
    def __init__(self):
        self.streams = []
        for _ in range(3):
            stream, ret = acl.rt.create_stream()
            check_ret("acl.rt.create_stream", ret)
            self.streams.append(stream)
        self.slots = [Slot() for _ in range(SLOTS)]
        self.sums = {}

    def send(self, number):
        slot = self.slots[number % SLOTS]
        self.collect(slot)
        slot.view(slot.sent)[:] = np.arange(LENGTH, dtype=np.float32) + number
        slot.batch = number
        upload, move, download = self.streams
        size, events = slot.size, slot.events

        ret = acl.rt.memcpy_async(slot.uploaded, size, slot.sent, size, ACL_MEMCPY_HOST_TO_DEVICE, upload)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.record_event", acl.rt.record_event(events["uploaded"], upload))

        check_ret("acl.rt.stream_wait_event", acl.rt.stream_wait_event(move, events["uploaded"]))
        ret = acl.rt.memcpy_async(slot.moved, size, slot.uploaded, size, ACL_MEMCPY_DEVICE_TO_DEVICE, move)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.record_event", acl.rt.record_event(events["moved"], move))

        check_ret("acl.rt.stream_wait_event", acl.rt.stream_wait_event(download, events["moved"]))
        ret = acl.rt.memcpy_async(slot.received, size, slot.moved, size, ACL_MEMCPY_DEVICE_TO_HOST, download)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.record_event", acl.rt.record_event(events["received"], download))

    def collect(self, slot):
        if slot.batch is None:
            return
        check_ret("acl.rt.synchronize_event", acl.rt.synchronize_event(slot.events["received"]))
        status, ret = acl.rt.query_event_status(slot.events["received"])
        check_ret("acl.rt.query_event_status", ret)
        assert status == 1
        received = slot.view(slot.received)
        assert np.array_equal(received, np.arange(LENGTH, dtype=np.float32) + slot.batch), slot.batch
        self.sums[slot.batch] = float(received[0])
        slot.batch = None

    def release(self):
        for slot in self.slots:
            self.collect(slot)
        for stream in self.streams:
            check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(stream))
        for slot in self.slots:
            slot.release()
        for stream in self.streams:
            check_ret("acl.rt.destroy_stream", acl.rt.destroy_stream(stream))


def timed(stream, work):
    """Returns the milliseconds that a stream takes for some work."""
    events = []
    for _ in range(2):
        event, ret = acl.rt.create_event_with_flag(ACL_EVENT_TIME_LINE)
        check_ret("acl.rt.create_event_with_flag", ret)
        events.append(event)
    check_ret("acl.rt.record_event", acl.rt.record_event(events[0], stream))
    result = work()
    check_ret("acl.rt.record_event", acl.rt.record_event(events[1], stream))
    check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(stream))
    elapsed, ret = acl.rt.event_elapsed_time(events[0], events[1])
    check_ret("acl.rt.event_elapsed_time", ret)
    for event in events:
        check_ret("acl.rt.destroy_event", acl.rt.destroy_event(event))
    return elapsed, result


def run():
    pipeline = Pipeline()
    for number in range(BATCHES):
        pipeline.send(number)
    pipeline.release()
    return pipeline.sums


def main():
    with AclResource() as resource:
        elapsed, sums = timed(resource.stream, run)
        assert elapsed >= 0
        assert sums == {number: float(number) for number in range(BATCHES)}
    print(f"{BATCHES} batches through {SLOTS} slots")


if __name__ == "__main__":
    main()
