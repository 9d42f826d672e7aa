"""The settings of LMDeploy's sampling."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from samples import REAL, near
from tensors import Array

INDICES = ["i4", "i8"]


def settings(kind: str, dtype: Any) -> tuple[Array, Array, Out]:
    counts = np.array([0, 0, 5, 5, 2000, 3], kind)
    shares = np.array([0, 0.5, 0, 0.25, 2, -1], dtype)
    return counts, shares, Out((6,), "?")


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_settings_of_the_best_tokens(lib: Library, dtype: Any, kind: str) -> None:
    name = "diopiSetupTopkRuntimeArgsInp"
    arguments = settings(kind, dtype)
    skipped = lib.call(name, *arguments, 6, 7, 6, 0.75, 6)
    assert arguments[0].tolist() == [1, 0, 5, 5, 1024, 3]
    near(arguments[1], [1, 0.5, 1, 0.25, 1, 0])
    assert skipped.tolist() == [False, True, False, False, False, False]
    arguments = settings(kind, dtype)
    lib.call(name, *arguments, 6, 7, 0, 0.75, 0)
    assert arguments[0].tolist() == [7] * 6
    near(arguments[1], [0.75] * 6)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize(
    ("given", "expected"), [((0.5, 0.25), (0.5, 0.25)), ((0, 0), (1, 0.5)), ((2, 2), (1, 0.5))]
)
def test_settings_of_probable_tokens(
    lib: Library, dtype: Any, kind: str, given: Any, expected: Any
) -> None:
    counts, shares, skipped = settings(kind, dtype)
    real = Out((6,), dtype)
    first = counts, shares, skipped, 6, 7, 6, 0.75, 6
    rest = real, Out((6,), dtype), given[0], Out((6,), dtype), given[1], Out((6,), kind), 11
    name = "diopiSetupToppRuntimeArgsInp"
    skips, initial, decay, least, reset = lib.call(name, *first, *rest)
    assert counts.tolist() == [1, 0, 5, 5, 2000, 3]
    near(shares, [0, 0.5, 0, 0.25, 1, 0])
    near(initial, shares)
    assert skips.tolist() == [True, False, True, True, True, True]
    near(decay, [expected[0]] * 6)
    near(least, [expected[1]] * 6)
    assert reset.tolist() == [11] * 6


def test_settings_that_are_wrong_fail(lib: Library) -> None:
    name, arguments = "diopiSetupTopkRuntimeArgsInp", settings("i4", "f4")
    with pytest.raises(DiopiError, match="`batch_size` is -1"):
        lib.call(name, *arguments, -1, 7, 6, 0.75, 6)
    with pytest.raises(DiopiError, match="`top_ks` has the shape"):
        lib.call(name, *arguments, 5, 7, 6, 0.75, 6)
    with pytest.raises(DiopiError, match="`top_k` is -3"):
        lib.call(name, *arguments, 6, -3, 0, 0.75, 6)
