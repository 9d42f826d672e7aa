"""Samples and boxes in images."""

from typing import Any

import numpy as np
import pytest

from host import NEW, DiopiError, Library, Out
from samples import REAL, near
from tables import Case, Make, differences, test_results
from tensors import Array

__all__ = ["test_results"]


def pixel(image: Array, y: float, x: float) -> Array:
    """Interpolates an image linearly between pixels, which are 0 outside of it."""
    height, width = image.shape[-2:]
    total = np.zeros(image.shape[:-2])
    for i in (int(np.floor(y)), int(np.floor(y)) + 1):
        for j in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= i < height and 0 <= j < width:
                total += image[..., i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


def cubic(distance: float) -> float:
    """Returns Keys' kernel with the parameter -0.75."""
    d, a = abs(distance), -0.75
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0


def cubic_pixel(image: Array, y: float, x: float) -> Array:
    total = np.zeros(image.shape[:-2])
    for i, j in np.ndindex(*image.shape[-2:]):
        total += image[..., i, j] * cubic(y - i) * cubic(x - j)
    return total


def nearest_pixel(image: Array, y: float, x: float) -> Array:
    return pixel(image, np.rint(y), np.rint(x))


METHODS = {"bilinear": pixel, "nearest": nearest_pixel, "bicubic": cubic_pixel}


def sampled(images: Array, grid: Array, mode: str) -> Array:
    height, width = images.shape[2:]
    out = np.zeros((*images.shape[:2], *grid.shape[1:3]))
    for n, i, j in np.ndindex(*grid.shape[:3]):
        x, y = (grid[n, i, j] + 1) / 2 * (width, height) - 0.5
        out[n, :, i, j] = METHODS[mode](images[n], y, x)
    return out


def points(make: Make) -> tuple[Array, Array, str]:
    size = [int(n) for n in make.rng.integers(1, 5, 2)]
    grid = make.array([make.shape[0], *size, 2], -1.4, 1.4)
    return make.array(), grid, list(METHODS)[make.run % 3]


def aligned(images: Array, rois: Array, *args: Any) -> Array:
    """Computes RoI Align sample by sample, as torchvision's documentation describes it."""
    scale, height, width, ratio, shifted = args
    out = np.zeros((len(rois), images.shape[1], height, width))
    bottom, right = images.shape[2:]
    for number, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = np.array(corners) * scale - (0.5 if shifted else 0)
        size = np.array([y2 - y1, x2 - x1])
        size = size if shifted else np.maximum(size, 1)
        cell = size / (height, width)
        count = [ratio] * 2 if ratio > 0 else [int(n) for n in np.ceil(cell)]
        for i, j in np.ndindex(height, width):
            for a, b in np.ndindex(*np.maximum(count, 0)):
                y = y1 + (i + (a + 0.5) / count[0]) * cell[0]
                x = x1 + (j + (b + 0.5) / count[1]) * cell[1]
                if -1 <= y <= bottom and -1 <= x <= right:
                    place = np.clip(y, 0, bottom - 1), np.clip(x, 0, right - 1)
                    out[number, :, i, j] += pixel(images[int(image)], *place)
        out[number] /= max(count[0] * count[1], 1)
    return out


def regions(make: Make) -> tuple[Any, ...]:
    count = int(make.rng.integers(0, 4))
    corners = make.rng.integers(-8, 30, (count, 4)) / 4
    if make.run % 4:
        corners.sort(0)
        corners[:, 2:] += corners[:, :2] + 0.25
    images = make.rng.integers(0, make.shape[0], (count, 1))
    rois = np.hstack([images, corners]).astype(make.dtype)
    scale, ratio = [1.0, 0.5][make.run % 2], [-1, 2, 0, 3][make.run % 4]
    height, width = (int(n) for n in make.rng.integers(1, 4, 2))
    return rois, scale, height, width, ratio, make.run % 3 == 1


def region_gradient(make: Make) -> tuple[Any, ...]:
    rois, scale, height, width, ratio, shifted = regions(make)
    dout = make.array([len(rois), make.shape[1], height, width])
    return dout, rois, scale, height, width, *make.shape, ratio, shifted


def aligned_slope(dout: Array, rois: Array, *args: Any) -> Array:
    scale, height, width, *shape, ratio, shifted = args
    rest = rois, scale, height, width, ratio, shifted
    # The result is linear in the images.
    gradient = differences(lambda images: aligned(images, *rest), dout, np.zeros(shape))
    return gradient[0]


SHAPES = [(2, 3, 4, 5), (1, 2, 1, 3), (2, 1, 6, 2)]

CASES = [
    Case("diopiGridSample", points, sampled, dtypes=REAL, shapes=SHAPES, tolerance=20),
    Case(
        "diopiRoiAlign",
        lambda make: (make.array(), *regions(make)),
        aligned,
        dtypes=REAL,
        shapes=SHAPES,
        tolerance=20,
    ),
    Case(
        "diopiRoiAlignBackward",
        region_gradient,
        aligned_slope,
        dtypes=REAL[1:3],
        shapes=SHAPES,
        tolerance=40,
    ),
]


def overlap(a: Array, b: Array) -> float:
    corners = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.maximum(corners[1] - corners[0], 0))
    return float(both / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both))


