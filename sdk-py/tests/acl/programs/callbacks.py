"""A thread for reports: a callback receives each completed batch and frees its buffer for the next one."""

import queue
import threading

import numpy as np
from sample import (
    ACL_CALLBACK_BLOCK,
    ACL_CALLBACK_NO_BLOCK,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    AclResource,
    check_ret,
    malloc,
    malloc_host,
)

import acl

BATCHES = 200
INTERVAL = 10
BUFFERS = 4
LENGTH = 1024


class Reports:
    """The thread that serves a stream, from `init` to `release`."""

    def __init__(self, context, stream):
        self.context = context
        self.stream = stream
        self.is_exit = False
        self.begun = threading.Event()

    def _thread_entry(self, args_list):
        context, timeout = args_list
        check_ret("acl.rt.set_context", acl.rt.set_context(context))
        self.begun.set()
        while not self.is_exit:
            # A timeout or a missing subscription does not end the thread.
            acl.rt.process_report(timeout)

    def init(self):
        self.thread_id, ret = acl.util.start_thread(self._thread_entry, [self.context, 100])
        check_ret("acl.util.start_thread", ret)
        self.begun.wait()
        check_ret("acl.rt.subscribe_report", acl.rt.subscribe_report(self.thread_id, self.stream))

    def release(self):
        check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(self.stream))
        check_ret("acl.rt.unsubscribe_report", acl.rt.unsubscribe_report(self.thread_id, self.stream))
        self.is_exit = True
        check_ret("acl.util.stop_thread", acl.util.stop_thread(self.thread_id))


class Batches:
    def __init__(self, stream):
        self.stream = stream
        self.size = LENGTH * 4
        self.device = malloc(self.size)
        self.free = queue.Queue()
        self.sources = [malloc_host(self.size) for _ in range(BUFFERS)]
        self.targets = [malloc_host(self.size) for _ in range(BUFFERS)]
        for number in range(BUFFERS):
            self.free.put(number)
        self.seen = []
        self.notes = []

    def take(self, args_list):
        """Runs in the thread of reports while the stream waits."""
        number, buffer, thread_id = args_list
        received = acl.util.ptr_to_numpy(self.targets[buffer], (LENGTH,), 5)
        assert threading.get_ident() == thread_id
        self.seen.append((number, int(received[0]), int(received.sum())))
        self.free.put(buffer)

    def send(self, number, thread_id):
        buffer = self.free.get()
        acl.util.ptr_to_numpy(self.sources[buffer], (LENGTH,), 5)[:] = number
        source, target, size = self.sources[buffer], self.targets[buffer], self.size
        ret = acl.rt.memcpy_async(self.device, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE, self.stream)
        check_ret("acl.rt.memcpy_async", ret)
        ret = acl.rt.memcpy_async(target, size, self.device, size, ACL_MEMCPY_DEVICE_TO_HOST, self.stream)
        check_ret("acl.rt.memcpy_async", ret)
        arguments = [number, buffer, thread_id]
        ret = acl.rt.launch_callback(self.take, arguments, ACL_CALLBACK_BLOCK, self.stream)
        check_ret("acl.rt.launch_callback", ret)
        if number % INTERVAL == 0:
            ret = acl.rt.launch_callback(self.notes.append, number, ACL_CALLBACK_NO_BLOCK, self.stream)
            check_ret("acl.rt.launch_callback", ret)

    def release(self):
        check_ret("acl.rt.free", acl.rt.free(self.device))
        for pointer in (*self.sources, *self.targets):
            check_ret("acl.rt.free_host", acl.rt.free_host(pointer))


def main():
    with AclResource() as resource:
        reports = Reports(resource.context, resource.stream)
        reports.init()
        batches = Batches(resource.stream)
        for number in range(BATCHES):
            batches.send(number, reports.thread_id)
        # The last callback blocks the stream, so all earlier ones have run.
        ended = threading.Event()
        ret = acl.rt.launch_callback(lambda _: ended.set(), None, ACL_CALLBACK_BLOCK, resource.stream)
        check_ret("acl.rt.launch_callback", ret)
        check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(resource.stream))
        assert ended.is_set()
        assert batches.seen == [(number, number, number * LENGTH) for number in range(BATCHES)]
        assert batches.notes == list(range(0, BATCHES, INTERVAL))
        reports.release()
        batches.release()
    assert np.sum([value for _, value, _ in batches.seen]) == BATCHES * (BATCHES - 1) // 2
    print(f"{len(batches.seen)} batches, {len(batches.notes)} notes")


if __name__ == "__main__":
    main()
