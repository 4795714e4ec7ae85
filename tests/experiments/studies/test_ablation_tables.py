"""The registry of ablations: the paper's rows, one change each, and rows that share a run."""

from typing import Any

import pytest
import torch

from drmamba.config import LossConfig, RunConfig, recipe, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.paper_tables import ABLATIONS
from drmamba.experiments.studies.ablation_claims import CLAIMS
from drmamba.experiments.studies.ablation_tables import (
    Variant,
    distinct_runs,
    listing,
    references,
    tables,
    variants,
)
from drmamba.model.network import DRMamba

ENCODER = "efficientnet_lite0"
TABLES = tables(ENCODER)
ROWS = [(table, variant) for table, rows in TABLES.items() for variant in rows]


def applied(table: str, base: RunConfig) -> dict[str, RunConfig]:
    return {variant.name: variant.run.apply(base) for variant in TABLES[table]}


def test_every_row_of_the_paper_is_there_in_its_order() -> None:
    assert TABLES.keys() == ABLATIONS.keys()
    for table, rows in TABLES.items():
        printed = list(dict.fromkeys(v.paper for v in rows if v.paper))
        assert printed == list(ABLATIONS[table])


@pytest.mark.parametrize("preset", ["tiny", "lite"])
@pytest.mark.parametrize(("table", "variant"), ROWS, ids=lambda x: getattr(x, "name", x))
def test_changes_apply_to_any_preset(preset: str, table: str, variant: Variant) -> None:  # noqa: ARG001
    changes = {"source": {"init": "model.safetensors"}, "model": {"block": {"centred": False}}}
    base = replace_values(recipe(preset), changes)
    changed = variant.run.apply(base)
    assert isinstance(changed, RunConfig)
    assert (changed == base) == (variant.run.name == "A4")


def test_the_papers_components_add_one_thing_each() -> None:
    a = applied("components", recipe("tiny"))
    paper = [a[name] for name in ("A0", "A1", "A2", "A3", "A4")]
    assert [c.model.block.routes for c in paper] == ["single", "dual", "dual", "dual", "dual"]
    assert [c.model.block.fusion for c in paper[1:]] == ["concat", "subtract", "subtract", "subtract"]
    assert [c.model.detail.plain for c in paper] == [True, True, True, False, False]
    assert [c.loss.sdf for c in paper] == [0.0, 0.0, 0.0, 0.0, 1.0]
    gate = replace_values(a["A0"], {"model": {"block": {"output_gate": True}}})
    assert a["A0-gate"] == gate
    assert not a["A2-head"].model.detail.enabled
    assert not a["A2-head"].model.detail.plain


def test_terms_are_added_to_cross_entropy_whose_weight_stays() -> None:
    c = applied("loss", recipe("tiny"))
    names = list(c)
    assert [c[name].loss.bce for name in names[1:]] == [LossConfig().bce] * 3
    terms = [[t for t in ("sdf", "tv", "bnd", "pfm", "cldice") if getattr(c[n].loss, t)] for n in names]
    assert terms == [[], [], ["sdf", "tv", "bnd"], ["sdf", "tv", "bnd", "pfm", "cldice"]]
    assert "weight 1" in TABLES["loss"][0].run.title  # which changes the weight, and says so


def test_backbones_are_named_after_the_encoder_they_have() -> None:
    base = replace_values(recipe("lite"), {"source": {"init": "model.safetensors"}})
    for encoder, title in (
        ("efficientnet_lite0", "EfficientNet-Lite0"),
        ("pplcnetv4_small", "PP-LCNetV4-small"),
    ):
        rows = {v.name: v.run.apply(base) for v in tables(encoder)["backbone"]}
        assert rows["VMamba, untrained"].model.encoder == "vmamba_tiny"
        assert rows["ConvNeXt-Tiny, untrained"].model.encoder == "convnext_tiny"
        assert rows[f"{title}, untrained"].model.encoder == encoder
        for name, config in rows.items():
            assert config.source.init is None
            assert (config.source.encoder_weights is None) == name.endswith("untrained")
    assert [v.name for v in tables("convnext_tiny")["backbone"]][1:] == [
        "ConvNeXt-Tiny, untrained",
        "ConvNeXt-Tiny, pretrained",
    ]


@pytest.mark.parametrize(
    ("table", "variant"), [r for r in ROWS if r[0] != "backbone"], ids=lambda x: getattr(x, "name", x)
)
def test_every_row_trains(table: str, variant: Any) -> None:  # noqa: ARG001
    parts = {"encoder": "convnext_atto", "decoder": [8, 8, 8], "block": {"width": 8}, "detail": {"width": 8}}
    network = DRMamba(variant.run.apply(replace_values(recipe("lite"), {"model": parts})).model)
    output = network(torch.rand(2, 3, 32, 32))
    sum(logits.mean() for logits in (output.logits, *output.auxiliary)).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in network.block.parameters())


def test_unknown_tables_and_rows_are_named() -> None:
    with pytest.raises(ConfigError, match="components, fusion"):
        variants("colours", ENCODER)
    with pytest.raises(ConfigError, match="A0, A0-gate, A1"):
        variants("components", ENCODER, ["A9"])
    assert [v.name for v in variants("components", ENCODER, ["A0", "A4"])] == ["A0", "A4"]
    assert "model.block.fusion=concat" in listing(ENCODER)
    assert "19 different runs" in listing(ENCODER)


def test_rows_that_need_the_hub_must_be_named() -> None:
    name = "ConvNeXt-Tiny, pretrained"
    assert name not in [v.name for v in variants("backbone", ENCODER)]
    assert [v.name for v in variants("backbone", ENCODER, [name])] == [name]


def test_the_same_run_in_two_tables_is_trained_once() -> None:
    runs = {(table, v.name): v.run for table, v in ROWS}
    assert runs["components", "A4"] is runs["loss", "+ thin-stroke connectivity"] is runs["directions", "4"]
    assert runs["components", "A1"] is runs["fusion", "concat"]
    assert runs["components", "A3"] is runs["loss", "BCE"]
    distinct = distinct_runs([v for _, v in ROWS])
    assert len({str(run.changes) for run in distinct}) == len(distinct) == 20


def test_claims_and_references_name_runs() -> None:
    names = {v.run.name for _, v in ROWS}
    assert {run for claim in CLAIMS for run in claim[1:]} <= names
    assert {run for table in TABLES for run in references(table, ENCODER)} <= names
