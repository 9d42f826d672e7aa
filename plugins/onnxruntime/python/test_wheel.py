"""The wheel: what is in it, that pip installs it, and that the README's lines run with it.

`TENON_WHEEL` names it, and `TENON_ONNXRUNTIME` a folder with ONNX Runtime. The tests of the build
hook are in `sdk-py/tests`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

LIBRARY = "tenon_onnxruntime/libtenon_onnxruntime_cpu.so"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel that is tested."""
    return Path(os.environ["TENON_WHEEL"])


def test_the_name_says_where_it_fits(wheel: Path) -> None:
    name = r"tenon_onnxruntime-[\d.]+-py3-none-manylinux_2_(\d+)_(x86_64|aarch64)\.whl"
    match = re.fullmatch(name, wheel.name)
    assert match
    assert int(match[1]) >= 17


def test_it_holds_the_library_and_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        others = {name for name in archive.namelist() if ".dist-info/" not in name}
        assert others == {
            LIBRARY,
            "tenon_onnxruntime/__init__.py",
            "tenon_onnxruntime/py.typed",
        }
        licences = [name for name in archive.namelist() if "/licenses/" in name]
        assert [Path(name).name for name in sorted(licences)] == ["LICENSE", "THIRD-PARTY.txt"]
        (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
        required = re.findall("Requires-Dist: (.*)", archive.read(metadata).decode())
        assert all("extra == 'onednn'" in line for line in required), required
    assert wheel.stat().st_size < 15_000_000


def installed(wheel: Path, site: Path) -> Path:
    """Installs the wheel alone in a folder."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-index"]
    subprocess.run([*pip, "--quiet", "--target", str(site), str(wheel)], check=True)
    return site


@pytest.mark.parametrize(("variable", "is_loaded"), [("", True), ("off", False)])
def test_onednn_of_the_extra_is_loaded(
    wheel: Path, tmp_path: Path, variable: str, is_loaded: bool
) -> None:
    site = installed(wheel, tmp_path / "site")
    # Any library will do, where pip would put the one of the package.
    onednn = tmp_path / "site/lib/libdnnl.so.3"
    onednn.parent.mkdir()
    shutil.copy(site / LIBRARY, onednn)
    (site / "onednn_cpu_gomp-1.0.dist-info").mkdir()
    (site / "onednn_cpu_gomp-1.0.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: onednn-cpu-gomp\nVersion: 1.0\n"
    )
    (site / "onednn_cpu_gomp-1.0.dist-info/RECORD").write_text("lib/libdnnl.so.3,,\n")
    program = """
import tenon_onnxruntime
tenon_onnxruntime.get_library_path()
print(open("/proc/self/maps").read())
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(site), "TENON_DNNL": variable},
    )
    assert (str(onednn) in ran.stdout) == is_loaded


def test_the_lines_of_the_readme_run(wheel: Path, tmp_path: Path) -> None:
    site = installed(wheel, tmp_path / "site")
    readme = (Path(__file__).parent / "README.md").read_text()
    (lines,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    guide = Path(__file__).parents[3] / "docs/src/guide/onnxruntime.md"
    assert lines in guide.read_text(), "docs/src/guide/onnxruntime.md has the same lines"
    from onnx import TensorProto, helper, save

    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", value[:1], value[1:])
    imports = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=imports, ir_version=9), tmp_path / "model.onnx")
    checked = """
import numpy
assert tenon_onnxruntime.get_ep_name() in session.get_providers()
(y,) = session.run(None, {"x": numpy.array([-1, 2], numpy.float32)})
assert y.tolist() == [0, 2]
"""
    path = os.pathsep.join([str(site), os.environ["TENON_ONNXRUNTIME"]])
    subprocess.run(
        [sys.executable, "-c", lines + checked],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
    )
