"""Interpolation: results and gradients against Paddle's CPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import normal, on_both
from kernel_case import Case, check

LINES, IMAGES, VOLUMES = normal(2, 3, 5), normal(2, 3, 4, 5), normal(2, 2, 3, 4, 5)
LAST = np.ascontiguousarray(IMAGES.transpose(0, 2, 3, 1))


def resized(**given: Any) -> Any:
    """Returns a function that interpolates an image."""
    return lambda x: F.interpolate(x, **given)


CASES: dict[str, Case] = {
    "nearest": Case(resized(scale_factor=2), (IMAGES,)),
    "nearest, smaller": Case(resized(size=[3, 2]), (IMAGES,)),
    "nearest of volumes": Case(resized(size=[4, 5, 3], data_format="NCDHW"), (VOLUMES,)),
    "linear": Case(resized(size=[9], mode="linear", data_format="NCW"), (LINES,)),
    "bilinear": Case(resized(scale_factor=2, mode="bilinear"), (IMAGES,)),
    "bilinear, scales": Case(resized(scale_factor=[1.5, 0.7], mode="bilinear"), (IMAGES,)),
    "bilinear, corners": Case(resized(size=[7, 3], mode="bilinear", align_corners=True), (IMAGES,)),
    "bilinear, mode 1": Case(resized(size=[7, 3], mode="bilinear", align_mode=1), (IMAGES,)),
    "bilinear, channels last": Case(
        resized(size=[7, 3], mode="bilinear", data_format="NHWC"), (LAST,)
    ),
    "trilinear": Case(resized(size=[4, 6, 3], mode="trilinear", data_format="NCDHW"), (VOLUMES,)),
    "bicubic": Case(resized(scale_factor=[2, 3], mode="bicubic"), (IMAGES,)),
    "bicubic, corners": Case(resized(size=[7, 3], mode="bicubic", align_corners=True), (IMAGES,)),
    "upsample": Case(lambda x: F.upsample(x, scale_factor=2), (IMAGES,)),
    "a size in a tensor": Case(
        lambda x: F.interpolate(x, size=paddle.to_tensor([6, 7], "int32"), mode="bilinear"),
        (IMAGES,),
    ),
    "sizes in tensors": Case(
        lambda x: F.interpolate(
            x, size=[paddle.full([1], 6, "int32"), paddle.full([1], 7, "int32")], mode="bilinear"
        ),
        (IMAGES,),
    ),
    "a scale in a tensor": Case(
        lambda x: F.interpolate(x, scale_factor=paddle.to_tensor([2.0, 1.5]), mode="bilinear"),
        (IMAGES,),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_interpolation_and_its_gradient(case: str, dtype: str) -> None:
    # Paddle's CPU computes positions in float32 for float64 too.
    check(replace(CASES[case], double=1e-5), dtype)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_interpolation_in_a_program(mode: str) -> None:
    def compute() -> Any:
        def enlarge(x: Any, size: Any) -> Any:
            return F.interpolate(x, size=[size, 7], mode=mode)

        network = paddle.jit.to_static(enlarge)
        return network(paddle.to_tensor(IMAGES), paddle.full([1], 6, "int32")).numpy()

    ours, theirs = on_both(compute)
    assert ours.shape == (2, 3, 6, 7)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
