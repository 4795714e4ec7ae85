"""An exported model on ONNX Runtime for the worker pool; torch is not imported.

All workers share one session. Each window runs alone on its worker's own thread, so results do not depend on the
number of workers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drmamba.checkpoint import parse_header
from drmamba.config import STRIDES, EngineConfig, Precision
from drmamba.errors import BackendError, CheckpointError, MissingExtra
from drmamba.inference.runtime.base import Places, ReducedPage, Runtime, Windows, usable_cores
from drmamba.model.page_tiles import seen_in_tiles

SETTINGS = {
    "session.intra_op.allow_spinning": "0",
    "session.inter_op.allow_spinning": "0",
}

# Names of inputs and outputs in the file.
CONTEXT, FEATURES = ("context_3", "context_4"), ("features_3", "features_4")

Features = NDArray[np.float32]  # (1, C, h, w)


class PageArrays(NamedTuple):
    """What the network found on a reduced page, as the arrays of `drmamba.model.context.PageFeatures`."""

    f3: Features
    f4: Features


class OnnxRuntime(Runtime):
    """An ONNX Runtime session on the CPU."""

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
        # With windows of several sizes this halves the memory of a worker at no cost.
        options.enable_mem_pattern = False
        options.log_severity_level = 3  # only errors are logged, and they also come as exceptions
        for name, value in SETTINGS.items():
            options.add_session_config_entry(name, value)
        try:
            source = model if isinstance(model, bytes) else str(model)
            self._session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has a class for every way a file can be wrong
            raise CheckpointError(f"{path} is not an ONNX model that runs here: {_first(error)}") from error
        facts = self._session.get_modelmeta().custom_metadata_map
        self.model, self.provenance = parse_header(facts, path)
        self.weights_sha256 = facts.get("weights_sha256", "")  # hash of the file that this one was made from
        shapes = {one.name: one.shape for one in self._session.get_inputs()}
        # The config of an older file may name inputs that the file does not have; its windows stand alone.
        self.conventions = self.model.conventions if "convention" in shapes else ()
        self.context = self.model.context if shapes.keys() >= set(CONTEXT) else 0
        self._channels = tuple(shapes[name][1] for name in CONTEXT) if self.context else ()
        self.count = config.workers or usable_cores()
        self.devices = [f"cpu (ONNX Runtime {onnxruntime.__version__})"]

    def enter(self) -> OnnxRuntime:
        """Return the runtime itself, because any number of threads may run a session."""
        return self

    def run(
        self,
        network: Any,  # noqa: ARG002
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",  # noqa: ARG002  it is the only one
        *,
        convention: int = 0,
        page: PageArrays | None = None,
        places: Places | None = None,
    ) -> NDArray[np.float32]:
        """Return the probabilities of the windows."""
        feed = {"page": windows, "suppress": np.array(suppress, np.float32)}
        if self.conventions:
            feed["convention"] = np.array(convention, np.int64)
        if self.context:
            feed |= self._under(windows, page, places)
        found: NDArray[np.float32] = self._session.run(["probability"], feed)[0]
        return found

    def see_page(self, network: Any, reduced: ReducedPage) -> PageArrays | None:  # noqa: ARG002
        """Return what the network finds on the reduced page; a large one is seen in tiles."""
        if not self.context:
            return None
        feed = {"suppress": np.array(1, np.float32)}  # required, but without effect here
        if self.conventions:
            feed["convention"] = np.array(0, np.int64)
        for name, channels in zip(CONTEXT, self._channels, strict=True):
            feed[name] = np.empty((0, channels, 0, 0), np.float32)  # without windows, the page itself is seen

        def seen(rows: slice, columns: slice) -> list[Features]:
            part = np.ascontiguousarray(reduced[None, rows, columns])
            found: list[Features] = self._session.run(FEATURES, feed | {"page": part})
            return found

        height, width = reduced.shape[:2]
        found = seen_in_tiles(seen, height, width, np.concatenate)
        return None if found is None else PageArrays(*found)

    def _under(
        self, windows: Windows, page: PageArrays | None, places: Places | None
    ) -> dict[str, NDArray[np.float32]]:
        """Return the features of the page under each window; zeros if there is no page."""
        steps = [-(-side // STRIDES[-1]) for side in windows.shape[1:3]]
        context = {}
        for level, (name, channels) in enumerate(zip(CONTEXT, self._channels, strict=True)):
            stride = STRIDES[2 + level]
            size = (steps[0] * STRIDES[-1] // stride, steps[1] * STRIDES[-1] // stride)
            if page is None or places is None:
                context[name] = np.zeros((len(windows), channels, *size), np.float32)
            else:
                context[name] = sampled(page[level], places, size, stride, self.context)
        return context


def sampled(
    found: Features, places: Places, size: tuple[int, int], stride: int, reduction: int
) -> NDArray[np.float32]:
    """Return a page's features under each window, interpolated linearly like `drmamba.model.context.sampled`.

    found: (1, C, h, w)   places: (n, 2)   size: rows and columns of a window's features   ->   (n, C, *size)
    """
    parts = []
    for place in places:
        part = found
        for axis, start, count in zip((2, 3), place, size, strict=True):
            cells = found.shape[axis]
            middle = start + (np.arange(count, dtype=np.float32) + np.float32(0.5)) * stride  # page pixels
            at = np.clip(middle / (stride * reduction) - np.float32(0.5), 0, cells - 1)  # cells of the page
            lower = at.astype(np.intp)
            upper = np.minimum(lower + 1, cells - 1)
            weight = (at - lower).astype(np.float32).reshape((-1, 1) if axis == 2 else (-1,))
            part = part.take(lower, axis) * (1 - weight) + part.take(upper, axis) * weight
        parts.append(part)
    return np.concatenate(parts)


def library() -> Any:
    """Return ONNX Runtime; if it is missing, the error names the extra to install."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("onnxruntime", "onnx") from error
    return onnxruntime


def _first(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
