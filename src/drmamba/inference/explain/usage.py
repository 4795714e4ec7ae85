"""The use of each route and of depth: what changes on a page when a part of the network is replaced.

D or B is set to zero, or its mean over the window replaces beta, the block's contribution, or the deep features F_3 and
F_4. A part that can be replaced without a difference is a part that the network does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from drmamba.config import EngineConfig, InferenceConfig
from drmamba.images import RGB, Ink
from drmamba.inference.binarizer import Binarizer
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure
from drmamba.model.alterations import altered, applicable
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

WHOLE = "whole"  # name of the network in which nothing is replaced
ReadPage = Callable[[], tuple[RGB, Ink | None]]  # gives a page and, if it is known, its ground truth


@dataclass(frozen=True)
class PartUsage:
    """A page binarized with one part of the network replaced."""

    part: str
    pixels: float  # percentage of pixels that differ from the whole network's
    fm: float | None  # None without a ground truth


def route_usage(
    network: DRMamba, pages: Sequence[ReadPage], config: InferenceConfig, engine: EngineConfig
) -> list[list[PartUsage]]:
    """The usage of every part on every page; the first entry of each page is that of the whole network."""
    parts = applicable(network.config.block)
    networks: dict[str, DRMamba] = {WHOLE: network} | {part: altered(network, part) for part in parts}
    result: list[list[PartUsage]] = [[] for _ in pages]
    whole: list[Ink] = []
    for part, changed in networks.items():
        with Binarizer(fused(changed), config=config, engine=engine) as binarizer:
            for number, read in enumerate(pages):
                image, truth = read()
                found = binarizer(image).binary
                if part == WHOLE:
                    whole.append(found)
                fm = None if truth is None else f_measure(count(found, truth))
                result[number].append(PartUsage(part, 100 * float((found != whole[number]).mean()), fm))
    return result
