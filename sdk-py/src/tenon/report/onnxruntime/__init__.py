"""The report on ONNX Runtime."""
