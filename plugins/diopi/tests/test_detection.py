"""Boxes, regions and losses of object detection, as MMCV has them."""

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from host import NEW, DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]


def area(boxes: Array, offset: int) -> Array:
    result: Array = np.prod(boxes[..., 2:] - boxes[..., :2] + offset, -1)
    return result


def shared(a: Array, b: Array, offset: int) -> Array:
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    result: Array = np.prod(np.maximum(high - low + offset, 0), -1)
    return result


def quotients(a: Array, b: Array, mode: int, offset: int) -> Array:
    both = shared(a, b, offset)
    whole = area(a, offset) + (area(b, offset) - both if mode == 0 else 0)
    result: Array = both / np.maximum(whole, offset)
    return result


def some_boxes(draw: Draw, count: int) -> Array:
    corners = draw.rng.integers(0, 12, (count, 2))
    return np.hstack([corners, corners + draw.rng.integers(1, 9, (count, 2))]).astype(draw.dtype)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("offset", [0, 1])
def test_box_overlaps(lib: Library, dtype: Any, mode: int, offset: int) -> None:
    draw = Draw(dtype)
    a, b = some_boxes(draw, 7), some_boxes(draw, 5)
    wide = a.astype("f8"), b.astype("f8")
    out = lib.call("diopiBboxOverlapsMmcv", Out((7, 5), dtype), a, b, mode, offset, False)
    near(out, quotients(wide[0][:, None], wide[1], mode, offset))
    for shape in ((5,), (5, 1)):
        arguments = a[:5], b, mode, offset, True
        out = lib.call("diopiBboxOverlapsMmcv", Out(shape, dtype), *arguments)
        near(out.reshape(5), quotients(wide[0][:5], wide[1], mode, offset))
    with pytest.raises(DiopiError, match="`mode` is 2"):
        lib.call("diopiBboxOverlapsMmcv", Out((7, 5), dtype), a, b, 2, offset, False)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("offset", [0, 1])
def test_nms(lib: Library, dtype: Any, offset: int) -> None:
    draw = Draw(dtype)
    boxes, scores = some_boxes(draw, 40), draw.rng.permutation(40).astype(dtype)
    selected: list[int] = []
    wide = boxes.astype("f8")
    for n in np.argsort(-scores.astype("f8")):
        if all(quotients(wide[n], wide[m], 0, offset) <= 0.31 for m in selected):
            selected.append(int(n))
    out = lib.call("diopiNmsMmcv", NEW, boxes, scores, 0.31, offset)
    assert out.tolist() == selected and len(selected) < 40


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("aligned", [False, True])
def test_roi_align(lib: Library, dtype: Any, aligned: bool) -> None:
    draw = Draw(dtype)
    images = draw(2, 3, 6, 7)
    rois = np.array([[0, 1, 0.5, 4, 3], [1, 0, 2, 5, 5.5], [1, 2, 2, 3, 3]], dtype)
    none = np.zeros(0, dtype), np.ones(0, dtype)
    rest = 2, 3, 2, 1, 0.5, aligned
    out = Out((3, 3, 2, 3), dtype)
    out = lib.call("diopiRoiAlignMmcv", out, *none, images, rois, *rest)
    arguments = images, rois, 0.5, 2, 3, 2, aligned
    near(out, lib.call("diopiRoiAlign", Out((3, 3, 2, 3), dtype), *arguments).astype("f8"))
    assert out.astype("f8").any()
    upstream = draw(3, 3, 2, 3)
    back = Out(images.shape, dtype)
    back = lib.call("diopiRoiAlignBackwardMmcv", back, upstream, rois, *none, *rest)
    shape = upstream, rois, 0.5, 2, 3, *images.shape, 2, aligned
    other = lib.call("diopiRoiAlignBackward", Out(images.shape, dtype), *shape)
    near(back, other.astype("f8"))
    with pytest.raises(DiopiError, match="`pool_mode` is 2"):
        wrong = 2, 3, 2, 2, 0.5, aligned
        out = Out((3, 3, 2, 3), dtype)
        lib.call("diopiRoiAlignMmcv", out, *none, images, rois, *wrong)


