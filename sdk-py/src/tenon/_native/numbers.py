"""Named numbers of C. A library or a plugin may be newer than this package and know more of them."""

from __future__ import annotations

from enum import IntEnum, IntFlag

__all__ = ["IntFlag", "NamedNumber"]


class NamedNumber(IntEnum):
    """A number with a name. One that has none here is a member too: nothing fails where only a name is missing."""

    @classmethod
    def _missing_(cls, value: object) -> NamedNumber | None:
        if not isinstance(value, int):
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member
