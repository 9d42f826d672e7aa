"""Complex numbers and their parts, against NumPy."""

import numpy as np
import pytest

from arrays import close, random
from host import DiopiError, Library, Out, like

TYPES = [("complex64", "float32"), ("complex128", "float64")]
SHAPES: list[tuple[int, ...]] = [(3, 4), (), (0,), (2, 0, 3)]


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "part"), TYPES)
def test_complex_and_polar(
    lib: Library, dtype: str, part: str, shape: tuple[int, ...], gaps: bool
) -> None:
    real, imaginary = random(shape, part, gaps=gaps), random(shape, part, 5, gaps=gaps)
    out = lib.call("diopiComplex", Out(shape, dtype), real, imaginary)
    close(out, real + 1j * imaginary.astype(dtype))
    out = lib.call("diopiPolar", Out(shape, dtype), abs(real), imaginary)
    close(out, abs(real) * np.exp(1j * imaginary.astype("complex128")))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "part"), TYPES)
def test_parts_and_conjugates(
    lib: Library, dtype: str, part: str, shape: tuple[int, ...], gaps: bool
) -> None:
    array = random(shape, dtype, gaps=gaps)
    np.testing.assert_array_equal(lib.call("diopiReal", Out(shape, part), array), array.real)
    np.testing.assert_array_equal(lib.call("diopiImag", Out(shape, part), array), array.imag)
    np.testing.assert_array_equal(lib.call("diopiConj", like(array), array), array.conj())


def test_conjugate_may_be_the_input(lib: Library) -> None:
    array = random((3, 4), "complex64")
    expected = array.conj()
    lib.call("diopiConj", array, array)
    np.testing.assert_array_equal(array, expected)


def test_real_numbers_have_no_imaginary_part(lib: Library) -> None:
    array = random((3,), "float32")
    np.testing.assert_array_equal(lib.call("diopiReal", like(array), array), array)
    np.testing.assert_array_equal(lib.call("diopiConj", like(array), array), array)
    with pytest.raises(DiopiError, match="complex numbers are expected"):
        lib.call("diopiImag", like(array), array)
    with pytest.raises(DiopiError, match="complex numbers are expected"):
        lib.call("diopiComplex", like(array), array, array)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("dtype", "part"), TYPES)
def test_directions(
    lib: Library, dtype: str, part: str, shape: tuple[int, ...], gaps: bool
) -> None:
    array = random(shape, dtype, gaps=gaps)
    if array.size:
        array.flat[0] = 0
    magnitudes = np.where(array == 0, 1, np.abs(array))
    close(lib.call("diopiSgn", like(array), array), array / magnitudes)
    same = array.copy()
    lib.call("diopiSgnInp", same)
    close(same, array / magnitudes)


def test_directions_of_large_numbers(lib: Library) -> None:
    array = np.array([3e30 + 4e30j, -3e-30 + 4e-30j], "complex64")
    close(lib.call("diopiSgn", like(array), array), [0.6 + 0.8j, -0.6 + 0.8j])
