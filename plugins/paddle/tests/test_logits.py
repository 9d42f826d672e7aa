"""The cross entropy and the masked softmax of logits, against NumPy and Paddle's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray
from paddle import incubate

from host import RELEASE, is_on, normal, on_both
from kernel_case import Case, check

LOGITS = normal(3, 5) * 4
LABELS = np.random.default_rng(1).random((3, 5)).astype("float32")
WEIGHTS = np.random.default_rng(2).random((3, 5)).astype("float32") + 0.5
SCORES = normal(2, 3, 4, 4, seed=3)
MASK = np.where(normal(2, 1, 4, 4, seed=4) > 0, 0, -1e4).astype("float32")
SQUARE = np.tril(np.ones((4, 4), bool))

Array = NDArray[Any]


def entropy(normalize: bool, ignored: int, weighted: bool) -> Case:
    """Returns the kernel's loss of logits, and its gradient."""

    def compute(x: Any) -> Any:
        label = LABELS.copy()
        label[1, 2] = ignored
        weight = paddle.to_tensor(WEIGHTS).cast(x.dtype) if weighted else None
        return paddle._C_ops.sigmoid_cross_entropy_with_logits(
            x, paddle.to_tensor(label).cast(x.dtype), weight, normalize, ignored
        )

    return Case(compute, (LOGITS,))


def softmax(x: Array) -> Array:
    """Returns the softmax along the last dimension."""
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: Array = powers / powers.sum(-1, keepdims=True)
    return result


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("ignored", [-100, 3])
def test_entropy_and_its_gradient_are_those_of_the_cpu(
    ignored: int, normalize: bool, dtype: str
) -> None:
    check(entropy(normalize, ignored, False), dtype)


@pytest.mark.parametrize("normalize", [False, True])
def test_weighted_entropy_is_that_of_numpy(normalize: bool) -> None:
    x = paddle.to_tensor(LOGITS.astype("float64"), stop_gradient=False)
    out = entropy(normalize, -100, True).compute(x)
    out.sum().backward()
    label = LABELS.astype("float64")
    label[1, 2] = -100
    counted = label != -100
    divisor = counted.sum() if normalize else 1
    wide, weight = LOGITS.astype("float64"), WEIGHTS.astype("float64")
    wanted = np.where(counted, (1 - label) * wide + weight * np.logaddexp(0, -wide), 0) / divisor
    slopes = np.where(counted, 1 - label - weight / (1 + np.exp(wide)), 0) / divisor
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-12, atol=1e-12)


def test_entropy_without_labels_that_count_is_zero() -> None:
    labels = paddle.full([3, 5], -100.0)
    out = paddle._C_ops.sigmoid_cross_entropy_with_logits(
        paddle.to_tensor(LOGITS), labels, None, True, -100
    )
    np.testing.assert_array_equal(out.numpy(), np.zeros((3, 5)))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_layers_of_entropy_are_those_of_the_cpu(reduction: str) -> None:
    # The CPU of 2.6 has another value for negative logits with a weight.
    weight = paddle.to_tensor(np.array(2.0, "float32")) if RELEASE >= (3, 0) else None
    check(
        Case(
            lambda x, label: F.binary_cross_entropy_with_logits(
                x, label.detach(), reduction=reduction, pos_weight=weight and weight.cast(x.dtype)
            ),
            (LOGITS, LABELS),
        ),
        "float32",
    )
    check(
        Case(lambda x: F.sigmoid_focal_loss(x, paddle.round(paddle.to_tensor(LABELS))), (LOGITS,)),
        "float32",
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_masked_softmax_is_that_of_the_cpu(dtype: str) -> None:
    mask = MASK.astype(dtype)
    case = Case(lambda x: incubate.softmax_mask_fuse(x, paddle.to_tensor(mask)), (SCORES,))
    check(case, dtype)
    paddle.set_device("cpu")
    theirs = case.compute(paddle.to_tensor(SCORES.astype(dtype))).numpy()
    np.testing.assert_allclose(theirs, softmax(SCORES + MASK), rtol=1e-5, atol=1e-6)


def test_causal_softmax_and_its_gradient_are_those_of_numpy() -> None:
    # Paddle's CPU refuses it.
    x = paddle.to_tensor(SCORES, stop_gradient=False)
    out = incubate.softmax_mask_fuse_upper_triangle(x)
    weights = normal(*SCORES.shape, seed=9)
    out.backward(paddle.to_tensor(weights))
    wanted = softmax(np.where(SQUARE, SCORES, -np.inf))
    slopes = wanted * (weights - (wanted * weights).sum(-1, keepdims=True))
    assert is_on(out)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), slopes, rtol=1e-5, atol=1e-6)


def test_half_precision_is_rounded_once() -> None:
    half = paddle.to_tensor(SCORES.astype("float16"))
    mask = paddle.to_tensor(normal(2, 1, 4, 4, seed=5).astype("float16"))
    out = incubate.softmax_mask_fuse(half, mask)
    wanted = softmax(half.numpy().astype("float32") + mask.numpy().astype("float32"))
    np.testing.assert_allclose(out.numpy(), wanted.astype("float16"), rtol=1e-3, atol=0)


def test_wrong_shapes_are_errors() -> None:
    with pytest.raises(Exception, match="shape|broadcast|InvalidArgument"):
        incubate.softmax_mask_fuse(paddle.to_tensor(SCORES), paddle.ones([2, 1, 4, 3])).numpy()
    with pytest.raises(Exception, match="shape"):
        incubate.softmax_mask_fuse_upper_triangle(paddle.ones([1, 2, 3, 4])).numpy()


def test_results_are_on_the_device() -> None:
    x, label = paddle.to_tensor(LOGITS), paddle.to_tensor(LABELS)
    assert is_on(F.binary_cross_entropy_with_logits(x, label))
    assert is_on(incubate.softmax_mask_fuse(paddle.to_tensor(SCORES), paddle.to_tensor(MASK)))
    ours, theirs = on_both(lambda: F.binary_cross_entropy_with_logits(x.cpu(), label.cpu()).numpy())
    assert ours.shape == theirs.shape
