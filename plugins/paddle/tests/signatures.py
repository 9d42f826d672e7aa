"""Lists the signatures of the kernels of PaddlePaddle's CPU, and of the device."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import paddle

Signatures = dict[str, set[tuple[str, ...]]]
"""For each kernel, the types of its arguments: one entry for each form."""

SOURCE = Path(__file__).with_name("signatures.cc")


def compile_reader(folder: Path) -> Path:
    """Compiles the program that reads PaddlePaddle's registry, with this release's headers."""
    include = Path(paddle.sysconfig.get_include())
    libraries = [
        library
        for library in (
            *Path(paddle.sysconfig.get_lib()).glob("libphi*.so"),
            include.parent / "base/libpaddle.so",
        )
        if library.exists()
    ]
    reader = folder / "signatures.so"
    subprocess.run(
        [os.environ.get("CXX", "c++"), "-std=c++17", "-shared", "-fPIC", "-w"]
        + ["-I", str(include), "-I", str(include / "third_party")]
        + ["-o", str(reader), str(SOURCE), *map(str, libraries)],
        check=True,
    )
    return reader


def read(folder: Path) -> dict[str, Signatures]:
    """Returns the signatures of each kernel of the host and of the device.

    Args:
        folder: An empty folder for the reader.
    """
    table = folder / "kernels.txt"
    ctypes.CDLL(str(compile_reader(folder))).print_kernels(str(table).encode())
    found: dict[str, Signatures] = {"host": defaultdict(set), "device": defaultdict(set)}
    for line in table.read_text().splitlines():
        owner, name, *arguments = line.split("\t")
        found[owner][name].add(tuple(arguments))
    return found
