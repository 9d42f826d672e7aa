"""Operators of Python on buffers: each calls the function of `tenon.ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tenon.dtype import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenon.buffer import Buffer


class Arithmetic:
    """The operators of a buffer. They compute in the order of the current stream of the device.

    `==` and `!=` compare identity: `tenon.ops.equal` compares elements. `+=` and the like write to the buffer on the
    left.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Buffer:
        return _computed("add", "+", self, other)

    def __radd__(self, other: Any) -> Buffer:
        return _computed("add", "+", other, self)

    def __iadd__(self, other: Any) -> Buffer:
        return _computed("add", "+", self, other, self)

    def __sub__(self, other: Any) -> Buffer:
        return _computed("subtract", "-", self, other)

    def __rsub__(self, other: Any) -> Buffer:
        return _computed("subtract", "-", other, self)

    def __isub__(self, other: Any) -> Buffer:
        return _computed("subtract", "-", self, other, self)

    def __mul__(self, other: Any) -> Buffer:
        return _computed("multiply", "*", self, other)

    def __rmul__(self, other: Any) -> Buffer:
        return _computed("multiply", "*", other, self)

    def __imul__(self, other: Any) -> Buffer:
        return _computed("multiply", "*", self, other, self)

    def __truediv__(self, other: Any) -> Buffer:
        return _computed("divide", "/", self, other)

    def __rtruediv__(self, other: Any) -> Buffer:
        return _computed("divide", "/", other, self)

    def __itruediv__(self, other: Any) -> Buffer:
        return _computed("divide", "/", self, other, self)

    def __floordiv__(self, other: Any) -> Buffer:
        return _computed("floor_divide", "//", self, other)

    def __rfloordiv__(self, other: Any) -> Buffer:
        return _computed("floor_divide", "//", other, self)

    def __ifloordiv__(self, other: Any) -> Buffer:
        return _computed("floor_divide", "//", self, other, self)

    def __mod__(self, other: Any) -> Buffer:
        return _computed("remainder", "%", self, other)

    def __rmod__(self, other: Any) -> Buffer:
        return _computed("remainder", "%", other, self)

    def __imod__(self, other: Any) -> Buffer:
        return _computed("remainder", "%", self, other, self)

    def __pow__(self, other: Any) -> Buffer:
        return _computed("elementwise_pow", "**", self, other)

    def __rpow__(self, other: Any) -> Buffer:
        return _computed("elementwise_pow", "**", other, self)

    def __ipow__(self, other: Any) -> Buffer:
        return _computed("elementwise_pow", "**", self, other, self)

    def __and__(self, other: Any) -> Buffer:
        return _computed("bitwise_and", "&", self, other)

    def __rand__(self, other: Any) -> Buffer:
        return _computed("bitwise_and", "&", other, self)

    def __iand__(self, other: Any) -> Buffer:
        return _computed("bitwise_and", "&", self, other, self)

    def __or__(self, other: Any) -> Buffer:
        return _computed("bitwise_or", "|", self, other)

    def __ror__(self, other: Any) -> Buffer:
        return _computed("bitwise_or", "|", other, self)

    def __ior__(self, other: Any) -> Buffer:
        return _computed("bitwise_or", "|", self, other, self)

    def __xor__(self, other: Any) -> Buffer:
        return _computed("bitwise_xor", "^", self, other)

    def __rxor__(self, other: Any) -> Buffer:
        return _computed("bitwise_xor", "^", other, self)

    def __ixor__(self, other: Any) -> Buffer:
        return _computed("bitwise_xor", "^", self, other, self)

    def __lshift__(self, other: Any) -> Buffer:
        return _computed("bitwise_left_shift", "<<", self, other)

    def __rlshift__(self, other: Any) -> Buffer:
        return _computed("bitwise_left_shift", "<<", other, self)

    def __ilshift__(self, other: Any) -> Buffer:
        return _computed("bitwise_left_shift", "<<", self, other, self)

    def __rshift__(self, other: Any) -> Buffer:
        return _computed("bitwise_right_shift", ">>", self, other)

    def __rrshift__(self, other: Any) -> Buffer:
        return _computed("bitwise_right_shift", ">>", other, self)

    def __irshift__(self, other: Any) -> Buffer:
        return _computed("bitwise_right_shift", ">>", self, other, self)

    def __matmul__(self, other: Any) -> Buffer:
        return _computed("matmul", "@", self, other)

    def __rmatmul__(self, other: Any) -> Buffer:
        return _computed("matmul", "@", other, self)

    def __lt__(self, other: Any) -> Buffer:
        return _computed("less_than", "<", self, other)

    def __le__(self, other: Any) -> Buffer:
        return _computed("less_equal", "<=", self, other)

    def __gt__(self, other: Any) -> Buffer:
        return _computed("greater_than", ">", self, other)

    def __ge__(self, other: Any) -> Buffer:
        return _computed("greater_equal", ">=", self, other)

    def __neg__(self) -> Buffer:
        return _function("negative")(self)

    def __abs__(self) -> Buffer:
        return _function("abs")(self)

    def __invert__(self) -> Buffer:
        return _function("bitwise_not")(self)

    def __pos__(self) -> Buffer:
        return _function("copy")(self)


def hint(name: str) -> str | None:
    """Returns what to call instead of a method of this name; None if no operator has the name."""
    from tenon import ops

    return f"tenon.ops.{name}() computes it" if name in ops.__all__ else None


def _function(name: str) -> Callable[..., Buffer]:
    # Imported here because `tenon.ops` needs the class of buffers.
    from tenon import ops

    return cast("Callable[..., Buffer]", getattr(ops, name))


def _computed(name: str, symbol: str, left: Any, right: Any, out: Any = None) -> Buffer:
    """Calls a function of `tenon.ops`. An object that is neither a number nor an array may define the operator."""
    for operand in (left, right):
        if isinstance(operand, Arithmetic) or (is_number(operand) and name != "matmul"):
            continue
        if hasattr(type(operand), "__array__"):
            kind = type(operand).__name__
            raise TypeError(f"`{symbol}` takes buffers and numbers: copy the {kind} to the device with tenon.asarray()")
        return cast("Buffer", NotImplemented)
    if name == "matmul" and left.dtype is not right.dtype:
        # The operator gives the result the type of the left operand.
        raise TypeError(
            f"`{symbol}`: the operands have elements of types {left.dtype} and {right.dtype}; "
            "convert one of them with tenon.ops.cast"
        )
    return _function(name)(left, right, out=out)