def suppressed(boxes: Array, scores: Array, threshold: float) -> list[int]:
    selected: list[int] = []
    for index in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[index], boxes[other]) <= threshold for other in selected):
            selected.append(int(index))
    return selected


@pytest.mark.parametrize("threshold", [0.0, 0.29, 1.0])
@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("dtype", REAL)
def test_nms(lib: Library, dtype: Any, count: int, threshold: float) -> None:
    rng = np.random.default_rng(count)
    corners = rng.integers(0, 20, (count, 2))
    boxes = np.hstack([corners, corners + rng.integers(1, 12, (count, 2))])
    # Some scores are equal: the first box goes first.
    scores = rng.integers(0, 30, count) / 8
    expected = suppressed(boxes.astype("f8"), scores, threshold)
    given = np.asfortranarray(boxes.astype(dtype)), scores.astype(dtype)
    out = lib.call("diopiNms", NEW, *given, threshold)
    assert out.dtype == np.int64 and out.tolist() == expected
    assert count < 2 or threshold == 1 or len(expected) < count


def test_nms_of_other_shapes_fails(lib: Library) -> None:
    with pytest.raises(DiopiError, match=r"\[3, 5\]"):
        lib.call("diopiNms", NEW, np.zeros((3, 5), "f4"), np.zeros(3, "f4"), 0.5)
    with pytest.raises(DiopiError, match=r"\[2\]"):
        lib.call("diopiNms", NEW, np.zeros((3, 4), "f4"), np.zeros(2, "f4"), 0.5)


@pytest.mark.parametrize("image", [-1, 2, 0.5, np.nan])
def test_roi_align_of_an_image_that_does_not_exist_fails(lib: Library, image: float) -> None:
    images, rois = np.zeros((2, 1, 3, 3), "f4"), np.array([[image, 0, 0, 2, 2]], "f4")
    with pytest.raises(DiopiError, match="index"):
        lib.call("diopiRoiAlign", Out((1, 1, 2, 2), "f4"), images, rois, 1.0, 2, 2, 2, False)


@pytest.mark.parametrize("corner", [np.nan, np.inf])
def test_roi_align_of_infinite_regions_fails(lib: Library, corner: float) -> None:
    images, rois = np.zeros((1, 1, 3, 3), "f4"), np.array([[0, 0, 0, corner, 2]], "f4")
    with pytest.raises(DiopiError, match="boxes"):
        lib.call("diopiRoiAlign", Out((1, 1, 2, 2), "f4"), images, rois, 1.0, 2, 2, -1, False)


def test_roi_align_of_a_very_large_region_ends(lib: Library) -> None:
    images, rois = np.ones((1, 1, 3, 3), "f4"), np.array([[0, 0, 0, 1e9, 2]], "f4")
    out = lib.call("diopiRoiAlign", Out((1, 1, 1, 1), "f4"), images, rois, 1.0, 1, 1, -1, False)
    near(out, np.full((1, 1, 1, 1), 3e-9, "f4"))


def test_roi_align_backward_of_another_shape_fails(lib: Library) -> None:
    dout, rois = np.zeros((1, 1, 2, 2), "f4"), np.zeros((1, 5), "f4")
    with pytest.raises(DiopiError, match=r"\[1, 1, 3, 4\]"):
        out = Out((1, 1, 3, 3), "f4")
        lib.call("diopiRoiAlignBackward", out, dout, rois, 1.0, 2, 2, 1, 1, 3, 4, 2, False)


def test_grid_sample_of_nan_is_zero(lib: Library) -> None:
    grid = np.array([[[[np.nan, 0], [0, np.inf]]]], "f4")
    for mode in METHODS:
        args = np.ones((1, 1, 3, 3), "f4"), grid, mode
        assert not lib.call("diopiGridSample", Out((1, 1, 1, 2), "f4"), *args).any()


@pytest.mark.parametrize(("shape", "mode"), [((1, 2, 2, 2), "cubic"), ((2, 2, 2, 2), "nearest")])
def test_grid_sample_of_other_arguments_fails(lib: Library, shape: Any, mode: str) -> None:
    args = np.ones((1, 1, 3, 3), "f4"), np.zeros(shape, "f4"), mode
    with pytest.raises(DiopiError):
        lib.call("diopiGridSample", Out((1, 1, 2, 2), "f4"), *args)
