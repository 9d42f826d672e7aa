"""Fourier transforms, frames of signals, and complex numbers: results and gradients."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import paddle
import pytest
from paddle.base import core

from host import DEVICE, RELEASE, normal, on_both
from kernel_case import Array, Case, check
from test_operators import kernels_of_the_spec

REAL = normal(3, 4, 6, dtype="float64")
ODD = normal(3, 4, 5, dtype="float64")
COMPLEX = normal(3, 4, 6, dtype="float64") + 1j * normal(3, 4, 6, seed=1, dtype="float64")
PRIME = normal(2, 31, dtype="float64") + 1j * normal(2, 31, seed=1, dtype="float64")
HALF = COMPLEX[..., :4]
LONG = normal(2, 50, dtype="float64")

Norm = Literal["backward", "ortho", "forward"]
NORMS: tuple[Norm, ...] = ("backward", "ortho", "forward")

CASES: dict[str, Case] = {
    **{
        f"fft, {norm}": Case(lambda x, n=norm: paddle.fft.fft(x, norm=n), (COMPLEX,))
        for norm in NORMS
    },
    **{
        f"ifft, {norm}": Case(lambda x, n=norm: paddle.fft.ifft(x, norm=n), (COMPLEX,))
        for norm in NORMS
    },
    "fft of a prime length": Case(paddle.fft.fft, (PRIME,)),
    "fft of the first dimension": Case(lambda x: paddle.fft.fft(x, axis=0), (COMPLEX,)),
    "fft of a length": Case(lambda x: paddle.fft.fft(x, n=9, axis=1), (COMPLEX,)),
    "fft of real numbers": Case(paddle.fft.fft, (REAL,)),
    "fft2": Case(paddle.fft.fft2, (COMPLEX,)),
    "ifftn": Case(lambda x: paddle.fft.ifftn(x, axes=(2, 0)), (COMPLEX,)),
    **{
        f"rfft, {norm}": Case(lambda x, n=norm: paddle.fft.rfft(x, norm=n), (REAL,))
        for norm in NORMS
    },
    "rfft of an odd length": Case(paddle.fft.rfft, (ODD,)),
    "rfft2": Case(lambda x: paddle.fft.rfft2(x, axes=(0, 1)), (REAL,)),
    "rfftn": Case(paddle.fft.rfftn, (ODD,)),
    "ihfft": Case(paddle.fft.ihfft, (REAL,)),
    **{
        f"irfft, {norm}": Case(lambda x, n=norm: paddle.fft.irfft(x, norm=n), (HALF,))
        for norm in NORMS
    },
    "irfft of an odd length": Case(lambda x: paddle.fft.irfft(x, n=7), (HALF,)),
    "irfft2": Case(paddle.fft.irfft2, (HALF,)),
    "irfftn of the first dimensions": Case(lambda x: paddle.fft.irfftn(x, axes=(2, 0)), (COMPLEX,)),
    "hfft": Case(paddle.fft.hfft, (HALF,)),
    "hfftn": Case(paddle.fft.hfftn, (HALF,)),
    "frame": Case(lambda x: paddle.signal.frame(x, 5, 2), (LONG,)),
    "frame that leaves elements": Case(lambda x: paddle.signal.frame(x, 7, 3), (LONG,)),
    "frame of the first dimension": Case(lambda x: paddle.signal.frame(x, 2, 1, axis=0), (REAL,)),
    "frame of one signal": Case(lambda x: paddle.signal.frame(x, 4, 3), (LONG[0],)),
    "frame of complex numbers": Case(lambda x: paddle.signal.frame(x, 3, 2), (COMPLEX,)),
    "frame of integers": Case(lambda x: paddle.signal.frame(x, 3, 2), (np.arange(12),)),
    "overlap_add": Case(lambda x: paddle.signal.overlap_add(x, 2), (REAL,)),
    "overlap_add without overlaps": Case(lambda x: paddle.signal.overlap_add(x, 4), (REAL,)),
    "overlap_add to the first dimension": Case(
        lambda x: paddle.signal.overlap_add(x, 1, axis=0), (REAL,)
    ),
    "overlap_add of complex numbers": Case(lambda x: paddle.signal.overlap_add(x, 2), (COMPLEX,)),
    "overlap_add of integers": Case(
        lambda x: paddle.signal.overlap_add(x, 2), (np.arange(12).reshape(3, 4),)
    ),
    "stft": Case(lambda x: paddle.signal.stft(x, 16, 4), (LONG,)),
    "stft and back": Case(
        lambda x: paddle.signal.istft(paddle.signal.stft(x, 16, 4), 16, 4), (LONG,)
    ),
    "spectrum of power": Case(lambda x: paddle.signal.stft(x, 16, 8).abs() ** 2, (LONG,)),
    "abs": Case(paddle.abs, (COMPLEX,)),
    "angle": Case(paddle.angle, (COMPLEX,)),
    "conj": Case(paddle.conj, (COMPLEX,)),
    "real": Case(paddle.real, (COMPLEX,)),
    "imag": Case(paddle.imag, (COMPLEX,)),
    "complex": Case(paddle.complex, (REAL, REAL * 2 + 1)),
    "complex of a row": Case(paddle.complex, (REAL, REAL[0, 0])),
    "complex of a column": Case(paddle.complex, (REAL[:, :1], REAL)),
    "as_complex": Case(paddle.as_complex, (REAL.reshape(3, 4, 3, 2),)),
    "as_real": Case(paddle.as_real, (COMPLEX,)),
    "matmul": Case(paddle.matmul, (COMPLEX, COMPLEX[0].T)),
    "matmul, both turned": Case(
        lambda x, y: paddle.matmul(x, y, transpose_x=True, transpose_y=True),
        (COMPLEX, COMPLEX[0].T),
    ),
    "kron": Case(paddle.kron, (COMPLEX[0], COMPLEX[1, :2])),
    "matmul of real and complex": Case(paddle.matmul, (REAL, COMPLEX[0].T)),
    "matmul of complex and real": Case(paddle.matmul, (COMPLEX, REAL[0].T)),
    "kron of real and complex": Case(paddle.kron, (REAL[0], COMPLEX[1, :2])),
    "kron of complex and real": Case(paddle.kron, (COMPLEX[0], REAL[1, :2])),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


@pytest.mark.parametrize("norm", NORMS)
def test_transforms_are_those_of_numpy(norm: Norm) -> None:
    for ours, numpys in [
        (paddle.fft.fftn(paddle.to_tensor(COMPLEX), norm=norm), np.fft.fftn(COMPLEX, norm=norm)),
        (paddle.fft.rfftn(paddle.to_tensor(ODD), norm=norm), np.fft.rfftn(ODD, norm=norm)),
        (paddle.fft.irfft(paddle.to_tensor(HALF), norm=norm), np.fft.irfft(HALF, norm=norm)),
        (paddle.fft.hfft(paddle.to_tensor(HALF), norm=norm), np.fft.hfft(HALF, norm=norm)),
    ]:
        np.testing.assert_allclose(ours.numpy(), numpys, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["rfft", "irfft", "fft2", "frame", "abs"])
def test_gradients_are_differences(name: str) -> None:
    """Central differences of a weighted sum, by the real and the imaginary part of each element."""
    case = CASES[name if name in CASES else f"{name}, backward"]
    (x,) = (array[:1] for array in case.arguments)

    def weighted(x: Array) -> tuple[Any, Any]:
        tensor = paddle.to_tensor(x, stop_gradient=False)
        out = case.compute(tensor)
        out = paddle.as_real(out) if out.is_complex() else out
        weights = paddle.to_tensor(normal(*out.shape, seed=7, dtype="float64"))
        return tensor, (out * weights).sum()

    tensor, total = weighted(x)
    total.backward()
    step = 1e-6
    for number in range(0, x.size, 5):
        for part, unit in enumerate([1, 1j] if np.iscomplexobj(x) else [1]):
            moved = np.zeros_like(x)
            moved.reshape(-1)[number] = step * unit
            slope = (weighted(x + moved)[1] - weighted(x - moved)[1]) / (2 * step)
            gradient = tensor.grad.numpy().reshape(-1)[number]
            found = [gradient.real, gradient.imag][part]
            np.testing.assert_allclose(found, float(slope), rtol=1e-6, atol=1e-8)


def test_gradients_at_zero_are_zero() -> None:
    for function in (paddle.abs, paddle.angle):
        x = paddle.to_tensor(np.zeros(3, "complex64"), stop_gradient=False)
        function(x).sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.zeros(3, "complex64"))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_integers_are_finite(name: str, dtype: str) -> None:
    array = np.array([0, -1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    ours, theirs = on_both(lambda: getattr(paddle, name)(paddle.to_tensor(array)).numpy())
    assert ours.dtype == theirs.dtype == bool
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_special_complex_numbers_are_found(name: str) -> None:
    special = [0, 1, np.nan, np.inf, -np.inf]
    array = np.array([complex(re, im) for re in special for im in special], "complex64")
    if RELEASE >= (3, 0):
        ours, theirs = on_both(lambda: getattr(paddle, name)(paddle.to_tensor(array)).numpy())
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(ours, getattr(np, name)(array))


@pytest.mark.parametrize(
    "kernel", [*kernels_of_the_spec("spectrum", "complex_numbers"), "isnan", "isinf", "isfinite"]
)
def test_kernels_take_the_types_that_the_cpu_takes(kernel: str) -> None:
    registered = core._get_registered_phi_kernels("all")[kernel]
    keys = [key.strip("()").split(", ") for key in registered]
    ours = {ty for place, _, ty in keys if place == DEVICE}
    cpus = {ty for place, _, ty in keys if place == "CPU"}
    if kernel in ("abs_grad", "kron_grad"):
        # Integers have no gradients.
        cpus -= {"int32", "int64"}
    assert cpus <= ours
