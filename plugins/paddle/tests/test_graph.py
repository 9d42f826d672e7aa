"""Messages along the edges of graphs and pools of segments, against NumPy and Paddle's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray
from paddle import geometric

from host import is_on, normal, on_both
from kernel_case import Case, check

NODES = normal(5, 3)
ENDS = normal(5, 3, seed=1)
EDGES = normal(6, 3, seed=2)
SRC = np.array([0, 1, 1, 4, 3, 0], "int64")
DST = np.array([1, 0, 1, 1, 0, 3], "int64")
SEGMENTS = np.array([0, 0, 2, 2, 4], "int64")
POOLS = ("sum", "mean", "max", "min")

Array = NDArray[Any]


def pooled(messages: Array, places: Array, count: int, pool: str) -> Array:
    """Returns what the nodes make of messages."""
    function: Any = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}[pool]
    rows = np.zeros((count, *messages.shape[1:]), messages.dtype)
    for node in set(places.tolist()):
        rows[node] = function(messages[places == node], axis=0)
    return rows


CASES: dict[str, Case] = {}
for POOL in POOLS:
    # The CPU's gradients write beyond the end of the result if it has another size.
    CASES[f"{POOL} of nodes"] = Case(
        lambda x, src, dst, pool=POOL: geometric.send_u_recv(x, src, dst, pool), (NODES, SRC, DST)
    )
    for OP in ("add", "mul", "sub", "div"):
        CASES[f"{POOL} of nodes and edges by {OP}"] = Case(
            lambda x, y, src, dst, pool=POOL, op=OP: geometric.send_ue_recv(
                x, y, src, dst, op, pool
            ),
            (NODES, EDGES, SRC, DST),
        )
    CASES[f"{POOL} of broadcast nodes and edges"] = Case(
        lambda x, y, src, dst, pool=POOL: geometric.send_ue_recv(x, y, src, dst, "mul", pool),
        (normal(5, 2, 1, seed=3), normal(6, 1, 4, seed=4), SRC, DST),
    )
    CASES[f"{POOL} of segments"] = Case(
        getattr(geometric, f"segment_{POOL}"),
        (NODES, SEGMENTS),
    )
for OP in ("add", "mul", "sub", "div"):
    CASES[f"both ends by {OP}"] = Case(
        lambda x, y, src, dst, op=OP: geometric.send_uv(x, y, src, dst, op),
        (NODES, ENDS, SRC, DST),
    )
CASES["both ends, broadcast"] = Case(
    lambda x, y, src, dst: geometric.send_uv(x, y, src, dst, "mul"),
    (normal(5, 2, 1, seed=3), normal(5, 1, 4, seed=4), SRC, DST),
)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


@pytest.mark.parametrize("pool", POOLS)
def test_results_are_those_of_numpy(pool: str) -> None:
    x, y, src, dst = (paddle.to_tensor(array) for array in (NODES, EDGES, SRC, DST))
    found = [
        geometric.send_u_recv(x, src, dst, pool, 7),
        geometric.send_ue_recv(x, y, src, dst, "mul", pool),
        getattr(geometric, f"segment_{pool}")(x, paddle.to_tensor(SEGMENTS)),
    ]
    wanted = [
        pooled(NODES[SRC], DST, 7, pool),
        pooled(NODES[SRC] * EDGES, DST, 5, pool),
        pooled(NODES, SEGMENTS, 5, pool),
    ]
    for ours, right in zip(found, wanted):
        assert is_on(ours)
        np.testing.assert_allclose(ours.numpy(), right, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("pool", POOLS)
def test_integers_are_those_of_the_cpu(pool: str, dtype: str, index: str) -> None:
    nodes = np.random.default_rng(6).integers(-9, 9, (5, 3)).astype(dtype)

    def run() -> list[Array]:
        x, src, dst = (paddle.to_tensor(array) for array in (nodes, SRC, DST))
        src, dst = src.cast(index), dst.cast(index)
        segments = paddle.to_tensor(SEGMENTS).cast(index)
        return [
            geometric.send_u_recv(x, src, dst, pool).numpy(),
            getattr(geometric, f"segment_{pool}")(x, segments).numpy(),
        ]

    for ours, theirs in zip(*on_both(run)):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("pool", POOLS)
def test_nodes_without_messages_are_zero(pool: str) -> None:
    none = paddle.zeros([0], "int64")
    out = geometric.send_u_recv(paddle.to_tensor(NODES), none, none, pool)
    np.testing.assert_array_equal(out.numpy(), np.zeros((5, 3)))


@pytest.mark.parametrize("bad", [-1, 5, 2**40])
def test_index_out_of_range_is_an_error(bad: int) -> None:
    x, src = paddle.to_tensor(NODES), paddle.to_tensor(SRC)
    wrong = SRC.copy()
    wrong[2] = bad
    with pytest.raises(Exception, match="index"):
        geometric.send_u_recv(x, paddle.to_tensor(wrong), src).numpy()
    with pytest.raises(Exception, match="index"):
        geometric.send_u_recv(x, src, paddle.to_tensor(wrong)).numpy()
    with pytest.raises(Exception, match="index"):
        geometric.send_uv(x, x, src, paddle.to_tensor(wrong)).numpy()


@pytest.mark.parametrize("numbers", [[0, 0, 5, 1, 2], [0, -2, 0, 1, 1], [0, 0, 0, 0, -1]])
def test_numbers_of_segments_beyond_the_last_one_are_errors(numbers: list[int]) -> None:
    with pytest.raises(Exception, match="index"):
        geometric.segment_sum(paddle.to_tensor(NODES), paddle.to_tensor(numbers)).numpy()
