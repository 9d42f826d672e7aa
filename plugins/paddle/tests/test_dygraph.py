"""Eager operators, forward and backward, against Paddle's own CPU kernels."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray

from host import is_on, normal, of_release, on_both

Operator = Callable[..., Any]


def close(ours: Any, wanted: Any, tolerance: float = 1e-4) -> None:
    """Compares the results of two devices: tensors, numbers, or lists of them."""
    if isinstance(ours, (list, tuple)):
        assert len(ours) == len(wanted)
        for mine, other in zip(ours, wanted):
            close(mine, other, tolerance)
        return
    if isinstance(ours, paddle.Tensor):
        assert ours.dtype == wanted.dtype
        ours, wanted = ours.numpy(), wanted.numpy()
    np.testing.assert_allclose(ours, wanted, rtol=tolerance, atol=tolerance * 0.1)


def differentiable(operator: Operator, *arrays: NDArray[Any]) -> Callable[[], list[Any]]:
    """A computation of an operator's outputs, and of the gradients of all its float inputs."""

    def compute() -> list[Any]:
        inputs = [paddle.to_tensor(array) for array in arrays]
        floats = [tensor for tensor in inputs if tensor.dtype == paddle.float32]
        for tensor in floats:
            tensor.stop_gradient = False
        outputs = operator(*inputs)
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        device = paddle.device.get_device()
        assert all(str(output.place) == f"Place({device})" for output in outputs)
        # Weights, so that no two elements of an output are alike to the gradient.
        loss = sum((out * paddle.to_tensor(normal(*out.shape, seed=9))).sum() for out in outputs)
        loss.backward()
        return outputs + [tensor.grad for tensor in floats]

    return compute


A = normal(4, 6)
B = normal(4, 6, seed=1)
ROW = normal(6, seed=2)
POSITIVE = np.abs(A) + 0.5
IMAGE = normal(2, 3, 9, 9)
WORDS = np.array([[1, 4, 4], [0, 2, 6]])
LABELS = np.array([2, 0, 5, 1])

