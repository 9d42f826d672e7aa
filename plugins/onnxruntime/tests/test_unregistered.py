"""What still uses a library when a program unregisters it."""

from __future__ import annotations

from pathlib import Path

import pytest

import provider

STAYS = "was unregistered while a session or a tensor uses it: it stays loaded"

PREPARE = """
import gc, sys
import numpy, onnxruntime
import provider
from test_provider import sum_model
onnxruntime.set_default_logger_severity(4)
register = lambda: onnxruntime.register_execution_provider_library("tenon", str(provider.library()))
unregister = lambda: onnxruntime.unregister_execution_provider_library("tenon")
x = numpy.ones(2, numpy.float32)
inputs = {"a": x, "b": x}
register()
"""

SESSION = """
session = provider.session(sum_model(2), profile=sys.argv[1])
(before,) = session.run(None, inputs)
unregister()
(after,) = session.run(None, inputs)
assert numpy.array_equal(before, after)
register()
other = provider.session(sum_model(2))
assert numpy.array_equal(other.run(None, inputs)[0], before)
del other
unregister()
"""

TENSOR = """
value = provider.value(x)
unregister()
"""

ENDS = {
    "kept": "",
    "dropped": "\nvalue = session = None\ngc.collect()\n",
    "dropped by a cycle": "\nkeep = list(globals().values())\nkeep.append(keep)\n",
}


def run(program: str, folder: Path) -> str:
    """Runs a program, which must not crash, and returns what it writes to standard error."""
    return provider.run(PREPARE + program, str(folder / "profile")).stderr


@pytest.mark.parametrize("end", ENDS)
def test_sessions_go_on(tmp_path: Path, end: str) -> None:
    assert STAYS in run(SESSION + ENDS[end], tmp_path)


@pytest.mark.parametrize("end", ENDS)
def test_tensors_stay(tmp_path: Path, end: str) -> None:
    # Tensors in memory of the host do not belong to the library.
    assert (STAYS in run(TENSOR + ENDS[end], tmp_path)) == provider.has_own_memory()


def test_nothing_stays_without_users(tmp_path: Path) -> None:
    used = "provider.session(sum_model(2)).run(None, inputs)\nprovider.value(x)\ngc.collect()\n"
    assert STAYS not in run(used + "unregister()", tmp_path)
