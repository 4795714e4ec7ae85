"""An exported model on ONNX Runtime behind the lanes' door: no torch is imported.

All lanes share one session. Each window runs alone on its lane's own thread, so results do not depend on how many
lanes there are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from drmamba.checkpoint import parse_header
from drmamba.config import EngineConfig, Precision
from drmamba.errors import BackendError, CheckpointError, MissingExtra
from drmamba.inference.runtime import Places, Runtime, Windows, usable_cores

SETTINGS = {
    "session.intra_op.allow_spinning": "0",
    "session.inter_op.allow_spinning": "0",
}


class OnnxRuntime(Runtime):
    """A session on the CPU."""

    def __init__(self, model: Path | bytes, config: EngineConfig) -> None:
        onnxruntime = library()
        if config.device not in ("auto", "cpu"):
            raise BackendError(
                f"exported models run on the CPU, not on {config.device!r}; leave --device out, or give the "
                ".safetensors model that this one was made from"
            )
        path = Path("model.onnx") if isinstance(model, bytes) else model
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # windows of several sizes: half the memory a lane, and no slower
        options.log_severity_level = 3  # errors; they also come as exceptions
        for name, value in SETTINGS.items():
            options.add_session_config_entry(name, value)
        try:
            source = model if isinstance(model, bytes) else str(model)
            self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # a class of its own for every way a file can be wrong; the cause is kept
            raise CheckpointError(f"{path} is not an ONNX model that runs here: {_first(error)}") from error
        facts = self._session.get_modelmeta().custom_metadata_map
        self.model, self.provenance = parse_header(facts, path)
        self.weights_sha256 = facts.get("weights_sha256", "")  # of the file that this one was made from
        self.count = config.workers or usable_cores()
        self.devices = [f"cpu (ONNX Runtime {onnxruntime.__version__})"]

    def enter(self) -> OnnxRuntime:
        """A session may be run by any number of threads."""
        return self

    def run(
        self,
        lane: Any,  # noqa: ARG002
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",  # noqa: ARG002  the only one
        *,
        convention: int = 0,  # noqa: ARG002
        page: Any = None,  # noqa: ARG002
        places: Places | None = None,  # noqa: ARG002
    ) -> NDArray[np.float32]:
        """Probabilities of the windows."""
        found: NDArray[np.float32] = self._session.run(
            None, {"page": windows, "suppress": np.array(suppress, np.float32)}
        )[0]
        return found


def library() -> Any:
    """ONNX Runtime, or how to get it."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("onnxruntime", "onnx") from error
    return onnxruntime


def _first(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
