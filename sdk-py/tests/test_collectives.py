"""Collectives of several processes, through the functions of libtenon."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys

import numpy as np
import pytest

import tenon
from support import PATIENCE, environment, needs_gloo
from tenon._native import functions
from tenon._native.types import CollectiveRootId, DataType, ReduceOp

MEMBER = """
import ctypes, json, sys
import numpy as np
import tenon
from tenon._native import functions
from tenon._native.types import CollectiveRootId, DataType, ReduceOp

rank, size, root = int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3])
device = tenon.device("cpu:1")
plugin = device.plugin.handle
bytes_of = ctypes.create_string_buffer(root, len(root))
functions.set_device(device.handle)
comm = functions.xccl_comm_init_rank(
    plugin, size, CollectiveRootId(len(root), ctypes.addressof(bytes_of)), rank
)
stream = tenon.Stream(device)
data = tenon.array(np.arange(4, dtype="float32") + rank, device=device)
functions.xccl_all_reduce(
    plugin, data.ptr, data.ptr, 4, DataType.FLOAT32, ReduceOp.SUM, comm, stream.handle
)
stream.synchronize()
answers = {"sum": data.tolist(), "name": functions.xccl_get_comm_name(plugin, comm)}
if rank == 1 and "leave" in sys.argv:
    functions.xccl_destroy_comm(plugin, comm)
else:
    try:
        functions.xccl_broadcast(plugin, data.ptr, 4, DataType.FLOAT32, 0, comm, stream.handle)
        stream.synchronize()
        answers["broadcast"] = data.tolist()
    except tenon.Error as error:
        answers["error"] = str(error)
    functions.xccl_destroy_comm(plugin, comm)
print(json.dumps(answers))
"""


def members(size: int, *arguments: str) -> list[dict[str, object]]:
    """Runs the program as each member of a group, and returns the answers in the order of the ranks."""
    plugin = tenon.device("cpu:0").plugin.handle
    root = ctypes.create_string_buffer(functions.xccl_get_unique_id_size(plugin))
    functions.xccl_get_unique_id(plugin, CollectiveRootId(len(root), ctypes.addressof(root)))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER, str(rank), str(size), root.raw.hex(), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for rank in range(size)
    ]
    ended = [member.communicate(timeout=PATIENCE) for member in started]
    for member, (output, errors) in zip(started, ended):
        assert member.returncode == 0, output + errors
    return [json.loads(output) for output, _ in ended]


@needs_gloo
@pytest.mark.parametrize("size", [1, 2, 4])
def test_members_get_the_sum(size: int) -> None:
    answers = members(size)
    total = [float(size * number + sum(range(size))) for number in range(4)]
    assert all(answer["sum"] == total and answer["broadcast"] == total for answer in answers)
    assert len({answer["name"] for answer in answers}) == 1


@needs_gloo
def test_a_member_that_leaves_is_named() -> None:
    stays, leaves = members(2, "leave")
    assert "error" not in leaves
    assert "broadcast of 4 float32 from rank 0 failed on rank 0 of 2: rank 1 has left the group" in str(stays["error"])


@needs_gloo
def test_a_wrong_id_is_an_error() -> None:
    plugin = tenon.device("cpu:0").plugin.handle
    short = ctypes.create_string_buffer(8)
    with pytest.raises(tenon.DeviceError, match="the buffer has 8 bytes, but a root id 42"):
        functions.xccl_get_unique_id(plugin, CollectiveRootId(8, ctypes.addressof(short)))
    wrong = ctypes.create_string_buffer(42)
    with pytest.raises(tenon.DeviceError, match="not one of this library"):
        functions.xccl_comm_init_rank(plugin, 2, CollectiveRootId(42, ctypes.addressof(wrong)), 0)
    data = tenon.array(np.zeros(1, dtype="float32"), device="cpu:0")
    with pytest.raises(tenon.DeviceError, match="is not a live communicator"):
        functions.xccl_all_reduce(plugin, data.ptr, data.ptr, 1, DataType.FLOAT32, ReduceOp.SUM, 7, 0)
