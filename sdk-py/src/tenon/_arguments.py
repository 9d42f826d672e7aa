"""What arguments have to be, seen before a device is asked: C would take what does not fit for something else."""

from __future__ import annotations

import threading
from operator import index
from typing import Any

from tenon.errors import NotFoundError

_LARGEST_ORDINAL = 2**31 - 1
_LARGEST_SIZE = 2**63 - 1


def expect(value: object, kind: type[Any], name: str) -> None:
    """Sees that an argument is of a class of this package.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a tenon.{kind.__name__}, not {_kind(value)}")


def ordinal(value: Any, type: str) -> int:
    """The number of a device.

    Args:
        value: What is said to be one.
        type: The device type, for the message.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is negative.
        NotFoundError: It is more than any plugin can count.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"the number of a device is an int, not {_kind(value)}")
    number = index(value)
    if number < 0:
        raise ValueError(f"the number of a device must not be negative, but is {number}")
    if number > _LARGEST_ORDINAL:
        raise NotFoundError(f"there is no device {type}:{number}")
    return number


def size(value: Any, name: str) -> int:
    """A number of bytes; more than there are addresses is as many as there are.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is negative.
    """
    if not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a number of bytes, not {_kind(value)}")
    number = index(value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, but is {number}")
    return min(number, _LARGEST_SIZE)


def seconds(timeout: Any) -> float | None:
    """A timeout in seconds; None: as long as it takes, which is also what more than the system can count comes to.

    Raises:
        TypeError: It is no number.
        ValueError: It is negative, or not a number.
    """
    if timeout is None:
        return None
    if isinstance(timeout, (str, bytes)) or not hasattr(timeout, "__float__"):
        raise TypeError(f"timeout is a number of seconds, not {_kind(timeout)}")
    number = float(timeout)
    if not number >= 0:
        raise ValueError(f"timeout is a number of seconds from 0 on, not {timeout}")
    return number if number <= threading.TIMEOUT_MAX else None


def _kind(value: object) -> str:
    return value.__class__.__name__
