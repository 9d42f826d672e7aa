"""The arguments of the registered kernels are those of PaddlePaddle's own, in each release."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections import defaultdict
from pathlib import Path

import paddle
import pytest

Signatures = dict[str, set[tuple[str, ...]]]

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


@pytest.fixture(scope="module")
def signatures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Signatures]:
    """Returns the signatures of each kernel of the host and of the device."""
    folder = tmp_path_factory.mktemp("signatures")
    table = folder / "kernels.txt"
    ctypes.CDLL(str(compile_reader(folder))).print_kernels(str(table).encode())
    found: dict[str, Signatures] = {"host": defaultdict(set), "device": defaultdict(set)}
    for line in table.read_text().splitlines():
        owner, name, *arguments = line.split("\t")
        found[owner][name].add(tuple(arguments))
    return found


def test_the_device_has_kernels(signatures: dict[str, Signatures]) -> None:
    assert len(signatures["device"]) > 150
    assert signatures["host"]["softmax"], "the host's kernels were not read"


def test_each_kernel_takes_the_arguments_of_the_hosts(signatures: dict[str, Signatures]) -> None:
    host = signatures["host"]
    different = {
        name: (own, host[name])
        for name, own in signatures["device"].items()
        if name in host and not own <= host[name]
    }
    assert not different


def test_the_host_knows_each_kernel(signatures: dict[str, Signatures]) -> None:
    assert not signatures["device"].keys() - signatures["host"].keys()
