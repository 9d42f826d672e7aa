"""Uses a library of a provider as a program does, and says what has happened after each step."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from pathlib import Path
from typing import Any

import models

NAME = "tenon_doctor"


def say(**what: object) -> None:
    """Reports something on a line of its own."""
    print("\ntenon-doctor " + json.dumps(what), flush=True)


def begin(step: str) -> None:
    """Reports a step before it, because it may crash."""
    say(begun=step)


def model() -> bytes:
    """Returns the model `y = Relu(a + b)` of four floats."""
    nodes = [models.Node("Add", ["a", "b"], ["s"]), models.Node("Relu", ["s"], ["y"])]
    a, b, y = (models.described(name, "float32", [4]) for name in "aby")
    return models.model(models.graph(nodes, [a, b], [y]), 13)


def missing(needed: list[str], folder: Path) -> list[str]:
    """Returns the libraries that the dynamic linker does not find."""
    absent = []
    for name in needed:
        for place in (name, str(folder / name)):
            try:
                ctypes.CDLL(place)
                break
            except OSError:
                continue
        else:
            absent.append(name)
    return absent


def described(device: Any) -> dict[str, str]:
    """Describes a device for a report."""
    hardware = device.device
    return {
        "name": device.ep_name,
        "vendor": device.ep_vendor,
        "version": dict(device.ep_metadata).get("version", ""),
        "hardware": f"{hardware.type.name} of {hardware.vendor or hex(hardware.vendor_id)}",
    }


def main(library: str, needed: list[str]) -> None:
    """Uses a library."""
    begin("import")
    import numpy
    import onnxruntime

    begin("load")
    try:
        ctypes.CDLL(library)
    except OSError as error:
        absent = missing(needed, Path(library).parent)
        return say(unloadable={"message": str(error), "missing": absent})

    before = [described(device) for device in onnxruntime.get_ep_devices()]
    say(hardware=sorted({device["hardware"] for device in before}))
    begin("register")
    onnxruntime.register_execution_provider_library(NAME, library)
    begin("list")
    new = [device for device in onnxruntime.get_ep_devices() if described(device) not in before]
    say(devices=[described(device) for device in new])
    a, b = numpy.array([1, -2, 3, -4], numpy.float32), numpy.full(4, 0.5, numpy.float32)
    for name in dict.fromkeys(device.ep_name for device in new):
        options = onnxruntime.SessionOptions()
        options.add_provider_for_devices(
            [device for device in new if device.ep_name == name][:1], {}
        )
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        begin("session")
        try:
            session = onnxruntime.InferenceSession(model(), options, enable_fallback=0)
        except Exception as error:
            # By default, some releases hide the error and make a session on the CPU.
            if name not in onnxruntime.InferenceSession(model(), options).get_providers():
                return say(hidden={"name": name, "message": str(error).strip()})
            raise
        taken = None
        if hasattr(session, "get_provider_graph_assignment_info"):
            parts = [
                part
                for part in session.get_provider_graph_assignment_info()
                if part.ep_name == name
            ]
            taken = [node.op_type for part in parts for node in part.get_nodes()]
            del parts
        say(session=taken)
        begin("run")
        (result,) = session.run(None, {"a": a, "b": b})
        say(ran={"expected": [1.5, 0.0, 3.5, 0.0], "found": [float(number) for number in result]})
        del session, options
        gc.collect()
    del new
    gc.collect()
    begin("unregister")
    onnxruntime.unregister_execution_provider_library(NAME)
    begin("end")


try:
    main(sys.argv[1], sys.argv[2:])
except Exception as error:
    say(failed=f"{error}".strip() or type(error).__name__)
