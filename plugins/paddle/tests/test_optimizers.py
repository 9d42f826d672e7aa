"""Optimisers: parameters after steps against Paddle's CPU, in dygraph and in static programs."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from host import RELEASE, name, normal, on_both, place

Array = NDArray[Any]

OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda **given: paddle.optimizer.SGD(0.1, **given),
    "SGD with decay": lambda **given: paddle.optimizer.SGD(0.1, weight_decay=0.1, **given),
    "Momentum": lambda **given: paddle.optimizer.Momentum(0.1, 0.9, **given),
    "Momentum of Nesterov": lambda **given: paddle.optimizer.Momentum(
        0.1, 0.9, use_nesterov=True, **given
    ),
    "Momentum with decay": lambda **given: paddle.optimizer.Momentum(
        0.1, 0.9, weight_decay=paddle.regularizer.L2Decay(0.1), **given
    ),
    "Adam": lambda **given: paddle.optimizer.Adam(0.05, **given),
    "AdamW": lambda **given: paddle.optimizer.AdamW(0.05, weight_decay=0.1, **given),
    "Adagrad": lambda **given: paddle.optimizer.Adagrad(0.1, **given),
    "Adadelta": lambda **given: paddle.optimizer.Adadelta(1.0, epsilon=1e-3, **given),
    "Adamax": lambda **given: paddle.optimizer.Adamax(0.1, **given),
    "RMSProp": lambda **given: paddle.optimizer.RMSProp(0.05, momentum=0.5, **given),
    "RMSProp, centered": lambda **given: paddle.optimizer.RMSProp(0.05, centered=True, **given),
    "Lamb": lambda **given: paddle.optimizer.Lamb(0.05, lamb_weight_decay=0.1, **given),
}

if RELEASE >= (3, 0):
    OPTIMIZERS |= {
        "AMSGrad": lambda **given: paddle.optimizer.Adam(0.05, amsgrad=True, **given),
        "AMSGrad with decay": lambda **given: paddle.optimizer.AdamW(0.05, amsgrad=True, **given),
        "NAdam": lambda **given: paddle.optimizer.NAdam(0.05, **given),
        "RAdam": lambda **given: paddle.optimizer.RAdam(0.05, **given),
        "Rprop": lambda **given: paddle.optimizer.Rprop(
            0.05, learning_rate_range=(0.01, 0.2), **given
        ),
        "ASGD": lambda **given: paddle.optimizer.ASGD(0.1, batch_num=2, **given),
    }

WEIGHT = normal(6, 3)
STEPS = 3
MASTERS = ("SGD", "Momentum", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "RMSProp", "Lamb")
LATER_MASTERS = ("NAdam", "RAdam", "Rprop", "ASGD")


def parameter(value: Array, dtype: str) -> Any:
    """Returns a parameter on the current device."""
    made = paddle.create_parameter(list(value.shape), dtype)
    made.set_value(value.astype(dtype))
    return made


def where() -> Any:
    """Returns the place of the current device."""
    return paddle.CPUPlace() if paddle.device.get_device() == "cpu" else place()


def gradient(step: int) -> Array:
    """Returns the gradient of a step, which half precision has exactly."""
    return np.round(normal(6, 3, seed=step + 10) * 16) / 16


def dygraph(optimizer: str, dtype: str, **given: Any) -> list[Array]:
    """Returns a parameter after each step."""
    weight = parameter(WEIGHT, dtype)
    steps = OPTIMIZERS[optimizer](parameters=[weight], **given)
    seen = []
    for step in range(STEPS):
        (weight * paddle.to_tensor(gradient(step)).astype(dtype)).sum().backward()
        steps.step()
        steps.clear_grad()
        seen.append(weight.astype("float32").numpy())
    return seen


def expect_steps(ours: list[Array], wanted: list[Array], tolerance: float) -> None:
    """Compares parameters after each step, all of which must have changed them."""
    assert np.abs(np.diff([WEIGHT, *wanted], axis=0)).max(axis=(1, 2)).min() > 1e-3
    for mine, other in zip(ours, wanted):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_in_dygraph(optimizer: str, dtype: str) -> None:
    paddle.set_default_dtype(dtype)
    try:
        ours, wanted = on_both(lambda: dygraph(optimizer, dtype))
    finally:
        paddle.set_default_dtype("float32")
    expect_steps(ours, wanted, 1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_steps_in_a_program(optimizer: str) -> None:
    def compute() -> list[Array]:
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [6, 3], "float32")
            weight = paddle.create_parameter(
                [6, 3],
                "float32",
                attr=paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(WEIGHT)),
            )
            OPTIMIZERS[optimizer]().minimize((weight * x).sum())
        executor = paddle.static.Executor(where())
        seen = []
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor.run(startup)
            for step in range(STEPS):
                executor.run(main, feed={"x": gradient(step)})
                scope = paddle.static.global_scope()
                seen.append(np.array(scope.find_var(weight.name).get_tensor()))
        return seen

    paddle.enable_static()
    try:
        ours, wanted = on_both(compute)
    finally:
        paddle.disable_static()
    expect_steps(ours, wanted, 1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("optimizer", MASTERS + (LATER_MASTERS if RELEASE >= (3, 0) else ()))
def test_half_precision_steps_a_master_parameter(optimizer: str, dtype: str) -> None:
    """Paddle's CPU has no such kernels: the master parameter is that of a run in float32."""
    paddle.set_device(name())
    zero = paddle.nn.initializer.Constant(0.0)
    weight = paddle.create_parameter(list(WEIGHT.shape), dtype, default_initializer=zero)
    weight.set_value(paddle.to_tensor(WEIGHT).astype(dtype))
    steps = OPTIMIZERS[optimizer](parameters=[weight])
    steps._multi_precision = True
    twin = paddle.create_parameter(list(WEIGHT.shape), "float32")
    twin.set_value(weight.astype("float32"))
    others = OPTIMIZERS[optimizer](parameters=[twin])
    for step in range(STEPS):
        for one, way in ((weight, steps), (twin, others)):
            (one * paddle.to_tensor(gradient(step)).astype(one.dtype)).sum().backward()
            way.step()
            way.clear_grad()
        wanted = twin.astype(dtype).astype("float32").numpy()
        # The learning rates of Rprop are of the type of the parameter.
        tolerance = 0.01 if optimizer == "Rprop" else 0.0
        np.testing.assert_allclose(weight.astype("float32").numpy(), wanted, tolerance, tolerance)
    assert np.abs(twin.numpy() - WEIGHT).max() > 0.02


def test_averages_of_parameters() -> None:
    def compute() -> list[Array]:
        weight = parameter(WEIGHT, "float32")
        average = paddle.incubate.ModelAverage(
            0.5, parameters=[weight], min_average_window=2, max_average_window=4
        )
        steps = paddle.optimizer.SGD(0.1, parameters=[weight])
        seen = []
        for step in range(6):
            (weight * paddle.to_tensor(gradient(step))).sum().backward()
            steps.step()
            average.step()
            steps.clear_grad()
            with average.apply():
                seen.append(weight.numpy())
        return seen

    ours, wanted = on_both(compute)
    for mine, other in zip(ours, wanted):
        np.testing.assert_allclose(mine, other, rtol=1e-5)
