"""Operators of neural networks: results and gradients against Paddle's CPU."""

from __future__ import annotations

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import normal
from kernel_case import Array, Case, check

IMAGES = normal(2, 4, 5, 6)
ROWS = normal(3, 5, 7, seed=1)
LOGITS = normal(6, 10, seed=2) * 3
LABELS = np.array([[3], [0], [9], [-100], [5], [5]])
# Paddle's CPU kernel of nll_loss writes before its memory for a label that is ignored.
CLASSES = np.array([3, 0, 9, 2, 5, 5])
FILTERS = normal(6, 4, 3, 3, seed=20) * 0.3
SOFT = np.exp(normal(6, 10, seed=3)) / np.exp(normal(6, 10, seed=3)).sum(1, keepdims=True)


def weighted(shape: int, seed: int) -> Array:
    """Returns one number for each channel, near 1."""
    return normal(shape, seed=seed) * 0.1 + 1


CASES: dict[str, Case] = {
    "matmul": Case(paddle.matmul, (normal(4, 5), normal(5, 6, seed=1))),
    "matmul of batches": Case(paddle.matmul, (normal(3, 4, 5), normal(3, 5, 6, seed=1))),
    "matmul, batch by matrix": Case(paddle.matmul, (normal(3, 4, 5), normal(5, 6, seed=1))),
    "matmul, transposed": Case(
        lambda a, b: paddle.matmul(a, b, transpose_x=True, transpose_y=True),
        (normal(2, 5, 4), normal(2, 6, 5, seed=1)),
    ),
    "matmul, left transposed": Case(
        lambda a, b: paddle.matmul(a, b, transpose_x=True), (normal(5, 4), normal(5, 6, seed=1))
    ),
    "matmul of vectors": Case(paddle.matmul, (normal(5), normal(5, seed=1))),
    "matmul, vector by matrix": Case(paddle.matmul, (normal(5), normal(5, 6, seed=1))),
    "matmul, matrix by vector": Case(paddle.matmul, (normal(4, 5), normal(5, seed=1))),
    "bmm": Case(paddle.bmm, (normal(3, 4, 5), normal(3, 5, 6, seed=1))),
    "mv": Case(paddle.mv, (normal(4, 5), normal(5, seed=1))),
    "linear": Case(F.linear, (normal(2, 3, 5), normal(5, 6, seed=1), normal(6, seed=2))),
    "softmax": Case(F.softmax, (ROWS,)),
    "softmax of the first dimension": Case(lambda x: F.softmax(x, axis=0), (ROWS,)),
    "log_softmax": Case(lambda x: F.log_softmax(x, axis=1), (ROWS,)),
    "cross entropy": Case(lambda x, y: F.cross_entropy(x, y), (LOGITS, LABELS)),
    "cross entropy of each": Case(
        lambda x, y: F.cross_entropy(x, y, reduction="none"), (LOGITS, LABELS)
    ),
    "cross entropy of soft labels": Case(
        lambda x, y: F.cross_entropy(x, y.detach(), soft_label=True), (LOGITS, SOFT)
    ),
    "cross entropy, sum": Case(
        lambda x, y: F.cross_entropy(x, y[:, 0], reduction="sum"), (LOGITS, LABELS)
    ),
    "cross entropy of pixels": Case(
        lambda x: F.cross_entropy(x, paddle.ones([2, 5, 6, 1], "int64"), axis=-1),
        (np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1)),),
    ),
    "nll_loss": Case(lambda x, y: F.nll_loss(F.log_softmax(x), y), (LOGITS, CLASSES)),
    "nll_loss with weights": Case(
        lambda x, w, y: F.nll_loss(F.log_softmax(x), y, weight=w.detach()),
        (LOGITS, weighted(10, 4), CLASSES),
    ),
    "nll_loss of each": Case(
        lambda x, y: F.nll_loss(F.log_softmax(x), y, reduction="none"), (LOGITS, CLASSES)
    ),
    "layer_norm": Case(
        lambda x, w, b: F.layer_norm(x, 7, w, b), (ROWS, weighted(7, 5), normal(7, seed=6))
    ),
    "layer_norm of two dimensions": Case(lambda x: F.layer_norm(x, [5, 7]), (ROWS,)),
    "group_norm": Case(
        lambda x, w, b: paddle._C_ops.group_norm(x, w, b, 1e-5, 2, "NCHW"),
        (IMAGES, weighted(4, 7), normal(4, seed=8)),
    ),
    "instance_norm": Case(
        lambda x, w, b: F.instance_norm(x, weight=w, bias=b),
        (IMAGES, weighted(4, 9), normal(4, seed=10)),
        1e-4,
    ),
    "batch_norm in training": Case(
        lambda x, w, b: F.batch_norm(
            x, paddle.zeros([4], x.dtype), paddle.ones([4], x.dtype), w, b, training=True
        ),
        (IMAGES, weighted(4, 11), normal(4, seed=12)),
        1e-4,
    ),
    "conv2d": Case(lambda x, w: F.conv2d(x, w, padding=1), (IMAGES, FILTERS)),
    "conv2d with strides and dilation": Case(
        lambda x, w: F.conv2d(x, w, stride=2, padding=[1, 2], dilation=2), (IMAGES, FILTERS)
    ),
    "conv2d with different paddings": Case(
        lambda x, w: F.conv2d(x, w, padding=[0, 1, 2, 0]), (IMAGES, FILTERS)
    ),
    "conv2d, same": Case(lambda x, w: F.conv2d(x, w, padding="SAME", stride=2), (IMAGES, FILTERS)),
    "conv2d in groups": Case(
        lambda x, w: F.conv2d(x, w, groups=2), (IMAGES, normal(6, 2, 3, 3, seed=21))
    ),
    "conv2d of each channel": Case(
        lambda x, w: F.conv2d(x, w, groups=4, padding=1), (IMAGES, normal(4, 1, 3, 3, seed=22))
    ),
    "conv2d, channels last": Case(
        lambda x, w: F.conv2d(x, w, data_format="NHWC"),
        (np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1)), FILTERS),
    ),
    "conv1d": Case(lambda x, w: F.conv1d(x, w, padding=1), (ROWS, normal(2, 5, 3, seed=23))),
    "conv3d": Case(
        lambda x, w: F.conv3d(x, w, padding=1), (normal(1, 2, 4, 4, 4), normal(3, 2, 2, 2, 2))
    ),
    "conv2d_transpose": Case(
        lambda x, w: F.conv2d_transpose(x, w, stride=2, padding=1, output_padding=1),
        (IMAGES, normal(4, 3, 3, 3, seed=24)),
    ),
    "conv2d_transpose in groups": Case(
        lambda x, w: F.conv2d_transpose(x, w, groups=2), (IMAGES, normal(4, 3, 3, 3, seed=25))
    ),
    "max_pool2d": Case(lambda x: F.max_pool2d(x, 2), (IMAGES,)),
    "max_pool2d, overlapping": Case(
        lambda x: F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True), (IMAGES,)
    ),
    "max_pool2d with indices": Case(lambda x: F.max_pool2d(x, 2, return_mask=True), (IMAGES,)),
    "avg_pool2d": Case(lambda x: F.avg_pool2d(x, 2, padding=1), (IMAGES,)),
    # Paddle's CPU divides by the size of a window in float32.
    "avg_pool2d with padding": Case(
        lambda x: F.avg_pool2d(x, 3, stride=1, padding=1, exclusive=False), (IMAGES,), double=1e-7
    ),
    "adaptive_avg_pool2d": Case(lambda x: F.adaptive_avg_pool2d(x, [2, 3]), (IMAGES,), double=1e-7),
    "adaptive_max_pool2d": Case(lambda x: F.adaptive_max_pool2d(x, 2), (IMAGES,)),
    "avg_pool3d": Case(lambda x: F.avg_pool3d(x, 2), (normal(1, 2, 4, 4, 4),)),
    "embedding": Case(
        lambda w, x: F.embedding(x, w, padding_idx=0),
        (normal(10, 4), np.array([[1, 0, 3], [3, 9, 0]])),
    ),
    "batch_norm in use": Case(
        lambda x, w, b: F.batch_norm(
            x, paddle.full([4], 0.5, x.dtype), paddle.full([4], 2.0, x.dtype), w, b
        ),
        (IMAGES, weighted(4, 13), normal(4, seed=14)),
    ),
}


