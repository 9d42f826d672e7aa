"""Paths through sequences, against NumPy and Paddle's CPU."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray
from paddle.nn.functional.loss import edit_distance

from host import is_on, normal, on_both
from kernel_case import Case, check

Array = NDArray[Any]

TOKENS = np.random.default_rng(0).integers(0, 50, (5, 2, 3))
PARENTS = np.random.default_rng(1).integers(0, 3, (5, 2, 3))
POTENTIALS = normal(3, 4, 5)
TRANSITIONS = normal(5, 5, seed=1)
LENGTHS = np.array([4, 1, 3], "int64")
LABELS = np.array([[1, 2], [3, 1]], "int32")
TIMES = np.array([3, 2], "int32")
SIZES = np.array([2, 1], "int32")


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_beams_are_followed_back(dtype: str) -> None:
    def run() -> Any:
        ids, parents = (paddle.to_tensor(array.astype(dtype)) for array in (TOKENS, PARENTS))
        return F.gather_tree(ids, parents).numpy()

    ours, theirs = on_both(run)
    wanted = np.empty_like(TOKENS)
    for batch, beam in itertools.product(range(2), range(3)):
        place = beam
        for step in reversed(range(5)):
            wanted[step, batch, beam] = TOKENS[step, batch, place]
            place = PARENTS[step, batch, place]
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(ours, wanted)


@pytest.mark.parametrize("parent", [-1, 3])
def test_parents_that_are_no_beams_are_errors(parent: int) -> None:
    with pytest.raises(Exception, match="index"):
        F.gather_tree(
            paddle.zeros([2, 1, 3], "int64"), paddle.full([2, 1, 3], parent, "int64")
        ).numpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ends", [False, True])
def test_best_tags_are_those_of_all_paths(ends: bool, dtype: str) -> None:
    def run() -> list[Array]:
        found = paddle.text.viterbi_decode(
            paddle.to_tensor(POTENTIALS.astype(dtype)),
            paddle.to_tensor(TRANSITIONS.astype(dtype)),
            paddle.to_tensor(LENGTHS),
            ends,
        )
        return [value.numpy() for value in found]

    ours, theirs = on_both(run)
    for mine, other in zip(ours, theirs):
        assert mine.dtype == other.dtype
        np.testing.assert_allclose(mine, other, rtol=1e-6)
    for n, length in enumerate(LENGTHS):

        def total(tags: tuple[int, ...], n: int = n) -> float:
            scores = sum(POTENTIALS[n, time, tag] for time, tag in enumerate(tags))
            steps = sum(TRANSITIONS[pair] for pair in zip(tags, tags[1:]))
            around = TRANSITIONS[4, tags[0]] + TRANSITIONS[3, tags[-1]] if ends else 0
            return float(scores + steps + around)

        best = max(itertools.product(range(5), repeat=int(length)), key=total)
        np.testing.assert_allclose(ours[0][n], total(best), rtol=1e-5)
        assert ours[1][n].tolist() == [*best, *[0] * (4 - len(best))]


@pytest.mark.parametrize("length", [5, -1])
def test_lengths_beyond_the_scores_are_errors(length: int) -> None:
    lengths = paddle.to_tensor(np.array([4, length, 3]))
    with pytest.raises(Exception, match="index|address space"):
        paddle.text.viterbi_decode(
            paddle.to_tensor(POTENTIALS), paddle.to_tensor(TRANSITIONS), lengths
        )[1].numpy()


@pytest.mark.parametrize("normalized", [False, True])
def test_distances_are_those_of_the_cpu(normalized: bool) -> None:
    rng = np.random.default_rng(3)
    hyps, refs = rng.integers(0, 3, (4, 6)), rng.integers(0, 3, (4, 5))

    def run() -> list[Array]:
        found = edit_distance(
            *(paddle.to_tensor(hyps), paddle.to_tensor(refs), normalized, None),
            *(paddle.to_tensor([6, 3, 0, 1]), paddle.to_tensor([5, 5, 2, 1])),
        )
        return [value.numpy() for value in found]

    ours, theirs = on_both(run)
    for mine, other in zip(ours, theirs):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=1e-6)


def test_distance_of_words() -> None:
    # The example of Levenshtein's distance that textbooks have.
    kitten, sitting = ([[ord(letter) for letter in word]] for word in ("kitten", "sitting"))
    count, distance = edit_distance(
        *(paddle.to_tensor(kitten), paddle.to_tensor(sitting), False, None),
        *(paddle.to_tensor([6]), paddle.to_tensor([7])),
    )
    assert is_on(distance)
    assert [count.numpy().tolist(), distance.numpy().tolist()] == [[1], [[3.0]]]


def logarithms(logits: Array) -> Array:
    """Returns the logarithm of the softmax along the last dimension."""
    top = logits.max(-1, keepdims=True)
    found: Array = logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("emission", [0.0, 0.3])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_transducers_are_those_of_the_cpu(
    reduction: str, emission: float, dtype: str
) -> None:
    integers = (LABELS, TIMES, SIZES)
    case = Case(
        lambda x: F.rnnt_loss(
            *(x, *(paddle.to_tensor(array) for array in integers)), 0, emission, reduction
        ),
        (logarithms(normal(2, 3, 3, 4, seed=5)),),
        double=1e-6,
    )
    check(case, dtype)


def test_loss_of_a_transducer_adds_up_all_alignments() -> None:
    numbers = logarithms(normal(1, 3, 3, 4, seed=6).astype("float64"))
    target = [2, 1]
    total = 0.0
    # A path is the times at which the labels are emitted; the last blank is at the end.
    for first, second in itertools.product(range(3), repeat=2):
        if first > second:
            continue
        place, path = 0, 0.0
        for time in range(3):
            for label, when in zip(target, (first, second)):
                if when == time:
                    path += numbers[0, time, place, label]
                    place += 1
            path += numbers[0, time, place, 0]
        total += np.exp(path)
    loss = F.rnnt_loss(
        paddle.to_tensor(numbers),
        paddle.to_tensor(np.array([target], "int32")),
        *(paddle.to_tensor(np.array([count], "int32")) for count in (3, 2)),
        fastemit_lambda=0.0,
        reduction="none",
    )
    assert is_on(loss)
    np.testing.assert_allclose(loss.numpy(), [-np.log(total)], rtol=1e-10)


@pytest.mark.parametrize(
    "labels, times, sizes",
    [([[1, 4]], [3], [2]), ([[-1, 1]], [3], [2]), ([[1, 1]], [4], [2]), ([[1, 1]], [3], [3])],
)
def test_labels_and_lengths_out_of_range_are_errors(
    labels: list[list[int]], times: list[int], sizes: list[int]
) -> None:
    arrays = (np.array(values, "int32") for values in (labels, times, sizes))
    with pytest.raises(Exception, match="index|mismatch"):
        F.rnnt_loss(
            paddle.to_tensor(normal(1, 3, 3, 4)), *(paddle.to_tensor(array) for array in arrays)
        ).numpy()
