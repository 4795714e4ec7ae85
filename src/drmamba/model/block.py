"""The Dual-Route Mamba block, Eqs. (5)-(12): the core of the network."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.config import Backend, BlockConfig
from drmamba.ops import dual_route_scan, linear_scan, scan_orders

SLOWEST = 1e-5  # smallest decay rate, which keeps A_B positive for any parameter value
UNBALANCED_BETA = 0.5  # value of a gate that does not depend on the input, in unbalanced blocks
TYPICAL_DELTA = math.log(2)  # softplus(0), the time scale before training
GAP = 0.7  # initial A_D - A_B, at which the detail route remembers about two tokens


class Maps(NamedTuple):
    """The block's maps, each (B, d, h, w): both routes summed over the scan orders, and the gate."""

    D: Tensor
    B: Tensor
    beta: Tensor


class DualRouteBlock(nn.Module):
    """Scan the decoded map along a fast and a slow route and subtract the gated background.

    The states of Eqs. (9) and (10) are sums whose magnitude grows with the horizon of their route, 1 / (1 - a), so that
    the slow route would dominate the fast one. A balanced block starts with beta = (1 - a_B) / (1 - a_D) for a typical
    delta, channel by channel: then D and beta*B have the same magnitude, and no equation changes. In ablations without
    a gate the same constants scale B.

    Even then D may contribute nothing: B hardly varies over a page, so that beta, which does, can modulate it like a
    carrier wave. In a centred block the constants scale B itself, and a learned resting level B_0 is subtracted,
    O = D - beta * (B - B_0): local structure has to pass through D, and B expresses how the background differs from
    even paper.
    """

    balance: Tensor

    def __init__(self, width: int, config: BlockConfig, backend: Backend = "auto") -> None:
        super().__init__()
        d = config.width
        self.config, self.backend = config, backend
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, d)
        self.local = nn.Conv2d(d, d, 3, padding=1, groups=d)
        self.has_beta = config.routes == "dual" and config.fusion == "subtract" and config.beta == "input"
        self.gates = nn.Linear(
            d, (4 if self.has_beta else 3) * d
        )  # W_s, W_g, W_delta and W_beta, concatenated
        # Horizons 1 / (delta * A_B), in tokens, for the typical delta.
        horizons = torch.exp(torch.linspace(math.log(config.horizons[0]), math.log(config.horizons[1]), d))
        self.rate_B = nn.Parameter(_softplus_inverse(1 / (TYPICAL_DELTA * horizons)))
        if config.routes == "dual" and config.decay == "gap":
            self.A_gap = nn.Parameter(_softplus_inverse(torch.full((d,), GAP)))
        if config.routes == "dual" and config.fusion == "concat":
            self.join = nn.Linear(2 * d, d)
        self.out_norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, width)
        self.register_buffer("balance", self._balance(), persistent=False)
        self.centred = config.centred and config.routes == "dual" and config.fusion == "subtract"
        if self.centred:
            # On even ground each order sums g (1 - s) = 0.25 over the horizon, 1 / (1 - a_B), scaled to 1 / (1 - a_D).
            A_D, _ = self.rates()
            level = 0.25 * config.directions / -torch.expm1(-TYPICAL_DELTA * A_D.detach())
            self.B_0 = nn.Parameter(level)
        elif config.balanced:
            self._start_balanced()

    @torch.no_grad()
    def _balance(self) -> Tensor:
        """(d,), the ratio of the fast route's magnitude to the slow one's, (1 - a_B) / (1 - a_D)."""
        if not self.config.balanced:
            return torch.full(
                (self.config.width,), UNBALANCED_BETA if self.config.fusion == "subtract" else 1.0
            )
        # The constants are part of the architecture: they follow from the horizons, not from learned rates.
        A_D, A_B = self.rates()
        return torch.expm1(-TYPICAL_DELTA * A_B) / torch.expm1(-TYPICAL_DELTA * A_D)

    @torch.no_grad()
    def _start_balanced(self) -> None:
        d = self.config.width
        if self.has_beta:
            self.gates.bias[3 * d :] = torch.logit(self.balance, eps=1e-4)
        elif hasattr(self, "join"):
            self.join.weight[:, d:] *= self.balance  # the columns that multiply B

    def rates(self) -> tuple[Tensor, Tensor]:
        """A_D and A_B of Eq. (7), with A_D > A_B > 0 for any parameter value unless an ablation shares them."""
        A_B = F.softplus(self.rate_B.float()) + SLOWEST
        if not hasattr(self, "A_gap"):
            return A_B, A_B
        A_D = A_B + F.softplus(self.A_gap.float())
        # Rounding may remove a tiny gap beside a large rate; the next larger float keeps the order strict.
        return torch.maximum(A_D, torch.nextafter(A_B, A_B.new_tensor(torch.inf)).detach()), A_B

    def forward(
        self, u: Tensor, *, suppress: float | Tensor = 1.0, maps: bool = False
    ) -> tuple[Tensor, Maps | None]:
        """Transform U_2 (B, C, h, w) to the same shape; also return the maps if asked for. `suppress` scales beta."""
        height, width = u.shape[-2:]
        s, g, delta, beta = (x.flatten(1, 2) for x in self.gated(u, suppress))  # each (B, T, d)
        orders = scan_orders(self.config.directions, height, width)
        O_DR, D, B = self._routes(s, g, delta, beta, orders, maps)
        out = self._output(u, O_DR)
        if not maps:
            return out, None
        grid = (_as_map(x, height, width) for x in (D, B, beta))
        return out, Maps(*grid)

    def gated(self, u: Tensor, suppress: float | Tensor = 1.0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """s, g, delta and beta of Eqs. (5), (6), each (B, h, w, d)."""
        tokens = u.permute(0, 2, 3, 1)  # (B, h, w, C), a view where memory is channels-last
        z = self.project(self.norm(tokens)).permute(0, 3, 1, 2)
        z = F.silu(self.local(z)).permute(0, 2, 3, 1)  # Eq. (5)
        gates = self.gates(z).float().chunk(4 if self.has_beta else 3, -1)  # Eq. (6)
        s, g, delta = gates[0].sigmoid(), gates[1].sigmoid(), F.softplus(gates[2])
        if self.has_beta:
            beta = gates[3].sigmoid()
        else:
            beta = torch.full_like(s, UNBALANCED_BETA) if self.centred else self.balance.expand_as(s)
        beta = beta * suppress
        return s, g, delta, beta

    def fuse(self, u: Tensor, maps: Maps, suppress: float | Tensor = 1.0) -> Tensor:
        """The block's output for another `suppress`, from the maps that `forward` gave at suppress = 1."""
        D, B, beta = (x.flatten(2).transpose(1, 2) for x in maps)
        return self.joined(u, D, B, beta * suppress)

    def joined(self, u: Tensor, D: Tensor, B: Tensor, beta: Tensor) -> Tensor:
        """The block's output from both routes, summed over the orders, and the gate, with tokens in row order."""
        return self._output(u, self._fused(D, B, beta))

    def _output(self, u: Tensor, O_DR: Tensor) -> Tensor:
        batch, _, height, width = u.shape
        out: Tensor = self.out(self.out_norm(O_DR)).view(batch, height, width, -1).permute(0, 3, 1, 2)
        return u + out if self.config.residual else out

    def _routes(
        self, s: Tensor, g: Tensor, delta: Tensor, beta: Tensor, orders: Tensor, maps: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Eqs. (7)-(12) and their ablations: O_DR, D and B; the latter two are empty unless the maps are needed."""
        A_D, A_B = self.rates()
        if self.config.routes == "single":
            h = self._sum_scans(torch.exp(-delta * A_B), g * s, orders)
            return h, h, torch.zeros_like(h)
        if self.config.fusion == "subtract" and not maps:
            scale = beta * self.balance if self.centred else beta
            O_DR = dual_route_scan(s, g, delta, scale, A_D, A_B, orders, backend=self.backend)
            if self.centred:
                O_DR = O_DR + beta * self.B_0
            return O_DR, s.new_empty(0), s.new_empty(0)
        D = self._sum_scans(torch.exp(-delta * A_D), g * s, orders)  # Eqs. (8), (9)
        B = self._sum_scans(torch.exp(-delta * A_B), g * (1 - s), orders)  # Eqs. (8), (10)
        B = self.scaled(B)
        return self._fused(D, B, beta), D, B

    def scaled(self, B: Tensor) -> Tensor:
        """The sums of Eq. (10), (..., d), scaled as the fusion expects them."""
        return self.balance * B if self.centred else B

    def _fused(self, D: Tensor, B: Tensor, beta: Tensor) -> Tensor:
        if self.config.routes == "single":
            return D
        if self.config.fusion == "subtract":
            return D - beta * (B - self.B_0 if self.centred else B)  # Eq. (11)
        if self.config.fusion == "add":
            return D + self.balance * B
        joined: Tensor = self.join(torch.cat([D, B], -1))
        return joined

    def _sum_scans(self, a: Tensor, b: Tensor, orders: Tensor) -> Tensor:
        return torch.stack([linear_scan(a, b, order, backend=self.backend) for order in orders]).sum(
            0
        )  # Eq. (12)


def _softplus_inverse(y: Tensor) -> Tensor:
    return y + torch.log(-torch.expm1(-y))


def _as_map(x: Tensor, height: int, width: int) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], -1, height, width)
