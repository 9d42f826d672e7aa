"""Random numbers: their range, their distribution, and the state of the generator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from arrays import FLOATS, INTEGERS, random
from host import DiopiError, Generator, Library, Out
from tensors import Array, empty

MANY = (200, 300)

# Calls that draw numbers, into a tensor of a shape.
DRAWS: dict[str, Callable[[Library, Generator, tuple[int, ...]], Any]] = {
    "diopiUniformInp": lambda lib, generator, shape: in_place(
        lib, "diopiUniformInp", shape, -1.0, 3.0, generator
    ),
    "diopiNormalInp": lambda lib, generator, shape: in_place(
        lib, "diopiNormalInp", shape, 1.0, 2.0, generator
    ),
    "diopiRandomInp": lambda lib, generator, shape: in_place(
        lib, "diopiRandomInp", shape, 0, 1000, generator
    ),
    "diopiNormal": lambda lib, generator, shape: lib.call(
        "diopiNormal", Out(shape, "float32"), 1.0, 2.0, generator
    ),
    "diopiBernoulliScalar": lambda lib, generator, shape: lib.call(
        "diopiBernoulliScalar", Out(shape, "float32"), 0.3, generator
    ),
    "diopiDropout": lambda lib, generator, shape: lib.call(
        "diopiDropout",
        Out(shape, "float32"),
        Out(shape, "bool"),
        np.ones(shape, "float32"),
        0.3,
        True,
        generator,
    )[0],
}


def in_place(lib: Library, name: str, shape: tuple[int, ...], *args: Any) -> Array:
    """Fills a tensor."""
    target = empty(shape, "float32")
    lib.call(name, target, *args)
    return target


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_seed_determines_the_numbers_and_the_generator_advances(lib: Library, draw: Any) -> None:
    first, second, other = Generator(lib, 7), Generator(lib, 7), Generator(lib, 8)
    seed, offset = first.seed_and_offset()
    array = draw(lib, first, (50, 3))
    assert first.seed_and_offset()[0] == seed and first.seed_and_offset()[1] >= offset + 150
    np.testing.assert_array_equal(array, draw(lib, second, (50, 3)))
    assert (array != draw(lib, first, (50, 3))).any()
    assert (array != draw(lib, other, (50, 3))).any()
    assert draw(lib, first, (0, 3)).shape == (0, 3)
    assert draw(lib, first, ()).shape == ()


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(lib: Library, dtype: Any) -> None:
    target = empty(MANY, dtype)
    lib.call("diopiUniformInp", target, -1.0, 3.0, Generator(lib, 1))
    values = target.astype("float64")
    assert values.min() >= -1 and values.max() <= 3
    if dtype == "float64":
        assert stats.kstest(values.ravel(), stats.uniform(-1, 4).cdf).pvalue > 1e-4
    with pytest.raises(DiopiError, match="no numbers"):
        lib.call("diopiUniformInp", target, 3.0, -1.0, Generator(lib, 1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(lib: Library, dtype: Any) -> None:
    out = lib.call("diopiNormal", Out(MANY, dtype), 1.0, 2.0, Generator(lib, 1))
    values = out.astype("float64")
    assert abs(values.mean() - 1) < 0.05 and abs(values.std() - 2) < 0.05
    if dtype == "float64":
        assert stats.kstest(values.ravel(), stats.norm(1, 2).cdf).pvalue > 1e-4
    with pytest.raises(DiopiError, match="standard deviation"):
        lib.call("diopiNormal", Out((2,), dtype), 0.0, -1.0, Generator(lib, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_of_tensors(lib: Library, dtype: str) -> None:
    mean, std = np.arange(-1, 2).astype(dtype), np.array([[0.5], [2]], dtype)
    shape = (20000, 2, 3)
    wide = np.broadcast_to(mean, shape), np.broadcast_to(std, shape)
    for name, means, stds in [
        ("diopiNormalTensor", *wide),
        ("diopiNormalTensorScalar", wide[0], 2.0),
        ("diopiNormalScalarTensor", -3.0, wide[1]),
    ]:
        out = lib.call(name, Out(shape, dtype), means, stds, Generator(lib, 1))
        scaled = (out - means) / stds
        assert abs(scaled.mean(0)).max() < 0.05 and abs(scaled.std(0) - 1).max() < 0.05


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
def test_random_integers(lib: Library, dtype: Any) -> None:
    target = empty(MANY, dtype)
    lib.call("diopiRandomInp", target, 0, 2 if dtype == "bool" else 10, Generator(lib, 1))
    counts = np.unique(target.astype("int64"), return_counts=True)
    assert counts[0].tolist() == [*range(2 if dtype == "bool" else 10)]
    assert stats.chisquare(counts[1]).pvalue > 1e-4
    lib.call("diopiRandomInp", target, 0, None, Generator(lib, 1))
    values = target.astype("float64")
    limits = {"bool": 1, "int8": 127, "uint8": 255, "float16": 2048, "float32": 2**24}
    if dtype in limits:
        assert 0.99 * limits[dtype] <= values.max() <= limits[dtype]
    assert values.min() >= 0 and (values == np.floor(values)).all()
    with pytest.raises(DiopiError, match="no integers"):
        lib.call("diopiRandomInp", target, 3, 3, Generator(lib, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_bernoulli(lib: Library, dtype: str) -> None:
    of = "float64" if dtype == "float64" else "float32"
    chances = np.broadcast_to(np.array([0, 0.2, 0.9, 1], of), (20000, 4)).copy()
    outs = [lib.call("diopiBernoulli", Out(chances.shape, dtype), chances, Generator(lib, 1))]
    target = chances.copy()
    lib.call("diopiBernoulliInp", target, Generator(lib, 1))
    for out in [*outs, target]:
        assert set(np.unique(out.astype("float64"))) == {0, 1}
        shares = out.astype("float64").mean(0)
        assert shares[0] == 0 and shares[3] == 1
        np.testing.assert_allclose(shares, [0, 0.2, 0.9, 1], atol=0.02)
    out = lib.call("diopiBernoulliScalar", Out(MANY, dtype), 0.25, Generator(lib, 1))
    assert abs(out.astype("float64").mean() - 0.25) < 0.02
    with pytest.raises(DiopiError):
        lib.call("diopiBernoulliScalar", Out((3,), dtype), 1.5, Generator(lib, 1))


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(lib: Library, dtype: Any, p: float) -> None:
    array = np.asarray(abs(random(MANY, dtype)) + 1).astype(dtype)
    outs = Out(MANY, dtype), Out(MANY, "bool")
    out, mask = lib.call("diopiDropout", *outs, array, p, True, Generator(lib, 1))
    assert abs(mask.mean() - (1 - p)) < 0.02
    factor = 0 if p == 1 else 1 / (1 - p)
    expected = np.where(mask, array.astype("float64") * factor, 0)
    np.testing.assert_allclose(out.astype("float64"), expected, rtol=1e-2)
    target, kept = array.copy(), empty(MANY, "bool")
    lib.call("diopiDropoutInp", target, kept, p, True, Generator(lib, 1))
    np.testing.assert_array_equal(target, out)
    np.testing.assert_array_equal(kept, mask)


def test_dropout_without_training_and_of_slices(lib: Library) -> None:
    array = random((4, 50, 3), "float32") + 20
    outs = Out(array.shape, "float32"), Out(array.shape, "bool")
    out, mask = lib.call("diopiDropout", *outs, array, 0.5, False, Generator(lib, 1))
    np.testing.assert_array_equal(out, array)
    assert mask.all()
    outs = Out(array.shape, "float32"), Out((4, 50, 1), "bool")
    out, mask = lib.call("diopiDropout", *outs, array, 0.2, True, Generator(lib, 1))
    assert 0.65 < mask.mean() < 0.95
    np.testing.assert_allclose(out, np.where(mask, array * 1.25, 0), rtol=1e-6)
    with pytest.raises(DiopiError, match="probability"):
        lib.call("diopiDropout", *outs, array, 1.5, True, Generator(lib, 1))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("n", [0, 1, 100])
def test_randperm(lib: Library, dtype: str, n: int) -> None:
    out = lib.call("diopiRandperm", Out((n,), dtype), n, Generator(lib, 1))
    assert sorted(out.tolist()) == [*range(n)]
    assert n < 2 or out.tolist() != [*range(n)]
    with pytest.raises(DiopiError):
        lib.call("diopiRandperm", Out((3,), dtype), 4, Generator(lib, 1))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_multinomial(lib: Library, dtype: str) -> None:
    weights = np.array([[1, 0, 3], [2, 2, 4]], dtype)
    args = weights, 40000, True, Generator(lib, 1)
    out = lib.call("diopiMultinomial", Out((2, 40000), "int64"), *args)
    for row, drawn in zip(weights, out, strict=True):
        shares = np.bincount(drawn, minlength=3) / 40000
        np.testing.assert_allclose(shares, row / row.sum(), atol=0.02)
    args = weights[1], 3, False, Generator(lib, 1)
    out = lib.call("diopiMultinomial", Out((3,), "int64"), *args)
    assert sorted(out.tolist()) == [0, 1, 2]
    with pytest.raises(DiopiError):
        args = weights[0], 3, False, Generator(lib, 1)
        lib.call("diopiMultinomial", Out((3,), "int64"), *args)
