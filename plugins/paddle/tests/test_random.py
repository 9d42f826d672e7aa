"""Random operators: shares, scaling, gradients, and seeds that give the same numbers again."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import RELEASE, is_on, place

ROWS, COLUMNS = 200, 300


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_dropout_drops_a_share_and_scales_the_rest(dtype: str) -> None:
    x = paddle.ones([ROWS, COLUMNS], dtype)
    kept = F.dropout(x, 0.3).cast("float64").numpy()
    assert abs((kept == 0).mean() - 0.3) < 0.02
    np.testing.assert_allclose(kept[kept != 0], 1 / 0.7, rtol=1e-3)


def test_the_gradient_of_dropout_is_zero_where_elements_were_dropped() -> None:
    x = paddle.ones([ROWS, COLUMNS])
    x.stop_gradient = False
    kept = F.dropout(x, 0.5)
    (kept * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), kept.numpy() * 3)


def test_dropout_of_rows_drops_them_whole() -> None:
    kept = F.dropout(paddle.ones([ROWS, COLUMNS]), 0.5, axis=0).numpy()
    assert set(map(float, kept.mean(1))) == {0.0, 2.0}


@pytest.mark.parametrize("mode", ["upscale_in_train", "downscale_in_infer"])
def test_nothing_is_dropped_in_use(mode: str) -> None:
    x = paddle.ones([ROWS, COLUMNS])
    x.stop_gradient = False
    used = F.dropout(x, 0.25, training=False, mode=mode)
    factor = 1 if mode == "upscale_in_train" else 0.75
    np.testing.assert_allclose(used.numpy(), factor, rtol=1e-6)
    used.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), factor, rtol=1e-6)


def test_a_seed_gives_the_same_numbers_again() -> None:
    x = paddle.ones([ROWS, COLUMNS])

    def draw() -> tuple[bytes, bytes]:
        paddle.seed(7)
        return F.dropout(x, 0.5).numpy().tobytes(), F.dropout(x, 0.5).numpy().tobytes()

    first, second = draw()
    assert first != second
    assert draw() == (first, second)
    paddle.seed(8)
    assert F.dropout(x, 0.5).numpy().tobytes() != first


def in_view(change: Callable[[Any], Any]) -> Any:
    """Returns elements that an operator changed through a view, where there are views."""
    x = paddle.full([ROWS + 2, COLUMNS + 3], 9.0)
    if RELEASE < (3, 0):
        x = x[1:-1, 2:-1].clone()
        change(x)
        return x
    change(x[1:-1, 2:-1])
    border = x.numpy().copy()
    border[1:-1, 2:-1] = 9
    np.testing.assert_array_equal(border, 9)
    return x[1:-1, 2:-1]


SHAPE = [ROWS, COLUMNS]
DRAWN: dict[str, tuple[Callable[[], Any], float, float, float, float]] = {
    "uniform": (lambda: paddle.uniform(SHAPE, min=-2, max=4), 1.0, 3**0.5, -2, 4),
    "rand": (lambda: paddle.rand(SHAPE, "float64"), 0.5, 12**-0.5, 0, 1),
    "normal": (lambda: paddle.normal(3.0, 2.0, SHAPE), 3.0, 2.0, -20, 20),
    "randn": (lambda: paddle.randn(SHAPE, "float64"), 0.0, 1.0, -9, 9),
    "randint": (lambda: paddle.randint(-3, 4, SHAPE), 0.0, 2.0, -3, 3),
    "randperm": (lambda: paddle.randperm(1000), 499.5, 288.675, 0, 999),
    "bernoulli": (lambda: paddle.bernoulli(paddle.full(SHAPE, 0.2)), 0.2, 0.4, 0, 1),
    "uniform_": (lambda: in_view(lambda x: x.uniform_(-2, 4)), 1.0, 3**0.5, -2, 4),
    "exponential_": (lambda: in_view(lambda x: x.exponential_(2.0)), 0.5, 0.5, 0, 20),
    "truncated normal": (
        lambda: truncated(SHAPE),
        0.0,
        0.8796,
        -2,
        2,
    ),
}
"""A call, and the mean, the standard deviation, the least and the largest number."""
for rate in (0.5, 6.0, 40.0):
    DRAWN[f"poisson of {rate}"] = (
        partial(lambda rate: paddle.poisson(paddle.full(SHAPE, rate)), rate),
        rate,
        rate**0.5,
        0,
        10 + 3 * rate,
    )
DRAWN["dirichlet"] = (
    lambda: paddle._C_ops.dirichlet(paddle.full([ROWS * COLUMNS, 3], 2.0)),
    1 / 3,
    (2 / 63) ** 0.5,
    0,
    1,
)
if RELEASE >= (3, 3):
    DRAWN["random_"] = (lambda: in_view(lambda x: x.random_(0, 10)), 4.5, 8.25**0.5, 0, 9)
# There since 3.0.
if RELEASE >= (3, 0):
    for trials, p in ((20, 0.25), (200, 0.5), (100, 0.75)):
        DRAWN[f"binomial of {trials} and {p}"] = (
            partial(
                lambda trials, p: paddle.binomial(
                    paddle.full(SHAPE, trials, "int64"), paddle.full(SHAPE, p)
                ),
                trials,
                p,
            ),
            trials * p,
            (trials * p * (1 - p)) ** 0.5,
            0,
            trials,
        )
    for alpha in (0.5, 3.0):
        DRAWN[f"standard_gamma of {alpha}"] = (
            partial(lambda alpha: paddle.standard_gamma(paddle.full(SHAPE, alpha)), alpha),
            alpha,
            alpha**0.5,
            0,
            30,
        )
    DRAWN["normal_"] = (lambda: in_view(lambda x: x.normal_(3.0, 2.0)), 3.0, 2.0, -20, 20)


def truncated(shape: list[int]) -> Any:
    layer = paddle.nn.initializer.TruncatedNormal(0.0, 1.0)
    return paddle.create_parameter(shape, "float32", default_initializer=layer)


@pytest.mark.parametrize("name", DRAWN)
def test_numbers_are_of_their_distribution(name: str) -> None:
    draw, mean, deviation, least, largest = DRAWN[name]
    paddle.seed(3)
    drawn = draw()
    assert is_on(drawn)
    numbers = drawn.numpy().astype("float64")
    error = 6 * deviation / numbers.size**0.5
    assert abs(numbers.mean() - mean) < error
    assert abs(numbers.std() - deviation) < 4 * error
    assert least <= numbers.min() and numbers.max() <= largest
    assert len(np.unique(numbers)) > 1


@pytest.mark.parametrize("name", DRAWN)
def test_a_seed_draws_the_same_numbers_again(name: str) -> None:
    def draw() -> tuple[bytes, bytes]:
        paddle.seed(5)
        return DRAWN[name][0]().numpy().tobytes(), DRAWN[name][0]().numpy().tobytes()

    first, second = draw()
    assert first != second
    assert draw() == (first, second)


def test_a_permutation_has_each_number_once() -> None:
    np.testing.assert_array_equal(np.sort(paddle.randperm(1000).numpy()), np.arange(1000))


def test_choices_have_the_shares_of_their_weights() -> None:
    weights = paddle.to_tensor([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    chosen = paddle.multinomial(weights, 20000, replacement=True).numpy()
    shares = np.stack([np.bincount(row, minlength=3) / 20000 for row in chosen])
    np.testing.assert_allclose(shares, [[0.25, 0, 0.75], [0.5, 0.5, 0]], atol=0.02)
    apart = paddle.multinomial(paddle.rand([300]), 200).numpy()
    assert len(set(apart.tolist())) == 200


def test_numbers_of_a_choice_are_not_those_of_the_next_operator() -> None:
    paddle.seed(4)
    # The choice draws a number for each weight.
    first = paddle.multinomial(paddle.ones([2, 1000]), 1).numpy()
    second = paddle.multinomial(paddle.ones([2, 1000]), 1).numpy()
    assert first.tolist() != second.tolist()


def test_static_programs_draw_numbers() -> None:
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            x = paddle.static.data("x", [-1, 3], "float32")
            drawn = [paddle.rand([paddle.shape(x)[0], 3]), paddle.randint(2, 5, [4, 2])]
            drawn += [paddle.randn([50]), paddle.randperm(7)]
        executor = paddle.static.Executor(place())
        found = executor.run(program, {"x": np.ones([4, 3], "float32")}, fetch_list=drawn)
    finally:
        paddle.disable_static()
    assert [list(array.shape) for array in found] == [[4, 3], [4, 2], [50], [7]]
    assert len(np.unique(found[0])) > 1
    assert set(found[1].flatten().tolist()) <= {2, 3, 4}


def test_numbers_in_place_have_no_gradient() -> None:
    x = paddle.ones([ROWS, COLUMNS])
    x.stop_gradient = False
    changed = x * 2
    changed.uniform_()
    (changed * 3).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 0)


def test_shares_of_a_dirichlet_distribution_add_up_to_one() -> None:
    shares = paddle._C_ops.dirichlet(paddle.to_tensor([[0.01, 2.0, 5.0]] * ROWS)).numpy()
    np.testing.assert_allclose(shares.sum(-1), 1, rtol=1e-6)
    np.testing.assert_allclose(shares.mean(0), np.array([0.01, 2, 5]) / 7.01, atol=0.07)


def test_poisson_numbers_have_no_gradient() -> None:
    rates = paddle.ones([ROWS])
    rates.stop_gradient = False
    paddle.poisson(rates).sum().backward()
    np.testing.assert_array_equal(rates.grad.numpy(), 0)


def test_a_negative_rate_is_an_error() -> None:
    with pytest.raises(Exception, match="cannot be -1"):
        paddle.poisson(paddle.full([2], -1.0)).numpy()
