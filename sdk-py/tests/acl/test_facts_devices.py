"""Initialisation, devices, contexts and streams: reference counts, current objects and lifetimes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import acl
from support import Program

ACL_DEVICE, ACL_HOST = 0, 1
INVALID_PARAM = 100000
REPEAT_INITIALIZE = 100002
REPEAT_FINALIZE = 100037
RT_PARAM_INVALID = 107000
INVALID_DEVICE = 107001
CONTEXT_NULL = 107002
STREAM_CONTEXT = 107003
CONTEXT_RELEASE = 507007
GONE = (RT_PARAM_INVALID, CONTEXT_NULL)


@pytest.fixture(autouse=True)
def _nothing_left() -> None:
    assert acl.rt.get_context() == (0, CONTEXT_NULL)


def test_init_and_finalize_are_counted() -> None:
    assert [acl.init(), acl.init(), acl.init()] == [0, REPEAT_INITIALIZE, REPEAT_INITIALIZE]
    assert acl.finalize_reference() == (2, 0)
    assert acl.finalize() == 0, "of all that is left"
    assert acl.finalize() == REPEAT_FINALIZE
    assert acl.finalize_reference()[1] == REPEAT_FINALIZE
    assert acl.init() == 0
    assert acl.finalize_reference() == (0, 0)


def test_init_with_a_missing_file_fails(program: Program) -> None:
    done = program("""
        import acl, tempfile
        with tempfile.NamedTemporaryFile("w", suffix=".json") as config:
            print(config.write("{}"), acl.init(config.name), acl.finalize())
        print(acl.init(""), acl.finalize())
        print(acl.init("nowhere.json") != 0, "nowhere.json" in acl.get_recent_err_msg())
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 0 0\n0 0\nTrue True\n", "")


def test_device_can_be_set_before_init_and_after_finalize() -> None:
    for _ in range(2):
        assert acl.rt.set_device(0) == acl.rt.reset_device(0) == 0
        assert acl.init() == acl.finalize() == 0


def test_use_after_finalize() -> None:
    assert acl.init() == acl.rt.set_device(0) == 0
    stream, _ = acl.rt.create_stream()
    event, _ = acl.rt.create_event()
    assert acl.finalize() == 0
    assert acl.rt.get_device() == (0, CONTEXT_NULL)
    assert acl.rt.malloc(64, 0) == (0, CONTEXT_NULL)
    assert acl.rt.synchronize_stream(stream) == CONTEXT_NULL
    assert acl.rt.set_device(0) == 0
    assert acl.rt.synchronize_stream(stream) != 0
    assert acl.rt.synchronize_event(event) != 0
    assert acl.rt.reset_device(0) == 0


def test_set_device_is_counted() -> None:
    assert acl.rt.set_device(0) == 0
    first = acl.rt.get_context()
    assert acl.rt.set_device(0) == 0
    assert acl.rt.get_context() == first, "there is one default context"
    assert acl.rt.get_device() == (0, 0)
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.get_context() == first
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.get_context() == (0, CONTEXT_NULL)
    assert acl.rt.reset_device(0) == CONTEXT_RELEASE, "one too many"


def test_set_device_is_counted_across_threads() -> None:
    """Each thread sets and resets the device. The context exists until the last reset."""
    barrier = threading.Barrier(4)

    def work(_: int) -> tuple[int, int]:
        assert acl.rt.set_device(0) == 0
        context, ret = acl.rt.get_context()
        assert ret == 0
        barrier.wait()
        stream, ret = acl.rt.create_stream()
        assert ret == acl.rt.destroy_stream(stream) == 0
        barrier.wait()
        return context, acl.rt.reset_device(0)

    with ThreadPoolExecutor(4) as pool:
        contexts, rets = zip(*pool.map(work, range(4)))
    assert (len(set(contexts)), set(rets)) == (1, {0})
    assert acl.rt.reset_device(0) == CONTEXT_RELEASE


def test_reset_waits_and_destroys_streams_of_the_default_context() -> None:
    assert acl.rt.set_device(0) == 0
    size = 1 << 22
    memory, _ = acl.rt.malloc(size, 0)
    stream, _ = acl.rt.create_stream()
    for _ in range(20):
        assert acl.rt.memset_async(memory, size, 1, size, stream) == 0
        assert acl.rt.memset_async(memory, size, 1, size, 0) == 0
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.set_device(0) == 0
    assert acl.rt.synchronize_stream(stream) != 0
    assert acl.rt.reset_device(0) == 0


