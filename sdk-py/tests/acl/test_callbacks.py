"""Callbacks: the thread and time of the call, and failures."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

import acl
from acl._hand import reports
from acl._hand.rt import process_report
from support import Program

NO_BLOCK, BLOCK = 0, 1
INVALID_PARAM = 100000
NOT_REGISTERED = 107015
THREAD_SUBSCRIBE = 107012
REPORT_TIMEOUT = 507012


@pytest.fixture
def serving(stream: int) -> Iterator[int]:
    """A thread that runs the callbacks of `stream`, and its number."""
    over = threading.Event()
    subscribed = threading.Event()

    def serve(arguments: list[object]) -> None:
        assert arguments == ["context", 100]
        subscribed.wait()
        while not over.is_set():
            acl.rt.process_report(20)

    tid, ret = acl.util.start_thread(serve, ["context", 100])
    assert ret == 0
    assert acl.rt.subscribe_report(tid, stream) == 0
    subscribed.set()
    yield tid
    over.set()
    assert acl.util.stop_thread(tid) == 0
    assert acl.rt.unsubscribe_report(tid, stream) == 0


def test_callbacks_run_in_order_in_the_subscribed_thread(stream: int, serving: int) -> None:
    seen: list[tuple[int, int]] = []
    for number in range(100):
        assert acl.rt.launch_callback(lambda n: seen.append((n, threading.get_ident())), number, BLOCK, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert seen == [(number, serving) for number in range(100)]


def test_blocking_callback_blocks_the_stream(stream: int, serving: int) -> None:
    memory, _ = acl.rt.malloc(1, 0)
    seen: list[int] = []

    def look(_: object) -> None:
        host, _ = acl.rt.malloc_host(1)
        if host:
            acl.rt.memcpy(host, 1, memory, 1, 2)
            seen.append(acl.util.ptr_to_bytes(host, 1)[0])
            acl.rt.free_host(host)

    context, _ = acl.rt.get_context()
    acl.rt.launch_callback(lambda _: acl.rt.set_context(context), None, BLOCK, stream)
    for value in (1, 2, 3):
        assert acl.rt.memset_async(memory, 1, value, 1, stream) == 0
        assert acl.rt.launch_callback(look, None, BLOCK, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert seen == [1, 2, 3]
    assert acl.rt.free(memory) == 0


def test_unsubscribed_thread_gets_no_callbacks(device: int) -> None:
    assert acl.rt.process_report(1000) == THREAD_SUBSCRIBE


def test_callback_runs_in_the_thread_that_processes_reports(stream: int) -> None:
    me = threading.get_ident()
    seen: list[object] = []
    assert acl.rt.subscribe_report(me, stream) == 0
    assert acl.rt.launch_callback(seen.append, {"any": "object"}, NO_BLOCK, stream) == 0
    assert acl.rt.process_report(1000) == 0
    assert seen == [{"any": "object"}]
    assert acl.rt.unsubscribe_report(me, stream) == 0


def test_long_wait_returns_the_same_status_as_a_short_one(stream: int) -> None:
    me = threading.get_ident()
    assert acl.rt.subscribe_report(me, stream) == 0
    assert process_report(101) == REPORT_TIMEOUT
    message = acl.get_recent_err_msg()
    assert message is not None and message.endswith("within 101 ms")
    assert acl.rt.get_last_error(0) == REPORT_TIMEOUT
    assert acl.rt.unsubscribe_report(me, stream) == 0
    assert process_report(-1) == process_report(1 << 20) == THREAD_SUBSCRIBE
    assert process_report(-2) == process_report(1 << 32) == INVALID_PARAM, "as C takes them"


@pytest.mark.parametrize("comes_to", [1, 3])
@pytest.mark.parametrize(
    ("callback", "status", "function"), [(int, 0, "aclrtFree:"), (acl.rt.free_host, INVALID_PARAM, "aclrtFreeHost:")]
)
def test_long_wait_keeps_the_message_of_its_callback(
    stream: int,
    monkeypatch: pytest.MonkeyPatch,
    callback: Callable[[int], int],
    status: int,
    function: str,
    comes_to: int,
) -> None:
    """In the main thread, a long wait is a sequence of short ones, whose timeouts are not reported."""
    me = threading.get_ident()
    wait = reports._process_report
    waits: list[int] = []

    def short_wait(timeout: int) -> int:
        waits.append(timeout)
        if len(waits) == comes_to:
            assert acl.rt.launch_callback(callback, 0, NO_BLOCK, stream) == 0
        ret: int = wait(timeout)
        return ret

    monkeypatch.setattr(reports, "_process_report", short_wait)
    monkeypatch.setattr(reports, "_SHORT", 5)
    assert acl.rt.subscribe_report(me, stream) == 0
    assert acl.rt.free(0) == INVALID_PARAM
    assert acl.rt.get_last_error(0) == INVALID_PARAM
    assert process_report(-1) == 0
    assert len(waits) >= comes_to
    assert set(waits) == {5}
    assert acl.rt.get_last_error(0) == status
    message = acl.get_recent_err_msg()
    assert message is not None and message.startswith(function)
    assert acl.rt.unsubscribe_report(me, stream) == 0


def test_ctrl_c_ends_the_wait_for_a_callback(program: Program) -> None:
    done = program("""
        import os, signal, sys, threading, time, traceback
        import acl
        from acl._hand.rt import process_report
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        main = threading.get_ident()
        acl.rt.subscribe_report(main, stream)
        def press():
            # Before the wait, Ctrl-C would interrupt something else.
            def is_inside():
                stack = traceback.walk_stack(sys._current_frames()[main])
                return "process_report" in [frame.f_code.co_name for frame, _ in stack]
            while not is_inside():
                time.sleep(0.001)
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press).start()
        try:
            process_report(-1)
        except KeyboardInterrupt:
            print("interrupted")
        acl.rt.unsubscribe_report(main, stream)
        acl.rt.reset_device(0)
        print(acl.finalize())
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n0\n", "")


