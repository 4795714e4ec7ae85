"""One update at a time."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from drmamba.config import LossConfig, RunConfig, replace_values
from drmamba.errors import TrainingError
from drmamba.training.initialization import initial_network
from drmamba.training.learner import Learner

MakeBatch = Callable[..., dict[str, torch.Tensor]]


def test_updates_lower_the_loss(quick: RunConfig, batch: MakeBatch) -> None:
    config = replace(quick, loss=LossConfig())  # every term of the paper's
    learner = Learner(initial_network(config), config)
    reports = [learner.update(step, [batch()], progress=0.1) for step in range(12)]
    assert reports[-1].loss < 0.9 * reports[0].loss
    assert set(reports[0].parts) == {"sdf", "bce", "tv", "pfm", "cldice", "bnd", "aux"}
    assert reports[0].norm > 0


def without_statistics(config: RunConfig) -> Learner:
    """A learner whose batch norms do not see the batch, so that batches do not depend on each other."""
    learner = Learner(initial_network(config).eval(), config)
    learner.network.train = lambda *_: learner.network  # type: ignore[method-assign]
    return learner


def test_accumulated_batches_weigh_the_same(quick: RunConfig, batch: MakeBatch) -> None:
    config = replace_values(quick, {"train": {"accumulation": 2}})
    together = without_statistics(config).update(0, [batch(1), batch(2)], progress=0.1)
    apart = [without_statistics(quick).update(0, [batch(seed)], progress=0.1).loss for seed in (1, 2)]
    assert together.loss == pytest.approx(sum(apart) / 2, rel=1e-5)


def test_not_a_number_changes_nothing(quick: RunConfig, batch: MakeBatch) -> None:
    learner = Learner(initial_network(quick), quick)
    before = {name: value.clone() for name, value in learner.network.named_parameters()}
    bad = batch()
    bad["image"][0, 0, 0, 0] = float("nan")
    with pytest.raises(TrainingError, match=r"not a number at step 3.*learning_rate"):
        learner.update(3, [bad], progress=0.5)
    for name, value in learner.network.named_parameters():
        assert torch.equal(value, before[name])


def test_decay_and_rates_by_group(quick: RunConfig, batch: MakeBatch) -> None:
    config = replace_values(quick, {"train": {"encoder_rate": 0.1, "decay_rate": 20.0, "weight_decay": 0.3}})
    learner = Learner(initial_network(config), config)
    names = {id(p): name for name, p in learner.network.named_parameters()}
    learner.update(0, [batch()], progress=1.0)
    for group in learner.optimizer.param_groups:
        for parameter in group["params"]:
            assert group["weight_decay"] == (0.3 if parameter.ndim > 1 else 0.0)
            name = names[id(parameter)]
            of_decay = name in ("block.rate_B", "block.A_gap")
            factor = 0.1 if name.startswith("encoder.") else 20.0 if of_decay else 1.0
            want = config.train.learning_rate * config.train.final_rate * factor
            assert group["lr"] == pytest.approx(want)
    assert {"block.rate_B", "block.A_gap"} <= set(names.values())


def test_averaged_network_is_a_copy_to_evaluate(quick: RunConfig, batch: MakeBatch) -> None:
    learner = Learner(initial_network(quick), quick)
    learner.update(0, [batch()], progress=0.1)
    network = learner.averaged()
    assert not network.training
    for name, value in network.state_dict().items():
        torch.testing.assert_close(value, learner.ema.tensors[name])
    assert not torch.equal(network.auxiliary.weight, learner.network.auxiliary.weight)


def test_a_higher_rate_moves_the_decay_rates_further(quick: RunConfig, batch: MakeBatch) -> None:
    moved = []
    for rate in (0.0, 1.0, 100.0):
        config = replace_values(quick, {"train": {"decay_rate": rate}})
        learner = Learner(initial_network(config), config)
        before = learner.network.block.rate_B.detach().clone()
        learner.update(0, [batch()], progress=0.1)
        moved.append(float((learner.network.block.rate_B.detach() - before).abs().mean()))
    assert moved[0] == 0
    assert moved[2] == pytest.approx(100 * moved[1], rel=0.01)
