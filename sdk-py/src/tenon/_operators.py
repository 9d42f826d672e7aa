"""Operators that buffers do not have. They raise a TypeError with the alternative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
}


def refuse(kind: type[Any]) -> None:
    """Adds the operators to a class. An object that is neither a number nor an array may define its own."""
    for name, symbol in _SYMBOLS.items():
        for method in (f"__{name}__", f"__r{name}__"):
            setattr(kind, method, _refusing(kind, method, symbol))


def _refusing(kind: type[Any], name: str, symbol: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, (kind, complex, float, int)) or hasattr(type(other), "__array__"):
            raise TypeError(
                f"a {kind.__name__} has no operator `{symbol}`: compute with numpy(), "
                "and copy the result to a buffer with copy_from()"
            )
        return NotImplemented

    operator.__name__ = name
    operator.__qualname__ = f"{kind.__qualname__}.{name}"
    return operator
