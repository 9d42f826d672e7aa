"""Normalization by the root mean square, rotary embeddings, and masked softmax."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from host import DiopiError, Library, Out, like
from samples import REAL, Draw, gradient, near
from tensors import Array


def rms_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    axes = tuple(range(x.ndim - weight.ndim, x.ndim))
    return np.asarray(x / np.sqrt(np.mean(x * x, axes, keepdims=True) + eps) * weight + bias)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("shape, count", [((3, 4), 1), ((2, 3, 4), 2), ((5,), 1), ((0, 4), 1)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_rms_norm_and_gradients(
    lib: Library, dtype: Any, shape: tuple[int, ...], count: int, has_bias: bool
) -> None:
    draw = Draw(dtype)
    tail = shape[len(shape) - count :]
    x, weight = draw(*shape), draw(*tail)
    bias = draw(*tail) if has_bias else None
    added = bias.astype("f8") if bias is not None else np.zeros(tail)
    roots = Out((*shape[: len(shape) - count], *[1] * count), "f4")
    out, inverse = lib.call("diopiRMSNorm", like(x), roots, x, tail, weight, bias, 1e-5)
    wide = x.astype("f8")
    near(out, rms_norm(wide, weight.astype("f8"), added, 1e-5), 4)
    axes = tuple(range(len(shape) - count, len(shape)))
    near(inverse, 1 / np.sqrt(np.mean(wide * wide, axes, keepdims=True) + 1e-5), 4)
    dout = draw(*shape)
    references = gradient(
        lambda x, weight, bias: rms_norm(x, weight, bias, 1e-5), [x, weight, added], dout
    )
    outs = [like(x), like(weight), like(weight) if has_bias else None]
    results = lib.call("diopiRMSNormBackward", *outs, dout, x, weight, bias, inverse, tail, 1e-5)
    for result, reference in zip(results, references, strict=False):
        near(result, reference, 1e8 if dtype == "f8" else 20)


def test_rms_norm_of_wrong_shape(lib: Library) -> None:
    x = np.ones((2, 3), "f4")
    with pytest.raises(DiopiError, match="normalized_shape"):
        lib.call("diopiRMSNorm", like(x), Out((2, 1), "f4"), x, [4], np.ones(4, "f4"), None, 1e-5)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("conj", [False, True])
def test_rotary_embedding(lib: Library, dtype: Any, interleaved: bool, conj: bool) -> None:
    draw = Draw(dtype)
    x, cos, sin = draw(2, 3, 4, 6), draw(3, 1, 3), draw(3, 1, 3)
    wide, c, s = (array.astype("f8") for array in (x, cos, sin))
    s = -s if conj else s
    first, second = (slice(0, 6, 2), slice(1, 6, 2)) if interleaved else (slice(0, 3), slice(3, 6))
    expected = np.empty(x.shape)
    expected[..., first] = wide[..., first] * c - wide[..., second] * s
    expected[..., second] = wide[..., first] * s + wide[..., second] * c
    near(lib.call("diopiRotaryEmbedding", like(x), x, cos, sin, conj, interleaved), expected)
    same = x.copy()
    lib.call("diopiRotaryEmbedding", same, same, cos, sin, conj, interleaved)
    near(same, expected)
    with pytest.raises(DiopiError, match="halved"):
        lib.call(
            "diopiRotaryEmbedding", Out((5,), dtype), draw(5), draw(2), draw(2), conj, interleaved
        )


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("is_flat", [False, True])
def test_rotary_embedding_in_place(lib: Library, dtype: Any, is_flat: bool) -> None:
    draw = Draw(dtype)
    cos, sin = draw(5, 1, 4), draw(5, 1, 4)
    arrays = [draw.writable(5, 3, 4), draw.writable(5, 2, 4)]
    expected = []
    for x in arrays:
        wide = x.astype("f8")
        turned = np.concatenate([-wide[..., 2:], wide[..., :2]], -1)
        expected.append(wide * cos.astype("f8") + turned * sin.astype("f8"))
    if is_flat:
        arrays = [x.reshape(5, -1) for x in arrays]
        cos, sin = cos[:, 0], sin[:, 0]
    lib.call("diopiRotaryEmbeddingV2", *arrays, cos, sin, 4)
    for actual, reference in zip(arrays, expected, strict=True):
        near(actual, reference.reshape(actual.shape))


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", [bool, "same", "triangle"])
def test_scaled_masked_softmax_and_gradient(lib: Library, dtype: Any, kind: Any) -> None:
    draw = Draw(dtype)
    x, dout = draw(2, 3, 4, 4), draw(2, 3, 4, 4)
    mask = draw.rng.integers(0, 2, (2, 1, 4, 4)).astype(bool if kind is bool else dtype)
    hidden = np.triu(np.ones(mask.shape), 1) if kind == "triangle" else mask
    hidden = hidden.astype(bool)

    def reference(x: Array) -> Array:
        return np.asarray(softmax(np.where(hidden, -1e4, x * 0.5), -1))

    out = lib.call("diopiScaledMaskedSoftmax", like(x), x, mask, 0.5, kind == "triangle")
    near(out, reference(x.astype("f8")), 2)
    result = lib.call(
        "diopiScaledMaskedSoftmaxBackward", like(x), dout, out, mask, 0.5, kind == "triangle"
    )
    near(result, gradient(reference, [x], dout)[0], 1e6 if dtype == "f8" else 4)
