"""The library of the CPU device as an execution provider of ONNX Runtime.

A program passes the path to `onnxruntime.register_execution_provider_library`, and selects devices
by the name.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["get_ep_name", "get_ep_names", "get_library_path"]


def get_library_path() -> str:
    """Returns the path of the library."""
    return str(Path(__file__).parent / "libtenon_onnxruntime_cpu.so")


def get_ep_names() -> list[str]:
    """Returns the names of all execution providers in the library."""
    return ["TenonCpuExecutionProvider"]


def get_ep_name() -> str:
    """Returns the name of the only execution provider in the library."""
    return get_ep_names()[0]
