"""The plugins in `examples/`, each in a process of its own: Paddle loads plugins at import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import paddle
assert paddle.device.get_all_custom_device_type() == [{device!r}]
paddle.set_device({device!r})
x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = (x * x).sum()
y.backward()
paddle.device.synchronize()
assert x.place.is_custom_place(), x.place
assert y.item() == 5.0
assert x.grad.tolist() == [2.0, 4.0]
print("done")
"""


def run(folder: str, program: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with the plugins of a folder, which `cargo xtask test` has built."""
    root = Path(os.environ["TENON_EXAMPLES"]) / folder
    assert list(root.glob("*.so")), f"no plugin in {root}"
    environment = {**os.environ, "CUSTOM_DEVICE_ROOT": str(root)}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("folder", "device"), [("rust", "my_npu"), ("c", "c_plugin")])
def test_example_computes(folder: str, device: str) -> None:
    result = run(folder, PROGRAM.format(device=device))
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("done\n")


OPERATORS = """
import paddle
from paddle.base import core
device = {device!r}
kernels = core._get_registered_phi_kernels("all")
keys = {{name: [str(key) for key in keys if device in str(key)] for name, keys in kernels.items()}}
expected = {{
    "adam_dense_param_sparse_grad", "add", "add_raw", "assign", "assign_raw", "assign_value",
    "concat_grad", "contiguous", "expand",
    "expand_as", "fill", "full", "full_batch_size_like", "full_like", "increment", "relu",
    "relu_double_grad", "relu_grad", "set_value", "set_value_with_tensor",
    "sgd_dense_param_sparse_grad", "strided_copy", "sum_grad",
}}
of_2_6 = {{
    "memcpy_d2h", "memcpy_h2d", "squeeze", "squeeze_grad", "squeeze_infer",
    "unsqueeze", "unsqueeze_grad", "unsqueeze_infer", "view_dtype", "view_shape",
}}
of_3 = {{
    "fake_channel_wise_quantize_dequantize_abs_max_grad", "fake_quantize_dequantize_abs_max_grad",
    "fake_quantize_dequantize_moving_average_abs_max_grad", "npu_identity", "reduce_as_grad",
}}
if paddle.__version__.startswith("3.0"):
    of_3.add("memcpy_h2d")
expected |= set({further!r})
expected |= of_2_6 if paddle.__version__.startswith("2.6") else of_3
ours = {{name for name, keys in keys.items() if keys}}
assert ours == expected, ours ^ expected
assert len(keys["relu"]) == 1 and "float32" in keys["relu"][0], keys["relu"]
paddle.set_device(device)
x = paddle.to_tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]], stop_gradient=False)
y = paddle.nn.functional.relu(x + paddle.to_tensor([1.0, 2.0, 3.0]))
y.sum().backward()
assert y.tolist() == [[0.0, 4.0, 6.0], [5.0, 0.0, 9.0]]
assert x.grad.tolist() == [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]
z = x.detach()
assert (z.t() + z.t()).tolist() == [[-2.0, 8.0], [4.0, -10.0], [6.0, 12.0]]
z[0] = 9.0
assert z.tolist() == [[9.0, 9.0, 9.0], [4.0, -5.0, 6.0]]
assert paddle.full([2], 7.0).tolist() == [7.0, 7.0]
wide = paddle.to_tensor([-1.0, 1.0], dtype="float64")
assert paddle.nn.functional.relu(wide).tolist() == [0.0, 1.0]
print("done")
"""


@pytest.mark.parametrize(
    ("folder", "device", "further"),
    [
        ("operators", "my_npu", []),
        ("c_operators", "c_npu", ["conv2d", "conv3d", "depthwise_conv2d", "silu"]),
    ],
)
def test_example_has_operators_of_its_own(folder: str, device: str, further: list[str]) -> None:
    """The host cannot access its memory; other operators run on Paddle's CPU."""
    result = run(folder, OPERATORS.format(device=device, further=further))
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("done\n")


STATIC = """
import numpy as np
import paddle
device = {device!r}
paddle.set_device(device)
paddle.enable_static()
x = paddle.static.data("x", [1, 2], "float32")
value = paddle.static.data("value", [1], "float32")
rows = paddle.static.data("rows", [1], "int32")
shape = paddle.static.data("shape", [2], "int32")
results = [
    paddle.full_like(x, 2.0),
    paddle.full_like(x, value),
    paddle.expand(x, [rows, 2]),
    paddle.expand(x, shape),
]
feed = {{
    "x": np.array([[1.0, 2.0]], np.float32),
    "value": np.array([7.0], np.float32),
    "rows": np.array([3], np.int32),
    "shape": np.array([2, 2], np.int32),
}}
executor = paddle.static.Executor(paddle.CustomPlace(device, 0))
two, seven, three_rows, two_rows = executor.run(feed=feed, fetch_list=results)
assert two.tolist() == [[2.0, 2.0]]
assert seven.tolist() == [[7.0, 7.0]]
assert three_rows.tolist() == [[1.0, 2.0]] * 3
assert two_rows.tolist() == [[1.0, 2.0]] * 2
print("done")
"""


@pytest.mark.parametrize(("folder", "device"), [("operators", "my_npu"), ("c_operators", "c_npu")])
def test_attributes_of_static_programs_are_copied_from_the_device(folder: str, device: str) -> None:
    """Since 3.0, PaddlePaddle leaves numbers and shapes in tensors, which may be on the device."""
    result = run(folder, STATIC.format(device=device))
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("done\n")