def test_exception_in_callback_is_printed_and_the_stream_continues(program: Program) -> None:
    done = program("""
        import acl, threading
        acl.init(); acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        acl.rt.subscribe_report(threading.get_ident(), stream)
        def wrong(data):
            raise ValueError("in a callback of " + data)
        for what in (wrong, print):
            acl.rt.launch_callback(what, "a user", 1, stream)
            print(acl.rt.process_report(1000))
        print(acl.rt.synchronize_stream(stream))
    """)
    assert (done.returncode, done.stdout) == (0, "0\na user\n0\n0\n")
    assert "ValueError: in a callback of a user" in done.stderr


class Something:
    """An object that can be referenced weakly."""


def launched(stream: int, watched: list[weakref.ref[Something]]) -> Callable[[object], None]:
    something = Something()
    watched.append(weakref.ref(something))

    def callback(data: object) -> None:
        assert data is something

    assert acl.rt.launch_callback(callback, something, NO_BLOCK, stream) == 0
    return callback


def test_arguments_of_a_callback_are_released_with_it(stream: int) -> None:
    me = threading.get_ident()
    watched: list[weakref.ref[Something]] = []
    assert acl.rt.subscribe_report(me, stream) == 0
    launched(stream, watched)
    gc.collect()
    assert watched[0]() is not None
    assert acl.rt.process_report(1000) == 0
    gc.collect()
    assert watched[0]() is None
    assert acl.rt.unsubscribe_report(me, stream) == 0


def test_join_returns_the_result_of_a_thread() -> None:
    def fail(_: object) -> None:
        raise KeyError("lost")

    tid, ret = acl.util.start_thread(fail, [])
    assert ret == 0
    with pytest.raises(RuntimeError):
        acl.util.stop_thread(tid)
    seen: list[str] = []
    tid, ret = acl.util.start_thread(lambda: seen.append("no argument"), None)
    assert (ret, acl.util.stop_thread(tid), seen) == (0, 0, ["no argument"])
    assert acl.util.stop_thread(tid) != 0, "it is over"
