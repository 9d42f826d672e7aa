"""Element types: names, and conversion to bytes."""

from __future__ import annotations

import math
import pickle
import struct
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenon
from support import Program, silent
from tenon._native.types import DataType

ALL = sys.modules["tenon.dtype"].DTYPES
WITH_NUMPY = [dtype for dtype in ALL if dtype.typestr is not None]


def test_each_type_of_the_library_has_a_dtype() -> None:
    assert {dtype.native for dtype in ALL} == set(DataType) - {DataType.UNDEFINED}
    for dtype in ALL:
        assert tenon.dtype(dtype.name) is dtype
        assert tenon.dtype(dtype.native) is dtype
        assert tenon.dtype(dtype) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert eval(repr(dtype), {"tenon": tenon}) is dtype


@pytest.mark.parametrize("dtype", WITH_NUMPY, ids=str)
def test_names_and_sizes_match_numpy(dtype: tenon.DType) -> None:
    theirs = np.dtype(dtype.name)
    assert (theirs.itemsize, theirs.str) == (dtype.itemsize, dtype.typestr)
    assert tenon.dtype(theirs) is dtype
    assert tenon.dtype(theirs.type) is dtype
    assert tenon.dtype(theirs.str) is dtype


@pytest.mark.parametrize("dtype", WITH_NUMPY, ids=str)
def test_dtypes_of_the_same_meaning_are_equal(dtype: tenon.DType) -> None:
    theirs = np.dtype(dtype.name)
    for same in (dtype, dtype.name, theirs, theirs.type):
        assert dtype == same and same == dtype
        assert not dtype != same and not same != dtype
    for other in ALL:
        assert (dtype == other) is (dtype == other.name) is (dtype.name == other) is (dtype is other)
    for other in WITH_NUMPY:
        assert (dtype == np.dtype(other.name)) is (np.dtype(other.name) == dtype) is (dtype is other)
    different: Any
    for different in (None, dtype.native, float, object, np.dtype([("a", theirs)]), np.ndarray, "", b"float32"):
        assert dtype != different
    if dtype.itemsize > 1:
        assert dtype != theirs.newbyteorder()
    assert {dtype: 1, dtype.name: 2} == {dtype: 2}


def test_numpy_accepts_a_dtype() -> None:
    for dtype in WITH_NUMPY:
        assert np.empty(3, dtype).dtype == np.dtype(dtype).name == dtype.name
    with_bfloat16 = np.zeros(3, tenon.dtype("bfloat16"))
    assert tenon.Buffer.from_array(with_bfloat16).dtype == "bfloat16"


def test_dtype_without_a_numpy_type_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    bfloat16 = tenon.dtype("bfloat16")
    with pytest.raises(AttributeError, match="pip install ml_dtypes"):
        _ = bfloat16.dtype
    with pytest.raises(TypeError):
        np.dtype(bfloat16)
    assert bfloat16 != np.dtype("float32") and np.dtype("float32") != bfloat16


@pytest.mark.parametrize(
    ("python", "name"), [(bool, "bool"), (int, "int64"), (float, "float64"), (complex, "complex128")]
)
def test_python_types_map_as_in_numpy(python: type, name: str) -> None:
    assert tenon.dtype(python).name == name
    assert np.dtype(python).name == name


