"""One file holds weights, config and provenance; what does not fit is said."""

import json
import pickle
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

import drmamba
from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import PRESETS, BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import CheckpointError
from drmamba.model.network import DRMamba


@pytest.fixture
def network():
    detail = DetailConfig(width=4, head_width=4, dilations=(1,), fold=2)
    return DRMamba(
        ModelConfig(
            encoder="convnext_atto",
            decoder=(8, 8, 8),
            block=BlockConfig(width=8, fusion="add"),
            detail=detail,
        )
    ).eval()


def test_round_trip(tmp_path, network):
    path = tmp_path / "deep" / "model.safetensors"
    origin = Provenance(
        preset="lite", trained=True, data=("2009", "2010"), held_out="2018", metrics={"fm": 91.5}
    )
    checkpoint.save(path, network, origin)
    again, read = checkpoint.load(path)
    assert again.config == network.config
    assert read.data == ("2009", "2010")
    assert read.metrics == {"fm": 91.5}
    assert read.version == drmamba.__version__
    x = torch.rand(1, 3, 32, 32)
    assert torch.equal(again.eval()(x).logits, network(x).logits)
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # no temporary file stays


def test_half_precision_files_are_half_the_size_and_load_as_float32(tmp_path, network):
    checkpoint.save(tmp_path / "full.safetensors", network, Provenance())
    checkpoint.save(tmp_path / "half.safetensors", network, Provenance(), half=True)
    full, half = ((tmp_path / f"{n}.safetensors").stat().st_size for n in ("full", "half"))
    assert half < 0.55 * full
    again, _ = checkpoint.load(tmp_path / "half.safetensors")
    assert all(p.dtype == torch.float32 for p in again.parameters())


def test_values_too_large_for_float16_keep_their_precision(tmp_path, network):
    variance = network.decoder.fuse[0][1].running_var
    variance[0] = 70_000.0
    checkpoint.save(tmp_path / "half.safetensors", network, Provenance(), half=True)
    again, _ = checkpoint.load(tmp_path / "half.safetensors")
    assert torch.equal(again.decoder.fuse[0][1].running_var, variance)
    assert again.auxiliary.weight.equal(network.auxiliary.weight.half().float())


def test_the_mean_of_two_models_names_what_both_were_trained_on(tmp_path, network):
    files = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    checkpoint.save(files[0], network, Provenance(data=("2009",), page_hashes=("b",), metrics={"fm": 90.0}))
    first = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 1
    checkpoint.save(files[1], network, Provenance(data=("2010", "2009"), page_hashes=("a", "b")))
    checkpoint.save_average(files, tmp_path / "mean.safetensors")
    mean, origin = checkpoint.load(tmp_path / "mean.safetensors")
    for name, parameter in mean.named_parameters():
        torch.testing.assert_close(parameter.detach(), first[name] + 0.5)
    assert (origin.data, origin.page_hashes, origin.metrics) == (("2009", "2010"), ("a", "b"), {})
    checkpoint.save_average(files, tmp_path / "nearer.safetensors", (3, 1))
    nearer, origin = checkpoint.load(tmp_path / "nearer.safetensors")
    for name, parameter in nearer.named_parameters():
        torch.testing.assert_close(parameter.detach(), first[name] + 0.25)
    assert origin.notes.startswith("the mean of 2 models: 75% ")


def test_models_of_two_kinds_have_no_mean(tmp_path, network):
    other = DRMamba(replace(network.config, conventions=("contest", "all")))
    for name, model in (("one", network), ("two", other)):
        checkpoint.save(tmp_path / f"{name}.safetensors", model, Provenance())
    with pytest.raises(CheckpointError, match=r"two\.safetensors has other settings"):
        checkpoint.save_average(
            [tmp_path / "one.safetensors", tmp_path / "two.safetensors"], tmp_path / "mean.safetensors"
        )
    assert not (tmp_path / "mean.safetensors").exists()


def metadata(network, **changes):
    return {
        "format": checkpoint.FORMAT,
        "config": json.dumps(network.config.to_dict()),
        "provenance": "{}",
        **changes,
    }


