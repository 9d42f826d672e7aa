"""Element types by their usual names: `float32`, `bfloat16`, `int64`.

This module does not need NumPy. If NumPy is imported, its types are accepted.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, Any, NoReturn, cast

from tenon._native.types import DataType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Union

    import numpy

    Number = Union[bool, int, float, complex]
    DTypeLike = Union[str, type, "DType", DataType, "numpy.dtype[Any]"]

_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
"""DLPack type codes."""


class DType:
    """An element type. There is one object per type, so types can be compared with `is`.

    `==` also accepts names and NumPy types: `x.dtype == "float32"`, `x.dtype == np.float32`. The hash is that of the
    name, so a lookup in a dictionary or set works with the name, but not with a NumPy type.

    Attributes:
        name: The name, such as `float32`.
        itemsize: The size of an element in bytes.
        native: The number of the type in the library.
        code: The DLPack type code: 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool.
        format: The format character of the buffer protocol. None for `bfloat16`, which has none.
        typestr: The type string of `__array_interface__`. None for `bfloat16`.
    """

    __slots__ = ("code", "format", "itemsize", "name", "native", "typestr")

    def __init__(self, name: str, itemsize: int, code: int, format: str | None) -> None:
        self.name = name
        self.itemsize = itemsize
        self.native = DataType[name.upper()]
        self.code = code
        self.format = format
        order = "|" if itemsize == 1 else _ORDER
        self.typestr: str | None = None if format is None else f"{order}{_KINDS[code]}{itemsize}"

    def pack(self, values: Sequence[Number]) -> bytes:
        """Converts numbers to the bytes of elements.

        Raises:
            TypeError: A value has the wrong kind, such as a float for an integer type.
            ValueError: A value is out of range.
        """
        if self.code in (_BOOL, _COMPLEX):
            # The conversions below would accept any object as a bool, and strings as complex numbers.
            for value in values:
                if not is_number(value):
                    raise TypeError(f"{value!r} is not a valid {self.name}")
        try:
            if self.code == _COMPLEX:
                numbers = [part for value in map(complex, values) for part in (value.real, value.imag)]
                return struct.pack(f"={len(numbers)}{'f' if self.itemsize == 8 else 'd'}", *numbers)
            if self.code == _BFLOAT:
                return _pack_bfloat16(cast("Sequence[float]", values))
            return struct.pack(f"={len(values)}{self.format}", *values)
        except struct.error as error:
            _cannot_pack(self, values, error)
        except OverflowError:
            raise ValueError(f"a value is out of the range of {self.name}") from None

    def unpack(self, data: bytes | bytearray | memoryview) -> list[Number]:
        """Converts the bytes of elements to numbers; the inverse of `pack`."""
        count = len(data) // self.itemsize
        if self.code == _COMPLEX:
            parts = struct.unpack(f"={2 * count}{'f' if self.itemsize == 8 else 'd'}", data)
            return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2])]
        if self.code == _BFLOAT:
            upper = struct.unpack(f"={count}H", data)
            widened = struct.pack(f"={count}I", *(bits << 16 for bits in upper))
            return list(struct.unpack(f"={count}f", widened))
        return list(struct.unpack(f"={count}{self.format}", data))

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The NumPy type. NumPy reads this attribute if it receives a `DType`, as in `np.empty(3, x.dtype)`.

        Raises:
            AttributeError: NumPy is not installed, or ml_dtypes is not installed and the type is `bfloat16`.
        """
        try:
            return to_numpy(self)
        except ImportError as error:
            raise AttributeError(str(error)) from None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        if isinstance(other, str):
            return self.name == other
        numpy = sys.modules.get("numpy")
        if numpy is not None and (
            isinstance(other, numpy.dtype) or (isinstance(other, type) and issubclass(other, numpy.generic))
        ):
            return _of_numpy(other) is self
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"tenon.dtype({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling returns the object of the type in that process.
        return dtype, (self.name,)