WIDE = normal(2, 2, 4, 5, seed=30)
"""Images that are smaller than some windows, by less than the stride: there is one window."""

CASES |= {
    "avg_pool2d of a larger window": Case(lambda x: F.avg_pool2d(x, 5, 3), (WIDE,), double=1e-7),
    "avg_pool2d of a larger window, rounded up": Case(
        lambda x: F.avg_pool2d(x, 7, 3, ceil_mode=True), (WIDE,), double=1e-7
    ),
    "avg_pool2d of a larger window, channels last": Case(
        lambda x: F.avg_pool2d(x, 5, 3, data_format="NHWC"),
        (np.ascontiguousarray(WIDE.transpose(0, 2, 3, 1)),),
        double=1e-7,
    ),
    "max_pool2d of a larger window": Case(lambda x: F.max_pool2d(x, 6, 4), (WIDE,)),
    "max_pool2d of a larger window with indices": Case(
        lambda x: F.max_pool2d(x, 5, 3, return_mask=True), (WIDE,)
    ),
    "avg_pool1d of a larger window": Case(lambda x: F.avg_pool1d(x[0], 6, 4), (WIDE,), double=1e-7),
    "avg_pool3d of a larger window": Case(
        lambda x: F.avg_pool3d(x.unsqueeze(0), (3, 5, 5), (2, 3, 3)), (WIDE,), double=1e-7
    ),
    "conv1d of a larger window": Case(
        lambda x, w: F.conv1d(x[0], w, stride=3), (WIDE, normal(3, 4, 7, seed=31))
    ),
    "conv2d of a larger window": Case(
        lambda x, w: F.conv2d(x, w, stride=3), (WIDE, normal(3, 2, 5, 6, seed=32))
    ),
    "conv2d of a larger window with a dilation": Case(
        lambda x, w: F.conv2d(x, w, stride=4, padding=1, dilation=4),
        (WIDE, normal(3, 2, 3, 3, seed=33)),
    ),
    "conv2d of each channel of a larger window": Case(
        lambda x, w: F.conv2d(x, w, stride=3, groups=2), (WIDE, normal(2, 1, 5, 6, seed=34))
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


def test_columns_of_a_larger_window_are_the_image_and_zeros() -> None:
    """Paddle's CPU writes past its memory for these."""
    x = paddle.to_tensor(WIDE)
    x.stop_gradient = False
    columns = F.unfold(x, [5, 6], 3)
    padded = np.pad(WIDE, ((0, 0), (0, 0), (0, 1), (0, 1)))
    np.testing.assert_array_equal(columns.numpy(), padded.reshape(2, 60, 1))
    (columns * columns).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * WIDE, rtol=1e-6)


def test_gradients_of_broadcast_batches() -> None:
    """Paddle's CPU refuses these."""
    a = paddle.to_tensor(normal(2, 1, 4, 5))
    b = paddle.to_tensor(normal(3, 5, 6, seed=1))
    a.stop_gradient = b.stop_gradient = False
    product = paddle.matmul(a, b)
    product.sum().backward()
    np.testing.assert_allclose(product.numpy(), a.numpy() @ b.numpy(), rtol=1e-5, atol=1e-5)
    ones = np.ones((2, 3, 4, 6), "float32")
    of_a = (ones @ b.numpy().swapaxes(-1, -2)).sum(1, keepdims=True)
    np.testing.assert_allclose(a.grad.numpy(), of_a, rtol=1e-5, atol=1e-5)
    of_b = (a.numpy().swapaxes(-1, -2) @ ones).sum(0)
    np.testing.assert_allclose(b.grad.numpy(), of_b, rtol=1e-5, atol=1e-5)
