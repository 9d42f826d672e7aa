"""Attention with caches, and penalties of tokens."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from host import DiopiError, Library
from samples import REAL, Draw, near


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_apply_penalty(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    logits, presence, frequency = draw.writable(3, 8), draw(3), draw(3)
    tokens, counts = np.array([1, 5, 0, 2, 7], kind), np.array([1, 2, 3, 1, 1], kind)
    bounds = np.array([0, 2, 2, 5], kind)
    expected = logits.astype("f8")
    for i in range(3):
        own = slice(bounds[i], bounds[i + 1])
        penalty = counts[own] * frequency[i].astype("f8") + presence[i].astype("f8")
        expected[i, tokens[own]] -= penalty
    lib.call("diopiApplyPenalty", logits, presence, frequency, tokens, counts, bounds, 3)
    near(logits, expected, 2)
    bounds[-1] = 9
    with pytest.raises(DiopiError, match="are not in"):
        lib.call("diopiApplyPenalty", logits, presence, frequency, tokens, counts, bounds, 3)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_dest_index_copy(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    cache, new, places = draw.writable(6, 2, 3), draw(3, 2, 3), np.array([4, 0, 2], kind)
    expected = cache.copy()
    expected[places] = new
    lib.call("diopiDestIndexCopyKV", cache, new, places)
    np.testing.assert_array_equal(cache, expected)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_token_attention(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    q, k, v = draw(2, 3, 4), draw(9, 3, 4), draw(9, 3, 4)
    table, lengths = np.array([[0, 3, 1], [5, 2, 8]], "i4"), np.array([2, 3], "i4")
    starts = np.array([0, 2], "i4")
    scores, out = draw.writable(3, 5), draw.writable(2, 3, 4)
    lib.call("diopiTokenAttentionInference", scores, q, k, table, starts, lengths, 3)
    lib.call("diopiTokenSoftmaxReduceVInference", out, scores, v, table, starts, lengths, 3, 0)
    for i, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        rows = table[i, 3 - length :]
        part = np.einsum("hd,lhd->hl", q[i].astype("f8"), k[rows].astype("f8")) / 2
        near(scores[:, start : start + length], part, 2)
        near(out[i], np.einsum("hl,lhd->hd", softmax(part, -1), v[rows].astype("f8")), 4)
    with pytest.raises(DiopiError, match="max_input_len"):
        lib.call("diopiTokenAttentionInference", scores, q, k, table, starts, lengths, 2)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_context_attention(lib: Library, dtype: Any) -> None:
    draw = Draw(dtype)
    q, k, v = draw(7, 2, 4), draw(7, 2, 4), draw(7, 2, 4)
    starts, lengths = np.array([0, 3], "i4"), np.array([3, 4], "i4")
    out = np.zeros(q.shape, dtype)
    lib.call("diopiContextAttentionInference", out, q, k, v, starts, lengths, 4)
    for start, length in zip(starts, lengths, strict=True):
        own = slice(start, start + length)
        scores = np.einsum("ihd,jhd->hij", q[own].astype("f8"), k[own].astype("f8")) / 2
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
        near(out[own], np.einsum("hij,jhd->ihd", softmax(scores, -1), v[own].astype("f8")), 2)
    starts[1] = 4
    with pytest.raises(DiopiError, match="are not in"):
        lib.call("diopiContextAttentionInference", out, q, k, v, starts, lengths, 4)
