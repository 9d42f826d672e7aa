"""Groups of processes: `tenon.Communicator`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenon
from support import PATIENCE, environment, needs_gloo

HEAD = """
import json, sys
import numpy as np
import tenon

address, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
answers = {}
"""

COLLECTIVES = (
    HEAD
    + """
def own(count, of=rank):
    return (np.arange(count) + 10 * (of + 1)).astype("int32")

with tenon.Communicator(address, rank, size, device="cpu:1") as communicator:
    place = lambda array: tenon.array(array, device="cpu:1")
    answers["shown"] = repr(communicator)
    answers["name"] = communicator.name
    data = place(own(6))
    for op in ("sum", "max", "min", "product"):
        answers[op] = communicator.all_reduce(data, op).tolist()
    floats = communicator.all_reduce(place(own(3).astype("float32")), "avg")
    answers["avg"] = floats.tolist()
    inplace = place(own(2))
    answers["same"] = communicator.all_reduce(inplace, out=inplace) is inplace
    answers["inplace"] = inplace.tolist()
    # A transposed buffer is copied first.
    matrix = place(own(6).reshape(2, 3)).T
    answers["transposed"] = communicator.all_reduce(matrix).tolist()
    reduced = communicator.reduce(data, root=size - 1)
    answers["reduced"] = None if reduced is None else reduced.tolist()
    answers["broadcast"] = communicator.broadcast(place(own(2)), root=size - 1).tolist()
    answers["gathered"] = communicator.all_gather(place(own(4).reshape(2, 2))).tolist()
    answers["scattered"] = communicator.reduce_scatter(place(own(2 * size).reshape(size, 2))).tolist()
    sent = [place(np.full(2, 100 * rank + to, "float64")) for to in range(size)]
    answers["exchanged"] = [part.tolist() for part in communicator.all_to_all(sent)]
    stream = tenon.Stream("cpu:1")
    with stream, communicator.group():
        communicator.send(place(own(3)), (rank + 1) % size)
        received = communicator.recv(tenon.empty(3, "int32", "cpu:1"), (rank - 1) % size)
    stream.synchronize()
    answers["received"] = received.tolist()
    communicator.barrier()
answers["closed"] = communicator.closed, repr(communicator)
print(json.dumps(answers))
"""
)

LEAVES = (
    HEAD
    + """
communicator = tenon.Communicator(address, rank, size)
data = tenon.array(np.ones(4, "float32"))
communicator.all_reduce(data).tolist()
if rank == 1:
    communicator.close()
else:
    try:
        communicator.all_reduce(data).tolist()
    except tenon.Error as error:
        answers["error"] = str(error)
    # The device and further groups go on.
    answers["next"] = tenon.Communicator(address, 0, 1).all_reduce(data).tolist()
print(json.dumps(answers))
"""
)

DIES = (
    HEAD
    + """
import os, signal
victim = int(os.environ["VICTIM"])
communicator = tenon.Communicator(address, rank, size)
data = tenon.array(np.ones(4, "float32"))
communicator.all_reduce(data).tolist()
if rank == victim:
    os.kill(os.getpid(), signal.SIGKILL)
try:
    communicator.all_reduce(data).tolist()
except tenon.Error as error:
    answers["error"] = str(error)
communicator.close()
rest = [other for other in range(size) if other != victim]
with tenon.Communicator(os.environ["NEXT"], rest.index(rank), len(rest)) as communicator:
    answers["next"] = communicator.all_reduce(data).tolist()
print(json.dumps(answers))
"""
)

MANY = (
    HEAD
    + """
import os, time

def descriptors(most=1_000_000):
    # Waits for groups that are about to end.
    for _ in range(500):
        # Releases what could not be released when it was dropped.
        tenon.synchronize()
        found = len(os.listdir("/proc/self/fd"))
        if found <= most:
            break
        time.sleep(0.01)
    return found

data = tenon.array(np.ones(4, "float32"))
for turn in range(21):
    communicator = tenon.Communicator(address, rank, size)
    assert communicator.all_reduce(data).tolist() == [size] * 4
    # Dropped without being closed.
    communicator.barrier()
    del communicator
    if turn == 0:
        before = descriptors()
