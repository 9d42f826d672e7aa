"""Says which ONNX Runtime a Python has, and which libraries of providers."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
from typing import Any

found: dict[str, Any] = {
    "version": None,
    "package": None,
    "distributions": [],
    "providers": [],
    "error": None,
}
for distribution in importlib.metadata.distributions():
    name = distribution.metadata["Name"] or ""
    files = distribution.files or []
    if any(file.parts[:1] == ("onnxruntime",) for file in files):
        found["distributions"].append(f"{name} {distribution.version}")
    elif "onnxruntime" in name.lower().replace("_", "-"):
        libraries = [file for file in files if file.name.endswith(".so") or ".so." in file.name]
        found["providers"] += [str(file.locate()) for file in libraries]
try:
    spec = importlib.util.find_spec("onnxruntime")
    if spec is not None:
        import onnxruntime

        found["package"] = getattr(onnxruntime, "__file__", None) or str(spec)
        found["version"] = getattr(onnxruntime, "__version__", None)
except Exception as error:
    found["error"] = f"{type(error).__name__}: {error}"
print("\ntenon-doctor " + json.dumps(found))