SMOOTH: dict[str, tuple[Operator, tuple[NDArray[Any], ...]]] = {
    "add": (lambda x, y: x + y, (A, B)),
    "add a row": (lambda x, y: x + y, (A, ROW)),
    "add a number": (lambda x: x + 1.5, (A,)),
    "subtract": (lambda x, y: x - y, (A, B)),
    "subtract from a row": (lambda x, y: y - x, (A, ROW)),
    "multiply": (lambda x, y: x * y, (A, B)),
    "multiply a column": (lambda x, y: x * y, (A, normal(4, 1, seed=3))),
    "divide": (lambda x, y: x / y, (A, POSITIVE)),
    "power": (lambda x: x**3, (A,)),
    "negative": (lambda x: -x, (A,)),
    "maximum": (paddle.maximum, (A, B)),
    "exp": (paddle.exp, (A,)),
    "log": (paddle.log, (POSITIVE,)),
    "sqrt": (paddle.sqrt, (POSITIVE,)),
    "rsqrt": (paddle.rsqrt, (POSITIVE,)),
    "abs": (paddle.abs, (A,)),
    "square": (paddle.square, (A,)),
    "sin": (paddle.sin, (A,)),
    "tanh": (paddle.tanh, (A,)),
    "sigmoid": (F.sigmoid, (A,)),
    "relu": (F.relu, (A,)),
    "gelu": (F.gelu, (A,)),
    "gelu by tanh": (lambda x: F.gelu(x, approximate=True), (A,)),
    "silu": (F.silu, (A,)),
    "leaky relu": (F.leaky_relu, (A,)),
    "clip": (lambda x: paddle.clip(x, -0.5, 0.5), (A,)),
    "scale": (lambda x: paddle.scale(x, 2.0, 1.0), (A,)),
    "cast": (lambda x: x.astype("float64").astype("float32"), (A,)),
    "where": (lambda x, y: paddle.where(x > y, x, y * 2), (A, B)),
    "matmul": (paddle.matmul, (A, normal(6, 5, seed=3))),
    "matmul transposed": (
        lambda x, y: paddle.matmul(x, y, transpose_x=True, transpose_y=True),
        (normal(6, 4), normal(5, 6, seed=3)),
    ),
    "matmul of batches": (paddle.matmul, (normal(2, 3, 4, 5), normal(2, 3, 5, 6, seed=3))),
    "matmul, one batch for all": (paddle.matmul, (normal(3, 4, 5), normal(5, 6, seed=3))),
    "matmul of vectors": (paddle.matmul, (normal(5), normal(5, seed=3))),
    "matmul by a vector": (paddle.matmul, (A, ROW)),
    "bmm": (paddle.bmm, (normal(3, 4, 5), normal(3, 5, 2, seed=3))),
    "linear": (F.linear, (A, normal(6, 5, seed=3), normal(5, seed=4))),
    "sum": (lambda x: x.sum(), (A,)),
    "sum of rows": (lambda x: x.sum(axis=1, keepdim=True), (A,)),
    "mean": (lambda x: x.mean(), (A,)),
    "mean of columns": (lambda x: x.mean(axis=[0]), (A,)),
    "max of rows": (lambda x: x.max(axis=1), (A,)),
    "min": (lambda x: x.min(), (A,)),
    "prod": (lambda x: x.prod(axis=0), (A,)),
    "logsumexp": (lambda x: paddle.logsumexp(x, axis=-1), (A,)),
    "variance": (lambda x: x.var(axis=1), (A,)),
    "norm": (lambda x: x.norm(), (A,)),
    "cumsum": (lambda x: paddle.cumsum(x, axis=1), (A,)),
    "reshape": (lambda x: x.reshape([3, -1]), (A,)),
    "flatten": (lambda x: x.flatten(1), (IMAGE,)),
    "squeeze": (lambda x: x.unsqueeze(1).squeeze(1) * 2, (A,)),
    "transpose": (lambda x: x.transpose([2, 0, 3, 1]) * 2, (IMAGE,)),
    "t": (lambda x: x.t() @ x, (A,)),
    "expand": (lambda x: x.expand([3, 6]), (ROW,)),
    "tile": (lambda x: x.tile([2, 3]), (A,)),
    "concat": (lambda x, y: paddle.concat([x, y, x], axis=1), (A, B)),
    "stack": (lambda x, y: paddle.stack([x, y], axis=1), (A, B)),
    "split": (lambda x: paddle.split(x, 3, axis=1), (A,)),
    "split unevenly": (lambda x: paddle.split(x, [1, 3, -1], axis=1), (A,)),
    "chunk": (lambda x: paddle.chunk(x, 2, axis=0), (A,)),
    "unbind": (lambda x: paddle.unbind(x, 0), (A,)),
    "slice": (lambda x: x[1:3, 2:], (A,)),
    "slice with steps": (lambda x: x[::2, 1::3], (A,)),
    "slice backwards": (lambda x: x[::-1, 4:0:-2], (A,)),
    "row": (lambda x: x[2], (A,)),
    "ellipsis": (lambda x: x[..., 1], (IMAGE,)),
    "new axis": (lambda x: x[:, None], (A,)),
    "flip": (lambda x: paddle.flip(x, [1]), (A,)),
    "roll": (lambda x: paddle.roll(x, 2, 1), (A,)),
    "pad": (lambda x: F.pad(x, [1, 2, 0, 1]), (IMAGE,)),
    "gather": (lambda x, i: paddle.gather(x, i), (A, np.array([3, 0, 0]))),
    "index by tensor": (lambda x, i: x[i], (A, np.array([3, 0, 0]))),
    "index_select": (lambda x, i: paddle.index_select(x, i, axis=1), (A, np.array([5, 1]))),
    "take_along_axis": (
        lambda x, i: paddle.take_along_axis(x, i, 1),
        (A, np.array([[1, 0], [2, 2], [5, 4], [0, 1]])),
    ),
    "masked": (lambda x: paddle.masked_select(x, x > 0), (A,)),
    "triangle": (paddle.tril, (A,)),
    "top": (lambda x: paddle.topk(x, 2, axis=1)[0], (A,)),
    "sorted": (lambda x: paddle.sort(x, axis=1), (A,)),
    "softmax": (F.softmax, (A,)),
    "softmax of columns": (lambda x: F.softmax(x, axis=0), (A,)),
    "log_softmax": (F.log_softmax, (A,)),
    "cross_entropy": (F.cross_entropy, (A, LABELS)),
    "cross_entropy, ignoring": (
        lambda x, y: F.cross_entropy(x, y, ignore_index=0, reduction="sum"),
        (A, LABELS),
    ),
    "mse": (F.mse_loss, (A, B)),
    "l1": (F.l1_loss, (A, B)),
    "binary_cross_entropy": (
        lambda x: F.binary_cross_entropy_with_logits(x, paddle.to_tensor((B > 0) * 1.0, x.dtype)),
        (A,),
    ),
    "embedding": (lambda i, w: F.embedding(i, w), (WORDS, normal(7, 4))),
    "embedding, padded": (lambda i, w: F.embedding(i, w, padding_idx=4), (WORDS, normal(7, 4))),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, 6, w, b),
        (A, normal(6, seed=3), normal(6, seed=4)),
    ),
    "layer_norm of two axes": (lambda x: F.layer_norm(x, [9, 9]), (IMAGE,)),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), w, b, training=True),
        (IMAGE, normal(3, seed=3), normal(3, seed=4)),
    ),
    "batch_norm at rest": (
        lambda x, w, b: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), w, b),
        (IMAGE, normal(3, seed=3), normal(3, seed=4)),
    ),
    "group_norm": (lambda x: paddle.nn.GroupNorm(3, 3)(x), (IMAGE,)),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        (IMAGE, normal(4, 3, 3, 3, seed=3), normal(4, seed=4)),
    ),
    "conv2d with stride and dilation": (
        lambda x, w: F.conv2d(x, w, stride=2, padding=[1, 2], dilation=2),
        (IMAGE, normal(4, 3, 3, 3, seed=3)),
    ),
    "conv2d in groups": (
        lambda x, w: F.conv2d(x, w, groups=3),
        (IMAGE, normal(6, 1, 2, 2, seed=3)),
    ),
    "conv2d transposed": (F.conv2d_transpose, (IMAGE, normal(3, 2, 2, 2, seed=3))),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2, 2), (IMAGE,)),
    "max_pool2d, overlapping": (lambda x: F.max_pool2d(x, 3, 2, padding=1), (IMAGE,)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, padding=1), (IMAGE,)),
    "avg_pool2d, ceiling": (lambda x: F.avg_pool2d(x, 2, 2, ceil_mode=True), (IMAGE,)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (IMAGE,)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (IMAGE,)),
    "attention": (
        F.scaled_dot_product_attention,
        (normal(2, 5, 2, 8), normal(2, 5, 2, 8, seed=1), normal(2, 5, 2, 8, seed=2)),
    ),
}


