"""Runs a program in several processes that PaddlePaddle makes a group of."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from host import DEVICE

PROGRAMS = Path(__file__).with_name("collective_programs.py")


@dataclass(frozen=True)
class Outcome:
    """What a process returned and wrote."""

    code: int
    output: str
    errors: str


def free_ports(count: int) -> list[int]:
    """Returns ports of this machine that nothing listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def environment(
    rank: int, endpoints: list[str], backend: str = "xccl", **more: str
) -> dict[str, str]:
    """Returns the environment of one process, as a launcher sets it."""
    return {
        **os.environ,
        "PADDLE_DISTRI_BACKEND": backend,
        "PADDLE_XCCL_BACKEND": DEVICE,
        f"FLAGS_selected_{DEVICE}s": "0",
        "PADDLE_MASTER": endpoints[0],
        "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints),
        "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
        "PADDLE_TRAINER_ID": str(rank),
        "PADDLE_TRAINERS_NUM": str(len(endpoints)),
        "OMP_NUM_THREADS": "1",
        "TENON_COMM_TIMEOUT": "60",
        **more,
    }


def run_in(processes: int, *programs: str, without: int = -1, **more: str) -> list[Outcome]:
    """Runs programs of `collective_programs.py`, one after the other, in several processes.

    Returns the outcomes in the order of the ranks. The rank `without` is killed when the others
    have ended.
    """
    return run_file(processes, PROGRAMS, *programs, without=without, **more)


def run_file(
    processes: int,
    file: Path,
    *arguments: str,
    without: int = -1,
    backend: str = "xccl",
    **more: str,
) -> list[Outcome]:
    """Runs a Python file in several processes, as `run_in` does."""
    endpoints = [f"127.0.0.1:{port}" for port in free_ports(processes)]
    running = [
        subprocess.Popen(
            [sys.executable, str(file), *arguments],
            env=environment(rank, endpoints, backend, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    outcomes: dict[int, Outcome] = {}
    try:
        for rank, process in sorted(enumerate(running), key=lambda entry: entry[0] == without):
            if rank == without:
                process.kill()
            output, errors = process.communicate(timeout=300)
            outcomes[rank] = Outcome(process.returncode, output, errors)
    finally:
        for process in running:
            process.kill()
    return [outcomes[rank] for rank in range(processes)]


def check(outcomes: list[Outcome]) -> None:
    """Fails with what the processes wrote, unless each ended well."""
    failed = [
        f"rank {rank} ended with {outcome.code}:\n{outcome.output}\n{outcome.errors}"
        for rank, outcome in enumerate(outcomes)
        if outcome.code
    ]
    assert not failed, "\n".join(failed)