_ORDER = "<" if sys.byteorder == "little" else ">"
_KINDS = {_BOOL: "b", _UINT: "u", _INT: "i", _FLOAT: "f", _COMPLEX: "c"}

bool_ = DType("bool", 1, _BOOL, "?")
uint8 = DType("uint8", 1, _UINT, "B")
uint16 = DType("uint16", 2, _UINT, "H")
uint32 = DType("uint32", 4, _UINT, "I")
uint64 = DType("uint64", 8, _UINT, "Q")
int8 = DType("int8", 1, _INT, "b")
int16 = DType("int16", 2, _INT, "h")
int32 = DType("int32", 4, _INT, "i")
int64 = DType("int64", 8, _INT, "q")
float16 = DType("float16", 2, _FLOAT, "e")
float32 = DType("float32", 4, _FLOAT, "f")
float64 = DType("float64", 8, _FLOAT, "d")
bfloat16 = DType("bfloat16", 2, _BFLOAT, None)
complex64 = DType("complex64", 8, _COMPLEX, "Zf")
complex128 = DType("complex128", 16, _COMPLEX, "Zd")

DTYPES: tuple[DType, ...] = (
    bool_,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    bfloat16,
    complex64,
    complex128,
)
"""All element types, in the order of their numbers in the library."""

_BY_NAME: dict[object, DType] = {dtype.name: dtype for dtype in DTYPES}
_BY_NAME.update((dtype.native, dtype) for dtype in DTYPES)
# Type strings of `__array_interface__` and their short forms. NumPy may not be installed, so they are listed here.
_BY_NAME.update(
    (order + dtype.typestr[1:], dtype)
    for dtype in DTYPES
    if dtype.typestr is not None
    for order in ("", "=", dtype.typestr[0], _ORDER)
)
_BY_NAME.update({bool: bool_, int: int64, float: float64, complex: complex128})
_BY_NAME.update({"int": int64, "float": float64, "complex": complex128})
_NAMES = (str, type, DataType)
"""Classes of keys in `_BY_NAME`. A plain int is not a key, although it may equal the number of a type."""
_BY_DLPACK = {(dtype.code, dtype.itemsize * 8): dtype for dtype in DTYPES}
_BY_TYPESTR = {dtype.typestr: dtype for dtype in DTYPES if dtype.typestr is not None}
_BY_NUMPY: dict[object, DType] = {}
"""Cache of NumPy types. It is separate from `_BY_NAME` because some NumPy types compare equal to a name."""


def dtype(of: DTypeLike) -> DType:
    """Returns an element type.

    Args:
        of: An element type; a name such as `float32` or `f4`; a `DataType` number of the library; a NumPy type; or
            `bool`, `int`, `float` or `complex`, as names or types, which mean `bool`, `int64`, `float64` and
            `complex128` as in NumPy.

    Raises:
        TypeError: The type is not supported, has fields, or does not have the byte order of the machine.
    """
    if isinstance(of, DType):
        return of
    if of.__class__ in _NAMES:
        known = _BY_NAME.get(of)
        if known is not None:
            return known
    known = _of_numpy(of)
    if known is not None:
        return known
    names = ", ".join(dtype.name for dtype in DTYPES)
    raise TypeError(f"{of!r} is not a supported element type; it must be one of {names}")


def of_dlpack(code: int, bits: int, lanes: int) -> DType:
    """Returns the type for a DLPack data type.

    Raises:
        BufferError: The type is not supported.
    """
    known = _BY_DLPACK.get((code, bits)) if lanes == 1 else None
    if known is None:
        raise BufferError(f"the DLPack type with code {code}, {bits} bits and {lanes} lanes is not supported")
    return known


def of_typestr(typestr: str) -> DType | None:
    """Returns the type for a type string of `__array_interface__`; None if it is not supported."""
    return _BY_TYPESTR.get(typestr)


