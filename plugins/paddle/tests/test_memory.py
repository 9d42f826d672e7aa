"""Memory: what is written is read, what is copied is a copy, what is freed is free."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from host import DEVICE, is_on, name, normal, of_release, python

DTYPES = (
    *("bool", "uint8", "int8", "int16", "int32", "int64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 0, 4), (1 << 18,)], ids=str)
def test_what_goes_in_comes_out(dtype: str, shape: tuple[int, ...]) -> None:
    if dtype.startswith("complex"):
        array = (normal(*shape) + 1j * normal(*shape, seed=1)).astype(dtype)
    else:
        array = np.asarray(normal(*shape) * 50).astype(dtype)
    tensor = paddle.to_tensor(array)
    assert is_on(tensor)
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_bfloat16_goes_through_a_cast() -> None:
    # NumPy has no bfloat16; numbers of eight significant bits pass unharmed.
    array = np.arange(-128, 128, dtype=np.float32)
    there = paddle.to_tensor(array).astype("bfloat16")
    assert is_on(there)
    np.testing.assert_array_equal(there.astype("float32").numpy(), array)


def test_a_strided_array_is_packed() -> None:
    array = normal(6, 8)
    for view in (array.T, array[::2, 1::3], array[::-1]):
        np.testing.assert_array_equal(paddle.to_tensor(view).numpy(), view)


def test_the_device_and_the_host_do_not_share_memory() -> None:
    array = normal(16)
    kept = array.copy()
    tensor = paddle.to_tensor(array)
    array[:] = 0
    back = tensor.numpy()
    back[:] = 1
    np.testing.assert_array_equal(tensor.numpy(), kept)


def test_a_clone_is_a_copy() -> None:
    x = paddle.to_tensor(normal(16))
    y = x.clone()
    y.zero_()
    np.testing.assert_array_equal(x.numpy(), normal(16))
    np.testing.assert_array_equal(y.numpy(), np.zeros(16, np.float32))


def test_values_are_set_in_place() -> None:
    x = paddle.zeros([4, 4])
    x.set_value(normal(4, 4))
    np.testing.assert_array_equal(x.numpy(), normal(4, 4))
    x.set_value(paddle.ones([4, 4]))
    np.testing.assert_array_equal(x.numpy(), np.ones((4, 4), np.float32))
    assert is_on(x)


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda: paddle.zeros([3, 2]), np.zeros((3, 2))),
        (lambda: paddle.ones([3], "int32"), np.ones(3)),
        (lambda: paddle.full([2, 2], 2.5, "float64"), np.full((2, 2), 2.5)),
        (lambda: paddle.full([3], True, "bool"), np.full(3, True)),
        (lambda: paddle.full([3], -7, "int64"), np.full(3, -7)),
        (lambda: paddle.full([3], 0.5, "float16"), np.full(3, 0.5)),
        (lambda: paddle.full_like(paddle.ones([2]), 3.0), np.full(2, 3.0)),
        (lambda: paddle.zeros_like(paddle.ones([2], "int32")), np.zeros(2)),
        (lambda: paddle.arange(2, 12, 3), np.arange(2, 12, 3)),
        (lambda: paddle.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (lambda: paddle.eye(3), np.eye(3)),
        (lambda: paddle.zeros([0, 3]), np.zeros((0, 3))),
        (lambda: paddle.empty([2, 3]).fill_(1.5), np.full((2, 3), 1.5)),
    ],
)
def test_tensors_are_made_on_the_device(make: Any, wanted: NDArray[Any]) -> None:
    tensor = make()
    assert is_on(tensor)
    np.testing.assert_array_equal(tensor.numpy(), wanted)


def test_many_tensors_live_side_by_side() -> None:
    random = np.random.default_rng(0)
    sizes = random.integers(1, 5000, 300)
    tensors = [paddle.to_tensor(np.full(size, size, np.float32)) for size in sizes]
    for index in random.permutation(300)[:150]:
        sizes[index] = 1 + sizes[index] // 2
        tensors[index] = paddle.to_tensor(np.full(sizes[index], sizes[index], np.float32))
    for size, tensor in zip(sizes, tensors):
        array = tensor.numpy()
        assert array.shape == (size,)
        assert (array == size).all()


def _core_allocated() -> int:
    return int(paddle.base.core.device_memory_stat_current_value("Allocated", 0))


# Paddle's statistics of the memory in use. 2.6 does not count custom devices.
ALLOCATED: dict[tuple[int, int], Callable[[], int]] = {
    (2, 6): lambda: 0,
    (3, 0): _core_allocated,
    (3, 1): lambda: paddle.device.cuda.memory_allocated(name()),
    (3, 2): lambda: paddle.device.memory_allocated(name()),
}


def test_paddle_counts_what_is_in_use() -> None:
    allocated = of_release(ALLOCATED)
    counted = 1 if of_release({(2, 6): False, (3, 0): True}) else 0
    paddle.device.synchronize()
    before = allocated()
    x = paddle.to_tensor(np.zeros(1 << 20, np.float32))
    assert (1 << 22) * counted <= allocated() - before <= ((1 << 22) + (1 << 16)) * counted
    del x
    paddle.device.synchronize()
    assert allocated() == before


def test_too_much_is_refused_and_forgotten() -> None:
    with pytest.raises(MemoryError, match=f"Out of memory error on {name()}"):
        paddle.empty([1 << 45])
    np.testing.assert_array_equal((paddle.ones([3]) + 1).numpy(), [2, 2, 2])


def test_freed_memory_can_be_used_again() -> None:
    # More in all than any machine that runs this has, but never much at once.
    for _ in range(200):
        x = paddle.empty([1 << 24])
        del x
    assert paddle.ones([2]).sum().item() == 2.0


@pytest.mark.parametrize("strategy", ["auto_growth", "naive_best_fit"])
def test_both_of_paddles_allocators_work(strategy: str) -> None:
    # The second asks the device how much memory it has, and takes it in large blocks.
    ran = python(
        f"import paddle; paddle.set_device('{DEVICE}')\n"
        "for n in (1, 1000, 1 << 20, 24 << 20):\n"
        "    x = paddle.ones([n]); assert (x + x).sum().item() == 2 * n, n\n"
        "print('fine')",
        FLAGS_allocator_strategy=strategy,
        FLAGS_initial_gpu_memory_in_mb="64",
        FLAGS_reallocate_gpu_memory_in_mb="64",
    )
    assert ran.stdout.splitlines()[-1:] == ["fine"], ran.stderr
    assert ran.returncode == 0


def test_the_allocator_may_change_while_the_device_is_in_use() -> None:
    """Paddle's own tests of operators do this: the buddy allocator then takes a chunk at once."""
    ran = python(
        f"import paddle; paddle.set_device('{DEVICE}')\n"
        "print((paddle.ones([4]) + 1).sum().item())\n"
        "paddle.set_flags({'FLAGS_use_system_allocator': True})\n"
        "x = paddle.ones([4_000_000], 'float64')\n"
        "print((x * 2).sum().item())",
        TENON_CPU_MEMORY="512MiB",
    )
    assert ran.stdout.split() == ["8.0", "8000000.0"], ran.stderr
