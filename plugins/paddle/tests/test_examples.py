"""The plugins in `examples/`, each in a process of its own: Paddle loads plugins at import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import paddle
assert paddle.device.get_all_custom_device_type() == [{device!r}]
paddle.set_device({device!r})
x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = (x * x).sum()
y.backward()
paddle.device.synchronize()
assert x.place.is_custom_place(), x.place
assert y.item() == 5.0
assert x.grad.tolist() == [2.0, 4.0]
print("done")
"""


@pytest.mark.parametrize(("folder", "device"), [("rust", "my_npu"), ("c", "c_plugin")])
def test_example_computes(folder: str, device: str) -> None:
    """`cargo xtask test` builds them and names their folder."""
    root = Path(os.environ["TENON_EXAMPLES"]) / folder
    assert list(root.glob("*.so")), f"no plugin in {root}"
    environment = {**os.environ, "CUSTOM_DEVICE_ROOT": str(root)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(device=device)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("done\n")
