"""Uses the device of a plugin in PaddlePaddle, and says what has happened after each step."""

from __future__ import annotations

import json

MARK = "tenon-matrix "
OPERATORS = ("add", "relu")


def say(**what: object) -> None:
    """Reports something on a line of its own."""
    print("\n" + MARK + json.dumps(what), flush=True)


def main() -> None:
    """Computes `relu(x + x)` on the device of the only plugin."""
    say(begun="import")
    import paddle

    types = paddle.device.get_all_custom_device_type()
    say(types=types)
    if not types:
        return
    (device,) = types
    found = paddle.base.core._get_registered_phi_kernels("all")
    own = [
        name for name in OPERATORS if any(f"({device}," in str(key) for key in found.get(name, ()))
    ]
    say(kernels=own)
    say(begun="start")
    paddle.set_device(device)
    say(begun="run")
    x = paddle.to_tensor([1.0, -2.0, 3.0, -4.0])
    y = paddle.nn.functional.relu(x + x)
    say(ran=[float(number) for number in y.numpy()])
    say(begun="end")


try:
    main()
except Exception as error:
    text = (str(error).strip() or repr(error)).splitlines()
    say(failed=text[-1])
