"""Measures calls: `acl.rt` and `tenon` beside the same C function through bare ctypes and cffi.

Bare ctypes is code as written by hand: `argtypes` are set, one variable takes the result, and the status is ignored.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_bool, c_int, c_int32, c_size_t, c_void_p
from typing import Any

import cffi

import acl
import tenon
from compare import Work, run, table
from tenon._native import functions, library

DECLARATIONS = """
int aclrtGetDevice(int32_t *device);
int aclrtSynchronizeStream(void *stream);
int aclrtRecordEvent(void *event, void *stream);
int aclrtQueryEventStatus(void *event, int *status);
int aclrtMalloc(void **address, size_t size, int policy);
int aclrtFree(void *address);
int aclrtMemcpy(void *target, size_t room, const void *source, size_t size, int kind);
int tenon_synchronize_stream(void *device, void *stream);
int tenon_record_event(void *device, void *stream, void *event);
int tenon_synchronize_event(void *device, void *event);
int tenon_query_event(void *device, void *event, bool *answer);
"""
HOST_TO_DEVICE, NORMAL_PAGES, SIZE = 1, 2, 64

_kept: list[object] = []


def nanoseconds(_: str, seconds: float) -> str:
    """Formats the duration of a call for the tables."""
    return f"{seconds * 1e9:.0f}"


def bare(name: str, *argtypes: Any) -> ctypes._NamedFuncPointer:
    """Returns a function of the library through ctypes."""
    function = ctypes.CDLL(str(library.PATH))[name]
    function.argtypes = argtypes
    function.restype = c_int
    return function


def acl_calls(ffi: cffi.FFI, lib: Any) -> dict[str, dict[str, Work]]:
    """Returns calls of the functions of `acl.rt` that programs use most."""
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    stream, _ = acl.rt.create_stream()
    event, _ = acl.rt.create_event()
    memory, _ = acl.rt.malloc(SIZE, NORMAL_PAGES)
    host = ctypes.create_string_buffer(SIZE)
    source = ctypes.addressof(host)
    # The buffer must stay alive as long as its address is used.
    _kept.append(host)
    acl.rt.record_event(event, stream)
    acl.rt.synchronize_stream(stream)

    number, status, address = c_int32(), c_int(), c_void_p()
    get_device = bare("aclrtGetDevice", c_void_p)
    synchronize = bare("aclrtSynchronizeStream", c_void_p)
    record = bare("aclrtRecordEvent", c_void_p, c_void_p)
    query = bare("aclrtQueryEventStatus", c_void_p, c_void_p)
    malloc, free = bare("aclrtMalloc", c_void_p, c_size_t, c_int), bare("aclrtFree", c_void_p)
    memcpy = bare("aclrtMemcpy", c_void_p, c_size_t, c_void_p, c_size_t, c_int)

    number_c, status_c, address_c = ffi.new("int32_t *"), ffi.new("int *"), ffi.new("void **")
    stream_c, event_c = ffi.cast("void *", stream), ffi.cast("void *", event)
    memory_c, source_c = ffi.cast("void *", memory), ffi.cast("void *", source)

    def malloc_and_free() -> None:
        address, _ = acl.rt.malloc(SIZE, NORMAL_PAGES)
        acl.rt.free(address)

    return {
        "get_device": {
            "ctypes": lambda: (get_device(byref(number)), number.value),
            "cffi": lambda: (lib.aclrtGetDevice(number_c), number_c[0]),
            "acl.rt": acl.rt.get_device,
        },
        "synchronize_stream": {
            "ctypes": lambda: synchronize(stream),
            "cffi": lambda: lib.aclrtSynchronizeStream(stream_c),
            "acl.rt": lambda: acl.rt.synchronize_stream(stream),
        },
        "record_event": {
            "ctypes": lambda: record(event, stream),
            "cffi": lambda: lib.aclrtRecordEvent(event_c, stream_c),
            "acl.rt": lambda: acl.rt.record_event(event, stream),
        },
        "query_event_status": {
            "ctypes": lambda: (query(event, byref(status)), status.value),
            "cffi": lambda: (lib.aclrtQueryEventStatus(event_c, status_c), status_c[0]),
            "acl.rt": lambda: acl.rt.query_event_status(event),
        },
        "malloc and free": {
            "ctypes": lambda: (malloc(byref(address), SIZE, NORMAL_PAGES), free(address.value)),
            "cffi": lambda: (lib.aclrtMalloc(address_c, SIZE, NORMAL_PAGES), lib.aclrtFree(address_c[0])),
            "acl.rt": malloc_and_free,
        },
        "memcpy of 64 bytes": {
            "ctypes": lambda: memcpy(memory, SIZE, source, SIZE, HOST_TO_DEVICE),
            "cffi": lambda: lib.aclrtMemcpy(memory_c, SIZE, source_c, SIZE, HOST_TO_DEVICE),
            "acl.rt": lambda: acl.rt.memcpy(memory, SIZE, source, SIZE, HOST_TO_DEVICE),
        },
    }


def tenon_calls(ffi: cffi.FFI, lib: Any) -> dict[str, dict[str, Work]]:
    """Returns operations on streams and events, as generated functions and as objects."""
    device = tenon.device("cpu:0")
    stream, event = device.create_stream(), device.create_event()
    native, stream_handle, event_handle = device.handle, stream.handle, event.handle
    event.record(stream)
    stream.synchronize()

    synchronize = bare("tenon_synchronize_stream", c_void_p, c_void_p)
    record = bare("tenon_record_event", c_void_p, c_void_p, c_void_p)
    synchronize_event = bare("tenon_synchronize_event", c_void_p, c_void_p)
    query, answer = bare("tenon_query_event", c_void_p, c_void_p, c_void_p), c_bool()
    native_c, stream_c = ffi.cast("void *", native), ffi.cast("void *", stream_handle)
    event_c, answer_c = ffi.cast("void *", event_handle), ffi.new("bool *")

    return {
        "synchronise a stream": {
            "ctypes": lambda: synchronize(native, stream_handle),
            "cffi": lambda: lib.tenon_synchronize_stream(native_c, stream_c),
            "generated": lambda: functions.synchronize_stream(native, stream_handle),
            "object": stream.synchronize,
        },
        "record an event": {
            "ctypes": lambda: record(native, stream_handle, event_handle),
            "cffi": lambda: lib.tenon_record_event(native_c, stream_c, event_c),
            "generated": lambda: functions.record_event(native, stream_handle, event_handle),
            "object": lambda: event.record(stream),
        },
        "synchronise an event": {
            "ctypes": lambda: synchronize_event(native, event_handle),
            "cffi": lambda: lib.tenon_synchronize_event(native_c, event_c),
            "generated": lambda: functions.synchronize_event(native, event_handle),
            "object": event.synchronize,
        },
        "query an event": {
            "ctypes": lambda: (query(native, event_handle, byref(answer)), answer.value),
            "cffi": lambda: (lib.tenon_query_event(native_c, event_c, answer_c), answer_c[0]),
            "generated": lambda: functions.query_event(native, event_handle),
            "object": event.query,
        },
    }


def main() -> None:
    """Measures, and prints a table for each package."""
    ffi = cffi.FFI()
    ffi.cdef(DECLARATIONS)
    lib = ffi.dlopen(str(library.PATH))
    for title, cases, settle in (
        ("tenon, ns a call", tenon_calls(ffi, lib), tenon.device("cpu:0").synchronize),
        ("acl.rt, ns a call", acl_calls(ffi, lib), acl.rt.synchronize_device),
    ):
        table(title, {name: run(ways, settle) for name, ways in cases.items()}, "ctypes", nanoseconds)


if __name__ == "__main__":
    main()
