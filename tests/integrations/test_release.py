"""A model as it is handed on: float16, fold scores, a card."""

import json

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.cli import group
from drmamba.config import preset
from drmamba.errors import CheckpointError, ConfigError, DataError
from drmamba.files import sha256
from drmamba.integrations.release import fold_scores, release
from drmamba.model.network import DRMamba

SCORES = {"fm": 91.234, "pfm": 94.5, "psnr": 20.1, "drd": 2.5}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("run") / "model.safetensors"
    about = Provenance(preset="lite", trained=True, data=("2018", "2019"), notes="7 updates")
    checkpoint.save(path, DRMamba(preset("lite")), about)
    return path


@pytest.fixture(autouse=True)
def quick_export(monkeypatch):
    """The export itself takes a minute; its own tests make it."""
    monkeypatch.setattr(
        "drmamba.integrations.release.export", lambda model, path: path.write_bytes(model.name.encode())
    )


def results(path, **changes):
    years = {
        "2019": {"mean": SCORES, "everyday": SCORES | {"fm": 93.333}, "pages": [{}] * 13, "steps": 32},
        "2018": {"mean": SCORES | {"fm": 89}, "pages": [{}] * 10, "steps": 32},
    }
    config = {"model": preset("lite").to_dict()}
    path.write_text(
        json.dumps(
            {
                "config": config,
                "chosen_on": ["2012", "2018"],
                "years": years,
                "average": SCORES | {"fm": 90.117},
            }
            | changes
        )
    )
    return path


def export(*args):
    return CliRunner().invoke(group, ["export", "--format", "safetensors", *map(str, args)])


def test_half_the_size_with_scores_and_a_card(model, tmp_path):
    out = tmp_path / "lite.safetensors"
    done = export(
        "-o",
        out,
        "--model",
        model,
        "--folds",
        results(tmp_path / "r.json"),
        "--notes",
        "From synthetic pages",
    )
    assert done.exit_code == 0, done.output
    assert out.stat().st_size < 0.52 * model.stat().st_size
    whole, half = checkpoint.load(model)[0].state_dict(), checkpoint.load(out)[0].state_dict()
    assert all(np.allclose(whole[k], half[k], rtol=1e-3, atol=1e-6) for k in whole)
    about = checkpoint.read_header(out)[1]
    assert about.notes == "7 updates. From synthetic pages"
    folds = about.metrics["leave_one_year_out"]
    assert folds["mean"] == {"pages": 23, "fm": 90.12, "pfm": 94.5, "psnr": 20.1, "drd": 2.5}
    assert list(folds["years"]) == ["2018", "2019"]
    card = out.with_suffix(".md").read_text()
    for words in (
        "| 2018 | 10 | 89.00 | 94.50 | 20.10 | 2.50 | - |",
        "| 2019 | 13 | 91.23 | 94.50 | 20.10 | 2.50 | 93.33 |",
        "| average of 2 | 23 | 90.12 |",
        "13 of the contest's 20 pages",
        "Updates of each fold, after the same start: 32.",
        "The recipe was chosen on 2018.",
        "on the held-out year",
    ):
        assert words in card
    assert out.with_suffix(".onnx").read_bytes() == b"lite.safetensors"
    for path in (out, out.with_suffix(".onnx")):
        assert f"| `{path.name}` | `{sha256(path)}` |" in card
    index = json.loads(
        next(line for line in card.splitlines() if line.startswith("model-index")).split(": ", 1)[1]
    )
    assert index[0]["results"][0]["metrics"][0] == {"type": "fm", "name": "FM", "value": 90.12}


def test_a_recipe_may_be_judged_by_years_that_were_kept_out_together(model, tmp_path):
    out, scores = tmp_path / "lite.safetensors", results(tmp_path / "r.json", kept_out_together=True)
    assert export("-o", out, "--model", model, "--folds", scores).exit_code == 0
    metrics = checkpoint.read_header(out)[1].metrics
    assert metrics["years_kept_out_together"]["years"]["2018"]["fm"] == 89
    assert "leave_one_year_out" not in metrics
    card = out.with_suffix(".md").read_text()
    assert "without any page of these years" in card
    assert "one year at a time" not in card
    assert "DIBCO 2018, 2019, kept out together" in card
    assert "Updates, after the same start: 32." in card


