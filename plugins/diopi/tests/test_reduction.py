"""Reductions and running sums, against NumPy."""

from typing import Any

import numpy as np
import pytest

from arrays import ALL, COMPLEX, FLOATS, REAL, close, random
from host import DiopiError, Library, Number, Out, like
from tensors import Array

DIMS: list[Any] = [(), (0,), (-1,), (0, 2), (2, -3, 1)]
SHAPE = (3, 4, 2)


def result(array: Array, dtype: Any, dims: Any, keep: bool) -> Out:
    """Returns a tensor for the result of a reduction."""
    return Out(np.sum(np.ones(array.shape), dims or None, keepdims=keep).shape, dtype)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("dtype", ALL)
def test_sum(lib: Library, dtype: Any, dims: Any, keep: bool, gaps: bool) -> None:
    array = random(SHAPE, dtype, gaps=gaps)
    of = "int64" if np.dtype(dtype).kind in "iub" else dtype
    wide = array.astype(np.result_type(array.dtype, "float64") if of != "int64" else "int64")
    out = lib.call("diopiSum", result(array, of, dims, keep), array, dims)
    close(out, np.sum(wide, dims or None, keepdims=keep))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("dtype", [*FLOATS, *COMPLEX])
def test_mean(lib: Library, dtype: Any, dims: Any, keep: bool) -> None:
    array = random(SHAPE, dtype, gaps=True)
    out = lib.call("diopiMean", result(array, dtype, dims, keep), array, dims)
    close(
        out,
        np.mean(array.astype(np.result_type(array.dtype, "float64")), dims or None, keepdims=keep),
    )


def test_sum_converts_first(lib: Library) -> None:
    array = np.array([1.75, 2.75], "float32")
    assert lib.call("diopiSum", Out((), "int64"), array, ()) == 3
    assert lib.call("diopiSum", Out((), "float64"), array.astype("int8"), ()) == 3
    half = np.full(70000, 1, "float16")
    assert lib.call("diopiSum", Out((), "float32"), half, ()) == 70000
    assert lib.call("diopiMean", Out((), "float32"), array.astype("int64"), ()) == 1.5


def test_reductions_of_no_elements(lib: Library) -> None:
    empty = np.zeros((2, 0), "float32")
    assert lib.call("diopiSum", Out((2,), "float32"), empty, (1,)).tolist() == [0, 0]
    assert lib.call("diopiProd", Out((2,), "float32"), empty, 1).tolist() == [1, 1]
    assert np.isnan(lib.call("diopiMean", Out((2,), "float32"), empty, (1,))).all()
    assert lib.call("diopiAny", Out((2,), "bool"), empty, 1).tolist() == [False, False]
    assert lib.call("diopiAll", Out((2,), "bool"), empty, 1).tolist() == [True, True]
    assert lib.call("diopiSum", Out((0,), "float32"), empty, (0,)).shape == (0,)
    assert lib.call("diopiNorm", Out((2,), "float32"), empty, 2, (1,)).tolist() == [0, 0]
    for name in ("diopiMaxAll", "diopiMinAll"):
        with pytest.raises(DiopiError):
            lib.call(name, Out((), "float32"), empty)
    with pytest.raises(DiopiError):
        lib.call("diopiArgmax", Out((2,), "int64"), empty, 1, False)
    with pytest.raises(DiopiError, match="no elements"):
        lib.call("diopiNorm", Out((2,), "float32"), empty, float("inf"), (1,))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_has_any_shape(lib: Library, shape: tuple[int, ...]) -> None:
    array = random((2, 3), "float32")
    close(lib.call("diopiSum", Out(shape, "float32"), array, ()), np.full(shape, array.sum()))
    three = np.float32(3)
    for name, extra in [
        ("diopiSum", ((),)),
        ("diopiMean", ((0,),)),
        ("diopiProd", (0,)),
        ("diopiMaxAll", ()),
    ]:
        assert (
            lib.call(name, Out(shape, "float32"), three, *extra).tolist()
            == np.full(shape, 3).tolist()
        )


def test_wrong_dimensions_and_shapes_fail(lib: Library) -> None:
    array = random((2, 3), "float32")
    for out, dims in [((3,), (2,)), ((2,), (0,)), ((3,), (0, 0)), ((), (1,))]:
        with pytest.raises(DiopiError):
            lib.call("diopiSum", Out(out, "float32"), array, dims)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("correction", [None, 0, 1, 2.5])
