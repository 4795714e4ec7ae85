"""A run leaves the process as it found it."""

import torch

from drmamba.training.run import _no_denormals


def test_denormal_numbers_come_back_after_a_run():
    tiny = torch.tensor([1e-40])
    with _no_denormals():
        assert (tiny * 0.5).item() == 0
    assert (tiny * 0.5).item() > 0