def of_format(format: str, itemsize: int) -> DType | None:
    """Returns the type for a format of the buffer protocol; None if the format or its byte order is not supported."""
    return _BY_FORMAT.get((format, itemsize))


_FORMATS = {"?": _BOOL, "c": _UINT, "e": _FLOAT, "f": _FLOAT, "d": _FLOAT, "Zf": _COMPLEX, "Zd": _COMPLEX}
# The size of `l` depends on the byte-order prefix, so the key below contains the size too.
_FORMATS.update({letter: _INT for letter in "bhilqn"})
_FORMATS.update({letter: _UINT for letter in "BHILQN"})
_BY_FORMAT = {
    (order + letter, dtype.itemsize): dtype
    for dtype in DTYPES
    for letter, code in _FORMATS.items()
    if code == dtype.code
    for order in ("", "@", "=", _ORDER)
}


def is_number(value: object) -> bool:
    """Returns True for a Python or NumPy number; False for arrays and strings."""
    if isinstance(value, (bool, int, float, complex)):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.number, numpy.bool_))


def of_values(values: Sequence[Number]) -> DType:
    """Returns the type that NumPy would choose for these numbers."""
    # The narrowest kind comes first, because a bool is an int too.
    for kinds in ((bool,), (int,), (int, float)):
        if all(isinstance(value, kinds) for value in values):
            return _BY_NAME[kinds[-1]]
    return complex128


def _of_numpy(of: object) -> DType | None:
    # A NumPy type exists only if NumPy is imported.
    numpy = sys.modules.get("numpy")
    if numpy is None or not (isinstance(of, type) or hasattr(of, "newbyteorder")):
        return None
    try:
        found = numpy.dtype(of)
    except TypeError:
        return None
    known = _BY_NUMPY.get(found)
    # A type with fields may have the name of a plain type. NumPy converts arbitrary classes to `object`.
    if known is None and found.isnative and found.fields is None and found.kind != "O":
        known = _BY_NAME.get(found.name)
        if known is not None and known.itemsize == found.itemsize:
            _BY_NUMPY[found] = known
    return known


def to_numpy(of: DType) -> numpy.dtype[Any]:
    """Returns the NumPy type. Imports NumPy.

    Raises:
        ImportError: NumPy is not installed, or ml_dtypes is not installed and the type is `bfloat16`.
    """
    if of is bfloat16:
        try:
            import ml_dtypes  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ImportError(
                "NumPy has no bfloat16 type; the package ml_dtypes adds it: pip install ml_dtypes. "
                "To access the bits instead, use .view('uint16')"
            ) from None
        found: numpy.dtype[Any] = import_numpy().dtype(ml_dtypes.bfloat16)
    else:
        found = import_numpy().dtype(of.typestr)
    return found


def import_numpy() -> Any:
    """Imports NumPy.

    Raises:
        ImportError: NumPy is not installed. The message says how to install it.
    """
    try:
        import numpy
    except ImportError:
        raise ImportError("this function needs NumPy, which is not installed: pip install numpy") from None
    return numpy


def _pack_bfloat16(values: Sequence[float]) -> bytes:
    wide = struct.unpack(f"={len(values)}I", struct.pack(f"={len(values)}f", *values))
    return struct.pack(f"={len(values)}H", *map(_upper, wide))


def _upper(bits: int) -> int:
    """Returns the upper half of a `float32`, rounded to nearest, ties to even."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        # A NaN must not become infinity when its lower bits are cut off.
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _cannot_pack(dtype: DType, values: Sequence[Number], error: struct.error) -> NoReturn:
    for value in values:
        if not isinstance(value, (int, float)) or (dtype.code in (_INT, _UINT) and isinstance(value, float)):
            raise TypeError(f"{value!r} is not a valid {dtype.name}") from None
    # For float types the message of `struct` is misleading.
    why = f": {error}" if dtype.code in (_INT, _UINT) else ""
    raise ValueError(f"a value is out of the range of {dtype.name}{why}") from None
