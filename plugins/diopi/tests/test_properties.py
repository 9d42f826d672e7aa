"""Properties of operators over random shapes, strides and data types."""

from typing import Any

import numpy as np
import pytest
import scipy.special
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from host import Library
from layouts import ANY, FLOAT, INTEGER, arrays, common, out, shapes, smaller, types
from tables import TOLERANCE
from tensors import Array, Out

# The same examples in each run.
settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("fixed")


def check(actual: Array, expected: Any, computed: Any, factor: float = 2) -> None:
    """Compares a result with a reference, within the tolerance of the type that is computed in."""
    dtype = actual.dtype
    assert actual.shape == np.shape(expected)
    with np.errstate(all="ignore"):
        wanted = np.asarray(expected).astype(computed).astype(dtype)
    limits = [TOLERANCE[it] for it in (dtype, np.dtype(computed)) if it in TOLERANCE]
    if dtype.kind in "iub":
        np.testing.assert_array_equal(actual, wanted)
    else:
        limit = factor * max(limits, default=0)
        np.testing.assert_allclose(actual.astype("f8"), wanted.astype("f8"), limit, limit)


def wide(array: Array) -> Array:
    return array if array.dtype.kind in "iub" else array.astype("f8")


def floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype in FLOAT else np.dtype("f4")


# The functions, their references, their types, and whether integers become real.
UNARY: dict[str, tuple[Any, list[Any], bool]] = {
    "diopiAbs": (np.abs, [*INTEGER, *FLOAT], False),
    "diopiNeg": (np.negative, [*INTEGER, *FLOAT], False),
    "diopiSign": (np.sign, [*INTEGER, *FLOAT], False),
    "diopiFloor": (np.floor, FLOAT, False),
    "diopiCeil": (np.ceil, FLOAT, False),
    "diopiRelu": (lambda x: np.maximum(x, 0), [*INTEGER, *FLOAT], False),
    "diopiBitwiseNot": (np.invert, [np.dtype(bool), *INTEGER], False),
    "diopiExp": (np.exp, ANY, True),
    "diopiSqrt": (np.sqrt, ANY, True),
    "diopiSin": (np.sin, ANY, True),
    "diopiCos": (np.cos, ANY, True),
    "diopiTanh": (np.tanh, ANY, True),
    "diopiErf": (scipy.special.erf, ANY, True),
    "diopiReciprocal": (np.reciprocal, ANY, True),
    "diopiSigmoid": (scipy.special.expit, FLOAT, True),
    "diopiSilu": (lambda x: x * scipy.special.expit(x), FLOAT, True),
}


@pytest.mark.parametrize("name", UNARY)
@given(data=st.data())
def test_elements(lib: Library, name: str, data: st.DataObject) -> None:
    function, dtypes, is_real = UNARY[name]
    dtype, shape = data.draw(types(dtypes)), data.draw(shapes)
    x = data.draw(arrays(shape, dtype))
    computed = floating(dtype) if is_real else dtype
    with np.errstate(all="ignore"):
        expected = function(x.astype("f8") if is_real else wide(x))
    if name == "diopiSilu":
        expected = np.where(x == -np.inf, np.nan, expected)
    place = data.draw(out(shape, computed))
    result = lib.call(name, place, x)
    check(result, expected, computed)
    if computed == dtype and name != "diopiSign":
        target = data.draw(arrays(shape, dtype, repeats=False))
        target[...] = x
        lib.call(name + "Inp", target)
        np.testing.assert_array_equal(target.astype("f8"), result.astype("f8"))


ARITHMETIC = {
    "diopiAdd": np.add,
    "diopiSub": np.subtract,
    "diopiMul": np.multiply,
    "diopiMaximum": np.maximum,
    "diopiMinimum": np.minimum,
}
COMPARISON = {
    "diopiEq": np.equal,
    "diopiNe": np.not_equal,
    "diopiLt": np.less,
    "diopiLe": np.less_equal,
    "diopiGt": np.greater,
    "diopiGe": np.greater_equal,
}
LOGIC = {"diopiLogicalAnd": np.logical_and, "diopiLogicalOr": np.logical_or}


