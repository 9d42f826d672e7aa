"""A service that resets and reopens its device a hundred times, in three ways."""

from sample import (
    ACL_MEM_MALLOC_NORMAL_ONLY,
    ACL_MEMCPY_DEVICE_TO_HOST,
    check_ret,
    malloc,
    malloc_host,
)

import acl

ROUNDS = 100
SIZE = 1 << 14
DEVICE_ID = 0


def work(stream, value):
    memory = malloc(SIZE, ACL_MEM_MALLOC_NORMAL_ONLY)
    host = malloc_host(SIZE)
    check_ret("acl.rt.memset_async", acl.rt.memset_async(memory, SIZE, value, SIZE, stream))
    check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(stream))
    check_ret("acl.rt.memcpy", acl.rt.memcpy(host, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_HOST))
    assert acl.util.ptr_to_bytes(host, SIZE) == bytes([value]) * SIZE
    check_ret("acl.rt.free", acl.rt.free(memory))
    check_ret("acl.rt.free_host", acl.rt.free_host(host))


def with_the_default_stream(value):
    check_ret("acl.rt.set_device", acl.rt.set_device(DEVICE_ID))
    work(0, value)
    check_ret("acl.rt.reset_device", acl.rt.reset_device(DEVICE_ID))


def with_everything_explicit(value):
    check_ret("acl.rt.set_device", acl.rt.set_device(DEVICE_ID))
    context, ret = acl.rt.create_context(DEVICE_ID)
    check_ret("acl.rt.create_context", ret)
    stream, ret = acl.rt.create_stream()
    check_ret("acl.rt.create_stream", ret)
    event, ret = acl.rt.create_event()
    check_ret("acl.rt.create_event", ret)
    work(stream, value)
    check_ret("acl.rt.record_event", acl.rt.record_event(event, stream))
    check_ret("acl.rt.synchronize_event", acl.rt.synchronize_event(event))
    check_ret("acl.rt.destroy_event", acl.rt.destroy_event(event))
    check_ret("acl.rt.destroy_stream", acl.rt.destroy_stream(stream))
    check_ret("acl.rt.destroy_context", acl.rt.destroy_context(context))
    check_ret("acl.rt.reset_device", acl.rt.reset_device(DEVICE_ID))


def with_init_and_finalize(value):
    check_ret("acl.init", acl.init())
    with_everything_explicit(value)
    check_ret("acl.finalize", acl.finalize())


def main():
    rounds = 0
    for number in range(ROUNDS):
        value = number % 255 + 1
        with_init_and_finalize(value)
        check_ret("acl.init", acl.init())
        with_the_default_stream(value)
        with_everything_explicit(value)
        check_ret("acl.finalize", acl.finalize())
        rounds += 3
    assert acl.rt.reset_device(DEVICE_ID) != 0, "it was given back as often as it was taken"
    print(f"{rounds} times")


if __name__ == "__main__":
    main()
