"""The order of the decay rates, by construction."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from drmamba.config import BlockConfig
from drmamba.model.block import DualRouteBlock

anything = st.floats(width=32, allow_nan=False, allow_infinity=False)


@settings(max_examples=300, deadline=None)
@given(anything, anything)
def test_detail_decays_faster_for_any_parameter_value(rate, gap):
    block = DualRouteBlock(4, BlockConfig(width=1))
    block.rate_B.data.fill_(rate)
    block.A_gap.data.fill_(gap)
    A_D, A_B = block.rates()
    assert A_D > A_B > 0


def test_the_gap_learns():
    block = DualRouteBlock(4, BlockConfig(width=3))
    A_D, _ = block.rates()
    A_D.sum().backward()
    assert (block.A_gap.grad > 0).all()


def test_horizons_at_the_start():
    """At softplus(0), the background remembers 8 to 256 tokens and the detail about two."""
    A_D, A_B = DualRouteBlock(4, BlockConfig(width=48)).rates()
    delta = torch.nn.functional.softplus(torch.zeros(()))
    background, detail = 1 / (delta * A_B), 1 / (delta * A_D)
    assert 7 < background.min() < 10
    assert 200 < background.max() < 300
    assert detail.max() < 2.5
