"""Argument handling of all functions of the package. It behaves like functions that are written in C.

A function first tries the call with unchanged arguments, and checks them only if Python or ctypes rejects them.
So a correct call has no extra cost.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from ctypes import Array, Structure, Union
from difflib import get_close_matches
from operator import index
from types import ModuleType
from typing import Any, NoReturn

from tenon._native.library import bind_acl as bind

from ._message import leave

__all__ = [
    "NOT_SUPPORTED",
    "REFUSED",
    "absent",
    "accepts",
    "again",
    "arity",
    "bind",
    "contents",
    "decoded",
    "decoded_or_none",
    "encoded",
    "encoded_or_null",
    "homed",
    "listed",
    "packed",
    "packed_or_null",
    "parse_failed",
    "unpacked",
]

REFUSED = (ctypes.ArgumentError, TypeError, ValueError, OverflowError)
"""The exceptions for a wrong number or type of arguments."""

NOT_SUPPORTED = 200001
"""The status of functions that this package lacks."""


def again(function: Callable[..., Any], count: int, args: tuple[Any, ...], optional: int = 0) -> Any:
    """Calls a function again with objects that convert to integers, such as NumPy's, replaced by plain integers.

    Args:
        function: The function that rejected its arguments.
        count: The number of its parameters.
        args: The arguments of the call.
        optional: The number of optional parameters at the end.

    Raises:
        TypeError: There are too few or too many arguments, or one has a wrong type.
    """
    arity(count, args, optional)
    plain = tuple(map(_plain, args))
    if all(new is old for new, old in zip(plain, args)):
        _raise_overflow(function)
        raise parse_failed(function) from None
    return function(*plain)


def _raise_overflow(function: Callable[..., Any]) -> None:
    """Raises an OverflowError if the exception that is being handled is one of an integer that does not fit."""
    error = sys.exc_info()[1]
    if isinstance(error, OverflowError):
        raise OverflowError(f"{_name(function)}: {error}") from None


def _name(function: Callable[..., Any]) -> str:
    """Returns the name of a function as programs use it."""
    home, _, hand = function.__module__.partition("._hand")
    return f"{'acl.rt' if hand and hand != '.acl' else home}.{function.__name__}"


def parse_failed(function: Callable[..., Any]) -> TypeError:
    """Returns the exception for an argument of the wrong type, with the function's name as programs use it."""
    return TypeError(f"{_name(function)} args parse failed")


def accepts(kind: str, value: Any) -> bool:
    """Returns true if a value has the type of an argument.

    Args:
        kind: i for an integer, s for a string, l for a list and c for a callable.
        value: The argument that the program passes.

    Raises:
        TypeError: It must be callable, but is not.
    """
    if kind == "c" and not callable(value):
        raise TypeError("parameter must be callable")
    return kind == "c" or isinstance(value, {"i": int, "s": str, "l": list}[kind])


def arity(count: int, args: tuple[Any, ...], optional: int = 0) -> None:
    """Checks the number of arguments.

    Raises:
        TypeError: There are too few or too many.
    """
    given, least = len(args), count - optional
    if least <= given <= count:
        return
    words = "exactly" if not optional else "at least" if given < least else "at most"
    expected = least if given < least else count
    noun = "argument" if expected == 1 else "arguments"
    raise TypeError(f"function takes {words} {expected} {noun} ({given} given)") from None


def _plain(value: Any) -> Any:
    if type(value) is int or not hasattr(type(value), "__index__"):
        return value
    try:
        return index(value)
    except TypeError:
        return value


def encoded(text: str) -> bytes:
    """Encodes a string for C.

    Raises:
        TypeError: It is not a ``str``.
        ValueError: It contains a NUL, which would end it in C.
    """
    if not isinstance(text, str):
        raise TypeError("a string is expected")
    if "\0" in text:
        raise ValueError("embedded null character")
    return text.encode()


def encoded_or_null(text: str | None) -> bytes | None:
    """Encodes a string for C; null for None."""
    return None if text is None else encoded(text)


def decoded(text: bytes | None) -> str:
    """Decodes a string from C; empty if it is null."""
    return "" if text is None else text.decode("utf-8", "replace")


def decoded_or_none(text: bytes | None) -> str | None:
    """Decodes a string from C; None if it is null."""
    return None if text is None else decoded(text)


