"""Optimisers that step several parameters at once, and the factor of the loss: against the CPU."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import pytest

from host import RELEASE, name, normal, on_both, place

SHAPES = [(3, 4), (5,), (2, 2, 2)]

MERGED: dict[str, Callable[..., Any]] = {
    "Momentum": lambda **given: paddle.optimizer.Momentum(0.1, 0.9, use_multi_tensor=True, **given),
    "Momentum with decay": lambda **given: paddle.optimizer.Momentum(
        0.1,
        0.9,
        use_nesterov=True,
        weight_decay=paddle.regularizer.L2Decay(0.1),
        use_multi_tensor=True,
        **given,
    ),
    "Adam": lambda **given: paddle.optimizer.Adam(0.1, use_multi_tensor=True, **given),
}
if RELEASE >= (3, 0):
    MERGED["AMSGrad"] = lambda **given: paddle.optimizer.Adam(
        0.1, amsgrad=True, use_multi_tensor=True, **given
    )


def parameters() -> list[Any]:
    """Returns parameters of several shapes."""
    made = []
    for number, shape in enumerate(SHAPES):
        parameter = paddle.create_parameter(list(shape), "float32")
        parameter.set_value(normal(*shape, seed=number))
        made.append(parameter)
    return made


@pytest.mark.parametrize("optimizer", MERGED)
def test_merged_steps(optimizer: str) -> None:
    def compute() -> list[Any]:
        weights = parameters()
        steps = MERGED[optimizer](parameters=weights)
        for number in range(3):
            losses = [
                (weight * paddle.to_tensor(normal(*weight.shape, seed=number + 9))).sum()
                for weight in weights
            ]
            paddle.add_n(losses).backward()
            steps.step()
            steps.clear_grad()
        return [weight.numpy() for weight in weights]

    ours, theirs = on_both(compute)
    for number, (mine, wanted) in enumerate(zip(ours, theirs)):
        assert np.abs(wanted - normal(*wanted.shape, seed=number)).max() > 1e-2
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


def test_layer_wise_rates() -> None:
    def compute() -> Any:
        main, startup = paddle.static.Program(), paddle.static.Program()
        start = paddle.nn.initializer.Assign(normal(3, 4))
        with paddle.static.program_guard(main, startup):
            x = paddle.static.data("x", [3, 4], "float32")
            weight = paddle.create_parameter(
                [3, 4], "float32", attr=paddle.ParamAttr(initializer=start)
            )
            paddle.incubate.optimizer.LarsMomentumOptimizer(0.1, 0.9).minimize((weight * x).sum())
        on_cpu = paddle.device.get_device() == "cpu"
        executor = paddle.static.Executor(paddle.CPUPlace() if on_cpu else place())
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor.run(startup)
            for number in range(3):
                (value,) = executor.run(
                    main, feed={"x": normal(3, 4, seed=number + 9)}, fetch_list=[weight]
                )
        return value

    paddle.enable_static()
    try:
        ours, theirs = on_both(compute)
    finally:
        paddle.disable_static()
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gradients_are_divided_and_looked_at(dtype: str) -> None:
    paddle.set_device(name())
    arrays = [np.array([2.0, -4.0], "float32"), np.array([[8.0]], "float32")]
    gradients = [paddle.to_tensor(array).astype(dtype) for array in arrays]
    scale = paddle.to_tensor(np.array([4.0], "float32"))
    found = paddle.to_tensor(np.array([False]))
    paddle._legacy_C_ops.check_finite_and_unscale(gradients, scale, gradients, found)
    assert not found.numpy().any()
    for gradient, array in zip(gradients, arrays):
        np.testing.assert_array_equal(gradient.astype("float32").numpy(), array / 4)
    gradients[1].fill_(float("inf"))
    paddle._legacy_C_ops.check_finite_and_unscale(gradients, scale, gradients, found)
    assert found.numpy().all()


def test_steps_with_infinite_gradients_are_left_out() -> None:
    def compute() -> list[list[float]]:
        model = paddle.nn.Linear(2, 1)
        optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        scaler = paddle.amp.GradScaler(
            init_loss_scaling=8.0,
            incr_ratio=2.0,
            incr_every_n_steps=2,
            decr_every_n_nan_or_inf=2,
        )
        seen = []
        for factor in (1.0, 1.0, float("inf"), 1.0):
            before = model.weight.numpy()
            with paddle.amp.auto_cast(dtype="float16"):
                # Release 2.6 scales only here.
                value = scaler.scale((model(paddle.ones([3, 2])) * factor).sum())
            value.backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.clear_grad()
            moved = float(np.abs(model.weight.numpy() - before).max())
            scale = paddle.to_tensor(scaler.state_dict()["scale"]).numpy()
            seen.append([float(scale.ravel()[0]), moved])
        return seen

    paddle.set_device(name())
    found = np.array(compute())
    np.testing.assert_allclose(found[:, 0], [8, 16, 16, 16])
    np.testing.assert_allclose(found[:, 1], [0.3, 0.3, 0, 0.3], rtol=1e-5)


@pytest.mark.parametrize(("infinite", "expected"), [(False, [16, 0, 0]), (True, [2, 0, 0])])
def test_the_factor_of_the_loss_follows_the_gradients(infinite: bool, expected: list[int]) -> None:
    paddle.set_device(name())
    gradients = [paddle.to_tensor(normal(3, 2)), paddle.to_tensor(normal(4))]
    factor = paddle.to_tensor(np.array([8.0], "float32"))
    good, bad = paddle.ones([1], "int32"), paddle.ones([1], "int32")
    paddle._legacy_C_ops.update_loss_scaling(
        gradients,
        paddle.to_tensor(np.array([infinite])),
        factor,
        good,
        bad,
        gradients,
        factor,
        good,
        bad,
        *("incr_every_n_steps", 2, "decr_every_n_nan_or_inf", 2),
        *("incr_ratio", 2.0, "decr_ratio", 0.25),
    )
    assert [int(tensor.numpy()[0]) for tensor in (factor, good, bad)] == expected
    assert all((gradient.numpy() == 0).all() == infinite for gradient in gradients)
