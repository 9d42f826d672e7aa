"""Features of regions of images, as MMCV has them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]


def pixel(image: Array, y: float, x: float) -> Any:
    """Interpolates `[..., height, width]` linearly by the rules of RoI Align."""
    height, width = image.shape[-2:]
    total = np.zeros(image.shape[:-2])
    if not (-1 <= y <= height and -1 <= x <= width):
        return total
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    rows = np.maximum(0, 1 - abs(y - np.arange(height)))
    columns = np.maximum(0, 1 - abs(x - np.arange(width)))
    return image @ columns @ rows


def of_images(of: Callable[[Array], Array], images: Array, rois: Array, upstream: Array) -> Array:
    """Computes the gradient of a linear function of images by their pixels, region by region."""
    batch, channels, *size = images.shape
    pixels = size[0] * size[1]
    # The results for images with one pixel that is 1, each in a channel of its own.
    weights = of(np.tile(np.eye(pixels).reshape(1, pixels, *size), (batch, 1, 1, 1)))
    result = np.zeros((batch, channels, pixels))
    for image, own, slope in zip(rois[:, 0], weights, upstream.astype("f8"), strict=True):
        result[int(image)] += np.tensordot(slope, own, ([1, 2], [1, 2]))
    return result.reshape(images.shape)


def counts(sizes: Array, ratio: int) -> list[int]:
    return [ratio if ratio > 0 else int(np.ceil(size)) for size in sizes]


def turned(images: Array, rois: Array, args: Any, orientations: int = 1) -> Array:
    """Computes RoI Align of rotated regions sample by sample."""
    height, width, ratio, scale, aligned, clockwise = args
    channels = images.shape[1]
    out = np.zeros((len(rois), channels, height, width))
    for n, (image, x, y, w, h, angle) in enumerate(rois):
        shift = 0.5 if aligned else 0
        center = (y + 1j * x) * scale - shift * (1 + 1j)
        size = np.array([h, w]) * scale
        size = size if aligned else np.maximum(size, 1)
        cell = size / (height, width)
        # A turn from the axis of columns towards the axis of rows, which points downwards.
        turn = np.exp(1j * (-angle if clockwise else angle))
        rows, columns = counts(cell, ratio)
        part = angle * orientations / (2 * np.pi)
        low = int(np.floor(part))
        groups = images[int(image)].reshape(-1, orientations, *images.shape[2:])
        left, right = (np.roll(groups, low - k, 1) for k in (0, 1))
        mixed = left * (1 - (part - low)) + right * (part - low)
        mixed = mixed.reshape(images.shape[1:])
        for i, j in np.ndindex(height, width):
            for a, b in np.ndindex(rows, columns):
                across = (i + (a + 0.5) / rows) * cell[0] - size[0] / 2
                along = (j + (b + 0.5) / columns) * cell[1] - size[1] / 2
                place = (across + 1j * along) * turn + center
                out[n, :, i, j] += pixel(mixed, place.real, place.imag)
        out[n] /= max(rows * columns, 1)
    return out


def tilted(draw: Draw, scale: float) -> Array:
    """Returns regions that are partly beyond images of 6 rows and 7 columns."""
    centers = draw.rng.uniform(-1, 7, (4, 2)) / scale
    sizes = draw.rng.uniform(0.3, 5, (4, 2)) / scale
    angles = draw.rng.uniform(-4, 4, (4, 1))
    return np.hstack([[[0], [1], [1], [0]], centers, sizes, angles]).astype(draw.dtype)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("clockwise", [False, True])
@pytest.mark.parametrize(("aligned", "ratio", "scale"), [(True, 2, 0.5), (False, 0, 1.0)])
def test_rotated_roi_align(
    lib: Library, dtype: Any, clockwise: bool, aligned: bool, ratio: int, scale: float
) -> None:
    draw = Draw(dtype)
    images, rois = draw(2, 3, 6, 7), tilted(draw, scale)
    args = 2, 3, ratio, scale, aligned, clockwise
    out = lib.call("diopiRoiAlignRotatedMmcv", Out((4, 3, 2, 3), dtype), images, rois, *args)
    wide = images.astype("f8"), rois.astype("f8")
    near(out, turned(*wide, args), 2)
    assert out.astype("f8").any()
    upstream = draw(4, 3, 2, 3)
    back = Out(images.shape, dtype)
    back = lib.call("diopiRoiAlignRotatedBackwardMmcv", back, upstream, rois, *args)
    near(back, of_images(lambda x: turned(x, wide[1], args), images, wide[1], upstream), 10)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("clockwise", [False, True])
def test_roi_align_with_orientations(lib: Library, dtype: Any, clockwise: bool) -> None:
    draw = Draw(dtype)
    images, rois = draw(2, 4, 5, 4), tilted(draw, 0.5)
    args, rest = (2, 2, 2, 0.5, False, clockwise), (2, 2, 2, 2, 0.5, clockwise)
    out = lib.call("diopiRiroiAlignRotatedMmcv", Out((4, 4, 2, 2), dtype), images, rois, *rest)
    wide = images.astype("f8"), rois.astype("f8")
    near(out, turned(*wide, args, 2), 2)
    upstream = draw(4, 4, 2, 2)
    back = Out(images.shape, dtype)
    back = lib.call("diopiRiroiAlignRotatedBackwardMmcv", back, upstream, rois, *rest)
    # The result is linear in the images.
    expected = [
        turned(one, wide[1], args, 2) for one in np.eye(images.size).reshape(-1, *images.shape)
    ]
    near(back, np.tensordot(expected, upstream.astype("f8"), 4).reshape(images.shape), 10)
    with pytest.raises(DiopiError, match="`orientations` cannot be 3"):
        out = Out((4, 4, 2, 2), dtype)
        lib.call("diopiRiroiAlignRotatedMmcv", out, images, rois, 2, 2, 2, 3, 0.5, clockwise)


def test_rotated_regions_that_are_wrong_fail(lib: Library) -> None:
    images, name = np.zeros((2, 1, 3, 3), "f4"), "diopiRoiAlignRotatedMmcv"
    rest = 1, 1, 0, 1.0, True, False
    for index in (-1, 2, 0.5, np.nan):
        rois = np.array([[index, 0, 0, 2, 2, 0]], "f4")
        with pytest.raises(DiopiError, match="index"):
            lib.call(name, Out((1, 1, 1, 1), "f4"), images, rois, *rest)
    rois = np.array([[0, 0, 0, np.nan, 2, 0]], "f4")
    with pytest.raises(DiopiError, match="boxes"):
        lib.call(name, Out((1, 1, 1, 1), "f4"), images, rois, *rest)
    with pytest.raises(DiopiError, match=r"\[1, 6\]"):
        lib.call(name, Out((1, 1, 1, 1), "f4"), images, rois[:, :5], *rest)


def test_very_large_rotated_region_ends(lib: Library) -> None:
    images, rois = np.ones((1, 1, 3, 3), "f8"), np.array([[0, 0, 0, 1e9, 2, 0]], "f8")
    arguments = images, rois, 1, 1, 0, 1.0, False, False
    out = lib.call("diopiRoiAlignRotatedMmcv", Out((1, 1, 1, 1), "f8"), *arguments)
    near(out, [[[[4e-9]]]])


def moved(images: Array, rois: Array, offset: Array, args: Any) -> Array:
    """Computes deformable RoI pooling sample by sample."""
    height, width, ratio, scale, gamma = args
    out = np.zeros((len(rois), images.shape[1], height, width))
    for n, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = np.array(corners) * scale - 0.5
        size = np.array([y2 - y1, x2 - x1])
        cell = size / (height, width)
        rows, columns = counts(cell, ratio)
        for i, j in np.ndindex(height, width):
            right, down = offset[n, :, i, j] * gamma * size[::-1] if offset.size else (0, 0)
            for a, b in np.ndindex(rows, columns):
                y = y1 + (i + (a + 0.5) / rows) * cell[0] + down
                x = x1 + (j + (b + 0.5) / columns) * cell[1] + right
                out[n, :, i, j] += pixel(images[int(image)], y, x)
        out[n] /= max(rows * columns, 1)
    return out


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("has_offset", [False, True])
@pytest.mark.parametrize(("ratio", "scale"), [(2, 0.5), (0, 1.0)])
def test_deformable_roi_pool(
    lib: Library, dtype: Any, has_offset: bool, ratio: int, scale: float
) -> None:
    draw = Draw(dtype)
    images = draw(2, 3, 6, 7)
    corners = np.array([[0.7, 0.9, 4.2, 4.3], [1.1, 1.6, 4.9, 4.4], [2.2, 2, 3.3, 3.7]]) / scale
    rois = np.hstack([[[0], [1], [1]], corners]).astype(dtype)
    offset = draw(3, 2, 2, 3, low=-1, high=1) if has_offset else np.zeros(0, dtype)
    args = 2, 3, ratio, scale, 0.25
    shape = 3, 3, 2, 3
    out = lib.call("diopiDeformRoiPoolMmcv", Out(shape, dtype), images, rois, offset, *args)
    wide = images.astype("f8"), rois.astype("f8"), offset.astype("f8")
    near(out, moved(*wide, args), 4)
    upstream = draw(*shape)
    outs = Out(images.shape, dtype), Out(offset.shape, dtype)
    arguments = upstream, images, rois, offset, *args
    back, slopes = lib.call("diopiDeformRoiPoolBackwardMmcv", *outs, *arguments)
    near(back, of_images(lambda x: moved(x, *wide[1:], args), images, wide[1], upstream), 10)
    expected = gradient(lambda o: moved(*wide[:2], o, args), [offset], upstream)
    near_slope(slopes, expected[0], 30)


def largest(images: Array, rois: Array, args: Any) -> Any:
    """Returns the largest sample of each cell, and its place."""
    height, width, ratio, scale, aligned = args
    shape = len(rois), images.shape[1], height, width
    out, places = np.zeros(shape), np.full((2, *shape), -1.0)
    for n, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = np.array(corners) * scale - (0.5 if aligned else 0)
        size = np.array([y2 - y1, x2 - x1])
        size = size if aligned else np.maximum(size, 1)
        cell = size / (height, width)
        rows, columns = counts(cell, ratio)
        for i, j in np.ndindex(height, width):
            at = [
                (y1 + (i + (a + 0.5) / rows) * cell[0], x1 + (j + (b + 0.5) / columns) * cell[1])
                for a, b in np.ndindex(rows, columns)
            ]
            samples = np.array([pixel(images[int(image)], *place) for place in at])
            best = samples.argmax(0)
            out[n, :, i, j] = samples.max(0)
            places[:, n, :, i, j] = np.array(at)[best].T
    return out, places


@pytest.mark.parametrize("dtype", REAL[:2], ids=str)
@pytest.mark.parametrize(("ratio", "scale"), [(2, 0.5), (0, 1.0)])
@pytest.mark.parametrize("aligned", [False, True])
def test_largest_sample(lib: Library, dtype: Any, ratio: int, scale: float, aligned: bool) -> None:
    draw = Draw(dtype)
    images = draw(2, 2, 4, 5)
    corners = np.array([[0.7, 0.9, 4.2, 3.3], [-1.1, -0.6, 4.9, 4.4], [2.2, 2, 3.3, 3.7]]) / scale
    rois = np.hstack([[[0], [1], [1]], corners]).astype(dtype)
    shape, args = (3, 2, 2, 3), (2, 3, ratio, scale, aligned)
    rest = 2, 3, ratio, 0, scale, aligned
    outs = [Out(shape, dtype) for _ in range(3)]
    out, rows, columns = lib.call("diopiRoiAlignMmcv", *outs, images, rois, *rest)
    wide = images.astype("f8"), rois.astype("f8")
    expected, places = largest(*wide, args)
    near(out, expected, 4)
    near(np.stack([rows, columns]), places, 4)
    upstream, back = draw(*shape), Out(images.shape, dtype)
    arguments = upstream, rois, rows, columns, *rest
    back = lib.call("diopiRoiAlignBackwardMmcv", back, *arguments)
    slopes = gradient(lambda x: largest(x, wide[1], args)[0], [wide[0]], upstream)
    near_slope(back, slopes[0], 20)


def test_largest_sample_far_from_the_image_is_zero(lib: Library) -> None:
    images, rois = -np.ones((1, 1, 3, 3), "f4"), np.array([[0, 0, 0, 1e9, 2]], "f4")
    shape = (1, 1, 1, 1)
    outs = [Out(shape, "f4") for _ in range(3)]
    rest = 1, 1, 0, 0, 1.0, False
    results = lib.call("diopiRoiAlignMmcv", *outs, images, rois, *rest)
    # The first sample beyond the image.
    assert [result.item() for result in results] == [0, 0.5, 3.5]
    arguments = np.ones(shape, "f4"), rois, *results[1:], *rest
    back = lib.call("diopiRoiAlignBackwardMmcv", Out(images.shape, "f4"), *arguments)
    assert not back.any()


def integral(images: Array, rois: Array, args: Any) -> Array:
    """Computes precise RoI pooling by integrals that are exact between pixels."""
    height, width, scale = args
    wide = np.pad(images, [(0, 0), (0, 0), (1, 1), (1, 1)])
    out = np.zeros((len(rois), images.shape[1], height, width))
    nodes = np.array([-1, 1]) / np.sqrt(3)

    def places(start: float, end: float) -> list[tuple[float, float]]:
        edges = np.unique([start, end, *np.arange(np.ceil(start), np.ceil(end))])
        return [
            ((a + b) / 2 + node * (b - a) / 2, (b - a) / 2)
            for a, b in zip(edges, edges[1:], strict=False)
            for node in nodes
        ]

    def inside(image: Array, y: float, x: float) -> Any:
        bottom, right = (len + 2 for len in images.shape[2:])
        if not (0 < y + 1 < bottom - 1 and 0 < x + 1 < right - 1):
            return 0
        return pixel(image, y + 1, x + 1)

    for n, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = np.array(corners) * scale
        if x2 <= x1 or y2 <= y1:
            continue
        cell = (y2 - y1) / height, (x2 - x1) / width
        for i, j in np.ndindex(height, width):
            for y, dy in places(y1 + i * cell[0], y1 + (i + 1) * cell[0]):
                for x, dx in places(x1 + j * cell[1], x1 + (j + 1) * cell[1]):
                    out[n, :, i, j] += inside(wide[int(image)], y, x) * dy * dx
            out[n, :, i, j] /= cell[0] * cell[1]
    return out


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_precise_roi_pool(lib: Library, dtype: Any, scale: float) -> None:
    draw = Draw(dtype)
    images = draw(2, 2, 5, 4)
    corners = [[0.7, 0.9, 3.1, 2.3], [-1.4, -1.7, 2.9, 5.4], [2, 2, 1, 3], [1.3, 1.1, 1.6, 1.4]]
    rois = np.hstack([[[0], [1], [1], [0]], np.array(corners) / scale]).astype(dtype)
    args, shape = (2, 3, scale), (4, 2, 2, 3)
    out = lib.call("diopiPrroiPoolMmcv", Out(shape, dtype), images, rois, *args)
    wide = images.astype("f8"), rois.astype("f8")
    near(out, integral(*wide, args), 4)
    assert not out[2].any()
    upstream = draw(*shape)
    of_rois = gradient(lambda r: integral(wide[0], r, args), wide[1:], upstream)[0]
    of_x = of_images(lambda x: integral(x, wide[1], args), images, wide[1], upstream)
    back = lib.call("diopiPrroiPoolbackwardMmcv", Out(images.shape, dtype), upstream, rois, *args)
    near(back, of_x, 10)
    arguments = out, upstream, images, rois, *args
    slopes = lib.call("diopiPrroiPoolCoorBackwardMmcv", Out(rois.shape, dtype), *arguments)
    of_rois[:, 0] = 0
    near_slope(slopes, of_rois, 30)
    with pytest.raises(DiopiError, match="index 2"):
        rois[0, 0] = 2
        lib.call("diopiPrroiPoolMmcv", Out(shape, dtype), images, rois, *args)


def borders(images: Array, boxes: Array, size: int) -> tuple[Array, Array]:
    batch, channels = len(images), images.shape[1] // 4
    samples = np.zeros((size + 1, batch, channels, boxes.shape[1], 4))
    for n, k, side in np.ndindex(batch, boxes.shape[1], 4):
        own = images[n].reshape(4, channels, *images.shape[2:])[side]
        x1, y1, x2, y2 = boxes[n, k]
        ends = [(x1, y1, x2, y1), (x1, y1, x1, y2), (x2, y2, x1, y2), (x2, y2, x2, y1)][side]
        for s in range(size + 1):
            x, y = (ends[a] + (ends[a + 2] - ends[a]) * s / size for a in (0, 1))
            samples[s, n, :, k, side] = pixel(own, y, x)
    return samples.max(0), samples.argmax(0)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("size", [1, 4])
def test_border_align(lib: Library, dtype: Any, kind: str, size: int) -> None:
    draw = Draw(dtype)
    images, boxes = draw(2, 8, 3, 4), draw(2, 3, 4, low=-0.8, high=4)
    outs = Out((2, 2, 3, 4), dtype), Out((2, 2, 3, 4), kind)
    out, places = lib.call("diopiBorderAlignMmcv", *outs, images, boxes, size)
    wide = images.astype("f8"), boxes.astype("f8")
    expected = borders(*wide, size)
    near(out, expected[0], 2)
    near(places, expected[1])
    upstream, back = draw(2, 2, 3, 4), Out(images.shape, dtype)
    back = lib.call("diopiBorderAlignBackwardMmcv", back, upstream, boxes, places, size)
    slopes = gradient(lambda x: borders(x, wide[1], size)[0], [wide[0]], upstream)
    near_slope(back, slopes[0], 10)
    for wrong in (-1, size + 1):
        places[0, 0, 0, 0] = wrong
        with pytest.raises(DiopiError, match=f"index {wrong}"):
            back = Out(images.shape, dtype)
            lib.call("diopiBorderAlignBackwardMmcv", back, upstream, boxes, places, size)
    with pytest.raises(DiopiError, match="`pool_size` cannot be 0"):
        lib.call("diopiBorderAlignMmcv", *outs, images, boxes, 0)


def refined(images: Array, boxes: Array, scale: float, points: int) -> Array:
    out = images.copy()
    for n, i, j in np.ndindex(*boxes.shape[:3]):
        y, x, w, h = boxes[n, i, j, :4] * scale
        places = [0j]
        if points == 5:
            places += [(a * w + 1j * b * h) / 2 for a in (-1, 1) for b in (-1, 1)]
        for place in places:
            turned = place * np.exp(1j * boxes[n, i, j, 4])
            out[n, :, i, j] += pixel(images[n], y + turned.imag, x + turned.real)
    return out


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("points", [1, 5])
def test_rotated_feature_align(lib: Library, dtype: Any, points: int) -> None:
    draw = Draw(dtype)
    images, boxes = draw(2, 2, 3, 4), draw(2, 3, 4, 5, low=0.5, high=8)
    name, rest = "diopiRotatedFeatureAlign", (0.5, points)
    out = lib.call(f"{name}Mmcv", Out(images.shape, dtype), images, boxes, *rest)
    wide = images.astype("f8"), boxes.astype("f8")
    near(out, refined(*wide, *rest), 4)
    upstream, back = draw(*images.shape), Out(images.shape, dtype)
    back = lib.call(f"{name}BackwardMmcv", back, upstream, boxes, *rest)
    near_slope(back, gradient(lambda x: refined(x, wide[1], *rest), [images], upstream)[0], 10)
    with pytest.raises(DiopiError, match="`points` cannot be 4"):
        lib.call(f"{name}Mmcv", Out(images.shape, dtype), images, boxes, 0.5, 4)