answers["grown"] = descriptors(before) - before
print(json.dumps(answers))
"""
)


def free_address() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{found.getsockname()[1]}"


def members(program: str, size: int, victim: int | None = None, **variables: str) -> list[dict[str, Any]]:
    """Runs a program as each member of a group, and returns the answers in the order of the ranks.

    The rank `victim` is killed by its program, and has no answers.
    """
    address = free_address()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, address, str(rank), str(size)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(**variables),
        )
        for rank in range(size)
    ]
    ended = [member.communicate(timeout=PATIENCE) for member in started]
    for rank, (member, (output, errors)) in enumerate(zip(started, ended)):
        assert member.returncode == (-signal.SIGKILL if rank == victim else 0), output + errors
    return [json.loads(output or "{}") for output, _ in ended]


def own(count: int, rank: int) -> Any:
    return (np.arange(count) + 10 * (rank + 1)).astype("int32")


@needs_gloo
@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_compute_what_numpy_does(size: int) -> None:
    answers = members(COLLECTIVES, size)
    ranks = range(size)

    def stacked(count: int) -> Any:
        return np.stack([own(count, rank) for rank in ranks])

    for rank, answer in enumerate(answers):
        assert answer["shown"] == f"<tenon.Communicator rank {rank} of {size} on cpu:1>"
        assert answer["name"] == answers[0]["name"]
        assert answer["sum"] == stacked(6).sum(0).tolist()
        assert answer["max"] == stacked(6).max(0).tolist()
        assert answer["min"] == stacked(6).min(0).tolist()
        assert answer["product"] == stacked(6).prod(0).tolist()
        assert answer["avg"] == stacked(3).mean(0).tolist()
        assert answer["same"] is True
        assert answer["inplace"] == stacked(2).sum(0).tolist()
        assert answer["transposed"] == stacked(6).sum(0).reshape(2, 3).T.tolist()
        assert answer["reduced"] == (stacked(6).sum(0).tolist() if rank == size - 1 else None)
        assert answer["broadcast"] == own(2, size - 1).tolist()
        assert answer["gathered"] == stacked(4).reshape(size, 2, 2).tolist()
        assert answer["scattered"] == stacked(2 * size).sum(0).reshape(size, 2)[rank].tolist()
        assert answer["exchanged"] == [[100 * source + rank] * 2 for source in ranks]
        assert answer["received"] == own(3, (rank - 1) % size).tolist()
        assert answer["closed"] == [True, f"<tenon.Communicator rank {rank} of {size} on cpu:1, closed>"]


@needs_gloo
def test_a_member_that_leaves_is_named_and_the_next_group_works() -> None:
    stays, leaves = members(LEAVES, 2)
    assert leaves == {}
    expected = "all_reduce of 4 float32 (SUM) failed on rank 0 of 2: rank 1 has left the group"
    assert expected.lower() in stays["error"].lower()
    assert stays["next"] == [1.0] * 4


@needs_gloo
@pytest.mark.parametrize("victim", [0, 1])
def test_a_member_that_dies_is_named_and_the_others_make_a_group(victim: int) -> None:
    # Rank 0 has the server by which the members watch each other.
    answers = members(DIES, 3, victim, VICTIM=str(victim), NEXT=free_address())
    for rank, answer in enumerate(answers):
        if rank != victim:
            expected = f"failed on rank {rank} of 3: the process of rank {victim} has ended"
            assert expected in answer["error"]
            assert answer["next"] == [2.0] * 4


@needs_gloo
def test_groups_that_are_dropped_leave_no_descriptors() -> None:
    for answer in members(MANY, 2):
        assert answer["grown"] <= 0


@needs_gloo
def test_the_program_of_the_guide_adds() -> None:
    page = Path(__file__).parent.parent.parent / "docs/src/guide/collectives.md"
    program = page.read_text().split("```python\n")[1].split("```")[0]
    for shown, used in [('"192.168.0.1:6170"', "sys.argv[1]"), ("rank=0", "rank=int(sys.argv[2])")]:
        assert shown in program
        program = program.replace(shown, used)
    program = "import json, sys\n" + program + "print(json.dumps({'total': total.tolist()}))\n"
    assert members(program, 2) == [{"total": [2.0] * 4}] * 2


@needs_gloo
def test_a_missing_member_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENON_COMM_TIMEOUT", "0.5")
    with pytest.raises(tenon.DeviceError, match=r"within 0.5 s: rank 1 of 2 did not come"):
        tenon.Communicator(free_address(), 0, 2)
    with pytest.raises(tenon.DeviceError, match=r"rank 0 was not found at 127.0.0.1:\d+ within 0.5 s"):
        tenon.Communicator(free_address(), 1, 2)


def test_the_variables_of_launchers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="address is missing, and the environment variable MASTER_ADDR is not set"):
        tenon.Communicator()
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "1")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "one")
    with pytest.raises(ValueError, match="WORLD_SIZE=one: expected a number"):
        tenon.Communicator()
    monkeypatch.setenv("WORLD_SIZE", "1")
    with tenon.Communicator(device="cpu:0") as communicator:
        assert (communicator.rank, communicator.size) == (0, 1)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(tenon.InvalidArgumentError, match="`somewhere` is not an address such as"):
        tenon.Communicator("somewhere", 0, 1)
    with pytest.raises(tenon.InvalidArgumentError, match="there is no rank 2 in a group of 2"):
        tenon.Communicator("127.0.0.1:1", 2, 2)
    with tenon.Communicator("127.0.0.1:1", 0, 1, device="cpu:0") as communicator:
        data = tenon.zeros((3, 2), device="cpu:0")
        with pytest.raises(ValueError, match="there is no reduction 'middle'; there are sum, avg, max, min, product"):
            communicator.all_reduce(data, "middle")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="the first dimension must be the number of processes, 1, not"):
            communicator.reduce_scatter(data)
        with pytest.raises(ValueError, match="the result has the shape"):
            communicator.all_reduce(data, out=tenon.zeros((2, 3), device="cpu:0"))
        with pytest.raises(ValueError, match="one buffer is needed for each of 1 ranks"):
            communicator.all_to_all([])
        with pytest.raises(tenon.InvalidArgumentError, match="the buffer belongs to cpu:1"):
            communicator.all_reduce(tenon.zeros(3, device="cpu:1"))
        with pytest.raises(ValueError, match="writes to contiguous memory"):
            communicator.broadcast(data.T)
        with pytest.raises(tenon.DeviceError, match="there is no rank 1 in a group of 1"):
            communicator.broadcast(data, root=1)
    with pytest.raises(tenon.InvalidHandleError, match="the communicator is closed"):
        communicator.all_reduce(data)


def test_a_device_without_collectives_says_so(far: tenon.Device) -> None:
    with pytest.raises(tenon.UnsupportedError, match="the device has no collectives"):
        tenon.Communicator("127.0.0.1:1", 0, 1, device=far)
