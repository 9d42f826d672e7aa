"""Attention of sequences of one length and of different lengths, with masks and dropout."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from host import NEW, DiopiError, Generator, Library, Out, like
from samples import REAL, Draw, gradient, near
from tensors import Array

# Exact as a number of type `float`.
SCALE = 0.25


def scores_of(
    q: Array, k: Array, window: tuple[int, int] = (-1, -1), slopes: Any = None, hidden: Any = None
) -> Array:
    """Returns the scores, [batch, heads, length, keys]."""
    k = np.repeat(k, q.shape[2] // k.shape[2], 2)
    scores = SCALE * np.einsum("bihd,bjhd->bhij", q, k)
    queries, keys = scores.shape[2:]
    distance = np.arange(keys)[None] - np.arange(queries)[:, None] - (keys - queries)
    if slopes is not None:
        scores = scores - np.asarray(slopes, "f8")[:, None, None] * np.abs(distance)
    left, right = window
    seen = np.ones((queries, keys), bool)
    seen &= (distance <= right) if right >= 0 else True
    seen &= (distance >= -left) if left >= 0 else True
    if hidden is not None:
        seen = seen & ~hidden
    return np.asarray(np.where(seen, scores, -np.inf))


def attention(q: Array, k: Array, v: Array, kept: Any = 1, **options: Any) -> Array:
    weights = softmax(scores_of(q, k, **options), -1) * kept
    return np.asarray(
        np.einsum("bhij,bjhd->bihd", weights, np.repeat(v, q.shape[2] // v.shape[2], 2))
    )


def f8(*arrays: Array) -> Any:
    return [array.astype("f8") for array in arrays]


def check_gradients(results: Any, references: list[Array], dtype: Any) -> None:
    for result, reference in zip(results, references, strict=True):
        near(result, reference, 1e6 if dtype == np.float64 else 8)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("queries, keys, key_heads", [(5, 5, 4), (3, 5, 2), (70, 70, 1)])
def test_attention_and_gradients(
    lib: Library, dtype: Any, causal: bool, queries: int, keys: int, key_heads: int
) -> None:
    draw, generator = Draw(dtype), Generator(lib, 3)
    q, k, v = (
        draw.writable(2, queries, 4, 3),
        draw.writable(2, keys, key_heads, 3),
        draw(2, keys, key_heads, 3),
    )
    options: Any = {"window": (-1, 0) if causal else (-1, -1)}
    lse = Out((2, 4, queries), "f4")
    out, sums = lib.call(
        "diopiMultiHeadAttention",
        q,
        k,
        v.copy(),
        0.0,
        causal,
        False,
        SCALE,
        like(q),
        lse,
        generator,
        None,
    )
    near(out, attention(*f8(q, k, v), **options), 2)
    near(sums, logsumexp(scores_of(*f8(q, k), **options), -1), 1e3)
    flash, more = lib.call(
        "diopiFlashAttention", like(q), lse, generator, q, k, v, None, 0.0, SCALE, causal, -1, -1
    )
    near(flash, out.astype("f8"))
    near(more, sums)
    if queries > 5:
        return
    dout = draw(*q.shape)
    references = gradient(lambda q, k, v: attention(q, k, v, **options), [q, k, v], dout)
    outs = [like(q), like(k), like(v)]
    arguments = [dout, q, k, v, out, sums, 0.0, causal, generator, SCALE]
    check_gradients(
        lib.call("diopiMultiHeadAttentionBackward", *arguments, *outs), references, dtype
    )
    arguments = [dout, generator, q, k, v, None, out, sums, 0.0, SCALE, causal, -1, -1]
    results = lib.call("diopiFlashAttentionBackward", *outs, *arguments)
    for result, reference in zip(results, references, strict=True):
        near(result, reference, 1e7 if dtype == np.float64 else 8)


@pytest.mark.parametrize("window", [(1, 0), (2, 1), (-1, 1), (1, -1)])
@pytest.mark.parametrize("has_slopes", [False, True])
def test_windows_and_slopes(lib: Library, window: tuple[int, int], has_slopes: bool) -> None:
    draw, generator = Draw("float32"), Generator(lib, 3)
    q, k, v = draw(1, 4, 2, 3), draw(1, 6, 2, 3), draw(1, 6, 2, 3)
    slopes = np.array([0.5, 0.25], "f4") if has_slopes else None
    options: Any = {"window": window, "slopes": slopes}
    out, lse = lib.call(
        "diopiFlashAttention",
        *[like(q), Out((1, 2, 4), "f4"), generator, q, k, v, slopes, 0.0, SCALE, False, *window],
    )
    near(out, attention(*f8(q, k, v), **options), 2)
    dout = draw(*q.shape)
    arguments = [dout, generator, q, k, v, slopes, out, lse, 0.0, SCALE, False, *window]
    results = lib.call("diopiFlashAttentionBackward", like(q), like(k), like(v), *arguments)
    check_gradients(
        results, gradient(lambda q, k, v: attention(q, k, v, **options), [q, k, v], dout), q.dtype
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("key_heads", [4, 2])
def test_dropout(lib: Library, causal: bool, key_heads: int) -> None:
    draw = Draw("float64")
    q, k, v = (draw.writable(2, 5, heads, 3) for heads in (4, key_heads, key_heads))
    options: Any = {"window": (-1, 0) if causal else (-1, -1)}
    outs = [like(q), Out((2, 4, 5), "f4")]
    generator = Generator(lib, 3)
    kept = Out((2, 4, 5, 5), "?")
    arguments = [q, k, v, 0.25, causal, True, SCALE, *outs, generator, kept]
    out, lse, mask = lib.call("diopiMultiHeadAttention", *arguments)
    assert generator.seed_and_offset()[1] == mask.size
    assert 0.5 < mask.mean() < 0.95
    factor = mask / 0.75
    near(out, attention(q, k, v, factor, **options))
    near(lse, logsumexp(scores_of(q, k, **options), -1))
    dout = draw(*q.shape)
    references = gradient(lambda q, k, v: attention(q, k, v, factor, **options), [q, k, v], dout)
    # The gradient draws the same numbers from a generator in the same state.
    arguments = [dout, q, k, v, out, lse, 0.25, causal, Generator(lib, 3), SCALE]
    gradients = lib.call("diopiMultiHeadAttentionBackward", *arguments, like(q), like(k), like(v))
    check_gradients(gradients, references, q.dtype)


LENGTHS = [0, 3, 3, 7]


@pytest.mark.parametrize("kind", ["i4", "i8"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("is_flat", [False, True])
def test_sequences_of_different_lengths(
    lib: Library, kind: str, causal: bool, is_flat: bool
) -> None:
    draw, generator = Draw("float32"), Generator(lib, 3)
    q, k, v, dout = (draw.writable(7, 2, 3) for _ in range(4))
    bounds = np.array(LENGTHS, kind)
    spans = [
        slice(start, end) for start, end in zip(LENGTHS, LENGTHS[1:], strict=False) if end > start
    ]
    options: Any = {"window": (-1, 0) if causal else (-1, -1)}

    def reference(q: Array, k: Array, v: Array) -> Array:
        return np.concatenate(
            [attention(q[None, s], k[None, s], v[None, s], **options)[0] for s in spans]
        )

    lse = Out((2, 7) if is_flat else (3, 2, 4), "f4")
    arguments = [
        q,
        k,
        v,
        bounds,
        bounds,
        4,
        4,
        0.0,
        causal,
        False,
        SCALE,
        like(q),
        lse,
        generator,
        None,
    ]
    out, sums = lib.call("diopiMultiHeadAttentionVarLen", *arguments)
    near(out, reference(*f8(q, k, v)), 2)
    last = sums[:, 3:] if is_flat else sums[2]
    near(last, logsumexp(scores_of(*f8(q[None, 3:], k[None, 3:]), **options), -1)[0])
    flash = [generator, q, k, v, bounds, bounds, None, 4, 4, 0.0, SCALE, causal, -1, -1]
    same, _ = lib.call("diopiFlashAttentionVarLen", like(q), lse, *flash)
    np.testing.assert_array_equal(same, out)
    references = gradient(reference, [q, k, v], dout)
    outs = [like(q), like(k), like(v)]
    arguments = [dout, q, k, v, out, sums, bounds, bounds, 4, 4, 0.0, causal, generator, SCALE]
    check_gradients(
        lib.call("diopiMultiHeadAttentionVarLenBackward", *arguments, *outs), references, q.dtype
    )
    arguments = [
        dout,
        generator,
        q,
        k,
        v,
        bounds,
        bounds,
        None,
        out,
        sums,
        4,
        4,
        0.0,
        SCALE,
        causal,
        -1,
        -1,
    ]
    results = lib.call("diopiFlashAttentionVarLenBackward", *outs, *arguments)
    check_gradients(results, references, q.dtype)


@pytest.mark.parametrize("layout", ["BSND", "BNSD", "BSH", "SBH"])
@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_attention_with_mask_of_the_caller(lib: Library, layout: str, dropout: float) -> None:
    draw, generator = Draw("float32"), Generator(lib, 3)
    plain = [draw(2, 5, heads, 3) for heads in (4, 2, 2)]
    dout = draw(2, 5, 4, 3)
    hidden = draw.rng.integers(0, 2, (2, 1, 5, 5)).astype(bool)
    hidden[..., 0] = False

    def packed(x: Array) -> Array:
        if layout == "BNSD":
            return x.transpose(0, 2, 1, 3).copy()
        if layout == "BSND":
            return x
        flat = x.reshape(2, 5, -1)
        return flat if layout == "BSH" else flat.transpose(1, 0, 2).copy()

    q, k, v = (packed(x) for x in plain)
    rest = [dropout, SCALE, False, -1, -1, 4, layout]
    out, kept, top, total, weights = lib.call(
        "diopiCustomizedFlashAttention",
        like(q),
        NEW,
        NEW,
        NEW,
        NEW,
        generator,
        q,
        k,
        v,
        None,
        hidden,
        *rest,
    )
    factor = 1 if kept is None else kept / (1 - dropout)
    assert (kept is None) == (dropout == 0)
    wide_q, wide_k, wide_v = f8(*plain)
    scores = scores_of(wide_q, wide_k, hidden=hidden)
    near(top, scores.max(-1))
    near(total, np.exp(scores - scores.max(-1, keepdims=True)).sum(-1), 4)
    near(weights, softmax(scores, -1))
    near(out, packed(attention(wide_q, wide_k, wide_v, factor, hidden=hidden)), 2)
    references = gradient(lambda q, k, v: attention(q, k, v, factor, hidden=hidden), plain, dout)
    arguments = [packed(dout), q, k, v, None, out, hidden, kept, top, total, weights, *rest]
    results = lib.call(
        "diopiCustomizedFlashAttentionBackward", like(q), like(k), like(v), *arguments
    )
    check_gradients(results, [packed(reference) for reference in references], q.dtype)


@pytest.mark.parametrize("dropout", [0.0, 0.25])
def test_sequences_with_mask_of_the_caller(lib: Library, dropout: float) -> None:
    draw, generator = Draw("float32"), Generator(lib, 3)
    q, k, v, dout = (draw(7, 2, 3) for _ in range(4))
    hidden = draw.rng.integers(0, 2, (4, 4)).astype(bool)
    hidden[:, 0] = False
    rest = [dropout, SCALE, False, -1, -1]
    arguments = [generator, q, k, v, LENGTHS, LENGTHS, None, hidden, 4, 4, *rest]
    out, kept, top, total, weights = lib.call(
        "diopiCustomizedFlashAttentionVarLen", like(q), NEW, NEW, NEW, NEW, *arguments
    )
    assert (kept is None) == (dropout == 0)

    def reference(q: Array, k: Array, v: Array) -> Array:
        parts = []
        for i, (start, end) in enumerate(zip(LENGTHS, LENGTHS[1:], strict=False)):
            own, n = slice(start, end), end - start
            if n:
                factor = 1 if kept is None else kept[i, None, :, :n, :n] / (1 - dropout)
                options: Any = {"hidden": hidden[:n, :n]}
                parts.append(
                    attention(q[None, own], k[None, own], v[None, own], factor, **options)[0]
                )
        return np.concatenate(parts)

    near(out, reference(*f8(q, k, v)), 2)
    last_q, last_k = f8(q[None, 3:], k[None, 3:])
    scores = scores_of(last_q, last_k, hidden=hidden)
    near(weights[2], softmax(scores, -1)[0])
    near(top[2], scores.max(-1)[0])
    near(total[2], np.exp(scores - scores.max(-1, keepdims=True)).sum(-1)[0], 4)
    assert not weights[0, :, 3].any()
    saved = [out, hidden, kept, top, total, weights]
    arguments = [dout, q, k, v, LENGTHS, LENGTHS, None, *saved, 4, 4, *rest]
    outs = [like(q), like(k), like(v)]
    results = lib.call("diopiCustomizedFlashAttentionVarLenBackward", *outs, *arguments)
    check_gradients(results, gradient(reference, [q, k, v], dout), q.dtype)


@pytest.mark.parametrize("form", ["sequences", "batch"])
def test_causal_mask_of_2048_stands_for_longer_sequences(lib: Library, form: str) -> None:
    draw, ends = Draw("float32"), [0, 3, 2103]
    q, k, v, dout = (draw(ends[-1], 1, 2) for _ in range(4))
    mask = np.triu(np.ones((2048, 2048), bool), 1)
    rest = [0.0, SCALE, True, -1, -1]
    outs = [None, NEW, NEW, NEW]
    if form == "batch":
        ends = [0, 2103]
        q, k, v, dout = (x[None] for x in (q, k, v, dout))
        arguments: list[Any] = [None, q, k, v, None, mask, *rest, 1, "BSND"]
        name = "diopiCustomizedFlashAttention"
    else:
        arguments = [None, q, k, v, ends, ends, None, mask, 2100, 2100, *rest]
        name = "diopiCustomizedFlashAttentionVarLen"
    # The mask of the dropout is not made.
    out, *saved = lib.call(name, like(q), [None], *outs[1:], *arguments)

    def causal(q: Array, k: Array, v: Array) -> Array:
        flat = [x.reshape(-1, 1, 2) for x in (q, k, v)]
        parts = [slice(*pair) for pair in zip(ends, ends[1:], strict=False)]
        rows = [attention(*(x[None, part] for x in flat), window=(-1, 0))[0] for part in parts]
        result: Array = np.concatenate(rows).reshape(q.shape)
        return result

    near(out, causal(*f8(q, k, v)), 2)
    if form == "batch":
        arguments = [dout, q, k, v, None, out, mask, None, *saved, *rest, 1, "BSND"]
    else:
        saved = [out, mask, None, *saved]
        arguments = [dout, q, k, v, ends, ends, None, *saved, 2100, 2100, *rest]
    results = lib.call(f"{name}Backward", like(q), like(k), like(v), *arguments)
    # The differences of one element each, as a whole gradient takes too long.
    for array, result in zip((q, k, v), results, strict=True):
        for place in (5, 2099):
            step = np.zeros(array.shape)
            step.reshape(-1, 2)[place, 1] = 1e-6
            above, below = (
                causal(*(x + sign * step * (x is array) for x in (q, k, v))) for sign in (1, -1)
            )
            expected = np.sum(dout * (above - below)) / 2e-6
            assert result.reshape(-1, 2)[place, 1] == pytest.approx(expected, 1e-3, 1e-5)
    with pytest.raises(DiopiError):
        rest[2] = False
        arguments = [None, q, k, v, None, mask, *rest, 1, "BSND"]
        if form == "sequences":
            arguments = [None, q, k, v, ends, ends, None, mask, 2100, 2100, *rest]
        lib.call(name, like(q), [None], *outs[1:], *arguments)


def test_wrong_arguments_are_errors(lib: Library) -> None:
    draw, generator = Draw("float32"), Generator(lib, 3)
    q, k, lse = draw(1, 4, 3, 2), draw(1, 4, 2, 2), Out((1, 3, 4), "f4")
    rest = [None, 0.0, SCALE, False, -1, -1]
    with pytest.raises(DiopiError, match="cannot share"):
        lib.call("diopiFlashAttention", like(q), lse, generator, q, k, k, *rest)
    rest[1] = 1.5
    with pytest.raises(DiopiError, match="probability"):
        lib.call("diopiFlashAttention", like(q), lse, generator, q, q, q, *rest)
    flat, bounds = draw(4, 3, 2), np.array([0, 5], "i4")
    arguments = [generator, flat, flat, flat, bounds, bounds, None, 4, 4, 0.0, SCALE, False, -1, -1]
    with pytest.raises(DiopiError, match="cumulative"):
        lib.call("diopiFlashAttentionVarLen", like(flat), Out((3, 4), "f4"), *arguments)


def test_nothing_is_drawn_without_dropout(lib: Library) -> None:
    q, none = Draw("float16").writable(1, 4, 2, 8), Out((0,), "float16")
    lse, ends = Out((1, 2, 4), "f4"), np.array([0, 4], "i4")
    options = 0.0, True, False, SCALE
    out, sums, _ = lib.call("diopiMultiHeadAttention", q, q, q, *options, like(q), lse, None, none)
    gradients = like(q), like(q), like(q)
    rest = 0.0, True, None, SCALE, *gradients
    expected = lib.call("diopiMultiHeadAttentionBackward", q, q, q, q, out, sums, *rest)
    flat = q[0]
    outs = like(flat), lse, None, none
    of_one = lib.call(
        "diopiMultiHeadAttentionVarLen", flat, flat, flat, ends, ends.copy(), 4, 4, *options, *outs
    )
    np.testing.assert_array_equal(of_one[0], out[0])
    arguments = None, q, q, q, None, None, 0.0, SCALE, True, -1, -1, 2, "BSND"
    made = lib.call("diopiCustomizedFlashAttention", like(q), [None], NEW, NEW, NEW, *arguments)
    np.testing.assert_array_equal(made[0], out)
    kept = q, q, q, None, made[0], None, None, *made[1:], 0.0, SCALE, True, -1, -1, 2, "BSND"
    same = lib.call("diopiCustomizedFlashAttentionBackward", *gradients, q, *kept)
    for one, other in zip(same, expected, strict=True):
        near(one, other.astype("f8"), 2)
    with pytest.raises(DiopiError, match="`gen` is null"):
        options = 0.5, True, False, SCALE
        lib.call("diopiMultiHeadAttention", q, q, q, *options, like(q), lse, None, none)


def test_cumulative_lengths_without_a_zero(lib: Library) -> None:
    q = Draw("float16").writable(7, 2, 8)
    rest = None, None, 4, 4, 0.0, SCALE, True, -1, -1
    with_zero, without = (
        lib.call(
            "diopiCustomizedFlashAttentionVarLen",
            *(like(q), [None], NEW, NEW, NEW, None, q, q, q, ends, ends, *rest),
        )
        for ends in ([0, 3, 7], [3, 7])
    )
    for one, other in zip(with_zero, without, strict=True):
        np.testing.assert_array_equal(one, other)
    gradients = [
        lib.call(
            "diopiCustomizedFlashAttentionVarLenBackward",
            *(like(q), like(q), like(q), q, q, q, q, ends, ends, None, without[0], None, None),
            *(*without[1:], 4, 4, 0.0, SCALE, True, -1, -1),
        )
        for ends in ([0, 3, 7], [3, 7])
    ]
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_array_equal(one, other)
