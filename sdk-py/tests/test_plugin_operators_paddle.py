"""Plugins with operators of their own, in an environment with PaddlePaddle.

PaddlePaddle and `tenon.ops` call the same functions, and operators that a plugin lacks are composed of others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenon
from tenon import ops

EXAMPLES = Path(os.environ["TENON_EXAMPLES"])
"""The folder of the plugins that `cargo xtask test` has built."""

PLUGIN = EXAMPLES / "c_operators" / "libc_operators.so"
"""`examples/c-operators`."""

PRIMITIVES = EXAMPLES / "primitives" / "libexample_rust_primitives.so"
"""`examples/rust-primitives`."""

PROGRAM = """
import json, sys
import paddle
from paddle.base import core
image, filters, strides, paddings, dilations, groups = json.loads(sys.argv[1])
paddle.set_device("c_npu")
kernels = core._get_registered_phi_kernels("all")
ours = [name for name, keys in kernels.items() if any("c_npu" in str(key) for key in keys)]
assert {"silu", "conv2d"} <= set(ours), ours
x, weight = paddle.to_tensor(image), paddle.to_tensor(filters)
silu = paddle.nn.functional.silu(x)
conv = paddle.nn.functional.conv2d(
    x, weight, stride=strides, padding=paddings, dilation=dilations, groups=groups)
assert silu.place.is_custom_place() and conv.place.is_custom_place()
print(json.dumps([silu.tolist(), conv.tolist()]))
"""


def reference(
    x: np.ndarray[Any, Any], weight: np.ndarray[Any, Any], strides: list[int], dilations: list[int], groups: int
) -> np.ndarray[Any, Any]:
    """Convolves a padded image in float64."""
    count, channels = weight.shape[0] // groups, weight.shape[1]
    spans = [(weight.shape[2 + i] - 1) * dilations[i] + 1 for i in range(2)]
    rows, columns = ((x.shape[2 + i] - spans[i]) // strides[i] + 1 for i in range(2))
    out = np.zeros((x.shape[0], weight.shape[0], rows, columns))
    for index in np.ndindex(*out.shape):
        n, kernel, row, column = index
        first = kernel // count * channels
        top, left = row * strides[0], column * strides[1]
        window = x[
            n,
            first : first + channels,
            top : top + spans[0] : dilations[0],
            left : left + spans[1] : dilations[1],
        ]
        out[index] = (window * weight[kernel]).sum()
    return out


def test_paddle_and_tenon_call_the_same_plugin() -> None:
    random = np.random.default_rng(7)
    x = random.standard_normal((2, 4, 6, 5)).astype(np.float32)
    weight = random.standard_normal((6, 2, 3, 2)).astype(np.float32)
    strides, paddings, dilations, groups = [2, 1], [1, 0], [1, 2], 2
    arguments = json.dumps([x.tolist(), weight.tolist(), strides, paddings, dilations, groups])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, arguments],
        env={**os.environ, "CUSTOM_DEVICE_ROOT": str(PLUGIN.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    of_paddle = json.loads(done.stdout.splitlines()[-1])

    device = tenon.load_plugin(PLUGIN).device(0)
    image, filters = (tenon.array(values.tolist(), dtype="float32", device=device) for values in (x, weight))
    conv = ops.conv(image, filters, strides, paddings, dilations=dilations, groups=groups)
    silu = ops.silu(image)
    assert (silu.device, conv.device) == (device, device)
    np.testing.assert_allclose(silu.tolist(), x / (1 + np.exp(-x.astype(np.float64))), rtol=1e-5, atol=1e-6)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (0, 0)])
    expected = reference(padded, weight.astype(np.float64), strides, dilations, groups)
    np.testing.assert_allclose(conv.tolist(), expected, rtol=1e-4, atol=1e-5)
    assert of_paddle == [silu.tolist(), conv.tolist()], "the same functions give the same bits"


def test_operators_that_a_plugin_lacks_are_composed() -> None:
    device = tenon.load_plugin(PRIMITIVES).device(0)
    values = np.linspace(-3, 3, 12).reshape(3, 4).astype(np.float32)
    x = tenon.array(values.tolist(), dtype="float32", device=device)
    for name in ["silu", "relu6", "softmax", "layer_norm"]:
        assert ops.supported(name, "float32", device), name
    assert not ops.supported("gelu", "float32", device), "it needs `erf`"
    assert not ops.supported("silu", "float64", device), "the device computes float32 only"
    wide = values.astype(np.float64)
    power = np.exp(wide - wide.max(-1, keepdims=True))
    expected = {
        "silu": wide / (1 + np.exp(-wide)),
        "relu6": np.clip(wide, 0, 6),
        "tanh_shrink": wide - np.tanh(wide),
        "softmax": power / power.sum(-1, keepdims=True),
    }
    stream = device.create_stream()
    for name, result in expected.items():
        for on in (None, stream):
            out = getattr(ops, name)(x, stream=on)
            device.synchronize()
            assert out.device == device
            np.testing.assert_allclose(out.tolist(), result, rtol=1e-5, atol=1e-6, err_msg=name)
    stream.close()
    with pytest.raises(NotImplementedError, match="no operator `gelu`"):
        ops.gelu(x)
