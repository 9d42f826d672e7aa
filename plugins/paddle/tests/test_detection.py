"""Boxes of detectors and pools of regions, against NumPy and Paddle's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray
from paddle.vision import ops

from host import is_on, normal, on_both
from kernel_case import Case, check

Array = NDArray[Any]


def random(*shape: int, seed: int = 0) -> Array:
    """Returns numbers from 0 to 1."""
    return np.random.default_rng(seed).random(shape).astype("float32")


def corners(count: int, seed: int = 0, size: float = 20.0) -> Array:
    """Returns boxes within an image."""
    places, sizes = random(count, 2, seed=seed), random(count, 2, seed=seed + 1)
    boxes: Array = np.concatenate([places, places + sizes * 0.5 + 0.05], 1) * np.float32(size)
    return boxes


IMAGES = normal(2, 8, 6, 7)
REGIONS = np.array(
    [[0.5, 0.2, 3.5, 4.1], [-3, -2, 1.5, 2], [2, 1, 30, 25], [4, 4, 3, 3]], "float32"
)
NUMBERS = np.array([1, 3], "int32")
PRIORS = corners(5, 3, 1.0)
TARGETS = corners(4, 5, 1.0)
OFFSETS = normal(4, 5, 4, seed=7) * 0.5
VARIANCES = random(5, 4, seed=8) + 0.5


def pools(pool: Any, **arguments: Any) -> Case:
    """Returns a pool of regions and its gradient."""

    def compute(x: Any) -> Any:
        boxes = paddle.to_tensor(REGIONS).cast(x.dtype)
        return pool(x, boxes, paddle.to_tensor(NUMBERS), (2, 2), 0.75, **arguments)

    return Case(compute, (IMAGES,))


GRADIENTS: dict[str, Case] = {
    "largest pixels of regions": pools(ops.roi_pool),
    "means of a channel for each cell": pools(ops.psroi_pool),
}
for GROUPS, MASKED in ((1, False), (2, True)):
    SHAPE = (2, 2 * GROUPS * 9, 4, 5)
    GRADIENTS[f"deformable convolution of {GROUPS} groups"] = Case(
        lambda x, offset, weight, bias, mask, groups=GROUPS, masked=MASKED: ops.deform_conv2d(
            *(x, offset, weight, bias, 1, 1, 2, groups, groups, mask if masked else None)
        ),
        (
            *(normal(2, 4, 6, 7, seed=1), normal(*SHAPE, seed=2), normal(6, 4 // GROUPS, 3, 3)),
            *(normal(6, seed=4), normal(2, GROUPS * 9, 4, 5, seed=5)),
        ),
        1e-4,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", GRADIENTS)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(GRADIENTS[name], dtype)


CASES: dict[str, Any] = {
    "prior boxes": lambda: ops.prior_box(
        paddle.zeros([1, 2, 3, 4]),
        paddle.zeros([1, 3, 30, 50]),
        [4.0, 8.0],
        [9.0, 16.0],
        [2.0, 3.0],
    ),
    "prior boxes in another order": lambda: ops.prior_box(
        *(paddle.zeros([1, 2, 3, 4]), paddle.zeros([1, 3, 30, 50]), [4.0], [9.0], [2.0, 1.0]),
        *([0.1, 0.1, 0.2, 0.2], True, True, [7.0, 9.0], 0.3, True),
    ),
    "prior boxes without largest sizes": lambda: ops.prior_box(
        paddle.zeros([1, 2, 3, 4]), paddle.zeros([1, 3, 30, 50]), [4.0], None, [2.0], flip=True
    ),
}
for NORMALIZED in (False, True):
    for NAME, VARIANCE in (("each", VARIANCES), ("all", [0.1, 0.1, 0.2, 0.2])):
        CASES[f"encoded boxes {NORMALIZED} {NAME}"] = (
            lambda variance=VARIANCE, normalized=NORMALIZED: ops.box_coder(
                paddle.to_tensor(PRIORS),
                paddle.to_tensor(variance) if isinstance(variance, np.ndarray) else variance,
                paddle.to_tensor(TARGETS),
                box_normalized=normalized,
            )
        )
        for AXIS in (0, 1):
            CASES[f"decoded boxes {NORMALIZED} {NAME} {AXIS}"] = (
                lambda variance=VARIANCE, normalized=NORMALIZED, axis=AXIS: ops.box_coder(
                    paddle.to_tensor(PRIORS),
                    paddle.to_tensor(variance) if isinstance(variance, np.ndarray) else variance,
                    paddle.to_tensor(OFFSETS if axis == 0 else OFFSETS.swapaxes(0, 1).copy()),
                    *("decode_center_size", normalized, axis),
                )
            )
for CLIP in (False, True):
    for AWARE in (False, True):
        CASES[f"boxes of YOLO {CLIP} {AWARE}"] = lambda clip=CLIP, aware=AWARE: ops.yolo_box(
            paddle.to_tensor(normal(2, 2 * (5 + 3 + aware), 3, 4)),
            paddle.to_tensor(np.array([[40, 50], [30, 20]], "int32")),
            *([10, 13, 16, 30], 3, 0.4, 8, clip, None, 1.2, aware, 0.4),
        )
for OFFSET in (False, True):
    for BEFORE, AFTER, THRESHOLD, ETA in ((12, 5, 0.5, 1.0), (0, 0, 0.7, 0.9), (12, 0, 0.0, 1.0)):
        CASES[f"proposals {OFFSET} {BEFORE} {THRESHOLD}"] = (
            lambda offset=OFFSET, before=BEFORE, after=AFTER, threshold=THRESHOLD, eta=ETA: (
                proposals(offset, before, after, threshold, eta)
            )
        )
for NORMALIZED in (False, True):
    for TOP, KEEP, ETA in ((-1, -1, 1.0), (6, 5, 0.9)):
        CASES[f"boxes of classes {NORMALIZED} {TOP}"] = (
            lambda normalized=NORMALIZED, top=TOP, keep=KEEP, eta=ETA: by_class(
                False, normalized, top, keep, eta
            )
        )
        CASES[f"boxes of each class {NORMALIZED} {TOP}"] = (
            lambda normalized=NORMALIZED, top=TOP, keep=KEEP, eta=ETA: by_class(
                True, normalized, top, keep, eta
            )
        )
    for GAUSSIAN in (False, True):
        CASES[f"lowered scores {NORMALIZED} {GAUSSIAN}"] = (
            lambda normalized=NORMALIZED, gaussian=GAUSSIAN: ops.matrix_nms(
                paddle.to_tensor(np.stack([corners(9, 1), corners(9, 4)])),
                paddle.to_tensor(random(2, 3, 9, seed=6)),
                *(0.1, 0.05, 7, 8, gaussian, 2.0, 0, normalized, True, True),
            )
        )


def proposals(offset: bool, before: int, after: int, threshold: float, eta: float) -> Any:
    """Calls the kernel of proposals, whose scores are sorted to compare unsorted ones."""
    anchors = np.stack([corners(3, seed) for seed in range(20)]).reshape(4, 5, 3, 4)
    boxes, scores, numbers = paddle._C_ops.generate_proposals(
        paddle.to_tensor(random(2, 3, 4, 5, seed=2)),
        paddle.to_tensor(normal(2, 12, 4, 5, seed=3) * 0.3),
        paddle.to_tensor(np.array([[25, 30], [18, 22]], "float32")),
        paddle.to_tensor(anchors),
        paddle.to_tensor(random(4, 5, 3, 4, seed=4) + 0.5),
        *(before, after, threshold, 2.0, eta, offset),
    )
    if threshold > 0:
        return boxes, scores, numbers
    rows = np.concatenate([scores.numpy(), boxes.numpy()], 1)
    first = int(numbers.numpy()[0])
    return [paddle.to_tensor(part[np.argsort(part[:, 0])]) for part in (rows[:first], rows[first:])]


def by_class(own: bool, normalized: bool, top: int, keep: int, eta: float) -> Any:
    """Calls the kernel of suppression for each class."""
    if own:
        boxes = np.stack([corners(12, seed) for seed in (1, 3, 5)], 1)
        scores, numbers = random(12, 3, seed=7), paddle.to_tensor(np.array([5, 0, 7], "int32"))
    else:
        boxes = np.stack([corners(12, 1), corners(12, 4)])
        scores, numbers = random(2, 3, 12, seed=7), None
    out, index, counts = paddle._C_ops.multiclass_nms3(
        *(paddle.to_tensor(boxes), paddle.to_tensor(scores), numbers),
        *(0.2, top, keep, 0.55, normalized, eta, 1),
    )
    return out, index, counts


def values(found: Any) -> list[Array]:
    """Returns the results of a call that it has."""
    found = found if isinstance(found, (tuple, list)) else (found,)
    return [value.numpy() for value in found if value is not None]


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_cpu(name: str) -> None:
    ours, theirs = on_both(lambda: values(CASES[name]()))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


def test_decoding_undoes_encoding() -> None:
    priors, targets = (paddle.to_tensor(boxes.astype("float64")) for boxes in (PRIORS, TARGETS))
    # The CPU reads float32 variances as float64.
    variance = [0.1, 0.1, 0.2, 0.2]
    offsets = ops.box_coder(priors, variance, targets)
    found = ops.box_coder(priors, variance, offsets, "decode_center_size")
    wanted = np.broadcast_to(TARGETS.astype("float64")[:, None], (4, 5, 4))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-6)


def test_largest_pixels_are_those_of_numpy() -> None:
    x = paddle.to_tensor(IMAGES)
    boxes, numbers = paddle.to_tensor(np.array([[1, 2, 4, 5]], "float32")), paddle.to_tensor([1, 0])
    out = ops.roi_pool(x, boxes, numbers.cast("int32"), 2, 1.0)
    assert is_on(out)
    cells = IMAGES[0, :, 2:6, 1:5].reshape(8, 2, 2, 2, 2)
    np.testing.assert_array_equal(out.numpy()[0], cells.max(axis=(2, 4)))


def test_images_without_boxes_have_one_of_zeros() -> None:
    found = paddle._C_ops.generate_proposals(
        *(paddle.full([1, 1, 1, 1], 0.5), paddle.zeros([1, 4, 1, 1]), paddle.full([1, 2], 9.0)),
        *(paddle.zeros([1, 1, 1, 4]), paddle.ones([1, 1, 1, 4]), 9, 9, 0.5, 3.0, 1.0, False),
    )
    assert [value.numpy().tolist() for value in found] == [[[0.0] * 4], [[0.0]], [1]]


@pytest.mark.parametrize("counts", [[1, 1], [1, 4], [-1, 5], [4]])
def test_numbers_that_do_not_cover_the_regions_are_errors(counts: list[int]) -> None:
    x, boxes = paddle.to_tensor(IMAGES), paddle.to_tensor(REGIONS)
    numbers = paddle.to_tensor(np.array(counts, "int32"))
    for pool in (ops.roi_pool, ops.psroi_pool):
        with pytest.raises(Exception, match="boxes|shape|same"):
            pool(x, boxes, numbers, 2).numpy()


def test_empty_regions_have_empty_results() -> None:
    x, none = paddle.to_tensor(IMAGES), paddle.zeros([0, 4])
    numbers = paddle.zeros([2], "int32")
    assert ops.psroi_pool(x, none, numbers, 2).shape == [0, 2, 2, 2]
    assert ops.roi_pool(x, none, numbers, 2).shape == [0, 8, 2, 2]


def test_results_are_on_the_device() -> None:
    assert all(is_on(value) for value in CASES["boxes of YOLO True False"]())
    assert all(is_on(value) for value in CASES["boxes of classes True 6"]())