@pytest.mark.parametrize("operator", SMOOTH)
def test_values_and_gradients(operator: str) -> None:
    function, arrays = SMOOTH[operator]
    close(*on_both(differentiable(function, *arrays)))


PLAIN: dict[str, Callable[[], Any]] = {
    "compare": lambda: [
        relation(paddle.to_tensor(A), paddle.to_tensor(np.round(A, 1)))
        for relation in (
            *(paddle.equal, paddle.not_equal, paddle.less_than),
            *(paddle.less_equal, paddle.greater_than, paddle.greater_equal),
        )
    ],
    "logic": lambda: [
        paddle.logical_and(paddle.to_tensor(A > 0), paddle.to_tensor(B > 0)),
        paddle.logical_not(paddle.to_tensor(A > 0)),
        paddle.any(paddle.to_tensor(A > 0), axis=0),
        paddle.all(paddle.to_tensor(A > 0)),
    ],
    "integers": lambda: [
        paddle.to_tensor(WORDS) + 3,
        paddle.to_tensor(WORDS) * paddle.to_tensor(WORDS),
        paddle.to_tensor(WORDS) // 2,
        paddle.to_tensor(WORDS) % 3,
        paddle.to_tensor(WORDS.astype("int32")).sum(),
        paddle.to_tensor(WORDS).max(),
    ],
    "positions": lambda: [
        paddle.to_tensor(A).argmax(-1),
        paddle.to_tensor(A).argmin(),
        paddle.argsort(paddle.to_tensor(A), axis=1),
        paddle.topk(paddle.to_tensor(A), 3)[1],
        paddle.nonzero(paddle.to_tensor(A) > 0),
    ],
    "casts": lambda: [
        paddle.to_tensor(A * 9).astype(dtype)
        for dtype in ("int8", "int32", "int64", "bool", "float64")
    ],
    "doubles": lambda: [
        paddle.matmul(
            paddle.to_tensor(A.astype("float64")), paddle.to_tensor(B.T.astype("float64"))
        ),
        F.softmax(paddle.to_tensor(A.astype("float64"))),
    ],
    "of nothing": lambda: [
        paddle.ones([0, 3]) + 1,
        paddle.concat([paddle.ones([0, 3]), paddle.ones([2, 3])]),
        paddle.ones([0, 3]).transpose([1, 0]),
    ],
    "of one number": lambda: [paddle.to_tensor(3.0) + 1, paddle.to_tensor(3.0).reshape([1, 1])],
    "one hot": lambda: F.one_hot(paddle.to_tensor(LABELS), 6),
    "tests for numbers": lambda: [
        test(paddle.to_tensor([1.0, float("nan"), float("inf")]))
        for test in (paddle.isnan, paddle.isinf, paddle.isfinite)
    ],
    "unique": lambda: paddle.unique(paddle.to_tensor(WORDS)),
    "repr": lambda: [float(paddle.to_tensor(A)[1, 2]), int(paddle.to_tensor(LABELS)[0])],
}


