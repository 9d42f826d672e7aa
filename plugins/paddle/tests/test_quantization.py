"""Training with simulated quantisation, against NumPy and Paddle's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray
from paddle.nn.quant import quant_layers

from host import RELEASE, is_on, normal, of_release, on_both

NUMBERS = normal(4, 3, 2) * 3
LEVELS = 127

Array = NDArray[Any]
Run = Any

C = paddle._C_ops
LEGACY = paddle._legacy_C_ops


def tensors(*arrays: Array) -> list[Any]:
    """Returns arrays as tensors of the device."""
    return [paddle.to_tensor(array) for array in arrays]


def number(value: float) -> Any:
    """Returns a tensor of one number."""
    return paddle.to_tensor(np.array([value], "float32"))


def quantised(x: Array, scale: Array | np.float32, rounding: int) -> Array:
    """Returns the integers of the levels of eight bits."""
    scaled = LEVELS * x.astype("float64") / scale
    if rounding == 0:
        return np.clip(np.rint(scaled), -LEVELS - 1, LEVELS)
    limited = np.clip(scaled, -LEVELS, LEVELS)
    rounded: Array = np.copysign(np.floor(np.abs(limited) + 0.5), limited)
    return rounded


def outputs(found: Any) -> list[Array]:
    """Returns results that the operator has."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [value.numpy() for value in found if value is not None and value._is_initialized()]


def levels(**values: int) -> tuple[Any, ...]:
    """Returns attributes as the older calls take them: names and values in turn.

    In 2.6 the number of bits says the levels.
    """
    known = of_release({(2, 6): values.keys() - {"qmin", "qmax"}, (3, 0): values.keys()})
    return tuple(part for item in values.items() if item[0] in known for part in item)


def moving(kernel: str, is_test: bool, rounding: int) -> Run:
    """Returns a call with a moving average."""

    def run() -> list[Array]:
        x, scale, accum, state = (*tensors(NUMBERS), number(2.5), number(7.0), number(3.0))
        found = outputs(getattr(C, kernel)(x, scale, accum, state, 0.9, 8, is_test, rounding))
        # In tests the scale stays; the CPU leaves its output without memory.
        return found[:1] if is_test else found

    return run


def linear(axis: int, qmax: int, rounding: int) -> Run:
    """Returns a call with levels up to a number."""

    def run() -> list[Array]:
        scales = np.array([9.0], "float32")
        if axis >= 0:
            scales = np.abs(NUMBERS).max(axis=(1 - axis, 2))
        settings = levels(
            quant_axis=axis, bit_length=8, qmin=-qmax - 1, qmax=qmax, round_type=rounding
        )
        inputs = (*tensors(NUMBERS, scales), number(0.0))
        return outputs(LEGACY.quantize_linear(*inputs, *settings))

    return run


CASES: dict[str, Run] = {}
for ROUNDING in (0, 1):
    for KERNEL in ("fake_quantize_abs_max", "fake_quantize_dequantize_abs_max"):
        CASES[f"{KERNEL} {ROUNDING}"] = lambda kernel=KERNEL, rounding=ROUNDING: outputs(
            getattr(C, kernel)(*tensors(NUMBERS), 8, rounding)
        )
    for AXIS in (0, 1):
        CASES[f"channels {AXIS} {ROUNDING}"] = lambda axis=AXIS, rounding=ROUNDING: outputs(
            C.fake_channel_wise_quantize_dequantize_abs_max(*tensors(NUMBERS), 8, rounding, axis)
        )
        CASES[f"levels of channels {AXIS} {ROUNDING}"] = linear(AXIS, 127, ROUNDING)
    for KERNEL in (
        "fake_quantize_moving_average_abs_max",
        "fake_quantize_dequantize_moving_average_abs_max",
    ):
        for IS_TEST in (False, True):
            CASES[f"{KERNEL} {IS_TEST} {ROUNDING}"] = moving(KERNEL, IS_TEST, ROUNDING)
    for QMAX in (127, 448, 57344):
        CASES[f"levels up to {QMAX} {ROUNDING}"] = linear(-1, QMAX, ROUNDING)
