"""What pointers to functions are made of. ctypes has classes for them, but gives those no name that a type could have.

An object of such a class is made from a function of Python, and has to stay alive as long as C may call it. ctypes
takes the interpreter's lock for the call.
"""

from __future__ import annotations

from _ctypes import FUNCFLAG_CDECL, CFuncPtr

__all__ = ["FUNCFLAG_CDECL", "CFuncPtr"]