@pytest.mark.parametrize("operator", PLAIN)
def test_values(operator: str) -> None:
    close(*on_both(PLAIN[operator]))


def test_casts_to_half_precision_round_to_nearest() -> None:
    """The CPU of Paddle 2.6 cuts digits off."""
    half = paddle.to_tensor(A * 9).astype("float16")
    np.testing.assert_array_equal(half.numpy(), (A * 9).astype("float16"))


def _in_place(change: Callable[[Any], Any]) -> Callable[[], Any]:
    def compute() -> Any:
        x = paddle.to_tensor(A)
        change(x)
        return x

    return compute


IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(paddle.to_tensor(B)),
    "subtract_": lambda x: x.subtract_(paddle.to_tensor(B)),
    "scale_": lambda x: x.scale_(2.0, 1.0),
    "clip_": lambda x: x.clip_(-0.5, 0.5),
    "relu_": F.relu_,
    "zero_": lambda x: x.zero_(),
    "fill_": lambda x: x.fill_(3.0),
    "exp_": lambda x: x.exp_(),
    "a number": lambda x: x.__setitem__((1, 2), 5.0),
    "a row": lambda x: x.__setitem__(0, paddle.to_tensor(ROW)),
    "a slice": lambda x: x.__setitem__((slice(None, None, 2), slice(1, 4)), 0.0),
    "a mask": lambda x: x.__setitem__(x > 0, 0.0),
    "reshape_": lambda x: x.reshape_([6, 4]),
}


@pytest.mark.parametrize("change", IN_PLACE)
def test_changes_in_place(change: str) -> None:
    close(*on_both(_in_place(IN_PLACE[change])))


