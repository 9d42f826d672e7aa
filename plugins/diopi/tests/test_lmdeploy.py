"""Layers of language models, penalties of tokens, and the ends of sequences, for LMDeploy."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out, like
from samples import REAL, Draw, near
from tensors import Array

INDICES = ["i4", "i8"]


def normalized(x: Array, factors: Array) -> Array:
    result: Array = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * factors
    return result


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_layer_with_gate(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    x, gate, down, up = draw.writable(3, 4), draw(4, 6), draw(6, 4), draw(4, 6)
    name, before = "diopiFusedSiluFfnInp", x.astype("f8")
    # A negative size asks for that of the workspace.
    lib.call(name, x, gate, down, up, None, [-1], 0)
    near(x, before)
    inner = before @ gate.astype("f8")
    inner = inner / (1 + np.exp(-inner)) * (before @ up.astype("f8"))
    lib.call(name, x, gate, down, up, np.zeros(2, dtype), [0], 0)
    near(x, inner @ down.astype("f8"), 20)
    with pytest.raises(DiopiError):
        lib.call(name, x, gate, down[:5], up, None, [0], 0)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("has_bias", [False, True])
def test_root_mean_square(lib: Library, dtype: Any, has_bias: bool) -> None:
    draw = Draw(dtype)
    x, residual, factors = draw.writable(3, 8), draw.writable(3, 8), draw(8)
    bias = draw(8) if has_bias else None
    before, wide = x.astype("f8"), factors.astype("f8")
    lib.call("diopiRootMeanSquareNormInp", x, factors, 1e-5)
    near(x, normalized(before, wide), 1e5 if dtype == "f8" else 2)
    before = x.astype("f8")
    total = before + residual.astype("f8") + (bias.astype("f8") if bias is not None else 0)
    lib.call("diopiFusedAddRootMeanSquareNormInp", x, residual, bias, factors, 1e-5)
    near(residual, total, 2)
    near(x, normalized(total, wide), 1e5 if dtype == "f8" else 4)


@pytest.mark.parametrize("kind", INDICES)
def test_collected_tokens(lib: Library, kind: str) -> None:
    tokens = np.arange(30, dtype=kind).reshape(10, 3) + 1
    lengths, out = np.array([4, 2, 0], kind), np.zeros((3, 8), kind)
    lib.call("diopiGatherOutput", out, tokens, lengths, 4, 7, 8, 3)
    for n, length in enumerate(lengths):
        expected = [*tokens[:length, n], *tokens[4:7, n]]
        assert out[n].tolist() == expected + [0] * (8 - len(expected))
    with pytest.raises(DiopiError, match="are not in"):
        lib.call("diopiGatherOutput", out, tokens, lengths, 4, 11, 8, 3)


@pytest.mark.parametrize("kind", INDICES)
def test_counts(lib: Library, kind: str) -> None:
    numbers = np.arange(6, dtype=kind)
    lib.call("diopiPlusScalarInp", numbers, -3, 4)
    assert numbers.tolist() == [-3, -2, -1, 0, 4, 5]
    lengths = np.array([2, 7, 5], kind)
    out = lib.call("diopiUpdatePaddingCount", like(lengths), lengths, 7, 3)
    assert out.tolist() == [5, 0, 2]


@pytest.mark.parametrize("dtype", [*REAL, *map(np.dtype, INDICES)], ids=str)
def test_transposed(lib: Library, dtype: Any) -> None:
    x = Draw(dtype)(2, 3, 4)
    out = lib.call("diopiTransposeAxis01", Out((3, 2, 4), dtype), x, 2, 3, 4)
    np.testing.assert_array_equal(out, x.transpose(1, 0, 2))
    with pytest.raises(DiopiError, match=r"\[2, 3, 4\]"):
        lib.call("diopiTransposeAxis01", Out((3, 2, 4), dtype), x, 3, 2, 4)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_rows_of_tokens(lib: Library, dtype: Any, kind: str) -> None:
    table = Draw(dtype)(7, 4)
    tokens = np.array([[0, 3], [6, 1], [2, 2]], kind)
    out = Out((2, 4), dtype)
    rows = lib.call("diopiEmbeddingLookupPosEncoding", out, table, tokens, 2, 4, 1)
    np.testing.assert_array_equal(rows, table[tokens[1]])
    name = "diopiInputIdsEmbeddingLookupPosEncoding"
    rows = lib.call(name, Out((3, 4), dtype), tokens[:, 0], table, 3, 4)
    np.testing.assert_array_equal(rows, table[tokens[:, 0]])
    with pytest.raises(DiopiError, match="index 7"):
        lib.call(name, Out((3, 4), dtype), tokens[:, 0] + 1, table, 3, 4)


def list_of_words(words: list[list[int]], length: int, kind: str) -> Array:
    """Returns all tokens, and where each word ends."""
    lists = np.full((2, length), -1, kind)
    tokens = [token for word in words for token in word]
    lists[0, : len(tokens)] = tokens
    lists[1, : len(words)] = np.cumsum([len(word) for word in words])
    return lists


WORDS = [[[5], [1, 2, 3]], [[2, 4]], [[4, 4, 4], [3, 1]]]
# One column for each sequence.
TOKENS = [[1, 4, 4], [2, 2, 4], [3, 4, 3], [6, 0, 1]]


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_bad_words(lib: Library, dtype: Any, kind: str, shared: bool, step: int) -> None:
    tokens, lists = np.array(TOKENS, kind), [list_of_words(words, 6, kind) for words in WORDS]
    logits = Draw(dtype).writable(3, 6)
    expected = logits.astype("f8")
    for n in range(3):
        for word in WORDS[0 if shared else n]:
            history = tokens[:step, n].tolist()
            if (
                history[len(history) - len(word) + 1 :] == word[:-1]
                and len(history) >= len(word) - 1
            ):
                expected[n, word[-1]] = -np.inf
    words = lists[0] if shared else np.stack(lists)
    lib.call("diopiBanBadWordsInp", logits, tokens, words, 0, 6, shared, 3, 6, step)
    near(logits, expected)


@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_stop_words(lib: Library, kind: str, step: int) -> None:
    tokens = np.array(TOKENS, kind)
    words = np.stack([list_of_words(words, 6, kind) for words in WORDS])
    finished = np.array([False, False, False])
    lib.call("diopiStopWordsCriterion", tokens, words, finished, 0, 6, 3, step)
    expected = [
        any(tokens[max(step + 1 - len(word), 0) : step + 1, n].tolist() == word for word in own)
        for n, own in enumerate(WORDS)
    ]
    assert finished.tolist() == expected
    assert step in (0, 1) or any(expected)
    with pytest.raises(DiopiError, match="are not in"):
        lib.call("diopiStopWordsCriterion", tokens, words, finished, 0, 6, 3, 4)


@pytest.mark.parametrize("kind", INDICES)
def test_greatest_length(lib: Library, kind: str) -> None:
    finished, limits = np.array([False, True, False]), np.array([4, 9, 7], kind)
    outs = Out((1,), "bool"), Out((1,), kind)
    stop, count = lib.call("diopiLengthCriterion", finished, *outs, limits, 3, 4)
    assert finished.tolist() == [True, True, False]
    assert stop.tolist() == [False] and count.tolist() == [2]
    stop, count = lib.call("diopiLengthCriterion", finished, *outs, limits, 3, 7)
    assert stop.tolist() == [True] and count.tolist() == [3]


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_penalty_of_repetition(lib: Library, dtype: Any, kind: str, mode: int) -> None:
    draw = Draw(dtype)
    logits, penalties = draw.writable(2, 7), draw(2, low=1, high=2)
    tokens = np.array([[0, 6], [3, 5], [1, 2], [4, 2], [3, 6], [2, 2]], kind)
    lengths = np.array([3, 1], kind)
    expected = logits.astype("f8")
    for n in range(2):
        own = {*tokens[: lengths[n], n].tolist(), *tokens[3:5, n].tolist()}
        for token in own:
            old, penalty = expected[n, token], float(penalties[n])
            changed = old * penalty if old < 0 else old / penalty
            expected[n, token] = [old, old - penalty, changed][mode]
    name = "diopiBatchApplyRepetitionPenaltyInp"
    lib.call(name, logits, penalties, tokens, 2, 7, lengths, 3, 5, mode)
    near(logits, expected, 2)
    with pytest.raises(DiopiError, match="`penalty_type` is 3"):
        lib.call(name, logits, penalties, tokens, 2, 7, lengths, 3, 5, 3)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("has_bias", [False, True])
def test_temperature(lib: Library, dtype: Any, has_bias: bool) -> None:
    draw = Draw(dtype)
    logits, temperatures = draw.writable(2, 7), Draw(np.float32)(2, low=0.5, high=2)
    bias = draw(7) if has_bias else None
    wide = logits.astype("f8") + (bias.astype("f8") if bias is not None else 0)
    lib.call("diopiBatchApplyTemperaturePenaltyInp", logits, bias, temperatures, 2, 5, 7)
    near(logits[:, :5], (wide / (temperatures[:, None].astype("f8") + 1e-6))[:, :5], 2)
    rest = logits[:, 5:].astype("f8")
    assert np.isfinite(rest).all() and (rest < -65000).all()
    with pytest.raises(DiopiError, match="are not in"):
        lib.call("diopiBatchApplyTemperaturePenaltyInp", logits, bias, temperatures, 2, 8, 7)
