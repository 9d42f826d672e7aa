"""Static programs of detection, graphs and sequences against the CPU, known and open shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray
from paddle import geometric, incubate
from paddle.vision import ops

from host import normal, of_release, place

Array = NDArray[Any]


def uniform(*shape: int, seed: int = 0) -> Array:
    """Returns numbers from 0 to 1."""
    return np.random.default_rng(seed).random(shape).astype("float32")


def integers(*values: Any, dtype: str = "int64") -> Array:
    """Returns an array of integers."""
    return np.array(values, dtype)


def boxes(*shape: int, seed: int = 0) -> Array:
    """Returns boxes with the corners in order."""
    numbers = uniform(*shape, 4, seed=seed) * 20
    numbers[..., 2:] += numbers[..., :2] + 1
    return numbers


@dataclass
class Program:
    """A call, and the arrays that it gets."""

    compute: Callable[..., Any]
    arguments: list[Array]


NODES, EDGES = normal(5, 3), normal(3, 3, seed=1)
ENDS = [integers(0, 1, 2), integers(1, 1, 3)]
REGIONS = [boxes(4), integers(1, 3, dtype="int32")]
IMAGES = normal(2, 8, 6, 7)

PROGRAMS: dict[str, Program] = {
    "pool of segments": Program(geometric.segment_mean, [NODES, integers(0, 0, 1, 3, 3)]),
    "messages of nodes": Program(
        lambda x, src, dst: geometric.send_u_recv(x, src, dst, "mean"), [NODES, *ENDS]
    ),
    "messages of nodes and edges": Program(
        lambda x, y, src, dst: geometric.send_ue_recv(x, y, src, dst, "mul", "max"),
        [NODES, EDGES, *ENDS],
    ),
    "messages of both ends": Program(
        lambda x, y, src, dst: geometric.send_uv(x, y, src, dst, "mul"),
        [NODES, normal(5, 3, seed=2), *ENDS],
    ),
    "proposals": Program(
        lambda *inputs: ops.generate_proposals(*inputs, 12, 5, 0.5, 2.0, return_rois_num=True),
        [
            *(uniform(2, 3, 4, 5, seed=2), normal(2, 12, 4, 5, seed=3) * 0.3),
            *(np.array([[25, 30], [18, 22]], "float32"), boxes(4, 5, 3, seed=4)),
            uniform(4, 5, 3, 4, seed=5) + 0.5,
        ],
    ),
    "lowered scores": Program(
        lambda x, scores: ops.matrix_nms(x, scores, 0.1, 0.05, 7, 8, return_index=True),
        [boxes(2, 9), uniform(2, 3, 9, seed=6)],
    ),
    "boxes of YOLO": Program(
        lambda x, sizes: ops.yolo_box(x, sizes, [10, 13, 16, 30], 3, 0.4, 8),
        [normal(2, 16, 3, 4), integers([40, 50], [30, 20], dtype="int32")],
    ),
    "encoded boxes": Program(ops.box_coder, [boxes(5), uniform(5, 4) + 0.5, boxes(4, seed=7)]),
    "largest pixels of regions": Program(
        lambda *inputs: ops.roi_pool(*inputs, 2, 0.25), [IMAGES, *REGIONS]
    ),
    "means of regions": Program(
        lambda *inputs: ops.psroi_pool(*inputs, 2, 0.25), [IMAGES, *REGIONS]
    ),
    "deformable convolution": Program(
        lambda x, offset, weight: ops.deform_conv2d(x, offset, weight, None, 1, 1, 2),
        [normal(2, 4, 6, 7), normal(2, 18, 4, 5, seed=8), normal(6, 4, 3, 3, seed=9)],
    ),
    "best tags": Program(
        lambda *inputs: paddle.text.viterbi_decode(*inputs),
        [normal(3, 4, 5), normal(5, 5), integers(4, 1, 3)],
    ),
    "beams": Program(
        F.gather_tree,
        [
            np.random.default_rng(0).integers(0, 9, (5, 2, 3)),
            np.random.default_rng(1).integers(0, 3, (5, 2, 3)),
        ],
    ),
    "loss of a transducer": Program(
        lambda *inputs: F.rnnt_loss(*inputs, fastemit_lambda=0.0),
        [
            *(normal(2, 3, 3, 4), integers([1, 2], [3, 1], dtype="int32")),
            *(integers(3, 2, dtype="int32"), integers(2, 1, dtype="int32")),
        ],
    ),
    "entropy of logits": Program(F.binary_cross_entropy_with_logits, [normal(3, 4), uniform(3, 4)]),
    "masked softmax": Program(
        incubate.softmax_mask_fuse, [normal(2, 3, 4, 4), normal(2, 1, 4, 4, seed=1)]
    ),
}


# In 2.6 the number of regions does not reach this kernel, and the CPU's ends the process.
NAMES = of_release({(2, 6): PROGRAMS.keys() - {"means of regions"}, (3, 0): PROGRAMS.keys()})


def run(program: Program, is_open: bool, where: Any) -> list[Array]:
    """Returns the results of a program on a place."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
        inputs = [
            paddle.static.data(
                f"x{n}", [-1] * array.ndim if is_open else list(array.shape), str(array.dtype)
            )
            for n, array in enumerate(program.arguments)
        ]
        found = program.compute(*inputs)
        wanted = list(found) if isinstance(found, (tuple, list)) else [found]
        feed = {f"x{n}": array for n, array in enumerate(program.arguments)}
        with paddle.static.scope_guard(paddle.static.Scope()):
            executor = paddle.static.Executor(where)
            executor.run(startup)
            fetched = [out for out in wanted if out is not None]
            arrays: list[Array] = executor.run(main, feed=feed, fetch_list=fetched)
            return arrays


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("name", sorted(NAMES))
def test_programs_have_the_results_of_the_cpu(name: str, is_open: bool) -> None:
    paddle.enable_static()
    program = PROGRAMS[name]
    # Where PaddlePaddle needs to know shapes to build a program, there is none with open ones.
    try:
        theirs = run(program, is_open, paddle.CPUPlace())
    except Exception:
        assert is_open
        return
    ours = run(program, is_open, place())
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