def test_strided_views_are_read_right() -> None:
    x = paddle.to_tensor(IMAGE)
    for view, wanted in (
        (x.transpose([0, 2, 3, 1]), IMAGE.transpose(0, 2, 3, 1)),
        (x[:, 1:, ::2], IMAGE[:, 1:, ::2]),
        (x.transpose([3, 2, 1, 0])[2:], IMAGE.T[2:]),
    ):
        np.testing.assert_array_equal(view.numpy(), wanted)
        np.testing.assert_array_equal(view.contiguous().numpy(), wanted)
        np.testing.assert_array_equal((view + 1).numpy(), wanted + 1)
        np.testing.assert_allclose(view.sum().item(), wanted.sum(), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int64", "float16", "float64"])
def test_strided_views_of_every_width(dtype: str) -> None:
    array = (A * 9).astype(dtype)
    np.testing.assert_array_equal(paddle.to_tensor(array).t().contiguous().numpy(), array.T)


def test_writing_through_a_view() -> None:
    x = paddle.to_tensor(A)
    x.t().add_(paddle.ones([6, 4]))
    # Without view kernels for custom devices, 2.6 makes a copy where other releases make a view.
    written = of_release({(2, 6): A, (3, 0): A + 1})
    np.testing.assert_array_equal(x.numpy(), written)


def test_a_view_of_another_shape_or_type_shares_the_memory() -> None:
    x = paddle.to_tensor(A)
    paddle.view(x, [6, 4]).add_(paddle.ones([6, 4]))
    np.testing.assert_array_equal(x.numpy(), A + 1)
    np.testing.assert_array_equal(paddle.view(x, [2, -1]).numpy(), (A + 1).reshape(2, 12))
    np.testing.assert_array_equal(paddle.view(x, "int32").numpy(), (A + 1).view("int32"))
    np.testing.assert_array_equal(paddle.view(x, "uint8").numpy(), (A + 1).view("uint8"))
    if of_release({(2, 6): True, (3, 0): False}):
        with pytest.raises(ValueError, match="cannot be viewed as"):
            paddle.view(x, [5, 5])


def test_a_view_of_any_stride() -> None:
    x = paddle.to_tensor(A)
    if of_release({(2, 6): False, (3, 0): True}):
        view = paddle.as_strided(x, [3, 2], [7, 2], offset=4)
        wanted = np.lib.stride_tricks.as_strided(A.ravel()[1:], (3, 2), (28, 8))
        np.testing.assert_array_equal(view.numpy(), wanted)
    else:
        with pytest.raises(RuntimeError, match="kernel `as_strided` is not registered"):
            paddle.as_strided(x, [3, 2], [7, 2])


def test_gradients_add_up() -> None:
    x = paddle.to_tensor(A, stop_gradient=False)
    (x * 2 + x * 3).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full_like(A, 5))
    (x * x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 5 + 2 * A, rtol=1e-5)
    x.clear_gradient()
    assert x.grad is None or not x.grad.numpy().any()


def test_gradients_of_gradients() -> None:
    x = paddle.to_tensor(A, stop_gradient=False)
    (first,) = paddle.grad((x**3).sum(), x, create_graph=True)
    (second,) = paddle.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), 6 * A, rtol=1e-5)


def test_a_hook_and_a_detached_tensor() -> None:
    x = paddle.to_tensor(A, stop_gradient=False)
    seen: list[Any] = []

    def double(gradient: Any) -> Any:
        seen.append(gradient)
        return gradient * 2

    x.register_hook(double)
    (x * x.detach()).sum().backward()
    assert is_on(seen[0])
    np.testing.assert_allclose(x.grad.numpy(), 2 * A, rtol=1e-6)