def test_std(lib: Library, dtype: Any, dims: Any, correction: Any) -> None:
    array = random((3, 4, 5), dtype, gaps=True)
    out = lib.call("diopiStd", result(array, dtype, dims, True), array, dims, correction)
    ddof = 1 if correction is None else correction
    close(out, np.std(array.astype("float64"), dims or None, ddof=ddof, keepdims=True))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_std_of_few_elements(lib: Library) -> None:
    one = np.ones((1, 2), "float32")
    assert np.isnan(lib.call("diopiStd", Out((2,), "float32"), one, (0,), 1)).all()
    assert lib.call("diopiStd", Out((2,), "float32"), one, (0,), 0).tolist() == [0, 0]


@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("dtype", REAL)
def test_prod(lib: Library, dtype: Any, dim: Any) -> None:
    array = random((3, 2), dtype)
    of = "int64" if np.dtype(dtype).kind in "iub" else dtype
    expected = np.prod(array.astype("int64" if of == "int64" else "float64"), dim)
    close(lib.call("diopiProd", Out(expected.shape, of), array, dim), expected)


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", REAL)
def test_min_and_max(lib: Library, dtype: Any, dim: int, keep: bool) -> None:
    array = random(SHAPE, dtype, gaps=True)
    for name, find, extremum in [("Max", np.argmax, np.max), ("Min", np.argmin, np.min)]:
        indices = find(array, dim, keepdims=keep)
        for of in ("int64", "int32"):
            outs = Out(indices.shape, dtype), Out(indices.shape, of)
            values, places = lib.call(f"diopi{name}", *outs, array, dim)
            close(values, extremum(array, dim, keepdims=keep))
            np.testing.assert_array_equal(places, indices)
        out = lib.call(f"diopiArg{name.lower()}", Out(indices.shape, "int64"), array, dim, keep)
        np.testing.assert_array_equal(out, indices)
        close(lib.call(f"diopi{name}All", Out((), dtype), array), extremum(array))
        of_all = lib.call(f"diopiArg{name.lower()}", Out((), "int64"), array, None, False)
        assert of_all == find(array)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_is_the_greatest_and_the_least(lib: Library, dtype: str) -> None:
    array = np.array([[1, np.nan, np.inf, np.nan], [2, -np.inf, 2, 0]], dtype)
    outs = Out((2,), dtype), Out((2,), "int64")
    for name, second in [("Max", (2, 0)), ("Min", (-np.inf, 1))]:
        values, places = lib.call(f"diopi{name}", *outs, array, 1)
        np.testing.assert_array_equal(values, np.array([np.nan, second[0]], dtype))
        assert places.tolist() == [1, second[1]]
        assert np.isnan(lib.call(f"diopi{name}All", Out((), dtype), array))
        assert lib.call(f"diopiArg{name.lower()}", Out((), "int64"), array, None, False) == 1


def test_extrema_of_a_single_number(lib: Library) -> None:
    values, places = lib.call("diopiMax", Out((), "float32"), Out((), "int64"), np.float32(3), -1)
    assert (values, places) == (3, 0)
    assert lib.call("diopiArgmin", Out((), "int64"), np.float32(3), 0, False) == 0


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("dtype", REAL)
def test_amax(lib: Library, dtype: Any, dims: Any, keep: bool) -> None:
    array = random(SHAPE, dtype)
    out = lib.call("diopiAmax", result(array, dtype, dims, keep), array, dims, keep)
    close(out, np.max(array, dims or None, keepdims=keep))


@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("dtype", REAL)
def test_any_and_all(lib: Library, dtype: Any, dim: Any) -> None:
    array = random((4, 6), dtype, gaps=True)
    array[1], array[:, 2] = 0, 1
    for name, test in [("diopiAny", np.any), ("diopiAll", np.all)]:
        expected = test(array != 0, dim)
        np.testing.assert_array_equal(
            lib.call(name, Out(expected.shape, "bool"), array, dim), expected
        )


def norm(array: Array, order: float, dims: Any, keep: bool = True) -> Array:
    """Computes a norm over several dimensions."""
    sizes = abs(array.astype("float64"))
    axis = dims or None
    if order == 0:
        return np.asarray(np.sum(sizes != 0, axis, keepdims=keep, dtype="float64"))
    if np.isinf(order):
        return np.asarray((np.max if order > 0 else np.min)(sizes, axis, keepdims=keep))
    return np.asarray(np.sum(sizes**order, axis, keepdims=keep) ** (1 / order))


