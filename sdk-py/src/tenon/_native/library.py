"""Finds the library and loads it, once for each process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tenon._native.version import VERSION

VARIABLE = "TENON_LIBRARY"
"""The variable of the environment that names the library, in the place of the one that came with the package."""

NAME = "libtenon.so"


class LibraryError(ImportError):
    """The library is not there, cannot be loaded, or is not the one that this package was made for."""


def find() -> Path:
    """Says where the library is: where the environment says, else in the package.

    Raises:
        LibraryError: It is not there.
    """
    if named := os.environ.get(VARIABLE):
        path = Path(named)
        if not path.is_file():
            raise LibraryError(f"{VARIABLE} names `{path}`, which is no file", path=str(path))
        return path
    path = Path(__file__).parent.parent / "_lib" / NAME
    if not path.is_file():
        raise LibraryError(
            f"there is no `{path}`: this is a source tree and no installed package; run "
            f"`pip install ./sdk-py` at its root, or `cargo build --release -p tenon-sdk-c` and set "
            f"{VARIABLE}=target/release/libtenon_sdk_c.so",
            path=str(path),
        )
    return path


def load(path: Path) -> ctypes.CDLL:
    """Loads the library and sees that its version is the one that the bindings were made for.

    Args:
        path: The library.

    Raises:
        LibraryError: It cannot be loaded, is another library, or has another version.
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
            f"unset {VARIABLE} to use the library that came with the package",
            path=str(path),
        )
    return library


def bind(symbol: str, *argtypes: Any, restype: Any = ctypes.c_int) -> Callable[..., Any]:
    """Gives a function of the library with its types; calls of it release the interpreter's lock.

    Args:
        symbol: Its name in C.
        argtypes: The types of its parameters.
        restype: The type of its result; left out: a status.

    Raises:
        LibraryError: The library has no such function.
    """
    try:
        function = LIBRARY[symbol]
    except AttributeError:
        raise LibraryError(f"`{PATH}` has no function `{symbol}`", path=str(PATH)) from None
    function.argtypes = argtypes
    function.restype = restype
    return function


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


PATH = find()
"""Where the library is."""

LIBRARY = load(PATH)
"""The library. Each function that is looked up with brackets is an object of its own, with types of its own."""
