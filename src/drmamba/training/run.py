"""A whole training run on one or several devices. This is the only file that imports Lightning.

Lightning's Fabric provides devices, precision, processes and gradient exchange. The loop is written here, because a run
is planned by time, may pause, resumes exactly and keeps its state in safetensors, which Lightning's own Trainer and
pickled checkpoints do not offer.
"""

from __future__ import annotations

import datetime
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import RunConfig
from drmamba.errors import MissingExtra
from drmamba.files import remove_abandoned
from drmamba.model.network import DRMamba
from drmamba.model.pretrained import RANDOM, how_to_get
from drmamba.ops.bfloat16 import has_bfloat16
from drmamba.training.batch_loader import BatchLoader
from drmamba.training.data_parallel import DataParallelTrainer, thread_count
from drmamba.training.initialization import initial_network, load_initial_weights
from drmamba.training.learner import Batch, Learner
from drmamba.training.log import ProgressBar, TrainingLog, draw_curve
from drmamba.training.run_data import RunData
from drmamba.training.run_directory import RunDirectory
from drmamba.training.schedule import ActiveClock, Plan
from drmamba.training.scoring import final_scores, mean_fm
from drmamba.training.state import Position, load_state, save_state
from drmamba.training.sync_norm import share_norms

if TYPE_CHECKING:
    from lightning.fabric import Fabric


VALIDATION_SHARE = 0.04  # share of a run's time that validations before the last may take
FIRST_VALIDATION = 120.0  # active seconds before the first validation of a run that is planned by time


@dataclass(frozen=True)
class RunResult:
    """The result of a run: its directory, its position, and its scores if it is finished."""

    directory: RunDirectory
    position: Position
    scores: dict[str, Any] | None
    first: bool = True  # whether this is the process of the run that prints and writes

    @property
    def finished(self) -> bool:
        """Whether the run is finished."""
        return self.scores is not None


def train(
    config: RunConfig,
    root: Path | str,
    *,
    resume: bool = False,
    devices: int = 1,
    accelerator: str = "auto",
    shown: bool = True,
) -> RunResult:
    """Train in the directory `root` until the planned end or an interruption.

    With `resume`, `config` must be that of the run in it (`RunDirectory(root).config()`), except for its length.
    """
    directory = RunDirectory(Path(root))
    engine = fabric(config, devices, accelerator)
    # The data is checked before the directory is made, so that wrong data leaves none behind.
    data = None if resume else RunData.of(config)
    first, hashes = engine.global_rank == 0, None
    if data and first and not directory.settings.exists():
        hashes = data.inspect()
    with directory.lock() if first and resume else nullcontext():
        if first:
            if not resume:
                directory.begin(config)
            elif config != directory.config():
                directory.change(config)
        if resume and directory.finished:
            return RunResult(directory, Position(), directory.read_scores())
        with directory.lock() if first and not resume else nullcontext():
            engine.launch()
            data = data or RunData.of(config)
            if first:
                remove_abandoned(directory.root)
                data.record(directory, hashes)
            with _no_denormals():
                return _Run(engine, data, directory, resume, shown and first).run()


