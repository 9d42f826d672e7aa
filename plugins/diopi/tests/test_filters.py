"""Masks, shifts and filters of images, and batch normalization across devices, as MMCV has them."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import convolve2d

from host import NEW, DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_windows_around_pixels(lib: Library, dtype: Any, kind: str) -> None:
    image = Draw(dtype)(1, 3, 5, 6)
    rows, columns = np.array([0, 2, 4, 3], kind), np.array([5, 1, 0, 3], kind)
    wide = np.pad(image.astype("f8"), [(0, 0), (0, 0), (1, 1), (2, 2)])
    windows = [wide[0, :, i : i + 2, j : j + 3].ravel() for i, j in zip(rows, columns, strict=True)]
    arguments = image, rows, columns, 2, 3, 1, 2
    out = lib.call("diopiMaskedIm2colMmcv", Out((18, 4), dtype), *arguments)
    near(out, np.transpose(windows))
    values = Draw(dtype)(3, 4)
    expected = np.zeros((1, 3, 5, 6))
    expected[0, :, rows, columns] = values.astype("f8").T
    rest = values, rows, columns, 5, 6, 3
    near(lib.call("diopiMaskedCol2imMmcv", Out((1, 3, 5, 6), dtype), *rest), expected)
    with pytest.raises(DiopiError, match="index 5"):
        rows[0] = 5
        lib.call("diopiMaskedCol2imMmcv", Out((1, 3, 5, 6), dtype), *rest)


def test_windows_of_an_image_without_pixels_are_zero(lib: Library) -> None:
    image, places = np.zeros((1, 2, 0, 3), "f4"), np.zeros(4, "i8")
    out = lib.call("diopiMaskedIm2colMmcv", Out((2, 4), "f4"), image, places, places, 1, 1, 0, 0)
    assert not out.any()


def test_huge_window_fails(lib: Library) -> None:
    image, places, huge = np.zeros((1, 1, 2, 2), "f4"), np.zeros(1, "i8"), 2**62
    with pytest.raises(DiopiError, match="address space"):
        arguments = image, places, places, huge, huge, 0, 0
        lib.call("diopiMaskedIm2colMmcv", Out((1, 1), "f4"), *arguments)
    with pytest.raises(DiopiError, match="address space"):
        mask = 0, 1, 2, 2, huge, huge, 0, 0
        lib.call("diopiPsamaskMmcv", Out((1, 4, 2, 2), "f4"), image, *mask)
    out = Out((1, 1), "f4")
    far = lib.call("diopiMaskedIm2colMmcv", out, image + 1, places, places, 1, 1, -huge, huge)
    assert not far.any()


def attention(masks: Array, mode: int, size: tuple[int, int], half: tuple[int, int]) -> Array:
    """Returns a weight for each pair of pixels."""
    batch, _, height, width = masks.shape
    masks = masks.reshape(batch, *size, height, width)
    out = np.zeros((batch, height, width, height, width))
    for n, h, w, i, j in np.ndindex(batch, height, width, *size):
        row, column = h + i - half[0], w + j - half[1]
        if 0 <= row < height and 0 <= column < width:
            places = (h, w, row, column) if mode else (row, column, h, w)
            out[(n, *places)] = masks[n, i, j, h, w]
    return out.reshape(batch, height * width, height, width)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("mode", [0, 1])
def test_psa_mask(lib: Library, dtype: Any, mode: int) -> None:
    draw, size, half = Draw(dtype), (3, 5), (1, 2)
    masks, upstream = draw(2, 15, 4, 3), draw(2, 12, 4, 3)
    rest = mode, 2, 4, 3, *size, *half
    out = lib.call("diopiPsamaskMmcv", Out((2, 12, 4, 3), dtype), masks, *rest)
    near(out, attention(masks.astype("f8"), mode, size, half))
    back = lib.call("diopiPsamaskBackwardMmcv", Out(masks.shape, dtype), upstream, *rest)
    expected = gradient(lambda x: attention(x, mode, size, half), [masks], upstream)
    near_slope(back, expected[0])
    with pytest.raises(DiopiError, match="`psa_type` is 2"):
        lib.call("diopiPsamaskMmcv", Out((2, 12, 4, 3), dtype), masks, 2, *rest[1:])


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_shift_of_frames(lib: Library, dtype: Any, kind: str) -> None:
    videos = Draw(dtype)(2, 4, 6, 5)
    shifts = np.array([[0, 1, -2], [3, -1, 9]], kind)
    moved, back = np.zeros(videos.shape), np.zeros(videos.shape)
    for n, t, c in np.ndindex(2, 4, 6):
        to = t + shifts[n, c // 2]
        if 0 <= to < 4:
            moved[n, to, c] = videos[n, t, c]
            back[n, t, c] = videos[n, to, c]
    near(lib.call("diopiTinShiftMmcv", Out(videos.shape, dtype), videos, shifts), moved)
    near(lib.call("diopiTinShiftBackwardMmcv", Out(videos.shape, dtype), videos, shifts), back)
    with pytest.raises(DiopiError):
        wrong = videos[:, :, :5], shifts
        lib.call("diopiTinShiftMmcv", Out((2, 4, 5, 5), dtype), *wrong)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (2, 1, 0, 3), (-1, 2, 1, -2)])
@pytest.mark.parametrize("factors", [(1, 1, 1, 1), (2, 3, 1, 2), (1, 2, 3, 1)])
def test_upfirdn(lib: Library, dtype: Any, pads: Any, factors: Any) -> None:
    draw = Draw(dtype)
    x, kernel = draw(2, 3, 6, 7), draw(2, 3)
    up_x, up_y, down_x, down_y = factors
    wide = np.zeros((2, 3, 6 * up_y, 7 * up_x))
    wide[:, :, ::up_y, ::up_x] = x
    left, right, top, bottom = pads
    padded = np.pad(
        wide, [(0, 0), (0, 0), *((max(n, 0), max(m, 0)) for n, m in (pads[2:], pads[:2]))]
    )
    rows = slice(max(-top, 0), padded.shape[2] - max(-bottom, 0))
    padded = padded[:, :, rows, max(-left, 0) : padded.shape[3] - max(-right, 0)]
    expected = [
        [convolve2d(image, kernel.astype("f8"), "valid") for image in own] for own in padded
    ]
    out = lib.call("diopiUpfirdn2dOpMmcv", NEW, x, kernel, *factors, *pads)
    near(out, np.array(expected)[:, :, ::down_y, ::down_x], 4)
    with pytest.raises(DiopiError, match="up"):
        lib.call("diopiUpfirdn2dOpMmcv", NEW, x, kernel, 0, *factors[1:], *pads)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4, 2)])
def test_bias_and_leaky_relu(lib: Library, dtype: Any, shape: Any) -> None:
    draw = Draw(dtype)
    x, bias, none = draw(*shape), draw(3), np.zeros(0, dtype)
    sums = x.astype("f8") + bias.astype("f8").reshape(1, 3, *[1] * (len(shape) - 2))
    leaky = np.where(sums > 0, sums, 0.25 * sums)
    name = "diopiFusedBiasLeakyreluMmcv"
    near(lib.call(name, NEW, x, bias, none, 3, 0, 0.25, 1.5), leaky * 1.5)
    near(lib.call(name, NEW, x, bias, none, 1, 0, 0.25, 1.5), sums * 1.5)
    refer = leaky.astype(dtype)
    slopes = np.where(leaky > 0, 1, 0.25)
    near(lib.call(name, NEW, x, none, refer, 3, 1, 0.25, 1.5), x.astype("f8") * slopes * 1.5)
    assert not lib.call(name, NEW, x, none, refer, 3, 2, 0.25, 1.5).astype("f8").any()
    with pytest.raises(DiopiError, match="`act` is 2"):
        lib.call(name, NEW, x, bias, none, 2, 0, 0.25, 1.5)


def normalized(x: Array, weight: Array, bias: Array) -> Array:
    mean, variance = x.mean((0, 2), keepdims=True), x.var((0, 2), keepdims=True)
    result: Array = (x - mean) / np.sqrt(variance + 1e-5) * weight[:, None] + bias[:, None]
    return result


@pytest.mark.parametrize("dtype", REAL[:3], ids=str)
def test_batch_normalization_across_devices(lib: Library, dtype: Any) -> None:
    draw, single = Draw(dtype), np.float64 if dtype == np.float64 else np.float32
    x, upstream = draw(4, 3, 5), draw(4, 3, 5)
    own = Draw(single)
    weight, bias, running = own(3), own(3), [own.writable(3), own.writable(3)]
    mean = lib.call("diopiSyncBnMeanMmcv", Out((3,), single), x)
    var = lib.call("diopiSyncBnVarMmcv", Out((3,), single), x, mean)
    wide = x.astype("f8")
    near(mean, wide.mean((0, 2)))
    near(var, wide.var((0, 2)))
    before = [array.astype("f8") for array in running]
    outs = Out(x.shape, single), Out((3,), single), Out(x.shape, dtype)
    rest = x, mean, var, weight, bias, 1e-5, 0.1, 1
    norm, std, out = lib.call("diopiSyncBnOutputMmcv", *running, *outs, *rest)
    near(out, normalized(wide, weight.astype("f8"), bias.astype("f8")), 1e5 if dtype == "f8" else 4)
    near(std, np.sqrt(wide.var((0, 2)) + 1e-5), 1e5 if dtype == "f8" else 1)
    near(running[0], 0.9 * before[0] + 0.1 * wide.mean((0, 2)), 1e5 if dtype == "f8" else 1)
    unbiased = wide.var((0, 2), ddof=1)
    near(running[1], 0.9 * before[1] + 0.1 * unbiased, 1e5 if dtype == "f8" else 1)
    targets = Out((3,), single), Out((3,), single)
    slopes = lib.call("diopiSyncBnBackwardParamMmcv", *targets, upstream, norm)
    rest = upstream, weight, *slopes, norm, std
    slope = lib.call("diopiSyncBnBackwardDataMmcv", Out(x.shape, dtype), *rest)
    expected = gradient(normalized, [x, weight, bias], upstream)
    for actual, wanted in zip((slope, *slopes), expected, strict=True):
        near_slope(actual, wanted, 20 if actual.dtype == np.float32 else 4)
