"""The operators on buffers: values against NumPy, element types, broadcasting, streams and errors."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tenon
from operator_cases import CASES, Case
from support import Gate
from tenon import ops

WRONG: Any = "text"
"""An argument of a type that no operator takes."""

NUMPY_CASES = [case for case in CASES if "special." not in case.reference]
"""The cases whose references do not need SciPy, which the tests of the kernels use."""


def inputs_of(case: Case, dtype: str) -> dict[str, Any]:
    """Makes inputs of the shapes `(3, 1, 4)`, `(2, 1)`, and so on, which are broadcast."""
    random = np.random.default_rng(7)
    shapes = [(3, 1, 4), (2, 1), (4,)]
    made: dict[str, Any] = {}
    for shape, (name, interval) in zip(shapes, case.inputs.items()):
        if interval is None:
            made[name] = random.random(shape) < 0.5
        elif dtype == "bool":
            made[name] = random.random(shape) < 0.5
        else:
            made[name] = random.uniform(*interval, shape).astype(dtype)
    return made


def dtype_of(case: Case) -> str:
    return "float64" if "float" in case.types else "int64"


@pytest.mark.parametrize("case", NUMPY_CASES, ids=lambda case: case.name)
def test_elementwise_operator_has_the_values_of_its_reference(device: tenon.Device, case: Case) -> None:
    arrays = inputs_of(case, dtype_of(case))
    with np.errstate(all="ignore"):
        expected = eval(case.reference, {"numpy": np}, {**arrays, **case.attributes})
    result = getattr(ops, case.name)(
        *(tenon.array(array, device=device) for array in arrays.values()), **case.attributes
    )
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-9, atol=1e-9)


X = np.array([[3.0, -1.0, 2.0, 0.5], [0.0, 4.0, -2.0, 1.0]])


def softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (lambda x: ops.sum(x), X.sum()),
        (lambda x: ops.sum(x, 1), X.sum(1)),
        (lambda x: ops.sum(x, (0, -1), keep_dim=True), X.sum((0, 1), keepdims=True)),
        (lambda x: ops.sum(x, 0, dtype="float32"), X.sum(0, dtype="float32")),
        (lambda x: ops.nansum(x, 1), X.sum(1)),
        (lambda x: ops.mean(x, 0), X.mean(0)),
        (lambda x: ops.prod(x, 1), X.prod(1)),
        (lambda x: ops.max(x, 1), X.max(1)),
        (lambda x: ops.min(x), X.min()),
        (lambda x: ops.any(x, 1), X.any(1)),
        (lambda x: ops.all(x, 1, keep_dim=True), X.all(1, keepdims=True)),
        (lambda x: ops.argmax(x), X.argmax(-1)),
        (lambda x: ops.argmax(x, flatten=True), X.argmax()),
        (lambda x: ops.argmin(x, 0, dtype="int32"), X.argmin(0).astype("int32")),
        (lambda x: ops.logsumexp(x, 1), np.log(np.exp(X).sum(1))),
        (lambda x: ops.p_norm(x, 2.0, 1), np.linalg.norm(X, axis=1)),
        (lambda x: ops.frobenius_norm(x), np.linalg.norm(X)),
        (lambda x: ops.cumsum(x), X.cumsum(-1)),
        (lambda x: ops.cumsum(x, flatten=True), X.cumsum()),
        (lambda x: ops.cumprod(x, 0), X.cumprod(0)),
        (lambda x: ops.logcumsumexp(x), np.logaddexp.accumulate(X, -1)),
        (lambda x: ops.cummax(x)[0], np.maximum.accumulate(X, -1)),
        (lambda x: ops.cummin(x)[1], np.array([[0, 1, 1, 1], [0, 0, 2, 2]])),
        (lambda x: ops.softmax(x), softmax(X)),
        (lambda x: ops.log_softmax(x, 1), np.log(softmax(X))),
        (lambda x: ops.matmul(x, x, transpose_b=True), X @ X.T),
        (lambda x: ops.matmul(x.T, x), X.T @ X),
        (lambda x: ops.cast(x, "int32"), X.astype("int32")),
        (lambda x: ops.cast(x, "float16"), X.astype("float16")),
        (lambda x: ops.argsort(x)[0], np.sort(X)),
        (lambda x: ops.argsort(x)[1], np.argsort(X)),
        (lambda x: ops.topk(x, 2)[0], -np.sort(-X)[:, :2]),
        (lambda x: ops.kthvalue(x, 2)[0], np.sort(X)[:, 1]),
        (lambda x: ops.mode(ops.floor(x))[0], np.array([-1.0, -2.0])),
        (lambda x: ops.searchsorted(tenon.array([-1.0, 0.7, 2.0]), x[0]), np.array([3, 0, 2, 1])),
        (lambda x: ops.unique(x), np.unique(X)),
        (lambda x: ops.nonzero(x), np.argwhere(X)),
        (lambda x: ops.masked_select(x, x > 0), X[X > 0]),
        (lambda x: ops.flip(x, [1]), X[:, ::-1]),
        (lambda x: ops.roll(x, [1], [1]), np.roll(X, 1, 1)),
        (lambda x: ops.crop(x, [1, 2], [1, 1]), X[1:, 1:3]),
        (lambda x: ops.tril_triu(x), np.tril(X)),
        (lambda x: ops.layer_norm(x), (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5)),
        (lambda x: ops.rms_norm(x), X / np.sqrt((X**2).mean(1, keepdims=True) + 1e-5)),
        (lambda x: ops.clip_by_norm(x, 1.0), X / np.linalg.norm(X)),
        (lambda x: ops.repeat_interleave(x, tenon.array([2, 1]), dim=0), np.repeat(X, [2, 1], 0)),
        (lambda x: ops.index_add(x, tenon.array([1]), x[:1], axis=0), X + np.array([[0.0], [1.0]]) * X[0]),
    ],
)
def test_operator_has_the_values_of_numpy(
    device: tenon.Device, compute: Callable[[tenon.Buffer], tenon.Buffer], expected: Any
) -> None:
    with tenon.array(X, device=device) as x:
        result = compute(x).numpy()
    assert (result.shape, result.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    np.testing.assert_allclose(result, expected, rtol=1e-3 if result.dtype == np.float16 else 1e-6, atol=1e-12)


def test_all_functions_have_documentation_of_each_parameter() -> None:
    for name in ops.__all__:
        function = getattr(ops, name)
        doc = inspect.getdoc(function)
        assert doc
        assert all(f"{parameter}: " in doc for parameter in inspect.signature(function).parameters), name


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint8", "int64", "bool"])
def test_result_has_the_element_type_of_the_inputs(device: tenon.Device, dtype: str) -> None:
    x = tenon.array(np.array([0, 1, 1], dtype), device=device)
    assert ops.add(x, x).dtype == dtype
    assert ops.equal(x, x).dtype == "bool"
    assert ops.select(ops.equal(x, x), x, x).dtype == dtype


@pytest.mark.parametrize(
    ("compute", "symbol"),
    [
        (operator.add, "+"),
        (operator.sub, "-"),
        (operator.mul, "*"),
        (operator.truediv, "/"),
        (operator.floordiv, "//"),
        (operator.mod, "%"),
        (operator.pow, "**"),
        (operator.lt, "<"),
        (operator.le, "<="),
        (operator.gt, ">"),
        (operator.ge, ">="),
    ],
)
def test_arithmetic_is_that_of_numpy(device: tenon.Device, compute: Callable[[Any, Any], Any], symbol: str) -> None:
    values = np.array([[1.0, 2.5], [4.0, 3.0]], dtype="float32")
    x = tenon.array(values, device=device)
    for left, right in ((x, x), (x, 2), (2.5, x), (x, x[0]), (np.float64(2), x)):
        expected = compute(
            *(value.numpy() if isinstance(value, tenon.Buffer) else np.float32(value) for value in (left, right))
        )
        np.testing.assert_allclose(compute(left, right).numpy(), expected, rtol=1e-6, err_msg=symbol)
    with pytest.raises(TypeError, match="copy the ndarray to the device with tenon.asarray"):
        compute(x, values)
    with pytest.raises(TypeError, match="not supported between|unsupported operand|can't multiply"):
        compute(x, "text")


def test_arithmetic_of_integers_matrices_and_signs(device: tenon.Device) -> None:
    bits = np.array([5, -3, 12])
    x = tenon.array(bits, device=device)
    for result, expected in (
        (x & 6, bits & 6),
        (x | 6, bits | 6),
        (6 ^ x, 6 ^ bits),
        (x << 2, bits << 2),
        (x >> 1, bits >> 1),
        (~x, ~bits),
        (-x, -bits),
        (+x, bits),
        (abs(x), abs(bits)),
        (x @ x, bits @ bits),
    ):
        assert result.numpy().tolist() == expected.tolist()


def test_assignment_with_an_operator_writes_to_the_buffer(device: tenon.Device) -> None:
    x = tenon.array([1.0, 2.0, 3.0, 4.0], device=device)
    same, view = x, x[1:]
    x += 1
    x[2:] *= x[:2]  # type: ignore[index, unused-ignore]
    assert same is x
    assert view.tolist() == [3.0, 8.0, 15.0]


def test_overlapping_output_is_written_as_if_it_did_not_overlap(device: tenon.Device) -> None:
    x = tenon.array([1.0, 2.0, 3.0, 4.0], device=device)
    assert ops.add(x[:-1], 1, out=x[1:]).tolist() == [2.0, 3.0, 4.0]
    assert x.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_output_may_be_a_view_with_gaps(device: tenon.Device) -> None:
    x = tenon.zeros((2, 3), "float64", device)
    assert ops.add(tenon.array([1.0, 2.0], device=device), 1, out=x[:, 1]) is not x
    assert x.tolist() == [[0.0, 2.0, 0.0], [0.0, 3.0, 0.0]]


def test_operators_are_computed_in_the_order_of_the_stream(
    device: tenon.Device, stream: tenon.Stream, gate: Gate
) -> None:
    x = tenon.array([1.0, 2.0], device=device)
    gate.hold(stream)
    x.fill(5.0, stream=stream)
    with stream:
        y = x * 2
    z = ops.sum(y, stream=stream)
    assert not stream.query()
    gate.open()
    assert (y.tolist(), z.item()) == ([10.0, 10.0], 20.0)


def test_long_work_is_computed_on_the_stream(device: tenon.Device, stream: tenon.Stream) -> None:
    x = tenon.full((300, 300), 2.0, "float32", device, stream)
    y = x
    for _ in range(5):
        y = ops.multiply(ops.add(y, x, stream=stream), 0.5, stream=stream)
    del x
    assert y[0, 0].item() == 2.0
    assert (y.numpy() == 2.0).all()


def test_temporary_buffers_live_until_queued_work_is_done(
    device: tenon.Device, stream: tenon.Stream, gate: Gate
) -> None:
    gate.hold(stream)
    with stream:
        x = ops.add(tenon.ones((5000,), "float64", device, stream), tenon.ones((5000,), "float64", device, stream))
        # Would get the memory of the inputs if it were free.
        other = tenon.full((5000,), 9.0, "float64", device, stream)
    gate.open()
    assert (x.numpy() == 2.0).all()
    assert (other.numpy() == 9.0).all()


def test_error_of_queued_work_is_reported_by_the_stream(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    x = tenon.ones((2, 3), device=device)
    gate.hold(stream)
    ops.softmax(x, 7, stream=stream)
    gate.open()
    with pytest.raises(tenon.DeviceError, match="softmax.*axis 7"):
        stream.synchronize()


@pytest.mark.parametrize(
    ("compute", "error", "message"),
    [
        (
            lambda x: x + tenon.ones((4,), "float64"),
            ValueError,
            r"add: the shapes \(2, 3\) and \(4,\) cannot be broadcast",
        ),
        (lambda x: x @ x, ValueError, "matmul.*inner dimensions"),
        (lambda x: x @ tenon.ones((3,), "int64"), TypeError, "`@`: .*float64 and int64.*cast"),
        (lambda x: ops.softmax(x, 7), ValueError, "softmax.*axis 7"),
        (lambda x: ops.sum(x, 2), ValueError, "axis 2 is out of range"),
        (lambda x: ops.sum(x, (0, 0)), ValueError, "axis 0 is listed twice"),
        (lambda x: x + tenon.ones((3,), "int32"), TypeError, "add.*float64 and int32.*cast"),
        (lambda x: ops.exp(tenon.array([1])), TypeError, "exp takes floating-point numbers, not int64"),
        (lambda x: tenon.array([1]) + 1.5, TypeError, "add: 1.5 is not a valid int64"),
        (lambda x: ops.select(x, x, x), TypeError, "select: the condition must have elements of type bool"),
        (lambda x: ops.add(1, 2), TypeError, "add: at least one input must be a buffer"),
        (lambda x: ops.softmax(WRONG), TypeError, "must be a tenon.Buffer, not str"),
        (lambda x: ops.softmax(x, WRONG), TypeError, "softmax.*str"),
        (lambda x: ops.roll(x, [1 << 63]), OverflowError, "roll"),
        (lambda x: ops.add(x, 1, out=x[0]), ValueError, r"out has the shape \(3,\)"),
        (lambda x: ops.add(x, 1, out=tenon.empty((2, 3))), TypeError, "out has elements of type float32"),
    ],
)
def test_wrong_arguments_are_reported_with_the_operator(
    device: tenon.Device, compute: Callable[[tenon.Buffer], Any], error: type[Exception], message: str
) -> None:
    x = tenon.ones((2, 3), "float64", device)
    with pytest.raises(error, match=message):
        compute(x)
    assert (x.numpy() == 1).all()


def test_closed_buffer_is_refused(device: tenon.Device) -> None:
    x = tenon.ones((2,), device=device)
    y = x[:1]
    x.close()
    computations: list[Callable[[], Any]] = [
        lambda: x + 1,
        lambda: -y,
        lambda: ops.sum(x),
        lambda: ops.add(tenon.ones((2,)), 1, out=x),
    ]
    for compute in computations:
        with pytest.raises(tenon.InvalidHandleError):
            compute()


def test_stream_of_a_closed_device_or_of_another_device_is_refused(device: tenon.Device, far: tenon.Device) -> None:
    x = tenon.ones((2,), device=device)
    with far.create_stream() as other, pytest.raises(ValueError, match="the stream belongs to"):
        ops.relu(x, stream=other)
    with tenon.ones((2,), device=far) as y, pytest.raises(ValueError, match="the inputs belong to"):
        x + y


def test_device_without_operators_raises_not_implemented_error(far: tenon.Device) -> None:
    with tenon.ones((2,), device=far) as x, pytest.raises(NotImplementedError, match="no operators for libtenon"):
        ops.relu(x)
    assert not ops.supported("relu", "float32", far)


def test_supported_knows_operators_and_their_element_types(device: tenon.Device) -> None:
    assert ops.supported("relu", "float32", device)
    assert not ops.supported("no_such_operator", "float32", device)


def test_methods_of_other_packages_name_the_operator(device: tenon.Device) -> None:
    x: Any = tenon.ones((2,), device=device)
    with pytest.raises(AttributeError, match=r"no attribute `sum`: tenon.ops.sum\(\) computes it"):
        x.sum()
    with pytest.raises(AttributeError, match=r"`astype`: tenon.ops.cast converts elements"):
        x.astype("int32")
    assert not hasattr(x, "no_such_name")


def test_operators_run_under_the_layers(program: Any) -> None:
    done = program(
        """
        import tenon
        x = tenon.array([1.0, 2.0])
        print((x @ x + 1).item())
        """,
        TENON_LAYERS="validate",
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "6.0", "")


FUNCTIONS = [name for name, function in vars(ops).items() if inspect.isfunction(function) and name != "supported"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_none_for_an_input_is_an_error_with_a_text(name: str) -> None:
    function = getattr(ops, name)
    required = [p for p in inspect.signature(function).parameters.values() if p.default is inspect.Parameter.empty]
    arguments = {
        p.name: None if "Buffer" in str(p.annotation) or "Operand" in str(p.annotation) else 1 for p in required
    }
    if None in arguments.values():
        with pytest.raises((TypeError, ValueError, IndexError)) as error:
            function(**arguments)
        assert str(error.value), name
