"""The operators that the benchmark measures, with their counterparts in NumPy, SciPy and PyTorch.

All write to a place for the result if they can.
"""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from host import NEW, Number, like

Run = Callable[[], Any]
Array = NDArray[Any]


class Case(NamedTuple):
    """An operator with its arguments, and its counterparts."""

    name: str
    size: str
    args: tuple[Any, ...]
    torch: Run | None
    numpy: Run | None = None


def import_torch() -> Any:
    """Returns PyTorch with one thread, or `None` if it is not installed."""
    try:
        torch: Any = importlib.import_module("torch")
    except ModuleNotFoundError:
        return None
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return torch


def cases(torch: Any) -> Iterator[Case]:
    """Returns all cases, from small to large ones."""
    for size in (64, 4096, 262_144):
        inputs = Inputs(torch, size)
        yield from elementwise(inputs)
        yield from rows(inputs)
        yield from moved(inputs)
        yield from trained(inputs)
    for channels, side in ((8, 8), (32, 28), (64, 56)):
        yield from layers(Images(torch, channels, side))


class Inputs:
    """Arrays of some elements, and PyTorch's tensors in the same memory."""

    def __init__(self, torch: Any, size: int) -> None:
        rng = np.random.default_rng(0)
        self.torch, self.size = torch, f"{size:,}"
        self.side = int(size**0.5)
        self.a, self.b = (
            rng.uniform(0.5, 2, size).astype(np.float32) for _ in range(2)
        )
        self.out = np.empty_like(self.a)
        self.square, self.other = (
            x[: self.side**2].reshape(self.side, self.side) for x in (self.a, self.b)
        )
        self.flat, self.row = (
            np.empty_like(self.square),
            np.empty(self.side, np.float32),
        )
        self.index = rng.integers(0, self.side, self.side)
        self.classes = rng.integers(0, self.side, self.side)
        self.where = self.a > 1
        self.scale = rng.uniform(0.5, 2, self.side).astype(np.float32)

    def shared(self, *arrays: Array) -> Any:
        """Returns PyTorch's tensors in the memory of arrays."""
        if self.torch is None:
            return [None] * len(arrays)
        return [self.torch.from_numpy(array) for array in arrays]

    def case(
        self,
        name: str,
        args: tuple[Any, ...],
        torch: Callable[[Any], Run],
        numpy: Run | None = None,
    ) -> Case:
        """Returns a case. PyTorch's call is made only if it is installed."""
        return Case(
            name, self.size, args, torch(self.torch) if self.torch else None, numpy
        )


def elementwise(inputs: Inputs) -> Iterator[Case]:
    """Returns operators that compute each element by itself."""
    a, b, out, case = inputs.a, inputs.b, inputs.out, inputs.case
    ta, tb, tout, where = inputs.shared(a, b, out, inputs.where)
    one = Number(1, np.float64)
    yield case(
        "diopiAdd",
        (like(a), a, b, one),
        lambda torch: partial(torch.add, ta, tb, out=tout),
        partial(np.add, a, b, out=out),
    )
    yield case(
        "diopiMul",
        (like(a), a, b),
        lambda torch: partial(torch.mul, ta, tb, out=tout),
        partial(np.multiply, a, b, out=out),
    )
    yield case(
        "diopiExp",
        (like(a), a),
        lambda torch: partial(torch.exp, ta, out=tout),
        partial(np.exp, a, out=out),
    )
    yield case(
        "diopiTanh",
        (like(a), a),
        lambda torch: partial(torch.tanh, ta, out=tout),
        partial(np.tanh, a, out=out),
    )
    yield case(
        "diopiRsqrt",
        (like(a), a),
        lambda torch: partial(torch.rsqrt, ta, out=tout),
    )
    yield case(
        "diopiGelu",
        (like(a), a, "none"),
        lambda torch: partial(torch.nn.functional.gelu, ta, out=tout),
        lambda: np.multiply(a, special.ndtr(a), out=out),
    )
    yield case(
        "diopiWhere",
        (like(a), inputs.where, a, b),
        lambda torch: partial(torch.where, where, ta, tb, out=tout),
        lambda: np.where(inputs.where, a, b),
    )


def rows(inputs: Inputs) -> Iterator[Case]:
    """Returns operators that combine the elements of a row."""
    square, row, scale, case = inputs.square, inputs.row, inputs.scale, inputs.case
    flat, places = inputs.flat, np.empty(inputs.side, np.int64)
    tsquare, tother, tflat, trow, tplaces, tscale, classes = inputs.shared(
        square, inputs.other, flat, row, places, scale, inputs.classes
    )
    order = np.empty(inputs.a.size, np.int64)
    ta, tout, torder = inputs.shared(inputs.a, inputs.out, order)
    side = [inputs.side]
    yield case(
        "diopiSum",
        (like(row), square, [1]),
        lambda torch: partial(torch.sum, tsquare, 1, out=trow),
        partial(np.sum, square, axis=1, out=row),
    )
    yield case(
        "diopiMax",
        (like(row), like(row, np.int64), square, 1),
        lambda torch: partial(torch.max, tsquare, 1, out=(trow, tplaces)),
        partial(square.max, axis=1),
    )
    yield case(
        "diopiMean",
        (like(row), square, [1]),
        lambda torch: partial(torch.mean, tsquare, 1, out=trow),
        partial(square.mean, axis=1, out=row),
    )
    yield case(
        "diopiSoftmax",
        (like(square), square, 1),
        lambda torch: partial(torch.softmax, tsquare, 1, out=tflat),
        partial(special.softmax, square, axis=1),
    )
    yield case(
        "diopiLayerNorm",
        (like(square), like(row), like(row), square, scale, scale, side, 1e-5),
        lambda torch: partial(
            torch.native_layer_norm, tsquare, side, tscale, tscale, 1e-5
        ),
    )
    yield case(
        "diopiCrossEntropyLoss",
        (
            like(row[:1].reshape(())),
            square,
            inputs.classes,
            None,
            "ReductionMean",
            -100,
            0.0,
        ),
        lambda torch: partial(torch.nn.functional.cross_entropy, tsquare, classes),
    )
    yield case(
        "diopiSort",
        (like(inputs.a), like(inputs.a, np.int64), inputs.a, 0, False, None),
        lambda torch: partial(torch.sort, ta, out=(tout, torder)),
        partial(np.argsort, inputs.a),
    )
    yield case(
        "diopiMm",
        (like(square), square, inputs.other),
        lambda torch: partial(torch.mm, tsquare, tother, out=tflat),
        partial(np.matmul, square, inputs.other, out=flat),
    )


