"""Compares results of a device with those of a CPU."""

from __future__ import annotations

from typing import Any

TOLERANCE = {"float64": 1e-8, "complex128": 1e-8, "float32": 1e-3, "complex64": 1e-3, "float16": 2e-2, "bfloat16": 8e-2}
"""The difference that is allowed, relative to the largest element. Other types must be equal."""

ROUNDING = {
    "float64": 1e-14,
    "complex128": 1e-14,
    "float32": 1e-6,
    "complex64": 1e-6,
    "float16": 4e-3,
    "bfloat16": 3e-2,
}
"""The same relative to the largest element of the inputs: a sum of large numbers may be close to 0."""


def largest(values: Any, kind: str) -> float:
    """Returns the size of the largest finite element; 0 for a type that must be equal."""
    import numpy as np

    if kind not in TOLERANCE:
        return 0.0
    sizes = np.abs(values)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def difference(device: Any, cpu: Any, kind: str, scale: float) -> dict[str, Any] | None:
    """Returns in what an array of a device differs from that of a CPU, which has the same shape.

    Args:
        device: The array of the device. NumPy must be able to calculate with its elements.
        cpu: The array of the CPU.
        kind: The type of the elements.
        scale: The largest element of the inputs.
    """
    import numpy as np

    if kind in TOLERANCE:
        allowed = TOLERANCE[kind] * largest(cpu, kind) + ROUNDING[kind] * scale
        bad = ~np.isclose(device, cpu, rtol=0.0, atol=allowed, equal_nan=True)
    else:
        bad = np.asarray(device != cpu)
    if not bad.any():
        return None
    index = tuple(int(number) for number in np.argwhere(bad)[0])
    distance = None
    if device.dtype.kind in "biufc":
        with np.errstate(all="ignore"):
            distance = float(np.abs(device.astype("complex128") - cpu.astype("complex128"))[bad].max())
    return {"device": str(device[index]), "cpu": str(cpu[index]), "index": list(index), "largest": distance}
