"""Points in space: neighbors, samples, boxes and voxels."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]


def squares(a: Array, b: Array) -> Array:
    """Returns the squared distances of all pairs, for each cloud."""
    a, b = np.asarray(a, "f8"), np.asarray(b, "f8")
    result: Array = ((a[..., :, None, :] - b[..., None, :, :]) ** 2).sum(-1)
    return result


def grid(draw: Draw, *shape: int) -> Array:
    """Returns distinct points whose distances are exact in all types."""
    places = draw.rng.permutation(8**3)[: int(np.prod(shape))]
    return np.stack(np.unravel_index(places, (8, 8, 8)), -1).reshape(*shape, 3).astype(draw.dtype)


def in_balls(centers: Array, points: Array, low: float, high: float, count: int, no: int) -> Any:
    rows = []
    for distances in squares(centers, points):
        inside = np.flatnonzero((distances == 0) | ((distances >= low**2) & (distances < high**2)))
        found = inside[:count].tolist()
        rows.append(found + found[:1] * (count - len(found)) if found else [no] + [0] * (count - 1))
    return np.array(rows)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize(("low", "high"), [(0.0, 3.0), (2.0, 4.5), (0.0, 0.5)])
def test_ball_query(lib: Library, dtype: Any, kind: str, low: float, high: float) -> None:
    draw = Draw(dtype)
    points, centers = grid(draw, 2, 30), grid(draw, 2, 7)
    centers[0, 0] = points[0, 3]
    rest = 2, 30, 7, 4, low, high
    out = lib.call("diopiBallQueryMmcv", Out((2, 7, 4), kind), centers, points, *rest)
    pairs = zip(centers, points, strict=True)
    near(out, np.array([in_balls(*pair, low, high, 4, 0) for pair in pairs]))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_ball_query_of_clouds_of_different_sizes(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    points, centers = grid(draw, 30), grid(draw, 9)
    ends, counts = [(slice(4), slice(20)), (slice(4, 9), slice(20, 30))], ([4, 5], [20, 10])
    numbers = [np.array(count, kind) for count in counts]
    arguments = centers, numbers[0], points, numbers[1], 2.5, 3
    out = lib.call("diopiStackBallQueryMmcv", Out((9, 3), kind), *arguments)
    parts = [in_balls(centers[a], points[b], 0, 2.5, 3, -1) for a, b in ends]
    near(out, np.concatenate(parts))
    assert (out == -1).any()
    with pytest.raises(DiopiError, match="points"):
        wrong = centers, numbers[0], points, numbers[1] + 1, 2.5, 3
        lib.call("diopiStackBallQueryMmcv", Out((9, 3), kind), *wrong)


def nearest(queries: Array, points: Array, count: int) -> tuple[Array, Array]:
    distances = squares(queries, points)
    order = np.argsort(distances, -1, kind="stable")[..., :count]
    return np.take_along_axis(distances, order, -1), order


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_nearest_points(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    points, queries = grid(draw, 2, 20), grid(draw, 2, 6)
    sizes = 2, 20, 6
    for name, count in (("diopiKnnMmcv", 5), ("diopiThreeNnMmcv", 3)):
        shape = 2, 6, count
        distances, places = nearest(queries, points, count)
        if count == 5:
            outs = Out(shape, kind), Out(shape, dtype)
            indices, squared = lib.call(name, *outs, points, queries, *sizes, count)
        else:
            outs = Out(shape, dtype), Out(shape, kind)
            squared, indices = lib.call(name, *outs, queries, points, 2, 6, 20)
        near(squared, distances)
        near(indices, places)


def test_nearest_of_too_few_points(lib: Library) -> None:
    points, queries = np.array([[[1, 0, 0], [np.nan, 0, 0]]], "f4"), np.zeros((1, 1, 3), "f4")
    outs = Out((1, 1, 3), "f4"), Out((1, 1, 3), "i4")
    distances, indices = lib.call("diopiThreeNnMmcv", *outs, queries, points, 1, 1, 2)
    assert distances.tolist() == [[[1, np.inf, np.inf]]]
    assert indices.tolist() == [[[0, 0, 0]]]


def read(points: Array, indices: Array) -> Array:
    return np.stack([cloud[:, rows] for cloud, rows in zip(points, indices, strict=True)])


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("shape", [(5,), (4, 3), (0,)])
def test_features_of_points(lib: Library, dtype: Any, kind: str, shape: Any) -> None:
    draw, name = Draw(dtype), "Gather" if len(shape) == 1 else "Group"
    points, indices = draw(2, 3, 6), draw(2, *shape, low=0, high=6, dtype=kind)
    upstream = draw(2, 3, *shape)
    sizes = 2, 3, 6, *shape
    out = lib.call(f"diopi{name}PointsMmcv", Out(upstream.shape, dtype), points, indices, *sizes)
    near(out, read(points.astype("f8"), indices))
    arguments = upstream, indices, *sizes
    back = lib.call(f"diopi{name}PointsBackwardMmcv", Out(points.shape, dtype), *arguments)
    near_slope(back, gradient(lambda x: read(x, indices), [points], upstream)[0], 2)
    with pytest.raises(DiopiError, match="index 6"):
        wrong = np.full_like(indices, 6) if indices.size else np.full((2, 5), 6, kind)
        out = Out((2, 3, *wrong.shape[1:]), dtype)
        lib.call(
            f"diopi{'Gather' if wrong.ndim == 2 else name}PointsMmcv", out, points, wrong, *sizes
        )


def stacked(features: Array, indices: Array) -> Array:
    """Reads groups of two clouds, of four and of three points."""
    starts = np.array([0, 0, 0, 4, 4])[:, None]
    result: Array = features[indices + starts].transpose(0, 2, 1)
    return result


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_features_of_clouds_of_different_sizes(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    features, upstream = draw(7, 3), draw(5, 3, 2)
    indices = draw(5, 2, low=0, high=3, dtype=kind)
    counts, groups = np.array([4, 3], kind), np.array([3, 2], kind)
    name, sizes = "diopiStackGroupPointsMmcv", (2, 3, 5)
    out = Out((5, 3, 2), dtype)
    found = lib.call(name, out, features, counts, indices, groups, *sizes, 2)
    near(found, stacked(features.astype("f8"), indices))
    arguments = upstream, indices, groups, counts, *sizes, 7, 2
    back = lib.call("diopiStackGroupPointsBackwardMmcv", Out((7, 3), dtype), *arguments)
    near_slope(back, gradient(lambda x: stacked(x, indices), [features], upstream)[0], 2)
    indices = np.array(indices)
    indices[4, 1] = 3
    with pytest.raises(DiopiError, match="the index 3 is not in a cloud of 3 points"):
        lib.call(name, out, features, counts, indices, groups, *sizes, 2)


def mixed(points: Array, indices: Array, weight: Array) -> Array:
    result: Array = (read(points, indices) * weight[:, None]).sum(-1)
    return result


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_interpolation_of_points(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    points, indices = draw(2, 4, 6), draw(2, 5, 3, low=0, high=6, dtype=kind)
    weight, upstream = draw(2, 5, 3), draw(2, 4, 5)
    arguments = indices, weight, 2, 4
    out = lib.call("diopiThreeInterpolateMmcv", Out((2, 4, 5), dtype), points, *arguments, 6, 5)
    wide = points.astype("f8"), indices, weight.astype("f8")
    near(out, mixed(*wide), 2)
    out = Out(points.shape, dtype)
    back = lib.call("diopiThreeInterpolateBackwardMmcv", out, upstream, *arguments, 5, 6)
    near_slope(back, gradient(lambda x: mixed(x, *wide[1:]), [points], upstream)[0], 2)


def spread(distances: Array, count: int) -> tuple[list[int], Array]:
    """Samples points by the distances of all pairs."""
    samples, left = [0], np.full(len(distances), np.inf)
    while len(samples) < count:
        left = np.minimum(left, distances[samples[-1]])
        samples.append(int(np.argmax(left)))
    return samples, left


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("count", [1, 4, 9])
def test_farthest_points(lib: Library, dtype: Any, kind: str, count: int) -> None:
    points = grid(Draw(dtype), 2, 9)
    expected = [spread(distances, count) for distances in squares(points, points)]
    pairs = squares(points, points).astype(dtype)
    for name, array in (("", points), ("WithDist", pairs)):
        outs = Out((2, 9), dtype), Out((2, count), kind)
        distances, indices = lib.call(
            f"diopiFurthestPointSampling{name}Mmcv", *outs, array, 2, 9, count
        )
        near(indices, np.array([samples for samples, _ in expected]))
        near(distances, np.array([left for _, left in expected]))


def test_sample_of_no_points_fails(lib: Library) -> None:
    outs = Out((1, 0), "f4"), Out((1, 2), "i4")
    with pytest.raises(DiopiError):
        points = np.zeros((1, 0, 3), "f4")
        lib.call("diopiFurthestPointSamplingMmcv", *outs, points, 1, 0, 2)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_chamfer_distance(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    first, second = grid(draw, 2, 7)[..., :2], grid(draw, 2, 5)[..., 1:]
    outs = Out((2, 7), dtype), Out((2, 5), dtype), Out((2, 7), kind), Out((2, 5), kind)
    results = lib.call("diopiChamferDistanceMmcv", *outs, first, second)
    ways = nearest(first, second, 1), nearest(second, first, 1)
    for n, (distances, indices) in enumerate(ways):
        near(results[n], distances[..., 0])
        near(results[n + 2], indices[..., 0])
    upstream = draw(2, 7), draw(2, 5)
    # A small change of a point changes no index, as all distances are far apart or equal.
    places = [indices for _, indices in ways]

    def total(a: Array, b: Array) -> Array:
        one = ((a - np.take_along_axis(b, places[0], 1)) ** 2).sum(-1)
        other = ((b - np.take_along_axis(a, places[1], 1)) ** 2).sum(-1)
        return np.concatenate([one, other], 1)

    weight = np.concatenate([array.astype("f8") for array in upstream], 1)
    expected = gradient(total, [first, second], weight)
    targets = Out(first.shape, dtype), Out(second.shape, dtype)
    arguments = first, second, *results[2:], *upstream
    for actual, wanted in zip(
        lib.call("diopiChamferDistanceBackwardMmcv", *targets, *arguments), expected, strict=True
    ):
        near_slope(actual, wanted, 4)
