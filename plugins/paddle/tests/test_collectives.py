"""Collectives among processes: values, training, groups, and members that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from host import DEVICE, RELEASE
from launch import Outcome, run_file, run_in

EXAMPLES = Path(os.environ["TENON_EXAMPLES"])

TRAINING = ["data_parallel:plain", "data_parallel:fleet"]
SHARDING = ["sharding:os", "sharding:os_g", "sharding:p_g_os"]
PROGRAMS = {
    2: ["operations", "large", "experts", *TRAINING, *SHARDING],
    3: ["groups", "experts"],
    4: ["operations", "data_parallel:plain"],
}
"""The programs for each number of processes. They share processes, which takes less time."""


@pytest.fixture(scope="module")
def outcomes() -> dict[int, list[Outcome]]:
    """Runs all programs."""
    return {processes: run_in(processes, *programs) for processes, programs in PROGRAMS.items()}


@pytest.mark.parametrize(
    "processes, program",
    [(processes, program) for processes, programs in PROGRAMS.items() for program in programs],
)
def test_each_process_gets_the_expected_results(
    processes: int, program: str, outcomes: dict[int, list[Outcome]]
) -> None:
    expected = f"{program}: passed"
    if program in SHARDING and RELEASE < (3, 0):
        expected = f"{program}: AssertionError: group_sharded_parallel only support gpu and xpu"
    for outcome in outcomes[processes]:
        assert outcome.code == 0 and expected in outcome.output, outcome.output + outcome.errors


@pytest.mark.parametrize(
    "how, limit, cause",
    [
        ("killed", "60", "the process of rank 1 has ended"),
        ("stopped", "8", "rank 1 has not answered for"),
        ("absent", "4", "rank 1 has not called it: it has called 1 of 2"),
    ],
)
def test_a_member_that_fails_is_an_error_for_the_others(how: str, limit: str, cause: str) -> None:
    outcomes = run_in(3, f"member_fails:{how}", without=1, TENON_COMM_TIMEOUT=limit)
    for rank in (0, 2):
        outcome = outcomes[rank]
        assert outcome.code == 0, outcome.output + outcome.errors
        assert "failed: " in outcome.output and "the rest goes on" in outcome.output
        assert (
            f"all_reduce of 1 float32 (sum) failed on rank {rank} of 3: {cause}" in outcome.errors
        )


def test_a_pipeline_of_two_processes_trains_as_one_process() -> None:
    # In processes of its own, because `fleet` keeps its first groups.
    for outcome in run_in(2, "pipeline"):
        assert outcome.code == 0 and "pipeline: passed" in outcome.output, (
            outcome.output + outcome.errors
        )


VENDOR = """
import os
import paddle
import paddle.distributed as dist

dist.init_parallel_env()
rank = dist.get_rank()
x = paddle.to_tensor([rank + 1.0, 2.0])
dist.all_reduce(x)
parts = []
dist.all_gather(parts, x)
y = paddle.to_tensor([float(rank)])
dist.broadcast(y, src=1)
if rank == 0:
    dist.send(y, dst=1)
else:
    dist.recv(y, src=0)
device = paddle.device.get_device()
text = f"{device} {x.tolist()} {[part.tolist() for part in parts]} {y.tolist()}"
os.write(1, f"{text}\\n".encode())
"""


@pytest.mark.parametrize(("folder", "device"), [("operators", "my_npu"), ("c_operators", "c_npu")])
def test_a_device_without_a_library_for_collectives_gets_them(
    folder: str, device: str, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(VENDOR)
    variables: dict[str, Any] = {
        "CUSTOM_DEVICE_ROOT": str(EXAMPLES / folder),
        "PADDLE_XCCL_BACKEND": device,
        f"FLAGS_selected_{device}s": "0",
    }
    for outcome in run_file(2, program, **variables):
        expected = f"{device}:0 [3.0, 4.0] [[3.0, 4.0], [3.0, 4.0]] [1.0]"
        assert outcome.code == 0, outcome.output + outcome.errors
        assert expected in outcome.output, outcome.output + outcome.errors


def run_program(text: str, folder: Path, *command: str, **variables: str) -> str:
    """Runs a program on two devices of this process's plugin, and returns what it wrote."""
    program = folder / "program.py"
    program.write_text(text)
    done = subprocess.run(
        [sys.executable, *command, str(program)],
        # Releases before 3.3 do not find out the type.
        env={**os.environ, "TENON_CPU_DEVICES": "2", "PADDLE_XCCL_BACKEND": DEVICE, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    logs = "".join(log.read_text() for log in sorted(folder.glob("log/workerlog.*")))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    return done.stdout + logs


SUM = """
import os
import paddle
import paddle.distributed as dist

def main():
    dist.init_parallel_env()
    x = paddle.to_tensor([dist.get_rank() + 1.0])
    dist.all_reduce(x)
    # Written at once: other processes write to the same pipe.
    text = f"rank {dist.get_rank()} on {paddle.device.get_device()} has {x.tolist()}"
    os.write(1, f"{text}\\n".encode())

if __name__ == "__main__":
"""


def test_the_launcher_starts_a_process_for_each_device(tmp_path: Path) -> None:
    launcher = ["-m", "paddle.distributed.launch", "--devices", "0,1", "--log_dir", "log"]
    output = run_program(SUM + "    main()\n", tmp_path, *launcher)
    assert (
        f"rank 0 on {DEVICE}:0 has [3.0]" in output and f"rank 1 on {DEVICE}:1 has [3.0]" in output
    )


def test_spawn_starts_a_process_for_each_device(tmp_path: Path) -> None:
    # Without the variable, PaddlePaddle takes the backend of CPUs.
    program = SUM + "    dist.spawn(main, nprocs=2)\n"
    output = run_program(program, tmp_path, PADDLE_DISTRI_BACKEND="xccl")
    assert output.count("has [3.0]") == 2


def test_run_check_works_with_two_devices(tmp_path: Path) -> None:
    program = "import paddle\nif __name__ == '__main__':\n    paddle.utils.run_check()\n"
    assert f"PaddlePaddle works well on 2 {DEVICE}s." in run_program(program, tmp_path)
