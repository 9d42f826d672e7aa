"""Rotated boxes and polygons, as MMCV has them."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from host import NEW, DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array


def corners(box: Array) -> Array:
    """Returns the corners of `x, y, width, height, angle`."""
    x, y, width, height, angle = box
    local = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * [width / 2, height / 2, 0]
    return np.asarray(Rotation.from_rotvec([0, 0, angle]).apply(local)[:, :2] + [x, y])


def area(points: Array) -> float:
    """Returns the area of the hull of points, 0 if they have none."""
    if len(points) < 3 or np.linalg.matrix_rank(points - points[0], 1e-9) < 2:
        return 0.0
    return float(ConvexHull(points).volume)


def half_planes(points: Array) -> Array:
    """Returns `normal, offset` of each edge of the hull; they are not positive inside."""
    planes: Array = np.unique(np.round(ConvexHull(points).equations, 14), axis=0)
    return planes


def shared(a: Array, b: Array) -> float:
    """Returns the area of the intersection of two hulls, from the points where lines meet."""
    planes = np.vstack([half_planes(a), half_planes(b)])
    found = []
    for one, other in product(planes, planes):
        matrix = np.array([one[:2], other[:2]])
        if abs(np.linalg.det(matrix)) > 1e-9:
            found.append(np.linalg.solve(matrix, [-one[2], -other[2]]))
    points = np.array(found)
    inside = (points @ planes[:, :2].T + planes[:, 2] <= 1e-9).all(-1)
    return area(points[inside])


def quotient(a: Array, b: Array, mode: int = 0) -> float:
    both = shared(a, b)
    return both / (area(a) + (area(b) - both if mode == 0 else 0))


def rotated(draw: Draw, count: int) -> Array:
    parts = draw(count, 2), draw(count, 2, low=0.5, high=3), draw(count, 1, low=-4, high=4)
    return np.concatenate(parts, -1)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("mode", [0, 1])
def test_overlaps_of_rotated_boxes(lib: Library, dtype: Any, mode: int) -> None:
    draw = Draw(dtype)
    a, b = rotated(draw, 5), rotated(draw, 4)
    first, second = ([corners(box) for box in boxes.astype("f8")] for boxes in (a, b))
    expected = np.array([[quotient(x, y, mode) for y in second] for x in first])
    name = "diopiBoxIouRotatedMmcv"
    near(lib.call(name, Out((5, 4), dtype), a, b, mode, False), expected)
    near(lib.call(name, Out((20,), dtype), a, b, mode, False), expected.reshape(-1))
    near(lib.call(name, Out((4,), dtype), a[:4], b, mode, True), np.diag(expected))
    assert (expected == 0).any() and (expected > 0).any()


def test_overlaps_that_are_known(lib: Library) -> None:
    square = np.array([[0, 0, 2, 2, 0]], "f8")
    others = np.array(
        [
            [0, 0, 2, 2, np.pi / 2],
            [0, 0, 1, 1, 0.3],
            [1, 0, 2, 2, 0],
            [2, 0, 2, 2, 0],
            [1e6, 0, 2, 2, 0],
            [0, 0, 0, 2, 0],
            [0, 0, 2**0.5, 2**0.5, np.pi / 4],
        ],
        "f8",
    )
    out = Out((1, 7), "f8")
    out = lib.call("diopiBoxIouRotatedMmcv", out, square, others, 0, False)
    np.testing.assert_allclose(out[0], [1, 0.25, 1 / 3, 0, 0, 0, 0.5], atol=1e-12)
    far = square + [1e6, -1e6, 0, 0, 0]
    out = lib.call("diopiBoxIouRotatedMmcv", Out((1,), "f8"), far, far, 0, True)
    near(out, [1.0])


def test_overlaps_of_wrong_arguments_fail(lib: Library) -> None:
    boxes, out = np.ones((2, 5), "f4"), Out((2, 2), "f4")
    with pytest.raises(DiopiError, match="`mode` is 2"):
        lib.call("diopiBoxIouRotatedMmcv", out, boxes, boxes, 2, False)
    with pytest.raises(DiopiError, match=r"`bboxes2` has the shape \[2, 4\]"):
        lib.call("diopiBoxIouRotatedMmcv", out, boxes, boxes[:, :4], 0, False)
    with pytest.raises(DiopiError, match=r"\[3\]"):
        lib.call("diopiBoxIouRotatedMmcv", Out((2,), "f4"), boxes, np.ones((3, 5), "f4"), 0, True)
    with pytest.raises(DiopiError, match=r"\[3, 2\]"):
        lib.call("diopiBoxIouRotatedMmcv", Out((3, 2), "f4"), boxes, boxes, 0, False)


def test_overlaps_of_no_boxes(lib: Library) -> None:
    none, boxes = np.zeros((0, 5), "f4"), np.ones((2, 5), "f4")
    for first, second, shape in ((none, boxes, (0, 2)), (boxes, none, (2, 0)), (boxes, none, (0,))):
        out = Out(shape, "f4")
        if shape != (0,):
            lib.call("diopiBoxIouRotatedMmcv", out, first, second, 0, False)
    strange = np.array([[np.nan, 0, 1, 1, 0], [0, 0, np.inf, 1, 0], [0, 0, -1, 1, 0]], "f4")
    lib.call("diopiBoxIouRotatedMmcv", Out((3, 3), "f4"), strange, strange, 0, False)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("mode", [0, 1])
def test_overlaps_of_quadrangles(lib: Library, dtype: Any, mode: int) -> None:
    draw = Draw(dtype)
    a, b = (
        np.array([corners(box) for box in rotated(draw, count).astype("f8")]).reshape(count, 8)
        for count in (5, 4)
    )
    # Both directions of the corners are allowed.
    b = b.reshape(4, 4, 2)[:, ::-1].reshape(4, 8)
    a, b = a.astype(dtype), b.astype(dtype)
    first, second = ([row.reshape(4, 2) for row in rows.astype("f8")] for rows in (a, b))
    expected = np.array([[quotient(x, y, mode) for y in second] for x in first])
    out = lib.call("diopiBoxIouQuadriMmcv", Out((20,), dtype), a, b, mode, False)
    near(out, expected.reshape(-1))


def above(box: Array) -> Array:
    """Returns the corners of a box in space, seen from above."""
    return corners(box[[0, 1, 3, 4, 6]])


def in_space(draw: Draw, count: int) -> Array:
    flat = rotated(draw, count)
    parts = flat[:, :2], draw(count, 1), flat[:, 2:4], draw(count, 1, low=0.5), flat[:, 4:]
    return np.concatenate(parts, -1)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_areas_from_above(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    a, b = in_space(draw, 5), in_space(draw, 4)
    wide = a.astype("f8"), b.astype("f8")
    expected = [[shared(above(x), above(y)) for y in wide[1]] for x in wide[0]]
    near(lib.call("diopiIou3dBoxesOverlapBevMmcv", Out((5, 4), dtype), a, b), expected)


def selected(shapes: Any, order: Any, threshold: float) -> list[int]:
    found: list[int] = []
    for n in order:
        if all(quotient(shapes[n], shapes[m]) <= threshold for m in found):
            found.append(int(n))
    return found


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_nms_of_rotated_boxes(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    boxes, scores = rotated(draw, 25), draw.rng.permutation(25).astype(dtype)
    shapes = [corners(box) for box in boxes.astype("f8")]
    expected = selected(shapes, np.argsort(-scores.astype("f8")), 0.23)
    unused = np.zeros(0, "i8"), np.zeros((0, 5), dtype), np.zeros(0, dtype), 0.23
    out = lib.call("diopiNmsRotatedMmcv", NEW, boxes, scores, *unused, False)
    assert out.dtype == np.int64 and out.tolist() == expected and len(expected) < 25
    labeled = np.concatenate([boxes, draw(25, 1)], -1)
    out = lib.call("diopiNmsRotatedMmcv", NEW, labeled, scores, *unused, True)
    assert out.tolist() == expected
    with pytest.raises(DiopiError, match=r"\[25\]"):
        lib.call("diopiNmsRotatedMmcv", NEW, boxes, scores[:3], *unused, False)
    out = lib.call("diopiNmsRotatedMmcv", NEW, boxes[:0], scores[:0], *unused, False)
    assert out.tolist() == []


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("name", ["diopiIou3dNms3dMmcv", "diopiIou3dNms3dNormalMmcv"])
def test_nms_from_above(lib: Library, dtype: Any, kind: str, name: str) -> None:
    boxes = in_space(Draw(dtype), 25)
    wide = boxes.astype("f8")
    if "Normal" in name:
        wide[:, 6] = 0
    expected = selected([above(box) for box in wide], range(25), 0.23)
    keep, count = lib.call(name, Out((25,), kind), Out((1,), kind), boxes, 0.23)
    assert count.tolist() == [len(expected)] and len(expected) < 25
    assert keep.tolist() == expected + [0] * (25 - len(expected))
    with pytest.raises(DiopiError, match="`keep` has the shape"):
        lib.call(name, Out((1,), kind), Out((1,), kind), boxes, 0.23)


def points(draw: Draw, count: int) -> Array:
    """Returns sets of nine points."""
    return draw(count, 18, low=-3, high=3)


def squares(draw: Draw, count: int) -> Array:
    boxes = rotated(draw, count).astype("f8")
    return np.array([corners(box) for box in boxes]).reshape(count, 8).astype(draw.dtype)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_overlaps_of_hulls(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    a, b = points(draw, 4), squares(draw, 3)
    sets = a.astype("f8").reshape(4, 9, 2), b.astype("f8").reshape(3, 4, 2)
    expected = [[quotient(x, y) for y in sets[1]] for x in sets[0]]
    near(lib.call("diopiConvexIouMmcv", Out((4, 3), dtype), a, b), expected)


def generalized(a: Array, b: Array) -> Array:
    result = []
    for x, y in zip(a.reshape(-1, 9, 2), b.reshape(-1, 4, 2), strict=True):
        both, whole = shared(x, y), area(np.vstack([x, y]))
        union = area(x) + area(y) - both
        result.append(both / union - (whole - union) / whole)
    return np.array(result)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_generalized_overlaps(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    a, b = points(draw, 6), squares(draw, 6)
    a[5] += 20
    out = lib.call("diopiConvexGiouMmcv", Out((6, 19), dtype), a, b)
    wide = a.astype("f8"), b.astype("f8")
    near(out[:, 18], generalized(*wide), 2)
    expected = gradient(lambda x: generalized(x, wide[1]), [wide[0]], np.ones(6))[0]
    near_slope(out[:, :18], expected, 2)


def test_generalized_overlaps_of_the_published_example(lib: Library) -> None:
    a = [[1.5, 1.5, 2.5, 2.5, 1.5, 2.5, 2.5, 1.5, 1.5, 3.5, 3.5, 1.5, 2.5, 3.5, 3.5, 2.5, 2, 2]]
    b = [[1, 1, 1, 3, 3, 3, 3, 1]]
    out = lib.call("diopiConvexGiouMmcv", Out((1, 19), "f8"), np.array(a), np.array(b, "f8"))
    np.testing.assert_allclose(out[0, 18], 0.3831, atol=1e-4)
    np.testing.assert_allclose(out[0, :2], [-0.1848, -0.1848], atol=1e-4)
    np.testing.assert_allclose(out[0, 8:12], [-0.1076, -0.0801, -0.0801, -0.1076], atol=1e-4)


def test_generalized_overlaps_without_area(lib: Library) -> None:
    a, b = np.ones((1, 18), "f4"), np.full((1, 8), 2, "f4")
    assert not lib.call("diopiConvexGiouMmcv", Out((1, 19), "f4"), a, b).any()


def smallest(points: Array) -> float:
    """Returns the smallest area of rectangles with an edge along one of the hull's."""
    hull = ConvexHull(points)
    turned = (points @ np.stack([[x, y], [-y, x]], 1) for x, y, _ in hull.equations)
    return float(min(np.prod(np.ptp(places, 0)) for places in turned))


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_smallest_rectangles(lib: Library, dtype: Any) -> None:
    sets = points(Draw(dtype), 6)
    out = lib.call("diopiMinAreaPolygonsMmcv", Out((6, 8), dtype), sets)
    exact = lib.call("diopiMinAreaPolygonsMmcv", Out((6, 8), "f8"), sets.astype("f8"))
    near(out, exact)
    for row, own in zip(exact.reshape(6, 4, 2), sets.astype("f8").reshape(6, 9, 2), strict=True):
        edges = np.roll(row, -1, 0) - row
        np.testing.assert_allclose((edges * np.roll(edges, -1, 0)).sum(-1), 0, atol=1e-9)
        np.testing.assert_allclose(area(row), smallest(own))
        assert area(np.vstack([row, own])) <= area(row) * (1 + 1e-9)


