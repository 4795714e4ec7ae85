"""Options that several commands share, so that each is described in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import click

from drmamba.cli.types import ByteSize, ProtocolChoice
from drmamba.config import (
    DEFAULT_MODEL,
    PURPOSES,
    EngineConfig,
    InferenceConfig,
    Keep,
    Pictures,
    ReadingConfig,
)

Decorator = Callable[[Any], Any]
ENGINE, INFERENCE, READING = EngineConfig(), InferenceConfig(), ReadingConfig()


class RenamedOption(click.Option):
    """An option that can still be given by an older name, which the help does not show."""

    def __init__(self, *args: Any, older: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.older, _, self.older_off = older.partition("/")  # such as --turn/--no-turn

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the parser know all names; only the current ones stay visible."""
        shown = self.opts, self.secondary_opts
        self.opts = [*self.opts, self.older]
        self.secondary_opts = [*self.secondary_opts, *([self.older_off] if self.older_off else [])]
        super().add_to_parser(parser, ctx)
        self.opts, self.secondary_opts = shown


def model_option(default: str = DEFAULT_MODEL) -> Decorator:
    """Return --model, which `drmamba.inference.models.find_model` resolves for every command."""
    return click.option(
        "--model",
        default=default,
        show_default=True,
        metavar="NAME|FILE|OWNER/NAME",
        help="The network: a preset, a model file (.safetensors or .onnx), or a repository on the Hugging Face Hub.",
    )


def protocol_option(default: str = "default") -> Decorator:
    """Return --protocol."""
    return click.option(
        "--protocol",
        type=ProtocolChoice(),
        default=default,
        show_default=True,
        help="How the network runs: paper uses windows of 512 with stride 256 and no other processing.",
    )


purpose_option = click.option(
    "--for",
    "purpose",
    type=click.Choice(list(PURPOSES)),
    help="Settings for a kind of page: "
    + ", ".join(f"{name} for {purpose.words}" for name, purpose in PURPOSES.items())
    + ". Options that are given as well take precedence.",
)
threshold_option = click.option(
    "--threshold",
    type=float,
    help=f"Pixels with a probability above this are ink. [default: {INFERENCE.threshold}]",
)
suppress_option = click.option(
    "--suppress",
    type=float,
    help="How strongly the background is suppressed: 0 not at all, 1 as the model chooses, more than 1 more strongly. "
    f"[default: {INFERENCE.suppress}]",
)
keep_option = click.option(
    "--keep",
    type=click.Choice(get_args(Keep)),
    help="Which marks are ink: text keeps writing alone; all keeps rules, frames, ornaments and drawings as well. "
    f"[default: {INFERENCE.keep}]",
)
pictures_option = click.option(
    "--pictures",
    type=click.Choice(get_args(Pictures)),
    help="What becomes of pictures in tone: dots (dither), black and white areas (threshold), nothing (white), or a "
    f"grey layer below the ink of a PDF page (grey). [default: {INFERENCE.pictures}]",
)
context_option = click.option(
    "--context/--no-context",
    default=None,
    help="Show the network the whole page, reduced, in addition to each window; models without page context "
    "ignore this. [default: context]",
)
device_option = click.option(
    "--device",
    default=ENGINE.device,
    show_default=True,
    help="Where the network runs: auto, cpu, cuda, cuda:1, ...",
)
runtime_option = click.option(
    "--runtime",
    type=click.Choice(["auto", "onnx", "torch"]),
    default=ENGINE.runtime,
    show_default=True,
    help="The library that runs the network: auto is torch for .safetensors files and on a GPU, and ONNX Runtime for "
    "the embedded model and .onnx files.",
)
workers_option = click.option(
    "--workers",
    type=int,
    default=ENGINE.workers,
    help="How many windows the CPU works on at the same time. [default: one per core]",
)
max_memory_option = click.option(
    "--max-memory",
    type=ByteSize(),
    default=ENGINE.max_memory,
    help="How much memory all processes together may use, such as 1500MB. "
    f"[default: {ENGINE.max_memory / 1e9:g}GB]",
)
max_pixels_option = click.option(
    "--max-pixels",
    type=int,
    default=READING.max_pixels,
    show_default=True,
    help="Refuse a page that declares more pixels, before it is decoded.",
)
max_seconds_option = click.option(
    "--max-seconds",
    type=float,
    default=READING.max_seconds,
    show_default=True,
    help="Give up a file when decoding its pages has taken this long; 0 stands for no limit.",
)
dpi_option = click.option(
    "--dpi",
    type=int,
    default=READING.dpi,
    show_default=True,
    help="The resolution at which PDF pages that are not scans are rendered.",
)