def test_what_differs_is_named(tmp_path, network):
    tensors = network.state_dict()
    tensors["auxiliary.bias"] = torch.zeros(7)
    del tensors["block.rate_B"]
    tensors["stranger"] = torch.zeros(1)
    save_file(tensors, tmp_path / "odd.safetensors", metadata(network))
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(tmp_path / "odd.safetensors")
    for words in (
        "missing block.rate_B",
        "unknown stranger",
        "auxiliary.bias is (7,), not (1,)",
        "odd.safetensors",
    ):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "stated",
    [{"decoder": [10**6, 8, 8]}, {"detail": {"head_width": 10**6}}, {"detail": {"dilations": [1] * 999}}],
)
def test_no_memory_is_taken_for_sizes_that_only_the_header_states(tmp_path, network, stated, monkeypatch):
    config = network.config.to_dict()
    for name, value in stated.items():
        config[name] = {**config[name], **value} if isinstance(value, dict) else value
    save_file(
        network.state_dict(), tmp_path / "huge.safetensors", metadata(network, config=json.dumps(config))
    )
    monkeypatch.setattr(DRMamba, "__init__", lambda *_: pytest.fail("the network was built"))
    with pytest.raises(
        CheckpointError, match=r"huge\.safetensors does not fit the network: its header states"
    ):
        checkpoint.load(tmp_path / "huge.safetensors")


def test_foreign_and_broken_files(tmp_path, network):
    with pytest.raises(CheckpointError, match="no model file"):
        checkpoint.load(tmp_path / "nothing.safetensors")
    save_file({"x": torch.zeros(1)}, tmp_path / "foreign.safetensors")
    with pytest.raises(CheckpointError, match="not a drmamba model"):
        checkpoint.load(tmp_path / "foreign.safetensors")
    checkpoint.save(tmp_path / "whole.safetensors", network, Provenance())
    (tmp_path / "cut.safetensors").write_bytes((tmp_path / "whole.safetensors").read_bytes()[:5000])
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        checkpoint.load(tmp_path / "cut.safetensors")
    save_file(
        {"x": torch.zeros(1)}, tmp_path / "bad.safetensors", metadata(network, config='{"encoder": "vgg"}')
    )
    with pytest.raises(CheckpointError, match=r"unreadable metadata: model\.encoder must be one of"):
        checkpoint.load(tmp_path / "bad.safetensors")


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_a_pickle_is_never_loaded(tmp_path):
    (tmp_path / "trap.safetensors").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError, match="not a readable safetensors file"):
        checkpoint.load(tmp_path / "trap.safetensors")


class TestOlderFiles:
    """Files written before blocks were balanced, before context and conventions, load as what they were."""

    def test_settings_that_are_not_there_stand_for_the_old_block(self, tmp_path):
        old = ModelConfig(
            encoder="convnext_atto",
            decoder=(8, 8, 8),
            block=BlockConfig(width=8, balanced=False, residual=True),
            detail=DetailConfig(width=4, head_width=4, dilations=(1,), fold=2),
        )
        network = DRMamba(old).eval()
        stated = old.to_dict()
        for name in ("context", "conventions"):
            del stated[name]
        for name in ("balanced", "horizons", "residual"):
            del stated["block"][name]
        path = tmp_path / "old.safetensors"
        save_file(network.state_dict(), path, metadata(network, config=json.dumps(stated)))
        again, _ = checkpoint.load(path)
        assert again.config == old
        x = torch.rand(1, 3, 32, 32)
        assert torch.equal(again.eval()(x).logits, network(x).logits)

    @pytest.mark.parametrize(
        "block", [{"balanced": True, "residual": False}, {"balanced": False, "residual": True}]
    )
    def test_settings_that_are_there_count(self, tmp_path, block):
        config = ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=BlockConfig(width=8, **block))
        checkpoint.save(tmp_path / "new.safetensors", DRMamba(config), Provenance())
        assert checkpoint.read_header(tmp_path / "new.safetensors")[0] == config

    def test_settings_of_inference_that_are_not_there_are_those_of_the_first_release(self, tmp_path):
        network = DRMamba(ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=BlockConfig(width=8)))
        stated = network.config.to_dict()
        for name in ("stroke_width", "ink_contrast", "clean_pages", "convention_output"):
            del stated[name]
        path = tmp_path / "old.safetensors"
        save_file(network.state_dict(), path, metadata(network, config=json.dumps(stated)))
        config, _ = checkpoint.read_header(path)
        assert (config.stroke_width, config.ink_contrast, config.clean_pages) == (5.0, 0.0, False)


def test_the_embedded_model_is_the_preset():
    assert checkpoint.read_header(checkpoint.embedded("lite"))[0] == PRESETS["lite"]
