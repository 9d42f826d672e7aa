"""The loss of connectionist temporal classification."""

from itertools import groupby, product
from typing import Any

import numpy as np
import pytest
import scipy.special

from host import DiopiError, Library, Out
from samples import Draw, near
from tables import differences
from tensors import Array

BATCH, TIMES, LABELS = 4, 5, 3
FLOATS = ["float32", "float64", "float16"]
REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def negative_log_likelihood(log_probs: Array, target: list[int], blank: int) -> float:
    """Adds up the probabilities of all alignments of a sequence, one by one."""
    total = 0.0
    for labels in product(range(log_probs.shape[1]), repeat=len(log_probs)):
        if [label for label, _ in groupby(labels) if label != blank] == target:
            total += np.exp(sum(row[label] for row, label in zip(log_probs, labels, strict=True)))
    with np.errstate(divide="ignore"):
        return float(-np.log(total))


class Call:
    """The arguments of a call."""

    def __init__(self, targets: list[list[int]], times: list[int], blank: int = 0) -> None:
        self.targets, self.times, self.blank = targets, times, blank
        self.longest = max(len(target) for target in targets)

    def integers(self, kind: str, padded: bool) -> tuple[Array, Array, Array]:
        rows = [target + [self.blank] * (self.longest - len(target)) for target in self.targets]
        flat = np.array([label for target in self.targets for label in target], kind)
        lengths = [len(target) for target in self.targets]
        targets = np.array(rows, kind).reshape(-1, self.longest) if padded else flat
        return targets, np.array(self.times, kind), np.array(lengths, kind)

    def losses(self, log_probs: Array) -> Array:
        sequences = zip(self.targets, self.times, strict=True)
        losses = [
            negative_log_likelihood(log_probs[:times, n], target, self.blank)
            for n, (target, times) in enumerate(sequences)
        ]
        return np.array(losses)

    def reduced(self, losses: Array, reduction: int) -> Array:
        if reduction == 1:
            return np.asarray(
                np.mean(losses / np.maximum([len(target) for target in self.targets], 1))
            )
        return np.asarray(losses.sum() if reduction == 2 else losses)


CALLS = [
    Call([[1, 2], [1, 1], [2], []], [5, 3, 4, 2]),
    Call([[0, 1], [0, 0], [1, 0], [1]], [5, 4, 2, 1], blank=2),
]
# The second target needs a blank between its labels, for which there is no time.
WITHOUT_ALIGNMENT = Call([[1, 2], [1, 1], [2], []], [5, 2, 4, 0])


def log_probs(dtype: Any, seed: int = 0) -> Array:
    logits = Draw("float64", seed)(TIMES, BATCH, LABELS)
    return np.asarray(scipy.special.log_softmax(logits, -1).astype(dtype))


def forward(lib: Library, call: Call, x: Array, kind: str, padded: bool, *args: Any) -> Any:
    shape = (BATCH,) if args[0] == 0 else ()
    alpha = BATCH, TIMES, 2 * call.longest + 1
    outs = [Out(shape, x.dtype), Out((BATCH,), x.dtype), Out(alpha, x.dtype)]
    return lib.call("diopiCTCLoss", *outs, x, *call.integers(kind, padded), call.blank, *args)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_ctc_loss(lib: Library, dtype: Any, call: Call, reduction: int) -> None:
    x = log_probs(dtype)
    losses = call.losses(x.astype("f8"))
    for kind, padded in [("int64", True), ("int32", False)]:
        out, each, alpha = forward(lib, call, x, kind, padded, reduction, False)
        near(out, call.reduced(losses, reduction), 2)
        near(each, losses, 2)
        ends = [
            alpha[n, times - 1, : 2 * len(target) + 1][-2:]
            for n, (target, times) in enumerate(zip(call.targets, call.times, strict=True))
        ]
        near(
            np.array([-scipy.special.logsumexp(end.astype("f8")) for end in ends]).astype(dtype),
            losses,
            2,
        )
        assert np.isneginf(alpha[0, 0, 2:]).all()


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_ctc_loss_backward(lib: Library, dtype: Any, call: Call, reduction: int) -> None:
    # By the logits: the gradient goes through the logarithm of softmax.
    logits = Draw("float64", 3)(TIMES, BATCH, LABELS)

    def of(logits: Array) -> Array:
        losses = call.losses(scipy.special.log_softmax(logits, -1))
        return call.reduced(losses, reduction)

    dout = Draw(dtype, 4)(*([BATCH] if reduction == 0 else []))
    (expected,) = differences(of, dout.astype("f8"), logits)
    x = scipy.special.log_softmax(logits, -1).astype(dtype)
    integers = call.integers("int64", padded=True)
    each, alpha = np.zeros(BATCH, dtype), np.zeros((BATCH, TIMES, 2 * call.longest + 1), dtype)
    args = dout, x, *integers, each, alpha, call.blank, reduction, False
    gradient = lib.call("diopiCTCLossBackward", Out(x.shape, dtype), *args)
    tolerance = {"float64": 1e-8, "float32": 1e-5, "float16": 6e-3}[dtype]
    np.testing.assert_allclose(gradient.astype("f8"), expected, tolerance, tolerance)


