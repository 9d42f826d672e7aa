"""Static graphs: compiled functions, programs run by an `Executor`, saved networks.

A static graph calls a kernel by its other entry point, and since 3.0 hands it most attributes as
tensors. Its CPU fallback forgets what an operator writes in place, so parameters, optimizer state
and running statistics are looked at after every kind of step.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray

from host import RELEASE, name, normal, on_both, place, python

A = normal(4, 6)
B = normal(4, 6, seed=1)
IMAGE = normal(2, 3, 9, 9)


class Graph(paddle.nn.Layer):
    """A function of two tensors as a network, to be compiled as a whole.

    Paddle rewrites the source of what it compiles, and finds none for a lambda in a table: the
    lambda itself is only traced.
    """

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.function = paddle.jit.not_to_static(function)

    def forward(self, x: Any, y: Any) -> Any:
        return self.function(x, y)


GRAPHS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "several": lambda x, y: (x * 2 - y / 3) @ y.t(),
    "concat": lambda x, y: paddle.concat([x, y], axis=1),
    "stack": lambda x, y: paddle.stack([x, y]),
    "split": lambda x, y: paddle.split(x, [2, 4], axis=1)[1] + y[:, 2:],
    "sum": lambda x, y: x.sum(axis=0) + y.sum(),
    "mean": lambda x, y: x.mean(axis=[1], keepdim=True) + y.mean(),
    "max": lambda x, y: x.max(axis=0) - y.min(axis=0),
    "slice": lambda x, y: x[1:3, ::2] + y[1:3, ::2],
    "row": lambda x, y: x[1] + y[-1],
    "reshape": lambda x, y: x.reshape([3, -1]) + y.flatten().reshape([3, 8]),
    "transpose": lambda x, y: x.transpose([1, 0]) + y.t(),
    "squeeze": lambda x, y: (x.unsqueeze(1) + y.unsqueeze(0)).squeeze(),
    "expand": lambda x, y: x[0].expand([2, 6]) + y[:2],
    "full": lambda x, y: paddle.full([4, 6], 2.0) + x + paddle.zeros_like(y),
    "scale": lambda x, y: paddle.scale(x, 3.0, bias=1.0) + y,
    "clip": lambda x, y: paddle.clip(x, -0.5, 0.5) + y,
    "cast": lambda x, y: (x * 10).astype("int32").astype("float32") + y,
    "argmax": lambda x, y: x.argmax(axis=1) + y.argmax(axis=1),
    "where": lambda x, y: paddle.where(x > y, x, y),
    "gather": lambda x, y: paddle.gather(x, paddle.to_tensor([2, 0])) + y[:2],
    "softmax": lambda x, y: F.softmax(x) + F.log_softmax(y, axis=0),
    "activations": lambda x, y: F.gelu(x) + F.relu(y) + paddle.tanh(x) + F.sigmoid(y),
    "layer_norm": lambda x, y: F.layer_norm(x, 6) + y,
    "dropout at rest": lambda x, y: F.dropout(x, 0.5, training=False) + y,
    "topk": lambda x, y: paddle.topk(x, 2)[0] + paddle.topk(y, 2)[0],
    "cumsum": lambda x, y: paddle.cumsum(x, axis=0) + y,
    "clone": lambda x, y: x.clone() * 2 + y,
    "assign": lambda x, y: paddle.assign(x) + y,
    "assign of a constant": lambda x, y: paddle.assign(paddle.full([6], 3.0)) + x + y,
    "convolution of lines": lambda x, y: F.conv1d(x[None], y[:, :4, None].clone()),
    "arange": lambda x, y: x + y + paddle.arange(6).astype("float32"),
}


@pytest.mark.parametrize("graph", GRAPHS)
def test_compiled_functions_compute_the_same(graph: str) -> None:
    def compute() -> list[NDArray[Any]]:
        x, y = paddle.to_tensor(A), paddle.to_tensor(B)
        x.stop_gradient = y.stop_gradient = False
        function = paddle.jit.to_static(Graph(GRAPHS[graph]), full_graph=True)
        outputs = [function(x, y).numpy() for _ in range(2)]
        out = function(x, y)
        if out.dtype != paddle.float32:
            return outputs
        (out * out).sum().backward()
        return outputs + [tensor.grad.numpy() for tensor in (x, y) if tensor.grad is not None]

    for ours, wanted in zip(*on_both(compute)):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-5)


def test_compiled_control_flow() -> None:
    def collatz(n: Any) -> Any:
        steps = paddle.zeros([1], "int64")
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps = steps + 1
        return steps

    function = paddle.jit.to_static(collatz, full_graph=True)
    for number, wanted in ((1, 0), (6, 8), (27, 111)):
        assert function(paddle.to_tensor([number], dtype="int64")).item() == wanted


def test_compiled_loops_count() -> None:
    """The counter, the condition and the result are variables that the loop assigns to."""

    def count(x: Any) -> Any:
        i = paddle.zeros([1], "int64")
        while i < 10:
            x = x * 1.5
            i = i + 1
        return x

    def double(x: Any) -> Any:
        total = x.sum()
        while total < 100.0:
            total = total * 2
        return total

    def compute(function: Callable[[Any], Any]) -> list[NDArray[Any]]:
        compiled = paddle.jit.to_static(function, full_graph=True)
        x = paddle.to_tensor(np.abs(A))
        # Since 3.0, the gradient of a loop fails on Paddle's CPU too.
        x.stop_gradient = RELEASE >= (3, 0)
        outputs = [compiled(x) for _ in range(2)]
        if x.stop_gradient:
            return [output.numpy() for output in outputs]
        outputs[-1].sum().backward()
        return [output.numpy() for output in outputs] + [x.grad.numpy()]

    for function in (count, double):
        results = on_both(lambda function=function: compute(function))  # type: ignore[misc]
        for ours, wanted in zip(*results):
            np.testing.assert_allclose(ours, wanted, rtol=1e-5)


def test_compiled_functions_take_any_batch() -> None:
    def squares(x: Any) -> Any:
        return (x * x).sum(axis=1)

    function = paddle.jit.to_static(squares, full_graph=True)
    for rows in (1, 7, 32):
        array = normal(rows, 6)
        np.testing.assert_allclose(
            function(paddle.to_tensor(array)).numpy(), (array * array).sum(1), rtol=1e-4
        )


def test_compiled_functions_expand_to_open_shapes() -> None:
    spec = [paddle.static.InputSpec([None, None], "float32")] * 2
    network = Graph(lambda x, y: paddle.expand_as(x[:, :1], y))
    function = paddle.jit.to_static(network, input_spec=spec, full_graph=True)
    found = function(paddle.to_tensor(A), paddle.to_tensor(B))
    np.testing.assert_array_equal(found.numpy(), np.broadcast_to(A[:, :1], B.shape))


class Normed(paddle.nn.Layer):
    """Convolution and batch normalisation: something with running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.convolve = paddle.nn.Conv2D(3, 4, 3)
        self.norm = paddle.nn.BatchNorm2D(4)
        for index, parameter in enumerate(self.parameters()):
            if not parameter.stop_gradient:
                parameter.set_value(normal(*parameter.shape, seed=index))

    def forward(self, images: Any) -> Any:
        return F.relu(self.norm(self.convolve(images)))


