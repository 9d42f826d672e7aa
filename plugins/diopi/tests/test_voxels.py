"""Points in boxes, quadrangles and voxels."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from host import DiopiError, Library, Out
from samples import REAL, Draw, near
from tensors import Array


def inside(box: Array, points: Array) -> Array:
    """Tells which points are in a box, whose angle turns it about the vertical axis."""
    center = box[:3] + [0, 0, box[5] / 2]
    local = Rotation.from_rotvec([0, 0, -box[6]]).apply(points - center)
    return np.asarray((np.abs(local) < box[3:6] / 2).all(-1))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_points_in_boxes(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    sizes = draw(2, 3, 3, low=1, high=4).astype("f8")
    angles = draw(2, 3, 1, low=-4, high=4).astype("f8")
    boxes = np.concatenate([draw(2, 3, 3, low=-1, high=1).astype("f8"), sizes, angles], -1)
    boxes, points = boxes.astype(dtype), draw(2, 40, 3)
    pairs = zip(boxes.astype("f8"), points.astype("f8"), strict=True)
    expected = np.array([[inside(box, cloud) for box in part] for part, cloud in pairs])
    expected = expected.transpose(0, 2, 1)
    out = lib.call("diopiPointsInBoxesAllMmcv", Out((2, 40, 3), kind), boxes, points)
    near(out, expected.astype(kind))
    first = lib.call("diopiPointsInBoxesPartMmcv", Out((2, 40), kind), boxes, points)
    near(first, np.where(expected.any(-1), expected.argmax(-1), -1))
    assert expected.any() and not expected.all()


def test_border_of_a_box(lib: Library) -> None:
    boxes = np.array([[[0, 0, 0, 2, 4, 6, 0]]], "f4")
    points = np.array([[[0, 0, 0], [0, 0, 6], [1, 0, 3], [0, 2, 3], [0, 0, 6.5]]], "f4")
    out = lib.call("diopiPointsInBoxesAllMmcv", Out((1, 5, 1), "i4"), boxes, points)
    assert out[0, :, 0].tolist() == [1, 1, 0, 0, 0]


def winding(polygon: Array, point: Array) -> bool:
    """Tells whether the angles of the corners around a point add up to an odd number of turns."""
    corners = (polygon.reshape(4, 2) - point) @ [1, 1j]
    turns = np.angle(np.roll(corners, -1) / corners).sum() / (2 * np.pi)
    return bool(round(turns) % 2 == 1)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_points_in_polygons(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    points, polygons = draw(30, 2), draw(5, 8)
    out = lib.call("diopiPointsInPolygonsMmcv", Out((30, 5), dtype), points, polygons)
    wide = points.astype("f8"), polygons.astype("f8")
    expected = [[winding(polygon, point) for polygon in wide[1]] for point in wide[0]]
    near(out, np.array(expected, "f8"))
    corners = np.ascontiguousarray(polygons[0].reshape(4, 2))
    out = lib.call("diopiPointsInPolygonsMmcv", Out((4, 1), dtype), corners, polygons[:1])
    assert out.astype("f8").all()


SIZE, RANGE = [0.5, 1.0, 2.0], [-2.0, -1.0, 0.0, 2.0, 3.0, 4.0]


def voxel(point: Array) -> list[int]:
    """Returns the voxel of a point, or -1."""
    place = [int((point[n] - RANGE[n]) // SIZE[n]) for n in range(3)]
    counts = [round((RANGE[n + 3] - RANGE[n]) / SIZE[n]) for n in range(3)]
    is_inside = all(0 <= at < count for at, count in zip(place, counts, strict=True))
    return place[::-1] if is_inside else [-1] * 3


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_voxels(lib: Library, dtype: Any, kind: str) -> None:
    points = Draw(dtype)(60, 5, low=-2, high=4)
    size, bounds = np.array(SIZE, dtype), np.array(RANGE, dtype)
    expected = [voxel(point) for point in points.astype("f8")]
    out = lib.call("diopiDynamicVoxelizeMmcv", Out((60, 3), kind), points, size, bounds, 3)
    near(out, np.array(expected))
    capacity, available = 2, 12
    groups: dict[tuple[int, ...], list[int]] = {}
    for n, place in enumerate(expected):
        key = tuple(place)
        if -1 not in key and (key in groups or len(groups) < available):
            groups.setdefault(key, []).append(n)
    shapes = (available, capacity, 5), (available, 3), (available,), (1,)
    outs = [Out(shape, kind if n else dtype) for n, shape in enumerate(shapes)]
    rest = points, size, bounds, capacity, available, 3, True
    voxels, places, counts, used = lib.call("diopiHardVoxelizeMmcv", *outs, *rest)
    assert used.tolist() == [len(groups)] and len(groups) == available
    assert places.tolist() == [list(key) for key in groups]
    for n, rows in enumerate(groups.values()):
        assert counts[n] == min(len(rows), capacity)
        own = np.zeros((capacity, 5))
        own[: counts[n]] = points[rows[:capacity]]
        near(voxels[n], own)
    with pytest.raises(DiopiError, match="12 voxels of 3 points"):
        wrong = points, size, bounds, 3, available, 3, True
        lib.call("diopiHardVoxelizeMmcv", *outs, *wrong)


def test_points_outside_leave_voxels_empty(lib: Library) -> None:
    shapes = (2, 1, 3), (2, 3), (2,), (1,)
    outs = [Out(shape, "i4" if n else "f4") for n, shape in enumerate(shapes)]
    points = np.array([[np.nan, 0, 0], [9, 0, 0]], "f4")
    rest = points, np.array(SIZE, "f4"), np.array(RANGE, "f4"), 1, 2, 3, True
    for out in lib.call("diopiHardVoxelizeMmcv", *outs, *rest):
        assert not out.any()