def test_corners_of_smallest_rectangles(lib: Library) -> None:
    sets = [
        [1, 1, 2, 2, 1, 2, 2, 1, 1, 3, 3, 1, 2, 3, 3, 2, 1.5, 1.5],
        [1, 1, 8, 8, 1, 2, 2, 1, 1, 3, 3, 1, 2, 3, 3, 2, 1.5, 1.5],
        [4] * 18,
    ]
    expected: list[list[float]] = [
        [3, 1, 1, 1, 1, 3, 3, 3],
        [8, 8, 2.3243, 0.0541, 0.0541, 1.6757, 5.7297, 9.6216],
        [4] * 8,
    ]
    out = lib.call("diopiMinAreaPolygonsMmcv", Out((3, 8), "f8"), np.array(sets, "f8"))
    np.testing.assert_allclose(out, expected, atol=1e-4)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_order_of_vertices(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    vertices, mask = draw(2, 5, 24, 2), np.zeros((2, 5, 24), bool)
    expected = np.zeros((2, 5, 9), int)
    for n, (i, j) in enumerate(np.ndindex(2, 5)):
        count = min(n, 8)
        valid = draw.rng.permutation(24)[:count]
        mask[i, j, valid] = True
        angles = np.angle(vertices[i, j].astype("f8") @ [1, 1j]) % (2 * np.pi)
        order = sorted(valid, key=lambda index: angles[index]) if count > 2 else []
        unused = next(index for index in range(8, 24) if index not in valid)
        expected[i, j] = [*order, *order[:1], *[unused] * 9][:9]
    arguments = vertices, mask, mask.sum(-1).astype("i4")
    out = lib.call("diopiDiffIouRotatedSortVerticesMmcv", NEW, *arguments)
    assert out.dtype == np.int32
    near(out, expected)


def test_vertices_of_equal_boxes_count_once(lib: Library) -> None:
    vertices, mask = np.zeros((1, 1, 24, 2), "f4"), np.zeros((1, 1, 24), bool)
    vertices[0, 0, :8] = [[1, 1], [-1, 1], [-1, -1], [1, -1]] * 2
    mask[0, 0, :8] = True
    arguments = vertices, mask, np.array([[8]], "i4")
    out = lib.call("diopiDiffIouRotatedSortVerticesMmcv", NEW, *arguments)
    assert out.tolist() == [[[0, 1, 2, 3, 0, 8, 8, 8, 8]]]
    with pytest.raises(DiopiError, match="`mask` has 9 elements where 8 are needed"):
        vertices[0, 0] = np.stack([np.cos(range(24)), np.sin(range(24))], -1)
        mask[0, 0, :9] = True
        lib.call("diopiDiffIouRotatedSortVerticesMmcv", NEW, *arguments)
