"""The network as it is exported: the same function as `DRMamba`, in the operators that ONNX Runtime runs fastest.

ONNX Runtime keeps convolutions in a blocked memory layout and has to leave it for every operator that it does not know
there. So projections are 1 x 1 convolutions with the activation right behind them, concatenations before a convolution
are sums of two convolutions, and maps are laid out by tokens only around the scans. The page's edges, stacked n x n
pixels to a position, are one convolution with stride n. Levels of 0 to 255 enter the network as they are: the factors
that normalize them are part of the first kernels.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from drmamba.integrations.onnx_graph import DOMAIN
from drmamba.integrations.onnx_modules import LEVELS, SameConv, replaced
from drmamba.model.block import DualRouteBlock
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba

MOST_DELTA = (
    80.0  # softplus is computed as log(1 + exp(x)), which is finite up to here; nothing remembers longer
)


class Core(nn.Module):
    """The network for sizes that are multiples of 32, with placeholders for the scans."""

    def __init__(self, network: DRMamba) -> None:
        super().__init__()
        network = fused(network).to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.network = network = replaced(network)
        self.register_buffer("mean", LEVELS * network.mean, persistent=False)
        _take_levels(network)
        self.block = ExportedBlock(network.block)

    mean: Tensor

    def forward(
        self,
        levels: Tensor,
        suppress: Tensor,
        convention: Tensor | None = None,
        context_3: Tensor | None = None,
        context_4: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Compute logits (B, H, W) from (B, 3, H, W), H and W multiples of 32, and the block's maps (B, h, w, d).

        With page context, its features are computed as well. The context was sampled under the windows already, so
        that, unlike in `DRMamba.decoded`, it is only added.
        """
        network = self.network
        features = list(network.encoder(levels - self.mean))
        found: tuple[Tensor, ...] = ()
        if network.context is not None:
            found = network.context.see((levels / LEVELS - network.mean) / network.std)
        if context_3 is not None and context_4 is not None:
            features[2:] = features[2] + context_3, features[3] + context_4
        *_, u = network.decoder(features, () if convention is None else network.offsets(convention))
        o, D, B, beta = self.block(u, suppress)
        if convention is not None:
            o = network.under_convention(o, convention)
        return network.reconstruction(o, levels), D, B, beta, *found


class ExportedBlock(nn.Module):
    """The dual-route block with a placeholder for its scans."""

    def __init__(self, block: DualRouteBlock) -> None:
        super().__init__()
        self.block = block
        A_D, A_B = (rate.detach() for rate in block.rates())
        d = block.config.width
        self.weights = nn.ParameterList(one.clone() for one in block.gates.weight.split(d))
        self.biases = nn.ParameterList(one.clone() for one in block.gates.bias.split(d))
        self.dual = block.config.routes == "dual"
        self.register_buffer("rates", -torch.cat([A_D, A_B]) if self.dual else -A_B, persistent=False)

    rates: Tensor  # negative

    def forward(self, u: Tensor, suppress: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return the block's output (B, C, h, w), and D, B and beta, (B, h, w, d)."""
        block = self.block
        z = _pointwise(block.project, block.norm(_tokens(u)).permute(0, 3, 1, 2))
        z = F.silu(block.local(z))  # Eq. (5)
        s, g, delta, beta = self._gates(z)
        b = g * s
        if self.dual:  # One scan computes both routes.
            delta, b = torch.cat([delta, delta], -1), torch.cat([b, g - b], -1)
        sums = torch.onnx.ops.symbolic(
            f"{DOMAIN}::Scans", (delta * self.rates, b), dtype=b.dtype, shape=b.shape, version=1
        )
        D, B = sums.chunk(2, -1) if self.dual else (sums, torch.zeros_like(sums))
        B = block.scaled(B)
        return self._output(u, block.combined(D, B, beta * suppress)), D, B, beta

    def _gates(self, z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Eq. (6): s, g, delta and beta, each (B, h, w, d) and computed by a product of its own."""
        block = self.block
        tokens = z.permute(0, 2, 3, 1)
        flat = tokens.flatten(0, 2)
        found = [
            F.linear(flat, *gate).view(tokens.shape) for gate in zip(self.weights, self.biases, strict=True)
        ]
        s, g = (x.sigmoid() for x in found[:2])
        # 1 + exp(x) is exact where softplus is not small, and softplus itself where it is, to the precision of a decay.
        delta = torch.log(1 + torch.exp(found[2].clamp(max=MOST_DELTA)))
        if block.one_rate:
            g = g * block.gain
        beta = found[3].sigmoid() if block.has_beta else block.fixed_beta.expand_as(s)
        return s, g, delta, beta

    def _output(self, u: Tensor, O_DR: Tensor) -> Tensor:
        block = self.block
        normed = block.out_norm(O_DR)
        if block.config.output_gate:
            normed = normed * F.silu(block.output_gate(block.norm(_tokens(u))))
        out = _pointwise(block.out, normed.permute(0, 3, 1, 2))
        return u + out if block.config.residual else out


def _tokens(x: Tensor) -> Tensor:
    """(B, C, h, w) to (B, h, w, C)."""
    return x.permute(0, 2, 3, 1)


def _pointwise(projection: nn.Linear, x: Tensor) -> Tensor:
    """Apply a projection to the channels of (B, C, h, w), as a 1 x 1 convolution."""
    return F.conv2d(x, projection.weight[:, :, None, None], projection.bias)


def _take_levels(network: DRMamba) -> None:
    """Let the encoder's first kernel take levels without their mean, in place of normalized colours."""
    first = next(one for one in network.encoder.modules() if isinstance(one, nn.Conv2d | SameConv))
    first.weight = nn.Parameter(first.weight / (LEVELS * network.std), requires_grad=False)