CASES["numbers of levels"] = lambda: outputs(
    LEGACY.dequantize_linear(
        *tensors(np.arange(-6, 6).reshape(3, 4).astype("int8"), np.array([1, 2, 3], "float32")),
        number(0.0),
        *levels(quant_axis=0, bit_length=8, qmin=-128, qmax=127),
    )
)
CASES["numbers of one scale"] = lambda: outputs(
    C.fake_dequantize_max_abs(*tensors(NUMBERS), number(2.5), 127.0)
)
CASES["numbers of scales of channels"] = lambda: outputs(
    C.fake_channel_wise_dequantize_max_abs(
        tensors(NUMBERS)[0], tensors(np.array([1, 2, 3], "float32")), [8], 1, 1
    )
)
CASES["numbers of two scales"] = lambda: outputs(
    C.fake_channel_wise_dequantize_max_abs(
        tensors(NUMBERS)[0], [*tensors(np.array([1, 2, 3], "float32")), number(5.0)], [8, 4], 0, 1
    )
)


OF_2_6 = [f"levels up to 127 {rounding}" for rounding in (0, 1)] + ["numbers of levels"]
"""Those that 2.6 has in Python."""


@pytest.mark.parametrize("name", of_release({(2, 6): OF_2_6, (3, 0): sorted(CASES)}))
def test_results_are_those_of_the_cpu(name: str) -> None:
    ours, theirs = on_both(CASES[name])
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rounding", [0, 1])
def test_results_are_those_of_numpy(rounding: int) -> None:
    top = np.abs(NUMBERS).max()
    found = LEGACY.quantize_linear(
        *(*tensors(NUMBERS, np.array([top])), number(0.0)),
        *levels(quant_axis=-1, bit_length=8, qmin=-128, qmax=LEVELS, round_type=rounding),
    )
    np.testing.assert_array_equal(outputs(found)[0], quantised(NUMBERS, top, rounding))
    if RELEASE < (3, 0):
        # Python has no other one, and the layers call kernels that plugins cannot replace.
        return
    out, scale = C.fake_quantize_abs_max(*tensors(NUMBERS), 8, rounding)
    assert is_on(out)
    np.testing.assert_allclose(scale.numpy(), [top], rtol=1e-7)
    np.testing.assert_array_equal(out.numpy(), quantised(NUMBERS, top, rounding))
    tops = np.abs(NUMBERS).max(axis=(0, 2), keepdims=True)
    out, _ = C.fake_channel_wise_quantize_dequantize_abs_max(*tensors(NUMBERS), 8, rounding, 1)
    wanted = quantised(NUMBERS, tops, rounding) * tops / LEVELS
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-6, atol=1e-6)


def test_layers_train_and_pass_gradients() -> None:
    by_channel = quant_layers.FakeQuantChannelWiseAbsMax(channel_num=4, quant_on_weight=True)
    average = quant_layers.FakeQuantMovingAverageAbsMax(moving_rate=0.5)
    x = paddle.to_tensor(NUMBERS, stop_gradient=False)
    rows, numbers = by_channel(x), average(x)
    (rows + numbers).sum().backward()
    tops = np.abs(NUMBERS).max(axis=(1, 2), keepdims=True)
    wanted = quantised(NUMBERS, tops, 1) * tops / LEVELS
    np.testing.assert_allclose(rows.numpy(), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(x.grad.numpy(), np.full_like(NUMBERS, 2))
    # The state and the sum start at 1 (Jacob et al., 2018).
    scale = (0.5 + np.abs(NUMBERS).max()) / 1.5
    wanted = quantised(NUMBERS, scale, 1) * scale / LEVELS
    np.testing.assert_allclose(numbers.numpy(), wanted, rtol=1e-5, atol=1e-5)
    average.eval()
    np.testing.assert_array_equal(average(x).numpy(), numbers.numpy())


def test_scales_that_do_not_fit_are_errors() -> None:
    x, scale = tensors(NUMBERS, np.ones(2, "float32"))
    for axis in (-1, 0, 7):
        with pytest.raises(Exception, match="scale|axis|Expected"):
            found = LEGACY.dequantize_linear(
                *(x, scale, number(0.0)),
                *levels(quant_axis=axis, bit_length=8, qmin=-128, qmax=127),
            )
            outputs(found)
