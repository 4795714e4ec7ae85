"""A whole training run on one or several devices. The only file that knows Lightning.

Lightning's Fabric brings devices, precision, processes and gradient exchange; the loop is written out here,
because a run is planned by time, pauses, resumes to the bit and keeps its state in safetensors, none of which
Lightning's own Trainer and pickled checkpoints offer.
"""

from __future__ import annotations

import datetime
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from drmamba import checkpoint
from drmamba.checkpoint import Provenance
from drmamba.config import RunConfig
from drmamba.errors import MissingExtra
from drmamba.inference.runtime.torch import has_bfloat16
from drmamba.training.exam import final_scores, mean_fm
from drmamba.training.feed import Feed
from drmamba.training.folder import RunFolder
from drmamba.training.lanes import Lanes, lanes_for
from drmamba.training.learner import Batch, Learner
from drmamba.training.log import Bar, Log, draw_curve
from drmamba.training.material import Material
from drmamba.training.schedule import ActiveClock, Plan
from drmamba.training.start import initial_network
from drmamba.training.state import Position, load_state, save_state
from drmamba.training.sync_norm import share_norms

if TYPE_CHECKING:
    from lightning.fabric import Fabric


WATCH_SHARE = 0.04  # of a time plan that validations before the last may take ...
WATCH_AFTER = 120.0  # ... and the active seconds before which none is tried, while their cost is unknown


@dataclass(frozen=True)
class Result:
    """How a run ended: its folder, where it is, and the scores if it got to the end."""

    folder: RunFolder
    position: Position
    scores: dict[str, Any] | None
    first: bool = True  # of the processes of a run: the one that speaks and writes

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.scores is not None


def train(
    config: RunConfig,
    root: Path | str,
    *,
    resume: bool = False,
    devices: int = 1,
    accelerator: str = "auto",
    shown: bool = True,
) -> Result:
    """Train in the folder `root` until the plan is fulfilled or someone interrupts.

    With `resume`, `config` must be that of the run that is there (`RunFolder(root).config()`), but for its length.
    """
    folder = RunFolder(Path(root))
    engine = fabric(config, devices, accelerator)
    material = None if resume else Material.of(config)  # before the folder: wrong data leaves none behind
    if engine.global_rank == 0:
        if not resume:
            folder.begin(config)
        elif config != folder.config():
            folder.change(config)
    if resume and folder.finished:
        return Result(folder, Position(), folder.read_scores())
    engine.launch()
    material = material or Material.of(config)
    if engine.global_rank == 0:
        material.record(folder.manifest)
    with _no_denormals():
        return _Run(engine, material, folder, resume, shown and engine.global_rank == 0).go()


@contextmanager
def _no_denormals() -> Iterator[None]:
    """Weights decay towards zero, and numbers too small to matter are slow; afterwards all is as before."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def fabric(config: RunConfig, devices: int, accelerator: str) -> Fabric:
    """Lightning's engine for these devices."""
    try:
        from lightning.fabric import Fabric
    except ImportError as error:
        raise MissingExtra("lightning", "train") from error
    narrow = config.train.precision == "bfloat16" or (config.train.precision == "auto" and _has_bfloat16())
    return Fabric(
        accelerator=accelerator,
        devices=devices,
        strategy="ddp" if devices > 1 else "auto",
        precision="bf16-mixed" if narrow else "32-true",
    )


def _has_bfloat16() -> bool:
    return has_bfloat16(torch.device("cuda" if torch.cuda.is_available() else "cpu"))