@pytest.mark.parametrize("reduction", [1, 2])
def test_one_loss_may_have_a_dimension(lib: Library, reduction: int) -> None:
    call, x = CALLS[0], log_probs("f8")
    integers = call.integers("i8", True)
    alpha = BATCH, TIMES, 2 * call.longest + 1
    rest = call.blank, reduction, False
    for shape in ((), (1,)):
        outs = [Out(shape, "f8"), Out((BATCH,), "f8"), Out(alpha, "f8")]
        loss, each, alphas = lib.call("diopiCTCLoss", *outs, x, *integers, *rest)
        one = np.ones(shape)
        dx = lib.call(
            "diopiCTCLossBackward", Out(x.shape, "f8"), one, x, *integers, each, alphas, *rest
        )
        if shape == ():
            expected = loss, dx
    np.testing.assert_array_equal(loss, [expected[0]])
    np.testing.assert_array_equal(dx, expected[1])


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_sequence_without_alignment(lib: Library, zero_infinity: bool) -> None:
    call, x = WITHOUT_ALIGNMENT, log_probs("float64")
    losses = call.losses(x)
    assert np.isinf(losses).tolist() == [False, True, False, False]
    out, each, alpha = forward(lib, call, x, "int64", True, 0, zero_infinity)
    near(each, losses)
    near(out, np.where(np.isinf(losses) & zero_infinity, 0, losses))
    integers = call.integers("int64", padded=True)
    args = np.ones(BATCH), x, *integers, each, alpha, 0, 0, zero_infinity
    gradient = lib.call("diopiCTCLossBackward", Out(x.shape, "float64"), *args)
    assert np.isnan(gradient[:2, 1]).all() != zero_infinity
    assert np.isfinite(gradient[:, [0, 2, 3]]).all()
    # Times behind the end of a sequence, and infinite losses, have no gradient.
    assert not gradient[2:, 1].any() and not gradient[:, 3].any()
    assert not zero_infinity or not gradient[:, 1].any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Call([[1, 3], [1], [1], [1]], [5, 5, 5, 5]), "index 3"),
        (Call([[1, -1], [1], [1], [1]], [5, 5, 5, 5]), "index -1"),
        (Call([[1, 2], [1], [1], [1]], [5, 6, 5, 5]), "input_lengths"),
        (Call([[1, 2], [1], [1], [1]], [5, -1, 5, 5]), "input_lengths"),
        (Call([[1, 2], [1], [1], [1]], [5, 5, 5, 5], blank=3), "index 3"),
        (Call([[1, 2], [1], [1]], [5, 5, 5]), "shape|elements"),
    ],
)
def test_ctc_loss_of_wrong_arguments_fails(lib: Library, call: Call, message: str) -> None:
    for padded in (True, False):
        with pytest.raises(DiopiError, match=message):
            forward(lib, call, log_probs("float32"), "int64", padded, 2, False)


def test_ctc_loss_of_other_lengths_of_targets_fails(lib: Library) -> None:
    x, lengths = log_probs("float32"), np.array([2, 1, 1, 1])
    outs = [Out((), "float32"), Out((BATCH,), "float32"), Out((BATCH, TIMES, 5), "float32")]
    for targets in (np.ones(4, int), np.ones(6, int), np.ones((4, 1), int)):
        with pytest.raises(DiopiError, match="target"):
            args = x, targets, np.full(BATCH, TIMES), lengths, 0, 2, False
            lib.call("diopiCTCLoss", *outs, *args)
