"""Cases about memory of the device, and copies to it and from it."""

from __future__ import annotations

from typing import Any

import numpy
import onnxruntime
from host import HEADER, Array, Host, case, chain, expect, of_arrays, of_chain, pair, skip

TRANSFER = f"{HEADER}, `OrtDataTransferImpl::CopyTensors`"


def on_device(host: Host, like: Array) -> Any:
    """Returns a value in memory of the device, with the type and shape of an array."""
    device = host.device()
    info = device.memory_info(onnxruntime.OrtDeviceMemoryType.DEFAULT)
    if info is None:
        skip("the device uses memory of the host")
    make = onnxruntime.OrtValue.ortvalue_from_shape_and_type
    try:
        return make(list(like.shape), like.dtype.type, memory_info=info)
    except TypeError:
        skip("this release of ONNX Runtime cannot reserve memory of a provider from Python")


def from_host(array: Array) -> Any:
    """Returns a value in memory of the host."""
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)


@case("memory.copies", "what is copied to the device comes back", TRANSFER)
def copies(host: Host) -> None:
    if not hasattr(onnxruntime, "copy_tensors"):
        skip("this release of ONNX Runtime does not copy from Python")
    for kind in ("float32", "int64", "uint8", "float16"):
        for count in (1, 3, 64, 1025, 1 << 18):
            given = numpy.random.default_rng(count).integers(0, 100, count).astype(kind)
            target, back = on_device(host, given), from_host(numpy.zeros_like(given))
            onnxruntime.copy_tensors([from_host(given)], [target])
            onnxruntime.copy_tensors([target], [back])
            expect(back.numpy(), given, f"{count} elements of {kind}")


@case("memory.many_copies", "several tensors are copied in one call", TRANSFER)
def many_copies(host: Host) -> None:
    if not hasattr(onnxruntime, "copy_tensors"):
        skip("this release of ONNX Runtime does not copy from Python")
    given = [numpy.arange(count, dtype="float32") for count in (5, 1, 4096)]
    targets = [on_device(host, array) for array in given]
    backs = [from_host(numpy.zeros_like(array)) for array in given]
    onnxruntime.copy_tensors([from_host(array) for array in given], targets)
    onnxruntime.copy_tensors(targets, backs)
    for number, (array, back) in enumerate(zip(given, backs)):
        expect(back.numpy(), array, f"tensor {number} of {len(given)}")


@case("memory.device_copies", "a tensor is copied within the device", TRANSFER)
def device_copies(host: Host) -> None:
    if not hasattr(onnxruntime, "copy_tensors"):
        skip("this release of ONNX Runtime does not copy from Python")
    given = numpy.arange(1000, dtype="float32")
    first, second = on_device(host, given), on_device(host, given)
    back = from_host(numpy.zeros_like(given))
    onnxruntime.copy_tensors([from_host(given)], [first])
    onnxruntime.copy_tensors([first], [second])
    onnxruntime.copy_tensors([second], [back])
    expect(back.numpy(), given, "1000 elements")


@case(
    "memory.inputs",
    "a run takes inputs that are in memory of the device",
    f"{HEADER}, `OrtEpFactory::CreateAllocator`",
)
def inputs(host: Host) -> None:
    given = pair(100)
    session = host.session(of_arrays(chain(), given, {"y": "float32"}))
    values = {name: on_device(host, array) for name, array in given.items()}
    if not hasattr(onnxruntime, "copy_tensors"):
        skip("this release of ONNX Runtime does not copy from Python")
    for name, array in given.items():
        onnxruntime.copy_tensors([from_host(array)], [values[name]])
    for turn in range(2):
        (result,) = session.run_with_ort_values(None, values)
        expect(result.numpy(), of_chain(given), f"in run {turn}")
