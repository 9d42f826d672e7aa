"""DLPack in both directions with PaddlePaddle on its CPU."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tenon

paddle: Any = pytest.importorskip("paddle", reason="needs PaddlePaddle: pip install paddlepaddle")

# An installed plugin may have made its device the default.
paddle.set_device("cpu")

NAMES = ["bool", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64"]


@pytest.mark.parametrize("dtype", NAMES)
def test_paddle_accepts_buffers(dtype: str) -> None:
    buffer = tenon.Buffer.from_array([[0, 1, 1], [1, 0, 1]], dtype=dtype)
    for take in (paddle.from_dlpack, lambda b: paddle.utils.dlpack.from_dlpack(b.__dlpack__())):
        tensor = take(buffer)
        assert (list(tensor.shape), str(tensor.dtype)) == ([2, 3], f"paddle.{dtype}")
        assert tensor.data_ptr() == buffer.ptr
        assert tensor.astype("float32").tolist() == [[0, 1, 1], [1, 0, 1]]
        buffer.fill(1)
        assert tensor.astype("float32").tolist() == [[1] * 3] * 2
        buffer.copy_from([[0, 1, 1], [1, 0, 1]])
        with pytest.raises(tenon.BusyError):
            buffer.close()
        del tensor
    gc.collect()
    buffer.close()


@pytest.mark.parametrize("dtype", NAMES)
def test_buffer_from_a_tensor(dtype: str) -> None:
    tensor = paddle.to_tensor([[0, 1, 1], [1, 0, 1]], place=paddle.CPUPlace()).astype(dtype)
    for give in (lambda t: t, lambda t: Capsule(paddle.utils.dlpack.to_dlpack(t))):
        buffer = tenon.from_dlpack(give(tensor))
        assert (buffer.shape, buffer.dtype.name, buffer.ptr) == ((2, 3), dtype, tensor.data_ptr())
        assert buffer.tolist() == [[0, 1, 1], [1, 0, 1]]
    copied = tenon.Buffer.from_array(tensor)
    assert (copied.space, copied.tolist()) == ("device", [[0, 1, 1], [1, 0, 1]])
    copied[0].copy_to(tenon.from_dlpack(tensor)[1])
    assert tensor.astype("float32").tolist() == [[0, 1, 1], [0, 1, 1]]


class Capsule:
    """An array that offers only a capsule."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self.capsule


def test_views_of_tensors_and_buffers() -> None:
    tensor = paddle.arange(24, dtype="int32").reshape([4, 6])
    buffer = tenon.from_dlpack(tensor)
    turned = paddle.from_dlpack(buffer[1:, ::2].T)
    assert turned.tolist() == np.arange(24).reshape(4, 6)[1:, ::2].T.tolist()


def test_memory_stays_alive_while_a_tensor_refers_to_it() -> None:
    tensors = [paddle.from_dlpack(tenon.full(1000, turn, "int32")) for turn in range(50)]
    gc.collect()
    others = [tenon.full(1000, -1, "int32") for _ in range(50)]
    assert [int(tensor.sum()) for tensor in tensors] == [1000 * turn for turn in range(50)]
    del others
    buffers = [tenon.from_dlpack(paddle.full([1000], turn, "int32")) for turn in range(50)]
    assert [sum(buffer.tolist()) for buffer in buffers] == [1000 * turn for turn in range(50)]