ORDERS = [0, 1, 2, 3.5, float("inf"), -float("inf")]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_norms(lib: Library, dtype: Any, dims: Any, order: float) -> None:
    array = random(SHAPE, dtype, gaps=True)
    out = result(array, dtype, dims, False)
    expected = norm(array, order, dims, False)
    close(lib.call("diopiNorm", out, array, order, dims), expected)
    close(
        lib.call("diopiLinalgVecNorm", out, array, Number(order, "float64"), dims, False), expected
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("keep", [False, True])
def test_norm_backward(lib: Library, dims: Any, order: float, keep: bool) -> None:
    array = random(SHAPE, "float64")
    array[0, 0, 0] = 0
    # For an infinite order several elements share the gradient.
    array[1:] = -array[0]
    value = norm(array, order, dims, keep)
    dout = np.asarray(random(value.shape, "float64", 5) + 0.3)
    grad = lib.call("diopiNormBackward", like(array), dout, array, value, dims, order)
    expected: Array
    if order == 0:
        expected = np.zeros(SHAPE)
    elif np.isinf(order):
        wide = norm(array, order, dims)
        is_it = abs(array) == wide
        share = dout.reshape(wide.shape) / np.sum(is_it, dims or None, keepdims=True)
        expected = np.where(is_it, np.sign(array) * share, 0)
    else:
        expected = np.zeros(SHAPE)
        for place in np.ndindex(SHAPE):
            if array[place] == 0:
                continue
            moved = []
            for step in (1e-6, -1e-6):
                near = array.copy()
                near[place] += step
                moved.append(norm(near, order, dims, keep))
            expected[place] = np.sum(dout * (moved[0] - moved[1]) / 2e-6)
    np.testing.assert_allclose(grad, expected, rtol=1e-5, atol=1e-6)


def test_norm_of_a_list(lib: Library) -> None:
    arrays = [random(shape, "float32", n) for n, shape in enumerate([(3,), (2, 4), (), (0,)])]
    outs = lib.call("diopiForeachnormScalar", [Out((), "float32")] * 4, arrays, 4, 2)
    for out, array in zip(outs, arrays, strict=True):
        close(out, np.sqrt(np.sum(array.astype("float64") ** 2)))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", REAL)
def test_cumsum(lib: Library, dtype: Any, dim: int) -> None:
    array = random(SHAPE, dtype, gaps=True)
    of = "int64" if np.dtype(dtype).kind in "iub" else dtype
    expected = np.cumsum(array.astype("int64" if of == "int64" else "float64"), dim)
    close(lib.call("diopiCumsum", Out(SHAPE, of), array, dim), expected)


@pytest.mark.parametrize("dim", [0, -1])
def test_cumsum_backward(lib: Library, dim: int) -> None:
    dout = random(SHAPE, "float64")
    expected = np.flip(np.cumsum(np.flip(dout, dim), dim), dim)
    close(lib.call("diopiCumsumBackward", like(dout), dout, dim), expected)


def test_cumsum_of_few_elements(lib: Library) -> None:
    assert lib.call("diopiCumsum", Out((), "float32"), np.float32(3), 0) == 3
    assert lib.call("diopiCumsum", Out((2, 0), "float32"), np.zeros((2, 0), "float32"), 1).size == 0
    with pytest.raises(DiopiError):
        lib.call("diopiCumsum", Out((2,), "float32"), np.zeros(2, "float32"), 1)


def test_integers_wrap(lib: Library) -> None:
    array = np.full(4, 100, "int8")
    assert lib.call("diopiSum", Out((), "int8"), array, ()) == np.int8(400 - 512)


INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("result", [*INTEGERS[1:], "float32", "float64"])
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["diopiSum", "diopiProd", "diopiCumsum"])
def test_integers_are_reduced_in_the_type_of_the_result(
    lib: Library, name: str, dtype: str, result: str
) -> None:
    # The products and the sums exceed one byte.
    array = np.array([[100, 5, 3, 1], [99, 98, 97, 96]]).astype(dtype)
    # In 64 bits; narrower results wrap.
    wide = array.astype("float64" if result.startswith("float") else "int64")
    functions: dict[str, Any] = {"Sum": np.sum, "Prod": np.prod, "Cumsum": np.cumsum}
    function = functions[name.removeprefix("diopi")]
    expected = function(wide, axis=1).astype(result)
    dim = (1,) if name == "diopiSum" else 1
    actual = lib.call(name, Out(expected.shape, result), array, dim)
    np.testing.assert_array_equal(actual, expected)
