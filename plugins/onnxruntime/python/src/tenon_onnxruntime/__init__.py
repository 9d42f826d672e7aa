"""The library of the CPU device as an execution provider of ONNX Runtime.

A program passes the path to `onnxruntime.register_execution_provider_library`, and selects devices
by the name.
"""

from __future__ import annotations

import ctypes
import os
from importlib import metadata
from pathlib import Path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]


def get_library_path() -> str:
    """Returns the path of the library.

    If oneDNN is installed by the extra `onednn`, it is loaded, and the device computes with it.
    """
    _load_onednn()
    return str(Path(__file__).parent / "libtenon_onnxruntime_cpu.so")


def _load_onednn() -> None:
    """Loads oneDNN, unless the variable that the library reads names another one or none."""
    if os.environ.get("TENON_DNNL"):
        return
    try:
        files = metadata.files("onednn-cpu-gomp") or []
    except metadata.PackageNotFoundError:
        return
    for file in files:
        if file.name == "libdnnl.so.3":
            ctypes.CDLL(str(file.locate()))


def get_ep_names() -> list[str]:
    """Returns the names of all execution providers in the library."""
    return ["TenonCpuExecutionProvider"]


def get_ep_name() -> str:
    """Returns the name of the only execution provider in the library."""
    return get_ep_names()[0]
