"""An exported model on ONNX Runtime for the worker pool; torch is not imported.

All workers share one session. On the CPU each window runs alone on its worker's own thread, so results do not depend on
the number of workers. Builds of ONNX Runtime for GPUs are used where they are installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from drmamba.checkpoint import parse_header
from drmamba.config import STRIDES, EngineConfig, Precision
from drmamba.errors import BackendError, CheckpointError, InputError, MissingExtra
from drmamba.inference.runtime.base import (
    ExplainedWindow,
    Places,
    ReducedPage,
    Runtime,
    Windows,
    usable_cores,
)
from drmamba.model.page_tiles import seen_in_tiles

SETTINGS = {
    "session.intra_op.allow_spinning": "0",
    "session.inter_op.allow_spinning": "0",
}

# What ONNX Runtime calls the devices; of these, `auto` takes the first that is there, and otherwise the CPU.
PROVIDERS = {"cuda": "CUDAExecutionProvider", "rocm": "MIGraphXExecutionProvider"}
CPU = "CPUExecutionProvider"

# Names of inputs and outputs in the file.
CONTEXT, FEATURES = ("context_3", "context_4"), ("features_3", "features_4")

Features = NDArray[np.float32]  # (1, C, h, w)


class PageArrays(NamedTuple):
    """What the network found on a reduced page, as the arrays of `drmamba.model.context.PageFeatures`."""

    f3: Features
    f4: Features


class OnnxRuntime(Runtime):
    """An ONNX Runtime session on the CPU or a GPU."""

    program_bytes = 160_000_000
    worker_bytes = 70_000_000

    def __init__(self, model: Path | bytes, config: EngineConfig) -> None:
        onnxruntime = library()
        chosen = providers(config.device, onnxruntime.get_available_providers())
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
            self._session = onnxruntime.InferenceSession(source, options, providers=chosen)
        except Exception as error:  # ONNX Runtime has a class for every way a file can be wrong
            raise CheckpointError(f"{path} is not an ONNX model that runs here: {_first(error)}") from error
        facts = self._session.get_modelmeta().custom_metadata_map
        self.model, self.provenance = parse_header(facts, path)
        self.weights_sha256 = facts.get("weights_sha256", "")  # hash of the file that this one was made from
        self.parameters = int(facts["parameters"]) if "parameters" in facts else None
        self.gflops = float(facts["gflops_512"]) if "gflops_512" in facts else None
        self.precisions = ("int8",) if facts.get("precision") == "int8" else ("float32",)
        shapes = {one.name: one.shape for one in self._session.get_inputs()}
        # The config of an older file may name inputs that the file does not have; its windows stand alone.
        self.conventions = self.model.conventions if "convention" in shapes else ()
        self.context = self.model.context if shapes.keys() >= set(CONTEXT) else 0
        self._explains = "maps" in {one.name for one in self._session.get_outputs()}
        self._channels = tuple(shapes[name][1] for name in CONTEXT) if self.context else ()
        used = self._session.get_providers()[
            0
        ]  # ONNX Runtime falls back to the CPU where a GPU cannot be used.
        self.count = (config.workers or usable_cores()) if used == CPU else 1
        self.batch = 1 if used == CPU else config.batch
        name = next((name for name, provider in PROVIDERS.items() if provider == used), "cpu")
        self.devices = [f"{name} (ONNX Runtime {onnxruntime.__version__})"]

    def enter(self) -> OnnxRuntime:
        """Return the runtime itself, because any number of threads may run a session."""
        return self

    def run(
        self,
        network: Any,  # noqa: ARG002
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",  # noqa: ARG002  the file has one only
        *,
        convention: int = 0,
        page: PageArrays | None = None,
        places: Places | None = None,
    ) -> NDArray[np.float32]:
        """Return the probabilities of the windows."""
        feed = self._feed(windows, suppress, convention, page, places)
        found: NDArray[np.float32] = self._session.run(["probability"], feed)[0]
        return found

    def explain(
        self,
        network: Any,  # noqa: ARG002
        window: NDArray[np.uint8],
        suppress: float,
        *,
        convention: int = 0,
        page: PageArrays | None = None,
        place: tuple[int, int] | None = None,
    ) -> ExplainedWindow:
        """Return the probability of one window together with the maps of the block."""
        if not self._explains:
            raise InputError(
                "this model was exported before exports could be explained; export it again with `drmamba export`"
            )
        places = None if place is None else np.array([place], np.float32)
        feed = self._feed(np.ascontiguousarray(window[None]), suppress, convention, page, places)
        found, maps = self._session.run(["probability", "maps"], feed | {"explain": np.array(True)})
        return ExplainedWindow(found[0], maps[0])

    def _feed(
        self,
        windows: Windows,
        suppress: float,
        convention: int,
        page: PageArrays | None,
        places: Places | None,
    ) -> dict[str, NDArray[Any]]:
        """Return the inputs of a run."""
        feed: dict[str, NDArray[Any]] = {"page": windows, "suppress": np.array(suppress, np.float32)}
        if self.conventions:
            feed["convention"] = np.array(convention, np.int64)
        return feed | self._under(windows, page, places) if self.context else feed

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


def providers(device: str, available: Sequence[str]) -> list[Any]:
    """Return ONNX Runtime's execution providers for a device, the preferred one first."""
    name, _, number = device.partition(":")
    if device == "cpu":
        return [CPU]
    if name == "auto":
        return [*(one for one in PROVIDERS.values() if one in available), CPU]
    if PROVIDERS.get(name) not in available:
        raise BackendError(
            f"this ONNX Runtime cannot use the device {device!r}; leave --device out, install a build of ONNX Runtime "
            "for it, or use torch with --runtime torch"
        )
    return [(PROVIDERS[name], {"device_id": int(number or 0)}), CPU]


def library() -> Any:
    """Return ONNX Runtime, which is imported at use because it takes a while."""
    import onnxruntime

    return onnxruntime


def quantization() -> Any:
    """Return ONNX Runtime's tool for quantization, which needs the library onnx."""
    try:
        import onnxruntime.quantization
    except ImportError as error:
        raise MissingExtra(str(error.name or "onnx"), "onnx") from error
    return onnxruntime.quantization


def _first(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