def test_forced_reset_ignores_the_count() -> None:
    for _ in range(3):
        assert acl.rt.set_device(0) == 0
    context, _ = acl.rt.create_context(0)
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.reset_device_force(0) == 0
    assert acl.rt.get_context() == (0, CONTEXT_NULL)
    assert acl.rt.set_context(context) in GONE
    assert acl.rt.reset_device(0) == CONTEXT_RELEASE
    assert acl.rt.reset_device_force(0) == CONTEXT_RELEASE
    assert acl.rt.set_device(0) == acl.rt.reset_device(0) == 0


@pytest.mark.parametrize("number", [-1, 64, 1 << 30])
def test_unknown_device_is_refused(number: int) -> None:
    assert acl.rt.set_device(number) == INVALID_DEVICE
    assert acl.rt.create_context(number) == (0, INVALID_DEVICE)
    assert acl.rt.reset_device(number) == INVALID_DEVICE
    assert acl.rt.get_context() == (0, CONTEXT_NULL), "nothing became current"


def test_queries_work_without_a_current_device() -> None:
    count, ret = acl.rt.get_device_count()
    assert (ret, count >= 1) == (0, True)
    assert acl.rt.get_run_mode() == (ACL_HOST, 0)
    assert acl.rt.query_device_status(0) == (0, 0), "normal"
    assert acl.rt.set_ts_device(0) == 0
    assert acl.rt.set_device(0) == 0
    assert acl.rt.set_device_sat_mode(1) == 0
    assert acl.rt.get_device_sat_mode() == (1, 0)
    assert acl.rt.set_device_sat_mode(0) == acl.rt.synchronize_device() == 0
    assert [acl.rt.synchronize_device_with_timeout(time) for time in (-1, 5000, 0, -2)] == [0, 0, *[INVALID_PARAM] * 2]
    assert acl.rt.device_can_access_peer(0, 0)[1] in (0, INVALID_DEVICE)
    assert acl.rt.reset_device(0) == 0


def test_last_context_that_was_set_is_current() -> None:
    assert acl.rt.set_device(0) == 0
    default, _ = acl.rt.get_context()
    made, ret = acl.rt.create_context(0)
    assert (ret, acl.rt.get_context()) == (0, (made, 0))
    assert acl.rt.set_context(default) == 0
    assert acl.rt.get_context() == (default, 0)
    assert acl.rt.set_context(made) == acl.rt.set_device(0) == 0
    assert acl.rt.get_context() == (default, 0)
    assert acl.rt.destroy_context(made) == 0
    assert acl.rt.get_context() == (default, 0), "it was another one that went"
    assert acl.rt.reset_device(0) == acl.rt.reset_device(0) == 0


def test_context_can_be_created_without_set_device() -> None:
    context, ret = acl.rt.create_context(0)
    assert (ret, acl.rt.get_device()) == (0, (0, 0))
    stream, ret = acl.rt.create_stream()
    memory, ret = acl.rt.malloc(64, 0)
    assert acl.rt.memset_async(memory, 64, 1, 64, stream) == acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.free(memory) == acl.rt.destroy_stream(stream) == acl.rt.destroy_context(context) == 0


def test_default_context_cannot_be_destroyed() -> None:
    assert acl.rt.set_device(0) == 0
    default, _ = acl.rt.get_context()
    assert acl.rt.destroy_context(default) == CONTEXT_NULL
    assert acl.rt.get_context() == (default, 0)
    assert acl.rt.destroy_context(0) == INVALID_PARAM
    assert acl.rt.reset_device(0) == 0
    assert acl.rt.set_context(default) in GONE


def test_context_can_be_destroyed_by_any_thread() -> None:
    context, _ = acl.rt.create_context(0)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(acl.rt.destroy_context, context).result() == 0
    host = b"\0" * 64
    address = acl.util.bytes_to_ptr(host)
    assert acl.rt.get_context() == (0, CONTEXT_NULL)
    assert acl.rt.malloc(64, 0) == acl.rt.malloc_host(64) == acl.rt.create_stream() == (0, CONTEXT_NULL)
    assert acl.rt.create_event() == (0, CONTEXT_NULL)
    assert acl.rt.memcpy(address, 64, address, 64, 0) == acl.rt.memset(address, 64, 0, 64) == CONTEXT_NULL
    assert acl.rt.set_context(context) in GONE
    assert acl.rt.destroy_context(context) in GONE
    assert acl.rt.set_device(0) == 0
    memory, ret = acl.rt.malloc(64, 0)
    assert (ret, acl.rt.free(memory), acl.rt.reset_device(0)) == (0, 0, 0)


