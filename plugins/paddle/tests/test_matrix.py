"""`tenon matrix --run`: plugins in real releases of PaddlePaddle, here in the running one.

`TENON_EXAMPLES` names the folder with the command and the examples.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import paddle

EXAMPLES = Path(os.environ["TENON_EXAMPLES"])
SITE = Path(paddle.__file__).parent.parent
OURS = SITE / "paddle_custom_device" / "libtenon_paddle.so"


def matrix(folder: Path, *plugins: Path) -> dict[str, Any]:
    """Returns the only cell of each plugin, by its name.

    The command finds PaddlePaddle in its cache.
    """
    packages = folder / "tenon" / "packages" / str(sys.implementation.cache_tag)
    packages.mkdir(parents=True, exist_ok=True)
    release = packages / f"paddlepaddle=={paddle.__version__}"
    if not release.exists():
        release.symlink_to(SITE)
    command = [str(EXAMPLES / "tenon"), "matrix", *map(str, plugins), "--run", sys.executable]
    ran = subprocess.run(
        [*command, "--versions", paddle.__version__, "--json"],
        env={**os.environ, "XDG_CACHE_HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    rows = json.loads(ran.stdout)["plugins"]
    found = {Path(row["name"]).name: {**row, **row["releases"][0]} for row in rows}
    is_sound = all(row["verdict"] in ("runs", "idle") for row in found.values())
    assert ran.returncode == (0 if is_sound else 1), ran.stderr
    return found


def test_plugins_are_run(tmp_path: Path) -> None:
    found = matrix(tmp_path, OURS, EXAMPLES / "c" / "libc_plugin.so")
    assert found["libtenon_paddle.so"]["verdict"] == "runs"
    assert found["libtenon_paddle.so"]["device"] == "CustomCPU"
    idle = found["libc_plugin.so"]
    assert (idle["verdict"], idle["device"]) == ("idle", "c_plugin")
    assert "it has kernels for neither `add` nor `relu`" in idle["reason"]


def test_plugins_that_fail_are_explained(tmp_path: Path) -> None:
    entry = "void InitPlugin(void *params) {{ (void)params; {} }}\n"
    libraries = []
    for name, source in {
        "crash": entry.format("__builtin_trap();"),
        "empty": entry.format(""),
        "other": "int other;\n",
    }.items():
        (tmp_path / f"{name}.c").write_text(source)
        libraries.append(tmp_path / f"lib{name}.so")
        command = ["cc", "-shared", "-fPIC", "-o", str(libraries[-1]), f"{tmp_path / name}.c"]
        subprocess.run(command, check=True)
    text = tmp_path / "libtext.so"
    text.write_text("version https://git-lfs.github.com/spec/v1\n")
    found = matrix(tmp_path, *libraries, text, tmp_path / "libabsent.so")
    assert found["libcrash.so"]["verdict"] == "crashes"
    assert (
        "while it imported PaddlePaddle, which loads the plugin" in found["libcrash.so"]["reason"]
    )
    assert found["libempty.so"]["verdict"] == "no-device"
    assert "Skipped lib" in found["libempty.so"]["reason"]
    for name, reason in [
        ("libother.so", "it does not export `InitPlugin`"),
        ("libtext.so", "it is not a library, but "),
        ("libabsent.so", "there is no file"),
    ]:
        assert found[name]["verdict"] == "not-loaded", found[name]
        assert reason in found[name]["reason"]
