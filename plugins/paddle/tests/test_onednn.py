"""The choice between oneDNN, which PaddlePaddle loads, and the kernels of the plugin."""

from __future__ import annotations

import json

import numpy as np
import pytest

from host import DEVICE, python

PROGRAM = """
import json
import numpy as np
import paddle

paddle.set_device("DEVICE")
F = paddle.nn.functional


def tensor(*shape):
    numbers = np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype("float32")
    return paddle.to_tensor(numbers, stop_gradient=False).astype("DTYPE")


def results(inputs, output):
    return [output, *paddle.grad(output, inputs, paddle.sin(output))]


found = []
for image, filters, options in [
    ((2, 1, 28, 28), (6, 1, 5, 5), dict(padding=2)),
    ((2, 6, 14, 14), (16, 6, 5, 5), dict()),
    ((2, 16, 9, 9), (16, 16, 3, 3), dict(padding=1, stride=2)),
    ((2, 24, 8, 8), (48, 24, 1, 1), dict()),
    ((2, 64, 2, 2), (16, 64, 1, 1), dict()),
    ((2, 32, 8, 8), (32, 1, 3, 3), dict(padding=1, groups=32)),
]:
    x, w = tensor(*image), tensor(*filters)
    found += results([x, w], F.conv2d(x, w, **options))
x, w = tensor(2, 8, 7, 7), tensor(8, 4, 3, 3)
found += results([x, w], F.conv2d_transpose(x, w, stride=2))
for x, y, flags in [
    ((8, 20), (20, 12), (False, False)),
    ((3, 5, 8), (3, 4, 8), (False, True)),
    ((7, 9), (7, 5), (True, False)),
    ((2, 64, 48), (64, 64), (True, True)),
]:
    x, y = tensor(*x), tensor(*y)
    found += results([x, y], paddle.matmul(x, y, *flags))
print(json.dumps([one.astype("float32").numpy().tolist() for one in found]))
"""


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-4), ("float16", 1e-2), ("bfloat16", 1e-1)]
)
def test_results_of_both_differ_by_rounding_only(dtype: str, tolerance: float) -> None:
    program = PROGRAM.replace("DEVICE", DEVICE).replace("DTYPE", dtype)
    chosen, forced, kernels = (
        python(program, TENON_DNNL=value) for value in (None, "always", "off")
    )
    for ran in (chosen, forced, kernels):
        assert ran.returncode == 0, ran.stderr
    if dtype == "float32":
        outputs = {chosen.stdout, forced.stdout, kernels.stdout}
        assert len(outputs) == 3, "one of them computed in two programs"
    expected = json.loads(kernels.stdout)
    for found in (json.loads(chosen.stdout), json.loads(forced.stdout)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "operators use oneDNN 3."),
        ("always", "operators use oneDNN 3."),
        ("off", "operators do not use oneDNN: TENON_DNNL is `off`\n"),
    ],
)
def test_log_says_who_computes(value: str | None, line: str) -> None:
    ran = python("import paddle", TENON_LOG="info", TENON_DNNL=value)
    assert ran.returncode == 0, ran.stderr
    assert f"tenon: {DEVICE}: {line}" in ran.stderr
    endings = {None: "\n", "always": ", wherever it can compute\n"}
    for setting, ending in endings.items():
        found = f", which the process had loaded{ending}" in ran.stderr
        assert found == (value == setting)
