"""Thousands of blocks through two pinned buffers: while one is copied, the other is filled."""

import numpy as np
from sample import (
    ACL_EVENT_SYNC,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    AclResource,
    check_ret,
    malloc,
    malloc_host,
)

import acl

BLOCKS = 3000
LENGTH = 512


class Half:
    """One of the two buffers: its input, its output, and the event after which both are free again."""

    def __init__(self):
        self.size = LENGTH * 8
        self.device = malloc(self.size)
        self.out, self.back = malloc_host(self.size), malloc_host(self.size)
        self.sent = acl.util.ptr_to_numpy(self.out, (LENGTH,), 7)
        self.received = acl.util.ptr_to_numpy(self.back, (LENGTH,), 7)
        self.done, ret = acl.rt.create_event_with_flag(ACL_EVENT_SYNC)
        check_ret("acl.rt.create_event_with_flag", ret)
        self.block = None

    def start(self, block, stream):
        self.sent[:] = np.arange(LENGTH) * block
        self.block = block
        ret = acl.rt.memcpy_async(self.device, self.size, self.out, self.size, ACL_MEMCPY_HOST_TO_DEVICE, stream)
        check_ret("acl.rt.memcpy_async", ret)
        ret = acl.rt.memcpy_async(self.back, self.size, self.device, self.size, ACL_MEMCPY_DEVICE_TO_HOST, stream)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.record_event", acl.rt.record_event(self.done, stream))

    def finish(self):
        """The sum of the results; 0 before the first block."""
        if self.block is None:
            return 0
        check_ret("acl.rt.synchronize_event", acl.rt.synchronize_event(self.done))
        assert np.array_equal(self.received, self.sent), self.block
        self.block = None
        return int(self.received.sum())

    def release(self):
        del self.sent, self.received
        check_ret("acl.rt.destroy_event", acl.rt.destroy_event(self.done))
        check_ret("acl.rt.free", acl.rt.free(self.device))
        for pointer in (self.out, self.back):
            check_ret("acl.rt.free_host", acl.rt.free_host(pointer))


def main():
    total = 0
    with AclResource() as resource:
        halves = [Half(), Half()]
        free, whole, ret = acl.rt.get_mem_info(1)
        check_ret("acl.rt.get_mem_info", ret)
        assert 0 <= free <= whole
        for block in range(BLOCKS):
            half = halves[block % 2]
            total += half.finish()
            half.start(block, resource.stream)
        for half in halves:
            total += half.finish()
            half.release()
    expected = (LENGTH - 1) * LENGTH // 2 * (BLOCKS - 1) * BLOCKS // 2
    assert total == expected, (total, expected)
    print(f"{BLOCKS} blocks")


if __name__ == "__main__":
    main()