def pooled(images: Array, rois: Array, height: int, width: int, scale: float) -> Any:
    """Returns the largest pixels of the cells of regions, and their indices."""
    shape = len(rois), images.shape[1], height, width
    out, places = np.zeros(shape), np.full(shape, -1)
    for n, (image, x1, y1, x2, y2) in enumerate(rois):
        left, top = x1 * scale, y1 * scale
        steps = ((y2 + 1) * scale - top) / height, ((x2 + 1) * scale - left) / width
        if min(steps) <= 0:
            continue
        for c, i, j in np.ndindex(*shape[1:]):
            rows = np.arange(np.floor(top + i * steps[0]), np.ceil(top + (i + 1) * steps[0]))
            columns = np.arange(np.floor(left + j * steps[1]), np.ceil(left + (j + 1) * steps[1]))
            pixels = images[int(image), c]
            inside = [
                (int(row), int(column))
                for row in rows
                for column in columns
                if 0 <= row < pixels.shape[0] and 0 <= column < pixels.shape[1]
            ]
            if inside:
                best = max(inside, key=lambda place: pixels[place])
                out[n, c, i, j] = pixels[best]
                places[n, c, i, j] = best[0] * pixels.shape[1] + best[1]
    return out, places


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_roi_pool(lib: Library, dtype: Any, kind: str, scale: float) -> None:
    draw = Draw(dtype)
    images = draw.rng.permutation(2 * 3 * 6 * 7).reshape(2, 3, 6, 7).astype(dtype)
    corners = [[1, 0, 4, 3], [0, 2, 9, 9], [3, 3, 2, 2], [-6, -6, -3, -3], [2, 2, 2, 2]]
    rois = np.hstack([np.array([[0, 1, 1, 0, 1]]).T, corners]).astype(dtype)
    shape = 5, 3, 2, 3
    outs = Out(shape, dtype), Out(shape, kind)
    out, places = lib.call("diopiRoiPoolMmcv", *outs, images, rois, 2, 3, scale)
    expected = pooled(images.astype("f8"), rois.astype("f8"), 2, 3, scale)
    near(out, expected[0])
    near(places, expected[1])
    assert (places == -1).any()
    upstream = draw(*shape)
    wanted: Array = np.zeros(images.shape)
    for n, c, i, j in np.ndindex(*shape):
        if places[n, c, i, j] >= 0:
            image = wanted[int(rois[n, 0]), c].reshape(-1)
            image[places[n, c, i, j]] += float(upstream[n, c, i, j])
    back = Out(images.shape, dtype)
    back = lib.call("diopiRoiPoolBackwardMmcv", back, upstream, rois, places, 2, 3, scale)
    near(back, wanted, 2)
    with pytest.raises(DiopiError, match="index 2"):
        rois[0, 0] = 2
        lib.call("diopiRoiPoolMmcv", *outs, images, rois, 2, 3, scale)


def one_hot(labels: Array, classes: int) -> Array:
    return np.eye(classes + 1)[labels][:, :classes]


def sigmoid_loss(x: Array, labels: Array, weight: Array, gamma: float, alpha: float) -> Array:
    right = one_hot(labels, x.shape[1])
    # The logarithms of the probabilities of what is right.
    logs = -np.logaddexp(0, np.where(right, -x, x))
    factors = np.where(right, alpha, 1 - alpha) * (1 - np.exp(logs)) ** gamma
    result: Array = -factors * logs * (weight[labels][:, None] if weight.size else 1)
    return result


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("has_weight", [False, True])
def test_sigmoid_focal_loss(lib: Library, dtype: Any, kind: str, has_weight: bool) -> None:
    draw = Draw(dtype)
    x, labels = draw(6, 4), np.array([0, 3, 1, 2, 1, 0 if has_weight else 4], kind)
    weight = draw(4, low=0.5) if has_weight else np.zeros(0, dtype)
    rest = labels, weight, 2.0, 0.25
    wide = labels, weight.astype("f8"), 2.0, 0.25
    out = lib.call("diopiSigmoidFocalLossMmcv", Out((6, 4), dtype), x, *rest)
    near(out, sigmoid_loss(x.astype("f8"), *wide), 2)
    back = lib.call("diopiSigmoidFocalLossBackwardMmcv", Out((6, 4), dtype), x, *rest)
    near_slope(back, gradient(lambda x: sigmoid_loss(x, *wide), [x], np.ones((6, 4)))[0], 10)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("has_weight", [False, True])
@pytest.mark.parametrize("gamma", [2.0, 0.0])
def test_softmax_focal_loss(
    lib: Library, dtype: Any, kind: str, has_weight: bool, gamma: float
) -> None:
    draw = Draw(dtype)
    logits = draw(6, 4).astype("f8")
    x = softmax(logits, -1).astype(dtype)
    labels = np.array([0, 3, 1, -1, 2, 2], kind)
    weight = draw(4, low=0.5) if has_weight else np.zeros(0, dtype)
    wide = weight.astype("f8") if has_weight else np.ones(4)
    alpha = 0.25

    def loss(logits: Array) -> Array:
        logs = log_softmax(logits, -1)[np.arange(6), labels]
        result: Array = -alpha * wide[labels] * (1 - np.exp(logs)) ** gamma * logs
        return np.where(labels < 0, 0, result)

    rest = labels, weight, gamma, alpha
    out = lib.call("diopiSoftmaxFocalLossMmcv", Out((6,), dtype), x, *rest)
    near(out, loss(logits), 4)
    outs = Out((6, 4), dtype), Out((6,), dtype)
    back, slopes = lib.call("diopiSoftmaxFocalLossBackwardMmcv", *outs, x, *rest)
    near_slope(back, gradient(loss, [logits], np.ones(6))[0], 10)
    near(back[1], slopes[1].astype("f8") * (np.eye(4)[3] - x[1].astype("f8")), 4)
    with pytest.raises(DiopiError, match="index 4"):
        labels[0] = 4
        lib.call("diopiSoftmaxFocalLossMmcv", Out((6,), dtype), x, *rest)
