"""Attention with caches, and penalties of tokens."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from host import DiopiError, Library, like
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


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_apply_penalty_of_tokens(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    logits, presence, frequency = draw.writable(3, 5), draw(6), draw(6)
    repetition = draw(6, low=1, high=2)
    tokens, counts = np.array([14, 0, 7, 3, 9, 2], kind), np.array([1, 2, 3, 1, 0, 4], kind)
    expected = logits.astype("f8").ravel()
    old, factor = expected[tokens], repetition.astype("f8")
    new = np.where(old > 0, old / factor, old * factor)
    expected[tokens] = new - counts * frequency.astype("f8") - presence.astype("f8")
    arguments = presence, frequency, repetition, tokens, counts
    lib.call("diopiApplyPenaltyV2", logits, *arguments)
    near(logits, expected.reshape(3, 5), 2)


def attended(q: Any, k: Any, v: Any, hidden: Any) -> Any:
    """Returns the attention of one sequence, `[length, heads, size]`."""
    share = q.shape[1] // k.shape[1]
    q, k, v = (array.astype("f8") for array in (q, np.repeat(k, share, 1), np.repeat(v, share, 1)))
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[2])
    weights = softmax(np.where(hidden, -np.inf, scores), -1)
    return np.einsum("hij,jhd->ihd", weights, v).reshape(len(q), -1)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("key_heads", [4, 2])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("masks", [None, (), (1,), (2,), (2, 1)])
def test_attention_to_prompts(
    lib: Library, dtype: Any, key_heads: int, rank: int, masks: Any
) -> None:
    draw, longest = Draw(dtype), 5
    lengths = [5, 3]
    q, k, v = (draw(2, longest, heads, 8) for heads in (4, key_heads, key_heads))
    hidden = None
    if masks is not None:
        # Each query sees its own place.
        hidden = np.random.default_rng(0).integers(0, 2, (*masks, longest, longest)) > 0
        hidden[..., range(longest), range(longest)] = False
    shape = (2 * longest,) if rank == 2 else (2, longest)
    arrays = [array.reshape(*shape, -1) for array in (q, k, v)]
    rest = hidden, lengths, longest, 4, key_heads, 8
    out = lib.call("diopiPromptFlashAttention", like(arrays[0]), *arrays, *rest)
    out = out.reshape(2, longest, -1)
    all_hidden = np.zeros((2, longest, longest), bool)
    if hidden is not None:
        all_hidden |= hidden.reshape(-1, longest, longest)
    all_hidden |= np.triu(np.ones((longest, longest), bool), 1)
    for n, length in enumerate(lengths):
        own = slice(0, length)
        near(out[n, own], attended(q[n, own], k[n, own], v[n, own], all_hidden[n, own, own]), 2)
        near(out[n, length:], np.zeros((longest - length, 32)))
    with pytest.raises(DiopiError, match="`num_heads` has the element -1"):
        wrong = hidden, lengths, longest, -1, key_heads, 8
        lib.call("diopiPromptFlashAttention", like(arrays[0]), *arrays, *wrong)
    with pytest.raises(DiopiError, match="has 32 elements for 3 heads of 8"):
        wrong = hidden, lengths, longest, 3, key_heads, 8
        lib.call("diopiPromptFlashAttention", like(arrays[0]), *arrays, *wrong)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("key_heads", [4, 1])
@pytest.mark.parametrize("has_mask", [False, True])
def test_attention_to_blocks(
    lib: Library, dtype: Any, kind: str, key_heads: int, has_mask: bool
) -> None:
    draw, size, block = Draw(dtype), 8, 4
    q, k, v = draw(2, 4, size), draw(24, key_heads, size), draw(24, key_heads, size)
    table, lengths = np.array([[3, 1, 0], [2, 5, 4]], kind), [7, 12]
    hidden = np.arange(12)[None] == np.array([[2], [11]]) if has_mask else None
    arrays = [array.reshape(len(array), -1) for array in (q, k, v)]
    rest = 4, key_heads, size, table, block
    out = lib.call("diopiPagedAttention", like(arrays[0]), *arrays, hidden, lengths, *rest)
    for n, length in enumerate(lengths):
        rows = [table[n, token // block] * block + token % block for token in range(length)]
        unseen = hidden[n, :length] if hidden is not None else False
        near(out[n : n + 1], attended(q[n : n + 1], k[rows], v[rows], unseen), 2)
    with pytest.raises(DiopiError, match="13 tokens are not in 3 blocks of 4"):
        lib.call("diopiPagedAttention", like(arrays[0]), *arrays, None, [7, 13], *rest)
    table[1, 0] = 6
    with pytest.raises(DiopiError, match="are not in"):
        lib.call("diopiPagedAttention", like(arrays[0]), *arrays, None, lengths, *rest)
