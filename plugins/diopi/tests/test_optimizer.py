"""Steps of optimizers against the formulas of PyTorch's documentation."""

from typing import Any

import numpy as np
import pytest

from host import NEW, DiopiError, Library
from samples import HALF, REAL, Draw, near, rounded_once
from tensors import Array


def f8(*arrays: Array) -> list[Array]:
    return [array.astype("f8") for array in arrays]


def matches(actual: Array, expected: Array, factor: float = 2) -> None:
    """Checks a new parameter or state: half precision is computed in float32, rounded once."""
    if actual.dtype in HALF:
        rounded_once(actual, expected)
    else:
        near(actual, expected, factor)


def single(number: float) -> float:
    """Rounds a number as arguments of type `float` are."""
    return float(np.float32(number))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("momentum, dampening", [(0.0, 0.0), (0.9, 0.0), (0.5, 0.3)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd(
    lib: Library, dtype: Any, momentum: float, dampening: float, decay: float, nesterov: bool
) -> None:
    draw = Draw(dtype)
    param, grad, buffer = draw.writable(3, 5), draw.writable(3, 5), draw.writable(3, 5)
    p, g, b = f8(param, grad, buffer)
    before = grad.copy()
    g = g + decay * p
    if momentum:
        b = momentum * b + (1 - dampening) * g
        g = g + momentum * b if nesterov else b
    p = p - 0.1 * g
    given = buffer if momentum else None
    lib.call("diopiSgd", param, grad, given, 0.1, momentum, dampening, decay, nesterov)
    matches(param, p)
    matches(buffer, b)
    np.testing.assert_array_equal(grad, before)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_without_buffer_is_a_first_step(lib: Library, nesterov: bool) -> None:
    param, grad = np.ones(3, "f8"), np.array([1.0, 2, -3])
    lib.call("diopiSgd", param, grad, None, 0.1, 0.9, 0.5, 0.25, nesterov)
    grad = grad + 0.25
    near(param, 1 - 0.1 * grad * (1.9 if nesterov else 1))


def adam(
    state: list[Array],
    grad: Array,
    settings: list[float],
    step: int,
    amsgrad: bool,
    is_decoupled: bool,
) -> list[Array]:
    """Returns the new parameter and its state."""
    p, m, v, top = f8(*state)
    lr, beta1, beta2, eps, decay = settings
    g = grad.astype("f8")
    if is_decoupled:
        p = p * (1 - lr * decay)
    else:
        g = g + decay * p
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    top = np.maximum(top, v) if amsgrad else top
    root = np.sqrt(top if amsgrad else v) / np.sqrt(1 - beta2**step) + eps
    return [p - lr / (1 - beta1**step) * m / root, m, v, top]


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("name", ["diopiAdam", "diopiAdamW"])
def test_adam(lib: Library, name: str, dtype: Any, step: int, amsgrad: bool, decay: float) -> None:
    draw = Draw(dtype)
    state = [
        draw.writable(4, 3),
        draw.writable(4, 3),
        *(draw.writable(4, 3, low=0.1) for _ in range(2)),
    ]
    grad = draw(4, 3)
    settings = [single(number) for number in (0.01, 0.9, 0.999, 1e-4, decay)]
    expected = adam(state, grad, settings, step, amsgrad, name == "diopiAdamW")
    param, m, v, top = state
    lib.call(name, param, grad, m, v, top if amsgrad else None, *settings, step, amsgrad)
    for actual, reference in zip(state, expected, strict=True):
        matches(actual, reference)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("amsgrad", [False, True])
@pytest.mark.parametrize("maximize", [False, True])
def test_fused_adam_w(lib: Library, dtype: Any, amsgrad: bool, maximize: bool) -> None:
    draw = Draw(dtype)
    shapes = [(4, 3), (5,), ()]
    lists = [[draw.writable(*shape, low=0.1) for shape in shapes] for _ in range(4)]
    grads = [draw(*shape) for shape in shapes]
    steps = [np.array(step, "f4") for step in (1, 3, 9)]
    settings = [0.01, 0.9, 0.999, 1e-4, 0.1]
    sign = -1 if maximize else 1
    expected = [
        adam(list(state), sign * grad, settings, int(step), amsgrad, True)
        for *state, grad, step in zip(*lists, grads, steps, strict=True)
    ]
    params, averages, squares, greatest = lists
    given = greatest if amsgrad else None
    arguments = [
        params,
        grads,
        averages,
        squares,
        given,
        steps,
        len(shapes),
        *settings,
        amsgrad,
        maximize,
    ]
    lib.call("diopiFusedAdamW", *arguments)
    for state, reference in zip(zip(*lists, strict=True), expected, strict=True):
        for actual, wanted in zip(state, reference, strict=True):
            matches(actual, wanted)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_adadelta(lib: Library, dtype: Any, decay: float) -> None:
    draw = Draw(dtype)
    param, grad = draw.writable(6), draw(6)
    square, updates = draw.writable(6, low=0.1), draw.writable(6, low=0.1)
    lr, rho, eps, decay = (single(number) for number in (0.5, 0.9, 1e-3, decay))
    p, g, s, u = f8(param, grad, square, updates)
    g = g + decay * p
    s = rho * s + (1 - rho) * g * g
    delta = np.sqrt(u + eps) / np.sqrt(s + eps) * g
    u = rho * u + (1 - rho) * delta**2
    lib.call("diopiAdadelta", param, grad, square, updates, lr, rho, eps, decay)
    for actual, reference in [(param, p - lr * delta), (square, s), (updates, u)]:
        matches(actual, reference)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("momentum", [0.0, 0.5])
@pytest.mark.parametrize("centered", [False, True])
def test_rmsprop(lib: Library, dtype: Any, momentum: float, centered: bool) -> None:
    draw = Draw(dtype)
    param, grad, square = draw.writable(5), draw(5), draw.writable(5, low=4, high=5)
    average, buffer = draw.writable(5, low=-0.5, high=0.5), draw.writable(5)
    lr, alpha, eps, decay = (single(number) for number in (0.1, 0.9, 1e-3, 0.05))
    p, g, s, a, b = f8(param, grad, square, average, buffer)
    g = g + decay * p
    s = alpha * s + (1 - alpha) * g * g
    if centered:
        a = alpha * a + (1 - alpha) * g
    update = g / (np.sqrt(s - a * a if centered else s) + eps)
    if momentum:
        update = b = momentum * b + update
    given = [average if centered else None, buffer if momentum else None]
    lib.call("diopiRmsprop", param, grad, square, *given, lr, alpha, eps, decay, momentum, centered)
    for actual, reference in [(param, p - lr * update), (square, s), (average, a), (buffer, b)]:
        matches(actual, reference, 4)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("greatest", [0.5, 1e4])
def test_clip_grad_norm(lib: Library, dtype: Any, order: float, greatest: float) -> None:
    draw = Draw(dtype)
    grads = [draw.writable(2, 3), draw.writable(4), draw.writable(), draw.writable(0)]
    before = f8(*grads)
    flat = np.concatenate([grad.ravel() for grad in before])
    expected = np.linalg.norm(flat, order)
    norm = lib.call("diopiClipGradNorm", NEW, grads, len(grads), greatest, order, True)
    assert norm == pytest.approx(expected, 1e-6)
    for actual, reference in zip(grads, before, strict=True):
        matches(actual, reference * min(1, greatest / (expected + 1e-6)))


def test_clip_grad_norm_beyond_the_range_of_float16(lib: Library) -> None:
    grad = np.full(4, 60000, "f2")
    assert lib.call("diopiClipGradNorm", NEW, [grad], 1, 2.0, 2.0, True) == pytest.approx(120000)
    rounded_once(grad, np.ones(4))


def test_clip_grad_norm_of_infinite_gradients(lib: Library) -> None:
    grad = np.array([1, np.inf], "f4")
    with pytest.raises(DiopiError, match="norm"):
        lib.call("diopiClipGradNorm", NEW, [grad], 1, 1.0, 2.0, True)
    assert grad[0] == 1
    assert lib.call("diopiClipGradNorm", NEW, [grad], 1, 1.0, 2.0, False) == np.inf
    np.testing.assert_array_equal(grad, np.array([0, np.nan], "f4"))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("bad", [None, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_amp_unscale(
    lib: Library, dtype: Any, bad: float | None, found: float, shape: tuple[int]
) -> None:
    draw = Draw(dtype)
    grads = [draw.writable(2, 3), draw.writable(4), draw.writable(0)]
    if bad is not None:
        grads[1][2] = bad
    expected = [0.25 * grad.astype("f8") for grad in grads]
    noted, factor = np.full(shape, found, "f4"), np.full(shape, 0.25, "f4")
    lib.call("diopiAmpForeachNonFiniteCheckAndUnscaleInp", grads, len(grads), noted, factor)
    assert noted == (1 if bad is not None else found)
    for actual, reference in zip(grads, expected, strict=True):
        near(actual, reference)


@pytest.mark.parametrize(
    "scale, tracker, found, expected",
    [
        (8.0, 1, 0.0, (8.0, 2)),
        (8.0, 2, 0.0, (16.0, 0)),
        (8.0, 2, 1.0, (4.0, 0)),
        (8.0, 0, 1.0, (4.0, 0)),
        (3e38, 2, 0.0, (3e38, 0)),
    ],
)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_amp_update_scale(
    lib: Library,
    scale: float,
    tracker: int,
    found: float,
    expected: tuple[float, int],
    shape: tuple[int],
) -> None:
    scales, steps = np.full(shape, scale, "f4"), np.full(shape, tracker, "i4")
    lib.call("diopiAmpUpdateScaleInp", scales, steps, np.full(shape, found, "f4"), 2.0, 0.5, 3)
    assert scales == np.float32(expected[0])
    assert steps == expected[1]
