"""Checkpoints of a run."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from drmamba.config import RunConfig
from drmamba.errors import FileError, TrainingError
from drmamba.training import state
from drmamba.training.initialization import initial_network
from drmamba.training.learner import Learner
from drmamba.training.state import Position, load_state, save_state

MakeBatch = Callable[..., dict[str, torch.Tensor]]


def test_a_restored_learner_goes_on_to_the_bit(quick: RunConfig, batch: MakeBatch, tmp_path: Path) -> None:
    first = Learner(initial_network(quick), quick)
    for step in range(3):
        first.update(step, [batch(step)], progress=step / 6)
    save_state(tmp_path / "last.safetensors", first, Position(step=3, seconds=4.5, validations=1, fm=61.0))
    second = Learner(initial_network(quick), quick)
    position = load_state(tmp_path / "last.safetensors", second)
    assert position == Position(step=3, seconds=4.5, validations=1, fm=61.0)
    for step in range(3, 5):
        reports = [learner.update(step, [batch(step)], progress=step / 6) for learner in (first, second)]
        assert reports[0] == reports[1]
    for name, value in first.network.state_dict().items():
        assert torch.equal(value, second.network.state_dict()[name])
        assert torch.equal(first.ema.tensors[name], second.ema.tensors[name])


def test_a_full_disk_keeps_the_checkpoint_before(
    quick: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = Learner(initial_network(quick), quick)
    path = tmp_path / "last.safetensors"
    save_state(path, learner, Position(step=1))
    good = path.read_bytes()

    def full(path: Path, _: bytes) -> None:
        raise FileError(f"cannot write {path}: No space left on device")

    monkeypatch.setattr(state, "write_atomic", full)
    with pytest.raises(TrainingError, match=r"No space left.*previous checkpoint is kept; free some space"):
        save_state(path, learner, Position(step=2))
    assert path.read_bytes() == good


def test_foreign_and_broken_files_are_named(quick: RunConfig, tmp_path: Path) -> None:
    learner = Learner(initial_network(quick), quick)
    save_file({"a": torch.zeros(1)}, tmp_path / "foreign.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"\x80\x04not a checkpoint")
    with pytest.raises(TrainingError, match="not a checkpoint of a training run"):
        load_state(tmp_path / "foreign.safetensors", learner)
    with pytest.raises(TrainingError, match=r"broken\.safetensors cannot be resumed from"):
        load_state(tmp_path / "broken.safetensors", learner)
