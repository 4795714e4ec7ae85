"""Models to and from the Hub, against a stand-in served over HTTP."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from hub_stand_in import TOKEN, StandIn
from safetensors.torch import save as serialize

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import ModelConfig, PushConfig, preset
from drmamba.errors import CheckpointError, ConfigError, MissingExtra, install_command
from drmamba.files import sha256
from drmamba.inference.binarizer import Binarizer
from drmamba.inference.models import find_model
from drmamba.integrations.card import card
from drmamba.integrations.hub import push
from drmamba.model.hub_files import fetch, parse_id
from drmamba.model.network import DRMamba
from drmamba.model.pretrained import HUB, RANDOM, load_encoder_weights

constants = pytest.importorskip("huggingface_hub.constants", reason="huggingface_hub is not installed")

ORIGIN = Provenance(
    preset="lite",
    trained=True,
    data=("2009", "2010"),
    held_out="2018",
    date="2026-01-01",
    metrics={"fm": 83.2032, "pfm": 91.1, "psnr": 17.15, "drd": 5.93, "validation_fm": 90.19},
    notes="1945 updates",
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A file as training writes it."""
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    torch.manual_seed(0)
    checkpoint.save(path, DRMamba(preset("lite")), ORIGIN)
    return path


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """A Hub, and a huggingface_hub that knows no other, with an empty cache and a token."""
    made = StandIn()
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", made.url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "ENDPOINT", made.url)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    yield made
    if made.thread.is_alive():
        made.close()


def gets(stand_in):
    return [path for command, path in stand_in.requests if command == "GET" and "/resolve/" in path]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("owner/name", ("owner/name", None)),
        ("owner/name@0123abc", ("owner/name", "0123abc")),
        ("o-1/n.2@v1.0", ("o-1/n.2", "v1.0")),
        ("owner/name@refs/pr/1", ("owner/name", "refs/pr/1")),
        ("lite", None),
        ("runs/model.safetensors", None),
        ("runs/model.onnx", None),
        ("../up/model", None),
        ("./here", None),
        ("/etc/passwd", None),
        ("a/b/c", None),
    ],
)
def test_an_id_and_its_revision(name, parts):
    assert parse_id(name) == parts


def test_a_model_is_fetched_once_and_then_comes_from_the_cache(stand_in, model):
    stand_in.add("owner/name", {"model.safetensors": model.read_bytes()})
    with Binarizer.from_pretrained("owner/name") as made:
        assert made.sha256 == sha256(model)
        assert made.provenance.held_out == "2018"
    assert find_model("owner/name").read_bytes() == model.read_bytes()
    assert len(gets(stand_in)) == 1
    stand_in.close()  # no network any more: the cache answers
    assert find_model("owner/name").read_bytes() == model.read_bytes()


