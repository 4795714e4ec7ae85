"""Does a network gain when it adapts to the page at hand? An experiment with a gate, on years that it never saw.

    drmamba train --data ROOT --hold-out none --validate-on 2012,2016,2018 ... -o RUN
    python benchmarks/adapt.py --data ROOT RUN

Two ways to adapt are tried, and each page starts from the trained weights again:

- `norms S`: the statistics of all batch norms move by the share S towards those of the page's own windows;
- `steps N`: N updates of the norms' scales and offsets on the page's own confident pixels (more than 95 % sure), with
  noise and other contrast added to the windows.

Adaptation passes the gate if no page loses more than 0.5 FM and the tenth of the pages that scored worst before gains
on average. Pages are binarized by windows alone, in windows of 512 with a stride of 448.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba import checkpoint
from drmamba.data.dibco import find_pairs
from drmamba.images import RGB
from drmamba.metrics import count
from drmamba.metrics.counts import f_measure
from drmamba.model.network import DRMamba
from drmamba.training.run_data import EvaluationPage, evaluation_pages
from drmamba.training.run_directory import RunDirectory
from drmamba.training.scoring import VALIDATION_CONFIG, binarized

WINDOW = 512  # pixels, the side of the windows that a network adapts to
SURE = 0.95  # probability from which a pixel is taken for what the network says it is
RATE = 2e-3  # learning rate of the updates
MOST_LOST = 0.5  # FM that a page may lose
WORST = 0.1  # share of the pages that must gain


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, metavar="ROOT")
    parser.add_argument("--shares", type=float, nargs="*", default=[0.1, 0.3])
    parser.add_argument("--steps", type=int, nargs="*", default=[4, 12])
    parser.add_argument("run", type=Path, metavar="RUN")
    args = parser.parse_args()
    folder = RunDirectory(args.run)
    network, _ = checkpoint.load(folder.model)
    years = folder.config().data.validate_on
    pages = evaluation_pages([pair for pair in find_pairs(args.data) if pair.year in years])
    ways: dict[str, Callable[[DRMamba, Tensor], None]] = {
        f"norms {share:g}": partial(adapt_norms, share=share) for share in args.shares
    }
    ways |= {f"steps {steps}": partial(adapt_weights, steps=steps) for steps in args.steps}
    before = np.array([page_fm(network.eval(), page) for page in pages])
    print(f"{'way':<12} {'mean':>7} {'change':>7} {'lowest':>7} {'worst tenth':>12}  gate")
    print(f"{'none':<12} {before.mean():7.2f}", flush=True)
    worst = np.argsort(before)[: max(1, round(WORST * len(pages)))]
    for name, adapt in ways.items():
        after = np.array([page_fm(adapted(network, page, adapt), page) for page in pages])
        change = after - before
        passed = change.min() >= -MOST_LOST and change[worst].mean() > 0
        print(
            f"{name:<12} {after.mean():7.2f} {change.mean():+7.2f} {change.min():+7.2f} {change[worst].mean():+12.2f}"
            f"  {'passed' if passed else 'failed'} ({pages[int(change.argmin())].name} loses most)",
            flush=True,
        )


def page_fm(network: DRMamba, page: EvaluationPage) -> float:
    """The FM of a page."""
    ((_, found, truth),) = binarized(network, [page], VALIDATION_CONFIG, "cpu")
    return f_measure(count(found, truth))


def adapted(network: DRMamba, page: EvaluationPage, adapt: Callable[[DRMamba, Tensor], None]) -> DRMamba:
    """A copy of the network that has adapted to a page."""
    own = deepcopy(network)
    torch.manual_seed(0)
    adapt(own, windows(page.read()[0]))
    return own.eval()


def windows(image: RGB) -> Tensor:
    """The page in windows side by side, (N, 3, WINDOW, WINDOW); the last ones reach back over the ones before."""
    height, width = (max(WINDOW, side) for side in image.shape[:2])
    pads = (height - image.shape[0], width - image.shape[1])
    padded = np.pad(image, ((0, pads[0]), (0, pads[1]), (0, 0)), mode="reflect")
    corners = [
        (min(top, height - WINDOW), min(left, width - WINDOW))
        for top in range(0, height, WINDOW)
        for left in range(0, width, WINDOW)
    ]
    parts = [padded[top : top + WINDOW, left : left + WINDOW] for top, left in corners]
    return torch.from_numpy(np.stack(parts)).permute(0, 3, 1, 2).float() / 255


def norms(network: nn.Module) -> list[nn.BatchNorm2d]:
    """All batch norms of a network."""
    return [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]


@torch.no_grad()
def adapt_norms(network: DRMamba, page: Tensor, *, share: float) -> None:
    """Move the statistics of the norms by a share towards the page's."""
    trained = {norm: (norm.running_mean.clone(), norm.running_var.clone()) for norm in norms(network)}
    network.train()
    for norm in trained:
        norm.reset_running_stats()
    for number, window in enumerate(page, 1):
        for norm in trained:
            norm.momentum = 1 / number  # so that the statistics are the plain mean over all windows
        network(window[None])
    for norm, (mean, variance) in trained.items():
        norm.running_mean.copy_(torch.lerp(mean, norm.running_mean, share))
        norm.running_var.copy_(torch.lerp(variance, norm.running_var, share))


def adapt_weights(network: DRMamba, page: Tensor, *, steps: int) -> None:
    """Teach the norms' scales and offsets what the network is sure of, on disturbed windows."""
    network.eval()
    with torch.no_grad():
        sure = torch.cat([network(window[None]).logits.sigmoid() for window in page])
    weights = ((sure > SURE) | (sure < 1 - SURE)).float()
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    learned = [value.requires_grad_() for norm in norms(network) for value in (norm.weight, norm.bias)]
    optimizer = torch.optim.Adam(learned, RATE)
    for step in range(steps):
        chosen = step % len(page)
        window = page[chosen][None]
        window = (window * (0.85 + 0.3 * torch.rand(1)) + 0.02 * torch.randn_like(window)).clamp(0, 1)
        logits = network(window).logits[0]
        losses = F.binary_cross_entropy_with_logits(logits, (sure[chosen] > 0.5).float(), reduction="none")
        loss = (losses * weights[chosen]).sum() / weights[chosen].sum().clamp_min(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
