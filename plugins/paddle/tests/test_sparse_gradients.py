"""Gradients of some rows, which plugins cannot read: right sums, and updates that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray
from paddle import nn, optimizer

from host import on_both

TABLE = np.arange(12, dtype="float32").reshape(6, 2) / 10
WORDS = np.array([[0, 1, 1], [3, 0, 5]])


def table() -> Any:
    """Returns an embedding whose gradient has only the rows that are used."""
    layer = nn.Embedding(6, 2, sparse=True)
    layer.weight.set_value(TABLE)
    return layer


@pytest.mark.parametrize("dense", [False, True])
def test_sums_of_gradients_are_those_of_the_cpu(dense: bool) -> None:
    def run() -> list[NDArray[Any]]:
        layer, words = table(), paddle.to_tensor(WORDS)
        loss = layer(words).sum() + (layer(words) ** 2).sum()
        if dense:
            loss = loss + (layer.weight * 3).sum()
        loss.backward()
        update = optimizer.Momentum(0.1, 0.9, parameters=layer.parameters())
        update.step()
        return [layer.weight.numpy()]

    ours, theirs = on_both(run)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6, atol=1e-6)
    slopes = np.zeros_like(TABLE)
    np.add.at(slopes, WORDS, 1 + 2 * TABLE[WORDS])
    np.testing.assert_allclose(ours[0], TABLE - 0.1 * (slopes + 3 * dense), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_updates_that_would_lose_rows_are_refused(name: str, lazy: bool) -> None:
    layer = table()
    (layer(paddle.to_tensor(WORDS)) ** 2).sum().backward()
    settings = {} if name == "SGD" else {"lazy_mode": lazy}
    update = getattr(optimizer, name)(0.1, parameters=layer.parameters(), **settings)
    with pytest.raises(Exception, match="sparse=False"):
        update.step()
    np.testing.assert_array_equal(layer.weight.numpy(), TABLE)
