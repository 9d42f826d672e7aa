"""Cases that register the library. Each runs in a process of its own."""

from __future__ import annotations

import re

import onnxruntime
from host import HEADER, Host, case, chain, expect, fail, of_arrays, of_chain, pair, require, said

VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


@case(
    "register.devices",
    "a registered library lists the devices that it can use",
    f"{HEADER}, `OrtEpFactory::GetSupportedDevices`",
    "required",
)
def devices(host: Host) -> None:
    first, again = host.devices(), host.devices()
    require(bool(first), "the library lists no device on this machine")
    require(len(first) == len(again), f"it lists {len(first)} devices, and then {len(again)}")


@case(
    "register.names",
    "a provider has a name and a vendor, which programs choose devices by",
    f"{HEADER}, `OrtEpFactory::GetName` and `GetVendor`",
)
def names(host: Host) -> None:
    for device in host.devices():
        require(bool(device.ep_name.strip()), "the name of the provider is empty")
        require(bool(device.ep_vendor.strip()), "the name of the vendor is empty")


@case(
    "register.version",
    "a provider states a semantic version",
    f"{HEADER}, `OrtEpFactory::GetVersion`",
)
def version(host: Host) -> None:
    for device in host.devices():
        found = dict(device.ep_metadata).get("version", "")
        require(bool(VERSION.fullmatch(found)), f"the version is {found!r}")


@case(
    "register.again",
    "a library can be registered again after it was unregistered",
    f"{HEADER}, `CreateEpFactories` and `ReleaseEpFactory`",
)
def again(host: Host) -> None:
    inputs = pair(5)
    model = of_arrays(chain(), inputs, {"y": "float32"})
    for turn in range(3):
        session = host.session(model)
        expect(session.run(None, inputs)[0], of_chain(inputs), f"registered {turn + 1} times")
        del session
        host.unregister()
        left = [device.ep_name for device in onnxruntime.get_ep_devices()]
        gone = [name for name in left if name not in host.others]
        require(not gone, f"{', '.join(gone)} is listed although its library was unregistered")


@case(
    "register.unused",
    "a library that made no session can be unregistered",
    f"{HEADER}, `ReleaseEpFactory`",
)
def unused(host: Host) -> None:
    host.devices()
    host.unregister()


@case(
    "register.each_device",
    "a session can be made on each device that is listed",
    f"{HEADER}, `OrtEpFactory::CreateEp`",
)
def each_device(host: Host) -> None:
    inputs = pair(5)
    model = of_arrays(chain(), inputs, {"y": "float32"})
    for number, device in enumerate(host.devices()):
        options = onnxruntime.SessionOptions()
        options.add_provider_for_devices([device], {})
        try:
            session = onnxruntime.InferenceSession(model, options, enable_fallback=0)
        except Exception as error:
            fail(f"on device {number}: {said(error)}")
        expect(session.run(None, inputs)[0], of_chain(inputs), f"on device {number}")
