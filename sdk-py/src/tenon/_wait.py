"""Waits for devices. Ctrl-C, a timeout and the cancellation of a task end a wait.

Python handles signals in the main thread, between two bytecode instructions, never during a native call. So the main
thread polls, with pauses that grow with the wait; Ctrl-C ends a pause at once. All other threads wait in the library,
unless there is a timeout, which the library does not support.
"""

from __future__ import annotations

import _thread
import threading
import time
from threading import get_ident
from typing import TYPE_CHECKING

from tenon import _arguments

if TYPE_CHECKING:
    from collections.abc import Callable

_SPINS = 20
"""The number of polls before the first pause. They take a few microseconds, in which short work ends."""
_FIRST_PAUSE = 20e-6
_LONGEST_PAUSE = 1e-3
_SHARE = 1 / 16
"""The length of a pause relative to the wait so far. It bounds the relative delay that polling adds."""


def wait(
    what: object,
    is_done: Callable[..., bool] | None,
    finish: Callable[..., object],
    handles: tuple[int, ...],
    timeout: float | None = None,
) -> None:
    """Blocks the calling thread until work is done.

    Args:
        what: The object that is waited for, for the timeout message.
        is_done: Queries without waiting. None: the device has no query function.
        finish: Waits in the library, and raises the failure of the work.
        handles: The arguments of `is_done` and `finish`.
        timeout: The longest wait in seconds. None: no limit.

    Raises:
        TimeoutError: The work is not done after `timeout`. It continues.
        TypeError, ValueError: `timeout` is not a valid number of seconds.
    """
    if timeout is not None:
        timeout = _arguments.seconds(timeout)
    if timeout is None:
        if get_ident() != threading.main_thread().ident:
            finish(*handles)
            return
    if is_done is None:
        _in_helper(what, finish, handles, timeout)
        return
    _poll(what, is_done, handles, timeout)
    finish(*handles)


def _poll(what: object, is_done: Callable[..., bool], handles: tuple[int, ...], timeout: float | None) -> None:
    begun = time.monotonic()
    for _ in range(_SPINS):
        if is_done(*handles):
            return
    while not is_done(*handles):
        waited = time.monotonic() - begun
        pause = _pause(waited)
        if timeout is not None:
            if waited >= timeout:
                raise _too_long(what, timeout)
            pause = min(pause, timeout - waited)
        time.sleep(pause)


def _pause(waited: float) -> float:
    return min(max(waited * _SHARE, _FIRST_PAUSE), _LONGEST_PAUSE)


def _too_long(what: object, timeout: float) -> TimeoutError:
    return TimeoutError(f"{what} is not done after {timeout:g} s")


def _in_helper(what: object, finish: Callable[..., object], handles: tuple[int, ...], timeout: float | None) -> None:
    """Waits in the library with a helper thread, because the calling thread's wait for a lock can be interrupted."""
    ended = threading.Lock()
    ended.acquire()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            finish(*handles)
        except BaseException as failure:
            failures.append(failure)
        finally:
            ended.release()

    # Not a `threading.Thread`: the interpreter would wait for it at exit.
    _thread.start_new_thread(run, ())
    if not ended.acquire(timeout=-1 if timeout is None else timeout):
        assert timeout is not None
        raise _too_long(what, timeout)
    if failures:
        try:
            raise failures[0]
        finally:
            # The traceback of the failure refers to this frame, which would keep the failure alive.
            failures.clear()


async def wait_async(
    is_done: Callable[..., bool] | None, finish: Callable[..., object], handles: tuple[int, ...]
) -> None:
    """Waits in a task. If the task is cancelled, the work continues, and no resources are left behind.

    Args:
        is_done: Queries without waiting. None: the device has no query function, and an executor thread waits.
        finish: Waits in the library, and raises the failure of the work.
        handles: The arguments of `is_done` and `finish`.
    """
    import asyncio

    if is_done is None:
        await asyncio.get_running_loop().run_in_executor(None, finish, *handles)
        return
    begun = time.monotonic()
    spins = 0
    while not is_done(*handles):
        # At first only yields to other tasks, because even a short sleep is long compared to short work.
        await asyncio.sleep(0 if spins < _SPINS else _pause(time.monotonic() - begun))
        spins += 1
    finish(*handles)
