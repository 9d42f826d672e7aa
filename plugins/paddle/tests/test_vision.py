"""Samples and boxes in images, and the loss of CTC, against Paddle's CPU."""

from __future__ import annotations

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle.vision import ops

from host import RELEASE, is_on, normal, on_both
from kernel_case import Array, Case, check

IMAGES = normal(2, 3, 4, 5)
VOLUMES = normal(2, 2, 3, 4, 3)
GRID = normal(2, 3, 4, 2, seed=1)
POINTS = normal(2, 2, 3, 2, 3, seed=2)
# Before 3.2 Paddle does not round positions before it decides whether they are inside of a volume.
NEAREST = POINTS if RELEASE >= (3, 2) else np.clip(POINTS, -0.6, 0.6)
BOXES = np.array([[0.5, 0.25, 3.2, 2.9], [-3.0, -2.0, 1.5, 2.0], [1.0, 1.0, 9.5, 7.0]], "float32")
LOGITS = normal(6, 3, 4)
LABELS = np.array([[1, 2, 3], [1, 1, 2], [3, 0, 0]], "int32")
TIMES = np.array([6, 5, 4], "int64")
LENGTHS = np.array([3, 3, 1], "int64")

CASES: dict[str, Case] = {
    f"{mode} samples of {name}, {padding}, corners {corners}": Case(
        lambda x, grid, mode=mode, padding=padding, corners=corners: F.grid_sample(
            x, grid, mode, padding, corners
        ),
        arguments,
        1e-4,
    )
    for mode in ("bilinear", "nearest")
    for padding in ("zeros", "border", "reflection")
    for corners in (False, True)
    for name, arguments in (
        ("images", (IMAGES, GRID)),
        ("volumes", (VOLUMES, NEAREST if mode == "nearest" else POINTS)),
    )
}
CASES |= {
    f"cells of regions with {ratio} samples, aligned {aligned}": Case(
        lambda x, ratio=ratio, aligned=aligned: ops.roi_align(
            x,
            paddle.to_tensor(BOXES).cast(x.dtype),
            paddle.to_tensor(np.array([1, 2], "int32")),
            (2, 3),
            0.75,
            ratio,
            aligned,
        ),
        (IMAGES,),
    )
    for ratio in (-1, 2)
    for aligned in (False, True)
}


def ctc(reduction: str, norm_by_times: bool, labels: Array = LABELS) -> Case:
    """Returns the loss of sequences, and its gradient."""
    integers = labels, TIMES, LENGTHS
    return Case(
        lambda x, *args: F.ctc_loss(x, *args, reduction=reduction, norm_by_times=norm_by_times),
        (LOGITS, *integers),
    )


CASES |= {
    "losses of sequences": ctc("none", False),
    "the mean of losses of sequences": ctc("mean", False),
    "losses with gradients divided by the times": ctc("sum", True),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


def test_sequence_without_an_alignment_has_no_loss() -> None:
    # Three equal labels need five times.
    check(ctc("none", False, np.array([[1, 2, 3], [1, 2, 1], [3, 0, 0]], "int32")), "float32")
    labels = np.array([[1, 2, 3], [1, 1, 1], [3, 0, 0]], "int32")
    times = np.array([6, 4, 4], "int64")
    case = Case(lambda x, *args: F.ctc_loss(x, *args), (LOGITS, labels, times, LENGTHS))
    check(case, "float32")


@pytest.mark.parametrize("scores", [False, True])
@pytest.mark.parametrize("threshold", [0.1, 0.5])
def test_boxes_that_overlap_a_better_one_are_left_out(threshold: float, scores: bool) -> None:
    rng = np.random.default_rng(5)
    corners = rng.random((60, 2)) * 20
    boxes = np.hstack([corners, corners + rng.random((60, 2)) * 9 + 1]).astype("float32")
    values = rng.random(60).astype("float32")

    def run() -> Array:
        given = paddle.to_tensor(values) if scores else None
        kept = ops.nms(paddle.to_tensor(boxes), threshold, given)
        found: Array = kept.numpy()
        return found

    ours, theirs = on_both(run)
    assert ours.dtype == theirs.dtype and len(ours) < 60
    np.testing.assert_array_equal(ours, theirs)


def test_results_are_on_the_device() -> None:
    x, grid = paddle.to_tensor(IMAGES), paddle.to_tensor(GRID)
    assert is_on(F.grid_sample(x, grid))
    assert is_on(ops.nms(paddle.to_tensor(BOXES), 0.5))


def test_wrong_labels_and_regions_are_errors() -> None:
    with pytest.raises(Exception, match="index 4"):
        labels = paddle.to_tensor(np.array([[1, 4, 3], [1, 1, 2], [3, 0, 0]], "int32"))
        times, lengths = paddle.to_tensor(TIMES), paddle.to_tensor(LENGTHS)
        F.ctc_loss(paddle.to_tensor(LOGITS), labels, times, lengths).numpy()
    with pytest.raises(Exception, match="boxes"):
        x, boxes = paddle.to_tensor(IMAGES), paddle.to_tensor(BOXES)
        ops.roi_align(x, boxes, paddle.to_tensor(np.array([1, 1], "int32")), 2).numpy()
