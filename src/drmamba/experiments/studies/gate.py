"""Is the gate the adaptation that the paper claims? How beta differs between pages, and what the difference is worth.

The paper says that the page itself sets the gate beta and thereby adapts the network to it. Three measurements test
that. The first divides beta's variance into that between years, between the pages of a year, and within a page; only
the first two can be adaptation to a page. The second is how far each kind of degradation moves beta. The third is FM
with another beta than the page's own: if the mean of all other pages does as well, the gate does not adapt to a page.

Pages are seen in windows that do not overlap, by the network alone. Each window is decoded and scanned once; only the
fusion and the reconstruction run again for every other beta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from drmamba.config import DegradeConfig, replace_values
from drmamba.data.degrade import DEGRADATIONS, MaterialSource, degrade
from drmamba.data.page import LabelledPage
from drmamba.errors import ConfigError, InputError
from drmamba.images import RGB, Ink
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure
from drmamba.model.block import Maps, gate_names
from drmamba.model.network import DRMamba, Routes

WINDOW = 512  # pixels, the side of a window
# The betas that a page can get. A page's own mean keeps the adaptation to the page but not to places on it; a shifted
# beta is the page's own map moved to another page's mean, which keeps places but not the page.
OWN, OWN_MEAN, OTHERS_MEAN, SWAPPED_MEAN, SHIFTED, SWAPPED_MAP = CHOICES = (
    "own",
    "own mean",
    "mean of the other pages",
    "mean of another page",
    "own, moved to another page's mean",
    "map of another page",
)
LOGIT_LIMIT = 1e-4  # distance from 0 and 1 at which logits of beta are cut off


@dataclass(frozen=True)
class GatePage:
    """A page to measure: its year, its name, its pixels and its ink."""

    year: str
    name: str
    image: RGB
    ink: Ink


@dataclass(frozen=True)
class GateStatistics:
    """The gate on one page: mean and variance over its tokens, each (d,)."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


@dataclass(frozen=True)
class VarianceShares:
    """Percentages of the variance of beta over all tokens, averaged over channels; a page counts once."""

    years: float
    pages: float  # between the pages of a year
    within: float  # within pages
    deviation: float  # the standard deviation of beta, averaged over channels


def windows(image: RGB) -> Iterator[tuple[slice, slice]]:
    """The windows that cover a page without overlap, as rows and columns."""
    for top in range(0, image.shape[0], WINDOW):
        for left in range(0, image.shape[1], WINDOW):
            yield slice(top, top + WINDOW), slice(left, left + WINDOW)


def _routes(network: DRMamba, image: RGB) -> Routes:
    pixels = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))).float()[None] / 255
    return network.routes(pixels)


def require_gate(network: DRMamba) -> None:
    """Raise unless the network has a gate that depends on its input."""
    if "beta" not in gate_names(network.config.block):
        raise ConfigError("the network has no gate that depends on its input, so there is nothing to measure")


@torch.no_grad()
def gate_statistics(network: DRMamba, image: RGB) -> GateStatistics:
    """Mean and variance of beta on a page, channel by channel."""
    betas = [_routes(network, image[place]).maps.beta[0].flatten(1) for place in windows(image)]
    tokens = torch.cat(betas, 1).double().numpy()
    return GateStatistics(tokens.mean(1), tokens.var(1))


def variance_shares(found: Mapping[tuple[str, str], GateStatistics]) -> VarianceShares:
    """Divide the variance of beta into that between years, between pages of a year, and within pages."""
    by_year: dict[str, list[NDArray[np.float64]]] = {}
    for (year, _), page in found.items():
        by_year.setdefault(year, []).append(page.mean)
    everything = np.mean([page.mean for page in found.values()], axis=0)
    within = np.mean([page.variance for page in found.values()], axis=0)
    years = sum(len(v) * (np.mean(v, axis=0) - everything) ** 2 for v in by_year.values()) / len(found)
    pages = sum(((np.array(v) - np.mean(v, axis=0)) ** 2).sum(0) for v in by_year.values()) / len(found)
    total = np.maximum(within + years + pages, 1e-300)
    of_years, of_pages, of_tokens = (100 * float(np.mean(part / total)) for part in (years, pages, within))
    return VarianceShares(of_years, of_pages, of_tokens, float(np.mean(np.sqrt(total))))


