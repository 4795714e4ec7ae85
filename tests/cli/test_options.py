"""Every option is described by sentences, older names still work, and --model means the same everywhere."""

import json
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from drmamba import checkpoint
from drmamba.cli import COMMANDS, group
from drmamba.cli.options import RenamedOption, model_option, protocol_option
from drmamba.config import BlockConfig, DetailConfig, ModelConfig
from drmamba.errors import CheckpointError
from drmamba.experiments.benchmark.methods import parse_methods
from drmamba.model.network import DRMamba

SMALL = ModelConfig(
    encoder="efficientnet_lite0",
    decoder=(8, 8, 8),
    block=BlockConfig(width=8),
    detail=DetailConfig(width=8, head_width=8, dilations=(1,), fold=2),
)


def commands() -> dict[str, click.Command]:
    """Return every command by its name, the commands of groups included."""
    found = {name: group.get_command(click.Context(group), name) for name in COMMANDS}
    nested = {
        f"{name} {inner}": command
        for name, outer in found.items()
        if isinstance(outer, click.Group)
        for inner, command in outer.commands.items()
    }
    return found | nested


OPTIONS = [
    pytest.param(option, id=f"{name} {option.opts[-1]}")
    for name, command in commands().items()
    for option in command.params
    if isinstance(option, click.Option)
]


@pytest.mark.parametrize("option", OPTIONS)
def test_an_options_help_is_made_of_sentences(option: click.Option) -> None:
    text = (option.help or "").partition(" [default:")[0]
    assert text[:1].isupper()
    assert text.endswith(".")
    assert not text.startswith("Of ")


@pytest.mark.parametrize("name", commands())
def test_a_commands_help_is_made_of_sentences(name: str) -> None:
    text = commands()[name].help or ""
    assert text[:1].isupper()
    assert text.rstrip().endswith((".", "page.png"))


def test_every_model_option_is_the_same_one() -> None:
    (wanted,) = click.command()(model_option()(lambda: None)).params
    found = [option for param in OPTIONS for option in param.values if option.name == "model"]
    assert len(found) == 7
    for option in found:
        assert (option.opts, option.default, option.help) == (wanted.opts, wanted.default, wanted.help)


@pytest.mark.parametrize(
    ("words", "value"),
    [([], None), (["--no-rotate"], False), (["--turn"], True), (["--no-turn"], False), (["--rotate"], True)],
)
def test_an_older_name_works_and_is_not_shown(words: list[str], value: bool | None) -> None:
    seen = []

    @click.command()
    @click.option(
        "--rotate/--no-rotate", default=None, cls=RenamedOption, older="--turn/--no-turn", help="Do."
    )
    def command(rotate: bool | None) -> None:
        seen.append(rotate)

    assert CliRunner().invoke(command, words).exit_code == 0
    assert seen == [value]
    assert "turn" not in CliRunner().invoke(command, ["--help"]).output


@pytest.mark.parametrize("older", ["--no-turn", "--no-grain", "--no-as-is", "--turn", "--grain", "--as-is"])
def test_binarize_knows_its_older_options(older: str) -> None:
    result = CliRunner().invoke(group, ["binarize", "nowhere.png", older])
    assert "No such option" not in result.output
    assert f"{older} " not in CliRunner().invoke(group, ["binarize", "--help"]).output


def test_the_older_name_of_the_default_protocol_works_and_is_not_shown() -> None:
    seen = []

    @click.command()
    @protocol_option()
    def command(protocol: str) -> None:
        seen.append(protocol)

    for words in ([], ["--protocol", "everyday"], ["--protocol", "default"], ["--protocol", "paper"]):
        assert CliRunner().invoke(command, words).exit_code == 0
    assert seen == ["default", "default", "default", "paper"]
    assert CliRunner().invoke(command, ["--protocol", "other"]).exit_code == 2
    assert "everyday" not in CliRunner().invoke(command, ["--help"]).output


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "small.safetensors"
    checkpoint.save(path, DRMamba(SMALL), checkpoint.Provenance(trained=True, data=("2009",)))
    return path


def facts(model: object) -> dict[str, object]:
    result = CliRunner().invoke(group, ["info", "--model", str(model), "--json"], catch_exceptions=False)
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_a_repository_on_the_hub_is_a_model_for_info_and_benchmark(model_file, monkeypatch) -> None:
    asked = []

    def fetch(*words):
        asked.append(words)
        return model_file

    monkeypatch.setattr("drmamba.model.hub_files.fetch", fetch)
    assert facts("owner/name@v1")["trained_on"] == ["2009"]
    assert facts("owner/name@v1")["file"] == str(model_file)
    (method,) = parse_methods(["drmamba"], model="owner/name@v1")
    assert method.seen == {"2009"}
    assert parse_methods(["other=owner/name@v1"])[0].source == str(model_file)
    assert set(asked) == {("owner/name", "model.safetensors", "v1")}


def test_an_exported_file_is_a_model_for_info_and_benchmark(tmp_path, monkeypatch) -> None:
    path = tmp_path / "small.onnx"
    path.write_bytes(b"onnx")
    runtime = SimpleNamespace(
        model=SMALL,
        provenance=checkpoint.Provenance(trained=True, data=("2010",)),
        weights_sha256="",
        parameters=7,
        gflops=1.5,
        devices=["cpu"],
        count=1,
        precisions=("float32",),
    )
    monkeypatch.setattr("drmamba.inference.runtime.onnx.OnnxRuntime", lambda *_: runtime)
    assert facts(path)["trained_on"] == ["2010"]
    (method,) = parse_methods(["drmamba"], model=str(path))
    assert method.seen == {"2010"}
    assert method.source == str(path)


@pytest.mark.parametrize("model", ["nowhere.onnx", "no-such-preset"])
def test_a_model_that_is_not_there_is_the_same_error_everywhere(model: str) -> None:
    with pytest.raises(CheckpointError, match="there is no model"):
        facts(model)
    with pytest.raises(CheckpointError, match="there is no model"):
        parse_methods(["drmamba"], model=model)
