"""Registers the library, and makes sessions on its device and on ONNX Runtime's CPU provider."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import onnxruntime
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

PROVIDER = "TenonCpuExecutionProvider"
REGISTERED = "tenon"
ROOT = Path(__file__).resolve().parents[3]

Array = NDArray[Any]


def library() -> Path:
    """Returns the path of the library."""
    default = ROOT / "target/release/libtenon_onnxruntime_cpu.so"
    return Path(os.environ.get("TENON_ONNXRUNTIME_LIBRARY", default)).resolve()


def has_own_memory() -> bool:
    """Returns true if the device has memory that the host cannot access."""
    return os.environ.get("TENON_ONNXRUNTIME_MEMORY") == "device"


def minor() -> int:
    """Returns the number of the running release."""
    return int(onnxruntime.__version__.split(".")[1])


def devices() -> list[Any]:
    """Returns the devices of the library."""
    return [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER]


def session(
    model: ModelProto,
    *,
    on_device: bool = True,
    optimised: bool = True,
    only_device: bool = False,
    profile: Path | None = None,
    threads: int = 1,
    spinning: bool = True,
) -> onnxruntime.InferenceSession:
    """Makes a session for a model.

    With `only_device`, ONNX Runtime refuses a model of which a node would run elsewhere. With
    `profile`, it writes a profile to a file whose name begins so. Without `spinning`, its threads
    sleep when they have no work.
    """
    options = onnxruntime.SessionOptions()
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    if not spinning:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if on_device:
        options.add_provider_for_devices(devices()[:1], {})
        if only_device:
            options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        if minor() >= 24:
            options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def model(
    nodes: Sequence[Any],
    inputs: dict[str, Array],
    outputs: Sequence[str],
    weights: dict[str, Array] | None = None,
    opset: int = 18,
) -> ModelProto:
    """Makes a model whose inputs have the types and shapes of arrays."""

    def described(name: str, array: Array) -> Any:
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)

    graph = helper.make_graph(
        list(nodes),
        "test",
        [described(name, array) for name, array in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


FLOAT = TensorProto.FLOAT


def random(*shape: int, seed: int = 0) -> NDArray[numpy.float32]:
    """Returns numbers between -1 and 1."""
    generator = numpy.random.default_rng(seed)
    return generator.uniform(-1, 1, shape).astype(numpy.float32)


def value(array: Array, *, on_device: bool = True) -> onnxruntime.OrtValue:
    """Returns an array as a value of ONNX Runtime, in memory of the device if it has its own."""
    given = onnxruntime.OrtValue.ortvalue_from_numpy(array)
    if not on_device or not has_own_memory():
        return given
    info = devices()[0].memory_info(onnxruntime.OrtDeviceMemoryType.DEFAULT)
    made = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
        array.shape, array.dtype.type, "gpu", 0, info.device_vendor_id
    )
    onnxruntime.copy_tensors([given], [made])
    return made


def run(program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own, with further variables, and checks that it succeeds.

    A crash in it does not end the tests. Its folder is that of the tests, for their modules.
    """
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, **variables},
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran
