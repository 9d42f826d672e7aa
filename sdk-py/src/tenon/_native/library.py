"""Finds and loads the C library, once per process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenon._native.version import VERSION

VARIABLE = "TENON_LIBRARY"
"""The environment variable with the path of the library to load in place of the one in the package."""

NAME = "libtenon.so"


class LibraryError(ImportError):
    """The library does not exist, cannot be loaded, or does not match this version of the package."""


def find() -> Path:
    """Returns the path of the library: from the environment variable, otherwise in the package.

    Raises:
        LibraryError: The file does not exist.
    """
    if named := os.environ.get(VARIABLE):
        path = Path(named)
        if not path.is_file():
            raise LibraryError(f"{VARIABLE} is set to `{path}`, which is not a file", path=str(path))
        return path
    path = Path(__file__).parent.parent / "_lib" / NAME
    if not path.is_file():
        raise LibraryError(
            f"`{path}` does not exist: this is a source tree, not an installed package; run "
            f"`pip install ./sdk-py` at its root, or `cargo build --release -p tenon-sdk-c` and set "
            f"{VARIABLE}=target/release/libtenon_sdk_c.so",
            path=str(path),
        )
    return path


def load(path: Path) -> ctypes.CDLL:
    """Loads the library and checks that its version matches the bindings.

    Args:
        path: The path of the library.

    Raises:
        LibraryError: The library cannot be loaded, is not libtenon, or has another version.
    """
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"cannot load `{path}`: {error}", path=str(path)) from error
    try:
        version = library.tenon_version
    except AttributeError:
        raise LibraryError(f"`{path}` is not libtenon: it has no `tenon_version`", path=str(path)) from None
    version.argtypes = ()
    version.restype = ctypes.c_uint32
    number: int = version()
    found = (number >> 16, number >> 8 & 0xFF, number & 0xFF)
    if found != VERSION:
        raise LibraryError(
            f"`{path}` has version {_dotted(found)}, but this package needs {_dotted(VERSION)}; "
            f"unset {VARIABLE} to use the library of the package",
            path=str(path),
        )
    return library


def bind(symbol: str, *argtypes: Any, restype: Any = ctypes.c_int) -> Callable[..., Any]:
    """Returns a function of the library with its types set. Calls release the GIL.

    Args:
        symbol: The name in C.
        argtypes: The parameter types.
        restype: The result type; a status by default.

    Raises:
        LibraryError: The library has no such function.
    """
    try:
        function = LIBRARY[symbol]
    except AttributeError:
        raise LibraryError(f"`{PATH}` has no function `{symbol}`", path=str(PATH)) from None
    function.argtypes = tuple(_CHECKED.get(argtype, argtype) for argtype in argtypes)
    function.restype = restype
    return function


def _checked(integer: Any) -> Any:
    """Returns an argument type like an integer type of ctypes, which refuses numbers that do not fit.

    ctypes drops the upper bits of such a number without an error.
    """
    bits = 8 * ctypes.sizeof(integer)
    is_signed = integer(-1).value < 0
    # An unsigned type takes negative numbers of its width, as in C: -1 is its largest number.
    least, most = -1 << bits - 1, (1 << bits - is_signed) - 1
    convert = integer.from_param

    class Checked:
        @staticmethod
        def from_param(value: Any) -> Any:
            if type(value) is int and not least <= value <= most:
                # ctypes turns it into an `ArgumentError` with this text.
                raise OverflowError(f"{value} is not in the range from {least} to {most}")
            return convert(value)

    return Checked


_CHECKED = {
    integer: _checked(integer)
    for integer in (
        ctypes.c_int8,
        ctypes.c_int16,
        ctypes.c_int32,
        ctypes.c_int64,
        ctypes.c_uint8,
        ctypes.c_uint16,
        ctypes.c_uint32,
        ctypes.c_uint64,
        ctypes.c_size_t,
    )
}
"""The checked type for each integer type. Types of the same size are the same type."""


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


PATH = find()
"""The path of the library."""

LIBRARY = load(PATH)
"""The library. Each lookup with `LIBRARY[symbol]` returns a new object, whose types can be set separately."""
