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
SONAME = "libtenon.so.0"


class LibraryError(ImportError):
    """The library does not exist, cannot be loaded, or does not match this version of the package."""


def find() -> Path:
    """Returns the path of the library: from the environment variable, otherwise the one that the process has loaded, or
    the one in the package.

    A program or an extension module that links `libascendcl.so` loads the library beside it. A second one would be a
    second runtime, with other devices.

    Raises:
        LibraryError: The file does not exist.
    """
    if named := os.environ.get(VARIABLE):
        path = Path(named)
        if not path.is_file():
            raise LibraryError(f"{VARIABLE} is set to `{path}`, which is not a file", path=str(path))
        return path
    if (found := loaded()) is not None:
        return found
    path = Path(__file__).parent.parent / "_lib" / NAME
    if not path.is_file():
        raise LibraryError(
            f"`{path}` does not exist: this is a source tree, not an installed package; run "
            f"`pip install ./sdk-py` at its root, or `cargo build --release -p tenon-sdk-c` and set "
            f"{VARIABLE}=target/release/libtenon_sdk_c.so",
            path=str(path),
        )
    return path


def loaded() -> Path | None:
    """Returns the path of the library that the process has loaded before this module, if there is one."""
    try:
        library = ctypes.CDLL(SONAME, mode=os.RTLD_NOLOAD)
    except OSError:
        return None
    found = _SharedObject()
    if not ctypes.CDLL(None).dladdr(library.tenon_version, ctypes.byref(found)):
        return None
    return Path(os.fsdecode(found.name))


class _SharedObject(ctypes.Structure):
    """`Dl_info` of the C library: the shared object of an address."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


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
            f"`{path}` has version {_dotted(found)}, but this package needs {_dotted(VERSION)}; {_instead()}",
            path=str(path),
        )
    return library


def bind(symbol: str, *argtypes: Any, restype: Any = ctypes.c_int) -> Callable[..., Any]:
    """Returns a function of the library with its types set. Calls release the GIL.

    Args:
        symbol: The name in C.
        argtypes: The parameter types.
        restype: The result type; a status by default.

    The function raises an ``OverflowError`` for an integer that does not fit.

    Raises:
        LibraryError: The library has no such function.
    """
    try:
        function = LIBRARY[symbol]
    except AttributeError:
        raise _no_function(symbol) from None
    return _typed(function, argtypes, restype)


def bind_acl(symbol: str, *argtypes: Any, restype: Any = ctypes.c_int) -> Callable[..., Any]:
    """Returns a function of ACL as `bind` does. The library has no symbols for them, and finds them by name."""
    address = _acl_function(symbol.encode())
    if address is None:
        raise _no_function(symbol)
    return _typed(_FUNCTION(address), argtypes, restype)


def _typed(function: Any, argtypes: tuple[Any, ...], restype: Any) -> Callable[..., Any]:
    """Sets the types of a function, and makes it refuse integers that do not fit."""
    function.argtypes = argtypes
    function.restype = restype
    ranges = tuple((index, *_RANGES[argtype]) for index, argtype in enumerate(argtypes) if argtype in _RANGES)
    typed: Callable[..., Any] = function
    if not ranges:
        return typed

    def checked(*args: Any) -> Any:
        # ctypes would drop the upper bits. A check in `from_param` would turn Ctrl-C into an `ArgumentError`.
        if len(args) == len(argtypes):
            for index, least, most in ranges:
                value = args[index]
                if type(value) is int and not least <= value <= most:
                    raise OverflowError(f"{value} is not in the range from {least} to {most}")
        return typed(*args)

    return checked


def _no_function(symbol: str) -> LibraryError:
    return LibraryError(f"`{PATH}` has no function `{symbol}`", path=str(PATH))


def _range(integer: Any) -> tuple[int, int]:
    """Returns the smallest and the largest number that an integer type of ctypes takes.

    An unsigned type takes negative numbers of its width, as in C: -1 is its largest number.
    """
    bits = 8 * ctypes.sizeof(integer)
    is_signed = integer(-1).value < 0
    return -1 << bits - 1, (1 << bits - is_signed) - 1


_RANGES = {
    integer: _range(integer)
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
        ctypes.c_void_p,
    )
}
"""The range of each integer type, and of addresses. Types of the same size are the same type."""


def _instead() -> str:
    if os.environ.get(VARIABLE):
        return f"unset {VARIABLE} to use the library of the package"
    return "another part of the process has loaded it"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


PATH = find()
"""The path of the library."""

LIBRARY = load(PATH)
"""The library. Each lookup with `LIBRARY[symbol]` returns a new object, whose types can be set separately."""

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int)
"""The type of a function at an address. Its types are set for each function."""

_acl_function = bind("tenon_acl_function", ctypes.c_char_p, restype=ctypes.c_void_p)
