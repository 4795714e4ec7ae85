"""A torch network behind the lanes' door: one thread a lane on the CPU, or one lane a GPU."""

from __future__ import annotations

import copy
import queue
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from drmamba.config import EngineConfig, ModelConfig, Precision
from drmamba.errors import BackendError
from drmamba.inference.runtime import Places, Reduced, Runtime, Windows
from drmamba.model.context import PageFeatures, look_in_tiles
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba


class TorchRuntime(Runtime):
    """A copy of the network for every GPU, or one that all CPU lanes share."""

    def __init__(self, network: nn.Module, config: EngineConfig) -> None:
        self.devices = _devices(config.device)
        on_cpu = self.devices[0].type == "cpu"
        self.count = (config.workers or torch.get_num_threads()) if on_cpu else len(self.devices)
        self.batch = 1 if on_cpu else config.batch
        self.precisions = ("float32", "bfloat16") if has_bfloat16(self.devices[0]) else ("float32",)
        model = getattr(network, "config", None)
        if isinstance(model, ModelConfig):
            self.context, self.conventions = model.context, model.conventions
        # Batch norms folded, channels-last, a copy: the caller may go on training the network it gave.
        network = fused(network) if isinstance(network, DRMamba) else network.eval().requires_grad_(False)
        self._networks: queue.SimpleQueue[nn.Module] = queue.SimpleQueue()
        for number in range(self.count):
            device = self.devices[number % len(self.devices)]
            self._networks.put(network if on_cpu else copy.deepcopy(network).to(device))
        self._threads = torch.get_num_threads()

    def enter(self) -> nn.Module:
        """The network of this lane, for its one thread."""
        torch.set_num_threads(1)
        torch.get_num_threads()  # binds the number to this thread; else the first operation takes the program's
        torch.set_flush_denormal(True)  # this thread only: numbers near zero cost a hundred times others
        return self._networks.get()

    def entered(self) -> None:
        """A lane's one thread is its own affair, not the program's."""
        torch.set_num_threads(self._threads)

    @torch.inference_mode()
    def run(
        self,
        lane: nn.Module,
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",
        *,
        convention: int = 0,
        page: PageFeatures | None = None,
        places: Places | None = None,
    ) -> NDArray[np.float32]:
        """Probabilities by the lane's own network; scans are float32 at any precision."""
        image = as_image(windows, lane)
        situation: dict[str, Any] = {}
        if self.conventions:
            situation["convention"] = convention
        if page is not None and places is not None:
            situation["page"] = PageFeatures(*(found.to(image.device) for found in page))
            situation["place"] = torch.from_numpy(places).to(image.device)
        with torch.autocast(image.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            logits = lane(image, suppress=suppress, **situation).logits
        found: NDArray[np.float32] = logits.float().sigmoid().cpu().numpy()
        return found

    @torch.inference_mode()
    def look(self, lane: nn.Module, reduced: Reduced) -> PageFeatures | None:
        """What the network finds on the reduced page; in tiles where that is large."""
        return look_in_tiles(lane, as_image(reduced[None], lane)) if isinstance(lane, DRMamba) else None


def as_image(windows: Windows, network: nn.Module) -> torch.Tensor:
    """Windows (n, h, w, 3) as the network takes them, (n, 3, h, w) in [0, 1] on its device."""
    device = next(network.parameters()).device
    # Seen with another order of axes they are channels-last without moving a byte.
    return torch.from_numpy(windows).to(device).permute(0, 3, 1, 2).float() / 255


def has_bfloat16(device: torch.device) -> bool:
    """Whether the hardware computes in bfloat16 itself; elsewhere it is slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(
        torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    )


def _devices(name: str) -> list[torch.device]:
    """The devices behind a name; `auto` and `cuda` mean every GPU there is."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and torch.cuda.is_available():
        return [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise BackendError(f"the device {name!r} cannot be used here ({reason}); try --device cpu") from error
    return [device]