def benchmark(path, digest, pages=None, **changes):
    """The report of a benchmark of a model and two classical methods."""
    pages = pages or {"scraps": 3}

    def method(name, fm, kind, identity):
        return {
            "name": name,
            "kind": kind,
            "identity": identity,
            "years": {year: {"fm": fm} for year in pages},
        }

    methods = [
        method("drmamba", 78.654, "network", {"sha256": digest}),
        method("otsu", 60, "classical", {}),
        method("su", 70.5, "classical", {}),
    ]
    path.write_text(json.dumps({"pages": pages, "methods": methods} | changes))
    return path


def test_the_card_states_scores_on_collections_that_the_model_has_not_seen(model, tmp_path):
    out, report = tmp_path / "lite.safetensors", tmp_path / "benchmark.json"
    done = export("-o", out, "--model", model, "--collections", benchmark(report, sha256(model)))
    assert done.exit_code == 0, done.output
    scores = {"pages": 3, "fm": 78.65, "best_fm": 70.5, "best": "su"}
    assert checkpoint.read_header(out)[1].metrics["collections"] == {"scraps": scores}
    card = out.with_suffix(".md").read_text()
    assert "| scraps | 3 | 78.65 | 70.50 (su) |" in card
    assert "| 2018, 2019 | pages of the DIBCO and H-DIBCO contests |" in card
    assert "`--keep all` keeps them" in " ".join(card.split())
    for path, message in (
        (
            benchmark(tmp_path / "other.json", "0" * 64),
            f"no scores of the model with the sha256 {sha256(model)}",
        ),
        (
            benchmark(tmp_path / "seen.json", sha256(model), {"2019": 13}),
            "2019, which the model was trained on",
        ),
        (benchmark(tmp_path / "bad.json", sha256(model), methods=[{}]), r"bad\.json is not a report of"),
    ):
        with pytest.raises(DataError, match=message):
            release(model, out, collections=path)


def test_the_card_states_what_each_part_contributes(model, tmp_path):
    out, path = tmp_path / "lite.safetensors", tmp_path / "usage.json"
    parts = {
        "whole": {"fm": 92.924, "difference": 0.0, "pixels": 0.0},
        "D=0": {"fm": 89.18, "difference": -3.734, "pixels": 0.94},
    }
    path.write_text(json.dumps({"years": ["2012", "2018"], "models": {"RUN/model.safetensors": parts}}))
    assert export("-o", out, "--model", model, "--usage", path).exit_code == 0
    assert checkpoint.read_header(out)[1].metrics["usage"]["parts"]["D=0"]["difference"] == -3.73
    card = out.with_suffix(".md").read_text()
    assert "has not seen 2012, 2018" in card
    assert "| D=0 | 89.18 | -3.73 | 0.94 |" in card
    path.write_text(json.dumps({"years": ["2012"], "models": {"a": parts, "b": parts}}))
    with pytest.raises(DataError, match=r"usage\.json is not what `benchmarks/usage\.py --json` prints"):
        release(model, out, usage=path)


def test_what_cannot_be_released(model, tmp_path):
    (tmp_path / "bad.json").write_text('{"years": {"2018": {}}}')
    with pytest.raises(DataError, match=r"bad\.json is not a results\.json"):
        fold_scores(tmp_path / "bad.json", preset("lite"))
    with pytest.raises(DataError, match=r"none\.json is not a results\.json"):
        fold_scores(tmp_path / "none.json", preset("lite"))
    with pytest.raises(DataError, match="the folds of another network"):
        fold_scores(results(tmp_path / "r.json"), preset("tiny"))
    checkpoint.save(tmp_path / "raw.safetensors", DRMamba(preset("lite")), Provenance())
    out = tmp_path / "out.safetensors"
    for args, kind in (
        (("-o", out, "--model", tmp_path / "raw.safetensors"), CheckpointError),
        (("-o", out, "--model", "tiny"), CheckpointError),
        (("-o", model, "--model", model), CheckpointError),
        (("-o", tmp_path / "out.bin", "--model", model), ConfigError),
        (("-o", tmp_path / "out.onnx", "--model", model, "--format", "onnx", "--notes", "x"), ConfigError),
    ):
        assert isinstance(export(*args).exception, kind)
    assert not out.exists()


def test_a_card_shows_how_its_own_file_is_used(model, tmp_path):
    assert export("-o", tmp_path / "papyri.safetensors", "--model", model).exit_code == 0
    assert 'Binarizer.from_pretrained("papyri.safetensors")' in (tmp_path / "papyri.md").read_text()