@contextmanager
def _no_denormals() -> Iterator[None]:
    """Flush denormal numbers to zero, because decaying weights become denormal and slow down arithmetic."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def fabric(config: RunConfig, devices: int, accelerator: str) -> Fabric:
    """Lightning's Fabric for these devices."""
    try:
        from lightning.fabric import Fabric
    except ImportError as error:
        raise MissingExtra("lightning", "train") from error
    native = has_bfloat16(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    narrow = config.train.precision == "bfloat16" or (config.train.precision == "auto" and native)
    return Fabric(
        accelerator=accelerator,
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        precision="bf16-mixed" if narrow else "32-true",
    )


class _Run:
    """One process of a run, from its current position to its end."""

    def __init__(
        self, engine: Fabric, data: RunData, directory: RunDirectory, resume: bool, shown: bool
    ) -> None:
        self.engine, self.data, self.directory = engine, data, directory
        self.config = config = data.config
        self.first, self.shown = engine.global_rank == 0, shown
        resumed = resume and directory.checkpoint.is_file()
        network = initial_network(config, weights=False)
        self.position = Position() if resumed else Position(encoder_weights=self._load_weights(network))
        if engine.world_size > 1:
            share_norms(network)
        self.learner = learner = Learner(network, config)
        learner.device = engine.device
        model, _ = engine.setup(learner.network, learner.optimizer)
        learner.ema.to(engine.device)
        learner.forward = torch.compile(model) if config.train.compile else model
        learner.backward = engine.backward
        if engine.world_size > 1:
            learner.unsynchronized = lambda: engine.no_backward_sync(model)
            learner.reduce = lambda values: engine.all_reduce(values, reduce_op="mean")
        self.trainer = (
            self._make_trainer() if engine.world_size == 1 and engine.device.type == "cpu" else None
        )
        if resumed:
            self.position = load_state(directory.checkpoint, learner)
        self.plan = Plan.of(config.train, data.pages, engine.world_size)
        self.clock = ActiveClock(self.position.seconds)
        self.interrupted = False
        self.validated = 0

    def _load_weights(self, network: DRMamba) -> str:
        """Load the initial weights and print where the encoder's come from; returns that origin."""
        origin = load_initial_weights(network, self.config)
        remedy = f"; to start from pretrained ones, {how_to_get(self.config.model.encoder)}"
        wanted = origin == RANDOM and self.config.source.encoder_weights == "auto"
        self._print(f"the encoder's initial weights: {origin}{remedy if wanted else ''}")
        return origin

    def _make_trainer(self) -> DataParallelTrainer | None:
        """A trainer with threads that share each batch, if the config and the batch allow more than one."""
        train, learner = self.config.train, self.learner
        count = train.threads or thread_count(train.batch, torch.get_num_threads())
        if count == 1 or train.compile:
            return None

        def losses(network: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            def forward(image: torch.Tensor, **conditions: torch.Tensor) -> Any:
                with self.engine.autocast():
                    return network(image, **conditions)

            return learner.losses(forward, batch)

        trainer = DataParallelTrainer(learner.network, losses, count)
        learner.accumulate_gradients = trainer.accumulate_gradients
        return trainer

    def run(self) -> RunResult:
        """Update, validate and save until the end, then score."""
        train, place = self.config.train, self.position
        loader = BatchLoader(
            self.data.crops(self.engine.world_size),
            place.step * train.accumulation,
            train.batch,
            workers=train.workers,
            rank=self.engine.global_rank,
            devices=self.engine.world_size,
            lazy=self.trainer is not None,
        )
        self.log = TrainingLog(self.directory.log, place.step) if self.first else None
        saved = time.monotonic()
        self.clock.skip()
        with (
            self._signals(),
            ProgressBar(self.shown, self.plan.progress(place.step, place.seconds)) as self.bar,
        ):
            try:
                while True:
                    progress, stop = self._agreed()
                    if not stop and self._validation_is_due(progress):
                        self._validate()
                    if progress >= 1 or stop:
                        break
                    self._update(loader, progress)
                    if time.monotonic() - saved >= train.checkpoint_minutes * 60:
                        self._save()
                        saved = time.monotonic()
            finally:
                loader.close()
                if self.trainer:
                    self.trainer.close()
                if self.log:
                    self.log.close()
            self._save()
        if self.interrupted:
            return RunResult(self.directory, self.position, None, self.first)
        scores = self._finish() if self.first else {}
        self.engine.barrier()
        return RunResult(self.directory, self.position, scores, self.first)

    def _agreed(self) -> tuple[float, bool]:
        """The progress and whether to stop, as seen by the first process, so that all processes do the same."""
        here = self.plan.progress(self.position.step, self.clock.seconds), self.interrupted
        if self.engine.world_size == 1:
            return here
        progress, self.interrupted = self.engine.broadcast(here)
        return progress, self.interrupted

    def _update(self, loader: BatchLoader, progress: float) -> None:
        train, rank = self.config.train, self.engine.global_rank
        record = self.learner.update(self.position.step, loader.take(train.accumulation), progress, rank)
        self.clock.tick("update")
        self.position = replace(self.position, step=self.position.step + 1, seconds=self.clock.seconds)
        if self.log:
            step, seconds = self.position.step, self.position.seconds
            self.log.write(step, seconds, progress, record)
            left = self.plan.seconds_left(step, seconds)
            self.bar.show(step, self.plan.progress(step, seconds), record.loss, self.position.fm, left)

    def _validation_is_due(self, progress: float) -> bool:
        """Validations are evenly spaced up to the end; a run that is planned by time skips those it cannot afford."""
        reached = int(progress * self.config.train.validations)
        due = reached > self.position.validations
        self.position = replace(self.position, validations=max(reached, self.position.validations))
        if due and self.plan.seconds and progress < 1:
            spent = self.clock.spent("page")
            cost = spent / max(self.validated, 1) or FIRST_VALIDATION * VALIDATION_SHARE
            due = spent + cost <= VALIDATION_SHARE * self.clock.seconds
        return due

    def _validate(self) -> None:
        """Validate the averaged weights in the first process, while the others wait."""
        fm = None
        self.validated += 1
        if self.log and self.data.validation:
            device = self.engine.device.type
            for mean, pixels in mean_fm(self.learner.averaged(), self.data.validation, device):
                self.clock.tick("page", work=pixels)
                fm = mean
        self.position = replace(self.position, fm=fm, seconds=self.clock.seconds)
        if self.log and fm is not None:
            step, seconds = self.position.step, self.position.seconds
            self.log.validated(step, seconds, self.plan.progress(step, seconds), fm)
            self.bar.message(f"update {step}: validation FM {fm:.2f}")
        self.engine.barrier()

    def _save(self) -> None:
        if self.first:
            save_state(self.directory.checkpoint, self.learner, self.position)
            self.clock.tick("save")

    def _finish(self) -> dict[str, Any]:
        """Write the model and its scores on the held-out pages."""
        network = self.learner.averaged()
        draw_curve(self.directory.log, self.directory.curve)
        source, device = self.config.source, self.engine.device.type
        scores: dict[str, Any] = {
            "held_out": source.hold_out,
            "validation_fm": self.position.fm,
            "steps": self.position.step,
            "minutes": round(self.position.seconds / 60, 2),
        }
        if self.data.held_out:
            self._print(f"scoring {len(self.data.held_out)} pages of {source.hold_out}")
            scores |= final_scores(network, self.data.held_out, self.directory.pages, device)
        about = Provenance(
            preset=self.config.preset,
            date=datetime.date.today().isoformat(),
            trained=True,
            data=tuple(sorted({*self.data.names, *self.directory.pretraining_sets()})),
            page_hashes=tuple(self.directory.page_hashes()),
            held_out=source.hold_out or "",
            metrics={**scores.get("mean", {}), "validation_fm": self.position.fm},
            notes=self._notes(),
        )
        checkpoint.save(self.directory.model, network, about)
        self.directory.write_scores(scores)
        return scores

    def _notes(self) -> str:
        notes = f"{self.position.step} updates, {self.position.seconds / 60:.1f} minutes"
        origin = self.position.encoder_weights
        return f"{notes}; the encoder's initial weights: {origin}" if origin else notes

    def _print(self, text: str) -> None:
        if self.shown:
            print(text, file=sys.stderr)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C or SIGTERM ends the run after the current update; a second one ends it at once."""

        def note(number: int, frame: object) -> None:  # noqa: ARG001
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        try:
            previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread, so the caller handles signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
