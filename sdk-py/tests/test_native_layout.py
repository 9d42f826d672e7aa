"""The layout of the structures in the bindings, compared with a C compiler."""

from __future__ import annotations

import ctypes
import enum
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import pytest

from tenon._native import core, types

HEADERS = Path(__file__).resolve().parents[2] / "sdk-c" / "include"


Base = TypeVar("Base")


def classes(module: ModuleType, base: type[Base]) -> list[type[Base]]:
    """Returns the classes that a module defines."""
    found = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)]
    return [value for value in found if value.__module__ == module.__name__]


STRUCTURES = [*classes(types, ctypes.Structure), *classes(core, ctypes.Structure)]
ENUMS = [*classes(types, enum.IntEnum), *classes(core, enum.IntEnum)]


def c_name(python: type) -> str:
    """`PoolStatistics` is `tenon_pool_statistics`."""
    return "tenon" + re.sub("([A-Z])", r"_\1", python.__name__).lower()


def fields(structure: type) -> list[str]:
    return [field[0] for field in structure._fields_]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def from_c(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Returns sizes, offsets and values as a C compiler computes them."""
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed: apt-get install gcc"
    folder = tmp_path_factory.mktemp("layout")
    expressions = {f"sizeof({c_name(structure)})" for structure in STRUCTURES}
    expressions |= {f"sizeof({c_name(python)})" for python in ENUMS}
    expressions |= {f"offsetof({c_name(python)}, {field})" for python in STRUCTURES for field in fields(python)}
    expressions |= {f"sizeof((({c_name(python)}*)0)->{field})" for python in STRUCTURES for field in fields(python)}
    expressions |= {number_name(python, member) for python in ENUMS for member in python.__members__}
    lines = [f'  printf("%s=%lld\\n", "{text}", (long long)({text}));' for text in sorted(expressions)]
    source = ["#include <stdio.h>", "#include <tenon/tenon.h>", "int main(void) {", *lines, "}"]
    (folder / "layout.c").write_text("\n".join(source))
    program = folder / "layout"
    command = [compiler, "-std=c11", "-Werror", f"-I{HEADERS}", str(folder / "layout.c"), "-o", str(program)]
    subprocess.run(command, check=True)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return {text: int(number) for text, number in (line.rsplit("=", 1) for line in printed.splitlines())}


def number_name(python: type, member: str) -> str:
    """Returns the name of an enum value in C. Statuses have only the prefix."""
    return f"TENON_{member}" if python is types.Status else f"{c_name(python)}_{member}".upper()


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda structure: structure.__name__)
def test_structure_sizes_match_c(structure: type, from_c: dict[str, int]) -> None:
    assert ctypes.sizeof(structure) == from_c[f"sizeof({c_name(structure)})"]


@pytest.mark.parametrize("structure", STRUCTURES, ids=lambda structure: structure.__name__)
def test_field_offsets_match_c(structure: type, from_c: dict[str, int]) -> None:
    name = c_name(structure)
    ours = {field: (getattr(structure, field).offset, getattr(structure, field).size) for field in fields(structure)}
    assert ours == {
        field: (from_c[f"offsetof({name}, {field})"], from_c[f"sizeof((({name}*)0)->{field})"]) for field in ours
    }


@pytest.mark.parametrize("python", ENUMS, ids=lambda python: python.__name__)
def test_enum_values_match_c(python: type[enum.IntEnum], from_c: dict[str, int]) -> None:
    assert from_c[f"sizeof({c_name(python)})"] == ctypes.sizeof(ctypes.c_int)
    ours = {member: number.value for member, number in python.__members__.items()}
    assert ours == {member: from_c[number_name(python, member)] for member in ours}


def test_comparison_is_not_empty() -> None:
    assert len(STRUCTURES) >= 12 and len(ENUMS) >= 8
