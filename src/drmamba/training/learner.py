"""The learner: a network with its optimizer and averaged weights, and one update at a time, in plain torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from drmamba.config import RunConfig
from drmamba.errors import TrainingError
from drmamba.losses.compound import compound
from drmamba.model.network import DRMamba
from drmamba.training.ema import ExponentialMovingAverage
from drmamba.training.schedule import rate_factor

Batch = dict[str, Tensor]

CONDITIONS = ("convention", "page", "place", "visible")  # inputs of the network besides the crop
DECAY_RATES = ("block.rate_B", "block.A_gap")  # the parameters behind A_B and A_D, Eq. (7)


@dataclass(frozen=True)
class UpdateRecord:
    """One update: the loss before it, every term, the norm of the gradient, and the learning rate."""

    loss: float
    parts: dict[str, float]
    norm: float
    rate: float


class Learner:
    """Everything that changes during a run. The callables are replaced to train on several devices or threads."""

    def __init__(self, network: DRMamba, config: RunConfig) -> None:
        self.network: DRMamba = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.config = config
        self.optimizer = optimizer_for(self.network, config)
        self.ema = ExponentialMovingAverage(self.network, config.train.ema)
        self.forward: Callable[..., Any] = self.network
        self.backward: Callable[[Tensor], object] = Tensor.backward
        self.accumulate_gradients: Callable[[Any, float], dict[str, Tensor]] = self._accumulate_gradients
        self.reduce: Callable[[Tensor], Tensor] = Tensor.detach  # replaced by the mean over devices
        self.unsynchronized: Callable[[], AbstractContextManager[object]] = nullcontext
        self.device = next(network.parameters()).device

    def update(self, step: int, batches: Iterable[object], progress: float, rank: int = 0) -> UpdateRecord:
        """One update from `accumulation` batches; a loss or gradient that is not finite raises and changes nothing."""
        train = self.config.train
        # Randomness in the forward pass depends only on the step, so that a resumed run repeats it.
        torch.manual_seed((train.seed << 40 ^ step << 8 ^ rank) % 2**63)
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        totals: dict[str, Tensor] = {}
        for number, batch in enumerate(batches, 1):
            last = number == train.accumulation
            with nullcontext() if last else self.unsynchronized():
                found = self.accumulate_gradients(batch, 1 / train.accumulation)
            for name, value in found.items():
                totals[name] = totals.get(name, 0) + value / train.accumulation
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), train.clip, foreach=True).item()
        means = self.reduce(torch.stack(list(totals.values())))
        values = dict(zip(totals, means.tolist(), strict=True))
        if not math.isfinite(values["loss"]) or not math.isfinite(norm):
            terms = ", ".join(f"{name} {value:.4g}" for name, value in values.items())
            raise TrainingError(
                f"the loss or its gradient is not a number at step {step} ({terms}; norm {norm:.4g}); "
                "the weights before it are kept; lower train.learning_rate or use train.precision=float32"
            )
        factor = rate_factor(progress, train)
        for group in self.optimizer.param_groups:
            group["lr"] = factor * group["peak"]
        self.optimizer.step()
        self.ema.update(step + 1)
        return UpdateRecord(values.pop("loss"), values, norm, factor * train.learning_rate)

    def _accumulate_gradients(self, batch: Batch, weight: float) -> dict[str, Tensor]:
        """Add the weighted gradient of a batch to the parameters' gradients; returns every loss."""
        loss, parts = self.losses(self.forward, batch)
        self.backward(loss * weight)
        return {"loss": loss.detach(), **parts}

    def losses(self, forward: Callable[..., Any], batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss to minimise, and the unweighted value of every term."""
        batch = {name: value.to(self.device, non_blocking=True) for name, value in batch.items()}
        image = batch.pop("image").contiguous(memory_format=torch.channels_last)
        output = forward(image, **{name: batch.pop(name) for name in CONDITIONS if name in batch})
        loss = compound(output.logits, output.auxiliary, batch, self.config.loss)
        return loss.total, loss.parts

    def averaged(self) -> DRMamba:
        """A copy of the network with the averaged weights, in eval mode, on the CPU."""
        network = deepcopy(self.network).cpu().eval()
        network.load_state_dict(self.ema.tensors)
        return network


def optimizer_for(network: DRMamba, config: RunConfig) -> torch.optim.AdamW:
    """AdamW without weight decay on norms, biases, A_D and A_B.

    A_D, A_B and the encoder have learning rates of their own.
    """
    train = config.train
    groups: dict[tuple[float, float], dict[str, Any]] = {}
    for name, parameter in network.named_parameters():
        factor = 1.0
        if name.startswith("encoder."):
            factor = train.encoder_rate
        elif name in DECAY_RATES:
            factor = train.decay_rate
        peak, decay = train.learning_rate * factor, train.weight_decay if parameter.ndim > 1 else 0.0
        group = groups.setdefault((peak, decay), {"params": [], "peak": peak, "weight_decay": decay})
        group["params"].append(parameter)
    return torch.optim.AdamW(list(groups.values()), lr=train.learning_rate, fused=True)


def optimizer_tensors(learner: Learner) -> Iterator[tuple[str, Tensor]]:
    """The state of the optimizer as ("exp_avg/<parameter>", tensor) and so on."""
    for name, parameter in learner.network.named_parameters():
        for key, value in learner.optimizer.state.get(parameter, {}).items():
            yield f"{key}/{name}", value


def restore_optimizer(learner: Learner, tensors: dict[str, Tensor]) -> None:
    """Load the state that `optimizer_tensors` returned."""
    parameters = dict(learner.network.named_parameters())
    learner.optimizer.state.clear()
    for key_and_name, value in tensors.items():
        key, name = key_and_name.split("/", 1)
        parameter = parameters[name]
        kept = value.to(parameter.device) if key == "step" else torch.empty_like(parameter).copy_(value)
        learner.optimizer.state[parameter][key] = kept.clone() if key == "step" else kept
