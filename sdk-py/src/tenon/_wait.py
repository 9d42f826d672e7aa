"""Waiting for a device, so that Ctrl-C, a timeout and a cancelled task end the wait.

Python delivers signals to its main thread, between two of its own operations: never inside of a native call. So the
main thread asks again and again, with pauses that grow with the wait; Ctrl-C ends a pause at once. Every other thread
waits inside of the library, unless it has a timeout, of which the library knows nothing.
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
"""How often is asked before the first pause: some microseconds, in which short work ends."""
_FIRST_PAUSE = 20e-6
_LONGEST_PAUSE = 1e-3
_SHARE = 1 / 16
"""How long a pause is against the wait so far. By so much a wait is longer than it had to be, at most."""


def wait(
    what: object,
    is_done: Callable[..., bool] | None,
    finish: Callable[..., object],
    handles: tuple[int, ...],
    timeout: float | None = None,
) -> None:
    """Waits on the calling thread.

    Args:
        what: What is waited for, for the message of a timeout.
        is_done: Asks without waiting; None: the device cannot tell.
        finish: Waits inside of the library, and raises what the work has failed with.
        handles: What both are called with.
        timeout: Seconds at most; None: however long it takes.

    Raises:
        TimeoutError: It has taken longer. The work goes on.
        TypeError, ValueError: `timeout` is no number of seconds.
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
    """Lets another thread wait inside of the library; the wait for a lock can be interrupted."""
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

    # Not a `threading.Thread`, which the interpreter would wait for when it ends.
    _thread.start_new_thread(run, ())
    if not ended.acquire(timeout=-1 if timeout is None else timeout):
        assert timeout is not None
        raise _too_long(what, timeout)
    if failures:
        try:
            raise failures[0]
        finally:
            # The failure's traceback has this frame, which would keep the failure.
            failures.clear()


async def wait_async(
    is_done: Callable[..., bool] | None, finish: Callable[..., object], handles: tuple[int, ...]
) -> None:
    """Waits in a task, which may be cancelled: the work goes on, and nothing is left behind.

    Args:
        is_done: Asks without waiting; None: the device cannot tell, and a thread of the loop's waits.
        finish: Waits inside of the library, and raises what the work has failed with.
        handles: What both are called with.
    """
    import asyncio

    if is_done is None:
        await asyncio.get_running_loop().run_in_executor(None, finish, *handles)
        return
    begun = time.monotonic()
    spins = 0
    while not is_done(*handles):
        # First only let others run: pauses of the loop are long against short work.
        await asyncio.sleep(0 if spins < _SPINS else _pause(time.monotonic() - begun))
        spins += 1
    finish(*handles)