def test_compiled_networks_keep_their_statistics() -> None:
    def compute() -> list[NDArray[Any]]:
        network = Normed()
        run = paddle.jit.to_static(network, full_graph=True)
        for seed in range(3):
            run(paddle.to_tensor(normal(2, 3, 9, 9, seed=seed))).sum().backward()
        gradients = [p.grad.numpy() for p in network.parameters() if not p.stop_gradient]
        network.eval()
        statistics = [network.norm._mean.numpy(), network.norm._variance.numpy()]
        return statistics + gradients + [run(paddle.to_tensor(IMAGE)).numpy()]

    ours, wanted = on_both(compute)
    assert np.abs(wanted[0]).max() > 0.01
    for mine, other in zip(ours, wanted):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3)


@pytest.fixture
def static() -> Iterator[None]:
    """Static mode; `first_device` of conftest.py leaves it."""
    paddle.enable_static()
    yield
    paddle.disable_static()


Program = Callable[[], tuple[dict[str, NDArray[Any]], list[Any]]]


def execute(build: Program, device: str, runs: int = 1) -> list[list[NDArray[Any]]]:
    """Builds a program, which names its feeds and what to fetch, and runs it a few times."""
    main, startup = paddle.static.Program(), paddle.static.Program()
    where = paddle.CPUPlace() if device == "cpu" else place()
    with paddle.static.program_guard(main, startup):
        with paddle.static.scope_guard(paddle.static.Scope()):
            feed, fetch = build()
            executor = paddle.static.Executor(where)
            executor.run(startup)
            return [executor.run(main, feed=feed, fetch_list=fetch) for _ in range(runs)]


def fixed(*shape: int, seed: int = 0) -> Any:
    """Makes a parameter that starts the same on every device."""
    array = normal(*shape, seed=seed) * 0.3
    return paddle.ParamAttr(initializer=paddle.nn.initializer.Assign(array))


@pytest.mark.usefixtures("static")
def test_a_program_is_fed_and_fetched() -> None:
    def build() -> tuple[dict[str, NDArray[Any]], list[Any]]:
        x = paddle.static.data("x", [4, 6], "float32")
        y = paddle.static.data("y", [6], "float32")
        return {"x": A, "y": B[0]}, [x + y, (x * y).sum(), x.t()]

    for total, product, turned in execute(build, name(), runs=3):
        np.testing.assert_allclose(total, A + B[0], rtol=1e-5)
        np.testing.assert_allclose(product, (A * B[0]).sum(), rtol=1e-4)
        np.testing.assert_array_equal(turned, A.T)