@st.composite
def pairs(draw: st.DrawFn, dtypes: list[Any]) -> tuple[Array, Array]:
    """Draws two arrays that can be broadcast to each other, of any types."""
    shape = draw(shapes)
    one, other = draw(smaller(shape)), draw(smaller(shape))
    return draw(arrays(one, draw(types(dtypes)))), draw(arrays(other, draw(types(dtypes))))


def more(name: str) -> tuple[Any, ...]:
    return (1,) if name in ("diopiAdd", "diopiSub") else ()


@pytest.mark.parametrize("name", ARITHMETIC)
@given(data=st.data())
def test_arithmetic_promotes_and_broadcasts(lib: Library, name: str, data: st.DataObject) -> None:
    dtypes = [*INTEGER, *FLOAT] if name == "diopiSub" else ANY
    a, b = data.draw(pairs(dtypes))
    computed = common(a, b)
    with np.errstate(all="ignore"):
        both = [wide(array.astype(computed)) for array in (a, b)]
        expected = ARITHMETIC[name](*both)
    dtype = data.draw(st.sampled_from([computed, np.dtype("f4"), np.dtype("f8")]))
    place = data.draw(out(expected.shape, dtype))
    check(lib.call(name, place, a, b, *more(name)), expected, computed)


@pytest.mark.parametrize("name", [*COMPARISON, *LOGIC])
@given(data=st.data())
def test_comparison_promotes_and_broadcasts(lib: Library, name: str, data: st.DataObject) -> None:
    a, b = data.draw(pairs(ANY))
    computed = common(a, b)
    with np.errstate(all="ignore"):
        if name in LOGIC:
            expected = LOGIC[name](a.astype("f8"), b.astype("f8"))
        else:
            expected = COMPARISON[name](*(wide(array.astype(computed)) for array in (a, b)))
    place = data.draw(out(expected.shape, bool))
    np.testing.assert_array_equal(lib.call(name, place, a, b), expected)


@given(data=st.data())
def test_division(lib: Library, data: st.DataObject) -> None:
    a, b = data.draw(pairs(ANY))
    computed = floating(common(a, b))
    with np.errstate(all="ignore"):
        both = [array.astype(computed).astype("f8") for array in (a, b)]
        expected = both[0] / both[1]
    place = data.draw(out(expected.shape, computed))
    check(lib.call("diopiDiv", place, a, b, "RoundModeNone"), expected, computed)


@pytest.mark.parametrize("name", ["diopiAdd", "diopiSub", "diopiMul", *COMPARISON, *LOGIC])
@given(data=st.data())
def test_in_place_equals_out_of_place(lib: Library, name: str, data: st.DataObject) -> None:
    dtypes = [*INTEGER, *FLOAT] if name == "diopiSub" else ANY
    shape, dtype = data.draw(shapes), data.draw(types(dtypes))
    target = data.draw(arrays(shape, dtype, repeats=False))
    if len(shape) > 1 and shape[0] == shape[1] and data.draw(st.booleans()):
        other = np.swapaxes(target, 0, 1)
    else:
        other = data.draw(arrays(data.draw(smaller(shape)), data.draw(types(dtypes))))
    place = Out(shape, dtype)
    expected = lib.call(name, place, target.copy(), other.copy(), *more(name))
    lib.call(name + "Inp", target, other, *more(name))
    np.testing.assert_array_equal(target.astype("f8"), expected.astype("f8"))


@st.composite
def dims_of(draw: st.DrawFn, shape: tuple[int, ...]) -> list[int]:
    """Draws some dimensions, counted from the first or from the last."""
    count = len(shape)
    chosen = draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    return [dim - count if draw(st.booleans()) else dim for dim in chosen]


