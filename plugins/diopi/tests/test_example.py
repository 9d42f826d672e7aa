"""The examples and the guide: a program in C, a library of another device, and the tolerances."""

import os
import subprocess
from pathlib import Path

import pytest

from signatures import ROOT
from tables import TOLERANCE
from test_library import run


def test_commands_of_the_readme_build_the_program(path: Path, tmp_path: Path) -> None:
    folder = ROOT / "examples/diopi"
    readme = (folder / "README.md").read_text().splitlines()
    command = next(line for line in readme if line.startswith("cc "))
    expected = next(line for line in readme if line.startswith("It prints ")).split("`")[1]
    # In the place of `cargo xtask install`.
    prefix = tmp_path / "tenon"
    (prefix / "lib").mkdir(parents=True)
    (prefix / "include").symlink_to(ROOT / "sdk-c/include")
    (prefix / "lib/libdiopi_impl.so").symlink_to(path)
    (tmp_path / "add.c").symlink_to(folder / "add.c")
    command = command.replace("-std=c11", "-std=c11 -Wall -Wextra -Wpedantic -Werror")
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=tmp_path,
        env=os.environ | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, expected, "")


def test_device_of_a_vendor_is_a_library(tmp_path: Path) -> None:
    default = ROOT / "target/release/libexample_rust_diopi.so"
    example = Path(os.environ.get("TENON_DIOPI_EXAMPLE", default)).resolve()
    if not example.exists():
        pytest.skip("the example is not built")
    # The addresses of the device are not those of the host: a library that uses one crashes.
    script = """
import sys
from pathlib import Path
import numpy as np
from host import DiopiError, Library, build, like

lib = Library(build(Path(sys.argv[2])), Path(sys.argv[1]))
array = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
assert (lib.call("diopiRelu", like(array), array) == np.maximum(array, 0)).all()
# The device has 15 operators, and others are composed of these.
wide = array.astype(np.float64)
power = np.exp(wide - wide.max(1, keepdims=True))
for name, expected, more in [
    ("diopiSilu", wide / (1 + np.exp(-wide)), []),
    ("diopiSigmoid", 1 / (1 + np.exp(-wide)), []),
    ("diopiSoftmax", power / power.sum(1, keepdims=True), [1]),
]:
    found = lib.call(name, like(array), array, *more)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-6, err_msg=name)
try:
    lib.call("diopiErf", like(array), array)
    raise AssertionError("the device has no error function")
except DiopiError as error:
    assert error.code == 13, error
assert lib.live_objects() == 0
print(lib.function("diopiGetVendorName")().decode())
"""
    assert run(script, example, tmp_path) == "MyNpu Device"


def test_guide_has_the_tolerances() -> None:
    guide = (ROOT / "docs/src/guide/diopi.md").read_text()
    for dtype, error in TOLERANCE.items():
        row = next(
            line for line in guide.splitlines() if line.startswith("|") and f"`{dtype}`" in line
        )
        assert float(row.split("|")[2]) == error, row