def degradation_shifts(
    network: DRMamba, pages: Sequence[GatePage], kinds: Sequence[str], source: MaterialSource, seed: int = 0
) -> dict[str, tuple[float, float]]:
    """How far each kind of degradation moves a page's mean beta.

    The first number is the root mean square over pages and channels. The second is the length of the mean move
    relative to it, from 0 (every page moves elsewhere) to 1 (the kind has a direction of its own).
    """
    none = dict.fromkeys(["untouched", *DEGRADATIONS], 0.0)
    before = [gate_statistics(network, page.image).mean for page in pages]
    result = {}
    for kind in kinds:
        if kind not in DEGRADATIONS:
            raise ConfigError(f"there is no degradation {kind!r}; there are {', '.join(DEGRADATIONS)}")
        only = replace_values(DegradeConfig(), {**none, kind: 1.0})
        moves = []
        for number, (page, mean) in enumerate(zip(pages, before, strict=True)):
            clean = LabelledPage((page.image / 255).astype(np.float32), page.ink)
            changed = degrade(clean, np.random.default_rng((seed, number)), only, source).image
            pixels = (np.clip(changed, 0, 1) * 255 + 0.5).astype(np.uint8)
            moves.append(gate_statistics(network, pixels).mean - mean)
        table = np.array(moves)  # (pages, d)
        size = float(np.sqrt((table**2).mean()))
        result[kind] = size, float(np.sqrt((table.mean(0) ** 2).mean())) / max(size, 1e-12)
    return result


@torch.no_grad()
def fm_by_beta(
    network: DRMamba, page: GatePage, other: GatePage, statistics: Mapping[tuple[str, str], GateStatistics]
) -> dict[str, float]:
    """FM of a page with each of the CHOICES for beta; `other` is the page to swap with."""
    own = statistics[page.year, page.name].mean
    rest = [found.mean for key, found in statistics.items() if key != (page.year, page.name)]
    if not rest:
        raise InputError("beta can only be compared between two pages or more")
    theirs = statistics[other.year, other.name].mean
    their_maps = [_routes(network, other.image[place]).maps.beta for place in windows(other.image)]
    found = {choice: np.zeros(page.ink.shape, np.bool_) for choice in CHOICES}
    for number, place in enumerate(windows(page.image)):
        routes = _routes(network, page.image[place])
        beta = routes.maps.beta
        betas = {
            OWN: beta,
            OWN_MEAN: _even(own, beta),
            OTHERS_MEAN: _even(np.mean(rest, axis=0), beta),
            SWAPPED_MEAN: _even(theirs, beta),
            SHIFTED: torch.sigmoid(_logit(beta) - _logit(_even(own, beta)) + _logit(_even(theirs, beta))),
            SWAPPED_MAP: _tiled(their_maps[number % len(their_maps)], beta),
        }
        for choice, changed in betas.items():
            maps = Maps(routes.maps.D, routes.maps.B, changed)
            found[choice][place] = (network.fuse(routes._replace(maps=maps))[0] > 0).numpy()
    return {choice: f_measure(count(ink, page.ink)) for choice, ink in found.items()}


def _even(mean: NDArray[np.float64], like: Tensor) -> Tensor:
    """The same value of each channel all over a map."""
    return torch.from_numpy(mean).to(like.dtype)[None, :, None, None].expand_as(like).contiguous()


def _logit(beta: Tensor) -> Tensor:
    return torch.logit(beta, eps=LOGIT_LIMIT)


def _tiled(beta: Tensor, like: Tensor) -> Tensor:
    """A map repeated until it covers another one, and cut to its size."""
    height, width = like.shape[-2:]
    times = -(-height // beta.shape[-2]), -(-width // beta.shape[-1])
    return beta.repeat(1, 1, *times)[:, :, :height, :width]