def reduced(shape: tuple[int, ...], dims: list[int], keep: bool) -> tuple[int, ...]:
    axes = {dim % len(shape) for dim in dims} if dims else set(range(len(shape)))
    return tuple(1 if n in axes else size for n, size in enumerate(shape) if keep or n not in axes)


def mean(x: Array, **options: Any) -> Any:
    """Returns the mean, which is NaN for no elements, without a warning."""
    total = np.sum(x, **options)
    return total / np.float64(x.size / max(total.size, 1))


REDUCTION: dict[str, tuple[Any, list[Any]]] = {
    "diopiSum": (np.sum, ANY),
    "diopiMean": (mean, FLOAT),
    "diopiAmax": (np.amax, ANY),
}


@pytest.mark.parametrize("name", REDUCTION)
@given(data=st.data())
def test_reductions(lib: Library, name: str, data: st.DataObject) -> None:
    function, dtypes = REDUCTION[name]
    shape, dtype = data.draw(shapes), data.draw(types(dtypes))
    dims, keep = data.draw(dims_of(shape)), data.draw(st.booleans())
    if name == "diopiAmax":
        shape = tuple(max(n, 1) for n in shape)
    x = data.draw(arrays(shape, dtype))
    axes = tuple(dims) if dims else None
    with np.errstate(all="ignore"):
        expected = function(wide(x), axis=axes, keepdims=keep)
    is_sum = name == "diopiSum" and dtype.kind in "iub"
    computed = np.dtype("int64") if is_sum else dtype
    place = data.draw(out(reduced(shape, dims, keep), computed))
    rest = (keep,) if name == "diopiAmax" else ()
    check(lib.call(name, place, x, dims, *rest), expected, computed, 40)


@pytest.mark.parametrize(("name", "function"), [("diopiAny", np.any), ("diopiAll", np.all)])
@given(data=st.data())
def test_logical_reductions(lib: Library, name: str, function: Any, data: st.DataObject) -> None:
    shape, dtype = data.draw(shapes), data.draw(types())
    x = data.draw(arrays(shape, dtype))
    count = len(shape)
    dim = data.draw(st.none() | st.integers(-count, count - 1)) if count else None
    expected = function(x.astype("f8"), axis=dim)
    place = data.draw(out(expected.shape, bool))
    np.testing.assert_array_equal(lib.call(name, place, x, dim), expected)


@pytest.mark.parametrize(("name", "function"), [("diopiMax", np.max), ("diopiMin", np.min)])
@given(data=st.data())
def test_extremes_and_their_places(
    lib: Library, name: str, function: Any, data: st.DataObject
) -> None:
    shape = data.draw(shapes.filter(lambda shape: len(shape) > 0))
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    shape = tuple(max(n, 1) if place == dim % len(shape) else n for place, n in enumerate(shape))
    x = data.draw(arrays(shape, data.draw(types())))
    expected = function(wide(x), axis=dim)
    outs = data.draw(out(expected.shape, x.dtype)), data.draw(out(expected.shape, "int64"))
    values, places = lib.call(name, *outs, x, dim)
    np.testing.assert_array_equal(wide(values), expected)
    found = np.take_along_axis(wide(x), np.expand_dims(places, dim), dim)
    np.testing.assert_array_equal(found.squeeze(dim), expected)


@given(data=st.data())
def test_copies_keep_the_elements(lib: Library, data: st.DataObject) -> None:
    shape, dtype = data.draw(shapes), data.draw(types())
    source = data.draw(arrays(data.draw(smaller(shape)), dtype))
    order = data.draw(st.permutations(range(len(shape))))
    target = data.draw(arrays(shape, dtype, repeats=False))
    lib.call("diopiCopyInp", source, target)
    np.testing.assert_array_equal(wide(target), np.broadcast_to(wide(source), shape))
    permuted = target.transpose(order)
    place = data.draw(out(permuted.shape, dtype))
    np.testing.assert_array_equal(
        wide(lib.call("diopiPermute", place, target, list(order))), wide(permuted)
    )
