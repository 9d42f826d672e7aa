"""Shared by the programs, as in collections of samples: constants, a check, a device with a context and a stream."""

from __future__ import annotations

import acl

ACL_SUCCESS = 0
ACL_HOST = 1
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEM_MALLOC_NORMAL_ONLY = 2
ACL_MEMCPY_HOST_TO_HOST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3
ACL_CALLBACK_NO_BLOCK = 0
ACL_CALLBACK_BLOCK = 1
ACL_EVENT_SYNC = 1
ACL_EVENT_TIME_LINE = 8


def check_ret(message, ret):
    if ret != ACL_SUCCESS:
        raise RuntimeError(f"{message} failed, ret={ret}: {acl.get_recent_err_msg()}")


class AclResource:
    """Begins with `init`, and releases everything in reverse order."""

    def __init__(self, device_id=0):
        self.device_id = device_id
        self.context = None
        self.stream = None
        self.run_mode = None

    def init(self):
        check_ret("acl.init", acl.init())
        check_ret("acl.rt.set_device", acl.rt.set_device(self.device_id))
        self.context, ret = acl.rt.create_context(self.device_id)
        check_ret("acl.rt.create_context", ret)
        self.stream, ret = acl.rt.create_stream()
        check_ret("acl.rt.create_stream", ret)
        self.run_mode, ret = acl.rt.get_run_mode()
        check_ret("acl.rt.get_run_mode", ret)
        return self

    def release(self):
        if self.stream:
            check_ret("acl.rt.destroy_stream", acl.rt.destroy_stream(self.stream))
        if self.context:
            check_ret("acl.rt.destroy_context", acl.rt.destroy_context(self.context))
        check_ret("acl.rt.reset_device", acl.rt.reset_device(self.device_id))
        check_ret("acl.finalize", acl.finalize())

    def __enter__(self):
        return self.init()

    def __exit__(self, *_):
        self.release()


def malloc(size, policy=ACL_MEM_MALLOC_HUGE_FIRST):
    pointer, ret = acl.rt.malloc(size, policy)
    check_ret("acl.rt.malloc", ret)
    return pointer


def malloc_host(size):
    pointer, ret = acl.rt.malloc_host(size)
    check_ret("acl.rt.malloc_host", ret)
    return pointer
