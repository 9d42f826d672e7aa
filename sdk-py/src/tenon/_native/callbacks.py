"""Base class of C function pointers. It is imported from `_ctypes` because `ctypes` exports no name for it.

A function pointer is created from a Python function, and must stay alive as long as C may call it. ctypes acquires the
GIL for the call.
"""

from __future__ import annotations

from _ctypes import FUNCFLAG_CDECL, CFuncPtr

__all__ = ["FUNCFLAG_CDECL", "CFuncPtr"]
