"""Networks of an ablation start from the same tensors, whether these are drawn or copied."""

from pathlib import Path
from typing import Any

import pytest
import torch

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import RunConfig, replace_values
from drmamba.errors import CheckpointError, ConfigError
from drmamba.training.initialization import initial_network

CHANGES: dict[str, dict[str, Any]] = {
    "single": {"block": {"routes": "single"}},
    "output gate": {"block": {"routes": "single", "output_gate": True}},
    "concat": {"block": {"fusion": "concat"}},
    "fixed": {"block": {"beta": "fixed"}},
    "shared": {"block": {"decay": "shared"}},
    "no detail": {"detail": {"enabled": False}},
    "plain": {"detail": {"plain": True}},
}


def tensors(config: RunConfig, **source: Any) -> dict[str, torch.Tensor]:
    return initial_network(replace_values(config, {"source": source})).state_dict()


@pytest.fixture
def model(quick: RunConfig, tmp_path: Path) -> Path:
    """A model that is unlike any that is drawn: all of its tensors are larger."""
    network = initial_network(replace_values(quick, {"train": {"seed": 7}}))
    for parameter in network.parameters():
        parameter.data += 3
    checkpoint.save(tmp_path / "init.safetensors", network, Provenance(trained=True, data=("synthetic",)))
    return tmp_path / "init.safetensors"


def test_a_model_with_values_that_are_no_numbers_is_refused(quick: RunConfig, tmp_path: Path) -> None:
    network = initial_network(quick)
    network.auxiliary.bias.data[:] = torch.inf
    checkpoint.save(tmp_path / "broken.safetensors", network, Provenance())
    with pytest.raises(CheckpointError, match=r"broken\.safetensors holds values .* in auxiliary\.bias"):
        tensors(quick, init=str(tmp_path / "broken.safetensors"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("start", ["drawn", "copied"])
def test_what_two_networks_share_starts_the_same(
    quick: RunConfig, model: Path, change: dict[str, Any], start: str
) -> None:
    source = {"init": str(model)} if start == "copied" else {}
    whole, other = tensors(quick, **source), tensors(replace_values(quick, {"model": change}), **source)
    shared = [name for name in whole if name in other and whole[name].shape == other[name].shape]
    assert len(shared) > 100
    assert [name for name in shared if not torch.equal(whole[name], other[name])] == []


@pytest.mark.parametrize("start", ["drawn", "copied"])
def test_parts_of_a_tensor_are_matched_by_their_meaning(quick: RunConfig, model: Path, start: str) -> None:
    source = {"init": str(model)} if start == "copied" else {}
    whole = tensors(quick, **source)
    fixed = tensors(replace_values(quick, {"model": CHANGES["fixed"]}), **source)
    narrow = tensors(replace_values(quick, {"model": CHANGES["no detail"]}), **source)
    d = quick.model.block.width
    assert fixed["block.gates.weight"].shape[0] == 3 * d
    assert torch.equal(fixed["block.gates.weight"], whole["block.gates.weight"][: 3 * d])
    assert torch.equal(fixed["block.gates.bias"], whole["block.gates.bias"][: 3 * d])
    name, width = "reconstruction.fuse.0.weight", quick.model.detail.width
    assert narrow[name].shape[1] == width
    # Drawn tensors are the same but for their scale, which depends on the number of inputs.
    scale = 1.0 if start == "copied" else 2**0.5
    torch.testing.assert_close(narrow[name], whole[name][:, :width] * scale)


def test_what_a_model_lacks_is_drawn(quick: RunConfig, model: Path, tmp_path: Path) -> None:
    """The other way round: a gate for which the model has no projection starts as without the model."""
    fixed = replace_values(quick, {"model": CHANGES["fixed"]})
    path = tmp_path / "fixed.safetensors"
    network = initial_network(replace_values(fixed, {"source": {"init": str(model)}}))
    checkpoint.save(path, network, Provenance(trained=True, data=("synthetic",)))
    drawn, copied = tensors(quick), tensors(quick, init=str(path))
    d = quick.model.block.width
    assert torch.equal(copied["block.gates.weight"][3 * d :], drawn["block.gates.weight"][3 * d :])
    assert torch.equal(copied["block.gates.weight"][: 3 * d], network.block.gates.weight)
    concat = replace_values(quick, {"model": CHANGES["concat"]})
    assert torch.equal(
        tensors(concat, init=str(model))["block.join.weight"], tensors(concat)["block.join.weight"]
    )


def test_seeds_differ_and_zeros_stay(quick: RunConfig) -> None:
    one, other = tensors(quick), tensors(replace_values(quick, {"train": {"seed": 1}}))
    for name in ("decoder.fuse.0.mix.0.weight", "block.gates.weight", "reconstruction.predict.weight"):
        assert not torch.equal(one[name], other[name])
    assert not torch.equal(one["block.project.weight"], one["block.out.weight"])
    assert not one["context.f3.weight"].any()
    bound = one["block.project.weight"].shape[1] ** -0.5
    assert 0.9 * bound < one["block.project.weight"].abs().max() <= bound


def test_some_parts_of_a_model_can_be_left_out(quick: RunConfig, model: Path) -> None:
    drawn, copied = tensors(quick), tensors(quick, init=str(model), init_parts=["encoder", "decoder"])
    assert torch.equal(copied["block.gates.weight"], drawn["block.gates.weight"])
    assert not torch.equal(copied["decoder.fuse.0.mix.0.weight"], drawn["decoder.fuse.0.mix.0.weight"])
    with pytest.raises(ConfigError, match="no part head"):
        tensors(quick, init=str(model), init_parts=["head"])


def test_the_resting_level_is_that_of_the_number_of_directions(quick: RunConfig, model: Path) -> None:
    four, one = (
        tensors(replace_values(quick, {"model": {"block": {"directions": n}}}), init=str(model))
        for n in (4, 1)
    )
    torch.testing.assert_close(one["block.B_0"], four["block.B_0"] / 4)
