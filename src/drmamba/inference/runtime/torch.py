"""A torch network for the worker pool: one thread a worker on the CPU, or one worker a GPU."""

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
from drmamba.inference.runtime.base import ExplainedWindow, Places, ReducedPage, Runtime, Windows
from drmamba.model.block import Maps
from drmamba.model.context import PageFeatures, look_in_tiles
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba, Routes
from drmamba.ops.bfloat16 import has_bfloat16


class TorchRuntime(Runtime):
    """A copy of the network for every GPU, or one that all CPU workers share."""

    def __init__(self, network: nn.Module, config: EngineConfig) -> None:
        self.devices = _devices(config.device)
        on_cpu = self.devices[0].type == "cpu"
        self.count = (config.workers or torch.get_num_threads()) if on_cpu else len(self.devices)
        self.batch = 1 if on_cpu else config.batch
        self.precisions = ("float32", "bfloat16") if has_bfloat16(self.devices[0]) else ("float32",)
        model = getattr(network, "config", None)
        if isinstance(model, ModelConfig):
            self.model, self.context, self.conventions = model, model.context, model.conventions
        # The copy has folded batch norms and is channels-last; the caller may go on training its own network.
        network = fused(network) if isinstance(network, DRMamba) else network.eval().requires_grad_(False)
        self._networks: queue.SimpleQueue[nn.Module] = queue.SimpleQueue()
        for number in range(self.count):
            device = self.devices[number % len(self.devices)]
            self._networks.put(network if on_cpu else copy.deepcopy(network).to(device))
        self._threads = torch.get_num_threads()

    def enter(self) -> nn.Module:
        """Return the network of this worker and limit its thread to one core."""
        torch.set_num_threads(1)
        # This call binds the number to the thread; otherwise the first operation would take the program's.
        torch.get_num_threads()
        # This holds for this thread only; numbers near zero would cost a hundred times as much as others.
        torch.set_flush_denormal(True)
        return self._networks.get()

    def entered(self) -> None:
        """Give the program back the number of threads that it had before the workers entered."""
        torch.set_num_threads(self._threads)

    @torch.inference_mode()
    def run(
        self,
        network: nn.Module,
        windows: Windows,
        suppress: float,
        precision: Precision = "float32",
        *,
        convention: int = 0,
        page: PageFeatures | None = None,
        places: Places | None = None,
    ) -> NDArray[np.float32]:
        """Return the probabilities of the windows; scans are float32 at any precision."""
        image = as_image(windows, network)
        context = self._context(image, convention, page, places)
        with torch.autocast(image.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
            logits = network(image, suppress=suppress, **context).logits
        found: NDArray[np.float32] = logits.float().sigmoid().cpu().numpy()
        return found

    @torch.inference_mode()
    def explain(
        self,
        network: nn.Module,
        window: NDArray[np.uint8],
        suppress: float,
        *,
        convention: int = 0,
        page: PageFeatures | None = None,
        place: tuple[int, int] | None = None,
    ) -> ExplainedWindow:
        """Return the probability of one window together with the maps of the block; the routes can be kept."""
        if not isinstance(network, DRMamba):
            return super().explain(network, window, suppress)
        image = as_image(np.array(window)[None], network)
        places = None if place is None else np.array([place], np.float32)
        routes = network.routes(image, **self._context(image, convention, page, places))
        D, B, beta = routes.maps
        means = torch.stack([D.mean(1), B.mean(1), beta.mean(1), (beta * B).mean(1)], 1)[0]
        return ExplainedWindow(
            self.fuse(network, routes, suppress),
            means.float().cpu().numpy(),
            routes,
            sum(tensor.nbytes for tensor in (routes.page, routes.u, *routes.maps)),
        )

    @torch.inference_mode()
    def fuse(self, network: nn.Module, routes: Routes, suppress: float) -> NDArray[np.float32]:
        """Return the probability of a window for another `suppress`; what comes before the fusion is not run."""
        assert isinstance(network, DRMamba)
        device = next(network.parameters()).device
        maps = Maps(*(found.to(device) for found in routes.maps))
        here = Routes(routes.page.to(device), routes.u.to(device), maps, routes.size, routes.convention)
        found: NDArray[np.float32] = network.fuse(here, suppress)[0].float().sigmoid().cpu().numpy()
        return found

    def _context(
        self, image: torch.Tensor, convention: int, page: PageFeatures | None, places: Places | None
    ) -> dict[str, Any]:
        """Return what the network is told beside its windows."""
        context: dict[str, Any] = {}
        if self.conventions:
            context["convention"] = convention
        if page is not None and places is not None:
            context["page"] = PageFeatures(*(found.to(image.device) for found in page))
            context["place"] = torch.from_numpy(places).to(image.device)
        return context

    @torch.inference_mode()
    def see_page(self, network: nn.Module, reduced: ReducedPage) -> PageFeatures | None:
        """Return what the network finds on the reduced page; a large one is seen in tiles."""
        if not isinstance(network, DRMamba):
            return None
        return look_in_tiles(network, as_image(reduced[None], network))


def as_image(windows: Windows, network: nn.Module) -> torch.Tensor:
    """Return windows (n, h, w, 3) as the network takes them: (n, 3, h, w) in [0, 1] on its device."""
    device = next(network.parameters()).device
    # With their axes permuted they are channels-last, and no byte is moved.
    return torch.from_numpy(windows).to(device).permute(0, 3, 1, 2).float() / 255


def _devices(name: str) -> list[torch.device]:
    """Return the devices behind a name; `auto` and `cuda` mean every GPU there is."""
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
