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
MIDDLE_BETA = 0.5  # initial or fixed value of a gate that does not balance the routes
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
    a gate the same constants scale B; in ablations with one decay rate they scale all that enters the recurrence, so
    that every channel has the magnitude that the fast route has in the full block.

    Even then D may contribute nothing: B hardly varies over a page, so that beta, which does, can modulate it like a
    carrier wave. In a centred block the constants scale B itself, and a learned resting level B_0 is subtracted,
    O = D - beta * (B - B_0): local structure has to pass through D, and B expresses how the background differs from
    even paper. Every fusion of a centred block works on D and B - B_0.
    """

    balance: Tensor  # (d,), the factor of B
    gain: Tensor  # (d,), the factor of g

    def __init__(self, width: int, config: BlockConfig, backend: Backend = "auto") -> None:
        super().__init__()
        d = config.width
        self.config, self.backend = config, backend
        self.norm = nn.LayerNorm(width)
        self.project = nn.Linear(width, d)
        self.local = nn.Conv2d(d, d, 3, padding=1, groups=d)
        self.has_beta = "beta" in gate_names(config)
        self.gates = nn.Linear(d, len(gate_names(config)) * d)  # the rows of W_s, W_g, W_delta and W_beta
        # Horizons 1 / (delta * A_B), in tokens, for the typical delta.
        horizons = torch.exp(torch.linspace(math.log(config.horizons[0]), math.log(config.horizons[1]), d))
        self.rate_B = nn.Parameter(_softplus_inverse(1 / (TYPICAL_DELTA * horizons)))
        if config.routes == "dual" and config.decay == "gap":
            self.A_gap = nn.Parameter(_softplus_inverse(torch.full((d,), GAP)))
        if config.routes == "dual" and config.fusion == "concat":
            self.join = nn.Linear(2 * d, d)
        if config.output_gate:
            self.output_gate = nn.Linear(width, d)
        self.out_norm = nn.LayerNorm(d)
        self.out = nn.Linear(d, width)
        # The constants are part of the architecture: they follow from the horizons, not from learned rates.
        with torch.no_grad():
            _, A_B = self.rates()
            fast = -torch.expm1(-TYPICAL_DELTA * (A_B + GAP))  # 1 - a_D of a block with two rates
            # The magnitude of the fast route divided by that of the slow one.
            ratio = -torch.expm1(-TYPICAL_DELTA * A_B) / fast
        one = torch.ones_like(ratio)
        two_rates = hasattr(self, "A_gap")
        self.one_rate = config.balanced and not two_rates
        self.register_buffer("balance", ratio if config.balanced and two_rates else one, persistent=False)
        self.register_buffer("gain", ratio if self.one_rate else one, persistent=False)
        self.centred = config.centred and config.routes == "dual"
        if self.centred:
            # On even ground each order sums g (1 - s) = 0.25 over the horizon, 1 / (1 - a_B), scaled to 1 / (1 - a_D).
            self.B_0 = nn.Parameter(0.25 * config.directions / fast)
        # Where B has its factor already, or none, the gate starts in the middle of its range.
        self.starts_at_balance = two_rates and config.balanced and not self.centred
        self.start_balanced()

    @torch.no_grad()
    def start_balanced(self) -> None:
        """Set the bias of the gate's projection so that D and beta*B have the same magnitude."""
        if self.has_beta and self.starts_at_balance:
            self.gates.bias[3 * self.config.width :] = torch.logit(self.balance, eps=1e-4)

    @property
    def fixed_beta(self) -> Tensor:
        """(d,), the value of a gate that does not depend on the input, which is the initial value of one that does."""
        return self.balance if self.starts_at_balance else torch.full_like(self.balance, MIDDLE_BETA)

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
        gates = self.gates(z).float().chunk(len(gate_names(self.config)), -1)  # Eq. (6)
        s, g, delta = gates[0].sigmoid(), gates[1].sigmoid(), F.softplus(gates[2])
        if self.one_rate:
            g = g * self.gain
        beta = gates[3].sigmoid() if self.has_beta else self.fixed_beta.expand_as(s)
        return s, g, delta, beta * suppress

    def fuse(self, u: Tensor, maps: Maps, suppress: float | Tensor = 1.0) -> Tensor:
        """The block's output for another `suppress`, from the maps that `forward` gave at suppress = 1."""
        D, B, beta = (x.flatten(2).transpose(1, 2) for x in maps)
        return self.joined(u, D, B, beta * suppress)

    def joined(self, u: Tensor, D: Tensor, B: Tensor, beta: Tensor) -> Tensor:
        """The block's output from both routes, summed over the orders, and the gate, with tokens in row order."""
        return self._output(u, self.combined(D, B, beta))

    def _output(self, u: Tensor, O_DR: Tensor) -> Tensor:
        batch, _, height, width = u.shape
        normed = self.out_norm(O_DR)
        if self.config.output_gate:
            gate = F.silu(self.output_gate(self.norm(u.permute(0, 2, 3, 1))))  # (B, h, w, d)
            normed = normed * gate.reshape(normed.shape)
        out: Tensor = self.out(normed).view(batch, height, width, -1).permute(0, 3, 1, 2)
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
        return self.combined(D, B, beta), D, B

    def scaled(self, B: Tensor) -> Tensor:
        """The sums of Eq. (10), (..., d), scaled as the fusion expects them: by the gate, or by the constants."""
        return B if self.config.fusion == "subtract" and not self.centred else self.balance * B

    def combined(self, D: Tensor, B: Tensor, beta: Tensor) -> Tensor:
        """O_DR of Eq. (11), or of its ablations, from both routes and the gate."""
        if self.config.routes == "single":
            return D
        if self.centred:
            B = B - self.B_0
        if self.config.fusion == "subtract":
            return D - beta * B  # Eq. (11)
        if self.config.fusion == "add":
            return D + B
        joined: Tensor = self.join(torch.cat([D, B], -1))
        return joined

    def _sum_scans(self, a: Tensor, b: Tensor, orders: Tensor) -> Tensor:
        scans = [linear_scan(a, b, order, backend=self.backend) for order in orders]
        return torch.stack(scans).sum(0)  # Eq. (12)


def gate_names(config: BlockConfig) -> tuple[str, ...]:
    """The gates whose projections are concatenated in `gates`, in this order, Eq. (6)."""
    has_beta = config.routes == "dual" and config.fusion == "subtract" and config.beta == "input"
    return ("s", "g", "delta", "beta") if has_beta else ("s", "g", "delta")


def _softplus_inverse(y: Tensor) -> Tensor:
    return y + torch.log(-torch.expm1(-y))


def _as_map(x: Tensor, height: int, width: int) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], -1, height, width)
