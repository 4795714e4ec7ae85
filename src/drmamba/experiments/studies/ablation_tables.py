"""The paper's five ablation tables as changes to a config."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drmamba.config import RunConfig, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.paper_tables import ABLATIONS

PAPER_YEAR = "2019"  # held-out year of the paper's detailed ablations

# The paper's baseline is "supervised only by binary cross-entropy"; the auxiliary head, itself under BCE, stays.
BCE_ONLY = {"sdf": 0.0, "bce": 1.0, "tv": 0.0, "pfm": 0.0, "cldice": 0.0, "bnd": 0.0}
NO_DETAIL = {"enabled": False}


@dataclass(frozen=True)
class Variant:
    """One row: its name in the paper's table, what it is, and the settings that differ from the preset's."""

    name: str
    title: str
    model: Mapping[str, Any] = field(default_factory=dict)
    loss: Mapping[str, Any] = field(default_factory=dict)
    fresh: bool = False  # the encoder is another, so weights made for the preset's do not fit

    def apply(self, config: RunConfig) -> RunConfig:
        """Return the config with this row's changes; every name and value is checked."""
        source = {"init": None, "encoder_weights": None} if self.fresh else {}
        return replace_values(config, {"model": self.model, "loss": self.loss, "source": source})


def _without_detail(fusion: str = "subtract", **settings: Any) -> dict[str, Any]:
    """Return the settings of a dual-route block in a network without the detail branch."""
    return {"block": {"fusion": fusion, **settings}, "detail": NO_DETAIL}


TABLES: dict[str, tuple[Variant, ...]] = {
    "components": (
        Variant(
            "A0", "single route, BCE only", {"block": {"routes": "single"}, "detail": NO_DETAIL}, BCE_ONLY
        ),
        Variant("A1", "+ dual route (concatenation)", _without_detail("concat"), BCE_ONLY),
        Variant("A2", "+ adaptive suppression (D - beta B)", _without_detail(), BCE_ONLY),
        Variant("A3", "+ detail-guided reconstruction", {}, BCE_ONLY),
        Variant("A4", "+ thin-stroke-aware loss (all of it)"),
    ),
    # Two rows are A1 and A2 of the components; the others, too, have no detail branch and are trained under BCE.
    "fusion": (
        Variant("add", "D + B", _without_detail("add"), BCE_ONLY),
        Variant("concat", "[D, B]", _without_detail("concat"), BCE_ONLY),
        Variant("subtract, beta fixed", "D - beta B, beta = 0.5", _without_detail(beta="fixed"), BCE_ONLY),
        Variant(
            "subtract, beta input-dependent", "D - beta B, beta from the input", _without_detail(), BCE_ONLY
        ),
        Variant("subtract, shared decay", "D - beta B, A_D = A_B", _without_detail(decay="shared"), BCE_ONLY),
    ),
    "directions": (
        Variant("1", "left to right", {"block": {"directions": 1}}),
        Variant("4", "both ways along rows and columns", {"block": {"directions": 4}}),
        Variant("8", "and along both diagonals", {"block": {"directions": 8}}),
    ),
    "loss": (
        Variant("BCE", "BCE only", {}, BCE_ONLY),
        Variant("+ boundary and balance", "BCE, SDF, boundary, Tversky", {}, {"pfm": 0.0, "cldice": 0.0}),
        Variant("+ thin-stroke connectivity", "all six terms"),
    ),
    "backbone": (
        Variant("VMamba", "VMamba encoder, without ImageNet weights", {"encoder": "vmamba_tiny"}, fresh=True),
        Variant("ConvNeXt-Tiny", "the preset's own encoder"),
    ),
}


def variants(table: str, only: Sequence[str] = ()) -> tuple[Variant, ...]:
    """Return the rows of a table, or only those with the given names."""
    if table not in TABLES:
        raise ConfigError(f"there is no ablation table {table!r}; there are {', '.join(TABLES)}")
    names = [variant.name for variant in TABLES[table]]
    for name in only:
        if name not in names:
            raise ConfigError(f"the table {table} has no row {name!r}; it has {', '.join(names)}")
    return tuple(variant for variant in TABLES[table] if not only or variant.name in only)


def listing() -> str:
    """Return a list to read of every table and row: what it is, what it sets, and the paper's FM."""
    lines = []
    for table, rows in TABLES.items():
        lines.append(f"{table}")
        for variant, paper in zip(rows, ABLATIONS[table], strict=True):
            changes = as_set_options({"model": variant.model, "loss": variant.loss}) or [
                "nothing: the preset as it is"
            ]
            lines.append(f"  {variant.name:<31} {variant.title:<40} paper FM {paper.fm:.2f}")
            lines.append(f"  {'':<31} {', '.join(changes)}")
    return "\n".join(lines)


def as_set_options(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return nested changes as `--set` takes them."""
    flat = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat += as_set_options(value, f"{prefix}{name}.")
        else:
            flat.append(f"{prefix}{name}={json.dumps(value).strip(chr(34))}")
    return flat