@pytest.mark.usefixtures("static")
def test_a_program_loops_and_branches() -> None:
    def build() -> tuple[dict[str, NDArray[Any]], list[Any]]:
        x = paddle.static.data("x", [4, 6], "float32")
        start, end = paddle.full([1], 0, "int64"), paddle.full([1], 5, "int64")
        steps, grown = paddle.static.nn.while_loop(
            lambda i, x: i < end, lambda i, x: [i + 1, x * 1.5], [start, x]
        )
        flag = steps > 3
        chosen = paddle.static.nn.cond(flag, lambda: grown + 1, lambda: grown - 1)
        number = paddle.static.nn.cond(flag, lambda: steps + 7, lambda: steps - 7)
        return {"x": A}, [steps, grown, chosen, number]

    for steps, grown, chosen, number in execute(build, name(), runs=2):
        assert (steps.item(), number.item()) == (5, 12)
        np.testing.assert_allclose(grown, A * 1.5**5, rtol=1e-5)
        np.testing.assert_allclose(chosen, A * 1.5**5 + 1, rtol=1e-5, atol=1e-5)


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "SGD": lambda: paddle.optimizer.SGD(0.1),
    "Momentum": lambda: paddle.optimizer.Momentum(0.1, 0.9),
    "Adam": lambda: paddle.optimizer.Adam(0.05),
    "AdamW": lambda: paddle.optimizer.AdamW(0.05, weight_decay=0.1),
}


@pytest.mark.usefixtures("static")
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_program_trains(optimizer: str) -> None:
    def build() -> tuple[dict[str, NDArray[Any]], list[Any]]:
        x = paddle.static.data("x", [4, 6], "float32")
        layer = paddle.nn.Linear(6, 3, weight_attr=fixed(6, 3), bias_attr=fixed(3, seed=1))
        loss = F.mse_loss(layer(x), paddle.full([4, 3], 0.5))
        OPTIMIZERS[optimizer]().minimize(loss)
        return {"x": A}, [loss]

    ours = [float(loss) for (loss,) in execute(build, name(), runs=12)]
    wanted = [float(loss) for (loss,) in execute(build, "cpu", runs=12)]
    assert ours[-1] < ours[0]
    # Step by step: an optimizer whose state stands still would also make the loss fall.
    np.testing.assert_allclose(ours, wanted, rtol=1e-3)


@pytest.mark.usefixtures("static")
def test_a_program_keeps_its_statistics() -> None:
    def build() -> tuple[dict[str, NDArray[Any]], list[Any]]:
        x = paddle.static.data("x", [2, 3, 9, 9], "float32")
        norm = paddle.nn.BatchNorm2D(3)
        return {"x": IMAGE + 2}, [norm(x), norm._mean, norm._variance]

    ours, wanted = execute(build, name(), runs=3), execute(build, "cpu", runs=3)
    for mine, other in zip(ours, wanted):
        for left, right in zip(mine, other):
            np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)


def test_programs_of_the_old_format_return_from_a_fallback() -> None:
    """An operator that the device must not run, then one that it runs."""
    code = """
import numpy as np, paddle
paddle.enable_static()
program = paddle.static.Program()
with paddle.static.program_guard(program):
    x = paddle.static.data("x", [2, 2], "float32")
    out = paddle.mean(paddle.i0(x))
place = paddle.CustomPlace(paddle.device.get_all_custom_device_type()[0], 0)
feed = {"x": np.array([[4.0, 0.0], [0.0, 1.0]], "float32")}
for where in (place, paddle.CPUPlace()):
    print(float(paddle.static.Executor(where).run(program, feed=feed, fetch_list=[out])[0]))
"""
    # 3.3 has no programs of the old format.
    old = {"FLAGS_enable_pir_api": "0"} if RELEASE < (3, 3) else {}
    found = python(code, CUSTOM_DEVICE_BLACK_LIST="i0", **old)
    assert found.returncode == 0, found.stderr
    ours, wanted = map(float, found.stdout.split())
    assert ours == pytest.approx(wanted, rel=1e-5)


class Net(paddle.nn.Layer):
    """State that is saved and loaded again."""

    def __init__(self) -> None:
        super().__init__()
        self.first = paddle.nn.Linear(6, 8)
        self.norm = paddle.nn.LayerNorm(8)
        self.second = paddle.nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return F.softmax(self.second(F.gelu(self.norm(self.first(x)))))


@pytest.mark.parametrize("saved_on", [name(), "cpu"])
@pytest.mark.parametrize("loaded_on", [name(), "cpu"])
def test_a_saved_network_runs_anywhere(saved_on: str, loaded_on: str, tmp_path: Path) -> None:
    paddle.set_device(saved_on)
    network = Net()
    network.eval()
    wanted = network(paddle.to_tensor(A)).numpy()
    spec = [paddle.static.InputSpec([None, 6], "float32")]
    paddle.jit.save(network, str(tmp_path / "net"), input_spec=spec)
    paddle.set_device(loaded_on)
    loaded = paddle.jit.load(str(tmp_path / "net"))
    loaded.eval()
    np.testing.assert_allclose(loaded(paddle.to_tensor(A)).numpy(), wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        loaded(paddle.to_tensor(A[:1])).numpy(), wanted[:1], rtol=1e-4, atol=1e-6
    )
