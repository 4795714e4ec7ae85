"""The averaged weights."""

import torch
from torch import nn

from drmamba.training.ema import ExponentialMovingAverage


def test_average_moves_towards_the_weights_and_includes_norm_statistics() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    ema = ExponentialMovingAverage(network, decay=0.5)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    network(torch.randn(8, 2))
    with torch.no_grad():
        network[0].weight += 1
    ema.update(100)
    for name in ("0.weight", "1.running_mean"):
        want = (before[name] + network.state_dict()[name]) / 2
        torch.testing.assert_close(ema.tensors[name], want)
    assert ema.tensors["1.num_batches_tracked"] == 1


def test_a_short_run_forgets_its_first_weights() -> None:
    network = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(network.weight)
    ema = ExponentialMovingAverage(network, decay=0.999)
    nn.init.ones_(network.weight)
    for step in range(1, 31):
        ema.update(step)
    assert ema.tensors["weight"].item() > 0.99


def test_average_keeps_up_with_replaced_storage() -> None:
    network = nn.Conv2d(4, 4, 3)
    ema = ExponentialMovingAverage(network, decay=0.0)
    network.to(memory_format=torch.channels_last)
    with torch.no_grad():
        network.weight += 1
    ema.update(1000)
    torch.testing.assert_close(ema.tensors["weight"], network.weight.detach())
