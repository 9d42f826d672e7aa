"""The functions and constants of the interface, from the data that the headers are tested with."""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
_DATA = ROOT / "codegen/tests/diopi"


class Size(ctypes.Structure):
    """`diopiSize_t`."""

    _fields_ = [("data", ctypes.c_void_p), ("len", ctypes.c_int64)]


class _Value(ctypes.Union):
    _fields_ = [("fval", ctypes.c_double), ("ival", ctypes.c_int64)]


class Scalar(ctypes.Structure):
    """`diopiScalar_t`."""

    _anonymous_ = ("value",)
    _fields_ = [("stype", ctypes.c_int), ("value", _Value)]


_TYPES: Mapping[str, type | None] = {
    "bool": ctypes.c_bool,
    "const char*": ctypes.c_char_p,
    "diopiSize_t": Size,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "void": None,
}


@dataclass(frozen=True)
class Param:
    """A parameter: its type in C, without the `const` of values, and its name."""

    type: str
    name: str


@dataclass(frozen=True)
class Signature:
    """The type of a function."""

    result: str
    params: tuple[Param, ...]


def ctype(name: str) -> type | None:
    """Returns the type of ctypes for a type of C."""
    if name in _TYPES:
        return _TYPES[name]
    if name in enums():
        return ctypes.c_int
    return ctypes.c_void_p


def _rows(name: str) -> list[list[str]]:
    lines = (_DATA / name).read_text().splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def _param(text: str) -> Param:
    start = max(text.rfind(" "), text.rfind("*")) + 1
    type_ = text[:start].strip()
    if not type_.endswith("*"):
        type_ = type_.removeprefix("const ")
    return Param(type_, text[start:])


@cache
def functions() -> Mapping[str, Signature]:
    """Returns all functions of the interface."""

    def signature(row: list[str]) -> Signature:
        texts = [text.strip() for text in row[4].split(",")]
        return Signature(row[3], tuple(_param(text) for text in texts if text))

    return {row[0]: signature(row) for row in _rows("functions.tsv") if row[4] != "?"}


@cache
def constants() -> Mapping[str, int]:
    """Returns the numbers of all enumerators."""
    return {row[0]: int(row[1]) for row in _rows("constants.tsv")}


@cache
def enums() -> frozenset[str]:
    """Returns the names of all enumerations."""
    return frozenset(row[2] for row in _rows("constants.tsv"))
