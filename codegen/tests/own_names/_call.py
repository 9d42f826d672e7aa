"""Stands for the hand-written part of a package: the functions of C write 7 to each output that is a number."""

from __future__ import annotations

import ctypes

REFUSED = (ctypes.ArgumentError, TypeError, ValueError, OverflowError)


def bind(symbol, *types, restype=ctypes.c_int):
    def function(*args):
        for kind, value in zip(types, args):
            kind.from_param(value)
            if isinstance(value, ctypes._SimpleCData):
                value.value = 7
        return 0

    return function


def again(function, count, args, optional=0):
    raise TypeError(f"{function.__name__} refuses {args}") from None


def absent(module):
    def get(name):
        raise AttributeError(name)

    return get


def contents(names):
    return lambda: sorted(name for name in names if name[0] != "_")


def encoded(text):
    if not isinstance(text, str):
        raise TypeError("a string is expected")
    return text.encode()


def listed(element, values, length=None):
    return (element * len(values))(*values)


def packed(struct, values):
    return struct(**values)


def unpacked(struct):
    return {name: getattr(struct, name) for name, *_ in struct._fields_}
