"""Warns about interpreters that the package does not support."""

from __future__ import annotations

import sys
import warnings


def warn_without_lock() -> None:
    """Warns if the global interpreter lock is off: the package counts references of Python objects."""
    is_on = getattr(sys, "_is_gil_enabled", None)
    if is_on is not None and not is_on():
        warnings.warn(
            "tenon does not support Python without the global interpreter lock: set PYTHON_GIL=1",
            RuntimeWarning,
            stacklevel=3,
        )
