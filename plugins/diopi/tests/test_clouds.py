"""Pooling of points and voxels, as MMCV has it."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from host import NEW, DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]


def scored(points: Array, centers: Array, scores: Array, indices: Array) -> Array:
    batch = np.arange(len(points))[:, None, None]
    own = points[batch, indices] - centers[batch, indices[:, :, :1]]
    return np.asarray(np.einsum("bnkmo,bnkm->bonk", own, scores))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_assigned_scores(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    points, centers, scores = draw(2, 5, 2, 3), draw(2, 5, 2, 3), draw(2, 4, 3, 2)
    indices = draw(2, 4, 3, low=0, high=5, dtype=kind)
    numbers, shape, name = (2, 5, 4, 2, 3, 3), (2, 3, 4, 3), "diopiAssignScoreWithk"
    arguments = points, centers, scores, indices, *numbers
    wide = [array.astype("f8") for array in arguments[:3]]
    out = lib.call(f"{name}Mmcv", Out(shape, dtype), *arguments, 0)
    near(out, scored(wide[0], wide[1], wide[2], indices), 2)
    upstream = draw(*shape)
    outs = [Out(array.shape, dtype) for array in wide]
    backs = lib.call(f"{name}BackwardMmcv", *outs, upstream, *arguments, 0)
    slopes = gradient(lambda x, c, s: scored(x, c, s, indices), wide, upstream)
    for actual, expected in zip(backs, slopes, strict=True):
        near_slope(actual, expected, 10)
    with pytest.raises(DiopiError, match="aggregation 2") as caught:
        lib.call(f"{name}Mmcv", Out(shape, dtype), *arguments, 2)
    assert caught.value.code == 13
    indices = np.array(indices)
    for wrong in (-1, 5):
        indices[1, 2, 1] = wrong
        with pytest.raises(DiopiError, match=f"index {wrong}"):
            arguments = points, centers, scores, indices, *numbers
            lib.call(f"{name}Mmcv", Out(shape, dtype), *arguments, 0)


def voxels_of(box: Array, points: Array, grid: tuple[int, ...]) -> list[Any]:
    """Returns the voxel of each point in a box, None outside."""
    center = box[:3] + [0, 0, box[5] / 2]
    local = Rotation.from_rotvec([0, 0, -box[6]]).apply(points - center) + box[3:6] / 2
    parts = np.floor(local / box[3:6] * grid).astype(int)
    inside = ((local > 0) & (local < box[3:6])).all(-1)
    return [tuple(part) if ok else None for part, ok in zip(parts, inside, strict=True)]


def boxes_and_points(draw: Draw) -> tuple[Array, Array]:
    sizes, angles = draw(3, 3, low=1, high=4), draw(3, 1, low=-4, high=4)
    boxes = np.concatenate([draw(3, 3, low=-1, high=0), sizes, angles], -1)
    boxes[2, :3] = 50
    return boxes, draw(40, 3)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("method", [0, 1])
def test_pooling_in_voxels_of_boxes(lib: Library, dtype: Any, kind: str, method: int) -> None:
    draw, grid, capacity = Draw(dtype), (2, 2, 1), 3
    boxes, points = boxes_and_points(draw)
    features = draw(40, 2)
    shape = 3, *grid, 2
    lists: dict[tuple[int, ...], list[int]] = {}
    for n, box in enumerate(boxes.astype("f8")):
        for point, voxel in enumerate(voxels_of(box, points.astype("f8"), grid)):
            if voxel is not None:
                lists.setdefault((n, *voxel), []).append(point)
    assert any(len(found) >= capacity for found in lists.values())
    expected_lists = np.zeros((3, *grid, capacity), int)
    for voxel, found in lists.items():
        own = found[: capacity - 1]
        expected_lists[voxel] = [len(own), *own, *[0] * (capacity - 1 - len(own))]

    def pooled(features: Array) -> Array:
        out = np.zeros(shape)
        for voxel, found in lists.items():
            own = features[found[: capacity - 1]]
            out[voxel] = own.mean(0) if method else own.max(0)
        return out

    outs = Out(shape, kind), Out((3, *grid, capacity), kind), Out(shape, dtype)
    arguments = boxes, points, features, method
    argmax, of_voxels, out = lib.call("diopiRoiawarePool3dMmcv", *outs, *arguments)
    near(of_voxels, expected_lists)
    near(out, pooled(features.astype("f8")), 2)
    if method == 0:
        for place in np.ndindex(*shape):
            largest = argmax[place]
            assert (largest >= 0) == (place[:-1] in lists)
            assert largest < 0 or features[largest, place[-1]] == out[place]
    else:
        assert not argmax.any()
    upstream, name = draw(*shape), "diopiRoiawarePool3dBackwardMmcv"
    back = lib.call(name, Out(features.shape, dtype), of_voxels, argmax, upstream, method)
    near_slope(back, gradient(pooled, [features], upstream)[0], 10)
    wrong = of_voxels.copy(), argmax.copy()
    wrong[0][0, 0, 0, 0, :2] = 1, 40
    wrong[1][0, 0, 0, 0, 0] = 40
    with pytest.raises(DiopiError, match="index 40"):
        lib.call(name, Out(features.shape, dtype), *wrong, upstream, method)
    with pytest.raises(DiopiError, match="`pool_method` is 2"):
        lib.call(name, Out(features.shape, dtype), of_voxels, argmax, upstream, 2)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("samples", [1, 6])
def test_points_of_boxes(lib: Library, dtype: Any, kind: str, samples: int) -> None:
    draw = Draw(dtype)
    clouds = [boxes_and_points(draw) for _ in range(2)]
    boxes, points = (np.stack([cloud[n] for cloud in clouds]) for n in (0, 1))
    features = draw(2, 40, 2)
    expected = np.zeros((2, 3, samples, 5))
    empty = np.ones((2, 3), int)
    both = np.concatenate([points.astype("f8"), features.astype("f8")], -1)
    for n, k in np.ndindex(2, 3):
        found = voxels_of(boxes[n, k].astype("f8"), both[n, :, :3], (1, 1, 1))
        own = [point for point, voxel in enumerate(found) if voxel is not None]
        if own:
            empty[n, k] = 0
            expected[n, k] = both[n, np.resize(own[:samples], samples)]
    outs = Out((2, 3, samples, 5), dtype), Out((2, 3), kind)
    out, flags = lib.call("diopiRoipointPool3dMmcv", *outs, points, boxes, features)
    near(flags, empty)
    near(out, expected)
    assert empty.any() and not empty.all()


REDUCE: dict[int, Any] = {0: np.sum, 1: np.mean, 2: np.max}


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("method", REDUCE)
def test_points_to_voxels(lib: Library, dtype: Any, kind: str, method: int) -> None:
    draw = Draw(dtype)
    features = draw(30, 3)
    coordinates = draw(30, 3, low=-1, high=2, dtype=kind)
    valid = (coordinates >= 0).all(-1)
    unique, inverse, counts = np.unique(
        coordinates[valid], axis=0, return_inverse=True, return_counts=True
    )
    indices = np.full(30, -1)
    indices[valid] = inverse.reshape(-1)
    assert len(unique) > 2 and not valid.all()

    def pooled(features: Array) -> Array:
        groups = [REDUCE[method](features[indices == n], 0) for n in range(len(unique))]
        return np.array(groups)

    results = lib.call("diopiDynamicPointToVoxelMmcv", [NEW] * 4, features, coordinates, method)
    assert [array.dtype.str[1:] for array in results[1:]] == [kind, "i4", "i4"]
    near(results[0], pooled(features.astype("f8")), 2)
    for actual, expected in zip(results[1:], (unique, indices, counts), strict=True):
        near(actual, expected)
    upstream, name = draw(len(unique), 3), "diopiDynamicPointToVoxelBackwardMmcv"
    arguments = upstream, features, results[0], results[2], results[3], method
    back = lib.call(name, Out((30, 3), dtype), *arguments)
    near_slope(back, gradient(pooled, [features], upstream)[0], 10)
    wrong = results[2].copy()
    wrong[0] = len(unique)
    with pytest.raises(DiopiError, match=f"index {len(unique)}"):
        arguments = upstream, features, results[0], wrong, results[3], method
        lib.call(name, Out((30, 3), dtype), *arguments)


def test_largest_features_that_are_equal(lib: Library) -> None:
    features, indices = np.ones((3, 1), "f4"), np.zeros(3, "i4")
    arguments = np.full((1, 1), 5, "f4"), features, np.ones((1, 1), "f4"), indices, indices[:1], 2
    back = lib.call("diopiDynamicPointToVoxelBackwardMmcv", Out((3, 1), "f4"), *arguments)
    assert back.tolist() == [[5], [0], [0]]


def test_points_without_voxels(lib: Library) -> None:
    features, coordinates = np.ones((2, 3), "f4"), np.full((2, 3), -1, "i4")
    results = lib.call("diopiDynamicPointToVoxelMmcv", [NEW] * 4, features, coordinates, 2)
    assert [array.shape for array in results] == [(0, 3), (0, 3), (2,), (0,)]
    assert results[2].tolist() == [-1, -1]
    with pytest.raises(DiopiError, match="`reduce_type` is 3"):
        lib.call("diopiDynamicPointToVoxelMmcv", [NEW] * 4, features, coordinates, 3)
