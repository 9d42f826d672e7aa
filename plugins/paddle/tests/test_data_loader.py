"""`paddle.io.DataLoader`: batches arrive on the device, from this process or from workers."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from host import is_on, name, place


class Squares(paddle.io.Dataset):
    """Each number in a separate row, and its square."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.full([3, 5], index, np.float32), np.array(index * index, np.int64)


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Frees what earlier tests have left.

    A worker is a fork and may collect it too. The executor of a static program crashes there since
    PaddlePaddle 3.0, with its CPU as well.
    """
    gc.collect()
    yield


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("buffered", [True, False])
def test_every_batch_arrives(workers: int, buffered: bool) -> None:
    loader = paddle.io.DataLoader(
        Squares(), batch_size=8, num_workers=workers, use_buffer_reader=buffered
    )
    for _ in range(2):
        seen = []
        for rows, squares in loader:
            assert is_on(rows) or not buffered
            assert ((rows * rows).mean(axis=[1, 2]).numpy() == squares.numpy()).all()
            seen += squares.numpy().tolist()
        assert seen == [index * index for index in range(40)]


def test_batches_arrive_where_they_are_asked_for() -> None:
    loader = paddle.io.DataLoader(Squares(), batch_size=8, places=[place(1)])
    for rows, squares in loader:
        assert is_on(rows, 1)
        assert is_on(squares, 1)


def test_shuffled_batches_are_complete() -> None:
    paddle.set_device(name(1))
    loader = paddle.io.DataLoader(Squares(), batch_size=7, shuffle=True, drop_last=False)
    seen = [square for _, squares in loader for square in squares.numpy().tolist()]
    assert sorted(seen) == [index * index for index in range(40)]


def test_leaving_a_loader_early() -> None:
    for rows, _ in paddle.io.DataLoader(Squares(), batch_size=4):
        assert rows.shape == [4, 3, 5]
        break
    assert is_on(paddle.ones([1]))