def test_offline_mode_asks_nobody(stand_in, monkeypatch):
    stand_in.add("owner/name", {"model.safetensors": b"weights"})
    first = fetch("owner/name", "model.safetensors")
    asked = len(stand_in.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch("owner/name", "model.safetensors") == first
    with pytest.raises(CheckpointError, match="not in the local cache and HF_HUB_OFFLINE is set"):
        fetch("owner/other", "model.safetensors")
    assert len(stand_in.requests) == asked


def test_a_revision_stays_what_it_was(stand_in):
    old = stand_in.add("owner/name", {"model.safetensors": b"old"})
    stand_in.add("owner/name", {"model.safetensors": b"new"})
    assert find_model("owner/name").read_bytes() == b"new"
    assert find_model(f"owner/name@{old}").read_bytes() == b"old"
    asked = len(stand_in.requests)
    assert find_model(f"owner/name@{old}").read_bytes() == b"old"
    assert len(stand_in.requests) == asked  # a sha cannot change: nobody is asked
    stand_in.add("owner/name", {"model.safetensors": b"newest"})
    assert find_model("owner/name").read_bytes() == b"newest"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("owner/missing", "there is no such repository; if it is private, log in"),
        ("owner/name@nowhere", "at 'nowhere' from the Hub: there is no such revision"),
        ("owner/empty", "the repository has no such file"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(stand_in, name, reason):
    stand_in.add("owner/name", {"model.safetensors": b"weights"})
    stand_in.add("owner/empty", {"README.md": b""})
    with pytest.raises(CheckpointError, match=reason) as caught:
        find_model(name)
    assert "\n" not in str(caught.value)


def test_no_network_and_no_cache(stand_in, monkeypatch):
    monkeypatch.setattr("huggingface_hub.file_download._ETAG_RETRY_TIMEOUT", 0.1, raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)  # the library tries again with growing pauses
    stand_in.close()
    with pytest.raises(CheckpointError, match="not in the local cache and the network does not answer"):
        find_model("owner/name")


def export_of(model, path):
    """The least that says it was exported from a model."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnx.parser")
    made = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["": 18]> g (float x) => (float y) { y = Abs (x) }'
    )
    about = checkpoint.header(preset("lite"), ORIGIN) | {"weights_sha256": sha256(model)}
    onnx.helper.set_model_props(made, about)
    path.write_bytes(made.SerializeToString())
    return path


# The warning is huggingface_hub's own, from its LFS path.
@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
def test_push_then_fetch(stand_in, model, tmp_path):
    exported = export_of(model, tmp_path / "lite.onnx")
    place = push("owner/new", model, PushConfig(private=True), exported)
    repository = stand_in.repositories["owner/new"]
    assert repository["private"]
    assert place == f"owner/new@{repository['refs']['main']}"
    files = stand_in.files("owner/new")
    assert set(files) == {"model.safetensors", "config.json", "README.md", "model.onnx"}
    assert files["model.safetensors"] == model.read_bytes()
    assert files["model.onnx"] == exported.read_bytes()
    stated = json.loads(files["config.json"])
    assert ModelConfig.from_dict(stated["config"]) == preset("lite")
    assert Provenance.from_dict(stated["provenance"]).data == ("2009", "2010")
    assert find_model(place).read_bytes() == model.read_bytes()
    again = push("owner/new", model, PushConfig(branch="next"))  # the repository is there; a branch beside it
    assert again == f"owner/new@{repository['refs']['next']}"
    assert again != place


def test_the_card_says_data_recipe_scores_limits_and_licence():
    text = card("owner/name", preset("lite"), ORIGIN, "apache-2.0")
    front = text.split("---")[1]
    facts = dict(line.split(": ", 1) for line in front.strip().splitlines())
    assert json.loads(facts["license"]) == "apache-2.0"
    metrics = json.loads(facts["model-index"])[0]["results"][0]["metrics"]
    assert {"type": "fm", "name": "FM", "value": 83.2} in metrics
    for words in (
        "2009, 2010",
        "2018 was kept out",
        "1945 updates",
        "| p-FM | 91.10 |",
        "## Limits",
        "## Licence",
    ):
        assert words in text
    bare = card("owner/name", preset("lite"), Provenance(), "mit")
    assert "model-index" not in bare
    assert "No scores are stated." in bare


def test_what_cannot_be_pushed(stand_in, model, tmp_path, monkeypatch):
    checkpoint.save(tmp_path / "raw.safetensors", DRMamba(preset("lite")), Provenance())
    (tmp_path / "other.safetensors").write_bytes(serialize({"x": torch.zeros(1)}))
    for place, source, reason in (
        ("nowhere", model, "give it as OWNER/NAME"),
        ("owner/name@sha", model, "give it as OWNER/NAME"),
        ("owner/name", tmp_path / "raw.safetensors", "untrained"),
        ("owner/name", tmp_path / "other.safetensors", "not a drmamba model"),
        ("owner/name", "tiny", "no weights of 'tiny'"),
    ):
        with pytest.raises((CheckpointError, ConfigError), match=reason):
            push(place, source)
    other = export_of(tmp_path / "raw.safetensors", tmp_path / "other.onnx")
    with pytest.raises(CheckpointError, match="was not exported from"):
        push("owner/name", model, onnx=other)
    assert stand_in.requests == []
    monkeypatch.setenv("HF_TOKEN", "wrong")
    with pytest.raises(CheckpointError, match=r"cannot push to 'owner/name': .*log in with `hf auth login`"):
        push("owner/name", model)
    assert stand_in.repositories == {}


def test_imagenet_weights_come_the_same_way(stand_in, monkeypatch):
    config = ModelConfig(encoder="convnext_atto", decoder=(16, 8, 8))
    torch.manual_seed(1)
    theirs = DRMamba(config).encoder.state_dict()
    stand_in.add(
        HUB["convnext_atto"], {"model.safetensors": serialize(theirs | {"head.fc.weight": torch.zeros(2, 2)})}
    )
    network = DRMamba(config)
    assert load_encoder_weights(network, "hub") == HUB["convnext_atto"]
    for name, value in network.encoder.state_dict().items():
        assert torch.equal(value, theirs[name])
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert load_encoder_weights(DRMamba(config), "hub") == HUB["convnext_atto"]
    assert load_encoder_weights(DRMamba(config), "auto") == HUB["convnext_atto"]
    absent = DRMamba(replace(config, encoder="convnext_femto"))
    with pytest.raises(CheckpointError, match="HF_HUB_OFFLINE is set"):
        load_encoder_weights(absent, "hub")
    assert load_encoder_weights(absent, "auto") == RANDOM


def test_the_commands_use_the_environment(stand_in, model, tmp_path):
    """A process of its own: HF_ENDPOINT and HF_HOME are read when the library is imported."""
    settings = {"HF_ENDPOINT": stand_in.url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0"}
    here = {**os.environ, **settings, "HF_HUB_DISABLE_XET": "1"}
    run = [sys.executable, "-m", "drmamba", "push", "owner/name", "--model", str(model)]
    done = subprocess.run(run, env=here, capture_output=True, text=True, check=True)
    assert done.stdout == f"owner/name@{stand_in.repositories['owner/name']['refs']['main']}\n"


def test_without_the_library_the_extra_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    wanted = re.escape(f"huggingface_hub is not installed; get it with: {install_command('hub')}")
    with pytest.raises(MissingExtra, match=wanted):
        find_model("owner/name")
    with pytest.raises(MissingExtra, match=wanted):
        push("owner/name", model)
    result = CliRunner().invoke(group, ["push", "owner/name", "--model", str(model)])
    assert isinstance(result.exception, MissingExtra)


def test_it_is_imported_in_one_file():
    root = Path(checkpoint.__file__).parent
    homes = [path.name for path in root.rglob("*.py") if "import huggingface_hub" in path.read_text()]
    assert homes == ["hub_files.py"]