def moved(inputs: Inputs) -> Iterator[Case]:
    """Returns operators that copy elements."""
    square, other, index, case = inputs.square, inputs.other, inputs.index, inputs.case
    both = np.concatenate([square, other])
    places = np.ascontiguousarray(np.broadcast_to(index, square.shape))
    tsquare, tother, tindex, tplaces, tflat, tboth = inputs.shared(
        square, other, index, places, inputs.flat, both
    )
    yield case(
        "diopiContiguous",
        (NEW, square.T, "Contiguous"),
        lambda torch: tsquare.T.contiguous,
        partial(np.ascontiguousarray, square.T),
    )
    yield case(
        "diopiCat",
        (like(both), [square, other], 2, 0),
        lambda torch: partial(torch.cat, [tsquare, tother], out=tboth),
        partial(np.concatenate, [square, other], out=both),
    )
    yield case(
        "diopiIndexSelect",
        (like(square), square, 0, index),
        lambda torch: partial(torch.index_select, tsquare, 0, tindex, out=tflat),
        partial(np.take, square, index, 0, out=inputs.flat, mode="clip"),
    )
    yield case(
        "diopiGather",
        (like(square), square, 1, places),
        lambda torch: partial(torch.gather, tsquare, 1, tplaces, out=tflat),
        partial(np.take_along_axis, square, places, 1),
    )


def trained(inputs: Inputs) -> Iterator[Case]:
    """Returns the step of an optimiser."""
    state = [inputs.a.copy(), *(np.zeros_like(inputs.a) for _ in range(2))]
    param, mean, square = state
    tparam, tmean, tsquare, grad = inputs.shared(*(x.copy() for x in state), inputs.b)

    def step(torch: Any) -> Run:
        # What `torch.optim.AdamW(fused=True)` calls, the fastest of its ways.
        settings = {
            "lr": 1e-3,
            "beta1": 0.9,
            "beta2": 0.999,
            "eps": 1e-8,
            "weight_decay": 0.01,
        }
        state: Any = ([tparam], [grad], [tmean], [tsquare], [], [torch.tensor(10.0)])
        return partial(
            torch._fused_adamw_, *state, **settings, amsgrad=False, maximize=False
        )

    yield inputs.case(
        "diopiAdamW",
        (param, inputs.b, mean, square, None, 1e-3, 0.9, 0.999, 1e-8, 0.01, 10, False),
        step,
    )


class Images(Inputs):
    """Four images with some channels."""

    def __init__(self, torch: Any, channels: int, side: int) -> None:
        super().__init__(torch, channels)
        rng = np.random.default_rng(0)
        self.size = f"4 × {channels} × {side} × {side}"
        self.images = rng.uniform(0.5, 2, (4, channels, side, side)).astype(np.float32)
        self.kernel = rng.uniform(-1, 1, (channels, channels, 3, 3)).astype(np.float32)
        self.factors = rng.uniform(0.5, 2, channels).astype(np.float32)


def layers(inputs: Images) -> Iterator[Case]:
    """Returns layers of networks for images."""
    images, kernel, factors, case = (
        inputs.images,
        inputs.kernel,
        inputs.factors,
        inputs.case,
    )
    mean, variance = np.zeros_like(factors), np.ones_like(factors)
    half = images[..., ::2, ::2]
    x, weight, scale, tmean, tvariance = inputs.shared(
        images, kernel, factors, mean, variance
    )
    yield case(
        "diopiConvolution2d",
        (like(images), images, kernel, factors, [1, 1], [1, 1], [1, 1], 1),
        lambda torch: partial(torch.conv2d, x, weight, scale, 1, 1),
    )
    saved = like(factors), like(factors)
    norms = factors, factors, mean, variance, True, 0.1, 1e-5
    yield case(
        "diopiBatchNorm",
        (like(images), *saved, images, *norms),
        lambda torch: partial(
            torch.native_batch_norm, x, scale, scale, tmean, tvariance, True, 0.1, 1e-5
        ),
    )
    yield case(
        "diopiMaxPool2d",
        (like(half), images, [2, 2], [2, 2], [0, 0], [1, 1], False),
        lambda torch: partial(torch.max_pool2d, x, 2),
    )