@pytest.mark.parametrize(
    "wrong",
    [
        "float31",
        "str",
        ">f4",
        "f3",
        "2f4",
        "double",
        object,
        str,
        np.dtype([("a", "f4")]),
        np.dtype("f4").newbyteorder(),
        np.dtype("M8[s]"),
        11,
        None,
        ["f4"],
    ],
    ids=repr,
)
def test_object_that_is_not_a_type_is_an_error(wrong: object) -> None:
    with pytest.raises(TypeError, match="must be one of bool, uint8"):
        tenon.dtype(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", WITH_NUMPY, ids=str)
@given(st.data())
def test_pack_matches_numpy(dtype: tenon.DType, data: st.DataObject) -> None:
    size = np.dtype(dtype.name)
    bits: Any = dtype.itemsize * 8
    values: list[Any]
    if dtype.code == 6:
        values = data.draw(st.lists(st.booleans()))
    elif dtype.code in (0, 1):
        info = np.iinfo(size)
        values = data.draw(st.lists(st.integers(int(info.min), int(info.max))))
    elif dtype.code == 5:
        values = data.draw(st.lists(st.complex_numbers(width=bits, allow_nan=False)))
    else:
        values = data.draw(st.lists(st.floats(width=bits, allow_nan=False)))
    packed = dtype.pack(values)
    assert packed == np.array(values, size).tobytes()
    assert dtype.unpack(packed) == np.array(values, size).tolist()


@given(st.floats(width=32))
def test_bfloat16_rounds_to_nearest(value: float) -> None:
    bfloat16 = tenon.dtype("bfloat16")
    (bits,) = struct.unpack("=H", bfloat16.pack([value]))
    (back,) = bfloat16.unpack(bfloat16.pack([value]))
    assert isinstance(back, float)
    if math.isnan(value):
        assert math.isnan(back)
        return
    assert math.copysign(1, back) == math.copysign(1, value)
    if math.isinf(value):
        assert back == value
        return
    # The neighbours are not nearer, and of two equally near numbers the even one is the result.
    for neighbour in (bits - 1, bits + 1):
        if neighbour & 0x7FFF > 0x7F80 or bits & 0x7FFF == 0 and neighbour < bits:
            continue
        (other,) = bfloat16.unpack(struct.pack("=H", neighbour))
        assert isinstance(other, float)
        if not (math.isinf(back) or math.isinf(other)):
            assert abs(back - value) <= abs(other - value)
            assert abs(back - value) != abs(other - value) or bits % 2 == 0


@pytest.mark.parametrize(
    ("wide", "narrow"), [(0x3F808000, 0x3F80), (0x3F818000, 0x3F82), (0x3F808001, 0x3F81), (0xBF818000, 0xBF82)]
)
def test_bfloat16_rounds_half_to_even(wide: int, narrow: int) -> None:
    (value,) = struct.unpack("=f", struct.pack("=I", wide))
    assert struct.unpack("=H", tenon.dtype("bfloat16").pack([value])) == (narrow,)


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("value", ["1", b"1", None, [], {}, object()], ids=repr)
def test_object_that_is_not_a_number_is_not_an_element(dtype: tenon.DType, value: Any) -> None:
    with pytest.raises(TypeError, match=f"is not a valid {dtype}"):
        dtype.pack([value])


@pytest.mark.parametrize("value", [np.int8(1), np.uint64(1), True, 1])
def test_numbers_of_numpy_are_elements(value: Any) -> None:
    for dtype in ALL:
        assert dtype.unpack(dtype.pack([value])) == [1]
    truths: list[Any] = [np.True_, np.int8(0)]
    assert tenon.dtype("bool").pack(truths) == b"\1\0"


def test_number_out_of_range_is_an_error() -> None:
    for name in ("float32", "float64", "bfloat16", "complex128"):
        with pytest.raises(ValueError, match=f"range of {name}$"):
            tenon.dtype(name).pack([2**2000])
    with pytest.raises(ValueError, match="range of uint8"):
        tenon.dtype("uint8").pack([256])
    with pytest.raises(TypeError, match=r"1\.5 is not a valid int32"):
        tenon.dtype("int32").pack([1.5])
    with pytest.raises(ValueError, match="range of float16"):
        tenon.dtype("float16").pack([1e6])


def test_package_works_without_numpy(program: Program) -> None:
    done = program("""
        import sys
        sys.modules["numpy"] = None
        import tenon
        buffer = tenon.Buffer.from_array([[1, 2], [3, 4]], dtype="bfloat16")
        buffer[0] = 7
        print(buffer.T.tolist(), buffer.view("uint8").memoryview().shape)
        print(tenon.dtype("f4"), tenon.dtype("=i2"), tenon.dtype("|u1"), tenon.dtype("<c8"), tenon.dtype("b1"))
        try:
            buffer.numpy()
        except ImportError as error:
            print("pip install" in str(error))
        try:
            tenon.zeros(3).numpy()
        except ImportError as error:
            print(error)
    """)
    assert silent(
        done,
        "[[7.0, 3.0], [7.0, 4.0]] (2, 4)\nfloat32 int16 uint8 complex64 bool\nTrue\n"
        "this function needs NumPy, which is not installed: pip install numpy",
    )


def test_numpy_is_imported_on_demand(program: Program) -> None:
    done = program("""
        import sys
        import tenon
        print(tenon.zeros(3).tolist(), "numpy" in sys.modules)
    """)
    assert silent(done, "[0.0, 0.0, 0.0] False")