OPTIMIZERS: dict[str, Callable[..., Any]] = {
    "SGD": lambda p: paddle.optimizer.SGD(0.1, parameters=p, weight_decay=0.01),
    "Momentum": lambda p: paddle.optimizer.Momentum(0.1, 0.9, parameters=p, use_nesterov=True),
    "Momentum with decay": lambda p: paddle.optimizer.Momentum(
        0.1, 0.9, parameters=p, weight_decay=paddle.regularizer.L2Decay(0.01)
    ),
    "Adam": lambda p: paddle.optimizer.Adam(0.01, parameters=p),
    "AdamW": lambda p: paddle.optimizer.AdamW(0.01, parameters=p, weight_decay=0.1),
    "Adagrad": lambda p: paddle.optimizer.Adagrad(0.1, parameters=p),
    "clipped": lambda p: paddle.optimizer.AdamW(
        paddle.optimizer.lr.CosineAnnealingDecay(0.01, 10),
        parameters=p,
        grad_clip=paddle.nn.ClipGradByGlobalNorm(0.1),
    ),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers(optimizer: str) -> None:
    def compute() -> list[Any]:
        layer = paddle.nn.Linear(6, 3)
        layer.weight.set_value(normal(6, 3))
        layer.bias.set_value(normal(3, seed=1))
        steps = OPTIMIZERS[optimizer](layer.parameters())
        for _ in range(5):
            layer(paddle.to_tensor(A)).square().mean().backward()
            steps.step()
            steps.clear_grad()
        return [layer.weight, layer.bias]

    close(*on_both(compute))


def test_batch_norm_keeps_its_statistics() -> None:
    def compute() -> list[Any]:
        norm = paddle.nn.BatchNorm2D(3)
        for seed in range(3):
            norm(paddle.to_tensor(normal(2, 3, 9, 9, seed=seed)))
        norm.eval()
        return [norm._mean, norm._variance, norm(paddle.to_tensor(IMAGE))]

    ours, wanted = on_both(compute)
    assert np.abs(ours[0].numpy()).max() > 1e-4
    close(ours, wanted)


def test_random_numbers_repeat_with_their_seed() -> None:
    draws: list[Callable[[], Any]] = [
        lambda: paddle.uniform([1000], min=-1.0, max=3.0),
        lambda: paddle.normal(2.0, 0.5, [1000]),
        lambda: paddle.randint(0, 10, [1000]),
        lambda: paddle.randperm(50),
        lambda: F.dropout(paddle.ones([1000]), 0.3),
    ]
    for draw in draws:
        paddle.seed(7)
        first, second = draw().numpy(), draw().numpy()
        paddle.seed(7)
        np.testing.assert_array_equal(draw().numpy(), first)
        assert (first != second).any()


def test_random_numbers_are_spread_as_asked() -> None:
    uniform = paddle.uniform([20000], min=-1.0, max=3.0)
    assert is_on(uniform)
    assert uniform.min().item() >= -1.0
    assert uniform.max().item() <= 3.0
    assert abs(uniform.mean().item() - 1.0) < 0.05
    gaussian = paddle.normal(2.0, 0.5, [20000])
    assert abs(gaussian.mean().item() - 2.0) < 0.02
    assert abs(gaussian.std().item() - 0.5) < 0.02
    dropped = F.dropout(paddle.ones([20000]), 0.3)
    assert abs((dropped == 0).astype("float32").mean().item() - 0.3) < 0.02
    assert abs(dropped.mean().item() - 1.0) < 0.03


def test_initializers_fill_parameters_on_the_device() -> None:
    initializers = paddle.nn.initializer
    for initializer in (
        initializers.Constant(0.5),
        initializers.XavierUniform(),
        initializers.KaimingNormal(),
        initializers.TruncatedNormal(std=0.1),
        initializers.Assign(normal(6, 3)),
    ):
        layer = paddle.nn.Linear(6, 3, weight_attr=paddle.ParamAttr(initializer=initializer))
        assert is_on(layer.weight)
        assert np.isfinite(layer.weight.numpy()).all()


def test_recurrent_networks() -> None:
    def compute() -> list[Any]:
        paddle.seed(3)
        network = paddle.nn.LSTM(4, 5)
        for index, parameter in enumerate(network.parameters()):
            parameter.set_value(normal(*parameter.shape, seed=index) * 0.3)
        out, _ = network(paddle.to_tensor(normal(2, 6, 4)))
        out.sum().backward()
        return [out] + [parameter.grad for parameter in network.parameters()]

    close(*on_both(compute))


def test_scaled_losses() -> None:
    layer = paddle.nn.Linear(6, 3)
    optimizer = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    scaler = paddle.amp.GradScaler(init_loss_scaling=64.0, use_dynamic_loss_scaling=False)
    before = layer.weight.numpy()
    scaler.scale(layer(paddle.to_tensor(A)).mean()).backward()
    np.testing.assert_allclose(layer.bias.grad.numpy(), np.full(3, 64 / 3), rtol=1e-5)
    scaler.step(optimizer)
    scaler.update()
    wanted = before - 0.1 * A.mean(0)[:, None] / 3
    np.testing.assert_allclose(layer.weight.numpy(), wanted, rtol=1e-4, atol=1e-6)
