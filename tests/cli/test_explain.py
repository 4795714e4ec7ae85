"""`drmamba explain` from end to end."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from PIL import Image

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import ConfigError, ImageError, InputError, PixelLimitError
from drmamba.model.network import DRMamba


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    rng = np.random.default_rng(0)
    page = np.clip(rng.normal(205, 8, (120, 170, 3)), 0, 255).astype(np.uint8)
    page[30:36, 20:150:2] = 40
    Image.fromarray(page).save(folder / "scan.png")
    truth = np.zeros((120, 170), np.bool_)
    truth[30:36, 20:150] = True
    Image.fromarray(~truth).save(folder / "truth.png")
    Image.fromarray(~truth[:50]).save(folder / "wrong.png")
    return folder


def run(*words):
    return CliRunner().invoke(group, ["explain", *map(str, words)], catch_exceptions=False)


def test_the_figure_and_the_maps(scan):
    result = run(scan / "scan.png", "-o", scan / "figure.png", "--truth", scan / "truth.png",
                 "--maps", scan / "maps", "--suppress", "1.5")  # fmt: skip
    assert result.exit_code == 0
    assert result.stdout == ""  # results go to files, words to stderr
    with Image.open(scan / "figure.png") as figure:
        assert figure.width == 1950
        assert len(np.unique(np.asarray(figure.convert("L")))) > 100  # something was drawn
    with np.load(scan / "maps" / "scan.npz") as packed:
        exact = dict(packed)
    assert set(exact) == {"D", "B", "beta", "taken", "probability", "binary"}
    for name in ("D", "B", "beta", "taken", "probability"):
        with Image.open(scan / "maps" / f"scan.{name}.png") as stored:
            assert stored.mode.startswith("I")  # 16 bits
            unit, values = json.loads(stored.info["drmamba"])["65535"], np.asarray(stored)
        np.testing.assert_allclose(values / 65535 * unit, exact[name], atol=unit / 65535)
    assert (exact["binary"] == (exact["probability"] > 0.5)).all()


@pytest.mark.parametrize("ending", [".pdf", ".svg", ".jpg"])
def test_other_formats(scan, ending):
    assert run(scan / "scan.png", "-o", scan / f"figure{ending}").exit_code == 0
    starts = {".pdf": b"%PDF", ".svg": b"<?xml", ".jpg": b"\xff\xd8"}
    assert (scan / f"figure{ending}").read_bytes().startswith(starts[ending])


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        (["missing.png", "-o", "f.png"], ImageError, "missing.png"),
        (["scan.png", "-o", "f.txt"], ImageError, r"\.txt"),
        (["scan.png", "-o", "f.png", "--max-pixels", "9"], PixelLimitError, "see --max-pixels"),
        (["scan.png", "-o", "f.png", "--page", "2"], ImageError, "holds 1 pages"),
        (["scan.png", "-o", "f.png", "--truth", "wrong.png"], InputError, "170 x 50"),
        (["scan.png", "-o", "f.png", "--threshold", "2"], ConfigError, "threshold"),
    ],
)
def test_errors_name_the_value(scan, words, error, match):
    words = [str(scan / w) if "." in w and not w[0].isdigit() else w for w in words]
    with pytest.raises(error, match=match):
        run(*words)
    assert not (scan / "f.png").exists()


def test_no_scan_is_drawn_over(scan):
    before = (scan / "scan.png").read_bytes()
    for words in (("-o", scan / "scan.png"), ("-o", scan / "truth.png", "--truth", scan / "truth.png")):
        with pytest.raises(InputError, match="would be written over"):
            run(scan / "scan.png", *words)
    assert (scan / "scan.png").read_bytes() == before


def test_context_and_convention_change_the_maps(scan, tmp_path):
    torch.manual_seed(0)
    config = ModelConfig(
        encoder="convnext_atto",
        decoder=(8, 8, 8),
        context=4,
        conventions=("contest", "all"),
        block=BlockConfig(width=8),
        detail=DetailConfig(width=4, head_width=4, dilations=(1,), fold=2),
    )
    network = DRMamba(config)
    for part in (network.context, network.convention):
        for parameter in part.parameters():
            torch.nn.init.normal_(parameter)
    checkpoint.save(tmp_path / "m.safetensors", network, Provenance(trained=True))
    found = []
    for words in ([], ["--no-context"], ["--keep", "all"]):
        run(
            scan / "scan.png",
            "-o",
            tmp_path / "f.png",
            "--maps",
            tmp_path,
            "--model",
            tmp_path / "m.safetensors",
            *words,
        )
        with np.load(tmp_path / "scan.npz") as packed:
            found.append(packed["D"])
    assert not np.allclose(found[0], found[1], rtol=1e-4)
    assert not np.allclose(found[0], found[2], rtol=1e-4)


def test_the_use_of_each_route_is_printed_on_request(scan):
    result = run(scan / "scan.png", "-o", scan / "used.png", "--truth", scan / "truth.png", "--usage")
    assert result.exit_code == 0
    lines = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()[2:]}
    assert lines["whole"][0] == "0.000"
    assert {"D=0", "B=0", "beta=mean", "block=mean", "deep=mean"} <= lines.keys()
    assert float(lines["B=0"][0]) > 0
    assert 0 <= float(lines["D=0"][1]) <= 100


def test_the_routes_of_an_exported_model_cannot_be_replaced(scan):
    (scan / "model.onnx").write_bytes(b"")
    with pytest.raises(ConfigError, match="exported model"):
        run(scan / "scan.png", "-o", scan / "none.png", "--usage", "--model", scan / "model.onnx")
    assert not (scan / "none.png").exists()
