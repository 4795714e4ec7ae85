"""The weighted sum."""

from dataclasses import replace

import pytest
import torch

from drmamba.config import LOSS_TERMS, LossConfig
from drmamba.errors import ConfigError
from drmamba.losses import terms
from drmamba.losses.compound import compound


def batch() -> tuple[torch.Tensor, tuple[torch.Tensor, ...], dict[str, torch.Tensor]]:
    torch.manual_seed(1)
    ink = (torch.rand(2, 16, 16) < 0.3).float()
    targets = {
        "ink": ink,
        "distance": torch.rand(2, 16, 16) * 2 - 1,
        "skeleton": ink,
        "band": torch.ones_like(ink),
    }
    return torch.randn(2, 16, 16), (torch.randn(2, 4, 4), torch.randn(2, 2, 2)), targets


def test_the_papers_weights() -> None:
    config = LossConfig()
    weights = tuple(getattr(config, name) for name in LOSS_TERMS)
    assert weights == (1.0, 0.1, 0.3, 0.5, 0.2, 0.2, 0.3)  # Eqs. (20) and (21)
    assert (config.alpha, config.beta) == (0.7, 0.3)


def test_total_is_the_weighted_sum_of_the_terms() -> None:
    logits, auxiliary, targets = batch()
    loss = compound(logits, auxiliary, targets, LossConfig())
    assert list(loss.parts) == list(LOSS_TERMS)
    want = sum(getattr(LossConfig(), name) * value for name, value in loss.parts.items())
    torch.testing.assert_close(loss.total, want)


def test_a_term_without_weight_is_left_out() -> None:
    logits, auxiliary, targets = batch()
    only = LossConfig(sdf=0, bce=1, tv=0, pfm=0, cldice=0, bnd=0, aux=0)
    loss = compound(logits, auxiliary, {"ink": targets["ink"]}, only)  # it does not even ask for its target
    assert list(loss.parts) == ["bce"]
    torch.testing.assert_close(loss.total, terms.bce(logits, targets["ink"]))


def test_bfloat16_logits_give_a_float32_loss() -> None:
    logits, auxiliary, targets = batch()
    logits = logits.bfloat16().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        loss = compound(logits, [values.bfloat16() for values in auxiliary], targets, LossConfig())
    assert loss.total.dtype == torch.float32
    rounded = [values.bfloat16().float() for values in auxiliary]
    exact = compound(logits.detach().float(), rounded, targets, LossConfig())
    torch.testing.assert_close(loss.total.detach(), exact.total)
    loss.total.backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_descending_the_loss_finds_the_ink() -> None:
    targets = {"ink": torch.zeros(1, 24, 24)}
    targets["ink"][:, 10:13, 4:20] = 1
    targets["skeleton"] = torch.zeros(1, 24, 24)
    targets["skeleton"][:, 11, 5:19] = 1
    targets["distance"] = (targets["ink"] * 2 - 1) * 0.3
    targets["band"] = torch.ones(1, 24, 24)
    logits = torch.zeros(1, 24, 24, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=0.3)
    for _ in range(60):
        optimizer.zero_grad()
        compound(logits, [torch.zeros(1, 6, 6)], targets, LossConfig()).total.backward()
        optimizer.step()
    assert torch.equal(logits > 0, targets["ink"] > 0)


def test_crops_may_have_tversky_weights_of_their_own() -> None:
    logits, auxiliary, targets = batch()
    only = LossConfig(sdf=0, bce=0, tv=1, pfm=0, cldice=0, bnd=0, aux=0, alpha=0.4, beta=0.6)
    own = targets | {"balance": torch.tensor([[0.4, 0.6], [0.9, 0.1]])}
    first, second = (
        compound(logits[i : i + 1], auxiliary, {"ink": targets["ink"][i : i + 1]}, config).total
        for i, config in enumerate((only, replace(only, alpha=0.9, beta=0.1)))
    )
    torch.testing.assert_close(compound(logits, auxiliary, own, only).total, (first + second) / 2)


def test_wrong_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"loss\.balance_all must be two weights, 0 or more"):
        LossConfig(balance_all=(0.5, -0.1))
    with pytest.raises(ConfigError, match=r"loss\.tv must be 0 or more"):
        LossConfig(tv=-1)
    with pytest.raises(ConfigError, match=r"loss\.saturation"):
        replace(LossConfig(), saturation=0)


def test_nothing_is_learned_where_the_truth_is_unknown() -> None:
    logits, (auxiliary, deep), targets = batch()
    for values in (logits, auxiliary, deep):
        values.requires_grad_()
    unknown = torch.zeros(2, 16, 16)
    unknown[:, 4:12, 4:12] = 1
    compound(logits, (auxiliary, deep), targets | {"unknown": unknown}, LossConfig()).total.backward()
    assert logits.grad is not None
    assert auxiliary.grad is not None
    assert deep.grad is not None
    assert not logits.grad[:, 4:12, 4:12].any()
    assert logits.grad[:, :4].any()
    assert not auxiliary.grad[:, 1:3, 1:3].any()
    assert auxiliary.grad[:, 0].all()
    assert not deep.grad.any()  # each of its four positions sees a part of it


def test_a_known_truth_changes_nothing() -> None:
    logits, auxiliary, targets = batch()
    with_mask = targets | {"unknown": torch.zeros(2, 16, 16)}
    one, other = (compound(logits, auxiliary, each, LossConfig()).total for each in (targets, with_mask))
    assert torch.equal(one, other)


def test_every_auxiliary_head_counts_alike() -> None:
    logits, auxiliary, targets = batch()
    expected = sum(terms.auxiliary(values, targets["ink"]) for values in auxiliary)
    torch.testing.assert_close(compound(logits, auxiliary, targets, LossConfig()).parts["aux"], expected)
