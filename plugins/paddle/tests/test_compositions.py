"""Operators that Tenon composes for `examples/rust-primitives`, a device with few operators.

Results and gradients are compared with Paddle's CPU, in a separate process: Paddle loads plugins at
import.
"""

from __future__ import annotations

import pytest

from test_examples import run

# The kernels that must be the device's, so that nothing is compared with itself.
KERNELS = """
import paddle
from paddle.base import core
expected = {
    "abs", "elu", "elu_grad", "layer_norm", "layer_norm_grad", "leaky_relu", "leaky_relu_grad",
    "log_softmax", "log_softmax_grad", "masked_fill", "matmul", "matmul_grad", "mean", "mean_grad",
    "mean_all", "mean_all_grad", "minimum", "multiply_grad", "relu", "relu_grad", "relu6",
    "relu6_grad", "rsqrt", "scale", "sgd", "sigmoid", "sigmoid_grad", "silu", "silu_grad",
    "softmax", "softmax_grad", "square", "square_grad", "subtract", "subtract_grad", "sum_grad",
    "tanh_grad",
}
expected -= {"masked_fill"} if paddle.__version__ < "3.1" else set()
# The device lacks `expm1`, which `elu` needs, and `logical_and`, which the other one needs.
missing = {"elu", "relu6_grad"}
kernels = core._get_registered_phi_kernels("all")
ours = {name for name, keys in kernels.items() if any("my_npu" in str(key) for key in keys)}
assert not expected - missing - ours, expected - missing - ours
assert not missing & ours, missing & ours
for name in ("silu", "softmax"):
    keys = [str(key) for key in kernels[name] if "my_npu" in str(key)]
    assert len(keys) == 1 and "float32" in keys[0], keys
print("done")
"""

COMPARE = """
import numpy
import paddle
import paddle.nn.functional as F

def compute(device, call, arrays):
    paddle.set_device(device)
    tensors = [paddle.to_tensor(array, stop_gradient=False) for array in arrays]
    out = call(*tensors)
    weights = numpy.random.default_rng(1).normal(size=tuple(out.shape)).astype("float32")
    (out * paddle.to_tensor(weights)).sum().backward()
    assert (device == "cpu") == (not out.place.is_custom_place())
    return [out.numpy(), *(tensor.grad.numpy() for tensor in tensors)]

def normal(*shape):
    return numpy.random.default_rng(len(shape)).normal(size=shape).astype("float32")

def compare(name, call, *arrays):
    ours, cpu = compute("my_npu", call, arrays), compute("cpu", call, arrays)
    for one, other in zip(ours, cpu):
        numpy.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5, err_msg=name)

x, row = normal(3, 4), normal(4)
positive = numpy.abs(x) + 0.5
large = numpy.float32([[-50.0, 0.0, 50.0]])
compare("silu", F.silu, x)
compare("silu of large numbers", F.silu, large)
compare("sigmoid", F.sigmoid, large)
compare("tanh", paddle.tanh, x)
compare("relu", F.relu, x)
compare("relu6", F.relu6, 4 * x)
compare("leaky_relu", lambda x: F.leaky_relu(x, 0.1), x)
compare("square", paddle.square, x)
compare("rsqrt", paddle.rsqrt, positive)
compare("exp", paddle.exp, x)
compare("log", paddle.log, positive)
compare("scale", lambda x: paddle.scale(x, 3.0, 0.5, bias_after_scale=False), x)
compare("broadcast product", lambda a, b: a * b, x, row)
compare("broadcast difference", lambda a, b: a - b, row, x)
compare("broadcast quotient", lambda a, b: a / b, row, positive)
compare("broadcast column", lambda a, b: a * b, x, normal(3, 1))
compare("softmax", F.softmax, x)
compare("softmax of large numbers", lambda x: F.softmax(x, axis=0), 1000 * x)
compare("log_softmax", lambda x: F.log_softmax(x, axis=0), x)
compare("mean", lambda x: paddle.mean(x, axis=1), normal(2, 3, 4))
compare("mean of two", lambda x: paddle.mean(x, axis=[0, -1], keepdim=True), normal(2, 3, 4))
compare("mean of all", lambda x: paddle.mean(x).reshape([1]), x)
compare("sum", lambda x: paddle.sum(x, axis=0), x)
compare("layer_norm", lambda x, s, b: F.layer_norm(x, 4, s, b), normal(2, 3, 4), row, row)
compare("layer_norm of two", lambda x, s: F.layer_norm(x, [3, 4], s), normal(2, 3, 4), normal(12))
compare("layer_norm alone", lambda x: F.layer_norm(x, 4), x)
for left, right, flags in [
    ([3, 4], [4, 5], (False, False)), ([4, 3], [4, 5], (True, False)),
    ([3, 4], [5, 4], (False, True)), ([4, 3], [5, 4], (True, True)),
    ([2, 3, 4], [4, 5], (False, False)), ([2, 1, 4, 3], [1, 5, 5, 4], (True, True)),
    ([4], [4, 5], (False, False)), ([3, 4], [4], (False, False)), ([4], [4], (False, False)),
    ([2, 3, 4], [4], (False, False)),
]:
    product = lambda a, b: paddle.matmul(a, b, *flags)
    compare(f"matmul of {left} and {right}, {flags}", product, normal(*left), normal(*right))
print("done")
"""

TRAIN = """
import numpy
import paddle
import paddle.nn as nn

class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(8), nn.LayerNorm(8)
        self.keys, self.values, self.queries = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        y = self.before(x)
        scores = paddle.matmul(self.queries(y), self.keys(y), transpose_y=True) / 8 ** 0.5
        x = x + paddle.matmul(nn.functional.softmax(scores), self.values(y))
        return self.down(nn.functional.silu(self.up(self.after(x))))

def train(device):
    paddle.set_device(device)
    model = Block()
    generator = numpy.random.default_rng(0)
    for parameter in model.parameters():
        parameter.set_value(generator.normal(scale=0.3, size=parameter.shape).astype("float32"))
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    x = paddle.to_tensor(generator.normal(size=(2, 5, 8)).astype("float32"))
    target = paddle.to_tensor(generator.normal(size=(2, 5, 4)).astype("float32"))
    losses = []
    for _ in range(5):
        loss = paddle.mean(paddle.square(model(x) - target))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses + [parameter.numpy() for parameter in model.parameters()]

ours, cpu = train("my_npu"), train("cpu")
assert ours[4] < ours[0]
for one, other in zip(ours, cpu):
    numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
print("done")
"""


@pytest.mark.parametrize(
    "program", [KERNELS, COMPARE, TRAIN], ids=["kernels", "values", "training"]
)
def test_operators_are_composed(program: str) -> None:
    result = run("primitives", program)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("done\n")
