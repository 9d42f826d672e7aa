"""The log of a report, line by line, without PaddlePaddle."""

from __future__ import annotations

import json

import pytest

from tenon.report.figures import Total, Where
from tenon.report.paddle.log import Log, since_midnight

KEY = "\x1ftenon-report-0123456789ab"
PLACE = "Place(npu:0)"


def line(file: str, text: str, time: str = "10:00:00.000000", thread: int = 7) -> str:
    """Returns a line as PaddlePaddle writes it."""
    return f"I1123 {time} {thread:>5} {file}.cc:1] {text}\n"


def missing(kernel: str, time: str = "10:00:00.000000", thread: int = 7) -> str:
    """Returns the line for an operator without a kernel."""
    key = "(npu, Undefined(AnyLayout), float32)"
    text = f"missing npu kernel: {kernel}, expected_kernel_key:{key}, fallbacking to CPU one!"
    return line("kernel_factory", text, time, thread)


def copy(size: int, to_host: bool, time: str = "10:00:00.000000", thread: int = 7, moves: bool = True) -> str:
    """Returns the lines for a copy, of an operator or not."""
    ends = (PLACE, "Place(cpu)") if to_host else ("Place(cpu)", PLACE)
    moving = f"DeviceTransform in, src_place {ends[0]} dst_place: {ends[1]}"
    copied = f"memory::Copy {size} Bytes from {ends[0]} to {ends[1]}, stream=0"
    return (line("data_transform", moving, time, thread) if moves else "") + line("memcpy", copied, time, thread)


def note(kind: str, **content: object) -> str:
    """Returns a note of the recorder."""
    return f"{KEY} {kind} {json.dumps(content)}\n"


def at(row: int, time: str = "10:00:00.000000", others: tuple[int, ...] = ()) -> str:
    """Returns the note of a line of the program, from the thread 7."""
    where = ["a.py", row, "f"]
    seconds = since_midnight(time)
    return note("at", time=seconds, thread=7, others=list(others), where=where)


def where(row: int) -> Where:
    """Returns a line of the program."""
    return Where("a.py", row, "f")


def test_a_fallback_has_its_copies_its_time_and_its_line() -> None:
    log = Log(KEY)
    shown = log.feed(
        missing("svd", "10:00:00.000000")
        + copy(400, True, "10:00:00.001000")
        + copy(100, False, "10:00:00.003000")
        + at(3, "10:00:00.004000")
    )
    assert shown == log.finish() == ""
    assert list(log.fallbacks) == [("svd", "float32", where(3))]
    total = log.fallbacks["svd", "float32", where(3)]
    assert (total.calls, total.to_host, total.to_device) == (1, 400, 100)
    assert total.seconds == pytest.approx(0.004)
    assert log.devices == {"npu"} and log.first == ("svd", "float32", where(3))


def test_the_last_copy_takes_no_longer_than_others_of_its_size() -> None:
    log = Log(KEY)
    log.feed(
        missing("svd", "10:00:00.000000")
        + copy(1 << 20, False, "10:00:00.001000")
        + copy(1 << 20, False, "10:00:00.002000")
        + missing("qr", "10:00:09.000000")
    )
    log.finish()
    assert log.fallbacks["svd", "float32", None].seconds == pytest.approx(0.003, abs=1e-4)


def test_copies_of_others_are_not_counted_for_a_fallback() -> None:
    log = Log(KEY)
    log.feed(
        copy(8, False)
        + missing("svd")
        + copy(400, True)
        + copy(16, True, moves=False)
        + copy(400, False)
        + copy(32, True)
        + copy(4, False, thread=9)
        + at(1)
    )
    log.finish()
    assert log.fallbacks["svd", "float32", where(1)].to_host == 400
    assert log.fallbacks["svd", "float32", where(1)].to_device == 400
    assert log.inputs == Total(3, 0.0, 32, 12)
    assert log.others == Total(1, 0.0, 16, 0)


def test_a_note_places_the_threads_of_paddle_and_not_those_of_python() -> None:
    log = Log(KEY)
    log.feed(missing("a", thread=7) + missing("b", thread=8) + missing("c", thread=9))
    log.feed(at(5, others=(9,)))
    log.finish()
    assert set(log.fallbacks) == {
        ("a", "float32", where(5)),
        ("b", "float32", where(5)),
        ("c", "float32", None),
    }


def test_a_read_is_not_a_copy_too() -> None:
    log = Log(KEY)
    log.feed(copy(4, True, moves=False))
    log.feed(note("read", seconds=0.5, bytes=4, thread=7, where=["a.py", 2, "f"]))
    log.finish()
    assert log.reads == {where(2): Total(1, 0.5, 4, 0)}
    assert log.others == Total()


def test_a_restart_forgets_all() -> None:
    log = Log(KEY)
    log.feed(missing("svd") + copy(4, True) + copy(4, True, moves=False) + note("restart"))
    log.feed(copy(4, False))
    log.finish()
    assert not log.fallbacks and log.first is None
    assert log.inputs == Total(1, 0.0, 0, 4)


def test_a_night_between_two_lines_takes_no_time_away() -> None:
    log = Log(KEY)
    log.feed(missing("svd", "23:59:59.500000") + copy(4, True, "23:59:59.600000"))
    log.feed(at(1, "00:00:00.500000"))
    log.finish()
    assert log.fallbacks["svd", "float32", where(1)].seconds == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_other_lines_are_passed_on_however_they_are_cut(size: int) -> None:
    ours = missing("svd") + copy(400, True) + at(1)
    warning = line("init", "a warning").replace("I1123", "W1123")
    text = f"told\n{ours}50 %\r{ours}{line('init', 'loading')}{warning}I am\nno line of a log"
    log = Log(KEY)
    shown = "".join(log.feed(text[begin : begin + size]) for begin in range(0, len(text), size))
    shown += log.finish()
    assert shown == f"told\n50 %\r{line('init', 'loading')}{warning}I am\nno line of a log"
    assert log.fallbacks["svd", "float32", where(1)].calls == 2


def test_lines_below_the_severity_are_hidden() -> None:
    log = Log(KEY, "W")
    warning = line("init", "a warning").replace("I1123", "W1123")
    assert log.feed(line("init", "loading") + warning) == warning


def test_kernels_of_a_backward_pass_are_counted_where_they_run() -> None:
    one_line = 'relu_grad kernel: {"input":["npu, NCHW, float32"],"output":[],"attribute":[]}'
    backends = [f"\tbackend: {backend},  layout: NCHW,  dtype: float32\n" for backend in ("npu", "CPU")]
    log = Log(KEY)
    shown = log.feed(line("backward_api", one_line))
    for first, second in (backends, backends, backends[::-1]):
        begin = line("backward_api_base", 'relu_grad kernel: {"input":[')
        shown += log.feed(f'{begin}{first}{second}],\n"output":[\n{second}],\n"attribute":[\n]}}\n')
    shown += log.feed("mine\n") + log.finish()
    assert log.backward == {"relu_grad": 3}
    assert shown == "mine\n"


def test_a_kernel_without_an_end_hides_no_other_line() -> None:
    log = Log(KEY)
    log.feed(line("backward_api_base", 'relu_grad kernel: {"input":['))
    assert log.feed(line("other", "shown")) == line("other", "shown")
    log.feed(missing("cholesky"))
    log.finish()
    assert sum(total.calls for total in log.fallbacks.values()) == 1
