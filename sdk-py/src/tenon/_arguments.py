"""Checks of arguments before a call into C, which would misinterpret values of the wrong type or range."""

from __future__ import annotations

import threading
from operator import index
from typing import Any

from tenon.errors import NotFoundError

_LARGEST_ORDINAL = 2**31 - 1
_LARGEST_SIZE = 2**63 - 1


def expect(value: object, kind: type[Any], name: str) -> None:
    """Checks that an argument is an instance of a class of this package.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a tenon.{kind.__name__}, not {_kind(value)}")


def ordinal(value: Any, type: str) -> int:
    """Checks and converts a device ordinal.

    Args:
        value: The argument.
        type: The device type, for the message.

    Raises:
        TypeError: The value is not an integer.
        ValueError: The value is negative.
        NotFoundError: The value is larger than any ordinal of a plugin.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"the number of a device must be an int, not {_kind(value)}")
    number = index(value)
    if number < 0:
        raise ValueError(f"the number of a device must not be negative, but it is {number}")
    if number > _LARGEST_ORDINAL:
        raise NotFoundError(f"there is no device {type}:{number}")
    return number


def size(value: Any, name: str) -> int:
    """Checks and converts a number of bytes. A value beyond the address space is reduced to its size.

    Raises:
        TypeError: The value is not an integer.
        ValueError: The value is negative.
    """
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer number of bytes, not {_kind(value)}")
    number = index(value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, but it is {number}")
    return min(number, _LARGEST_SIZE)


def seconds(timeout: Any) -> float | None:
    """Checks and converts a timeout in seconds. None means no limit; so does a value that the system cannot represent.

    Raises:
        TypeError: The value is not a number.
        ValueError: The value is negative or NaN.
    """
    if timeout is None:
        return None
    if isinstance(timeout, (str, bytes)) or not hasattr(timeout, "__float__"):
        raise TypeError(f"timeout must be a number of seconds, not {_kind(timeout)}")
    number = float(timeout)
    if not number >= 0:
        raise ValueError(f"timeout must be 0 or more seconds, not {timeout}")
    return number if number <= threading.TIMEOUT_MAX else None


def _kind(value: object) -> str:
    return value.__class__.__name__