def test_start_thread_begins_without_a_context() -> None:
    assert acl.rt.set_device(0) == 0
    context, _ = acl.rt.get_context()
    seen: list[object] = []

    def work(arguments: list[int]) -> None:
        seen.append(acl.rt.get_context())
        seen.append(acl.rt.malloc(64, 0))
        seen.append(acl.rt.set_context(arguments[0]))
        seen.append(acl.rt.get_context())

    tid, ret = acl.util.start_thread(work, [context])
    assert (ret, acl.util.stop_thread(tid)) == (0, 0)
    assert seen == [(0, CONTEXT_NULL), (0, CONTEXT_NULL), 0, (context, 0)]
    assert acl.rt.reset_device(0) == 0


def test_set_context_changes_the_current_device(program: Program) -> None:
    done = program(
        """
        import acl
        assert acl.rt.set_device(0) == acl.rt.set_device(1) == 0
        second, ret = acl.rt.get_context()
        first, ret = acl.rt.create_context(0)
        print(acl.rt.get_device())
        print(acl.rt.set_context(second), acl.rt.get_device())
        stream, ret = acl.rt.create_stream()
        print(acl.rt.set_context(first), acl.rt.get_device(), acl.rt.synchronize_stream(stream))
        print(acl.rt.set_context(second), acl.rt.synchronize_stream(stream), acl.rt.destroy_stream(stream))
        print(acl.rt.destroy_context(first), acl.rt.reset_device(0), acl.rt.reset_device(1), acl.rt.reset_device(1))
        """,
        TENON_CPU_DEVICES="2",
    )
    expected = f"(0, 0)\n0 (1, 0)\n0 (0, 0) {STREAM_CONTEXT}\n0 0 0\n0 0 0 {CONTEXT_RELEASE}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


def test_zero_means_the_default_stream_where_documented() -> None:
    assert acl.rt.set_device(0) == 0
    me = threading.get_ident()
    memory, _ = acl.rt.malloc(64, 0)
    host, _ = acl.rt.malloc_host(64)
    event, _ = acl.rt.create_event()
    assert acl.rt.memset_async(memory, 64, 7, 64, 0) == 0
    assert acl.rt.memcpy_async(host, 64, memory, 64, 2, 0) == 0
    assert acl.rt.record_event(event, 0) == acl.rt.stream_wait_event(0, event) == 0
    assert acl.rt.synchronize_stream(0) == acl.rt.synchronize_stream_with_timeout(0, 5000) == 0
    assert acl.rt.stream_query(0) == (0, 0)
    assert acl.util.ptr_to_bytes(host, 64) == b"\7" * 64
    seen: list[str] = []
    assert acl.rt.subscribe_report(me, 0) == acl.rt.launch_callback(seen.append, "ran", 1, 0) == 0
    assert acl.rt.process_report(5000) == acl.rt.unsubscribe_report(me, 0) == 0
    assert seen == ["ran"]
    assert acl.rt.destroy_stream(0) == acl.rt.destroy_stream_force(0) == INVALID_PARAM
    default, ret = acl.rt.ctx_get_current_default_stream()
    assert (ret, default != 0) == (0, True)
    assert acl.rt.destroy_stream(default) == INVALID_PARAM
    assert acl.rt.destroy_event(event) == acl.rt.free(memory) == acl.rt.free_host(host) == acl.rt.reset_device(0) == 0


def test_streams_have_a_limit() -> None:
    assert acl.rt.set_device(0) == 0
    free, ret = acl.rt.get_stream_available_num()
    assert (ret, 1000 <= free <= 2048) == (0, True)
    streams = [acl.rt.create_stream()[0] for _ in range(free)]
    assert 0 not in streams
    assert acl.rt.get_stream_available_num() == (0, 0)
    assert acl.rt.create_stream() == (0, 207008)
    assert {acl.rt.destroy_stream(stream) for stream in streams} == {0}
    assert acl.rt.get_stream_available_num() == (free, 0)
    assert acl.rt.reset_device(0) == 0


@pytest.mark.parametrize("flags", [0, 1, 2, 3, 4, 8, 15])
def test_streams_with_flags(flags: int) -> None:
    assert acl.rt.set_device(0) == 0
    for priority in (0, 7):
        stream, ret = acl.rt.create_stream_with_config(priority, flags)
        assert (ret, acl.rt.destroy_stream(stream)) == (0, 0)
    assert acl.rt.create_stream_with_config(0, 0x1000) == (0, INVALID_PARAM)
    assert acl.rt.reset_device(0) == 0