class _Run:
    """One process of a run, from wherever it stands to its end."""

    def __init__(
        self, engine: Fabric, material: Material, folder: RunFolder, resume: bool, shown: bool
    ) -> None:
        self.engine, self.material, self.folder = engine, material, folder
        self.config = config = material.config
        self.first = engine.global_rank == 0
        network = initial_network(config, weights=not (resume and folder.checkpoint.is_file()))
        if engine.world_size > 1:
            share_norms(network)
        self.learner = learner = Learner(network, config)
        learner.device = engine.device
        model, _ = engine.setup(learner.network, learner.optimizer)
        learner.average.to(engine.device)
        learner.forward = torch.compile(model) if config.train.compile else model
        learner.backward = engine.backward
        if engine.world_size > 1:
            learner.unsynchronized = lambda: engine.no_backward_sync(model)
            learner.reduce = lambda values: engine.all_reduce(values, reduce_op="mean")
        self.lanes = self._lanes() if engine.world_size == 1 and engine.device.type == "cpu" else None
        self.position = Position()
        if resume and folder.checkpoint.is_file():
            self.position = load_state(folder.checkpoint, learner)
        self.plan = Plan.of(config.train, material.pages, engine.world_size)
        self.clock = ActiveClock(self.position.seconds)
        self.shown = shown
        self.interrupted = False
        self.watched = 0

    def _lanes(self) -> Lanes | None:
        """Threads that share each batch, if the config and the batch allow more than one."""
        train, learner = self.config.train, self.learner
        count = train.lanes or lanes_for(train.batch, torch.get_num_threads())
        if count == 1 or train.compile:
            return None

        def losses(network: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
            def forward(image: torch.Tensor, **situation: torch.Tensor) -> Any:
                with self.engine.autocast():
                    return network(image, **situation)

            return learner.losses(forward, batch)

        lanes = Lanes(learner.network, losses, count)
        learner.learn_from = lanes.learn_from
        return lanes

    def go(self) -> Result:
        """Update, watch and save until the end; then score."""
        train, place = self.config.train, self.position
        feed = Feed(
            self.material.crops(self.engine.world_size),
            place.step * train.accumulation,
            train.batch,
            workers=train.workers,
            rank=self.engine.global_rank,
            devices=self.engine.world_size,
            lazy=self.lanes is not None,
        )
        self.log = Log(self.folder.log, place.step) if self.first else None
        saved = time.monotonic()
        self.clock.skip()
        with self._signals(), Bar(self.shown, self.plan.progress(place.step, place.seconds)) as self.bar:
            try:
                while True:
                    progress, stop = self._agreed()
                    if not stop and self._watch_is_due(progress):
                        self._watch()
                    if progress >= 1 or stop:
                        break
                    self._update(feed, progress)
                    if time.monotonic() - saved >= train.checkpoint_minutes * 60:
                        self._save()
                        saved = time.monotonic()
            finally:
                feed.close()
                if self.lanes:
                    self.lanes.close()
                if self.log:
                    self.log.close()
            self._save()
        if self.interrupted:
            return Result(self.folder, self.position, None, self.first)
        scores = self._finish() if self.first else {}
        self.engine.barrier()
        return Result(self.folder, self.position, scores, self.first)

    def _agreed(self) -> tuple[float, bool]:
        """Progress and the wish to stop, as the first process sees them: all must do the same."""
        here = self.plan.progress(self.position.step, self.clock.seconds), self.interrupted
        if self.engine.world_size == 1:
            return here
        progress, self.interrupted = self.engine.broadcast(here)
        return progress, self.interrupted

    def _update(self, feed: Feed, progress: float) -> None:
        train, rank = self.config.train, self.engine.global_rank
        report = self.learner.update(self.position.step, feed.take(train.accumulation), progress, rank)
        self.clock.tick("update")
        self.position = replace(self.position, step=self.position.step + 1, seconds=self.clock.seconds)
        if self.log:
            step, seconds = self.position.step, self.position.seconds
            self.log.write(step, seconds, progress, report)
            left = self.plan.seconds_left(step, seconds)
            self.bar.show(step, self.plan.progress(step, seconds), report.loss, self.position.fm, left)

    def _watch_is_due(self, progress: float) -> bool:
        """Validations are spread evenly, the last at the end; those a time plan cannot afford are left out."""
        reached = int(progress * self.config.train.validations)
        due = reached > self.position.validations
        self.position = replace(self.position, validations=max(reached, self.position.validations))
        if due and self.plan.seconds and progress < 1:
            spent = self.clock.spent("page")
            cost = spent / max(self.watched, 1) or WATCH_AFTER * WATCH_SHARE
            due = spent + cost <= WATCH_SHARE * self.clock.seconds
        return due

    def _watch(self) -> None:
        """Validate the averaged weights; the others wait."""
        fm = None
        self.watched += 1
        if self.log and self.material.validation:
            device = self.engine.device.type
            for mean, pixels in mean_fm(self.learner.averaged(), self.material.validation, device):
                self.clock.tick("page", work=pixels)
                fm = mean
        self.position = replace(self.position, fm=fm, seconds=self.clock.seconds)
        if self.log and fm is not None:
            step, seconds = self.position.step, self.position.seconds
            self.log.validated(step, seconds, self.plan.progress(step, seconds), fm)
            self.bar.say(f"update {step}: validation FM {fm:.2f}")
        self.engine.barrier()

    def _save(self) -> None:
        if self.first:
            save_state(self.folder.checkpoint, self.learner, self.position)
            self.clock.tick("save")

    def _finish(self) -> dict[str, Any]:
        """Write the model and score it on the pages it never saw."""
        network = self.learner.averaged()
        draw_curve(self.folder.log, self.folder.curve)
        source, device = self.config.source, self.engine.device.type
        scores: dict[str, Any] = {
            "held_out": source.hold_out,
            "validation_fm": self.position.fm,
            "steps": self.position.step,
            "minutes": round(self.position.seconds / 60, 2),
        }
        if self.material.held_out:
            self._say(f"scoring {len(self.material.held_out)} pages of {source.hold_out}")
            scores |= final_scores(network, self.material.held_out, self.folder.pages, device)
        about = Provenance(
            preset=self.config.preset,
            date=datetime.date.today().isoformat(),
            trained=True,
            data=tuple(sorted({*self.material.names, *self.folder.seen_before()})),
            held_out=source.hold_out or "",
            metrics={**scores.get("mean", {}), "validation_fm": self.position.fm},
            notes=f"{self.position.step} updates, {self.position.seconds / 60:.1f} minutes",
        )
        checkpoint.save(self.folder.model, network, about)
        self.folder.write_scores(scores)
        return scores

    def _say(self, words: str) -> None:
        if self.shown:
            print(words, file=sys.stderr)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C or a polite kill ends the run after the update under way; a second Ctrl-C at once."""

        def note(number: int, frame: object) -> None:  # noqa: ARG001
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        try:
            before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: whoever started it handles signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
