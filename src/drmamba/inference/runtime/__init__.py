"""Windows in, probabilities out: the network on torch or ONNX Runtime, run by a pool of worker threads."""