def listed(element: Any, values: Sequence[Any], length: int | None = None) -> Array[Any]:
    """Converts a list to an array for C.

    Args:
        element: The ctypes type of an element.
        values: The list.
        length: The required length. None: any length.

    Raises:
        TypeError: It is not a list, or an element has another type.
        ValueError: It has another length.
    """
    if isinstance(values, (str, bytes, Mapping)):
        raise TypeError("a list is expected")
    if length is not None and len(values) != length:
        raise ValueError(f"{length} elements are expected, not {len(values)}")
    array: Array[Any] = (element * len(values))(*(_field(element, value) for value in values))
    return array


def packed(struct: type[Any], values: Mapping[str, Any]) -> Any:
    """Converts a dict to a struct for C; missing members become 0.

    Raises:
        TypeError: It is not a dict, a value has a wrong type, or a name is not a member of the struct.
    """
    if not isinstance(values, Mapping):
        raise TypeError("a dict is expected")
    packed_struct = struct()
    fields = dict(struct._fields_)
    for name, value in values.items():
        if name not in fields:
            raise TypeError(f"there is no `{name}` in {struct.__name__}")
        setattr(packed_struct, name, _field(fields[name], value))
    return packed_struct


def packed_or_null(struct: type[Any], values: Mapping[str, Any] | None) -> Any:
    """Converts a dict to a struct for C; None becomes null."""
    return None if values is None else packed(struct, values)


def _field(kind: Any, value: Any) -> Any:
    if issubclass(kind, (Structure, Union)):
        return packed(kind, value)
    if issubclass(kind, Array):
        array: Any = kind
        return listed(array._type_, value, array._length_)
    return _plain(value)


def unpacked(struct: Structure) -> dict[str, Any]:
    """Converts a struct to a dict of its fields."""
    values: dict[str, Any] = {}
    for name, *_ in struct._fields_:
        value = getattr(struct, name)
        if isinstance(value, Structure):
            value = unpacked(value)
        elif isinstance(value, Array):
            value = [unpacked(each) if isinstance(each, Structure) else each for each in value]
        values[name] = value
    return values


def absent(module: str) -> Callable[[str], Callable[..., int]]:
    """Creates the `__getattr__` of a module, for the functions that C does not have.

    In a module without functions, or with only some of them, each name is a function that returns 200001, because its
    functions are not described. In the others, an unknown name is an AttributeError with the nearest name.

    Args:
        module: The name of the module.
    """

    def __getattr__(name: str) -> Callable[..., int]:
        # Python itself looks up names that begin with an underscore, and handles missing ones.
        if name.startswith("_"):
            _no_attribute(module, name)
        if name in beside(module):
            function: Callable[..., int] = beside(module)[name]
            return function
        if module not in _PARTIAL and dir(sys.modules[module]):
            _no_attribute(module, name)

        def not_supported(*args: Any) -> int:
            leave(f"{module}.{name}: there is no such function in this library")
            return NOT_SUPPORTED

        not_supported.__name__ = name
        not_supported.__qualname__ = name
        not_supported.__module__ = module
        not_supported.__doc__ = "Returns 200001 (not supported): there is no such function in this library."
        return not_supported

    return __getattr__


def homed(module: str, functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Sets the `__module__` of functions to the module in which programs find them."""
    for function in functions.values():
        function.__module__ = module
    return functions


def beside(module: str) -> Mapping[str, Callable[..., Any]]:
    """Returns the functions of a module that C does not have: ``BESIDE`` of its hand-written part."""
    found: Mapping[str, Callable[..., Any]] = getattr(vars(sys.modules[module]).get("_Hand"), "BESIDE", {})
    return found


def contents(names: Mapping[str, Any]) -> Callable[[], list[str]]:
    """Creates the ``__dir__`` of a module, which lists its functions and submodules but no internal names.

    Args:
        names: The names of the module.
    """
    module = names["__name__"]

    def belongs(name: str, value: Any) -> bool:
        if name.startswith("_"):
            return False
        home = value.__name__.rpartition(".")[0] if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        return bool(home == module)

    def __dir__() -> list[str]:
        return sorted([*beside(module), *(name for name, value in names.items() if belongs(name, value))])

    return __dir__


_PARTIAL = frozenset({"acl.media"})
"""The modules of which only some functions are described."""


def _no_attribute(module: str, name: str) -> NoReturn:
    nearest = [] if name.startswith("_") else get_close_matches(name, dir(sys.modules[module]), n=1)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")
