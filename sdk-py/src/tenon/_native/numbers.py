"""Enumerations of C. A library or plugin that is newer than this package may use more values."""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = ["IntFlag", "NamedNumber"]


class NamedNumber(IntEnum):
    """An enumeration that accepts unknown values. An unknown value becomes a member named `UNKNOWN_<value>`."""

    @classmethod
    def _missing_(cls, value: object) -> NamedNumber | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member
